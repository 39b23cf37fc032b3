//! Any bytes as an ELF file: both depths of the reader. An error is a good answer; a panic, a hang or an allocation
//! beyond the limits of `run.sh` is not.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underpin_elf::{Details, Elf, LinkFacts, Notes};

fuzz_target!(|bytes: &[u8]| {
    let Ok(elf) = Elf::read(bytes) else { return };
    for segment in &elf.segments {
        let _ = elf.offset_of(segment.vaddr);
    }
    let _ = Notes::read(bytes, &elf);
    let _ = LinkFacts::read(bytes, &elf, &[b"malloc", b"dlopen"], |_| true);
    if let Ok(details) = Details::read(bytes, &elf) {
        for import in &details.imports {
            let _ = details.version_of(import);
        }
    }
});
