//! `underpin.build/1`: what a build is meant to be, which commands were run, and what the built files are. The facts
//! are gathered by the caller.

use super::{Document, SchemaTag, Verb};
use crate::bytes::Raw;
use schemars::JsonSchema;
use serde::Serialize;

/// The document of `underpin build`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BuildDocument {
    /// Always `underpin.build/1`.
    pub schema: SchemaTag<BuildDocument>,
    /// The project: a folder or a source file.
    pub project: Raw,
    /// Its kind: `Cargo`, `C`, `C++`, ...
    pub kind: String,
    /// What was asked for, in one word: `musl+mimalloc`.
    pub build: String,
    /// The processor that it is built for, as the kernel names it.
    pub processor: String,
    /// The compilers used, with names and versions.
    pub toolchain: String,
    /// Whether this is a plan only: nothing was run.
    pub dry_run: bool,
    /// What the note in each file says.
    pub claims: Vec<BuildClaim>,
    /// The folder with the compilers' and linkers' names that the commands use.
    pub tools: Raw,
    /// The commands, in order.
    pub steps: Vec<BuildStep>,
    /// Notes for the user.
    pub remarks: Vec<String>,
    /// The programs that were built.
    pub programs: Vec<BuildProgram>,
}

impl Document for BuildDocument {
    const VERB: Verb = Verb::Build;
}

/// A line of the note in each file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BuildClaim {
    /// What it is about.
    pub key: String,
    /// What it says.
    pub value: String,
}

/// A command.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BuildStep {
    /// What it is for.
    pub what: String,
    /// The command, as a shell takes it.
    pub command: String,
    /// Variables that are set for it.
    pub environment: Vec<String>,
}

/// A built program.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BuildProgram {
    /// Its name.
    pub name: String,
    /// Where it is; if it is not what was asked for, in the build's own folder.
    pub path: Raw,
    /// Its size in bytes.
    pub bytes: u64,
    /// How many of them are debugging information, which no start reads.
    pub debug_bytes: u64,
    /// Whether it is what was asked for.
    pub confirmed: bool,
    /// Property by property.
    pub facts: Vec<BuildFact>,
}

/// A property of a built program.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BuildFact {
    /// Which.
    pub what: String,
    /// What was asked for.
    pub asked: String,
    /// What the file is.
    pub found: String,
    /// Whether the two agree.
    pub met: bool,
}
