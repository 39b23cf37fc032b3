//! Releases: both products as static files for both processors, as tarballs, Debian packages and wheels, with checksums and
//! SPDX lists. The same sources give the same bytes; each package is tried in a root that holds nothing else.

mod archive;
mod spdx;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "an unwrap is a failing assertion here")]
mod tests;
mod tried;
mod wheel;

use crate::build::{self, Processor};
use crate::{run, setup};
use anyhow::{Context, bail};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One version for everything: the workspace's.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What is shipped under a name of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// Its name: package, program and file.
    name: &'static str,
    /// One line for package lists.
    summary: &'static str,
    /// Where its README and CHANGELOG are, below the workspace.
    folder: &'static str,
    /// Where its man pages and completions are.
    documents: &'static str,
}

/// Both products.
const PRODUCTS: [Product; 2] = [
    Product {
        name: "underpin",
        summary: "explain, measure, change and prove what a Linux binary depends on",
        folder: ".",
        documents: "docs",
    },
    Product {
        name: "foolsgold",
        summary: "Rack server with an embedded Ruby, as one static file",
        folder: "foolsgold",
        documents: "foolsgold/docs",
    },
];

/// A program that was built, and all that its packages hold beside it.
struct Release<'a> {
    product: Product,
    processor: Processor,
    program: &'a Path,
    /// Seconds since 1970: the date of every file in a package.
    date: u64,
}

/// Builds everything into `target/dist` and tries it. `twice`: builds again from a copy of the sources in another folder and
/// compares every byte.
///
/// # Errors
/// If a build, a package or a trial fails, or the second build differs.
pub fn run(processors: &[Processor], twice: bool) -> anyhow::Result<()> {
    let tag = tag()?;
    for product in PRODUCTS {
        let path = run::workspace().join(product.folder).join("CHANGELOG.md");
        fits(&fs::read_to_string(&path)?, VERSION, tag.as_deref()).with_context(|| path.display().to_string())?;
    }
    // Asked once: a commit that is made meanwhile would change the date of the second build.
    let (commit, date) = (head()?, date(&run::workspace())?);
    let folder = run::target().join("dist");
    let packages = make(&run::workspace(), &run::target(), &folder, processors, date)?;
    for package in &packages {
        tried::package(package)?;
    }
    if twice {
        again(&folder, &packages, processors, &commit, date)?;
    }
    packages.iter().for_each(|package| println!("{}", package.path.display()));
    Ok(())
}

/// A finished package.
#[derive(Debug)]
struct Package {
    path: PathBuf,
    product: Product,
    processor: Processor,
    kind: Kind,
}

/// Kinds of packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tarball,
    Debian,
    Wheel,
}

fn make(
    sources: &Path,
    target: &Path,
    folder: &Path,
    processors: &[Processor],
    date: u64,
) -> anyhow::Result<Vec<Package>> {
    let every = [Processor::X86_64, Processor::Aarch64];
    let processors = if processors.is_empty() { &every } else { processors };
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut tools = vec![("dpkg-deb", "dpkg"), ("unshare", "util-linux"), ("gzip", "gzip"), ("tar", "tar")];
    if processors.contains(&Processor::Aarch64) {
        // underpin's own allocators are built by GCC (crates/underpin-malloc).
        tools.extend([
            ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
            ("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu"),
        ]);
    }
    build::has_tools(processors, &tools)?;
    let mut packages = Vec::new();
    for &processor in processors {
        if !setup::add_target(processor.triple(), "no release for it") {
            bail!("rustup cannot fetch {}: name another processor with --target", processor.triple());
        }
        for product in PRODUCTS {
            let program = build::program(sources, target, product.name, processor)?;
            let release = Release { product, processor, program: &program, date };
            for (kind, path) in release.packages(sources, folder)? {
                packages.push(Package { path, product, processor, kind });
            }
        }
    }
    sums(folder, &packages)?;
    Ok(packages)
}

impl Release<'_> {
    fn packages(&self, sources: &Path, folder: &Path) -> anyhow::Result<Vec<(Kind, PathBuf)>> {
        self.packages_with(sources, &spdx::list(sources, self)?, folder)
    }

    /// All packages, with this list of parts in them.
    fn packages_with(&self, sources: &Path, list: &str, folder: &Path) -> anyhow::Result<Vec<(Kind, PathBuf)>> {
        Ok(vec![
            (Kind::Tarball, archive::tarball(sources, self, list, folder)?),
            (Kind::Debian, archive::debian(sources, self, list, folder)?),
            (Kind::Wheel, wheel::write(sources, self, list, folder)?),
        ])
    }
}

/// The present commit.
fn head() -> anyhow::Result<String> {
    let output = Command::new("git").args(["rev-parse", "HEAD"]).output().context("cannot start git")?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// The tag of the present commit that names a version, `v1.2.3`.
fn tag() -> anyhow::Result<Option<String>> {
    let output = Command::new("git").args(["tag", "--points-at", "HEAD", "v*"]).output().context("cannot start git")?;
    Ok(String::from_utf8(output.stdout)?.lines().next().map(str::to_owned))
}

/// Whether a changelog, the version of the workspace and the tag of the commit, if there is one, say the same.
fn fits(changelog: &str, version: &str, tag: Option<&str>) -> anyhow::Result<()> {
    let mut headings = changelog.lines().filter_map(|line| line.strip_prefix("## ")).peekable();
    let is_open = headings.next_if(|heading| *heading == "Unreleased").is_some();
    let newest = headings.next().and_then(|heading| heading.split(' ').next());
    if let Some(tag) = tag {
        if tag.strip_prefix('v') != Some(version) {
            bail!("the commit is tagged {tag}, but the version in Cargo.toml is {version}");
        }
        if is_open {
            bail!("the commit is tagged {tag}, but its changes are still listed as Unreleased");
        }
    }
    match newest {
        Some(newest) if is_open && newest == version => {
            bail!("{version} is released: raise the version in Cargo.toml for what is listed as Unreleased")
        }
        Some(newest) if !is_open && newest != version => {
            bail!("the newest release is {newest}, but the version in Cargo.toml is {version}")
        }
        None if !is_open => bail!("it has neither a release nor a section Unreleased"),
        _ => Ok(()),
    }
}

/// The date of the sources: SOURCE_DATE_EPOCH (reproducible-builds.org), else that of the last commit.
fn date(sources: &Path) -> anyhow::Result<u64> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => {
            let output = Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(sources).output()?;
            String::from_utf8(output.stdout)?
        }
    };
    text.trim().parse().context("the date of the sources is unknown: set SOURCE_DATE_EPOCH")
}

/// SHA-256 in hexadecimal.
fn sha256(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// `SHA256SUMS`, as sha256sum(1) reads it.
fn sums(folder: &Path, packages: &[Package]) -> anyhow::Result<()> {
    let mut text = String::new();
    for package in packages {
        let name = package.path.file_name().unwrap_or_default().to_string_lossy();
        writeln!(text, "{}  {name}", sha256(&fs::read(&package.path)?))?;
    }
    Ok(fs::write(folder.join("SHA256SUMS"), text)?)
}

/// Builds everything again, in a folder of another name and depth, and compares.
fn again(folder: &Path, packages: &[Package], processors: &[Processor], commit: &str, date: u64) -> anyhow::Result<()> {
    let scratch = run::scratch("dist-again")?;
    let copy = scratch.join("some/other-place");
    fs::create_dir_all(&copy)?;
    let archive = Command::new("git").args(["archive", "--format=tar", commit]).output()?;
    let tar = scratch.join("sources.tar");
    fs::write(&tar, archive.stdout)?;
    run::must("tar", &["-xf", &tar.display().to_string(), "-C", &copy.display().to_string()])?;
    // The copy has no history to take the date from.
    let status = Command::new(std::env::current_exe()?)
        .args(["dist-at", &copy.display().to_string(), &scratch.join("target").display().to_string()])
        .args(processors.iter().flat_map(|processor| ["--target", processor.of_kernel()]))
        .env("SOURCE_DATE_EPOCH", date.to_string())
        .status()?;
    if !status.success() {
        bail!("the second build failed: {status}");
    }
    for package in packages {
        let name = package.path.file_name().unwrap_or_default();
        if fs::read(&package.path)? != fs::read(scratch.join("target/dist").join(name))? {
            bail!("{}: the second build differs, see {}", name.to_string_lossy(), scratch.display());
        }
    }
    println!("{} packages in {}: the second build has the same bytes", packages.len(), folder.display());
    Ok(fs::remove_dir_all(&scratch)?)
}

/// The second build, of a copy of the sources: no trial.
///
/// # Errors
/// As [`run`].
pub fn at(sources: &Path, target: &Path, processors: &[Processor]) -> anyhow::Result<()> {
    std::env::set_current_dir(sources)?;
    make(sources, target, &target.join("dist"), processors, date(sources)?).map(|_| ())
}
