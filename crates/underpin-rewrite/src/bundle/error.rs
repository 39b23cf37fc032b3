//! Why a program cannot be bundled: each reason is a sentence that says what to do.

use crate::bytes::Refusal;
use bstr::BString;
use std::io;
use std::path::PathBuf;
use underpin_resolve::ResolveError;

/// Why a program cannot be bundled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// It cannot be resolved.
    #[error("{0}")]
    Resolve(#[from] ResolveError),
    /// It names no loader to include.
    #[error("{0} names no loader: a static program or a library; a static program runs anywhere as it is")]
    Static(BString),
    /// There is no launcher for its machine.
    #[error(
        "{path}: a program for {machine}, for which this underpin has no launcher; bundle it with an underpin built for \
         (or with a compiler for) that machine"
    )]
    Machine {
        /// The program.
        path: BString,
        /// Its machine.
        machine: String,
    },
    /// The embedded launcher cannot be used.
    #[error("the launcher is {0}; this build of underpin is broken")]
    Launcher(String),
    /// The closure is not complete.
    #[error(
        "{program} does not start here: {name} is not found (asked for by {by}); `underpin tree {program}` shows why"
    )]
    Missing {
        /// The program.
        program: BString,
        /// What is missing.
        name: BString,
        /// The object that needs it.
        by: BString,
    },
    /// Two objects would need the same name.
    #[error("{one} and {other} are both loaded and both called {name}; a bundle has one place for that name")]
    SameName {
        /// The name.
        name: BString,
        /// One file.
        one: BString,
        /// The other.
        other: BString,
    },
    /// The program's headers are invalid.
    #[error("the program cannot carry a launcher: {0}")]
    Program(String),
    /// A library's strings cannot be changed.
    #[error("{path}: its search path and library names cannot be changed for a bundle: {refusal}")]
    Library {
        /// The library.
        path: BString,
        /// Why not.
        refusal: Refusal,
    },
    /// An object that the file form cannot hold.
    #[error("{path} {reason}; a bundle as a directory can hold it: leave --file out")]
    NeedsDirectory {
        /// The object.
        path: BString,
        /// Why.
        reason: &'static str,
    },
    /// A file to include is not there.
    #[error("--include {0}: no such file, and no library of that name where the loader searches")]
    NotIncluded(BString),
    /// A locale cannot be included.
    #[error("--locale {name}: {reason}")]
    NoLocale {
        /// Its name.
        name: BString,
        /// Why not.
        reason: String,
    },
    /// A pattern excludes something that is needed.
    #[error("--exclude {pattern} leaves {name} out, without which the program does not start")]
    Excluded {
        /// The pattern.
        pattern: String,
        /// The object.
        name: BString,
    },
    /// The target exists.
    #[error("{} exists; choose another place, or pass --force to replace it", .0.display())]
    Exists(PathBuf),
    /// The target exists and is not a bundle.
    #[error("{} exists and was not made by `underpin bundle`; choose another place", .0.display())]
    NoBundle(PathBuf),
    /// A file cannot be read.
    #[error("cannot read {path}: {error}")]
    Read {
        /// The file.
        path: BString,
        /// The error's name.
        error: String,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {error}; choose another place with -o", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The loader maps something other than what was bundled.
    #[error("the bundle's own loader rejects it, so it was removed: {0}")]
    Judge(String),
    /// The loader did not say what it maps.
    #[error("the bundle's own loader gives no answer, so the bundle was removed: {0}")]
    NoAnswer(String),
}

impl BundleError {
    pub(super) fn program(what: &str) -> BundleError {
        BundleError::Program(what.to_owned())
    }
}
