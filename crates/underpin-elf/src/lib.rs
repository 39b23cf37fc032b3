//! Bytes to facts: what one ELF file says about itself.
//!
//! Two depths. [`Elf::read`] reads what a loader reads (header, segments, dynamic section) with a handful of small
//! reads, so that a closure of a hundred objects costs no more than opening them. [`Details::read`] reads the rest
//! (symbol versions, symbols, notes, sections, identification) for `check`.
//!
//! Invariants: no I/O beyond the [`Source`] given, no unsafe code, no panic on any input, and never an allocation
//! larger than the file. Every error carries the offset at which the file became invalid. Searching for libraries is
//! left to `underpin-resolve`.
#![forbid(unsafe_code)]
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

mod budget;
mod deep;
mod details;
mod dynamic;
mod elf;
mod error;
mod hardening;
mod ident;
mod identity;
mod link;
mod note;
pub mod raw;
mod read;
mod region;
mod script;
mod section;
mod source;
mod strings;
mod symbol;
mod units;
mod window;

pub use details::Details;
pub use dynamic::{DependencyTag, Dynamic, DynamicFlags};
pub use elf::{Elf, Segment, SegmentFlags, SegmentKind};
pub use error::{ElfError, Fault};
pub use hardening::StackProtection;
pub use hardening::{Canary, Fortify, FortifyUnknown, Hardening, Relro, SearchPathRisk, SearchPathRiskKind};
pub use ident::{Class, Endian, FileType, Ident, Machine};
pub use identity::{
    Allocator, AllocatorKind, AllocatorNames, Evidence, Identity, Language, LanguageTrace, Libc, LibcKind,
};
pub use identity::{LibcPlacement, Linkage};
pub use link::LinkFacts;
pub use note::{
    AbiOs, AbiTag, BuildId, CachedName, CachedPlace, DlopenNote, DlopenPriority, IsaLevel, IsaLevels, NoteHead, Notes,
};
pub use note::{BUILD_NOTE_OWNER, BUILD_NOTE_SECTION, BUILD_NOTE_TYPE, BuildNote};
pub use note::{PackageNote, Probe, Properties, ResolutionCache};
pub use script::ScriptLine;
pub use section::{Section, SectionKind};
pub use source::{FileSource, Source};
pub use symbol::VersionedSymbol;
pub use symbol::{
    Export, Import, NeedStrength, SymbolBinding, SymbolKind, SymbolSource, VersionDefinition, VersionNeed,
};
pub use units::{FileOffset, Vaddr};
