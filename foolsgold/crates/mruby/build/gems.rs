//! The parts of mruby (gems) that a server needs.
//!
//! None of them keeps state outside the interpreter or touches files, sockets or the process: that is what makes a copy
//! of the heap a copy of everything. All are under the MIT licence. The order is that of their needs.

use crate::{Failure, Place, files};
use std::path::PathBuf;

const NAMES: &[&str] = &[
    "metaprog",
    "eval",
    "error",
    "catch",
    "class-ext",
    "compar-ext",
    "object-ext",
    "kernel-ext",
    "symbol-ext",
    "string-ext",
    "array-ext",
    "enum-ext",
    "hash-ext",
    "numeric-ext",
    "range-ext",
    "proc-ext",
    "method",
    "binding-core",
    "binding",
    "proc-binding",
    "fiber",
    "enumerator",
    "enum-lazy",
    "enum-chain",
    "math",
    "random",
    "sprintf",
    "struct",
    "data",
    "set",
    "pack",
    "time",
    "toplevel-ext",
    "objectspace",
];

/// One part.
pub struct Gem {
    /// As in the names of C functions: `string_ext`.
    pub function: String,
    /// Its C files.
    pub c: Vec<PathBuf>,
    /// Its Ruby files.
    pub ruby: Vec<PathBuf>,
    /// Its headers, where it has some.
    pub include: Option<PathBuf>,
}

/// All parts.
pub fn all(place: &Place) -> Result<Vec<Gem>, Failure> {
    NAMES
        .iter()
        .map(|name| {
            let folder = place.mruby.join("mrbgems").join(format!("mruby-{name}"));
            let (c, ruby) = (files(&folder.join("src"), "c"), files(&folder.join("mrblib"), "rb"));
            if c.is_empty() && ruby.is_empty() {
                return Err(Failure(format!("{}: no sources", folder.display())));
            }
            let function = format!("mruby_{}", name.replace('-', "_"));
            let include = Some(folder.join("include")).filter(|folder| folder.is_dir());
            Ok(Gem { function, c, ruby, include })
        })
        .collect()
}
