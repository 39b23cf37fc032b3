//! A suite of Debian's archive in a folder of its own, through apt.

use super::output;
use crate::run;
use anyhow::{Context, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Package names in one call of apt: a command line has a limit.
const AT_ONCE: usize = 60;

/// Makes the folders of an apt of its own, which knows one suite: of packages (`deb`) or of sources (`deb-src`).
///
/// # Errors
/// If apt has no Debian archive, or the folders cannot be written to.
pub fn own_folders(folder: &Path, kind: &str, suite: &str) -> anyhow::Result<()> {
    for name in ["lists/partial", "cache/archives/partial", "state", "etc/apt.conf.d"] {
        fs::create_dir_all(folder.join(name))?;
    }
    let source = format!("{kind} [signed-by={KEYRING}] {} {suite} main\n", mirror()?);
    Ok(fs::write(folder.join("etc/sources.list"), source)?)
}

/// A tool of apt that knows nothing but such folders.
pub fn tool_in(tool: &str, folder: &Path) -> Command {
    let mut command = Command::new(tool);
    for (key, path) in [
        ("Dir::Etc", "etc"),
        ("Dir::State", "state"),
        ("Dir::State::Lists", "lists"),
        ("Dir::State::status", "state/status"),
        ("Dir::Cache", "cache"),
    ] {
        command.arg("-o").arg(format!("{key}={}", folder.join(path).display()));
    }
    command.args(["-o", "APT::Sandbox::User=root", "-o", "APT::Update::Post-Invoke="]);
    command
}

/// One suite.
pub struct Archive {
    folder: PathBuf,
    /// What the suite calls itself.
    pub label: String,
    packages: BTreeMap<String, Package>,
}

/// What the archive's index says of a package.
#[derive(Default)]
struct Package {
    section: String,
    bytes: u64,
    version: String,
    dependents: usize,
}

impl Archive {
    /// Reads the index of a suite, from the place where this machine's apt has Debian from.
    ///
    /// # Errors
    /// If apt has no Debian archive, or that has no such suite.
    pub fn open(suite: &str) -> anyhow::Result<Archive> {
        let folder = run::target().join("systems").join(suite);
        own_folders(&folder, "deb", suite)?;
        fs::create_dir_all(folder.join("debs"))?;
        fs::write(folder.join("state/status"), "")?;
        let mut archive = Archive { folder, label: suite.to_owned(), packages: BTreeMap::new() };
        println!("+ apt-get update ({suite})");
        output(archive.apt("apt-get").arg("update"))?;
        archive.packages = read_index(&output(archive.apt("apt-cache").arg("dumpavail"))?);
        if archive.packages.is_empty() {
            bail!("the package index of {suite} is empty");
        }
        Ok(archive)
    }

    /// A tool of apt that knows nothing but this suite.
    fn apt(&self, tool: &str) -> Command {
        let mut command = tool_in(tool, &self.folder);
        command.args(["-o", "APT::Architecture=amd64", "-o", "APT::Architectures::=amd64"]);
        command.current_dir(self.folder.join("debs"));
        command
    }

    /// The libraries that at least `dependents` packages depend on, and those named, up to a size in bytes.
    pub fn commonly_needed(&self, dependents: usize, largest: u64, named: &BTreeSet<String>) -> BTreeSet<String> {
        let wanted = |name: &String, package: &Package| {
            let common = is_library(name, package) && package.dependents >= dependents;
            package.bytes <= largest && (common || named.contains(name))
        };
        self.packages.iter().filter(|(name, package)| wanted(name, package)).map(|(name, _)| name.clone()).collect()
    }

    /// The version of a package; empty for one that the suite does not have.
    pub fn version(&self, package: &str) -> &str {
        self.packages.get(package).map_or("", |package| &package.version)
    }

    /// The files of some packages, fetched if they are not there yet.
    ///
    /// # Errors
    /// If apt cannot fetch one.
    pub fn download(&self, wanted: &BTreeSet<String>) -> anyhow::Result<Vec<(String, PathBuf)>> {
        let debs = self.folder.join("debs");
        let there = files(&debs)?;
        let missing: Vec<&String> = wanted.iter().filter(|name| !there.contains_key(*name)).collect();
        for names in missing.chunks(AT_ONCE) {
            println!("+ apt-get download ({} packages)", names.len());
            output(self.apt("apt-get").arg("download").args(names))?;
        }
        let there = files(&debs)?;
        let file = |name: &String| {
            let path = there.get(name).with_context(|| format!("apt did not fetch {name}"))?;
            Ok((name.clone(), path.clone()))
        };
        wanted.iter().map(file).collect()
    }
}

/// The packages in a folder, by name.
fn files(folder: &Path) -> anyhow::Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if let Some((package, _)) = name.split_once('_') {
            found.insert(package.to_owned(), path);
        }
    }
    Ok(found)
}

/// Whether a package holds libraries, not a language's modules, headers or data.
fn is_library(name: &str, package: &Package) -> bool {
    let libs = matches!(package.section.as_str(), "libs" | "oldlibs");
    let numbered = name.starts_with("lib") && name.ends_with(|last: char| last.is_ascii_digit());
    let other = ["-dev", "-java", "-perl", "-data", "-common"].iter().any(|end| name.ends_with(end));
    (libs || numbered) && !other && !name.starts_with("librust-") && !name.starts_with("libghc-")
}

fn read_index(text: &str) -> BTreeMap<String, Package> {
    let mut packages: BTreeMap<String, Package> = BTreeMap::new();
    for record in text.split("\n\n") {
        let field = |name: &str| record.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let Some(name) = field("Package") else { continue };
        let package = packages.entry(name.to_owned()).or_default();
        package.section = field("Section").unwrap_or_default().to_owned();
        package.version = field("Version").unwrap_or_default().to_owned();
        package.bytes = field("Size").and_then(|size| size.parse().ok()).unwrap_or(u64::MAX);
        let named = ["Depends", "Pre-Depends"].into_iter().filter_map(field).flat_map(|list| list.split([',', '|']));
        let needed: BTreeSet<&str> = named
            .filter_map(|item| item.trim().split([' ', ':', '(']).next())
            .filter(|name| !name.is_empty())
            .collect();
        for dependency in needed {
            packages.entry(dependency.to_owned()).or_default().dependents += 1;
        }
    }
    packages.retain(|_, package| package.bytes > 0);
    packages
}

/// Where this machine's apt has Debian from.
///
/// # Errors
/// If it has no Debian archive.
pub fn mirror() -> anyhow::Result<String> {
    let format = "$(REPO_URI) $(ORIGIN)";
    let text = output(Command::new("apt-get").args(["indextargets", "--format", format, "Created-By: Packages"]))?;
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    let main = lines.find(|(uri, origin)| *origin == "Debian" && !uri.contains("security"));
    main.map(|(uri, _)| uri.to_owned()).context("apt on this machine has no Debian archive: run apt-get update first")
}
