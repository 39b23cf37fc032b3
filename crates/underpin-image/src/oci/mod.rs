//! Images of the Open Container Initiative: written from trees, and read from any of the forms that tools leave behind.
//!
//! | module | is |
//! | --- | --- |
//! | [`write`] | layers, configuration, manifest and index as a folder or one file, the same bytes each time |
//! | [`read`] | an OCI layout, an OCI or Docker archive, a tar of a root file system, or a folder, as [`Files`] |
//! | [`Ahead`] | programs that are compressed while their image is planned |
//! | [`Files`] | the files that the layers leave, with nothing unpacked: a [`Root`](underpin_resolve::Root) for loaders |
//!
//! Specifications: opencontainers/image-spec 1.1 (`image-layout.md`, `manifest.md`, `config.md`, `layer.md`).

mod ahead;
mod document;
mod error;
mod files;
mod form;
mod gzip;
mod layer;
mod planned;
pub mod read;
mod spool;
mod tape;
pub(crate) mod times;
pub mod write;

pub use ahead::Ahead;
pub use error::OciError;
pub use files::{FileKind, Files, Node};
pub use form::form;
pub use planned::planned;
pub use read::{Config, Form, Image, Limits, open};
pub use write::{Output, Settings, Written, write};

/// The architecture in the words of the specification (those of Go), from the name that the kernel has for it.
#[must_use]
pub fn architecture(machine: underpin_elf::Machine, class: underpin_elf::Class) -> Option<&'static str> {
    use underpin_elf::{Class, Machine};
    Some(match (machine, class) {
        (Machine::X86_64, Class::Elf64) => "amd64",
        (Machine::I386, _) => "386",
        (Machine::AARCH64, Class::Elf64) => "arm64",
        (Machine::ARM, _) => "arm",
        (Machine::RISCV, Class::Elf64) => "riscv64",
        (Machine::S390, Class::Elf64) => "s390x",
        (Machine::PPC64, _) => "ppc64le",
        _ => return None,
    })
}
