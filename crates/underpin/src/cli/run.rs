//! `underpin run`.

use clap::Args;
use std::ffi::OsString;
use underpin_malloc::Malloc;

/// Run a command on another allocator, and make sure that it is in effect.
///
/// underpin becomes the command: same process, terminal, signals and exit status. jemalloc, mimalloc and snmalloc are
/// included, so nothing needs to be installed. The process is checked when its program begins; if the allocator is not in
/// effect, it is ended at once, before it has done anything. Its children run on their usual allocator, unless --follow is
/// given.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: the command's own; 126 and 127 if it cannot be executed, 125 if the\n\
    allocator cannot serve it.\n\
    \n\
    Examples:\n  \
    underpin run --malloc mimalloc -- ruby app.rb\n  \
    underpin run --malloc jemalloc:narenas:2 --report -- ./server\n  \
    underpin run --malloc system:arena_max=2 -- ./server     glibc's own, tuned\n  \
    underpin run --malloc /usr/lib/libtcmalloc.so.4 -- ./app\n  \
    underpin run --list                     which allocators are included\n\
    \n\
    Next: `underpin bench --malloc system,mimalloc -- CMD` measures what it gains.")]
pub struct RunArgs {
    /// The allocator: jemalloc, mimalloc, snmalloc, system (the C library's), or a shared object; with settings after a
    /// colon (NAME:KEY=VALUE,KEY=VALUE)
    #[arg(long, value_name = "NAME", required_unless_present = "list")]
    pub malloc: Option<Malloc>,

    /// Print the allocator's statistics to standard error when the process exits normally
    #[arg(long)]
    pub report: bool,

    /// Pass the allocator on to every child too
    #[arg(long)]
    pub follow: bool,

    /// Say which allocator serves the command, with its version and settings
    #[arg(short, long)]
    pub verbose: bool,

    /// List the included allocators
    #[arg(long, conflicts_with_all = ["malloc", "report", "follow", "command"])]
    pub list: bool,

    /// Print the list as one JSON document (schema underpin.run/1)
    #[arg(long, requires = "list", conflicts_with = "malloc")]
    pub json: bool,

    /// The command and its arguments
    #[arg(required_unless_present = "list", trailing_var_arg = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}
