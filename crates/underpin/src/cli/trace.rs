//! `underpin trace`.

use super::DisplayArgs;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// Run a command and show what its start-up really did, call by call.
///
/// Follows forks and threads. The command keeps its standard input and output, except that with --json its output goes
/// to standard error, since the document is alone on standard output. Lookups for libraries are counted apart for the
/// start and for what is opened later. After the phase asked for, the command runs on without a tracer, and its exit
/// status is passed through.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: the command's own (128 plus the number of a signal); 126 and 127 if\n\
    it cannot be started, 125 if it cannot be traced.\n\
    \n\
    Examples:\n  \
    underpin trace -- git --version         the whole run\n  \
    underpin trace --until main -- ./server its start-up alone, then untraced\n  \
    underpin trace --calls openat,mmap -- ./app\n  \
    underpin trace --json -- ./app 2>/dev/null | jq .syscalls\n  \
    underpin trace --export-html start.html -- emacs --batch\n\
    \n\
    Next: `underpin bind --dry-run PROG` shows how many calls absolute paths would\n\
    save, `underpin storm PROG` what they cost when a whole job starts, `underpin\n\
    doctor` how to enable tracing here.")]
pub struct TraceArgs {
    /// How far to watch; libraries that are opened later are seen only in a whole run
    #[arg(long, value_enum, default_value_t = UntilPhase::Exit, value_name = "PHASE")]
    pub until: UntilPhase,

    /// Which calls: default (file, mapping and process calls), all, or a list of names and groups (file, mapping,
    /// process, descriptor)
    #[arg(long, default_value = "default", value_name = "LIST")]
    pub calls: String,

    /// Run the command and a bound copy of the program in turn, some twenty times each, and measure what `bind` gains
    #[arg(long)]
    pub measure_bind: bool,

    #[command(flatten)]
    pub display: DisplayArgs,

    /// Write a page with a start-up timeline
    #[arg(long, value_name = "FILE")]
    pub export_html: Option<PathBuf>,

    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// How far a command is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UntilPhase {
    /// To the program's entry point: the loader's work
    Entry,
    /// To `main`: the initialisers too
    Main,
    /// To the end of its last process
    Exit,
}
