//! What the build scripts of several crates share: which C compilers may serve for a processor, and that a script whose tool was
//! missing runs again once the tool was installed. Without the latter, cargo would keep what was built without it: a script
//! runs again only if something that it names has changed.
#![allow(clippy::print_stdout, reason = "a build script talks to cargo on standard output")]

use std::env;
use std::path::{Path, PathBuf};

/// A compiler's program and its first arguments.
pub type Compiler = Vec<String>;

/// The words of a command without quotes.
#[must_use]
pub fn words(command: &str) -> Compiler {
    command.split_whitespace().map(str::to_owned).collect()
}

/// The commands that may compile for a processor (the kernel's name), the best first: the one that `UNDERPIN_CC_PROCESSOR`
/// names and no other; or those of the caller, this machine's own compiler, GCC's cross compiler, and clang with these
/// arguments.
pub fn compilers(processor: &str, own: impl FnOnce() -> Option<Compiler>, clang: &str) -> Vec<Compiler> {
    let asked = format!("UNDERPIN_CC_{processor}");
    println!("cargo::rerun-if-env-changed={asked}");
    if let Ok(command) = env::var(&asked) {
        return vec![words(&command)];
    }
    let mut found: Vec<Compiler> = own().into_iter().collect();
    if env::var("HOST").is_ok_and(|host| host.starts_with(processor)) {
        found.push(words("cc"));
    }
    found.push(words(&format!("{processor}-linux-gnu-gcc")));
    found.push(words(&format!("clang --target={processor}-linux-gnu {clang}")));
    found
}

/// What the first compiler makes that can.
///
/// # Errors
/// Why none can, as a clause; then cargo runs the script again once a program was installed.
pub fn first<T>(
    processor: &str,
    compilers: &[Compiler],
    mut compile: impl FnMut(&Compiler) -> Result<T, String>,
) -> Result<T, String> {
    let mut reasons = Vec::new();
    for compiler in compilers {
        match compile(compiler) {
            Ok(made) => return Ok(made),
            Err(reason) => reasons.push(format!("{}: {reason}", compiler.join(" "))),
        }
    }
    again_after_installation();
    Err(format!("no C compiler for {processor} when underpin was built ({})", reasons.join("; ")))
}

/// Has cargo run this script again once a program was installed or removed. Cargo then looks at every name in the folders of
/// PATH before each build, some 10 ms: for scripts that miss a tool only.
pub fn again_after_installation() {
    println!("cargo::rerun-if-env-changed=PATH");
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).filter(|folder| folder.is_dir()).for_each(|folder| watch(&folder));
}

/// Has cargo run this script again once rustup has added or removed a target of the compiler that builds this.
pub fn again_after_targets() {
    if let Some(folder) = sysroot().map(|root| root.join("lib/rustlib")).filter(|folder| folder.is_dir()) {
        watch(&folder);
    }
}

fn watch(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}

/// Where the compiler's own libraries are.
fn sysroot() -> Option<PathBuf> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = std::process::Command::new(rustc).args(["--print", "sysroot"]).output().ok()?;
    Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_compiler_that_can_is_taken_and_the_reasons_of_the_others_are_told() {
        let compilers = [words("one -a"), words("two")];
        let made = first("riscv64", &compilers, |compiler| match compiler[0].as_str() {
            "two" => Ok(compiler.clone()),
            _ => Err("not found".to_owned()),
        });
        assert_eq!(made, Ok(words("two")));
        let none = first::<()>("riscv64", &compilers, |_| Err("not found".to_owned()));
        assert_eq!(
            none,
            Err("no C compiler for riscv64 when underpin was built (one -a: not found; two: not found)".to_owned())
        );
    }

    #[test]
    fn the_callers_own_compiler_comes_first_and_clang_last() {
        let found = compilers("riscv64", || Some(words("mine")), "-fuse-ld=lld");
        assert_eq!(found[0], ["mine"]);
        assert_eq!(found[found.len() - 2], ["riscv64-linux-gnu-gcc"]);
        assert_eq!(found[found.len() - 1], ["clang", "--target=riscv64-linux-gnu", "-fuse-ld=lld"]);
    }
}
