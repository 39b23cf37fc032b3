//! The Ruby library embedded in every foolsgold at build time.

use bytes::Bytes;
use foolsgold_core::files::{Bytecode, Content, FileError, Files, VPath};

/// The root of everything: the library and the demonstration.
const ROOT: &str = "/foolsgold";

/// Where applications see the library: the last entry of `$LOAD_PATH`.
pub const BUILTIN: &str = "/foolsgold/lib";

/// The rackup file of the demonstration.
pub const DEMONSTRATION: &str = "/foolsgold/demo/config.ru";

/// One embedded file: its name below `/foolsgold`, its source, and its bytecode if it is Ruby.
pub(crate) type Embedded = (&'static str, &'static [u8], Option<&'static [u8]>);

// `LIBRARY`, sorted by name: build.rs writes it from `ruby/lib`, `ruby/stdlib` and `ruby/demo`.
include!(concat!(env!("OUT_DIR"), "/library.rs"));

/// The built-in library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Builtin;

impl Builtin {
    /// Names below `/foolsgold`, sorted.
    pub fn names() -> impl Iterator<Item = &'static str> {
        LIBRARY.iter().map(|(name, ..)| *name)
    }

    /// The compiled form of a Ruby file, by its name below `/foolsgold`.
    pub(crate) fn bytecode(name: &str) -> Option<&'static [u8]> {
        Builtin::find(&VPath::new(&format!("{ROOT}/{name}"))?)?.2
    }

    fn find(path: &VPath) -> Option<&'static Embedded> {
        let name = path.as_str().strip_prefix(ROOT)?.strip_prefix('/')?;
        LIBRARY.binary_search_by(|(one, ..)| (*one).cmp(name)).ok().map(|at| &LIBRARY[at])
    }
}

impl Files for Builtin {
    fn read(&self, path: &VPath) -> Result<Option<Content>, FileError> {
        Ok(Builtin::find(path).map(|(_, source, bytecode)| match bytecode {
            Some(bytecode) => {
                let source = Some(Bytes::from_static(source));
                Content::Compiled { bytecode: Bytecode::Constant(bytecode), source }
            }
            None => Content::Plain(Bytes::from_static(source)),
        }))
    }

    fn identity(&self, path: &VPath) -> Option<VPath> {
        Builtin::find(path).map(|_| path.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_file_is_found_under_its_name() {
        assert!(LIBRARY.is_sorted_by(|(a, ..), (b, ..)| a < b));
        for name in Builtin::names() {
            let path = VPath::new(&format!("{ROOT}/{name}")).unwrap();
            assert!(Builtin.read(&path).unwrap().is_some(), "{name}");
            assert_eq!(Builtin.identity(&path), Some(path));
        }
    }

    #[test]
    fn what_was_not_embedded_is_not_there() {
        for path in ["/foolsgold/lib/none.rb", "/foolsgold/lib", "/foolsgold/library.rb", "/etc/passwd"] {
            assert_eq!(Builtin.read(&VPath::new(path).unwrap()).unwrap(), None, "{path}");
        }
    }
}
