//! Expectations of a program: `static,musl,malloc=mimalloc,glibc<=2.28`, each checked against what its file shows.
//!
//! A fact that is not known satisfies no expectation; it is a separate kind of failure, so that a gate never passes for
//! lack of data.

use super::allocator::{AllocatorFinding, AllocatorOrigin, Served};
use super::floor::{HiddenFloor, HiddenKind};
use super::platform::Arch;
use super::subject::Subject;
use super::version::Number;
use super::{Compat, LibcFamily};
use serde::Serialize;
use std::str::FromStr;
use underpin_elf::{AllocatorKind, LibcKind, Linkage};

/// One expectation, and how it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// As written.
    pub text: String,
    what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Static,
    StaticPie,
    Dynamic,
    Libc(Option<LibcFamily>),
    Arch(Arch),
    /// Exactly these serve the program.
    Malloc(Vec<MallocName>),
    Floor {
        of: Floor,
        below: bool,
        limit: Number,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Floor {
    Family(&'static str),
    Kernel,
}

/// A list of expectations, separated by commas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expectations(pub Vec<Expectation>);

/// Why a list of expectations cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpectError {
    /// No such expectation.
    #[error(
        "unknown expectation `{0}`: expected static, static-pie, dynamic, glibc, musl, none, arch=NAME, malloc=NAME or a \
         limit such as glibc<=2.28"
    )]
    Unknown(String),
    /// No allocator of that name.
    #[error("unknown allocator `{name}` in `{text}`: expected one of {}", malloc_names())]
    Malloc {
        /// The name.
        name: String,
        /// The whole expectation.
        text: String,
    },
    /// Not a version.
    #[error("invalid version `{version}` in `{text}`: expected a number such as 2.28")]
    Version {
        /// The text in place of a version.
        version: String,
        /// The whole expectation.
        text: String,
    },
    /// No such machine.
    #[error("unknown machine `{name}` in `{text}`: expected a name such as x86_64 or aarch64")]
    Arch {
        /// The name.
        name: String,
        /// The whole expectation.
        text: String,
    },
    /// A limit on something that has no versions.
    #[error("`{text}` limits {name}, which has no versions here: expected glibc, glibcxx, cxxabi, gcc or kernel")]
    Limit {
        /// What is limited.
        name: String,
        /// The whole expectation.
        text: String,
    },
}

/// Allocators as an expectation names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MallocName(&'static str);

const MALLOC_NAMES: [&str; 13] = [
    "glibc",
    "musl",
    "mallocng",
    "oldmalloc",
    "jemalloc",
    "mimalloc",
    "tcmalloc",
    "snmalloc",
    "partitionalloc",
    "zig",
    "go",
    "own",
    "none",
];

fn malloc_names() -> String {
    MALLOC_NAMES.join(", ")
}

const MACHINES: [Arch; 11] = [
    Arch::X86_64,
    Arch::X32,
    Arch::I386,
    Arch::Aarch64,
    Arch::Armhf,
    Arch::Armel,
    Arch::Riscv64,
    Arch::Ppc64le,
    Arch::Ppc64,
    Arch::S390x,
    Arch::Loongarch64,
];

/// The result of one expectation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExpectationResult {
    /// The expectation, as written.
    pub text: String,
    /// Whether it is met.
    pub outcome: ExpectationOutcome,
    /// What was found instead, or what is not known; empty if it is met.
    pub found: String,
}

/// Whether an expectation is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectationOutcome {
    /// It holds.
    Met,
    /// It does not.
    Unmet,
    /// The file does not show it, which does not satisfy it.
    NotKnown,
}

impl FromStr for Expectations {
    type Err = ExpectError;

    fn from_str(text: &str) -> Result<Expectations, ExpectError> {
        text.split(',').map(|part| Expectation::parse(part.trim())).collect::<Result<_, _>>().map(Expectations)
    }
}

impl Expectation {
    fn parse(text: &str) -> Result<Expectation, ExpectError> {
        let what = match text {
            "static" => What::Static,
            "static-pie" => What::StaticPie,
            "dynamic" => What::Dynamic,
            "glibc" => What::Libc(Some(LibcFamily::Glibc)),
            "musl" => What::Libc(Some(LibcFamily::Musl)),
            "none" => What::Libc(None),
            _ => Expectation::compound(text)?,
        };
        Ok(Expectation { text: text.to_owned(), what })
    }

    fn compound(text: &str) -> Result<What, ExpectError> {
        if let Some((name, limit)) = text.split_once('<') {
            let (below, version) = limit.strip_prefix('=').map_or((true, limit), |version| (false, version));
            let of = match name {
                "glibc" => Floor::Family("GLIBC"),
                "glibcxx" => Floor::Family("GLIBCXX"),
                "cxxabi" => Floor::Family("CXXABI"),
                "gcc" => Floor::Family("GCC"),
                "kernel" => Floor::Kernel,
                name => return Err(ExpectError::Limit { name: name.to_owned(), text: text.to_owned() }),
            };
            let invalid = || ExpectError::Version { version: version.to_owned(), text: text.to_owned() };
            return Ok(What::Floor { of, below, limit: Number::parse(version).ok_or_else(invalid)? });
        }
        match text.split_once('=') {
            Some(("malloc", names)) => {
                let known = |name: &str| MALLOC_NAMES.into_iter().find(|known| *known == name).map(MallocName);
                let unknown = |name: &str| ExpectError::Malloc { name: name.to_owned(), text: text.to_owned() };
                let names = names.split('+').map(|name| known(name).ok_or_else(|| unknown(name)));
                names.collect::<Result<_, _>>().map(What::Malloc)
            }
            Some(("arch", name)) => {
                let found = MACHINES.into_iter().find(|arch| arch.to_string() == name);
                let unknown = || ExpectError::Arch { name: name.to_owned(), text: text.to_owned() };
                found.map(What::Arch).ok_or_else(unknown)
            }
            _ => Err(ExpectError::Unknown(text.to_owned())),
        }
    }
}

impl Expectations {
    /// Evaluates every expectation, in the order written.
    #[must_use]
    pub fn evaluate(&self, subject: &Subject, compat: &Compat) -> Vec<ExpectationResult> {
        let result = |expectation: &Expectation| {
            let (outcome, found) = match verdict(&expectation.what, subject, compat) {
                Ok(()) => (ExpectationOutcome::Met, String::new()),
                Err(failed) => failed,
            };
            ExpectationResult { text: expectation.text.clone(), outcome, found }
        };
        self.0.iter().map(result).collect()
    }
}

/// The outcome of an expectation that is not met, and what was found instead.
type Failed = (ExpectationOutcome, String);

fn unless(met: bool, found: impl FnOnce() -> String) -> Result<(), Failed> {
    if met { Ok(()) } else { Err((ExpectationOutcome::Unmet, found())) }
}

fn verdict(what: &What, subject: &Subject, compat: &Compat) -> Result<(), Failed> {
    let program = &subject.program;
    let linkage = || format!("it is a {}", program.linkage);
    match what {
        What::Static => unless(program.linkage.is_static(), linkage),
        What::StaticPie => unless(program.linkage == Linkage::StaticPie, linkage),
        What::Dynamic => {
            use Linkage::{DynamicExecutable, DynamicPie, RunnableLibrary, SharedLibrary};
            let dynamic = [DynamicExecutable, DynamicPie, RunnableLibrary, SharedLibrary];
            unless(dynamic.contains(&program.linkage), linkage)
        }
        What::Libc(wanted) => {
            let found =
                libc(subject).ok_or((ExpectationOutcome::NotKnown, "its C library is not recognised".to_owned()))?;
            let met = match wanted {
                None => found == LibcKind::NoLibc || found == LibcKind::GoRuntime,
                Some(LibcFamily::Glibc) => found == LibcKind::Glibc,
                Some(LibcFamily::Musl) => found == LibcKind::Musl,
            };
            unless(met, || format!("its C library is {}", libc_name(found)))
        }
        What::Arch(wanted) => match program.arch {
            Some(arch) => unless(arch == *wanted, || format!("it is for {arch}")),
            None => Err((ExpectationOutcome::Unmet, format!("it is for {}", program.machine))),
        },
        What::Malloc(wanted) => malloc(wanted, subject, &compat.allocators),
        What::Floor { of, below, limit } => floor(*of, *below, limit, compat),
    }
}

/// The C library linked in, or the one that is required.
fn libc(subject: &Subject) -> Option<LibcKind> {
    let loaded = subject.libc().map(|family| match family {
        LibcFamily::Glibc => LibcKind::Glibc,
        LibcFamily::Musl => LibcKind::Musl,
    });
    loaded.or(subject.program.libc_inside)
}

const fn libc_name(kind: LibcKind) -> &'static str {
    match kind {
        LibcKind::NoLibc => "none",
        other => other.name(),
    }
}

fn malloc(wanted: &[MallocName], subject: &Subject, found: &[AllocatorFinding]) -> Result<(), Failed> {
    let unknown = |why: &str| Err((ExpectationOutcome::NotKnown, why.to_owned()));
    if found.is_empty() {
        let none = libc(subject) == Some(LibcKind::NoLibc);
        return match (none, wanted) {
            (true, [MallocName("none")]) => Ok(()),
            (true, _) => Err((ExpectationOutcome::Unmet, "no allocator is in it".to_owned())),
            (false, _) => unknown("which allocator serves it is not known"),
        };
    }
    let is = |finding: &AllocatorFinding, name: &MallocName| names(finding).contains(&name.0);
    let all_wanted = found.iter().all(|finding| wanted.iter().any(|name| is(finding, name)));
    if all_wanted && wanted.iter().all(|name| found.iter().any(|finding| is(finding, name))) {
        return Ok(());
    }
    if found.iter().any(|finding| names(finding).is_empty()) {
        return unknown("which allocator serves it is not known");
    }
    let words: Vec<String> = found.iter().map(served).collect();
    Err((ExpectationOutcome::Unmet, format!("found {}", words.join(", "))))
}

/// The names that an expectation may give to an allocator, the usual one first; empty if it is not known.
fn names(finding: &AllocatorFinding) -> &'static [&'static str] {
    match finding.kind {
        Some(AllocatorKind::Ptmalloc) => &["glibc"],
        Some(AllocatorKind::MuslMallocng) => &["musl", "mallocng"],
        Some(AllocatorKind::MuslOldmalloc) => &["musl", "oldmalloc"],
        Some(AllocatorKind::MuslSimple) => &["musl"],
        Some(AllocatorKind::Zig) => &["zig"],
        Some(AllocatorKind::Jemalloc) => &["jemalloc"],
        Some(AllocatorKind::Mimalloc) => &["mimalloc"],
        Some(AllocatorKind::Tcmalloc) => &["tcmalloc"],
        Some(AllocatorKind::Snmalloc) => &["snmalloc"],
        Some(AllocatorKind::PartitionAlloc) => &["partitionalloc"],
        Some(AllocatorKind::GoRuntime) => &["go"],
        None if finding.origin == AllocatorOrigin::InFile => &["own"],
        None => &[],
    }
}

fn served(finding: &AllocatorFinding) -> String {
    let whom = match finding.serves {
        Served::Malloc => "C",
        Served::Rust => "Rust",
        Served::Go => "Go",
        Served::OwnNames => "by its own names",
    };
    let evidence = finding.evidence.first().map_or_else(String::new, |evidence| format!(" ({evidence})"));
    format!("{} for {whom}{evidence}", names(finding).first().unwrap_or(&"an unknown one"))
}

fn floor(of: Floor, below: bool, limit: &Number, compat: &Compat) -> Result<(), Failed> {
    let floors = &compat.floors;
    let (needs, name) = match of {
        Floor::Family("GLIBC") => (floors.glibc(), "glibc"),
        Floor::Family(family) => (floors.family(family).map(|floor| floor.floor.clone()), family),
        Floor::Kernel => (floors.kernel.as_ref().map(|kernel| kernel.floor.clone()), "kernel"),
    };
    let kept = |needs: &Number| if below { needs < limit } else { needs <= limit };
    if let Some(needs) = needs.filter(|needs| !kept(needs)) {
        return Err((ExpectationOutcome::Unmet, format!("it needs {name} {needs}")));
    }
    // Needs without a version number that no known release meets.
    let is_open = |hidden: &&HiddenFloor| hidden.glibc.is_none() && hidden.kind != HiddenKind::RelrOnMusl;
    let open = floors.hidden.iter().find(is_open).filter(|_| of == Floor::Family("GLIBC"));
    let why = |kind: &HiddenKind| match kind {
        HiddenKind::Marker { version, .. } => format!("the first glibc with {version} is not known"),
        HiddenKind::RelrWithoutMarker => "its packed relocations work only with some releases of glibc".to_owned(),
        HiddenKind::Private => "which releases of glibc have the private symbols that it uses is not known".to_owned(),
        HiddenKind::RelrOnMusl => String::new(),
    };
    match open {
        Some(hidden) if hidden.kind != HiddenKind::RelrOnMusl => Err((ExpectationOutcome::NotKnown, why(&hidden.kind))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::super::subject::{NeededSymbol, NeededVersion, ObjectFacts};
    use super::super::version::VersionName;
    use super::*;
    use underpin_elf::{Allocator, AllocatorNames};

    fn outcome(list: &str, subject: &Subject) -> Vec<ExpectationOutcome> {
        let expected: Expectations = list.parse().expect("a good list");
        let result = expected.evaluate(subject, &check(subject, &[], None));
        result
            .iter()
            .for_each(|one| assert_eq!(one.outcome == ExpectationOutcome::Met, one.found.is_empty(), "{one:?}"));
        result.into_iter().map(|result| result.outcome).collect()
    }

    fn dynamic() -> Subject {
        let mut program = ObjectFacts::new("prog", Arch::X86_64);
        program.linkage = Linkage::DynamicPie;
        program.interpreter = Some("/lib64/ld-linux-x86-64.so.2".into());
        program.needed = vec!["libc.so.6".into()];
        let symbols = vec![NeededSymbol { name: "fstat".into(), weak: false }];
        program.version_needs = vec![NeededVersion {
            file: "libc.so.6".into(),
            version: VersionName::parse("GLIBC_2.33"),
            weak: false,
            symbols,
        }];
        Subject::alone(program)
    }

    fn allocator(kind: AllocatorKind, names: AllocatorNames) -> Allocator {
        Allocator { kind, version: None, page_size: None, names, evidence: Vec::new() }
    }

    fn fixed() -> Subject {
        let mut program = ObjectFacts::new("prog", Arch::X86_64);
        program.libc_inside = Some(LibcKind::Musl);
        program.allocators = vec![allocator(AllocatorKind::Mimalloc, AllocatorNames::Malloc)];
        Subject::alone(program)
    }

    #[test]
    fn each_fact_meets_its_own_expectation_and_no_other() {
        use ExpectationOutcome::{Met, Unmet};
        let list = "static,static-pie,dynamic,glibc,musl,none,arch=x86_64,arch=aarch64,malloc=mimalloc,malloc=glibc";
        let static_musl = [Met, Unmet, Unmet, Unmet, Met, Unmet, Met, Unmet, Met, Unmet];
        assert_eq!(outcome(list, &fixed()), static_musl);
        let dynamic_glibc = [Unmet, Unmet, Met, Met, Unmet, Unmet, Met, Unmet, Unmet, Met];
        assert_eq!(outcome(list, &dynamic()), dynamic_glibc);
    }

    #[test]
    fn a_limit_is_kept_up_to_itself_or_below_itself() {
        use ExpectationOutcome::{Met, Unmet};
        let list = "glibc<=2.33,glibc<2.33,glibc<=2.32,glibc<2.34,glibcxx<=3.4";
        assert_eq!(outcome(list, &dynamic()), [Met, Unmet, Unmet, Met, Met]);
        assert_eq!(outcome(list, &fixed()), [Met; 5]);
    }

    #[test]
    fn what_is_not_known_meets_nothing() {
        use ExpectationOutcome::{NotKnown, Unmet};
        let bare = Subject::alone(ObjectFacts::new("prog", Arch::X86_64));
        let list = "glibc,musl,none,malloc=glibc,malloc=own,malloc=none";
        assert_eq!(outcome(list, &bare), [NotKnown; 6]);
        let mut marked = dynamic();
        marked.program.version_needs[0].version = VersionName::parse("GLIBC_ABI_FUTURE");
        assert_eq!(outcome("glibc<=2.28,musl", &marked), [NotKnown, Unmet]);
    }

    #[test]
    fn all_allocators_are_named_or_the_expectation_is_unmet() {
        use ExpectationOutcome::{Met, Unmet};
        let mut two = dynamic();
        two.program.imports_malloc = Some("malloc".into());
        two.program.allocators = vec![allocator(AllocatorKind::Jemalloc, AllocatorNames::Rust)];
        let list = "malloc=jemalloc,malloc=glibc,malloc=glibc+jemalloc,malloc=jemalloc+glibc,malloc=glibc+mimalloc";
        assert_eq!(outcome(list, &two), [Unmet, Unmet, Met, Met, Unmet]);
        let result = "malloc=jemalloc".parse::<Expectations>().unwrap().evaluate(&two, &check(&two, &[], None));
        assert_eq!(result[0].found, "found glibc for C (imports malloc), jemalloc for Rust");
    }

    #[test]
    fn a_list_that_cannot_be_read_is_refused_in_one_sentence() {
        for text in [
            "",
            "static,",
            "statc",
            "malloc",
            "malloc=",
            "malloc=hoard",
            "glibc<=",
            "glibc<=two",
            "glibc<",
            "foo<=1",
            "arch=pdp11",
            "glibc>=2.28",
            "musl=1",
            "malloc=glibc+",
        ] {
            let error = text.parse::<Expectations>().expect_err(text).to_string();
            assert!(error.lines().count() == 1 && error.contains('`'), "{text}: {error}");
        }
    }
}
