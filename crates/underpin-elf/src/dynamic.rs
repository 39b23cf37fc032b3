//! The dynamic section: the entries that a loader acts on.

use crate::Vaddr;
use bstr::BString;
use serde::Serialize;

/// The dynamic section, strings resolved. Order is file order where it matters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Dynamic {
    /// DT_NEEDED, in file order, duplicates kept.
    pub needed: Vec<BString>,
    /// DT_SONAME.
    pub soname: Option<BString>,
    /// DT_RPATH (the last one, as glibc's `elf_get_dynamic_info` keeps it).
    pub rpath: Option<BString>,
    /// DT_RUNPATH.
    pub runpath: Option<BString>,
    /// DT_FILTER, in file order.
    pub filters: Vec<BString>,
    /// DT_AUXILIARY, in file order.
    pub auxiliaries: Vec<BString>,
    /// DT_NEEDED, DT_FILTER and DT_AUXILIARY together in file order: `(tag, string)`; glibc walks them in one pass.
    pub dependencies: Vec<(DependencyTag, BString)>,
    /// DT_AUDIT.
    pub audit: Option<BString>,
    /// DT_DEPAUDIT.
    pub depaudit: Option<BString>,
    /// DT_FLAGS and DT_FLAGS_1, decoded.
    pub flags: DynamicFlags,
    /// DT_STRTAB and DT_STRSZ.
    pub string_table: Option<(Vaddr, u64)>,
    /// DT_SYMTAB.
    pub symbol_table: Option<Vaddr>,
    /// DT_HASH.
    pub hash: Option<Vaddr>,
    /// DT_GNU_HASH.
    pub gnu_hash: Option<Vaddr>,
    /// DT_VERSYM.
    pub versym: Option<Vaddr>,
    /// DT_VERNEED and DT_VERNEEDNUM.
    pub verneed: Option<(Vaddr, u64)>,
    /// DT_VERDEF and DT_VERDEFNUM.
    pub verdef: Option<(Vaddr, u64)>,
    /// DT_RELR is present.
    pub relr: bool,
    /// DT_TEXTREL or DF_TEXTREL: the loader makes code writable while it relocates.
    pub text_relocations: bool,
    /// DT_BIND_NOW, DF_BIND_NOW or DF_1_NOW: all symbols are bound before the program starts.
    pub bind_now: bool,
    /// DT_DEBUG is present: the linker made this file as a program, not as a library.
    pub debug: bool,
}

/// Which tag names a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DependencyTag {
    /// DT_NEEDED.
    Needed,
    /// DT_FILTER.
    Filter,
    /// DT_AUXILIARY.
    Auxiliary,
}

/// The flags that change what a loader does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DynamicFlags {
    /// Raw DT_FLAGS.
    pub flags: u64,
    /// Raw DT_FLAGS_1.
    pub flags_1: u64,
}

impl DynamicFlags {
    /// DF_1_NODEFLIB: system directories are not searched for this object's dependencies.
    #[must_use]
    pub fn no_default_lib(self) -> bool {
        self.flags_1 & 0x800 != 0
    }

    /// DF_1_INITFIRST: the constructors of this object run before all others.
    #[must_use]
    pub fn initialise_first(self) -> bool {
        self.flags_1 & 0x20 != 0
    }

    /// DF_1_PIE: an executable, not a library.
    #[must_use]
    pub fn pie(self) -> bool {
        self.flags_1 & 0x0800_0000 != 0
    }

    /// DF_BIND_NOW or DF_1_NOW.
    #[must_use]
    pub fn bind_now(self) -> bool {
        self.flags & 0x8 != 0 || self.flags_1 & 0x1 != 0
    }
}
