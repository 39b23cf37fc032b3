//! Makes the program's dynamic section name the bundle's own files, by absolute paths that hold where it is now.
//!
//! On disk the section is an ordinary one (sonames, and a DT_RPATH relative to `$ORIGIN`). The absolute names exist in
//! memory alone, so the bundle may be moved at any time, and no environment variable has to name them.

use crate::head::{Bundle, NO_SLOT};
use crate::place::text_at;

/// One entry of the dynamic section.
#[repr(C)]
struct Entry {
    tag: usize,
    value: usize,
}

/// Composes a string in the room of the bundle and returns its place; `None` if it does not fit.
pub fn compose(bundle: Bundle, parts: &[&[u8]]) -> Option<*const u8> {
    let used = bundle.head().room_used;
    let size: usize = parts.iter().map(|part| part.len()).sum();
    if used + size >= bundle.head().room_size {
        return None;
    }
    let start = bundle.at_offset(bundle.head().room + used);
    let mut next = start;
    for part in parts {
        // SAFETY: inside the room, checked above; the room is writable and no part is in its unused rest.
        unsafe { core::ptr::copy_nonoverlapping(part.as_ptr(), next, part.len()) };
        next = next.wrapping_add(part.len());
    }
    // SAFETY: one byte was left for the NUL.
    unsafe { next.write(0) };
    bundle.set_room_used(used + size + 1);
    Some(start)
}

/// Makes entry `slot` of the dynamic section point to a string.
pub fn point(bundle: Bundle, slot: usize, text: *const u8) {
    if slot == NO_SLOT {
        return;
    }
    let strings = bundle.now(bundle.head().strings) as usize;
    let entry = bundle.now(bundle.head().dynamic).cast::<Entry>().wrapping_add(slot);
    // SAFETY: the bundler made the section writable and the slot part of it.
    unsafe { (*entry).value = (text as usize).wrapping_sub(strings) };
}

/// A text of the bundler's, `offset` bytes behind the head.
pub fn text(bundle: Bundle, offset: usize) -> &'static [u8] {
    // SAFETY: the bundler ends its texts with a NUL.
    unsafe { text_at(bundle.at_offset(offset)) }
}

/// Finds the value of a tag in the dynamic section.
pub fn value_of(bundle: Bundle, tag: usize) -> Option<usize> {
    let mut entry = bundle.now(bundle.head().dynamic).cast::<Entry>();
    loop {
        // SAFETY: DT_NULL ends the section.
        let (found, value) = unsafe { ((*entry).tag, (*entry).value) };
        if found == tag {
            return Some(value);
        }
        if found == 0 {
            return None;
        }
        entry = entry.wrapping_add(1);
    }
}
