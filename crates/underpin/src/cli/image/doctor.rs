//! `underpin image doctor`.

use crate::cli::DisplayArgs;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// Show what the programs of an image need that is not in it, and what is in it without need.
///
/// Looked for are: what the configuration starts, interpreters of scripts, the loader, every library and version of a symbol,
/// preloads, the processor; and, if the programs use them, roots of certificates, zones of time, a folder for temporary files,
/// the user's account, modules of the name service, charsets and locales. Each finding names the byte of the file that shows the
/// need, and what to do. What programs open by names that they compute (plugins, modules of Python) is not looked for.
/// Exit code 1 with findings; what is there without need is none.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    underpin image doctor app.tar           an OCI or Docker archive\n  \
    underpin image doctor layout/           a folder in OCI's layout\n  \
    underpin image doctor rootfs.tar.gz --program /usr/bin/app\n  \
    underpin image doctor --json app.tar    for a pipeline\n\
    \n\
    Next: `underpin tree --root DIR PROG` shows every path that the loader tries.")]
pub struct ImageDoctorArgs {
    /// The image: an OCI layout or archive, a Docker archive, a tar or a folder
    #[arg(value_name = "FILE|DIR")]
    pub image: PathBuf,

    /// Look at this program instead of what the configuration starts (may be repeated)
    #[arg(long, value_name = "PATH")]
    pub program: Vec<OsString>,

    #[command(flatten)]
    pub display: DisplayArgs,
}
