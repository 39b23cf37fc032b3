//! Which versions the libraries of a release define, as the distribution's own packages say.
//!
//! The data is `data/definitions.txt`, which `cargo xtask systems` writes; its head explains the format. A library in
//! that file is known in full: a version that is not listed does not exist, except for those marked as open. Nothing is
//! known about a library that is not listed.

use super::version::VersionName;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

/// The data file as it is compiled in.
const EMBEDDED: &str = include_str!("../../data/definitions.txt");

/// What one library of a release defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definitions {
    /// The package that contains it.
    pub package: String,
    /// Every version, its own soname left out; `None` if the library has no version definitions at all.
    pub versions: Option<Vec<VersionName>>,
    /// Versions that may or may not be defined: the data does not say.
    pub open: Vec<VersionName>,
}

impl Definitions {
    /// The newest version of a family.
    pub(super) fn newest(&self, family: &str) -> Option<&VersionName> {
        let of_family = self.versions.iter().flatten().filter(|own| own.family() == family && own.number().is_some());
        of_family.max()
    }
}

/// What the packages of one release say about its libraries, by soname.
///
/// The file has thousands of libraries with tens of versions, and a program asks for a few: a line is read when its
/// library is asked for. Reading all of them took most of the time of `underpin check`.
#[derive(Clone, Debug, Default)]
pub struct Libraries(HashMap<&'static str, Library>);

/// A line, and what it says once that is asked for: a program asks the same library for each of its versions.
#[derive(Clone, Debug)]
struct Library {
    line: Line,
    read: OnceLock<Definitions>,
}

impl Libraries {
    /// What the release's copy of a library defines; `None` if its packages were not read, or have no such library.
    #[must_use]
    pub fn library(&self, soname: &str) -> Option<&Definitions> {
        self.0.get(soname).map(|library| library.read.get_or_init(|| library.line.read()))
    }

    /// The package with a library.
    #[must_use]
    pub fn package(&self, soname: &str) -> Option<&'static str> {
        self.0.get(soname).map(|library| library.line.package)
    }

    /// Every library, in no order.
    pub fn sonames(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }
}

/// One line of the file, its soname taken off.
#[derive(Clone, Copy, Debug)]
struct Line {
    package: &'static str,
    /// Version names with a space between them, `?` before those that are open; `-` for none at all.
    versions: &'static str,
}

impl Line {
    fn new(rest: &'static str) -> Line {
        let (package, versions) = rest.split_once(' ').unwrap_or((rest, ""));
        Line { package, versions }
    }

    fn sure(&self) -> impl Iterator<Item = &'static str> {
        self.versions.split(' ').filter(|name| !matches!(*name, "" | "-") && !name.starts_with('?'))
    }

    fn read(&self) -> Definitions {
        let open = self.versions.split(' ').filter_map(|name| name.strip_prefix('?'));
        Definitions {
            package: self.package.to_owned(),
            versions: (self.versions != "-").then(|| self.sure().map(VersionName::parse).collect()),
            open: open.map(VersionName::parse).collect(),
        }
    }
}

/// Versions that some library is known to define, by file: a made-up name between two real ones is not known.
#[derive(Debug, Default)]
pub(super) struct KnownNames(HashMap<&'static str, OfFile>);

/// The lines about one file, and the versions of all of them once one is asked for.
#[derive(Debug, Default)]
struct OfFile {
    lines: Vec<Line>,
    names: OnceLock<HashSet<&'static str>>,
}

impl KnownNames {
    pub(super) fn has(&self, file: &str, version: &str) -> bool {
        let names = |of: &OfFile| of.lines.iter().flat_map(Line::sure).collect();
        self.0.get(file).is_some_and(|of| of.names.get_or_init(|| names(of)).contains(version))
    }
}

/// Everything that the file of definitions holds.
#[derive(Debug, Default)]
pub(super) struct Facts {
    releases: HashMap<&'static str, Libraries>,
    names: Arc<KnownNames>,
}

impl Facts {
    /// The data compiled into this build. The error is the first malformed line.
    pub(super) fn embedded() -> Result<Facts, &'static str> {
        Facts::parse(EMBEDDED)
    }

    /// Reads the format of `data/definitions.txt`.
    pub(super) fn parse(text: &'static str) -> Result<Facts, &'static str> {
        let mut releases: HashMap<&'static str, Libraries> = HashMap::new();
        let (mut names, mut release) = (KnownNames::default(), None);
        for line in text.lines() {
            let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
            match first {
                "#" | "" | "date" | "source" => {}
                "system" => release = Some(releases.entry(rest).or_default()),
                "names" => release = None,
                _ if rest.is_empty() => return Err(line),
                soname => {
                    let line = Line::new(rest);
                    names.0.entry(soname).or_default().lines.push(line);
                    if let Some(Libraries(libraries)) = &mut release {
                        libraries.insert(soname, Library { line, read: OnceLock::new() });
                    }
                }
            }
        }
        Ok(Facts { releases, names: Arc::new(names) })
    }

    /// What the file says about a system.
    pub(super) fn take(&mut self, system: &str) -> Libraries {
        self.releases.remove(system).unwrap_or_default()
    }

    /// Every version that some library is known to define.
    pub(super) fn names(&self) -> Arc<KnownNames> {
        Arc::clone(&self.names)
    }
}
