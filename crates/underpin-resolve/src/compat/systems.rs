//! The table of systems: dated facts about distributions, each group of facts with its source.
//!
//! The data is `data/systems.toml`, compiled in. This module reads and checks it; it decides nothing. A fact that the
//! file does not contain is absent here, never guessed.

use super::definitions::{Facts, KnownNames, Libraries};
use super::platform::{Arch, LibcFamily};
use super::version::{Number, VersionName};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use underpin_elf::IsaLevel;

/// The data file as it is compiled in.
const EMBEDDED: &str = include_str!("../../data/systems.toml");

/// All systems of the data file, in its order.
#[derive(Debug)]
pub struct SystemTable {
    /// The day the facts were last gathered, `YYYY-MM-DD`.
    pub date: String,
    /// Where facts come from, by the key that systems name.
    pub sources: BTreeMap<String, FactSource>,
    /// The systems.
    pub systems: Vec<System>,
}

/// Where a group of facts was taken from.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FactSource {
    /// What was read, in words.
    pub text: String,
    /// Read from the distribution's own files or images; otherwise it is general knowledge that was not re-checked.
    pub verified: bool,
}

/// One release of one distribution.
#[derive(Clone, Debug)]
pub struct System {
    /// The identifier: `rhel8`, `ubuntu22.04`.
    pub id: String,
    /// Other names that select it.
    pub aliases: Vec<String>,
    /// The display name.
    pub name: String,
    /// Last day of ordinary support, `YYYY-MM-DD`; `None` for a rolling system or if the data does not say.
    pub end_of_life: Option<String>,
    /// Which C library, and its version.
    pub libc: SystemLibc,
    /// The kernel it was released with.
    pub kernel: Option<Number>,
    /// The newest version that each library family of the base install defines, by family (`GLIBCXX`, `OPENSSL`).
    /// Older versions of the family are defined too.
    pub versions: BTreeMap<String, VersionName>,
    /// Version names without a number that the base install defines.
    pub markers: BTreeSet<String>,
    /// The architectures it is made for.
    pub arches: Vec<Arch>,
    /// The x86-64 level that every supported machine has.
    pub x86_level: IsaLevel,
    /// The package with the 32-bit x86 C library, on x86-64.
    pub i386_libc: Option<String>,
    /// How a package is installed: `dnf install`.
    pub install: String,
    /// Sonames of the base install (the distribution's own container image), with their package.
    pub base: BTreeMap<String, String>,
    /// Sonames that the distribution's own repositories have, with the package to install.
    pub repo: BTreeMap<String, String>,
    /// Sonames that it is known not to have, with the soname under which the same library is there, if any.
    pub absent: BTreeMap<String, Option<String>>,
    /// What the distribution's own packages say about the versions of their libraries. Empty if they were not read.
    pub definitions: Libraries,
    /// Versions that libraries are known to define in some release.
    pub(super) names: Arc<KnownNames>,
    /// Keys of [`SystemTable::sources`], by group of facts.
    pub sources: SystemSources,
    /// Whether the facts about its C library were read from the distribution, as their source says.
    pub libc_verified: bool,
}

/// The C library of a system.
#[derive(Clone, Debug, Serialize)]
pub struct SystemLibc {
    /// Which one.
    pub kind: LibcFamily,
    /// Its version.
    pub version: Number,
}

/// The source of each group of facts of a system.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SystemSources {
    /// Of the C library's version and of all symbol versions and markers.
    pub libc: String,
    /// Of the kernel's version and the processor level.
    pub kernel: String,
    /// Of the base install.
    pub base: String,
    /// Of the repositories and what is missing from them.
    pub repo: String,
    /// Of the end of life.
    pub end_of_life: String,
}

/// Where a soname is found on a system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum LibraryState {
    /// In the base install.
    Base {
        /// The package.
        package: String,
    },
    /// In the repositories.
    Repo {
        /// The package.
        package: String,
    },
    /// Known to be in neither.
    Absent {
        /// The soname under which the same library is there.
        instead: Option<String>,
    },
    /// The data does not say.
    Unknown,
}

impl System {
    /// What the data says about a soname. The files of the C library itself are always in the base install.
    #[must_use]
    pub fn library(&self, soname: &[u8]) -> LibraryState {
        let own = match self.libc.kind {
            LibcFamily::Glibc => super::platform::is_glibc_file(soname),
            LibcFamily::Musl => super::platform::is_musl_builtin(soname),
        };
        if own {
            return LibraryState::Base { package: self.libc.kind.name().to_owned() };
        }
        let Ok(soname) = std::str::from_utf8(soname) else { return LibraryState::Unknown };
        if let Some(package) = self.base.get(soname) {
            LibraryState::Base { package: package.clone() }
        } else if let Some(package) = self.repo.get(soname) {
            LibraryState::Repo { package: package.clone() }
        } else if let Some(instead) = self.absent.get(soname) {
            LibraryState::Absent { instead: instead.clone() }
        } else if let Some(package) = self.definitions.package(soname) {
            LibraryState::Repo { package: package.to_owned() }
        } else {
            LibraryState::Unknown
        }
    }
}

impl Serialize for System {
    /// Only the identity: a report names systems without repeating the table.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.id)
    }
}

/// What is wrong with a table of systems.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// Not TOML, or not of the table's shape.
    #[error("the table of systems cannot be read: {0}")]
    Syntax(String),
    /// A field whose value makes no sense.
    #[error("system {system}: {field} has the value '{value}', which is not of the form {expected}")]
    Value {
        /// Which system.
        system: String,
        /// Which field.
        field: &'static str,
        /// What is there.
        value: String,
        /// What should.
        expected: &'static str,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTable {
    date: String,
    sources: BTreeMap<String, FactSource>,
    system: Vec<RawSystem>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSystem {
    id: String,
    #[serde(default)]
    aliases: Vec<String>,
    name: String,
    end_of_life: Option<String>,
    libc: String,
    kernel: Option<String>,
    #[serde(default)]
    versions: Vec<String>,
    #[serde(default)]
    markers: BTreeSet<String>,
    arches: Vec<Arch>,
    x86_level: String,
    i386_libc: Option<String>,
    install: String,
    #[serde(default)]
    base: String,
    #[serde(default)]
    repo: String,
    #[serde(default)]
    absent: String,
    sources: SystemSources,
}

impl SystemTable {
    /// The table compiled into this build.
    ///
    /// # Errors
    /// Only if the data file of the build itself is wrong, which its tests rule out.
    pub fn embedded() -> Result<&'static SystemTable, &'static TableError> {
        static TABLE: OnceLock<Result<SystemTable, TableError>> = OnceLock::new();
        TABLE.get_or_init(|| SystemTable::parse(EMBEDDED)).as_ref()
    }

    /// Reads a table in the format of `data/systems.toml`.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn parse(text: &str) -> Result<SystemTable, TableError> {
        let raw: RawTable = toml::from_str(text).map_err(|error| TableError::Syntax(error.to_string()))?;
        let mut facts = Facts::embedded()
            .map_err(|line| TableError::Syntax(format!("a line of the definitions is not of the format: {line}")))?;
        let from_raw = |system| System::from_raw(system, &raw.sources);
        let mut systems = raw.system.into_iter().map(from_raw).collect::<Result<Vec<_>, _>>()?;
        for system in &mut systems {
            system.definitions = facts.take(&system.id);
            system.names = facts.names();
        }
        Ok(SystemTable { date: raw.date, sources: raw.sources, systems })
    }
}

impl System {
    fn from_raw(raw: RawSystem, sources: &BTreeMap<String, FactSource>) -> Result<System, TableError> {
        let id = &raw.id;
        let wrong = |field, value: &str, expected| TableError::Value {
            system: id.clone(),
            field,
            value: value.to_owned(),
            expected,
        };
        let libc = parse_libc(&raw.libc).ok_or_else(|| wrong("libc", &raw.libc, "'glibc 2.28' or 'musl 1.2.5'"))?;
        let kernel = match &raw.kernel {
            Some(text) => Some(Number::parse(text).ok_or_else(|| wrong("kernel", text, "'4.18'"))?),
            None => None,
        };
        let x86_level =
            parse_level(&raw.x86_level).ok_or_else(|| wrong("x86_level", &raw.x86_level, "'x86-64' or 'x86-64-v2'"))?;
        let versions = one_of_each_family(&raw.versions)
            .map_err(|text| wrong("versions", text, "one 'GLIBCXX_3.4.25' for each family"))?;
        let pairs = |field, text: &str| -> Result<BTreeMap<String, String>, TableError> {
            text.lines().map(|line| parse_pair(line).ok_or_else(|| wrong(field, line, "'soname package'"))).collect()
        };
        let (base, repo) = (pairs("base", &raw.base)?, pairs("repo", &raw.repo)?);
        let absent = raw.absent.lines().map(|line| match parse_pair(line) {
            Some((soname, instead)) => (soname, Some(instead)),
            None => (line.to_owned(), None),
        });
        Ok(System {
            absent: absent.collect(),
            libc,
            kernel,
            versions,
            base,
            repo,
            id: raw.id,
            aliases: raw.aliases,
            name: raw.name,
            end_of_life: raw.end_of_life,
            markers: raw.markers,
            arches: raw.arches,
            x86_level,
            i386_libc: raw.i386_libc,
            install: raw.install,
            definitions: Libraries::default(),
            names: Arc::default(),
            libc_verified: sources.get(&raw.sources.libc).is_some_and(|source| source.verified),
            sources: raw.sources,
        })
    }
}

/// The newest versions by family; the error is the first text without a number or with a repeated family.
fn one_of_each_family(texts: &[String]) -> Result<BTreeMap<String, VersionName>, &str> {
    let mut versions = BTreeMap::new();
    for text in texts {
        let version = VersionName::parse(text);
        if version.number().is_none() || versions.contains_key(version.family()) {
            return Err(text);
        }
        versions.insert(version.family().to_owned(), version);
    }
    Ok(versions)
}

fn parse_libc(text: &str) -> Option<SystemLibc> {
    let (kind, version) = text.split_once(' ')?;
    let kind = match kind {
        "glibc" => LibcFamily::Glibc,
        "musl" => LibcFamily::Musl,
        _ => return None,
    };
    Some(SystemLibc { kind, version: Number::parse(version)? })
}

fn parse_level(text: &str) -> Option<IsaLevel> {
    [IsaLevel::Baseline, IsaLevel::V2, IsaLevel::V3, IsaLevel::V4].into_iter().find(|level| level.to_string() == text)
}

fn parse_pair(line: &str) -> Option<(String, String)> {
    let (first, second) = line.split_once(' ')?;
    (!first.is_empty() && !second.is_empty() && !second.contains(' ')).then(|| (first.to_owned(), second.to_owned()))
}
