//! One sorted table of unwind information: the loader gives an unwinder one PT_GNU_EH_FRAME for the whole file.

use crate::layout::Layout;
use crate::object::{Malformed, Object, malformed, u32_at};
use underpin_elf::SegmentKind;

/// `(function, description)` addresses of the fused file, sorted.
pub(crate) fn collect(objects: &[Object], layout: &Layout) -> Result<Vec<(u64, u64)>, (usize, Malformed)> {
    let mut all = Vec::new();
    for place in &layout.members {
        let mut part = of(&objects[place.object]).map_err(|error| (place.object, error))?;
        part.iter_mut().for_each(|(function, frame)| {
            *function = function.wrapping_add(place.base);
            *frame = frame.wrapping_add(place.base);
        });
        all.append(&mut part);
    }
    all.sort_unstable();
    Ok(all)
}

fn of(object: &Object) -> Result<Vec<(u64, u64)>, Malformed> {
    let Some(segment) = object.segment(SegmentKind::EhFrame) else { return Ok(Vec::new()) };
    let start = segment.vaddr.0;
    let head = object.memory(start, segment.file_size)?;
    // Version 1; a pointer to .eh_frame, a count of 4 bytes, pairs relative to the head: what every linker writes.
    match head.get(..4) {
        None | Some([1, _, 0xff, _]) => return Ok(Vec::new()),
        Some([1, 0x1b, 3, 0x3b]) => {}
        Some(_) => return malformed("an .eh_frame_hdr of unknown encoding", start),
    }
    let count = u32_at(head, 8) as usize;
    let Some(table) = head.get(12..).and_then(|table| table.get(..count * 8)) else {
        return malformed("a short .eh_frame_hdr", start);
    };
    let address = |raw: &[u8], at| start.wrapping_add_signed(i64::from(u32_at(raw, at).cast_signed()));
    Ok(table.chunks_exact(8).map(|raw| (address(raw, 0), address(raw, 4))).collect())
}

/// The table at an address; `None` if a distance does not fit 32 bits.
pub(crate) fn bytes(frames: &[(u64, u64)], at: u64) -> Option<Vec<u8>> {
    let distance = |to: u64, from: u64| i32::try_from(to.wrapping_sub(from).cast_signed()).ok().map(i32::to_le_bytes);
    let mut out = vec![1, 0x1b, 3, 0x3b];
    let first = frames.iter().map(|(_, frame)| *frame).min().unwrap_or(at);
    out.extend(distance(first, at + 4)?);
    out.extend(u32::try_from(frames.len()).ok()?.to_le_bytes());
    for (function, frame) in frames {
        out.extend(distance(*function, at)?);
        out.extend(distance(*frame, at)?);
    }
    Some(out)
}
