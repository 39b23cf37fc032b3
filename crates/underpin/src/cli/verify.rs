//! `underpin verify`.

use super::DisplayArgs;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// Prove that bound programs load what they loaded before.
///
/// The original of each bound file is worked out from its record. Bound and unbound must load the same objects (by
/// device and inode), in the same order, and run initialisers in the same order, as the real loader and the model see
/// it. Reported are names that lead nowhere any more, or to another build, and libraries that were added to a search path.
/// A tree that was bound with --relative and moved is compared with its records. No program is run without --check.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 fine; 1 something differs, is stale, or is bound without a record;\n\
    2 wrong use or an error. A file that was stripped after it was bound loads the\n\
    same and cannot be restored: that is reported, and is 0.\n\
    \n\
    Examples:\n  \
    underpin verify ./app\n  \
    underpin verify /opt/tree               every program of a prefix; stale names\n  \
    underpin verify --bindings ./app        also which object serves each symbol\n  \
    underpin verify --check ./app -- --version   also predicted and real calls\n\
    \n\
    Next: `underpin bind PATH` binds stale names anew, `underpin unbind PATH`\n\
    restores the originals.")]
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

    /// QEMU's user emulator for programs of another processor, such as qemu-aarch64, to ask their loaders too
    #[arg(long, value_name = "QEMU")]
    pub emulator: Option<PathBuf>,

    #[command(flatten)]
    pub display: DisplayArgs,

    /// Arguments of the program, for --check
    #[arg(last = true, requires = "check", value_name = "ARGS")]
    pub arguments: Vec<OsString>,
}
