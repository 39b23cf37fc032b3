//! Where a program runs, and why it does not run elsewhere.

use super::DemandRecord;
use crate::bytes::Raw;
use schemars::JsonSchema;
use serde::Serialize;

/// Whether a program starts on a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It starts on the base install.
    Runs,
    /// It starts once some libraries are installed.
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
    /// What has to be installed; if the answer is `unknown`, what has to be in any case.
    pub install: Vec<InstallRecord>,
    /// The command that installs it.
    pub command: Option<String>,
    /// Facts that are missing for an answer; empty unless it is `unknown`.
    pub lacks: Vec<String>,
    /// Reasons why the answer is less certain, though no fact is missing.
    pub doubts: Vec<String>,
    /// Further facts about the program on that system.
    pub notes: Vec<String>,
}

/// Why a program does not start on a system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReasonRecord {
    /// The kind of reason.
    pub kind: ReasonKind,
    /// The reason, a short clause.
    pub message: String,
    /// The version that is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The newest version of that family there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<String>,
    /// Whether only weak symbols ask for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weak_only: Option<bool>,
    /// Which objects ask for it, for which symbols.
    pub demands: Vec<DemandRecord>,
}

/// The kinds of reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasonKind {
    /// Made for another machine.
    OtherMachine,
    /// The loader named in PT_INTERP does not exist there.
    InterpreterMissing,
    /// A version is not defined there.
    VersionMissing,
    /// A library is not available there.
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
