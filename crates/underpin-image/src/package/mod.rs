//! Packages: resolved recipes as files, built once for each content of recipe, appends, tools and needed packages.
//!
//! What knows compilers is `underpin-build`; its tools come here as an environment ([`Tools`]). A package has a key, the checksum of
//! everything it is made from, and its result is a folder of that name in the store, which gets its name when all of it is
//! there: a run that is killed leaves a work folder, and the next run begins that package again.

mod build;
mod compiler;
mod key;
mod log;
mod schedule;
mod stage;
mod steps;
mod unpack;

pub use compiler::compiler_recipes;
pub use key::{digest, keys};
pub use schedule::{Event, build_all};
pub use stage::{Rooted, beside, kept_root, root};
pub use unpack::{PatchCheck, check_change};

use crate::recipe::Resolved;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What compiles, and for what.
#[derive(Clone, Debug)]
pub struct Tools {
    /// `musl` or `glibc`.
    pub libc: String,
    /// As the kernel names it.
    pub processor: String,
    /// As Debian names it.
    pub debian: String,
    /// Names and versions of the tools and of what they link in: another text makes other packages.
    pub identity: String,
    /// Variables that lead build systems to the tools (`CC`, `AR`, ...).
    pub environment: Vec<(String, String)>,
    /// What Autoconf calls the target.
    pub triple: String,
    /// Whether programs of the target start on this machine.
    pub starts_here: bool,
    /// Whether libraries are linked into programs.
    pub is_static: bool,
    /// What compiles Rust, if a recipe needs it.
    pub rust: Option<RustTools>,
}

/// What Cargo is told.
#[derive(Clone, Debug, Default)]
pub struct RustTools {
    /// Names and versions, of packages that Cargo builds.
    pub identity: String,
    /// All variables.
    pub environment: Vec<(String, String)>,
}

impl Tools {
    /// A variable.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What was built of a recipe.
#[derive(Clone, Debug)]
pub struct Package {
    /// The recipe with what was laid over it.
    pub recipe: Resolved,
    /// Of everything that it is made from.
    pub key: String,
    /// Its files, as they are installed.
    pub stage: PathBuf,
    /// What it took; of the run that built it.
    pub record: Record,
    /// Whether it was there already.
    pub cached: bool,
}

/// Kept beside the files of a package.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The recipe.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Seconds of each step: `unpack`, `configure`, `build`, `install`.
    pub seconds: Vec<(String, f64)>,
}
