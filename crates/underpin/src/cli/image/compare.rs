//! The arguments of `underpin image compare`.

use super::super::{CompilerName, DisplayArgs, SuiteName};
use clap::Args;
use std::path::PathBuf;
use underpin_bench::Gate;
use underpin_suite::Suite;

/// Compare twin images of several C libraries: packages, sizes, boots, memory, and suites of benchmarks that run in them.
///
/// The twins have the same kernel and are built from the same recipes, for each C library that --libc names. Programs of the
/// suites are put into copies of them, started in turn in QEMU, and bring their figures back. The guest's clock counts
/// instructions instead of time (QEMU's icount), so that figures repeat on a busy machine: they say how much work was done,
/// its kernel's included, and nothing of caches, branches or several processors. Only the time from the start of QEMU to
/// the first result is this machine's.
///
/// A row that crashes, hangs or takes its guest down says so, and the others go on. The records are kept as those of
/// `underpin bench --suite`: `underpin report` shows the rows again.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 fine, every limit of --gate was kept; 1 a limit was not kept; 125\n\
    the runs do not decide it; 2 wrong use, or something cannot be built or started.\n\
    \n\
    Examples:\n  \
    underpin image compare busybox --quick\n  \
    underpin image compare busybox --target qemu-aarch64 --export-html page.html\n  \
    underpin image compare busybox --libc glibc,musl,musl+mimalloc --suite libc\n  \
    underpin image compare busybox --suite libc --filter 'str*' -o twins\n  \
    underpin image compare busybox --gate 'row:strlen<+10%'\n\
    \n\
    Next: `underpin image size DIR --against DIR`, `underpin bench --suite` for\n\
    times on this machine.")]
pub struct ImageCompareArgs {
    /// The recipes that the images are made of, or an image's list of them
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<PathBuf>,

    /// The machine; for this processor if it is not given
    #[arg(long, value_name = "NAME", value_parser = ["qemu-x86_64", "qemu-aarch64"])]
    pub target: Option<String>,

    /// The builds, the first of which the others are compared with; a word may name an allocator for the programs of the
    /// suites, as in musl+mimalloc
    #[arg(long, value_name = "BUILD,BUILD,...", default_value = "glibc,musl")]
    pub libc: String,

    /// The suites: libc, os, system, cpu, alloc (Rust), or all
    #[arg(long, value_name = "NAME,NAME,...", value_delimiter = ',', default_value = "libc,os,system,cpu")]
    pub suite: Vec<SuiteName>,

    /// Only the row of this name; if there is none, those whose names have this text, or match it with `*` for any text.
    /// `SUITE:TEXT` is for one suite alone (may be repeated)
    #[arg(long, value_name = "PATTERN")]
    pub filter: Vec<String>,

    /// The short form: a fifth of the work in each row
    #[arg(long)]
    pub quick: bool,

    /// How often each image is started; if it is not given, as often as it takes to show a difference
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub boots: Option<u32>,

    /// End a row after so many seconds of the guest's clock
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub timeout: u32,

    /// Use the recipes and appends of this folder too (may be repeated)
    #[arg(long, value_name = "DIR")]
    pub layer: Vec<PathBuf>,

    /// Build recipes and suites with this compiler
    #[arg(long, value_enum, value_name = "NAME")]
    pub toolchain: Option<CompilerName>,

    /// Keep the twins in this folder, each under the name of its build, and those with the programs of the suites
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Fail if something would have to be fetched
    #[arg(long)]
    pub offline: bool,

    /// Fail if the whole interval of a row is past a limit, pass if all of it keeps to the limit: 'row:strlen<+3%'
    #[arg(long, value_name = "LIMITS")]
    pub gate: Option<Gate>,

    /// Keep the records under this name
    #[arg(long, value_name = "NAME")]
    pub save: Option<String>,

    /// The folder where records are kept
    #[arg(long, value_name = "DIR", default_value = ".underpin/bench")]
    pub store: PathBuf,

    #[command(flatten)]
    pub display: DisplayArgs,

    /// Write the JSON document to a file; `-`, here and below: to standard output, instead of the screen
    #[arg(long, value_name = "FILE")]
    pub export_json: Option<PathBuf>,

    /// Write Markdown tables
    #[arg(long, value_name = "FILE")]
    pub export_markdown: Option<PathBuf>,

    /// Write a page with tables and pictures
    #[arg(long, value_name = "FILE")]
    pub export_html: Option<PathBuf>,
}

impl ImageCompareArgs {
    /// The suites, each once, in the order in which they run.
    pub fn suites(&self) -> Vec<Suite> {
        SuiteName::all_of(&self.suite)
    }
}
