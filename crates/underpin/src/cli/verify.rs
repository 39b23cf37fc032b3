//! `underpin verify`.

use clap::{ArgAction, Args};
use std::ffi::OsString;
use std::path::PathBuf;

/// Prove that bound programs load what they loaded before they were bound.
///
/// The original of each bound file is worked out from its record. Bound and unbound must load the same objects (by
/// device and inode), in the same order, and run initialisers in the same order, as the real loader and the model see
/// it. Names that lead nowhere any more, or to another build, are told, and libraries that came into a search path. A
/// tree that was bound with --relative and moved is held against its records. No program is run without --check.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    underpin verify ./app\n  \
    underpin verify /opt/tree                  every program of a prefix, and stale names\n  \
    underpin verify --bindings ./app           also which object serves each symbol\n  \
    underpin verify --check ./app -- --version also predicted calls beside those of a real run\n\
    \n\
    Exit codes: 1 where something differs, is stale, or is bound without a record. A file that was stripped after it was\n\
    bound loads the same and cannot be undone: that is told, and is 0.")]
pub struct VerifyArgs {
    /// Programs or libraries (a name without a slash is searched for in PATH), or folders
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    /// Compare which object serves each symbol; relocates everything, and runs nothing
    #[arg(long)]
    pub bindings: bool,

    /// Run the program up to `main` under a tracer and compare the predicted calls with the real ones
    #[arg(long)]
    pub check: bool,

    /// Show more: -v every program
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,

    /// Print one JSON document (schema underpin.verify/1)
    #[arg(long)]
    pub json: bool,

    /// Arguments of the program, for --check
    #[arg(last = true, requires = "check", value_name = "ARGS")]
    pub arguments: Vec<OsString>,
}
