//! The loader that PT_INTERP names: which kind it is, which version, and what is compiled into it.
//!
//! All of it is read from the loader's own bytes; nothing is run.

use bstr::BString;
use serde::Serialize;
use std::fmt;

/// A version of a C library, such as 2.36 or 1.2.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LibcVersion {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
    /// Third number, 0 where there is none.
    pub patch: u32,
}

impl fmt::Display for LibcVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        if self.patch > 0 { write!(f, ".{}", self.patch) } else { Ok(()) }
    }
}

impl Serialize for LibcVersion {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Whose rules apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoaderKind {
    /// GNU C library, ld.so.
    Glibc,
    /// musl: the loader is libc.
    Musl,
    /// No loader: the file is static.
    None,
}

/// The loader and what is compiled into it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loader {
    /// Whose rules apply.
    pub kind: LoaderKind,
    /// The path in PT_INTERP; for a library without one, the host's usual loader for its machine.
    pub path: BString,
    /// Its version, where its bytes tell.
    pub version: Option<LibcVersion>,
    /// Whether the path was guessed from the machine because the file has no PT_INTERP.
    pub assumed: bool,
    /// Directories compiled in, each with a trailing slash.
    pub system_directories: Vec<BString>,
    /// The value of `$LIB`.
    pub lib_token: BString,
    /// The value of `$PLATFORM`.
    pub platform: Option<BString>,
    /// Hardware-capability subdirectories in search order, each with a trailing slash; the plain directory, empty,
    /// last.
    pub subdirectories: Vec<BString>,
    /// Path of the cache (glibc) or of the path file (musl).
    pub configuration: Option<BString>,
}
