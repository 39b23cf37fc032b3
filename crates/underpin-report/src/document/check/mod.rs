//! `underpin.check/1`: what a file is, the oldest systems that accept it and what forces that, and where it runs.

mod file;
mod file_from;
mod floors;
mod from;
mod systems;

pub use file::{
    AllocatorOrigin, AllocatorRecord, AllocatorServes, ClaimRecord, FileRecord, HardeningRecord, HardeningState,
    LibcRecord, PartRecord,
};
pub use floors::{BoundRecord, DemandRecord, FloorRecord, HiddenRecord, StepRecord, SymbolRecord};
pub use systems::{Answer, InstallRecord, ReasonKind, ReasonRecord, SystemRecord};

use super::{Document, SchemaTag, Verb};
use crate::bytes::Raw;
use bstr::{BStr, BString};
use schemars::JsonSchema;
use serde::Serialize;
use underpin_elf::{Details, Elf};
use underpin_resolve::compat::Compat;

/// What a check document is made from.
#[derive(Clone, Copy, Debug)]
pub struct CheckInput<'a> {
    /// The program, as the user named it.
    pub program: &'a BStr,
    /// File size in bytes.
    pub bytes: u64,
    /// What a loader reads from it.
    pub elf: &'a Elf,
    /// What else its file shows.
    pub details: &'a Details,
    /// Objects shipped with it.
    pub companions: &'a [BString],
    /// The floors and verdicts.
    pub compat: &'a Compat,
    /// Day of the table of systems, `YYYY-MM-DD`.
    pub systems_date: &'a str,
    /// Whether the user chose the systems.
    pub systems_chosen: bool,
    /// Whether only a plain yes passes.
    pub strict: bool,
    /// Whether the program is a file of the distribution, and so not built by its user.
    pub of_distribution: bool,
}

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

    /// On how many it runs, immediately or after installing something.
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

/// A limit set by the user (`--max-glibc`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LimitRecord {
    /// The family: `GLIBC`.
    pub family: String,
    /// The newest version allowed.
    pub allowed: String,
    /// The floor, hidden needs included; null if nothing is asked of that family.
    pub floor: Option<String>,
    /// Whether the floor does not exceed it.
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
    /// Whether it is met.
    pub outcome: ExpectationOutcome,
    /// What was found instead, or what is not known; empty if it is met.
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
    /// The file does not show it, which does not satisfy the expectation.
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
