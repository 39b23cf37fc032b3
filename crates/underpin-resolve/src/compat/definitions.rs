//! Which versions the libraries of a release define, as the distribution's own packages say.
//!
//! The data is `data/definitions.txt`, which `cargo xtask systems` writes; its head explains the format. A library in
//! that file is known in full: a version that is not listed does not exist, except for those marked as open. Nothing is
//! known about a library that is not listed.

use super::version::VersionName;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

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

/// Versions that some library is known to define, by file: a made-up name between two real ones is not known.
#[derive(Debug, Default)]
pub(super) struct KnownNames(HashSet<(String, String)>);

impl KnownNames {
    pub(super) fn has(&self, file: &str, version: &str) -> bool {
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
    /// The data compiled into this build. The error is the first malformed line.
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

    /// What the file says about a system, by soname.
    pub(super) fn take(&mut self, system: &str) -> BTreeMap<String, Definitions> {
        self.releases.remove(system).unwrap_or_default()
    }

    /// Every version that some library is known to define.
    pub(super) fn names(&self) -> Arc<KnownNames> {
        Arc::clone(&self.names)
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
