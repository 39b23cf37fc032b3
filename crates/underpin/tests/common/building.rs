//! `underpin build` in a folder, by the compilers of this machine or by one release of zig.

use super::underpin;
use std::path::Path;
use std::process::Command;
use underpin_test_support::{Fixture, Output};

/// A build in a folder, without the developer's settings. `zig`: the one that is found.
pub fn build(dir: &Fixture, zig: Option<&Path>, arguments: &[&str]) -> Command {
    let mut command = underpin([&["build"], arguments].concat());
    command.current_dir(dir.path()).env("XDG_CACHE_HOME", dir.join("cache"));
    for name in
        ["RUSTC_WRAPPER", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR", "RUSTC", "CARGO_BUILD_TARGET"]
    {
        command.env_remove(name);
    }
    if let Some(zig) = zig {
        // zig compiles its C libraries once, for all tests.
        command.env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("zig"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(zig.parent().unwrap().to_owned()).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(path).unwrap());
    }
    command
}

/// What a build says; ends if it fails.
pub fn must(mut command: Command) -> String {
    let output = Output::of(&mut command);
    assert_eq!(output.code, Some(0), "{command:?}\n{}{}", output.stdout, output.stderr);
    format!("{}{}", output.stdout, output.stderr)
}
