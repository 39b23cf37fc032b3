//! `underpin survey`.

use super::{DisplayArgs, ExportArgs, UntilPhase};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Show the whole picture of one program, and what to do about it.
///
/// Where it runs, what the loader will load, and, behind `--`, what its start-up really does: only then is the
/// program run, with the arguments given, and a command that ends soon is tried on other allocators too. It ends with
/// advice, each line with the figures behind it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    underpin survey git                     without running it\n  \
    underpin survey git -- --version        its start-up measured too\n  \
    underpin survey ./server --             run it without arguments\n  \
    underpin survey --trial 10m ruby -- app.rb\n  \
    underpin survey --trial 0 ./change -- now     run it once\n  \
    underpin survey git --export-html git.html -- --version\n  \
    underpin survey --export-json git.json --export-markdown git.md git\n\
    \n\
    Next: the advice at its end names the command for each step.")]
pub struct SurveyArgs {
    /// The program: a path, or a name that is searched for in PATH
    #[arg(value_name = "PROG")]
    pub program: PathBuf,

    /// How far to watch it, if it is run; it then runs on without a tracer
    #[arg(long, value_enum, default_value_t = UntilPhase::Exit, value_name = "PHASE")]
    pub until: UntilPhase,

    /// Run the command and a bound copy of the program in turn, some twenty times each, and measure what `bind` gains
    #[arg(long, requires = "arguments")]
    pub measure_bind: bool,

    /// The longest that the trial of allocators may take, if a command is run that ends by itself: it is then run
    /// some sixty times more, more often if it is short; 0 for no trial
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = super::bench::duration)]
    pub trial: Duration,

    #[command(flatten)]
    pub display: DisplayArgs,

    /// Write a self-contained page
    #[arg(long, value_name = "FILE")]
    pub export_html: Option<PathBuf>,

    #[command(flatten)]
    pub exports: ExportArgs,

    /// Run the program with these arguments and measure its start-up
    #[arg(last = true, value_name = "ARGS")]
    pub arguments: Vec<OsString>,
}
