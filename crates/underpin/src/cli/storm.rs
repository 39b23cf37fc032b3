//! `underpin storm`.

use super::{DisplayArgs, ExportArgs, TargetArgs};
use clap::{ArgAction, Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use underpin_resolve::storm::Retention;

/// Show what the start of a program costs when a whole job makes it at once.
///
/// The predicted calls of the loader become operations of a file server, as far as the caches of a node do not answer
/// them; all processes of the job then queue at that server. The parameters of the file systems have sources and an
/// uncertainty, and each has a flag: your own figures are better. The program is run only on request (`-- ARGS`): what it
/// opens after its start is then counted too, for the program as it is.
#[derive(Debug, Args)]
#[command(after_help = "A file for --fs-file is TOML with a [[filesystem]] table for each:\n\
    `underpin storm --print-fs` prints the built-in ones and explains each key.\n\
    \n\
    Examples:\n  \
    underpin storm emacs --nodes 64 --ppn 32 --fs lustre\n  \
    underpin storm /opt/tree/bin/app --nodes 64 --on /opt/tree\n                                          \
    only this tree is on the server\n  \
    underpin storm app --nodes 8 --fs nfs --latency 120us --rate 90000\n  \
    underpin storm app --nodes 64 --compare ./app-bound   two programs compared\n  \
    underpin storm app --nodes 64 --after farm      what a folder of links leaves\n  \
    underpin storm app --nodes 64 -- --version      with what a run opens later\n  \
    underpin storm app --nodes 64 --fs-file site.toml --fs scratch\n  \
    underpin storm --json app --nodes 64 | jq '.cases[].seconds'\n\
    \n\
    Next: `underpin bind PROG` ends the search for libraries, `underpin bind --farm`\n\
    does it with one folder of links.")]
pub struct StormArgs {
    /// The program: a path, or a name that is searched for in PATH
    #[arg(value_name = "PROG", required_unless_present = "print_fs")]
    pub program: Option<PathBuf>,

    /// Nodes that start it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub nodes: u32,

    /// Processes on each node
    #[arg(long, value_name = "P", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub ppn: u32,

    /// The file system: nfs, nfs3, lustre, gpfs, beegfs, cvmfs, local, slowfs, or one of --fs-file
    #[arg(long, value_name = "NAME", default_value = "nfs")]
    pub fs: String,

    /// A TOML file with file systems of your own, of the form that --print-fs prints
    #[arg(long, value_name = "FILE")]
    pub fs_file: Option<PathBuf>,

    /// Print the built-in table of file systems, as a pattern for --fs-file
    #[arg(long)]
    pub print_fs: bool,

    /// Where it is mounted: only paths below it are requests to it (may be repeated; default: all paths)
    #[arg(long, value_name = "DIR")]
    pub on: Vec<PathBuf>,

    /// Another program to compare it with, such as a bound copy (may be repeated)
    #[arg(long, value_name = "OTHER")]
    pub compare: Vec<PathBuf>,

    /// A binding to predict beside it: what would be left after it (may be repeated; default: bind and flatten)
    #[arg(long, value_enum, value_name = "BINDING")]
    pub after: Vec<ModelledBinding>,

    #[command(flatten)]
    pub parameters: ParameterArgs,

    #[command(flatten)]
    pub target: TargetArgs,

    #[command(flatten)]
    pub display: DisplayArgs,

    #[command(flatten)]
    pub exports: ExportArgs,

    /// Run the program here with these arguments, and count what it opens after its start
    #[arg(last = true, value_name = "ARGS")]
    pub arguments: Vec<OsString>,
}

/// A binding that is predicted and not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModelledBinding {
    /// The program and every library that it loads are bound
    Bind,
    /// The program alone is bound, to its whole closure
    Flatten,
    /// The program alone gets one folder of links
    Farm,
    /// No binding
    None,
}

/// The user's own figures instead of the file system's.
#[derive(Debug, Args)]
#[command(next_help_heading = "Parameters of the file system")]
pub struct ParameterArgs {
    /// The time of one operation, there and back, on an idle server: 250us, 1ms
    #[arg(long, alias = "rtt", value_name = "TIME", value_parser = duration)]
    pub latency: Option<Duration>,

    /// Operations per second of the server, all nodes together; 0 for no limit
    #[arg(long, value_name = "OPS")]
    pub rate: Option<f64>,

    /// MiB of contents per second of the server, all nodes together; 0 for no limit
    #[arg(long, value_name = "MIB")]
    pub bandwidth: Option<f64>,

    /// KiB that one read fetches
    #[arg(long, value_name = "KIB", value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    pub read_size: Option<u64>,

    /// Share of each mapped file that a start reads, 0 to 1
    #[arg(long, value_name = "SHARE")]
    pub touched: Option<f64>,

    /// How long a node remembers names that were found: never, always, or seconds
    #[arg(long, value_name = "TIME")]
    pub entry_cache: Option<Retention>,

    /// How long it remembers names that were not found
    #[arg(long, value_name = "TIME")]
    pub negative_cache: Option<Retention>,

    /// How long it remembers attributes
    #[arg(long, value_name = "TIME")]
    pub attribute_cache: Option<Retention>,

    /// Whether the processes of a node share the contents that one of them has read
    #[arg(long, value_name = "BOOL", action = ArgAction::Set)]
    pub clients_share_page_cache: Option<bool>,

    /// Processor time of one start without the file system, as `time` shows it for a start with warm caches
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub cpu_time: Option<Duration>,

    /// Processor time that one operation costs the node
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub cpu_per_operation: Option<Duration>,

    /// Time that one operation costs besides latency and processor time
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub wait_per_operation: Option<Duration>,

    /// Processors of a node (default: as many as processes)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub cores: Option<u32>,
}

/// `100us`, `2ms`, `1.5s`.
fn duration(text: &str) -> Result<Duration, String> {
    let unit = text.find(|letter: char| letter.is_ascii_alphabetic()).ok_or("a unit is missing: us, ms or s")?;
    let scale = match &text[unit..] {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        other => return Err(format!("unknown unit {other}: us, ms or s")),
    };
    let figure: f64 = text[..unit]
        .parse()
        .map_err(|_| format!("`{}` is not a number: expected a time such as 250us", &text[..unit]))?;
    Duration::try_from_secs_f64(figure * scale).map_err(|error| error.to_string())
}
