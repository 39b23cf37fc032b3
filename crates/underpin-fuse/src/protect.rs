//! The pages of members that become read-only once they are relocated: the loader protects one range of a file, and a fused
//! file has one for each member. Its first initialiser protects the others
//! ([`crate::machine::Processor::protect`]).

use crate::layout::Layout;
use crate::object::Object;
use underpin_elf::SegmentKind;

/// The list of what becomes read-only after relocation: distances from the list, and sizes.
pub(crate) fn ranges(objects: &[Object], layout: &Layout, at: u64) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for place in &layout.members {
        let Some(relro) = objects[place.object].segment(SegmentKind::Relro) else { continue };
        let end = relro.vaddr.0 + relro.memory_size;
        let start = place.joined.map_or(relro.vaddr.0, |joined| joined.start);
        let (start, end) = layout.processor.protectable(start + place.base, end + place.base);
        if start < end {
            out.extend(i32::try_from(start.wrapping_sub(at).cast_signed()).ok()?.to_le_bytes());
            out.extend(u32::try_from(end - start).ok()?.to_le_bytes());
        }
    }
    out.extend([0; 8]);
    Some(out)
}
