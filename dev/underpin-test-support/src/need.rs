//! Skips: outside CI a test whose tool is missing prints that and passes; in CI it fails.
//!
//! CI is where `CI=true` or `UNDERPIN_REQUIRE_ALL=1` is set.

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Ends the test if a tool (searched in PATH) or a file (an absolute path) is missing: with a printed reason outside
/// CI, with a failure in CI.
///
/// ```no_run
/// # use underpin_test_support::need;
/// need!("musl-gcc", "strace", "/lib/ld-musl-x86_64.so.1");
/// ```
#[macro_export]
macro_rules! need {
    ($($what:expr),+ $(,)?) => {
        if let Some(missing) = $crate::missing(&[$($what),+]) {
            $crate::skip(&missing);
            return;
        }
    };
}

/// Whether something that is missing is a failure here.
#[must_use]
pub fn all_required() -> bool {
    let set = |name: &str| env::var(name).is_ok_and(|value| matches!(value.as_str(), "1" | "true"));
    set("CI") || set("UNDERPIN_REQUIRE_ALL")
}

/// Whether an absolute path exists, or PATH holds a program of that name.
#[must_use]
pub fn available(what: &str) -> bool {
    if what.starts_with('/') {
        return Path::new(what).exists();
    }
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|dir| dir.join(what).is_file()))
}

/// The first thing that is missing, as a sentence; `None` if everything is there.
#[must_use]
pub fn missing(what: &[&str]) -> Option<String> {
    what.iter().find(|what| !available(what)).map(|what| format!("{what} is not on this machine"))
}

/// Says that a test is skipped, and why; call it right before the test returns.
///
/// # Panics
/// In CI, where a skip is a failure.
pub fn skip(reason: &str) {
    assert!(
        !all_required(),
        "{reason}, and in CI a skip is a failure (`cargo xtask test --install` installs what tests need)"
    );
    told(reason);
}

/// The same for a target of rustc: the one thing that may be missing in CI, and only if the set-up of the tests said
/// that rustup could not fetch it (`UNDERPIN_REFUSED_TARGETS`).
///
/// # Panics
/// In CI, where the set-up said nothing of the kind.
pub fn skip_without_target(target: &str) {
    let reason = format!("rustc has no core library for {target} (`rustup target add {target}`)");
    let refused = env::var("UNDERPIN_REFUSED_TARGETS").unwrap_or_default();
    if refused.split_whitespace().any(|one| one == target) {
        told(&reason);
    } else {
        skip(&reason);
    }
}

// Written to the descriptor directly: the test harness swallows what the print macros write.
fn told(reason: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = std::io::stderr().lock().write_all(format!("skipped {test}: {reason}\n").as_bytes());
}

/// The versions of patchelf that the set-up of the tests has put below `target/patchelf` (or `UNDERPIN_PATCHELF`), and
/// the one in PATH: each with its name. Empty if one of them is missing.
#[must_use]
pub fn patchelfs() -> Vec<(String, PathBuf)> {
    let folder = env::var_os("UNDERPIN_PATCHELF").map_or_else(|| target().join("patchelf"), PathBuf::from);
    let mut all = vec![("patchelf of PATH".to_owned(), PathBuf::from("patchelf"))];
    for version in PATCHELF_VERSIONS {
        all.push((format!("patchelf {version}"), folder.join(version).join("bin/patchelf")));
    }
    let there = all.iter().all(|(_, program)| program.to_str().is_some_and(available));
    if there { all } else { Vec::new() }
}

/// The versions of patchelf that Spack, Nix and Conda have used, beside that of Debian (0.14.3).
pub const PATCHELF_VERSIONS: [&str; 3] = ["0.17.2.4", "0.18.0.0", "0.19.3.0"];

/// The folder with auditwheel that the set-up of the tests has put below `target/`: to be named in PYTHONPATH for
/// `python3 -m auditwheel`. `None` if it is missing.
#[must_use]
pub fn auditwheel() -> Option<PathBuf> {
    let folder = target().join("auditwheel");
    folder.join("auditwheel").is_dir().then_some(folder)
}

/// The releases of zig that the set-up of the tests has put below `target/zig` (or `UNDERPIN_ZIG`). Empty if one of them is
/// missing: what is done by each of them is skipped.
///
/// # Panics
/// In CI, if one is missing.
#[must_use]
pub fn zigs() -> Vec<PathBuf> {
    let folder = env::var_os("UNDERPIN_ZIG").map_or_else(|| target().join("zig"), PathBuf::from);
    let all: Vec<PathBuf> = ZIG_VERSIONS.iter().map(|version| folder.join(version).join("ziglang/zig")).collect();
    if all.iter().all(|program| program.is_file()) {
        return all;
    }
    skip("not every release of zig is below target/zig");
    Vec::new()
}

/// The releases of zig that builds are tried with.
pub const ZIG_VERSIONS: [&str; 2] = ["0.15.2", "0.17.1"];

/// PATH with a QEMU in front that has the board of the Raspberry Pi 4, if the set-up of the tests has put one below
/// `target/qemu`; else PATH as it is, whose QEMU may have the board.
#[must_use]
pub fn path_with_board() -> std::ffi::OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let newer = target().join("qemu/bin");
    let folders = newer.is_dir().then_some(newer).into_iter().chain(env::split_paths(&path));
    env::join_paths(folders).unwrap_or(path)
}

fn target() -> PathBuf {
    let of_workspace = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join("target");
    env::var_os("CARGO_TARGET_DIR").map_or_else(of_workspace, PathBuf::from)
}
