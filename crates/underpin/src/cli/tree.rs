//! `underpin tree`.

use super::{DisplayArgs, TargetArgs};
use clap::Args;
use std::path::PathBuf;

/// Show what the loader will load, from where, why, and every path tried.
///
/// The loader is the one that the program names in PT_INTERP, glibc's or musl's, and its own rules apply, object by
/// object and in its order. The program is not run, unless --check asks for it.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 everything is found; 1 a library or a version of a symbol is\n\
    missing, or --check found a difference; 2 wrong use or an error.\n\
    \n\
    Examples:\n  \
    underpin tree git                       the tree of the `git` in PATH\n  \
    underpin tree --list /usr/bin/emacs     one path per line, in load order\n  \
    underpin tree --why libz.so.1 git       who asks for it, and every path tried\n  \
    underpin tree --cpu x86-64-v2 ffmpeg    as on an older processor\n  \
    underpin tree --root sysroot /bin/app   a program inside another system\n  \
    underpin tree --env LD_LIBRARY_PATH=/opt/lib ./app\n  \
    underpin tree --check git -- --version  predicted calls beside real ones\n  \
    underpin tree --json /usr/bin           every program of a folder, a line each\n\
    \n\
    Next: `underpin check PROG` shows where it runs, `underpin trace -- PROG` what\n\
    its start really does, `underpin bind --dry-run PROG` how to end the search.")]
pub struct TreeArgs {
    /// Programs or libraries (a name without a slash is searched for in PATH), or folders
    #[arg(required = true, value_name = "PROG")]
    pub programs: Vec<PathBuf>,

    /// Print one path per line, in load order, without the program itself
    #[arg(long, conflicts_with_all = ["why", "paths", "json", "check"])]
    pub list: bool,

    /// With --list: end each path with a NUL byte instead of a newline, for xargs -0
    #[arg(long, requires = "list")]
    pub print0: bool,

    /// Explain one object: who asks for it, where it was found, every path tried
    #[arg(long, value_name = "NAME", conflicts_with_all = ["paths", "json", "check"])]
    pub why: Option<String>,

    /// Print the search directories of every object, in order
    #[arg(long, conflicts_with_all = ["json", "check"])]
    pub paths: bool,

    #[command(flatten)]
    pub target: TargetArgs,

    #[command(flatten)]
    pub display: DisplayArgs,

    /// Run the program up to `main` under a tracer and compare the predicted calls with the real ones
    #[arg(long, conflicts_with = "root")]
    pub check: bool,

    /// Arguments of the program, for --check
    #[arg(last = true, requires = "check", value_name = "ARGS")]
    pub arguments: Vec<std::ffi::OsString>,
}
