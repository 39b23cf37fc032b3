//! `underpin bench` and `underpin report`.

use super::{Color, DisplayArgs, ServeArgs, SuiteArgs};
use clap::{ArgAction, Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use underpin_bench::{Gate, StoppingRule, parse_duration};
use underpin_malloc::MallocList;

/// Benchmark commands or variants of one, and compare them, with confidence intervals.
///
/// Runs are interleaved in blocks (A B B A), so that a machine that grows slower favours none of them. Every
/// median and every difference has an interval; a difference is claimed only if a rank test finds it at the level of
/// 1 %. Memory comes from runs of their own, read from each process right before its end. Without -S there is no shell.
#[derive(Debug, Args)]
#[command(after_help = "Each run finds UNDERPIN_PADDING in its environment, of another length each time:\n\
    where the stack begins can change times by several per cent, and this way\n\
    favours nobody. A program that prints or hashes its environment sees it.\n\
    \n\
    Exit codes: 0 fine, every limit of --gate was kept; 1 a limit was not kept; 125\n\
    the runs do not decide it, or a commit of --commits with --gate cannot be built\n\
    or run: `git bisect run` takes that for \"skip\"; 2 a command failed, or wrong\n\
    use, such as a gate with nothing to compare (git bisect takes 2 for \"bad\": try\n\
    the line by hand first).\n\
    \n\
    Examples:\n  \
    underpin bench 'grep -c x big.txt' 'rg -c x big.txt'\n  \
    underpin bench --malloc system,jemalloc,mimalloc -- ruby app.rb\n  \
    underpin bench --malloc jemalloc:narenas:2 -- ./server --once\n  \
    underpin bench --bind before,after -- emacs --version\n  \
    underpin bench --commits main,HEAD --build make -- ./app\n  \
    underpin bench --build glibc,musl --project ~/ripgrep -- rg -c fn src\n  \
    underpin bench --suite libc,alloc --build glibc,musl,musl+jemalloc\n  \
    underpin bench --suite all --quick --export-html page.html\n  \
    underpin bench --variant 'sorted=LC_ALL=C' -- ls -l\n  \
    underpin bench --variant 'pinned=taskset -c 0' -w 3 -- ./app\n  \
    underpin bench -L threads 1,2,4 'make -j {threads}' -p 'make clean'\n  \
    underpin bench --until 'ratio ±2%' --budget 60s ./old ./new\n  \
    underpin bench --serve 'puma -b tcp://127.0.0.1:{PORT}' \\\n      \
    --load 'GET http://127.0.0.1:{PORT}/' --malloc system,jemalloc\n  \
    underpin bench --load 'GET http://127.0.0.1:8080/' --rate 500 --duration 30s\n  \
    underpin bench --aa -- ./app            the noise floor of this machine\n  \
    underpin bench --save main -- ./app\n  \
    underpin bench --baseline main --gate 'wall<+3%,rss<+5%' -- ./app\n  \
    git bisect run underpin bench --commits v1,HEAD --build make \\\n      \
    --gate 'wall<+10%' -- ./app\n\
    \n\
    Next: `underpin report` shows a run again, `underpin run --malloc NAME -- CMD`\n\
    keeps an allocator.")]
pub struct BenchArgs {
    /// Commands to compare, one string each; the first is the reference
    #[arg(value_name = "COMMAND")]
    pub commands: Vec<String>,

    /// One more command, as separate words
    #[arg(last = true, value_name = "CMD")]
    pub words: Vec<OsString>,

    /// A variant of every command, beside the command as it is: assignments, then words that go before the command (may
    /// be repeated)
    #[arg(long, value_name = "NAME=[VAR=VALUE ...] [WORDS]", help_heading = "What to compare")]
    pub variant: Vec<String>,

    /// Allocators to run every command on, its children too: system, jemalloc, mimalloc, snmalloc, or a shared object,
    /// each with settings after a colon. One alone stands beside the command as it is (may be repeated)
    #[arg(long, value_name = "LIST", help_heading = "What to compare")]
    pub malloc: Vec<MallocList>,

    /// Run every program as it is (before), bound to its libraries as `underpin bind --flatten` would do it (after), and
    /// with its libraries in one file as `underpin bind --fuse` would do it (fused), from copies that are gone afterwards
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "before,after,fused",
        help_heading = "What to compare"
    )]
    pub bind: Vec<BindState>,

    /// Commits to run every command at, the first the reference: each is checked out in a temporary git worktree, where
    /// --build builds it and the commands run in the folder that you stand in. {COMMIT} stands for the hash
    #[arg(long, value_name = "REV,REV,...", value_delimiter = ',', help_heading = "What to compare")]
    pub commits: Vec<String>,

    /// With --commits: how to build each commit, once in its worktree, by /bin/sh: 'make', 'cargo build --release'. Without:
    /// the builds of --project to run every command with, as `underpin build --as` names them, the first the reference:
    /// glibc,musl,musl+jemalloc
    #[arg(long, value_name = "CMD|BUILD,BUILD,...", help_heading = "What to compare")]
    pub build: Option<String>,

    /// What --build builds: a folder (the current one), or a file of C or C++. The file that it makes of a command's program
    /// is run in that program's place
    #[arg(long, value_name = "PATH", requires = "build", conflicts_with = "commits", help_heading = "What to compare")]
    pub project: Option<PathBuf>,

    /// Set a variable for every command; {VAR} of -L and -P, {PORT} and {COMMIT} are replaced (may be repeated)
    #[arg(long, value_name = "VAR=VALUE", help_heading = "What to compare")]
    pub env: Vec<String>,

    /// Run every command once for each value, in place of {VAR} in commands and options (may be repeated)
    #[arg(short = 'L', long, num_args = 2, value_names = ["VAR", "VALUES"], allow_hyphen_values = true, action = ArgAction::Append, help_heading = "What to compare")]
    pub parameter_list: Vec<String>,

    /// Run every command once for each value from MIN to MAX, in place of {VAR} (may be repeated)
    #[arg(short = 'P', long, num_args = 3, value_names = ["VAR", "MIN", "MAX"], allow_hyphen_values = true, action = ArgAction::Append, help_heading = "What to compare")]
    pub parameter_scan: Vec<String>,

    /// The step of each -P, in their order; 1 for whole numbers
    #[arg(short = 'D', long, value_name = "STEP", requires = "parameter_scan", help_heading = "What to compare")]
    pub parameter_step_size: Vec<String>,

    /// A name for the next command in order (may be repeated)
    #[arg(short = 'n', long, value_name = "NAME", help_heading = "What to compare")]
    pub command_name: Vec<String>,

    /// The variant that the others are compared with, by its name or command (default: the first)
    #[arg(long, value_name = "NAME", help_heading = "What to compare")]
    pub reference: Option<String>,

    /// Measure the reference against itself too: the noise floor
    #[arg(long, help_heading = "What to compare")]
    pub aa: bool,

    #[command(flatten)]
    pub serve: ServeArgs,

    #[command(flatten)]
    pub suites: SuiteArgs,

    #[command(flatten)]
    pub rules: RuleArgs,

    #[command(flatten)]
    pub around: AroundArgs,

    #[command(flatten)]
    pub results: ResultArgs,

    /// What is shown while it runs and at the end
    #[arg(long, value_enum, value_name = "STYLE", default_value_t = Style::Auto, help_heading = "Results")]
    pub style: Style,

    /// hyperfine's --sort: results are in the order of the commands
    #[arg(long, value_enum, value_name = "ORDER", hide = true)]
    pub sort: Option<Order>,

    /// hyperfine's --reference-name; here -n names a command
    #[arg(long, value_name = "NAME", hide = true)]
    pub reference_name: Option<String>,

    /// Save this run under a name
    #[arg(long, value_name = "NAME", help_heading = "Results")]
    pub save: Option<String>,

    /// Use a model instead of this machine, for tests: commands are `sleep SECONDS`
    #[arg(long, hide = true)]
    pub debug_mode: bool,
}

/// A state of a program and its libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BindState {
    /// With nothing of it bound
    Before,
    /// Bound to its libraries
    After,
    /// With its libraries in one file
    Fused,
}

/// How much is measured.
#[derive(Debug, Args)]
#[command(next_help_heading = "How much to measure")]
pub struct RuleArgs {
    /// Runs of each variant before the first timed one
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub warmup: u32,

    /// Timed runs of each variant; if not given, at least --min-runs, for 3 s each
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub runs: Option<u32>,

    /// Least number of timed runs: 12, or 4 of servers; a comparison gets as many as it takes to show a difference,
    /// 16 for two variants (8 of servers), by itself
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub min_runs: Option<u32>,

    /// Greatest number of timed runs
    #[arg(short = 'M', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_runs: Option<u32>,

    /// hyperfine's: timed runs of each variant go on for so many seconds if neither --runs nor --budget is given
    #[arg(long, value_name = "SECONDS", value_parser = seconds, hide = true)]
    pub min_benchmarking_time: Option<Duration>,

    /// Time for everything, all of which is used: 60s, 5m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub budget: Option<Duration>,

    /// Stop as soon as every interval is this narrow: 'ratio ±2%' or 'median ±1%'; at the latest after --budget (60s
    /// if not given)
    #[arg(long, value_name = "RULE")]
    pub until: Option<StoppingRule>,

    /// Runs of each variant that are watched for memory: 6, more for many variants, or --runs if that is less; 1 of
    /// servers, since their growth is read in every run
    #[arg(long, value_name = "N")]
    pub memory_runs: Option<u32>,

    /// How long a process takes to settle: growth of memory counts from then
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = duration)]
    pub settle: Duration,

    /// Kill a run that takes longer, and stop (default: one day)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub timeout: Option<Duration>,

    /// Counters of the processor: auto, none, or a list such as cycles,instructions
    #[arg(long, value_name = "LIST", default_value = "auto")]
    pub counters: String,

    /// Seed of the random orders (default: a new one for each experiment)
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// Commands and streams around the runs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Around the runs")]
pub struct AroundArgs {
    /// Run before each run; given once for all commands or once for each, by /bin/sh
    #[arg(short, long, value_name = "CMD")]
    pub prepare: Vec<String>,

    /// Run after each run, given like --prepare
    #[arg(short = 'C', long, value_name = "CMD")]
    pub conclude: Vec<String>,

    /// Run once before everything
    #[arg(short, long, value_name = "CMD")]
    pub setup: Option<String>,

    /// Run once after everything, also if something failed
    #[arg(short, long, value_name = "CMD")]
    pub cleanup: Option<String>,

    /// Measure commands that fail too; with exit codes, only those that fail with one of them
    #[arg(
        short, long, value_name = "CODES", num_args = 0..=1, require_equals = true, value_delimiter = ',',
        default_missing_value = "all-non-zero", value_parser = exit_code
    )]
    pub ignore_failure: Option<Vec<Failure>>,

    /// Run the commands by this shell; its own start is then in the figures
    #[arg(short = 'S', long, value_name = "SHELL")]
    pub shell: Option<String>,

    /// No shell: the default, accepted because hyperfine has it
    #[arg(short = 'N', hide = true)]
    pub no_shell: bool,

    /// Standard input of the commands: a file, or null (the default)
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,

    /// Output of the commands: null (the default), pipe (read and thrown away), inherit, or a file, which is appended
    /// to; once for all commands, or once for each. For a file of each run let a shell write it:
    /// -S sh 'CMD > log-$HYPERFINE_ITERATION'
    #[arg(long, value_name = "WHERE")]
    pub output: Vec<String>,

    /// The same as --output inherit
    #[arg(long, conflicts_with = "output")]
    pub show_output: bool,
}

/// What becomes of the figures.
#[derive(Debug, Args)]
#[command(next_help_heading = "Results")]
pub struct ResultArgs {
    /// Compare with a saved run
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,

    /// Fail if the whole interval of a change is past a limit, pass if all of it keeps to the limit: 'wall<+3%,rss<+5%'
    #[arg(long, value_name = "LIMITS")]
    pub gate: Option<Gate>,

    /// Accept a baseline from another processor, kernel or size of memory
    #[arg(long, requires_all = ["gate", "baseline"])]
    pub any_machine: bool,

    /// The folder where runs are saved
    #[arg(long, value_name = "DIR", default_value = ".underpin/bench")]
    pub store: PathBuf,

    #[command(flatten)]
    pub display: DisplayArgs,

    /// Write the JSON document to a file (its form: docs/schemas); `-`, here and below: to standard output,
    /// instead of the screen
    #[arg(long, value_name = "FILE")]
    pub export_json: Option<PathBuf>,

    /// Write a row of figures for each variant and figure
    #[arg(long, value_name = "FILE")]
    pub export_csv: Option<PathBuf>,

    /// Write Markdown tables
    #[arg(long, value_name = "FILE")]
    pub export_markdown: Option<PathBuf>,

    /// Write hyperfine's table (mean, least and greatest time of each command) in AsciiDoc
    #[arg(long, value_name = "FILE")]
    pub export_asciidoc: Option<PathBuf>,

    /// Write hyperfine's table for Emacs' org-mode
    #[arg(long, value_name = "FILE")]
    pub export_orgmode: Option<PathBuf>,

    /// The unit of all times on the screen and in exports, except CSV and JSON (default: chosen for each figure)
    #[arg(short = 'u', long, value_enum, value_name = "UNIT")]
    pub time_unit: Option<TimeUnit>,

    /// Write a page with tables, pictures and every run: one file, dark and light, readable without a network
    #[arg(long, value_name = "FILE")]
    pub export_html: Option<PathBuf>,
}

/// Show a run that bench saved, without running anything.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: as for `underpin bench`.\n\
    \n\
    Examples:\n  \
    underpin report                         the latest run\n  \
    underpin report main -v                 a run saved by --save main\n  \
    underpin report main --export-html page.html\n  \
    underpin report new --baseline main --gate 'wall<+3%'\n  \
    underpin report --list\n\
    \n\
    Next: `underpin bench --baseline NAME -- CMD` compares a new run with a saved\n\
    one.")]
pub struct ReportArgs {
    /// The name of a saved run, or its file (default: the latest)
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// List the saved runs
    #[arg(long, conflicts_with_all = ["run", "baseline", "gate", "json"])]
    pub list: bool,

    #[command(flatten)]
    pub results: ResultArgs,
}

/// A failure that still counts as a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Any.
    All,
    /// An exit with this status.
    Code(i32),
}

/// `all-non-zero`, as hyperfine has it, or a status.
fn exit_code(text: &str) -> Result<Failure, String> {
    match text.parse::<u8>() {
        _ if text == "all-non-zero" => Ok(Failure::All),
        Ok(code @ 1..) => Ok(Failure::Code(code.into())),
        _ => Err("expected exit codes from 1 to 255 with commas between them, or all-non-zero".to_owned()),
    }
}

/// How much of the terminal is used, as hyperfine names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Style {
    /// Colours and progress on a terminal
    Auto,
    /// Neither colours nor progress
    Basic,
    /// Both; colours also into a pipe
    Full,
    /// Progress, no colours
    Nocolor,
    /// Colours, no progress
    Color,
    /// No screen at all: exports and the exit code alone
    None,
}

impl Style {
    /// When it uses colour.
    pub const fn color(self) -> Color {
        match self {
            Style::Auto | Style::None => Color::Auto,
            Style::Basic | Style::Nocolor => Color::Never,
            Style::Full | Style::Color => Color::Always,
        }
    }

    /// Whether the results are shown.
    pub const fn shows_screen(self) -> bool {
        !matches!(self, Style::None)
    }

    /// Whether it shows progress, on a terminal.
    pub const fn shows_progress(self) -> bool {
        matches!(self, Style::Auto | Style::Full | Style::Nocolor)
    }
}

/// hyperfine's orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// The order of the commands
    Auto,
    /// The same
    Command,
    /// By mean time
    MeanTime,
}

/// The unit of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimeUnit {
    /// Millionths of a second.
    Microsecond,
    /// Thousandths of a second.
    Millisecond,
    /// Seconds.
    Second,
}

/// A time in seconds without a unit, as hyperfine takes it.
fn seconds(text: &str) -> Result<Duration, String> {
    let time = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| "expected a number of seconds such as 3 or 0.5".to_owned())
}

/// A time on the command line.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).ok_or_else(|| "expected a time such as 60s, 200ms or 5m".to_owned())
}
