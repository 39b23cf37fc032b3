//! `underpin bind` and `underpin unbind`.

use super::DisplayArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Write absolute library paths into programs, so that their start searches for nothing.
///
/// Each DT_NEEDED, and the version records with it, becomes the absolute path of the object that the loader
/// takes today. Files are changed in place, without another segment if they have room, verified by the real loader
/// before they replace the old ones, and can be restored byte for byte by `underpin unbind`. A folder stands
/// for every program and library below it. No program is run.
#[derive(Debug, Args)]
#[command(after_help = "Policy file (--policy; `underpin bind --print-policy` prints one):\n  \
    TOML; each key may be left out, and these are the defaults:\n  \
    exclude = []            names, sonames or paths not to bind, such as \"libmpi*\"\n  \
    only = []               if not empty, nothing else is bound\n  \
    glibc = true            bind libc.so.6 and its companions too\n  \
    narrow_search = true    narrow search paths, for names opened while running\n  \
    shape = \"per_object\"    or \"flatten\", \"farm\", \"relative\"\n  \
    strategy                \"dead_strings\", \"page_padding\", \"data_tail\" or\n                          \
    \"new_segment\"\n  \
    farm_directory          where folders of links are made\n  \
    [built_in]              lists of what is not bound; false turns one off\n  \
    drivers = true          GL, EGL, Vulkan, CUDA, OpenCL, VA-API, VDPAU\n  \
    mpi = true              MPI libraries, which a site swaps for its own\n  \
    stubs = true            libraries in folders named stubs\n  \
    hwcaps = true           libraries of which the processor chooses one\n  \
    library_path = true     what only LD_LIBRARY_PATH leads to\n\
    \n\
    A name that is opened while the program runs, or is not bound, is still searched\n\
    for. DT_RPATH and DT_RUNPATH are therefore reduced to the folders that hold\n\
    libraries and, if those are several, to one folder of links (in .underpin, in\n\
    the folder that was named), which answers every name as the list did. A library\n\
    that is installed into one of the old folders later is not seen until bind runs\n\
    again; verify reports it.\n\
    \n\
    --fuse takes programs of glibc for x86-64 or aarch64, and those in a folder, where\n\
    programs with nearly the same libraries share one merged file. What glibc has,\n\
    drivers, and libraries that ask who they are stay as they are, and so do all files\n\
    but the program. The merged file is in .underpin beside the program. When a library\n\
    is updated the program goes on with the old one until `bind --fuse` runs again, which\n\
    leaves programs alone of which nothing changed; verify reports it.\n\
    LD_PRELOAD no longer replaces what one merged library calls in another.\n\
    --modules is for programs that open modules at each start: the modules stay files of\n\
    their own, and the libraries that only they need are merged and loaded with the\n\
    program, unless one would answer a reference otherwise there.\n\
    \n\
    Exit codes: 0 fine; 1 one file of several was refused; 2 the only file was\n\
    refused, wrong use, or an error.\n\
    \n\
    Examples:\n  \
    underpin bind --dry-run ./app           the plan, before a byte is changed\n  \
    underpin bind /opt/tree                 every program and library of a prefix\n  \
    underpin bind --flatten ./app           the closure, in the program alone\n  \
    underpin bind --relative /opt/tree      so that the tree may be moved\n  \
    underpin bind --exclude 'libmpi*' /opt/tree\n  \
    underpin bind --reserve ./app           what to give the linker next time\n  \
    underpin bind --fuse ./app              its libraries as one file\n  \
    underpin bind --fuse --modules /usr/lib/app/plugins ./app\n                                          \
    also what its modules need\n  \
    underpin bind --fuse --refresh /opt     what is fused, after an update\n\
    \n\
    Next: `underpin verify PATH` proves that the same objects are loaded, now and\n\
    later; `underpin unbind PATH` restores every byte.")]
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

    /// Merge the libraries of a program into one file beside it, for a faster start; from ten libraries on
    #[arg(long, group = "shape", conflicts_with_all = ["place", "reserve"])]
    pub fuse: bool,

    /// With --fuse: QEMU's user emulator for programs of another processor, such as qemu-aarch64; by default the one that
    /// binfmt_misc names
    #[arg(long, value_name = "QEMU", requires = "fuse")]
    pub emulator: Option<PathBuf>,

    /// With --fuse: only programs that are fused, and with their libraries as they are now; the others are left alone
    #[arg(long, requires = "fuse")]
    pub refresh: bool,

    /// With --fuse and one program: also merge the libraries that these modules need, files or folders, and load them at each
    /// start (may be repeated)
    #[arg(long, value_name = "PATH", requires = "fuse")]
    pub modules: Vec<PathBuf>,

    /// Print what to give the linker so that a later bind fits without a new segment
    #[arg(long, conflicts_with_all = ["json", "dry_run"])]
    pub reserve: bool,

    /// Where new names are put; by default the cheapest place of each file
    #[arg(long, value_enum, default_value_t = Place::Cheapest, value_name = "PLACE")]
    pub place: Place,

    /// Bind only matching libraries: name, soname or path (may be repeated)
    #[arg(long, value_name = "PATTERN")]
    pub only: Vec<String>,

    /// Do not bind matching libraries: name, soname or path (may be repeated)
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,

    /// A TOML file with rules of what is bound; its form is shown below
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,

    /// Print a policy file with every key and its default
    #[arg(long)]
    pub print_policy: bool,

    /// Keep the modification times of the files
    #[arg(long)]
    pub keep_times: bool,

    /// Rewrite files that have further hard links; the other names keep the old file
    #[arg(long)]
    pub break_hard_links: bool,

    #[command(flatten)]
    pub display: DisplayArgs,
}

/// Where new names are put in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Place {
    /// The cheapest at load
    Cheapest,
    /// Bytes of .dynstr that nothing uses
    DeadStrings,
    /// The padding after a read-only segment
    PagePadding,
    /// After the last writable segment
    DataTail,
    /// A new read-only segment
    NewSegment,
}

/// Restore every byte that `bind` changed.
///
/// What is needed for it is stored in the bound files themselves. A file that another tool has changed since is left as
/// it is, and reported.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 fine; 1 a bound file cannot be restored; 2 wrong use or an error.\n\
    \n\
    Examples:\n  \
    underpin unbind ./app\n  \
    underpin unbind /opt/tree               every bound file below it\n  \
    underpin unbind --dry-run /opt/tree     which files are bound and restorable\n\
    \n\
    Next: `underpin tree PROG` shows what it loads now.")]
pub struct UnbindArgs {
    /// Bound files, or folders
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    /// List the files and change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Keep the modification times of the files
    #[arg(long)]
    pub keep_times: bool,

    /// Rewrite files that have further hard links; the other names keep the bound file
    #[arg(long)]
    pub break_hard_links: bool,

    #[command(flatten)]
    pub display: DisplayArgs,
}
