//! Why a file is left as it is: each reason a sentence with what to do.

use underpin_elf::ElfError;

/// Why a file's bytes are not rewritten.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Not an ELF file, or a damaged one.
    #[error("{0}")]
    Elf(#[from] ElfError),
    /// No dynamic section: nothing in it names a library.
    #[error("statically linked: it names no library")]
    Static,
    /// A static-pie program relocates itself and reads its own dynamic section; patched ones crash.
    #[error("a static-pie program: it loads no library, and moving its strings would break it")]
    StaticPie,
}
