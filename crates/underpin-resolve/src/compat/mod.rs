//! Where a program runs: its floors, the table of systems, and one verdict for each system.
//!
//! Data in, data out: [`check`] takes facts of ELF files ([`Subject`]) and systems ([`SystemTable`]) and returns a
//! serialisable model ([`Compat`]); it opens no file, runs nothing and prints nothing. The rules are those of the
//! loaders; the facts about distributions are dated and carry their source, and missing facts are reported.

mod advice;
mod allocator;
mod defined;
mod definitions;
mod evaluate;
mod expect;
mod floor;
mod from_elf;
mod musl;
mod platform;
mod select;
mod subject;
mod systems;
#[cfg(test)]
mod tests;
mod verdict;
mod version;
mod wheel;

pub use advice::{Advice, LowerFloor, Method, ReachSystem, SymbolToDrop};
pub use allocator::{AllocatorFinding, AllocatorOrigin, Served, allocator_of, allocators_of};
pub use defined::Defined;
pub use definitions::{Definitions, Libraries};
pub use evaluate::evaluate;
pub use expect::{ExpectError, Expectation, ExpectationOutcome, ExpectationResult, Expectations};
pub use floor::{
    CpuFloor, Demand, FloorStep, Floors, HiddenFloor, HiddenKind, KernelFloor, Library, VersionFloor, floors,
};
pub use from_elf::NotAProgram;
pub use platform::{Arch, LibcFamily};
pub use select::UnknownSystem;
pub use subject::{
    BuiltWith, Carried, MallocProvider, NeededSymbol, NeededVersion, ObjectFacts, StaticHazard, Subject,
};
pub use systems::{FactSource, LibraryState, System, SystemLibc, SystemSources, SystemTable, TableError};
pub use verdict::{
    Caveat, Install, InterpreterCause, MOST_NAMED, RuledOutBecause, SystemNote, SystemVerdict, UnknownBecause, Verdict,
};
pub use version::{Number, VersionName};
pub use wheel::{
    Cause, NoTag, Obstacle, Packaged, PlatformTag, TagVerdict, platform_tag, tag_is_earned, tags_source,
    youngest_of_musl,
};

use serde::Serialize;

/// The whole answer of a check.
#[derive(Clone, Debug, Serialize)]
pub struct Compat {
    /// The floors of the program and of what is shipped with it.
    pub floors: Floors,
    /// The C library that the program depends on, as far as its file shows.
    pub libc: Option<LibcFamily>,
    /// The allocators that serve it, that of `malloc` first; empty if the file does not show them.
    pub allocators: Vec<AllocatorFinding>,
    /// One verdict for each system asked about, in the order asked.
    pub systems: Vec<SystemVerdict>,
    /// The answer to a limit on glibc, if one was given.
    pub max_glibc: Option<GlibcGate>,
    /// The results of the expectations, in the order given; see [`Expectations::evaluate`].
    pub expectations: Vec<ExpectationResult>,
    /// How to run in more places.
    pub advice: Advice,
}

impl Compat {
    /// Whether the program starts on every system asked about, at once or after an installation, and keeps the limit:
    /// exit status 0 of a check. Unknown does not pass.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.systems.iter().all(|system| system.verdict.can_run()) && self.keeps_limit()
    }

    /// As [`Self::passes`], and each answer is a [plain yes](SystemVerdict::is_plain_yes).
    #[must_use]
    pub fn passes_strictly(&self) -> bool {
        self.systems.iter().all(SystemVerdict::is_plain_yes) && self.keeps_limit()
    }

    fn keeps_limit(&self) -> bool {
        self.max_glibc.as_ref().is_none_or(|gate| gate.passes) && self.meets_expectations()
    }

    /// Whether every expectation is met. Unknown is not met.
    #[must_use]
    pub fn meets_expectations(&self) -> bool {
        self.expectations.iter().all(|judged| judged.outcome == ExpectationOutcome::Met)
    }
}

/// The answer to `--max-glibc`.
#[derive(Clone, Debug, Serialize)]
pub struct GlibcGate {
    /// The limit.
    pub max: Number,
    /// The program's floor, hidden needs included; `None` if it requires nothing of glibc.
    pub floor: Option<Number>,
    /// Whether the floor is within the limit.
    pub passes: bool,
    /// The versions above the limit, newest first.
    pub above: Vec<FloorStep>,
    /// Hidden needs above the limit, and those that no known release accepts.
    pub hidden: Vec<HiddenFloor>,
}

impl Floors {
    /// The floor of one family: `GLIBC`, `GLIBCXX`.
    #[must_use]
    pub fn family(&self, family: &str) -> Option<&VersionFloor> {
        self.versions.iter().find(|floor| floor.family == family)
    }

    /// The oldest glibc that accepts the program, hidden needs included.
    #[must_use]
    pub fn glibc(&self) -> Option<Number> {
        let hidden = self.hidden.iter().filter_map(|hidden| hidden.glibc.clone()).max();
        self.family("GLIBC").map(|floor| floor.floor.clone()).max(hidden)
    }
}

/// Checks a program against systems that it has to run on and, if given, a limit on glibc.
#[must_use]
pub fn check(subject: &Subject, systems: &[&System], max_glibc: Option<&Number>) -> Compat {
    checked(subject, systems, max_glibc, Aim::Systems)
}

/// Checks a program against a limit on glibc. The systems are there for information: the advice aims at the limit.
#[must_use]
pub fn check_limit(subject: &Subject, systems: &[&System], max_glibc: &Number) -> Compat {
    checked(subject, systems, Some(max_glibc), Aim::Limit)
}

/// What the advice aims at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aim {
    /// Every system, and the limit.
    Systems,
    /// The limit alone.
    Limit,
}

fn checked(subject: &Subject, systems: &[&System], max_glibc: Option<&Number>, aim: Aim) -> Compat {
    let floors = floors(subject);
    let outside = subject.outside();
    let systems: Vec<_> =
        systems.iter().map(|system| (*system, evaluate(subject, &outside, &floors, system))).collect();
    let aimed_at = if aim == Aim::Limit { &[][..] } else { &systems };
    let advice = advice::advise(subject, &floors, aimed_at, max_glibc);
    Compat {
        libc: subject.libc(),
        allocators: allocators_of(subject),
        max_glibc: max_glibc.map(|max| gate(&floors, max)),
        systems: systems.into_iter().map(|(_, verdict)| verdict).collect(),
        advice,
        expectations: Vec::new(),
        floors,
    }
}

fn gate(floors: &Floors, max: &Number) -> GlibcGate {
    let floor = floors.glibc();
    let above = floors.family("GLIBC").map(|family| family.above(max).cloned().collect()).unwrap_or_default();
    // It is not known which glibc accepts a need without a release, so such a need does not pass.
    let above_limit = |hidden: &&HiddenFloor| match &hidden.glibc {
        Some(since) => since > max,
        None => hidden.kind.is_asked_of_glibc(),
    };
    let hidden: Vec<_> = floors.hidden.iter().filter(above_limit).cloned().collect();
    GlibcGate {
        passes: floor.as_ref().is_none_or(|floor| floor <= max) && hidden.is_empty(),
        hidden,
        max: max.clone(),
        floor,
        above,
    }
}
