//! The plan of `underpin check` on a folder or a wheel.

use crate::cli::CheckArgs;
use crate::packaged::Set;
use anyhow::bail;
use std::path::PathBuf;

/// What to judge by the tags of wheels.
#[derive(Debug)]
pub struct TagsPlan {
    /// The folder or wheel.
    pub path: PathBuf,
    /// What is in it.
    pub set: Set,
    /// JSON instead of a screen.
    pub json: bool,
    /// How detailed the screen is.
    pub verbosity: u8,
}

impl TagsPlan {
    /// # Errors
    /// If the set cannot be read, or an option applies only to one program.
    pub fn new(args: CheckArgs) -> anyhow::Result<TagsPlan> {
        let given = [
            ("--on", !args.on.is_empty()),
            ("--max-glibc", args.max_glibc.is_some()),
            ("--expect", args.expect.is_some()),
            ("--with", !args.with.is_empty()),
        ];
        if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
            bail!(
                "{option} is about one program, and {} is a folder or a wheel; name a program in it, with `--with FOLDER` \
                 for its libraries",
                args.program.display()
            );
        }
        let set = Set::read(&args.program)?;
        Ok(TagsPlan { path: args.program, set, json: args.display.json, verbosity: args.display.verbose })
    }
}
