//! Dynamic symbols and their versions: what a file imports, what it exports, and which version needs that forces.
//!
//! Counts come from DT_GNU_HASH or DT_HASH, as for a loader; sections are only a fallback. Names are copied within a
//! budget that is a small multiple of the file's size.

use crate::Vaddr;
use bstr::BString;
use serde::Serialize;

/// `ST_BIND` of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SymbolBinding {
    /// STB_LOCAL.
    Local,
    /// STB_GLOBAL.
    Global,
    /// STB_WEAK: an import that may stay unresolved.
    Weak,
    /// STB_GNU_UNIQUE.
    Unique,
    /// Any other value.
    Other(u8),
}

impl SymbolBinding {
    /// The binding of a raw `ST_BIND`.
    #[must_use]
    pub fn from_raw(raw: u8) -> SymbolBinding {
        match raw {
            0 => SymbolBinding::Local,
            1 => SymbolBinding::Global,
            2 => SymbolBinding::Weak,
            10 => SymbolBinding::Unique,
            other => SymbolBinding::Other(other),
        }
    }
}

/// `ST_TYPE` of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SymbolKind {
    /// STT_NOTYPE.
    None,
    /// STT_OBJECT: data.
    Object,
    /// STT_FUNC.
    Function,
    /// STT_SECTION.
    Section,
    /// STT_FILE.
    File,
    /// STT_COMMON.
    Common,
    /// STT_TLS: thread-local data.
    Tls,
    /// STT_GNU_IFUNC: a function chosen by the CPU at load time.
    IndirectFunction,
    /// Any other value.
    Other(u8),
}

impl SymbolKind {
    /// The kind of a raw `ST_TYPE`.
    #[must_use]
    pub fn from_raw(raw: u8) -> SymbolKind {
        match raw {
            0 => SymbolKind::None,
            1 => SymbolKind::Object,
            2 => SymbolKind::Function,
            3 => SymbolKind::Section,
            4 => SymbolKind::File,
            5 => SymbolKind::Common,
            6 => SymbolKind::Tls,
            10 => SymbolKind::IndirectFunction,
            other => SymbolKind::Other(other),
        }
    }
}

/// An undefined dynamic symbol, which another object must define.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Import {
    /// Its name.
    pub name: BString,
    /// Weak imports may stay unresolved.
    pub binding: SymbolBinding,
    /// Function, data, thread-local.
    pub kind: SymbolKind,
    /// Index into [`crate::Details::version_needs`], if the import is bound to a version.
    pub version: Option<usize>,
}

/// A defined global symbol: something that other objects may bind to, or that interposes another definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Export {
    /// Its name.
    pub name: BString,
    /// Global, weak or unique.
    pub binding: SymbolBinding,
    /// Function, data, thread-local.
    pub kind: SymbolKind,
    /// `st_value`.
    pub value: Vaddr,
    /// `st_size`, in bytes.
    pub size: u64,
    /// Index into [`crate::Details::version_definitions`].
    pub version: Option<usize>,
    /// Not the default version of its name (`name@VERSION`, one `@`): only old binaries bind to it.
    pub hidden_version: bool,
}

/// Where the list of exports was taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SymbolSource {
    /// The dynamic symbol table, as a loader sees it.
    Dynamic,
    /// `.symtab`, in a file without dynamic symbols (static programs, object files).
    Static,
    /// Neither: a stripped static program, or no symbols at all.
    #[default]
    None,
}

/// One entry of `.gnu.version_r`: a version that the loader requires of a library before the program starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VersionNeed {
    /// `vn_file`: the library that must define it, as named in DT_NEEDED.
    pub file: BString,
    /// `vna_name`, e.g. `GLIBC_2.34`.
    pub version: BString,
    /// VER_FLG_WEAK: the loader warns instead of refusing (`glibc elf/dl-version.c`). Linkers rarely set it.
    pub weak_flag: bool,
    /// The symbols that are bound to this version, in symbol table order: imports, and data that a program copies
    /// out of a library (`stdout`), which it defines itself under the library's version.
    pub symbols: Vec<VersionedSymbol>,
}

/// An imported symbol, as listed under the version that it forces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VersionedSymbol {
    /// Its name.
    pub name: BString,
    /// Weak: the program was written to work without it, yet the loader refuses to start it because of the version
    /// need.
    pub binding: SymbolBinding,
}

/// Why a version is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NeedStrength {
    /// At least one strong import is bound to it.
    Strong,
    /// Only weak imports are: the program could run without them, but the loader refuses unless VER_FLG_WEAK is set.
    WeakOnly,
    /// No symbol at all, e.g. `GLIBC_ABI_DT_RELR`: a feature of the loader is required.
    Marker,
}

impl VersionNeed {
    /// What forces this version.
    #[must_use]
    pub fn strength(&self) -> NeedStrength {
        if self.symbols.is_empty() {
            NeedStrength::Marker
        } else if self.symbols.iter().all(|symbol| symbol.binding == SymbolBinding::Weak) {
            NeedStrength::WeakOnly
        } else {
            NeedStrength::Strong
        }
    }
}

/// One entry of `.gnu.version_d`: a version that this library defines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VersionDefinition {
    /// The first `vda_name`, e.g. `GLIBC_2.34`.
    pub name: BString,
    /// VER_FLG_BASE: names the file itself, not a version to bind to.
    pub base: bool,
    /// VER_FLG_WEAK.
    pub weak_flag: bool,
}
