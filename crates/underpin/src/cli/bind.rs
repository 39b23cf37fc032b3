//! `underpin bind` and `underpin unbind`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Write where each library is into the program, so that its start searches for nothing.
///
/// Each DT_NEEDED, and the version records in step with it, becomes the absolute path of the object that the loader
/// takes today. Files are changed in place, without another segment where they have room, verified by the real loader
/// before they take the place of the old ones, and can be put back byte for byte by `underpin unbind`. A folder stands
/// for every program and library below it. No program is run.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    underpin bind --dry-run ./app              the plan, before a byte is changed\n  \
    underpin bind /opt/tree                    every program and library of a prefix\n  \
    underpin bind --flatten ./app              the whole closure, in the program alone\n  \
    underpin bind --relative /opt/tree         so that the tree may be moved\n  \
    underpin bind --exclude 'libmpi*' /opt/tree\n  \
    underpin bind --reserve ./app              what to give the linker next time\n  \
    underpin verify /opt/tree                  proof, now and later\n  \
    underpin unbind /opt/tree                  every byte as it was\n\
    \n\
    Policy file:\n  \
    TOML; each key may be left out, and these are the defaults (underpin bind --print-policy):\n  \
    exclude = []            names, sonames or paths that are not bound, such as \"libmpi*\"\n  \
    only = []               if not empty, nothing else is bound\n  \
    glibc = true            bind libc.so.6 and its companions too\n  \
    narrow_search = true    make search paths narrow for names opened while running\n  \
    shape = \"per_object\"    or \"flatten\", \"farm\", \"relative\"\n  \
    strategy                \"dead_strings\", \"page_padding\", \"data_tail\" or \"new_segment\"\n  \
    farm_directory          where folders of links are made\n  \
    [built_in]              lists of what is not bound; false turns one off\n  \
    drivers = true          GL, EGL, Vulkan, CUDA, OpenCL, VA-API, VDPAU\n  \
    mpi = true              MPI libraries, which a site swaps for its own\n  \
    stubs = true            libraries in folders named stubs\n  \
    hwcaps = true           libraries of which the processor chooses one of several\n  \
    library_path = true     what only LD_LIBRARY_PATH leads to\n\
    \n\
    A name that is opened while the program runs, or is not bound, is still searched for.\n\
    DT_RPATH and DT_RUNPATH are therefore reduced to the folders that hold libraries and, if\n\
    those are several, to one folder of links (in .underpin, in the folder that was named),\n\
    which answers every name as the list did. A library that is installed into one of the\n\
    old folders later is not seen until bind runs again; verify tells of it.\n\
    \n\
    Exit codes: 1 where a file of several was refused, 2 where the only file was or something failed.")]
pub struct BindArgs {
    /// Programs or libraries (a name without a slash is searched for in PATH), or folders
    #[arg(required_unless_present = "print_policy", value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    /// Print the plan and change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Write the whole closure, in load order, into the programs alone; libraries stay as they are
    #[arg(long, group = "shape")]
    pub flatten: bool,

    /// Make a folder of symbolic links beside each program and let it search there
    #[arg(long, group = "shape")]
    pub farm: bool,

    /// Bind by $ORIGIN, so that the whole tree may be moved
    #[arg(long, group = "shape")]
    pub relative: bool,

    /// Print what to give the linker so that a later bind fits without a new segment
    #[arg(long, conflicts_with_all = ["json", "dry_run"])]
    pub reserve: bool,

    /// Where new names are put; the default takes the cheapest place of each file
    #[arg(long, value_enum, default_value_t = Place::Cheapest, value_name = "PLACE")]
    pub place: Place,

    /// Bind only libraries that match: name, soname or path (may be repeated)
    #[arg(long, value_name = "PATTERN")]
    pub only: Vec<String>,

    /// Leave libraries alone that match: name, soname or path (may be repeated)
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,

    /// Rules of what is not bound, as TOML
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,

    /// Print a policy file with every key and its default
    #[arg(long)]
    pub print_policy: bool,

    /// Keep the modification times of the files
    #[arg(long)]
    pub keep_times: bool,

    /// Rewrite files with further hard links; the other names keep the old file
    #[arg(long)]
    pub break_hard_links: bool,

    /// Show more: -v every name of every file
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,

    /// Print one JSON document (schema underpin.bind/1)
    #[arg(long)]
    pub json: bool,
}

/// Where new names are put in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Place {
    /// The cheapest at load
    Cheapest,
    /// Bytes of .dynstr that nothing uses any more
    DeadStrings,
    /// The padding behind a read-only segment
    PagePadding,
    /// Behind the last writable segment
    DataTail,
    /// A new read-only segment
    NewSegment,
}

/// Put back every byte that `underpin bind` changed.
///
/// What is needed for it travels in the bound files themselves. A file that another tool has changed since is left as
/// it is, and named.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    underpin unbind ./app\n  \
    underpin unbind /opt/tree                  every bound file below it\n  \
    underpin unbind --dry-run /opt/tree        which files are bound, and can be put back\n\
    \n\
    Exit codes: 1 where a bound file cannot be put back.")]
pub struct UnbindArgs {
    /// Bound files, or folders
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    /// Name the files and change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Keep the modification times of the files
    #[arg(long)]
    pub keep_times: bool,

    /// Rewrite files with further hard links; the other names keep the bound file
    #[arg(long)]
    pub break_hard_links: bool,

    /// Show more: every file
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,

    /// Print one JSON document (schema underpin.unbind/1)
    #[arg(long)]
    pub json: bool,
}
