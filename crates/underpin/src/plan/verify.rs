//! The plan of `underpin verify`.

use super::bind::paths;
use crate::cli::VerifyArgs;
use anyhow::bail;
use std::ffi::OsString;
use std::path::PathBuf;
use underpin_resolve::Environment;

/// What to verify, and how thoroughly.
#[derive(Debug)]
pub struct VerifyPlan {
    /// Files and folders, which exist.
    pub paths: Vec<PathBuf>,
    /// Under which variables the loader resolves.
    pub environment: Environment,
    /// Compare which object provides each symbol.
    pub bindings: bool,
    /// QEMU's user emulator for programs of another processor.
    pub emulator: Option<PathBuf>,
    /// Arguments for a real run to compare calls with; `None` if nothing is run.
    pub check: Option<Vec<OsString>>,
    /// JSON instead of a screen.
    pub json: bool,
    /// How detailed the screen is.
    pub verbosity: u8,
}

impl VerifyPlan {
    /// # Errors
    /// If a file does not exist or is not an ELF file, or `--check` is given with more than one program.
    pub fn new(args: VerifyArgs) -> anyhow::Result<VerifyPlan> {
        let paths = paths(&args.paths, "verify")?;
        if args.check && !matches!(paths.as_slice(), [one] if one.is_file()) {
            bail!("--check runs one program; name it alone");
        }
        Ok(VerifyPlan {
            paths,
            environment: Environment::inherited(),
            bindings: args.bindings,
            emulator: args.emulator.as_deref().map(crate::input::locate).transpose()?,
            check: args.check.then_some(args.arguments),
            json: args.display.json,
            verbosity: args.display.verbose,
        })
    }
}
