//! What the readers of sections, symbols and notes found, as input for the identification of a file.

use crate::deep::symbols::Symbols;
use crate::{Elf, Notes, Section};

/// What identification starts from.
pub(crate) struct Known<'a> {
    pub elf: &'a Elf,
    pub sections: &'a [Section],
    pub symbols: &'a Symbols,
    pub notes: &'a Notes,
    pub has_symtab: bool,
    pub scan_incomplete: bool,
}
