//! Options that several verbs share: which program is meant and under what, how the answer is shown, where it is written.

use clap::{ArgAction, Args, ValueEnum};
use std::path::PathBuf;

/// How an answer is shown.
#[derive(Clone, Debug, Default, Args)]
pub struct DisplayArgs {
    /// Show more: the short form says what it leaves out; twice: everything
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,

    /// Print one JSON document, of the form that docs/schemas describes
    #[arg(long)]
    pub json: bool,
}

/// Files that an answer is written to.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Write the JSON document to a file
    #[arg(long, value_name = "FILE")]
    pub export_json: Option<PathBuf>,

    /// Write a Markdown page
    #[arg(long, value_name = "FILE")]
    pub export_markdown: Option<PathBuf>,
}

/// Under what a program is looked at.
#[derive(Debug, Args)]
pub struct TargetArgs {
    /// Look at a program inside this folder as if the folder were `/`
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,

    /// Set a variable that loaders read: LD_LIBRARY_PATH, LD_PRELOAD or GLIBC_TUNABLES (may be repeated)
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<std::ffi::OsString>,

    /// The processor that chooses between library variants (glibc-hwcaps)
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = Cpu::Native)]
    pub cpu: Cpu,

    /// Resolve as for a set-user-ID program (secure-execution mode)
    #[arg(long)]
    pub secure: bool,
}

/// A processor level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Cpu {
    /// This machine's processor
    Native,
    /// x86-64 without extensions
    #[value(alias = "x86-64", alias = "x86-64-v1")]
    Baseline,
    /// Up to SSE4.2
    #[value(name = "x86-64-v2", alias = "v2")]
    V2,
    /// Up to AVX2
    #[value(name = "x86-64-v3", alias = "v3")]
    V3,
    /// Up to AVX-512
    #[value(name = "x86-64-v4", alias = "v4")]
    V4,
}
