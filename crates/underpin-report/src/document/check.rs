//! `underpin.check/1`: what a file is, how old a system it accepts and what forces that, and where it runs.

use super::{Document, SchemaTag, Verb};
use crate::bytes::Raw;
use schemars::JsonSchema;
use serde::Serialize;

/// The document of `underpin check`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CheckDocument {
    /// Always `underpin.check/1`.
    pub schema: SchemaTag<CheckDocument>,
    /// The program, as the user named it.
    pub program: Raw,
    /// What the file itself is.
    pub file: FileRecord,
    /// Objects that travel with it: their needs count too.
    pub companions: Vec<Raw>,
    /// The oldest version of each library family that is accepted.
    pub floors: Vec<FloorRecord>,
    /// Needs that a search for the highest version number does not find.
    pub hidden: Vec<HiddenRecord>,
    /// The oldest kernel accepted.
    pub kernel: Option<BoundRecord>,
    /// The processor level needed.
    pub cpu: Option<BoundRecord>,
    /// Day on which the facts about systems were gathered, `YYYY-MM-DD`.
    pub systems_date: String,
    /// Whether the systems were chosen by the user; else they are all that are known.
    pub systems_chosen: bool,
    /// Where it runs.
    pub systems: Vec<SystemRecord>,
    /// The limit that the user set, and whether it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitRecord>,
    /// What the user expects of the program, and whether it is so; `passed` needs all of them.
    pub expectations: Vec<ExpectationRecord>,
    /// How to reach older systems.
    pub advice: Vec<AdviceRecord>,
    /// How many systems have each answer.
    pub counts: CountsRecord,
    /// Whether only a plain yes passes (`--strict`).
    pub strict: bool,
    /// Whether what the user asked for holds: every chosen system and the limit. What is not known does not pass.
    pub passed: bool,
}

/// How many systems have each answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CountsRecord {
    /// It runs on the base install.
    pub runs: usize,
    /// It runs once some libraries are installed.
    pub runs_if_installed: usize,
    /// It does not run.
    pub refuses: usize,
    /// The data cannot tell.
    pub unknown: usize,
}

impl CountsRecord {
    /// The counts of some systems.
    #[must_use]
    pub fn of(systems: &[SystemRecord]) -> CountsRecord {
        let count = |answer| systems.iter().filter(|system| system.answer == answer).count();
        CountsRecord {
            runs: count(Answer::Runs),
            runs_if_installed: count(Answer::RunsIfInstalled),
            refuses: count(Answer::Refuses),
            unknown: count(Answer::Unknown),
        }
    }

    /// On how many it runs, at once or after an installation.
    #[must_use]
    pub const fn can_run(&self) -> usize {
        self.runs + self.runs_if_installed
    }

    /// The answer in figures: `3 of 5 systems, 1 not known`.
    #[must_use]
    pub fn words(&self, systems: usize) -> String {
        let open = if self.unknown > 0 { format!(", {} not known", self.unknown) } else { String::new() };
        format!("{} of {}{open}", self.can_run(), crate::units::count(systems, "system", "systems"))
    }
}

impl Document for CheckDocument {
    const VERB: Verb = Verb::Check;
}

/// What a file itself is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileRecord {
    /// Machine, such as `x86-64`.
    pub machine: String,
    /// Width of addresses: 32 or 64.
    pub class_bits: u32,
    /// `little` or `big`.
    pub byte_order: String,
    /// How it was linked, in words: `dynamic PIE`, `static executable`.
    pub linkage: String,
    /// File size.
    pub bytes: u64,
    /// PT_INTERP.
    pub interpreter: Option<Raw>,
    /// The C library inside it or expected by it.
    pub libc: Option<LibcRecord>,
    /// The allocator behind `malloc`; in a program that never calls it, the only one.
    pub allocator: AllocatorRecord,
    /// Every allocator that serves the program, with whom; the first is the one above.
    pub served_by: Vec<AllocatorRecord>,
    /// Allocators whose code is in the file.
    pub allocators: Vec<PartRecord>,
    /// Allocators that the file only mentions, in texts; nothing shows that they serve it.
    pub allocator_hints: Vec<PartRecord>,
    /// Languages that left traces, C excepted.
    pub languages: Vec<PartRecord>,
    /// No symbol table: what is said rests on dynamic symbols, notes and text.
    pub stripped: bool,
    /// The build id, in hexadecimal.
    pub build_id: Option<String>,
    /// What was done against exploits.
    pub hardening: Vec<HardeningRecord>,
}

/// A C library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LibcRecord {
    /// Its name.
    pub name: String,
    /// Its version, where it is inside the file and left one.
    pub version: Option<Raw>,
    /// Whether its code is in the file; else it is loaded at run time.
    pub inside: bool,
    /// What tells so.
    pub evidence: Vec<String>,
}

impl LibcRecord {
    /// Where its code is, to follow its name.
    #[must_use]
    pub const fn place_words(&self) -> &'static str {
        if self.inside { ", inside the file" } else { ", loaded at run time" }
    }
}

/// The allocator that serves a program, as far as its file tells; a preload may still change it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AllocatorRecord {
    /// Its name; null where the file does not tell.
    pub name: Option<String>,
    /// Where it comes from.
    pub origin: AllocatorOrigin,
    /// The library that brings it: a soname, or the name of the C library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library: Option<Raw>,
    /// Whom it serves.
    pub serves: AllocatorServes,
    /// What tells so.
    pub evidence: Vec<String>,
}

/// Whom an allocator serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AllocatorServes {
    /// Whoever calls `malloc`: C, C++ and what is built on them.
    #[default]
    Malloc,
    /// The program's Rust code.
    Rust,
    /// The program's Go code.
    Go,
    /// Code that calls it by names of its own.
    OwnNames,
}

impl AllocatorServes {
    /// Whom, before a colon.
    const fn word(self) -> &'static str {
        match self {
            AllocatorServes::Malloc => "C",
            AllocatorServes::Rust => "Rust",
            AllocatorServes::Go => "Go",
            AllocatorServes::OwnNames => "by its own names",
        }
    }
}

/// Where an allocator comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AllocatorOrigin {
    /// Code in the program itself.
    InFile,
    /// A library that the program needs.
    NeededLibrary,
    /// The C library of the target.
    Libc,
    /// The file does not tell.
    #[default]
    Unknown,
}

impl AllocatorRecord {
    /// The allocator and where it comes from, in words; `None` where nothing is known.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        let library = || self.library.as_ref().map_or_else(|| "the C library".to_owned(), Raw::to_string);
        let name = self.name.as_deref();
        let place = match self.origin {
            AllocatorOrigin::InFile => match name {
                Some(name) => format!("{name}, inside the file"),
                None => "its own allocator".to_owned(),
            },
            AllocatorOrigin::NeededLibrary => match name {
                Some(name) => format!("{name}, brought by {}", library()),
                None => format!("the malloc of {}", library()),
            },
            AllocatorOrigin::Libc => match name {
                Some(name) => format!("{name}, loaded with {}", library()),
                None => format!("that of {}", library()),
            },
            AllocatorOrigin::Unknown => return name.map(str::to_owned),
        };
        // That a C library brings its malloc needs no proof.
        let first = self.evidence.first().filter(|_| self.origin != AllocatorOrigin::Libc);
        Some(first.map_or_else(|| place.clone(), |evidence| format!("{place} ({evidence})")))
    }
}

impl FileRecord {
    /// Every allocator with whom it serves, in words; `None` where nothing is known.
    #[must_use]
    pub fn allocator_words(&self) -> Option<String> {
        let [_, _, ..] = self.served_by.as_slice() else { return self.allocator.words() };
        let one = |record: &AllocatorRecord| {
            let words = record.words()?;
            let import = record.evidence.first().filter(|_| record.origin == AllocatorOrigin::Libc);
            let import = import.map_or_else(String::new, |evidence| format!(" ({evidence})"));
            Some(format!("{}: {words}{import}", record.serves.word()))
        };
        Some(self.served_by.iter().filter_map(one).collect::<Vec<_>>().join("; "))
    }
}

/// A part of a file that was recognised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PartRecord {
    /// Its name.
    pub name: String,
    /// Its version, where it left one.
    pub version: Option<Raw>,
    /// What tells so.
    pub evidence: Vec<String>,
}

/// One hardening fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HardeningRecord {
    /// What it is about.
    pub name: String,
    /// How it stands; `unknown` where the file cannot tell.
    pub state: HardeningState,
    /// In words.
    pub text: String,
}

/// How a hardening fact stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HardeningState {
    /// In place.
    Good,
    /// In place in part, or absent where that is common.
    Weak,
    /// Absent or dangerous.
    Bad,
    /// The file cannot tell.
    Unknown,
}

/// The floor of one family of versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FloorRecord {
    /// The prefix of the versions: `GLIBC`, `GLIBCXX`.
    pub family: String,
    /// The library's name for a reader.
    pub library: String,
    /// The oldest version that is accepted: the highest asked for, or the release that first defines a marker such as
    /// `GLIBC_ABI_DT_RELR`.
    pub version: String,
    /// What remains if weak symbols asked for nothing; null where all are weak.
    pub strong_version: Option<String>,
    /// Every version asked for, newest first.
    pub steps: Vec<StepRecord>,
}

impl FloorRecord {
    /// Whether it is the floor of a C library or of a compiler's run time, which no package manager swaps lightly.
    #[must_use]
    pub fn is_foundation(&self) -> bool {
        matches!(self.family.as_str(), "GLIBC" | "GLIBCXX" | "CXXABI" | "GCC")
    }
}

/// One version asked of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StepRecord {
    /// The version, with its family: `GLIBC_2.34`.
    pub version: String,
    /// The file that must define it.
    pub file: Raw,
    /// Only weak symbols ask for it; the loader refuses all the same.
    pub weak_only: bool,
    /// The loader itself lets it be missing.
    pub optional: bool,
    /// Who asks, and for which symbols.
    pub demands: Vec<DemandRecord>,
}

/// One object's share of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DemandRecord {
    /// The object.
    pub object: Raw,
    /// Its symbols bound to that version.
    pub symbols: Vec<SymbolRecord>,
}

/// A symbol that an object needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SymbolRecord {
    /// The name in the symbol table.
    pub name: Raw,
    /// The name as written in the source, where it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demangled: Option<String>,
    /// Bound STB_WEAK.
    pub weak: bool,
}

/// A need that a search for the highest version number does not find.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HiddenRecord {
    /// The version name, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What it is and what follows, in a sentence.
    pub message: String,
    /// The objects that have it.
    pub objects: Vec<Raw>,
    /// The glibc that first accepts it, where that is what it amounts to.
    pub glibc: Option<String>,
}

/// A lower bound with the objects that set it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BoundRecord {
    /// The bound: a kernel version, a processor level.
    pub floor: String,
    /// The objects whose note says so.
    pub objects: Vec<Raw>,
}

/// Whether a program starts on a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// On the base install.
    Runs,
    /// Once some libraries are installed.
    RunsIfInstalled,
    /// It does not start.
    Refuses,
    /// The data cannot tell.
    Unknown,
}

impl Answer {
    /// The answer in a word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Answer::Runs => "yes",
            Answer::RunsIfInstalled => "yes*",
            Answer::Refuses => "no",
            Answer::Unknown => "?",
        }
    }
}

/// The verdict for one system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SystemRecord {
    /// Its identifier, as `--on` takes it.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Last day of ordinary support, `YYYY-MM-DD`.
    pub end_of_life: Option<String>,
    /// Whether the program starts.
    pub answer: Answer,
    /// Every reason why it does not.
    pub reasons: Vec<ReasonRecord>,
    /// What is to be installed; where the answer is `unknown`, in any case.
    pub install: Vec<InstallRecord>,
    /// The command that installs it.
    pub command: Option<String>,
    /// Which facts are missing for an answer; empty unless it is `unknown`.
    pub lacks: Vec<String>,
    /// What makes the answer less sure, though no fact is missing.
    pub doubts: Vec<String>,
    /// What holds there beyond starting or not.
    pub notes: Vec<String>,
}

/// Why a program does not start on a system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReasonRecord {
    /// The kind of reason.
    pub kind: ReasonKind,
    /// In a short clause.
    pub message: String,
    /// The version that is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The newest version of that family there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<String>,
    /// Only weak symbols ask for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weak_only: Option<bool>,
    /// Who asks, for which symbols.
    pub demands: Vec<DemandRecord>,
}

/// The kinds of reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasonKind {
    /// Made for another machine.
    OtherMachine,
    /// PT_INTERP is not there.
    InterpreterMissing,
    /// A version is not defined there.
    VersionMissing,
    /// A library is not to be had there.
    LibraryAbsent,
    /// The kernel is too old.
    KernelTooOld,
    /// A function that its musl does not have.
    SymbolMissing,
    /// DT_RELR is refused or not applied.
    RelrUnsupported,
    /// Another reason; see the message.
    Other,
}

/// A library to install.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InstallRecord {
    /// The soname.
    pub soname: Raw,
    /// The package.
    pub package: Option<String>,
    /// The objects that need it.
    pub needed_by: Vec<Raw>,
}

/// A limit set by the user (`--max-glibc`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LimitRecord {
    /// The family: `GLIBC`.
    pub family: String,
    /// The newest version allowed.
    pub allowed: String,
    /// The floor, hidden needs included; null where nothing is asked of that family.
    pub floor: Option<String>,
    /// Whether the floor is at or below it.
    pub kept: bool,
    /// The steps above it.
    pub above: Vec<StepRecord>,
    /// Hidden needs above it.
    pub hidden: Vec<HiddenRecord>,
}

/// An expectation (`--expect`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExpectationRecord {
    /// As written: `static`, `malloc=mimalloc`, `glibc<=2.28`.
    pub text: String,
    /// How it fared.
    pub outcome: ExpectationOutcome,
    /// What was found instead, or what is not known; empty where it is met.
    pub found: String,
}

/// Whether an expectation is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExpectationOutcome {
    /// It holds.
    Met,
    /// It does not.
    Unmet,
    /// The file does not tell; that does not satisfy it.
    NotKnown,
}

/// A piece of advice with its figures and its command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AdviceRecord {
    /// The rule behind it.
    pub rule: String,
    /// What to do and why, with the figures behind it.
    pub message: String,
    /// The command to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}
