//! `underpin bundle`.

use super::{Cpu, DisplayArgs};
use clap::Args;
use std::path::PathBuf;

/// Copy a program with its loader and libraries into a directory or one file.
///
/// The result runs where the C library is older, or another one, or missing: it starts with its own loader and takes every
/// library from the bundle, wherever that was put. The program keeps its arguments, environment, signals
/// and descriptors, and programs that it starts see nothing of the bundle. Included are the closure that `underpin
/// tree` shows, name services of nsswitch.conf, libraries declared in `.note.dlopen`, charset modules if iconv is
/// used, the locale C.UTF-8 if setlocale is, and what --include and --locale name. The machine's own locales come
/// first; those of the bundle are for machines that do not have them. In one file, ten libraries or more are merged into one
/// as `bind --fuse` merges them, if the loader then binds every symbol as before. The program is not run; its loader is asked
/// whether it agrees.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    underpin bundle git -o git-bundle       a directory; start git-bundle/bin/git\n  \
    underpin bundle --file ls -o ls-anywhere   one file, never unpacked\n  \
    underpin bundle --dry-run emacs -o e    what would be included, what cannot be\n  \
    underpin bundle python3 -o py --include /usr/lib/python3.11\n  \
    underpin bundle app -o out --include libplugin.so.1 --exclude gconv\n  \
    underpin bundle --root sysroot /usr/bin/app -o out\n\
    \n\
    Next: `underpin check out/bin/PROG` shows where the bundle runs.")]
pub struct BundleArgs {
    /// The program: a path, or a name that is searched for in PATH
    #[arg(value_name = "PROG")]
    pub program: PathBuf,

    /// Where the bundle goes; nothing may be there yet
    #[arg(short, long, value_name = "PATH")]
    pub output: PathBuf,

    /// Make one file instead of a directory
    #[arg(long)]
    pub file: bool,

    /// Merge libraries into one also in a directory: it starts faster from ten libraries on
    #[arg(long, conflicts_with = "no_fuse")]
    pub fuse: bool,

    /// Keep each library of a --file separate
    #[arg(long)]
    pub no_fuse: bool,

    /// Include a library by name, or a file, directory or pattern by path (may be repeated)
    #[arg(long, value_name = "NAME|PATH")]
    pub include: Vec<std::ffi::OsString>,

    /// Include a locale of this machine besides C.UTF-8, such as de_DE.UTF-8 (may be repeated)
    #[arg(long, value_name = "NAME")]
    pub locale: Vec<std::ffi::OsString>,

    /// Leave out plugins and included files that match; `gconv` stands for charset modules, `locale` for locales (may be
    /// repeated)
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,

    /// What the program is called in the bundle
    #[arg(long, value_name = "NAME")]
    pub name: Option<std::ffi::OsString>,

    /// Replace a bundle that is there
    #[arg(long)]
    pub force: bool,

    /// Show what would be included and write nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Take a program from inside this folder as if the folder were `/`
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,

    /// Set a variable that loaders read while searching here, such as LD_LIBRARY_PATH (may be repeated)
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<std::ffi::OsString>,

    /// The oldest processor that it must run on: chooses between library variants
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = Cpu::Baseline)]
    pub cpu: Cpu,

    #[command(flatten)]
    pub display: DisplayArgs,
}
