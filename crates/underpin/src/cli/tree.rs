//! `underpin tree`.

use clap::{ArgAction, Args, ValueEnum};
use std::path::PathBuf;

/// Show what the loader will load, from where, why, and every path tried.
///
/// The loader is the one that the program names in PT_INTERP, glibc's or musl's, and its own rules apply, object by
/// object and in its order. The program is not run, unless --check asks for it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    underpin tree git                          the tree of the `git` in PATH\n  \
    underpin tree --list /usr/bin/emacs        one path per line, in load order\n  \
    underpin tree --why libz.so.1 git          who asks for it, and every path tried\n  \
    underpin tree --cpu x86-64-v2 ffmpeg       as on an older processor\n  \
    underpin tree --root sysroot /usr/bin/app  a program inside a folder that is another system\n  \
    underpin tree --env LD_LIBRARY_PATH=/opt/lib ./app\n  \
    underpin tree --check git -- --version     predicted calls beside those of a real run\n  \
    underpin tree --json /usr/bin              every program of a folder, one JSON line each")]
pub struct TreeArgs {
    /// Programs or libraries (a name without a slash is searched for in PATH), or folders
    #[arg(required = true, value_name = "PROG")]
    pub programs: Vec<PathBuf>,

    /// Print one path per line, in load order, the program itself left out
    #[arg(long, conflicts_with_all = ["why", "paths", "json", "check"])]
    pub list: bool,

    /// With --list: end each path with a NUL byte in place of a newline, for xargs -0
    #[arg(long, requires = "list")]
    pub print0: bool,

    /// Explain one object: who asks for it, where it was found, every path tried
    #[arg(long, value_name = "NAME", conflicts_with_all = ["paths", "json", "check"])]
    pub why: Option<String>,

    /// Print the search directories of every object, in order
    #[arg(long, conflicts_with_all = ["json", "check"])]
    pub paths: bool,

    #[command(flatten)]
    pub surroundings: SurroundingsArgs,

    /// Show more: -v every request and path, -vv every path tried
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,

    /// Print one JSON document per program on a line of its own (schema underpin.tree/1)
    #[arg(long)]
    pub json: bool,

    /// Run the program up to `main` under a tracer and compare the predicted calls with the real ones
    #[arg(long, conflicts_with = "root")]
    pub check: bool,

    /// Arguments of the program, for --check
    #[arg(last = true, requires = "check", value_name = "ARGS")]
    pub arguments: Vec<std::ffi::OsString>,
}

/// What surrounds a program: shared by the verbs that resolve.
#[derive(Debug, Args)]
pub struct SurroundingsArgs {
    /// Look at a program inside this folder as if the folder were `/`
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,

    /// Set a variable that loaders read: LD_LIBRARY_PATH, LD_PRELOAD or GLIBC_TUNABLES (may be repeated)
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<std::ffi::OsString>,

    /// The processor that chooses between library variants
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
