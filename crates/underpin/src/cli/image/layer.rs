//! `underpin image layer`.

use crate::cli::DisplayArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// A C library that recipes are built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LibcName {
    /// musl, linked in.
    Musl,
    /// glibc, with its loader.
    Glibc,
}

impl LibcName {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            LibcName::Musl => "musl",
            LibcName::Glibc => "glibc",
        }
    }
}

/// What to do with layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ImageLayerAction {
    /// List layers and recipes, or one recipe with the file and line that gave each value.
    Show,
    /// Try every append on its sources.
    Check,
}

/// Show recipes and layers, and whether appends still apply.
///
/// `show` without a name lists the layers and their recipes; with one it prints the recipe as the layers leave it for a target, and
/// which file and line gave each value. `check` fetches and unpacks the sources, and tells for each change of an append whether
/// its patches apply (or the hunk that does not, or that the sources have it already) and whether its cause is still seen;
/// with `--rebuild` also whether the package builds without it. Exit code 1 if a patch does not apply, or a change is no longer
/// needed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    underpin image layer show\n  \
    underpin image layer show busybox --libc musl --target qemu-aarch64\n  \
    underpin image layer check --layer my-layer\n  \
    underpin image layer check busybox --rebuild\n\
    \n\
    Next: `underpin image build NAME --libc musl -o DIR`.")]
pub struct ImageLayerArgs {
    /// What to do
    #[arg(value_enum)]
    pub action: ImageLayerAction,

    /// The recipe; all if it is not given
    pub name: Option<String>,

    /// The C library that layers are selected by
    #[arg(long, value_enum, value_name = "NAME", default_value_t = LibcName::Musl)]
    pub libc: LibcName,

    /// The machine that layers are selected by; for this processor if it is not given
    #[arg(long, value_name = "NAME", value_parser = ["qemu-x86_64", "qemu-aarch64", "rpi4", "oci", "oci-x86_64", "oci-aarch64"])]
    pub target: Option<String>,

    /// Use the recipes and appends of this folder too (may be repeated)
    #[arg(long, value_name = "DIR")]
    pub layer: Vec<PathBuf>,

    /// The compiler that layers are selected by
    #[arg(long, value_enum, value_name = "NAME")]
    pub toolchain: Option<crate::cli::CompilerName>,

    /// Build each package without each change, to see whether it is needed
    #[arg(long)]
    pub rebuild: bool,

    /// Fail if something would have to be fetched
    #[arg(long)]
    pub offline: bool,

    #[command(flatten)]
    pub display: DisplayArgs,
}
