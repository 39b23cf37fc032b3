//! Why a file is left unchanged: each reason is a sentence that says what to do.

use super::{RecordError, Strategy};
use bstr::BString;
use underpin_elf::{ElfError, FileOffset};

/// Why a file's bytes are not rewritten.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Not an ELF file, or a damaged one.
    #[error("{0}")]
    Elf(#[from] ElfError),
    /// Not a program or a shared library: an object file or a core dump.
    #[error("neither a program nor a shared library: link it first")]
    NotLoadable,
    /// No dynamic section: nothing in it names a library.
    #[error("statically linked: it names no library")]
    Static,
    /// A static-pie program relocates itself and reads its own dynamic section; patched ones crash.
    #[error("a static-pie program: it loads no library, and moving its strings would break it")]
    StaticPie,
    /// It has no dynamic string table inside a segment.
    #[error("its dynamic section has no usable string table (DT_STRTAB): no loader would take it")]
    NoStrings,
    /// Bytes after what the ELF headers describe: AppImage, makeself, bun and others read them from the end.
    #[error(
        "it carries {size} bytes behind its own end (at offset {offset}), which its program reads from there and which a \
         binding would move: use a wrapper that sets LD_LIBRARY_PATH, or bind the program inside"
    )]
    Payload {
        /// Where they start.
        offset: FileOffset,
        /// How many there are.
        size: u64,
    },
    /// A signature covers the bytes.
    #[error("it is signed ({by}), and a changed byte makes the signature invalid: bind it before signing")]
    Signed {
        /// What was found.
        by: &'static str,
    },
    /// The file was bound before.
    #[error("it is bound already: restore it first, then bind it anew")]
    AlreadyBound,
    /// The file carries a record that this version cannot read.
    #[error("{0}")]
    Record(#[from] RecordError),
    /// prelink keeps checksums and addresses of its own in the file.
    #[error("it is prelinked: undo that first (prelink --undo)")]
    Prelinked,
    /// The dynamic section of MIPS files points at itself and is often read-only.
    #[error("MIPS files keep addresses relative to their dynamic section, which underpin does not rewrite")]
    Mips,
    /// A name with a NUL byte in it.
    #[error("the name {name:?} has a NUL byte in it, which no string of an ELF file can hold")]
    BadName {
        /// The name.
        name: BString,
    },
    /// The dynamic section has no room for more entries.
    #[error(
        "its dynamic section has no room for {missing} more entries: bind its libraries one by one instead of \
         flattening, or link it with spare entries (GNU ld: -Wl,--spare-dynamic-tags=N)"
    )]
    DynamicFull {
        /// How many entries do not fit.
        missing: usize,
    },
    /// The strings end up where the fields cannot reach them.
    #[error("its address space leaves no room for names within reach of its string table")]
    TooFar,
    /// No strategy has room in this file.
    #[error(
        "there is no place for the names in it that strip, objcopy and patchelf would leave alone: bind it before another \
         tool has changed it, or link it again"
    )]
    NoPlace,
    /// The requested strategy has no room in this file.
    #[error("{strategy:?} has no room for the names in this file: leave the choice to underpin")]
    NoRoom {
        /// The strategy.
        strategy: Strategy,
    },
    /// A string without a place: a bug in underpin.
    #[error("no place was found for {name:?}: please report this file as a bug of underpin")]
    Unplaced {
        /// The string.
        name: BString,
    },
}
