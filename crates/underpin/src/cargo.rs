//! Library paths that `cargo run` exports to the program it starts: its own build folders and the compiler's libraries.
//!
//! A user who tries underpin that way asks about a program as the shell would start it, not as cargo does: with these
//! paths every program seems to search in vain.

use crate::screen;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const VARIABLE: &str = "LD_LIBRARY_PATH";

/// A command line as `underpin` takes it: cargo starts `cargo-underpin underpin build` for `cargo underpin build`.
pub fn subcommand(mut line: Vec<OsString>) -> Vec<OsString> {
    let by_cargo = line.first().is_some_and(|name| Path::new(name).ends_with("cargo-underpin"));
    if by_cargo && line.get(1).is_some_and(|word| word == "underpin") {
        line.remove(1);
    }
    line
}

/// Starts this program once more without those paths, if there are any. Returns only if there are none, or with the
/// reason why it could not be started.
pub fn leave() -> Option<anyhow::Error> {
    env::var_os("CARGO")?;
    let paths = env::var_os(VARIABLE)?;
    let program = env::current_exe().ok()?;
    let others = without(&paths, &program)?;
    screen::note(&"cargo's own library paths in LD_LIBRARY_PATH are left out");
    let mut command = Command::new(&program);
    // Under its own name the program would take cargo's extra word for an unknown verb.
    command.args(subcommand(env::args_os().collect()).into_iter().skip(1));
    match env::join_paths(&others) {
        Ok(joined) if !others.is_empty() => command.env(VARIABLE, joined),
        _ => command.env_remove(VARIABLE),
    };
    // exec replaces this process: pid, signals and standard streams stay.
    Some(command.exec()).map(|error| anyhow::Error::new(error).context(program.display().to_string()))
}

/// The paths that are not cargo's; `None` if there is nothing to leave out.
fn without(paths: &OsStr, program: &Path) -> Option<Vec<PathBuf>> {
    let build = program.parent()?;
    let all: Vec<PathBuf> = env::split_paths(paths).collect();
    let others: Vec<PathBuf> = all.iter().filter(|path| !is_cargos(path, build)).cloned().collect();
    (others.len() < all.len()).then_some(others)
}

/// Whether a path is a folder of the build that this program is in (cargo-run(1): `target/PROFILE`, its `deps` and the
/// output folders of build scripts), or the compiler's libraries.
fn is_cargos(path: &Path, build: &Path) -> bool {
    let of_compiler = path.ends_with("lib") && path.join("rustlib").is_dir();
    let below_compiler = path.components().any(|part| part.as_os_str() == "rustlib");
    path.starts_with(build) || of_compiler || below_compiler
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_underpin_build_is_underpin_build() {
        let line = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(subcommand(line("/b/cargo-underpin underpin build -p a")), line("/b/cargo-underpin build -p a"));
        assert_eq!(subcommand(line("/b/cargo-underpin build")), line("/b/cargo-underpin build"));
        assert_eq!(subcommand(line("underpin underpin")), line("underpin underpin"));
    }

    #[test]
    fn only_the_paths_of_cargo_are_left_out() {
        let program = Path::new("/home/a/target/release/underpin");
        let without = |paths: &str| without(OsStr::new(paths), program);
        let toolchain = "/opt/toolchain/lib/rustlib/x86_64-unknown-linux-gnu/lib";
        let cargos = format!("/home/a/target/release/deps:/home/a/target/release:{toolchain}");
        assert_eq!(without(&cargos), Some(Vec::new()));
        let mixed = format!("/opt/mine/lib:{cargos}:/home/a/target/lib");
        assert_eq!(without(&mixed), Some(vec!["/opt/mine/lib".into(), "/home/a/target/lib".into()]));
        assert_eq!(without("/opt/mine/lib:/usr/local/lib"), None);
    }
}
