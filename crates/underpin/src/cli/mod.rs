//! The command line as the user types it: one module per verb, nothing here touches the world.
//!
//! Help, man pages and completions are all generated from these definitions.

mod bench;
mod bind;
mod bundle;
mod check;
mod doctor;
mod generate;
mod run;
mod serve;
mod storm;
mod survey;
mod trace;
mod tree;
mod verify;

pub use bench::{AroundArgs, BenchArgs, BindState, ReportArgs, ResultArgs, RuleArgs};
pub use bind::{BindArgs, Place, UnbindArgs};
pub use bundle::BundleArgs;
pub use check::CheckArgs;
pub use doctor::DoctorArgs;
pub use generate::{GenerateArgs, What};
pub use run::RunArgs;
pub use serve::ServeArgs;
pub use storm::{Binding, ParameterArgs, StormArgs};
pub use survey::SurveyArgs;
pub use trace::{Phase, TraceArgs};
pub use tree::{Cpu, SurroundingsArgs, TreeArgs};
pub use verify::VerifyArgs;

use clap::{Parser, Subcommand, ValueEnum};

/// See what a Linux program stands on: its C library, its loader, its libraries, where it will run, and what its
/// start-up costs.
#[derive(Debug, Parser)]
#[command(
    name = "underpin",
    version,
    max_term_width = 100,
    propagate_version = true,
    disable_help_subcommand = true,
    after_help = "Exit codes: 0 fine, 1 a finding or a failed gate, 2 wrong use or an error of underpin.\n\
                  `underpin trace` and `underpin run` hand on the code of the command (126 and 127 where it could not\n\
                  be started).\n\n\
                  JSON: a name that is not UTF-8 is text with U+FFFD, and its bytes stand in hexadecimal in a field\n\
                  beside it (`path` and `path_bytes`; of a list a list, with null for names that are text).",
    arg_required_else_help = true
)]
pub struct Cli {
    /// When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,

    /// What to do
    #[command(subcommand)]
    pub verb: Verb,
}

/// When to colour the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal.
    Auto,
    /// Into files and pipes too.
    Always,
    /// Nowhere.
    Never,
}

/// One verb of the program.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Show the whole picture of one program, and what to do about it
    Survey(SurveyArgs),
    /// Show what the loader will load, from where, why, and every path tried
    Tree(TreeArgs),
    /// Show where a program runs, and which symbol of which object forbids the rest
    Check(CheckArgs),
    /// Run a command and show what its start-up really did, call by call
    Trace(TraceArgs),
    /// Show what the start of a program costs at scale
    Storm(Box<StormArgs>),
    /// Make a directory or file of a program that carries its loader and libraries along
    Bundle(BundleArgs),
    /// Write where each library is into programs, so that their start searches for nothing
    Bind(BindArgs),
    /// Put back every byte that `bind` changed
    Unbind(UnbindArgs),
    /// Prove that bound programs load what they loaded before
    Verify(VerifyArgs),
    /// Run the same work under several variants and compare them honestly
    Bench(Box<BenchArgs>),
    /// Show a run that bench kept, without running anything
    Report(ReportArgs),
    /// Run a command on another allocator, and make sure that it took
    Run(RunArgs),
    /// Show what this machine allows, and the command that mends each lack
    Doctor(DoctorArgs),
    /// Print a man page, shell completions or a JSON Schema
    #[command(hide = true)]
    Generate(GenerateArgs),
}
