//! Recipes: where the sources of a package are from, how it is built, and what it puts into an image.
//!
//! A recipe is `NAME.toml` in a layer; `NAME.append.toml` or `NAME_GLOB.append.toml` of any layer lays changes over it, each with
//! a cause and a sentence. [`crate::layer::Layers::resolve`] makes a [`Resolved`] of all of them, in which every value says
//! which file and line gave it ([`Given`]). Reading and resolving touch no network and run nothing.

mod append;
mod fields;
mod read;

pub use append::{Append, Cause, Change, Evidence, matches};
pub use fields::{Fields, Value, parse};
pub use read::{ImageRecipe, Recipe};

use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where a value was written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Origin {
    /// The layer.
    pub layer: String,
    /// The file, as messages name it.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// A value and who gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given<T> {
    /// The value.
    pub value: T,
    /// Where it was written.
    pub origin: Origin,
}

impl<T> Given<T> {
    /// Another value from the same place.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Given<U> {
        Given { value: change(self.value), origin: self.origin }
    }
}

/// How a package is configured and built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum System {
    /// A `configure`, Autoconf's or another, then make.
    Autoconf,
    /// CMake.
    Cmake,
    /// A makefile.
    Make,
    /// A makefile with the kernel's configuration language.
    Kconfig,
    /// Cargo.
    Cargo,
    /// meson.
    Meson,
    /// Nothing is built.
    None,
}

impl System {
    /// All of them.
    pub const ALL: [System; 7] =
        [System::Autoconf, System::Cmake, System::Make, System::Kconfig, System::Cargo, System::Meson, System::None];

    /// As a recipe names it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            System::Autoconf => "autoconf",
            System::Cmake => "cmake",
            System::Make => "make",
            System::Kconfig => "kconfig",
            System::Cargo => "cargo",
            System::Meson => "meson",
            System::None => "none",
        }
    }
}

impl FromStr for System {
    type Err = String;

    fn from_str(text: &str) -> Result<System, String> {
        System::ALL.into_iter().find(|system| system.name() == text).ok_or_else(|| {
            let names: Vec<_> = System::ALL.iter().map(|system| system.name()).collect();
            format!("unknown build system `{text}`: expected one of {}", names.join(", "))
        })
    }
}

/// Where the sources are from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A source package of Debian's, by the SHA-256 of its `.dsc`, which has those of its other files.
    Debian {
        /// The source package.
        name: String,
        /// Of the `.dsc`.
        sha256: String,
    },
    /// A folder: inside the layer, or beside it if the layer is a folder of this machine.
    Folder(PathBuf),
    /// A published crate; Cargo checks it against the registry's index.
    Crate(String),
    /// A binary package of Debian's, for the image's processor.
    Deb {
        /// The package.
        name: String,
        /// Of the package, for each processor as Debian names it.
        sha256: BTreeMap<String, String>,
    },
}

impl Source {
    /// In a few words.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Source::Debian { name, .. } => format!("Debian's source package {name}"),
            Source::Folder(path) => format!("the folder {}", path.display()),
            Source::Crate(name) => format!("the crate {name}"),
            Source::Deb { name, .. } => format!("Debian's package {name}"),
        }
    }
}

/// A patch of an append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The file, as messages name it.
    pub file: PathBuf,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl Patch {
    /// SHA-256 of its content, in hexadecimal digits.
    #[must_use]
    pub fn sha256(&self) -> String {
        use sha2::Digest;
        crate::store::hex(&sha2::Sha256::digest(&self.bytes))
    }
}

/// A recipe with everything that the layers lay over it; what both have is the recipe's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The recipe, with the values that appends set or added.
    pub recipe: Recipe,
    /// Files written into the sources, with their content.
    pub files: BTreeMap<String, Given<Vec<u8>>>,
    /// Applied to the sources, in this order.
    pub patches: Vec<Given<Patch>>,
    /// The appends that changed it, in their order.
    pub appends: Vec<Append>,
}

impl Deref for Resolved {
    type Target = Recipe;

    fn deref(&self) -> &Recipe {
        &self.recipe
    }
}

/// Why a recipe cannot be used. Each is one sentence with file and line.
#[derive(Debug, thiserror::Error)]
pub enum RecipeError {
    /// Something in a file.
    #[error("{}:{line}: {reason}", file.display())]
    At {
        /// The file.
        file: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong, and what is expected.
        reason: String,
    },
    /// A file of a layer cannot be read.
    #[error("{}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// No recipe of that name.
    #[error("unknown recipe or image `{name}`{}: `underpin image layer show` lists them", by.as_ref().map(|by| format!(" (needed at {by})")).unwrap_or_default())]
    Unknown {
        /// The name.
        name: String,
        /// Where it is named.
        by: Option<Origin>,
    },
    /// Packages that need each other.
    #[error("{at}: packages need each other: {}", names.join(" -> "))]
    Cycle {
        /// The cycle, with its first package at both ends.
        names: Vec<String>,
        /// Where the cycle is closed.
        at: Origin,
    },
    /// Two appends set one value.
    #[error("{second}: {key} of {recipe} is set at {first} too: remove one of the two")]
    Twice {
        /// What.
        key: String,
        /// Of which recipe.
        recipe: String,
        /// The one that comes first.
        first: Box<Origin>,
        /// The other.
        second: Box<Origin>,
    },
}

impl RecipeError {
    /// At a place of a file.
    pub(crate) fn at(file: &Path, line: usize, reason: impl Into<String>) -> RecipeError {
        RecipeError::At { file: file.to_owned(), line, reason: reason.into() }
    }

    /// At a value.
    pub(crate) fn of(origin: &Origin, reason: impl Into<String>) -> RecipeError {
        RecipeError::at(&origin.file, origin.line, reason)
    }
}
