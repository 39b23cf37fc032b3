//! Which versions the libraries of a release define, as the distribution's own packages say.
//!
//! The data is `data/definitions.txt`, which `cargo xtask systems` writes; its head explains the format. A library of
//! that file is known in full: a version that it does not name is not there, save for those marked as open. A library
//! that the file does not have is not known at all.

use super::platform::{Arch, is_glibc_file};
use super::systems::{LibraryState, System};
use super::version::VersionName;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// The data file as it is compiled in.
const EMBEDDED: &str = include_str!("../../data/definitions.txt");

/// What one library of a release defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definitions {
    /// The package that brings it.
    pub package: String,
    /// Every version, its own soname left out; `None` where the library has no version definitions at all.
    pub versions: Option<Vec<VersionName>>,
    /// Versions of which the data does not say whether they are there.
    pub open: Vec<VersionName>,
}

impl Definitions {
    /// The newest version of a family.
    fn newest(&self, family: &str) -> Option<&VersionName> {
        let of_family = self.versions.iter().flatten().filter(|own| own.family() == family && own.number().is_some());
        of_family.max()
    }
}

/// Whether a system's copy of a file defines a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Defined {
    /// It does, or the loader asks that file for no versions.
    Yes,
    /// It does not. With the newest version of that family which it has.
    No(Option<VersionName>),
    /// The data cannot tell.
    Unknown,
}

/// Versions that some library is known to define, by file: a made-up name between two real ones is not known.
#[derive(Debug, Default)]
pub(super) struct KnownNames(HashSet<(String, String)>);

impl KnownNames {
    fn has(&self, file: &str, version: &str) -> bool {
        self.0.contains(&(file.to_owned(), version.to_owned()))
    }
}

/// Everything that the file of definitions holds.
#[derive(Debug, Default)]
pub(super) struct Facts {
    releases: BTreeMap<String, BTreeMap<String, Definitions>>,
    names: Arc<KnownNames>,
}

impl Facts {
    /// What this build carries. The error is the first line that is not of the format.
    pub(super) fn embedded() -> Result<Facts, &'static str> {
        Facts::parse(EMBEDDED)
    }

    /// Reads the format of `data/definitions.txt`.
    pub(super) fn parse(text: &str) -> Result<Facts, &str> {
        let mut releases: BTreeMap<String, BTreeMap<String, Definitions>> = BTreeMap::new();
        let (mut names, mut release) = (HashSet::new(), None);
        for line in text.lines() {
            match line.split(' ').next() {
                None | Some("#" | "" | "date" | "source") => {}
                Some("system") => release = Some(releases.entry(line["system ".len()..].to_owned()).or_default()),
                Some("names") => release = None,
                Some(soname) => {
                    let definitions = parse_line(line).ok_or(line)?;
                    let versions = definitions.versions.iter().flatten();
                    names.extend(versions.map(|version| (soname.to_owned(), version.as_str().to_owned())));
                    if let Some(libraries) = &mut release {
                        libraries.insert(soname.to_owned(), definitions);
                    }
                }
            }
        }
        Ok(Facts { releases, names: Arc::new(KnownNames(names)) })
    }

    /// Gives a system what the file knows about it.
    pub(super) fn complete(&mut self, system: &mut System) {
        system.definitions = self.releases.remove(&system.id).unwrap_or_default();
        system.names = Arc::clone(&self.names);
    }
}

fn parse_line(line: &str) -> Option<Definitions> {
    let mut words = line.split(' ');
    let (_, package) = (words.next()?, words.next()?);
    let versions: Vec<&str> = words.collect();
    let versioned = versions != ["-"];
    let (open, sure): (Vec<&str>, Vec<&str>) = versions.into_iter().partition(|version| version.starts_with('?'));
    let versions = versioned.then(|| sure.into_iter().map(VersionName::parse).collect());
    let open = open.into_iter().map(|version| VersionName::parse(&version[1..])).collect();
    Some(Definitions { package: package.to_owned(), versions, open })
}

/// Names of glibc's and GCC's versions that x86-64 never had, from the `Versions` files of glibc and the map files of
/// libgcc: other processors have older ports.
const OF_OTHER_MACHINES: [&str; 15] = [
    "GLIBC_2.0",
    "GLIBC_2.1",
    "GLIBC_2.1.1",
    "GLIBC_2.1.2",
    "GLIBC_2.1.3",
    "GLIBC_2.2",
    "GLIBC_2.2.1",
    "GLIBC_2.2.2",
    "GLIBC_2.2.3",
    "GLIBC_2.2.4",
    "GLIBC_2.2.6",
    "GLIBC_2.3.1",
    "GCC_3.5",
    "GCC_4.1.0",
    "GCC_4.4.0",
];

impl System {
    /// Whether the system's copy of a file defines a version, for a program of that machine.
    #[must_use]
    pub fn defines(&self, file: &[u8], version: &VersionName, arch: Option<Arch>) -> Defined {
        let Ok(name) = std::str::from_utf8(file) else { return Defined::Unknown };
        // GNU ld gives every library with versions its own soname as the base definition; glibc's loader asks a file
        // without definitions for none (elf/dl-version.c, match_symbol).
        let is_own_name = version.as_str() == name;
        if let Some(definitions) = self.definitions.get(name) {
            return match &definitions.versions {
                None => Defined::Yes,
                Some(all) if is_own_name || all.contains(version) => Defined::Yes,
                Some(_) if definitions.open.contains(version) => self.by_family(name, version, arch),
                // The packages were read for x86-64. There, what is not listed is not there.
                Some(_) if arch == Some(Arch::X86_64) => Defined::No(definitions.newest(version.family()).cloned()),
                Some(_) => self.by_family(name, version, arch),
            };
        }
        if is_own_name && matches!(self.library(file), LibraryState::Base { .. }) {
            return Defined::Yes;
        }
        self.by_family(name, version, arch)
    }

    /// From the newest version of each family that the base install defines. What it names is there, and what is newer
    /// is not; what is older is there if any release is known to have had it.
    fn by_family(&self, file: &str, version: &VersionName, arch: Option<Arch>) -> Defined {
        if !matches!(self.library(file.as_bytes()), LibraryState::Base { .. }) || !has_family(file, version.family()) {
            return Defined::Unknown;
        }
        let Some(number) = version.number() else { return self.by_marker(version) };
        let newest = match version.family() {
            "GLIBC" => Some(VersionName::parse(&format!("GLIBC_{}", self.libc.version))),
            family => self.versions.get(family).cloned(),
        };
        match newest {
            Some(newest) if newest.number() < Some(number) => Defined::No(Some(newest)),
            Some(newest) if newest == *version && (version.family() != "GLIBC" || file == "libc.so.6") => Defined::Yes,
            Some(_) if self.names.has(file, version.as_str()) => Defined::Yes,
            Some(_) if arch != Some(Arch::X86_64) && OF_OTHER_MACHINES.contains(&version.as_str()) => Defined::Yes,
            _ => Defined::Unknown,
        }
    }

    /// Names without a number: the table lists those of the base install.
    fn by_marker(&self, version: &VersionName) -> Defined {
        let glibc = super::floor::marker_glibc(version.as_str());
        if self.markers.contains(version.as_str()) {
            return Defined::Yes;
        }
        match glibc {
            Some(since) if self.libc.version < since => Defined::No(None),
            // A system whose markers were read has no others.
            Some(_) if self.markers.is_empty() => Defined::Unknown,
            None if self.markers.is_empty() && self.versions.is_empty() => Defined::Unknown,
            _ => Defined::No(None),
        }
    }
}

/// Whether the versions of a family belong to that file.
fn has_family(file: &str, family: &str) -> bool {
    match family {
        // The two that glibc once had, and that keep its versions where they come from elsewhere.
        "GLIBC" => is_glibc_file(file.as_bytes()) || file == "libcrypt.so.1" || file == "libnsl.so.1",
        "GLIBCXX" | "CXXABI" | "CXXABI_TM" => file == "libstdc++.so.6",
        "GCC" => file == "libgcc_s.so.1",
        "LIBATOMIC" => file == "libatomic.so.1",
        "ZLIB" => file == "libz.so.1",
        "OPENSSL" => file.starts_with("libssl.so.") || file.starts_with("libcrypto.so."),
        _ => false,
    }
}
