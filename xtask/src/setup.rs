//! What the tests need beyond cargo and a C compiler.

use crate::run;
use std::path::Path;
use std::process::Command;

/// Debian's packages, by what they are for.
const PACKAGES: [(&str, &[&str]); 11] = [
    ("programs to look at", &["emacs-gtk", "ffmpeg", "git", "python3", "ruby", "appstream"]),
    ("judges", &["libtree", "strace", "binutils", "elfutils", "llvm", "pax-utils", "jq", "time", "hyperfine"]),
    ("attributes of files", &["attr", "acl", "libcap2-bin", "e2fsprogs"]),
    ("a second C library", &["musl", "musl-dev", "musl-tools"]),
    (
        "allocators and a third C library to recognise",
        &["libjemalloc-dev", "libmimalloc-dev", "libgoogle-perftools-dev", "dietlibc-dev"],
    ),
    (
        "compilers and linkers for fixtures",
        &["gcc", "g++", "gcc-12-multilib", "clang", "lld", "mold", "golang-go", "patchelf"],
    ),
    (
        "programs of other machines",
        &[
            "qemu-user",
            "gcc-aarch64-linux-gnu",
            "libc6-arm64-cross",
            "libc6-dev-arm64-cross",
            "libc6-armhf-cross",
            "libc6-i386",
            "libc6-ppc64el-cross",
            "libc6-riscv64-cross",
            "libc6-s390x-cross",
        ],
    ),
    ("a look at the HTML pages", &["chromium", "chromium-driver"]),
    ("workloads", &["puma", "thin", "ruby-rack", "nodejs"]),
    ("servers to load, and other load generators", &["nginx-light", "wrk", "apache2-utils"]),
    ("a slow file system", &["fuse3"]),
];

/// Rust's targets that tests build for, and what becomes of them where rustup cannot fetch one.
const TARGETS: [(&str, &str); 2] = [
    ("x86_64-unknown-linux-musl", "tests of static musl programs use a C program instead of a Rust one"),
    ("aarch64-unknown-linux-gnu", "bundles for aarch64 are not tested"),
];

/// What a test may insist on.
pub struct Installed {
    /// Every package is there.
    pub packages: bool,
    /// Rust's targets that rustup could not fetch: some networks refuse it.
    pub refused: Vec<&'static str>,
}

/// Installs everything and says what a test may now insist on.
///
/// # Errors
/// Where the package manager fails.
pub fn install() -> anyhow::Result<Installed> {
    if !Path::new("/usr/bin/apt-get").exists() {
        println!("not a Debian system: install by hand what these Debian packages hold; tests skip what is not there");
        for (purpose, names) in PACKAGES {
            println!("  {purpose}: {}", names.join(" "));
        }
        return Ok(Installed { packages: false, refused: Vec::new() });
    }
    let names = PACKAGES.iter().flat_map(|(_, names)| names.iter().copied());
    let missing: Vec<&str> = names.filter(|name| !is_installed(name)).collect();
    if missing.is_empty() {
        println!("every package that the tests need is installed");
    } else {
        apt(&["update", "--quiet"])?;
        let mut args = vec!["install", "--yes", "--quiet", "--no-install-recommends"];
        args.extend(missing);
        apt(&args)?;
    }
    let refused = TARGETS.into_iter().filter(|(target, instead)| !add_target(target, instead));
    Ok(Installed { packages: true, refused: refused.map(|(target, _)| target).collect() })
}

fn is_installed(package: &str) -> bool {
    let query = Command::new("dpkg-query").args(["--show", "--showformat=${db:Status-Status}", package]).output();
    query.is_ok_and(|output| output.stdout == b"installed")
}

/// apt-get, through sudo where this user is not the administrator.
fn apt(args: &[&str]) -> anyhow::Result<()> {
    let administrator = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    let mut command = vec!["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"];
    command.extend(args);
    if administrator { run::must(command[0], &command[1..]) } else { run::must("sudo", &command) }
}

/// Whether rustup has a target now.
fn add_target(target: &str, instead: &str) -> bool {
    let added = run::must("rustup", &["target", "add", target]);
    if let Err(error) = &added {
        println!("{error:#}: {instead}");
    }
    added.is_ok()
}
