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

pub use bench::{AroundArgs, BenchArgs, BindState, Failure, ReportArgs, ResultArgs, RuleArgs, TimeUnit};
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

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;

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
    /// What goes with every verb.
    #[command(flatten)]
    pub general: GeneralArgs,

    /// What to do
    #[command(subcommand)]
    pub verb: Verb,
}

/// Options that go with every verb.
#[derive(Debug, Args)]
pub struct GeneralArgs {
    /// When to colour the output; NO_COLOR and CLICOLOR_FORCE are obeyed too
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
}

impl Cli {
    /// Takes a command line apart, the program's name first.
    ///
    /// Describing the options of all verbs to clap takes longer, and more memory, than `tree` needs for many programs. What is
    /// a valid command line of `tree` alone is therefore taken as one; everything else, help and errors with it, is left to
    /// the whole description.
    ///
    /// # Errors
    /// What clap says of a command line that is none of ours, or that asks for help.
    pub fn of(line: &[OsString]) -> Result<Cli, clap::Error> {
        if line.get(1).is_some_and(|verb| verb == "tree")
            && let Ok(Alone { general, verb: VerbAlone::Tree(args) }) = Alone::try_parse_from(line)
        {
            return Ok(Cli { general, verb: Verb::Tree(args) });
        }
        Cli::try_parse_from(line)
    }
}

/// [`Cli`] with the verbs alone that other programs call many times.
#[derive(Debug, Parser)]
#[command(name = "underpin", disable_help_subcommand = true)]
struct Alone {
    #[command(flatten)]
    general: GeneralArgs,

    #[command(subcommand)]
    verb: VerbAlone,
}

#[derive(Debug, Subcommand)]
enum VerbAlone {
    Tree(TreeArgs),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What clap makes of a line, or its words of refusal.
    fn told(line: &[OsString], parse: impl Fn(&[OsString]) -> Result<Cli, clap::Error>) -> Result<String, String> {
        parse(line).map(|cli| format!("{cli:?}")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_verb_on_its_own_is_parsed_as_among_the_others() {
        for words in [
            "tree git",
            "tree --list --print0 /usr/bin/emacs",
            "tree --list --json git",
            "tree -vv --color always --cpu v2 a b c",
            "tree --check git -- --version",
            "tree --root / --env A=B --secure x --why libz.so.1",
            "tree",
            "tree --help",
            "tree -h",
            "tree --version",
            "tree --lst git",
            "--color never tree git",
            "tree --color sometimes git",
            "check git",
            "trees git",
            "",
        ] {
            let line: Vec<OsString> =
                std::iter::once("underpin").chain(words.split_whitespace()).map(Into::into).collect();
            assert_eq!(told(&line, Cli::of), told(&line, |line| Cli::try_parse_from(line)), "{words}");
        }
    }
}
