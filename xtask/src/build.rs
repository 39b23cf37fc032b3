//! How the programs of the workspace are built: a product for a processor, with a C library and an allocator.
//!
//! A static build is one of `underpin build`, by the underpin of the same sources: C is compiled for x86-64 by musl-gcc, for
//! aarch64 by zig from PyPI, a C compiler with musl for every processor in one Python package, which is fetched into target/.

use crate::run;
use anyhow::{Context, bail};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The release of zig that was tried.
const ZIG: &str = "0.15.2";

/// A processor that foolsgold is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Processor {
    /// Intel and AMD, 64 bits
    #[value(name = "x86_64")]
    X86_64,
    /// 64-bit ARM
    Aarch64,
}

/// The allocator of everything but the interpreters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocator {
    /// The C library's.
    System,
    /// jemalloc.
    Jemalloc,
    /// mimalloc.
    Mimalloc,
}

impl Allocator {
    /// Its name, which is its feature's too.
    pub fn name(self) -> &'static str {
        match self {
            Allocator::System => "system",
            Allocator::Jemalloc => "jemalloc",
            Allocator::Mimalloc => "mimalloc",
        }
    }
}

/// The C library of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkage {
    /// This machine's, shared.
    Glibc,
    /// musl, linked in.
    Musl(Processor),
}

impl Linkage {
    /// Its name, which is a folder's too.
    pub fn name(self) -> &'static str {
        match self {
            Linkage::Glibc => "glibc",
            Linkage::Musl(processor) => processor.triple(),
        }
    }
}

impl Processor {
    /// Rust's name of the static target.
    pub fn triple(self) -> &'static str {
        match self {
            Processor::X86_64 => "x86_64-unknown-linux-musl",
            Processor::Aarch64 => "aarch64-unknown-linux-musl",
        }
    }

    /// As Debian names it.
    pub fn of_debian(self) -> &'static str {
        match self {
            Processor::X86_64 => "amd64",
            Processor::Aarch64 => "arm64",
        }
    }

    /// The oldest tag of each C library that it has: a static program needs nothing from the system.
    pub fn of_wheels(self) -> [&'static str; 3] {
        match self {
            Processor::X86_64 => ["manylinux_2_5_x86_64", "manylinux1_x86_64", "musllinux_1_1_x86_64"],
            Processor::Aarch64 => ["manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"],
        }
    }

    /// As the kernel names it.
    pub fn of_kernel(self) -> &'static str {
        match self {
            Processor::X86_64 => "x86_64",
            Processor::Aarch64 => "aarch64",
        }
    }
}

/// Checks for the programs that the builds start, before minutes of compiling end because one is missing; `more` are
/// others with their packages.
///
/// # Errors
/// Which are missing, and how to install them.
pub fn has_tools(processors: &[Processor], more: &[(&'static str, &'static str)]) -> anyhow::Result<()> {
    let missing = missing(processors, more, &std::env::var_os("PATH").unwrap_or_default());
    if missing.is_empty() {
        return Ok(());
    }
    let tools: Vec<String> = missing.iter().map(|(tool, package)| format!("{tool} ({package})")).collect();
    let packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    bail!("the static files need {}: apt-get install {}", tools.join(", "), packages.join(" "))
}

/// Programs that the builds and their checks start and that are not in `path`, each with its Debian package.
fn missing(
    processors: &[Processor],
    more: &[(&'static str, &'static str)],
    path: &OsStr,
) -> Vec<(&'static str, &'static str)> {
    let mut tools = vec![("readelf", "binutils")];
    tools.extend(more);
    if processors.contains(&Processor::X86_64) {
        tools.push(("x86_64-linux-musl-gcc", "musl-tools"));
    }
    if processors.contains(&Processor::Aarch64) {
        tools.push(("python3", "python3"));
        tools.push(("pip3", "python3-pip"));
        if std::env::consts::ARCH != "aarch64" {
            tools.push(("qemu-aarch64", "qemu-user"));
        }
    }
    tools.retain(|(tool, _)| !std::env::split_paths(path).any(|folder| folder.join(tool).exists()));
    tools
}

/// Builds foolsgold as a user would get it, and says where it is: each kind has a place of its own.
///
/// # Errors
/// If a compiler is missing, or the build fails.
pub fn foolsgold(linkage: Linkage, allocator: Allocator) -> anyhow::Result<PathBuf> {
    let (sources, target) = (run::workspace(), run::target());
    let words: &[&str] = match allocator {
        // The default, left as it is: so `dist` finds the same build.
        Allocator::Mimalloc => &[],
        Allocator::System => &["--no-default-features"],
        Allocator::Jemalloc => &["--no-default-features", "--features", "jemalloc"],
    };
    if let Linkage::Musl(processor) = linkage {
        return built(&sources, &target, "foolsgold", processor, allocator, words);
    }
    let mut command = Command::new(run::cargo());
    command.args(["build", "--quiet", "--release", "--locked", "--package", "foolsgold", "--bin", "foolsgold"]);
    command.args(words).arg("--target-dir").arg(&target).current_dir(&sources);
    finish(command, "foolsgold")?;
    // The next build of another kind would replace it.
    let place = target.join("foolsgold").join(linkage.name()).join(allocator.name());
    fs::create_dir_all(&place)?;
    let file = place.join("foolsgold");
    // A running program cannot be written to.
    if file.exists() {
        fs::remove_file(&file)?;
    }
    fs::copy(target.join("release/foolsgold"), &file).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}

/// Builds a product as it is released, static for a processor, with `underpin build`. `sources` is the workspace, `target` where
/// cargo builds; it comes out the same wherever and whenever it is done: no path of this machine comes into it and no date.
///
/// # Errors
/// If a compiler is missing, or the build fails.
pub fn program(sources: &Path, target: &Path, package: &str, processor: Processor) -> anyhow::Result<PathBuf> {
    built(sources, target, package, processor, Allocator::Mimalloc, &[])
}

/// `underpin build` of a product, with more words for cargo.
fn built(
    sources: &Path,
    target: &Path,
    package: &str,
    processor: Processor,
    allocator: Allocator,
    words: &[&str],
) -> anyhow::Result<PathBuf> {
    let file = target.join("released").join(processor.of_kernel()).join(allocator.name()).join(package);
    let mut command = Command::new(underpin(sources, target)?);
    command.arg("build").arg(sources).args(["--target", processor.of_kernel(), "--force"]);
    command.args(["--malloc", allocator.name()]).arg("-o").arg(&file);
    // The compiler is named, so that a release does not depend on what else is installed.
    command.args(["--cc", if processor == Processor::X86_64 { "gcc" } else { "zig" }]);
    command.args(["--", "--quiet", "--package", package, "--bin", package]).args(words);
    command.env("XDG_CACHE_HOME", target.join("underpin-cache"));
    without_places(&mut command, sources, target, processor);
    if processor == Processor::Aarch64 {
        let mut path = vec![zig()?];
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        command.env("PATH", std::env::join_paths(path)?);
    }
    finish(command, package)?;
    is_static(&file)?;
    Ok(file)
}

/// Names the underpin that builds, to whoever has one of these sources.
pub const BUILDER: &str = "UNDERPIN_BUILDER";

/// The underpin that builds: of these sources, for this machine.
fn underpin(sources: &Path, target: &Path) -> anyhow::Result<PathBuf> {
    if let Some(given) = std::env::var_os(BUILDER).map(PathBuf::from).filter(|given| given.is_file()) {
        return Ok(given);
    }
    let mut command = Command::new(run::cargo());
    command.args(["build", "--quiet", "--locked", "--package", "underpin", "--bin", "underpin"]);
    command.arg("--target-dir").arg(target).current_dir(sources);
    finish(command, "underpin")?;
    Ok(target.join("debug/underpin"))
}

/// Keeps paths of this machine and the date out of what is compiled; `underpin build` does so for its own folder.
fn without_places(command: &mut Command, sources: &Path, target: &Path, processor: Processor) {
    let home = std::env::var_os("CARGO_HOME")
        .map_or_else(|| std::env::home_dir().unwrap_or_default().join(".cargo"), PathBuf::from);
    // The last that fits wins (rustc's --remap-path-prefix, gcc's -ffile-prefix-map), so the longest comes last: cargo may
    // build below the sources.
    let places = [(home.as_path(), "/cargo"), (sources, "/src"), (target, "/target")];
    let mapped = |option: &str| places.map(|(from, to)| format!("{option}={}={to}", from.display()));
    let mut c = mapped("-ffile-prefix-map").to_vec();
    // mimalloc can say when it was compiled.
    c.extend(["-Wno-builtin-macro-redefined", "-D__DATE__=\"unknown\"", "-D__TIME__=\"unknown\""].map(str::to_owned));
    command.env("CARGO_ENCODED_RUSTFLAGS", mapped("--remap-path-prefix").join("\x1f"));
    command.env(format!("CFLAGS_{}", processor.triple().replace('-', "_")), c.join(" "));
}

/// Shows a build and runs it to its end.
fn finish(mut command: Command, package: &str) -> anyhow::Result<()> {
    println!("+ {command:?}");
    let status = command.status().context("cannot start cargo")?;
    if status.success() { Ok(()) } else { bail!("{package} does not build ({status})") }
}

/// The folder with zig of the release that was tried, from Python's package index.
///
/// # Errors
/// If pip cannot fetch it.
pub fn zig() -> anyhow::Result<PathBuf> {
    zig_of(ZIG)
}

/// The same for a release.
///
/// # Errors
/// If pip cannot fetch it.
pub fn zig_of(version: &str) -> anyhow::Result<PathBuf> {
    let folder = run::target().join("zig").join(version);
    let place = folder.join("ziglang");
    if !place.join("zig").is_file() {
        let (package, folder) = (format!("ziglang=={version}"), folder.display().to_string());
        let quiet = ["-m", "pip", "install", "--quiet", "--upgrade", "--no-deps", "--target", &folder, &package];
        run::must("python3", &quiet).context("zig comes from PyPI by pip (package python3-pip)")?;
    }
    Ok(place)
}

/// Checks that a file names no loader (PT_INTERP) and no library, as a static file must not.
///
/// # Errors
/// If it names one, and which.
pub fn is_static(file: &Path) -> anyhow::Result<()> {
    let output = Command::new("readelf").args(["-lWd"]).arg(file).output().context("cannot start readelf")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || !text.contains("LOAD") {
        bail!("readelf cannot read {}", file.display());
    }
    match text.lines().find(|line| line.contains("INTERP") || line.contains("(NEEDED)")) {
        Some(line) => bail!("{} is not static: {}", file.display(), line.trim()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Processor, missing};

    #[test]
    fn what_is_missing_is_known_before_anything_is_compiled() {
        let folder = crate::run::scratch("statics-test").unwrap();
        std::fs::write(folder.join("readelf"), "").unwrap();
        let of = |processors: &[Processor]| missing(processors, &[], folder.as_os_str());
        assert_eq!(of(&[Processor::X86_64]), [("x86_64-linux-musl-gcc", "musl-tools")]);
        assert!(of(&[Processor::Aarch64]).contains(&("pip3", "python3-pip")));
        std::fs::write(folder.join("x86_64-linux-musl-gcc"), "").unwrap();
        assert!(of(&[Processor::X86_64]).is_empty());
        let more = super::missing(&[Processor::X86_64], &[("dpkg-deb", "dpkg")], folder.as_os_str());
        assert_eq!(more, [("dpkg-deb", "dpkg")]);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
