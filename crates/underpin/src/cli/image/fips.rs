//! The arguments of `underpin image fips`.

use super::Runner;
use crate::cli::DisplayArgs;
use clap::Args;
use std::path::PathBuf;

/// Show which FIPS provider is in effect in an image, and which cryptography bypasses it.
///
/// Runs the program that the image starts, if it is Ruby, with a probe: which OpenSSL and modules it maps, which provider is active with
/// its version, whether everything has to be the provider's, whether MD5 and ChaCha20 are refused while SHA-256 and AES work. Then it tries
/// what Ruby computes without OpenSSL: Digest::MD5 and others, String#crypt. Files with constants of algorithms are listed with
/// the byte at which these are; OpenSSL's own libraries are left out.
///
/// A configuration and its behaviour can be seen this way. Whether a certificate covers the module cannot: what is known of its version
/// comes from a table in underpin, and is shown with the table's date. Exit code 1 if no provider is in effect, or something bypasses it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    underpin image fips app.tar          in a container, or in a guest\n  \
    underpin image fips app.tar -v       with all files and libraries\n  \
    underpin image fips app.tar --json   for a pipeline\n\
    \n\
    Next: `underpin image build --fips` puts a provider into an image.")]
pub struct ImageFipsArgs {
    /// The image: an OCI layout or archive, or a Docker archive
    #[arg(value_name = "IMAGE")]
    pub image: PathBuf,

    /// What runs the image
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Runner::Auto)]
    pub runner: Runner,

    /// End the probe after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0)]
    pub timeout: f64,

    #[command(flatten)]
    pub display: DisplayArgs,
}
