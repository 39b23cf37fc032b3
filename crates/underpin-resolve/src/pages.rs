//! Pages, as both loaders round addresses to them.

use underpin_elf::{Elf, SegmentKind};

/// Page size of the machines whose calls are modelled.
pub(crate) const PAGE: u64 = 4096;

/// The start of the page that holds an address.
pub(crate) fn page_down(address: u64) -> u64 {
    address & !(PAGE - 1)
}

/// The end of the page that holds the byte before an address.
pub(crate) fn page_up(address: u64) -> u64 {
    page_down(address.saturating_add(PAGE - 1))
}

/// Whether PT_GNU_RELRO covers a page boundary, so that the loader protects something after relocation.
pub(crate) fn protects_relro(elf: &Elf) -> bool {
    elf.segments
        .iter()
        .rev()
        .find(|segment| segment.kind == SegmentKind::Relro)
        .is_some_and(|relro| page_down(relro.vaddr.0) != page_down(relro.vaddr.0.saturating_add(relro.memory_size)))
}
