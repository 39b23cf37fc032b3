//! What one library file defines, as readelf reads it.

use super::output;
use anyhow::{Context, bail};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folders that Debian's loader searches by itself.
const FOLDERS: [&str; 4] = ["lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "lib", "usr/lib"];

/// A shared library.
#[derive(Clone)]
pub struct Library {
    pub soname: String,
    pub package: String,
    /// `None`: it has no version definitions.
    pub versions: Option<BTreeSet<String>>,
}

impl Library {
    /// Its line in the file of facts.
    pub fn line(&self, text: &mut String) {
        text.push_str(&self.soname);
        text.push(' ');
        text.push_str(&self.package);
        match &self.versions {
            None => text.push_str(" -"),
            Some(versions) => {
                for version in versions.iter().filter(|version| **version != self.soname) {
                    text.push(' ');
                    text.push_str(version);
                }
            }
        }
        text.push('\n');
    }
}

/// Takes the shared libraries out of a package, and nothing else of it: most are small parts of large packages.
///
/// # Errors
/// If the file is not a package.
pub fn unpack(package: &Path, folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder)?;
    let mut tar = Command::new("dpkg-deb").arg("--fsys-tarfile").arg(package).stdout(Stdio::piped()).spawn()?;
    let stream = tar.stdout.take().context("dpkg-deb has no output")?;
    let mut command = Command::new("tar");
    command.arg("-C").arg(folder).args(["-x", "--wildcards", "-f", "-"]);
    command.args(FOLDERS.map(|name| format!("./{name}/*.so*")));
    // A package without libraries makes tar complain of patterns that match nothing.
    command.stdin(stream).stderr(Stdio::null()).status()?;
    if !tar.wait()?.success() {
        bail!("dpkg-deb cannot read {}", package.display());
    }
    Ok(())
}

/// The libraries of an unpacked package.
///
/// # Errors
/// If a folder cannot be read.
pub fn in_folder(folder: &Path, package: &str) -> anyhow::Result<Vec<Library>> {
    let mut found = Vec::new();
    for name in FOLDERS {
        let Ok(entries) = fs::read_dir(folder.join(name)) else { continue };
        let mut paths: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
        paths.sort();
        let candidates = paths.iter().filter(|path| path.is_file() && !path.is_symlink() && is_library(path));
        found.extend(candidates.filter_map(|path| read(path, package)));
    }
    Ok(found)
}

fn is_library(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    name.contains(".so")
}

/// `None` if readelf finds no soname: a module that is loaded by its path, or a linker script.
fn read(path: &Path, package: &str) -> Option<Library> {
    let text = output(Command::new("readelf").args(["-dVW"]).arg(path)).ok()?;
    let soname = text.lines().find_map(|line| line.split_once("Library soname: [")?.1.strip_suffix(']'))?;
    if soname.contains(char::is_whitespace) {
        return None;
    }
    let package = package.to_owned();
    Some(Library { soname: soname.to_owned(), package, versions: definitions(&text) })
}

/// The names of the definition section. A line without `Rev` names a version's parent, which has an entry of its own.
fn definitions(text: &str) -> Option<BTreeSet<String>> {
    let section = text.split("\n\n").find(|section| section.trim_start().starts_with("Version definition section"))?;
    let entries = section.lines().filter(|line| line.contains("Rev: "));
    let names = entries.filter_map(|line| Some(line.split_once("Name: ")?.1.trim().to_owned()));
    Some(names.filter(|name| !name.contains(char::is_whitespace)).collect())
}
