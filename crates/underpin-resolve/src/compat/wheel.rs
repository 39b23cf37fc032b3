//! Which platform tag of Python's wheels a set of objects meets: `manylinux_2_17_x86_64`, `musllinux_1_2_aarch64`.
//!
//! A tag promises symbol versions and libraries (PEP 513, 571, 599, 600, 656). The promises are data, dated, with their
//! source (`data/manylinux.toml`); a newer tag promises what every older one does and more, so the answer is the oldest
//! tag whose promises are enough, and the reason is what the next older one does not promise.

use super::musl;
use super::platform::{Arch, LibcFamily};
use super::subject::ObjectFacts;
use super::version::Number;
use bstr::{BString, ByteSlice};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use underpin_elf::IsaLevel;

/// The table as it is compiled in.
const EMBEDDED: &str = include_str!("../../data/manylinux.toml");
/// The tag of every object for musl that needs only promised libraries: `since` in [`musl`] merges older releases.
const MUSLLINUX: &str = "musllinux_1_2";
/// What a system with musl has for every wheel (PEP 656 and auditwheel's policy).
const MUSL_LIBRARIES: [&str; 1] = ["libz.so.1"];
/// Imports that bind an extension to one build of Python 2 or to a build option long gone.
const PYTHON_INTERNALS: [&str; 4] = ["PyFPE_jbuf", "PyFPE_dummy", "PyFPE_counter", "PyUnicodeUCS2_"];

/// An object of the set.
#[derive(Clone, Debug)]
pub struct Packaged {
    /// What it is.
    pub facts: ObjectFacts,
    /// Names of libraries that it needs and that no object of the set provides in any closure.
    pub outside: Vec<BString>,
}

/// Which tag a set meets, and what rules the next older one out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TagVerdict {
    /// The C library of the set; `None` if no object names one.
    pub libc: Option<LibcFamily>,
    /// The tag's last part, as wheels name the processor: `x86_64`, `i686`, `armv7l`.
    pub platform: &'static str,
    /// The oldest tag whose promises are enough; `None` if only `linux_PLATFORM` is left.
    pub tag: Option<PlatformTag>,
    /// The next older tag, or the newest if none is met; `None` if there is no older one.
    pub ruled_out: Option<PlatformTag>,
    /// Why not that one.
    pub obstacles: Vec<Obstacle>,
}

/// A tag without its processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlatformTag {
    /// `manylinux_2_17`.
    pub name: String,
    /// The name that it had before PEP 600: `manylinux2014`.
    pub alias: Option<String>,
}

/// Something that a tag does not promise.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Obstacle {
    /// The object that asks for it.
    pub object: BString,
    /// What it asks for.
    pub cause: Cause,
}

/// What an object asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Cause {
    /// A library that is neither promised nor part of the set.
    Library {
        /// Its soname.
        library: BString,
    },
    /// A symbol version that is not promised.
    Version {
        /// The version.
        version: String,
        /// The library that must define it.
        library: BString,
        /// The symbols bound to it.
        symbols: Vec<BString>,
    },
    /// A function of a promised library that is excepted from the promise.
    Forbidden {
        /// The library.
        library: BString,
        /// The function.
        symbol: BString,
    },
    /// Instructions that not every processor of the architecture has.
    Processor {
        /// The level asked for, such as `x86-64-v3`.
        level: String,
    },
    /// An import that only some builds of Python have.
    Python {
        /// The symbol.
        symbol: BString,
    },
}

/// Why a set has no tag at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoTag {
    /// It holds neither a program nor a library.
    #[error("no program or library in it: a wheel without them is tagged `any`")]
    NoObjects,
    /// Objects for two architectures.
    #[error("{first} is for {one}, {second} for {other}: one tag cannot serve both")]
    TwoProcessors {
        /// An object of the first kind.
        first: BString,
        /// The first kind.
        one: &'static str,
        /// An object of the second kind.
        second: BString,
        /// The second kind.
        other: &'static str,
    },
    /// Objects for two C libraries.
    #[error("{first} is for glibc, {second} for musl: one tag cannot serve both")]
    TwoLibraries {
        /// An object for glibc.
        first: BString,
        /// An object for musl.
        second: BString,
    },
    /// No tag exists for this processor.
    #[error("{object}: no wheel tag is known for its processor")]
    Processor {
        /// The object.
        object: BString,
    },
}

/// The promises of all tags for glibc, oldest first.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    date: String,
    source: String,
    policies: Vec<Policy>,
    forbidden: Vec<Exception>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Policy {
    name: String,
    alias: Option<String>,
    #[serde(default)]
    libraries: Vec<String>,
    versions: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    library: String,
    first: String,
    last: String,
    symbols: Vec<String>,
}

/// What one tag promises on one processor.
#[derive(Debug)]
struct Promise<'t> {
    tag: PlatformTag,
    versions: &'t [String],
    libraries: BTreeSet<&'t [u8]>,
    exceptions: Vec<&'t Exception>,
}

/// The day on which the promises were read, and from where.
#[must_use]
pub fn tags_source() -> (&'static str, &'static str) {
    let table = table();
    (&table.date, &table.source)
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    // The data are part of the build, and a test reads them.
    TABLE.get_or_init(|| toml::from_str(EMBEDDED).unwrap_or_else(|error| unreachable!("data/manylinux.toml: {error}")))
}

/// The oldest tag whose promises are enough for all objects together.
///
/// # Errors
/// If the objects have no tag in common, or there are none.
pub fn platform_tag(objects: &[Packaged]) -> Result<TagVerdict, NoTag> {
    let platform = processor(objects)?;
    let libc = c_library(objects)?;
    let promises = match libc {
        Some(LibcFamily::Musl) => vec![musl_promise()],
        _ => promises(platform),
    };
    let (mut tag, mut ruled_out) = (None, None);
    for promise in promises {
        let mut found: Vec<Obstacle> = objects.iter().flat_map(|object| obstacles_of(object, &promise)).collect();
        if found.is_empty() {
            tag = Some(promise.tag);
            break;
        }
        found.sort();
        found.dedup();
        ruled_out = Some((promise.tag, found));
    }
    let (ruled_out, obstacles) = ruled_out.unzip();
    Ok(TagVerdict { libc, platform, tag, ruled_out, obstacles: obstacles.unwrap_or_default() })
}

/// Whether a set that meets `met` may claim the tag `claimed` (without processor; old names count): it is the same or
/// newer. `None` if `claimed` is not a known tag.
#[must_use]
pub fn tag_is_earned(claimed: &str, met: Option<&PlatformTag>) -> Option<bool> {
    if claimed == "linux" {
        return Some(true);
    }
    let rank = |name: &str| {
        let policies = &table().policies;
        let known = policies.iter().position(|policy| policy.name == name || policy.alias.as_deref() == Some(name));
        known.map(|at| (LibcFamily::Glibc.name(), at)).or((name == MUSLLINUX).then_some((LibcFamily::Musl.name(), 0)))
    };
    let claimed = rank(claimed)?;
    Some(met.and_then(|tag| rank(&tag.name)).is_some_and(|met| met.0 == claimed.0 && met.1 <= claimed.1))
}

fn processor(objects: &[Packaged]) -> Result<&'static str, NoTag> {
    let first = objects.first().ok_or(NoTag::NoObjects)?;
    let named = |object: &Packaged| {
        object.facts.arch.and_then(platform_of).ok_or_else(|| NoTag::Processor { object: object.facts.name.clone() })
    };
    let one = named(first)?;
    for object in objects {
        let other = named(object)?;
        if other != one {
            let (first, second) = (first.facts.name.clone(), object.facts.name.clone());
            return Err(NoTag::TwoProcessors { first, one, second, other });
        }
    }
    Ok(one)
}

/// The processor as wheels name it (`sysconfig.get_platform()`); `None` if there are no tags for it.
fn platform_of(arch: Arch) -> Option<&'static str> {
    Some(match arch {
        Arch::X86_64 => "x86_64",
        Arch::I386 => "i686",
        Arch::Aarch64 => "aarch64",
        Arch::Armhf => "armv7l",
        Arch::Riscv64 => "riscv64",
        Arch::Ppc64le => "ppc64le",
        Arch::S390x => "s390x",
        Arch::Loongarch64 => "loongarch64",
        Arch::X32 | Arch::Armel | Arch::Ppc64 => return None,
    })
}

fn c_library(objects: &[Packaged]) -> Result<Option<LibcFamily>, NoTag> {
    let of = |family| {
        let is = move |name: &BString| LibcFamily::of_soname(name) == Some(family);
        objects.iter().find(|object| object.facts.needed.iter().any(is))
    };
    match (of(LibcFamily::Glibc), of(LibcFamily::Musl)) {
        (Some(glibc), Some(musl)) => {
            Err(NoTag::TwoLibraries { first: glibc.facts.name.clone(), second: musl.facts.name.clone() })
        }
        (Some(_), None) => Ok(Some(LibcFamily::Glibc)),
        (None, Some(_)) => Ok(Some(LibcFamily::Musl)),
        (None, None) => Ok(None),
    }
}

/// The promises on one processor, oldest tag first; tags that it does not have are left out.
fn promises(platform: &str) -> Vec<Promise<'static>> {
    let table = table();
    let mut libraries = BTreeSet::new();
    let mut promises = Vec::new();
    for (at, policy) in table.policies.iter().enumerate() {
        libraries.extend(policy.libraries.iter().map(String::as_bytes));
        let Some(versions) = policy.versions.get(platform) else { continue };
        let place = |name: &str| table.policies.iter().position(|policy| policy.name == name);
        let holds = |exception: &&Exception| place(&exception.first) <= Some(at) && Some(at) <= place(&exception.last);
        promises.push(Promise {
            tag: PlatformTag { name: policy.name.clone(), alias: policy.alias.clone() },
            versions,
            libraries: libraries.clone(),
            exceptions: table.forbidden.iter().filter(holds).collect(),
        });
    }
    promises
}

fn musl_promise() -> Promise<'static> {
    // zlib's private functions are the same there.
    let of_zlib = |exception: &&Exception| MUSL_LIBRARIES.contains(&exception.library.as_str());
    Promise {
        tag: PlatformTag { name: MUSLLINUX.to_owned(), alias: None },
        versions: &[],
        libraries: MUSL_LIBRARIES.iter().map(|name| name.as_bytes()).collect(),
        exceptions: table().forbidden.iter().filter(of_zlib).collect(),
    }
}

fn obstacles_of(object: &Packaged, promise: &Promise<'_>) -> Vec<Obstacle> {
    let facts = &object.facts;
    let mut causes: Vec<Cause> = Vec::new();
    let promised = |name: &BString| {
        promise.libraries.contains(name.as_slice())
            || is_loader(name)
            || LibcFamily::of_soname(name) == Some(LibcFamily::Musl)
    };
    let outside = object.outside.iter().filter(|name| !promised(name));
    causes.extend(outside.map(|library| Cause::Library { library: library.clone() }));
    for need in facts.version_needs.iter().filter(|need| !is_loader(&need.file)) {
        if !is_promised(need.version.as_str(), promise.versions) {
            let symbols = need.symbols.iter().map(|symbol| symbol.name.clone()).collect();
            let version = need.version.as_str().to_owned();
            causes.push(Cause::Version { version, library: need.file.clone(), symbols });
        }
    }
    causes.extend(forbidden(facts, &promise.exceptions));
    if let Some(level) = facts.x86_level.filter(|&level| level > IsaLevel::Baseline) {
        causes.push(Cause::Processor { level: level.to_string() });
    }
    let internal = |name: &&BString| PYTHON_INTERNALS.iter().any(|own| name.starts_with_str(own));
    causes.extend(facts.plain_imports.iter().filter(internal).map(|symbol| Cause::Python { symbol: symbol.clone() }));
    causes.into_iter().map(|cause| Obstacle { object: facts.name.clone(), cause }).collect()
}

/// glibc's loader is there wherever glibc is.
fn is_loader(name: &BString) -> bool {
    name.contains_str("ld-linux") || matches!(name.as_slice(), b"ld64.so.1" | b"ld64.so.2")
}

/// Whether a version is among the promised ones: not above the number of its family, or listed by name. A family that
/// is not mentioned is not limited.
fn is_promised(version: &str, promised: &[String]) -> bool {
    let Some((family, rest)) = version.split_once('_') else { return true };
    let mut of_family =
        promised.iter().filter_map(|name| name.split_once('_')).filter(|(own, _)| *own == family).peekable();
    if of_family.peek().is_none() {
        return true;
    }
    let number = Number::parse(rest);
    of_family.any(|(_, limit)| match (&number, Number::parse(limit)) {
        (Some(number), Some(limit)) => *number <= limit,
        _ => limit == rest,
    })
}

fn forbidden(facts: &ObjectFacts, exceptions: &[&Exception]) -> Vec<Cause> {
    let versioned = facts.version_needs.iter().flat_map(|need| &need.symbols);
    let strong = versioned.filter(|symbol| !symbol.weak).map(|symbol| &symbol.name);
    let imports: BTreeSet<&[u8]> = strong.chain(&facts.plain_imports).map(|name| name.as_slice()).collect();
    let needs = |library: &str| facts.needed.iter().any(|name| name == library);
    let mut causes = Vec::new();
    for exception in exceptions.iter().filter(|exception| needs(&exception.library)) {
        let met = exception.symbols.iter().filter(|symbol| imports.contains(symbol.as_bytes()));
        causes.extend(met.map(|symbol| Cause::Forbidden {
            library: exception.library.as_str().into(),
            symbol: symbol.as_str().into(),
        }));
    }
    causes
}

/// The newest musl function that a set imports, with its release and the object, if it is newer than [`MUSLLINUX`]
/// promises (1.2.0), as far as the list of functions shows. PEP 656 has no tag for it.
#[must_use]
pub fn youngest_of_musl(objects: &[Packaged]) -> Option<(Number, BString, BString)> {
    let told_apart = Number::new(&[1, 2, 2]);
    let of = |object: &Packaged| {
        let since = |symbol: &BString| Some((musl::since(symbol)?, object.facts.name.clone(), symbol.clone()));
        object.facts.plain_imports.iter().filter_map(since).max()
    };
    objects.iter().filter_map(of).max().filter(|(since, ..)| *since > told_apart)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::subject::{NeededSymbol, NeededVersion};
    use crate::compat::version::VersionName;

    fn object(name: &str, needed: &[&str], versions: &[&str]) -> Packaged {
        let mut facts = ObjectFacts::new(name, Arch::X86_64);
        facts.needed = needed.iter().map(|name| (*name).into()).collect();
        facts.version_needs = versions.iter().map(|version| need(version)).collect();
        Packaged { outside: facts.needed.clone(), facts }
    }

    fn need(version: &str) -> NeededVersion {
        let symbols = vec![NeededSymbol { name: "f".into(), weak: false }];
        NeededVersion { file: "libc.so.6".into(), version: VersionName::parse(version), weak: false, symbols }
    }

    fn tag(objects: &[Packaged]) -> Option<String> {
        platform_tag(objects).unwrap().tag.map(|tag| tag.name)
    }

    #[test]
    fn every_tag_promises_what_the_older_ones_do() {
        for platform in ["x86_64", "i686", "aarch64", "ppc64le", "s390x", "armv7l", "riscv64", "loongarch64"] {
            let promises = promises(platform);
            assert!(!promises.is_empty(), "{platform}");
            for pair in promises.windows(2) {
                let lost = |name: &&String| !name.ends_with('_') && !is_promised(name, pair[1].versions);
                assert_eq!(pair[0].versions.iter().find(lost), None, "{platform} {:?}", pair[1].tag);
                assert!(pair[0].libraries.is_subset(&pair[1].libraries));
                assert!(
                    pair[1]
                        .exceptions
                        .iter()
                        .all(|one| pair[0].exceptions.iter().any(|older| one.library == older.library))
                );
            }
        }
    }

    #[test]
    fn the_set_meets_what_its_neediest_object_meets() {
        let old = || object("a.so", &["libc.so.6"], &["GLIBC_2.2.5"]);
        assert_eq!(tag(&[old()]).as_deref(), Some("manylinux_2_5"));
        assert_eq!(tag(&[old(), object("b.so", &["libc.so.6"], &["GLIBC_2.14"])]).as_deref(), Some("manylinux_2_17"));
        let verdict = platform_tag(&[old(), object("b.so", &["libc.so.6"], &["GLIBC_2.14"])]).unwrap();
        assert_eq!(verdict.ruled_out.unwrap().name, "manylinux_2_12");
        assert_eq!(verdict.obstacles.len(), 1);
        assert_eq!(verdict.obstacles[0].object, "b.so");
    }

    #[test]
    fn what_no_tag_promises_leaves_linux_alone() {
        for outside in [object("a.so", &["libpng16.so.16"], &[]), object("a.so", &["libc.so.6"], &["GLIBC_PRIVATE"])] {
            let verdict = platform_tag(&[outside]).unwrap();
            assert_eq!(verdict.tag, None);
            assert_eq!(verdict.ruled_out.unwrap().name, "manylinux_2_41");
        }
        let mut fast = object("a.so", &["libc.so.6"], &["GLIBC_2.5"]);
        fast.facts.x86_level = Some(IsaLevel::V3);
        assert_eq!(tag(&[fast]), None);
    }

    #[test]
    fn a_claim_is_earned_by_the_same_tag_or_an_older_one() {
        let met = PlatformTag { name: "manylinux_2_17".into(), alias: None };
        for (claimed, expected) in [
            ("manylinux2014", Some(true)),
            ("manylinux_2_28", Some(true)),
            ("manylinux1", Some(false)),
            ("musllinux_1_2", Some(false)),
            ("linux", Some(true)),
            ("manylinux_3_1", None),
        ] {
            assert_eq!(tag_is_earned(claimed, Some(&met)), expected, "{claimed}");
        }
        assert_eq!(tag_is_earned("manylinux_2_41", None), Some(false));
    }

    #[test]
    fn sets_without_one_tag_are_refused() {
        assert_eq!(platform_tag(&[]), Err(NoTag::NoObjects));
        let mut arm = object("b.so", &["libc.so.6"], &[]);
        arm.facts.arch = Some(Arch::Aarch64);
        assert!(matches!(
            platform_tag(&[object("a.so", &["libc.so.6"], &[]), arm]),
            Err(NoTag::TwoProcessors { one: "x86_64", other: "aarch64", .. })
        ));
        let musl = object("b.so", &["libc.musl-x86_64.so.1"], &[]);
        assert!(matches!(platform_tag(&[object("a.so", &["libc.so.6"], &[]), musl]), Err(NoTag::TwoLibraries { .. })));
    }
}
