//! Names of methods, variables and constants: Ruby's symbols.

use crate::error::{Outcome, Raise};
use crate::ruby::Ruby;
use crate::sys;
use crate::value::Value;

/// A name as the interpreter numbers it. Keep those that are used often: the number stays valid, even across a snapshot
/// taken later. It belongs to its interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sym(pub(crate) u32);

impl Sym {
    /// The name as a Symbol.
    #[must_use]
    pub fn value<'r>(self) -> Value<'r> {
        Value::from_word((self.0 as usize) << 2 | 2)
    }
}

/// Anything that can be used as a name: a text or a [`Sym`].
pub trait Name {
    /// Its number.
    ///
    /// # Errors
    /// If a new name needs memory and there is none.
    fn symbol(self, ruby: Ruby<'_>) -> Outcome<'_, Sym>;
}

impl Name for Sym {
    fn symbol(self, _: Ruby<'_>) -> Outcome<'_, Sym> {
        Ok(self)
    }
}

impl Name for &str {
    fn symbol(self, ruby: Ruby<'_>) -> Outcome<'_, Sym> {
        ruby.intern(self)
    }
}

impl<'r> Ruby<'r> {
    /// A name's number.
    ///
    /// # Errors
    /// `NoMemoryError`, or `ArgumentError` for a name of more than 65,534 bytes.
    pub fn intern(self, name: &str) -> Outcome<'r, Sym> {
        // SAFETY: looks up bytes that are valid for the call.
        let known = unsafe { sys::fg_intern_check(self.fg(), name.as_ptr().cast(), name.len()) };
        if known != 0 {
            return Ok(Sym(known));
        }
        let value = self.operate(sys::Operation::Intern, |what| {
            what.bytes = name.as_ptr().cast();
            what.count = name.len();
        })?;
        self.symbol_of(value).ok_or_else(|| Raise::new("TypeError", "a name is not a symbol"))
    }

    /// Whether code or data of this interpreter mentions the name: otherwise no variable of that name is ever read.
    #[must_use]
    pub fn is_interned(self, name: &str) -> bool {
        // SAFETY: looks up bytes that are valid for the call.
        unsafe { sys::fg_intern_check(self.fg(), name.as_ptr().cast(), name.len()) != 0 }
    }

    /// The name of a Symbol.
    #[must_use]
    pub fn symbol_of(self, value: Value<'r>) -> Option<Sym> {
        let word = value.word();
        (word & 3 == 2).then_some(Sym((word >> 2) as u32))
    }

    /// The text of a name.
    #[must_use]
    pub fn sym_name(self, name: Sym) -> String {
        let mut length = 0;
        // SAFETY: the text stays in place until the next call, and is copied here.
        unsafe {
            let text = sys::fg_symbol(self.fg(), name.0, &raw mut length);
            if text.is_null() {
                return String::new();
            }
            String::from_utf8_lossy(std::slice::from_raw_parts(text.cast(), length)).into_owned()
        }
    }
}
