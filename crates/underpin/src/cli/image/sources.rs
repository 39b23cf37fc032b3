//! The arguments of `underpin image sources`.

use crate::cli::DisplayArgs;
use clap::Args;
use std::path::PathBuf;

/// Write the sources of an image's packages into a folder, as licences such as the GPL ask of whoever hands the image on.
///
/// For every package that was built from a recipe these are Debian's source package (the .dsc and the files that it names) or the
/// recipe's own folder, and the recipe with the appends and patches that were in effect, each with the checksum that image.json
/// has for it. licences.txt lists the licence of each package. Sources are taken from underpin's cache, or fetched and checked as
/// `image build` does it. What has no sources there is listed with the reason: programs given by path, Debian's kernel,
/// packages of this machine.
///
/// The folder gets its name when everything is in it; one that has sources of an image is replaced, any other is left alone.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    underpin image sources bb -o bb-sources\n  \
    underpin image sources app --layer my-layer -o app-sources\n  \
    underpin image sources bb -o bb-sources --offline --json\n\
    \n\
    Next: image.spdx.json in the image's folder lists packages, licences and checksums.")]
pub struct ImageSourcesArgs {
    /// The folder of the image
    #[arg(value_name = "DIR")]
    pub image: PathBuf,

    /// Where the sources are written
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,

    /// A layer that the image was built with (may be repeated)
    #[arg(long, value_name = "DIR")]
    pub layer: Vec<PathBuf>,

    /// Fail if something would have to be fetched
    #[arg(long)]
    pub offline: bool,

    #[command(flatten)]
    pub display: DisplayArgs,
}
