//! Which packages of a machine some of its files are from, by what dpkg keeps on the disk; nothing is run.

use bstr::ByteSlice;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// More than any machine's database has in one file.
const LARGEST: u64 = 64 << 20;

/// A package that a machine has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Installed {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// dpkg's name of the processor.
    pub architecture: String,
    /// Whose package it is, as os-release names it: `debian`, `ubuntu`, ...
    pub distribution: String,
    /// The source package, with its version if it has another.
    pub source: String,
}

impl Installed {
    /// Name and version.
    #[must_use]
    pub fn words(&self) -> String {
        format!("{} {}", self.name, self.version)
    }
}

/// Where no package has a file (Debian Policy 9.1; FHS 3.0). To know that of a program that was just built saves the reading of
/// the whole database, most of the time of an image with nothing else in it.
const NOT_OF_PACKAGES: [&str; 9] =
    ["/dev", "/home", "/media", "/mnt", "/root", "/run", "/tmp", "/usr/local", "/var/tmp"];

/// The package of each of these files that is from one; the files are named as below `root`, which is `/` or a folder that
/// stands for it. What has no database of dpkg's has no packages.
#[must_use]
pub fn owners(root: &Path, files: &[PathBuf]) -> BTreeMap<PathBuf, Installed> {
    let mut wanted: HashMap<Vec<u8>, &PathBuf> = HashMap::new();
    for file in files.iter().filter(|file| !NOT_OF_PACKAGES.iter().any(|folder| file.starts_with(folder))) {
        for name in names(file.as_os_str().as_bytes()) {
            wanted.insert(name, file);
        }
    }
    if wanted.is_empty() {
        return BTreeMap::new();
    }
    let database = root.join("var/lib/dpkg");
    let mut found: BTreeMap<String, Vec<&PathBuf>> = BTreeMap::new();
    let lists = fs::read_dir(database.join("info")).into_iter().flatten().flatten().map(|entry| entry.path());
    for list in lists.filter(|path| path.extension() == Some(OsStr::new("list"))) {
        let stem = list.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for line in bounded(&list).lines() {
            if let Some(file) = wanted.get(line) {
                found.entry(stem.clone()).or_default().push(file);
            }
        }
    }
    if found.is_empty() {
        return BTreeMap::new();
    }
    let known = status(&bounded(&database.join("status")), &distribution(root));
    let owned = found.into_iter().filter_map(|(stem, files)| Some((known.get(&stem)?, files)));
    owned.flat_map(|(package, files)| files.into_iter().map(|file| (file.clone(), package.clone()))).collect()
}

/// As packages may list a file: some still have the folders of before /usr was merged.
fn names(path: &[u8]) -> Vec<Vec<u8>> {
    let other = match path.strip_prefix(b"/usr") {
        Some(rest) => rest.to_vec(),
        None => [b"/usr", path].concat(),
    };
    vec![path.to_vec(), other]
}

/// Whose packages a root has: the file is at one of two places.
fn distribution(root: &Path) -> String {
    let name = ["etc/os-release", "usr/lib/os-release"].iter().find_map(|file| {
        let text = bounded(&root.join(file));
        let id = text.lines().find_map(|line| line.strip_prefix(b"ID="))?;
        let id = id.to_str_lossy().trim_matches('"').to_owned();
        id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)).then_some(id)
    });
    name.unwrap_or_else(|| "debian".to_owned())
}

fn bounded(path: &Path) -> Vec<u8> {
    let small = fs::metadata(path).is_ok_and(|data| data.is_file() && data.len() <= LARGEST);
    if small { fs::read(path).unwrap_or_default() } else { Vec::new() }
}

/// Packages by the names of their lists: `bash`, or `libc6:amd64` if several processors can have one.
fn status(text: &[u8], distribution: &str) -> HashMap<String, Installed> {
    let mut all = HashMap::new();
    for stanza in text.split_str("\n\n") {
        let field = |name: &str| {
            let line = stanza.lines().find_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b": "))?;
            Some(line.to_str_lossy().trim().to_owned())
        };
        let (Some(name), Some(version)) = (field("Package"), field("Version")) else { continue };
        let architecture = field("Architecture").unwrap_or_default();
        let source = field("Source").unwrap_or_else(|| name.clone());
        let with = format!("{name}:{architecture}");
        let distribution = distribution.to_owned();
        let package = Installed { name: name.clone(), version, architecture, distribution, source };
        all.insert(with, package.clone());
        all.insert(name, package);
    }
    all
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn a_file_has_the_package_that_lists_it_also_under_its_name_of_before_usr_was_merged() {
        let root = tempfile::tempdir().unwrap();
        let info = root.path().join("var/lib/dpkg/info");
        fs::create_dir_all(&info).unwrap();
        fs::write(info.join("libc6:amd64.list"), "/.\n/lib/x86_64-linux-gnu/libc.so.6\n").unwrap();
        // The last one is against Debian's policy, and not looked for.
        fs::write(info.join("tool.list"), "/usr/bin/tool\n/usr/local/bin/tool\n").unwrap();
        let status = "Package: libc6\nStatus: install ok installed\nArchitecture: amd64\nSource: glibc\n\
                      Version: 2.36-9\nDescription: x\n Version: 9\n\nPackage: tool\nArchitecture: all\nVersion: 1\n";
        fs::write(root.path().join("var/lib/dpkg/status"), status).unwrap();
        fs::create_dir(root.path().join("etc")).unwrap();
        fs::write(root.path().join("etc/os-release"), "NAME=x\nID=\"ubuntu\"\n").unwrap();
        let files = ["/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/bin/tool", "/usr/bin/own", "/usr/local/bin/tool"];
        let files = files.map(PathBuf::from);
        let owners = owners(root.path(), &files);
        let words: Vec<_> = owners.values().map(Installed::words).collect();
        assert_eq!(words, ["tool 1", "libc6 2.36-9"]);
        assert_eq!((owners[&files[0]].source.as_str(), owners[&files[0]].distribution.as_str()), ("glibc", "ubuntu"));
        assert!(super::owners(&root.path().join("absent"), &files).is_empty());
    }
}
