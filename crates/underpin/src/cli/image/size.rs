//! The arguments of `underpin image size`.

use crate::cli::DisplayArgs;
use clap::Args;
use std::path::PathBuf;

/// Show how many bytes of an image each package is, and how two images differ.
///
/// Listed are the kernel and its modules, the C library, every package that was built from a recipe, the packages of this machine
/// that files were taken from (as its dpkg database had it when the image was built), programs given by path with what they
/// need, and underpin's own; the largest first. Sizes are those of the files' content; the files that are handed on, with
/// what archives and file systems add, are listed with their sizes as they are and with gzip.
///
/// `--against` puts another image beside it: the difference of each package, what only one of them has, and the ratios.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    underpin image size app-image\n  \
    underpin image size musl --against glibc   where the difference is\n  \
    underpin image size app-image --json       for a pipeline\n\
    \n\
    Next: `underpin image build --help` says what goes into an image.")]
pub struct ImageSizeArgs {
    /// The folder of the image
    #[arg(value_name = "DIR")]
    pub image: PathBuf,

    /// The folder of an image to compare it with
    #[arg(long, value_name = "DIR")]
    pub against: Option<PathBuf>,

    #[command(flatten)]
    pub display: DisplayArgs,
}
