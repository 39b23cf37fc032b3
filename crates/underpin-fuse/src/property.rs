//! `.note.gnu.property`: what a process may enforce (branch targets, shadow stacks) holds for the fused file if it holds for
//! each member. The loader reads it from PT_GNU_PROPERTY.

use crate::object::{Object, u32_at};
use underpin_elf::SegmentKind;

const OWNER: &[u8] = b"GNU\0";
/// NT_GNU_PROPERTY_TYPE_0.
const TYPE: u32 = 5;

/// The bits that all these members have, as a note; empty if there is none.
pub(crate) fn of_all(objects: &[Object], members: &[usize]) -> Vec<u8> {
    let bits = members.iter().map(|&member| bits(&objects[member])).reduce(|all, bits| all & bits).unwrap_or(0);
    let kind = objects[0].processor.and_property();
    match bits {
        0 => Vec::new(),
        // A descriptor of one property: its type, its size, a word, padding.
        bits => [4, 16, TYPE, u32::from_le_bytes(*b"GNU\0"), kind, 4, bits, 0]
            .iter()
            .flat_map(|w| w.to_le_bytes())
            .collect(),
    }
}

fn bits(object: &Object) -> u32 {
    let segment = object.segment(SegmentKind::Property);
    let note = segment.and_then(|segment| object.memory(segment.vaddr.0, segment.file_size).ok());
    note.and_then(|note| find(note, object.processor.and_property())).unwrap_or(0)
}

/// The word of a property in a note of 64 bits, where each is padded to 8 bytes.
fn find(note: &[u8], wanted: u32) -> Option<u32> {
    if u32_at(note, 0) != 4 || u32_at(note, 8) != TYPE || note.get(12..16) != Some(OWNER) {
        return None;
    }
    let mut rest = note.get(16..16usize.checked_add(u32_at(note, 4) as usize)?)?;
    while rest.len() >= 8 {
        let (kind, size) = (u32_at(rest, 0), u32_at(rest, 4) as usize);
        if kind == wanted && size == 4 {
            return Some(u32_at(rest, 8));
        }
        rest = rest.get(8usize.checked_add(size.checked_next_multiple_of(8)?)?..)?;
    }
    None
}
