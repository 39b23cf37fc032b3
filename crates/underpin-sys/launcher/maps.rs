//! The loader's list of what it loaded, as it keeps it for debuggers (`<link.h>`; the same layout in glibc and musl).

use crate::head::Bundle;
use crate::names;
use crate::place::text_at;

/// `DT_DEBUG`: the loader leaves the address of its `r_debug` there.
const DEBUG: usize = 21;

#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const u8,
    dynamic: usize,
    next: *const LinkMap,
}

#[repr(C)]
struct Rendezvous {
    version: i32,
    first: *const LinkMap,
}

/// One loaded object.
pub struct Loaded {
    /// What is added to its link-time addresses.
    pub base: usize,
    /// The path by which it was opened.
    pub name: &'static [u8],
}

/// All of them, in the loader's order; empty if the loader keeps no list.
pub fn loaded(bundle: Bundle) -> impl Iterator<Item = Loaded> {
    let rendezvous = names::value_of(bundle, DEBUG).unwrap_or(0) as *const Rendezvous;
    // SAFETY: the loader's own record, if there is one.
    let mut map = if rendezvous.is_null() { core::ptr::null() } else { unsafe { (*rendezvous).first } };
    core::iter::from_fn(move || {
        if map.is_null() {
            return None;
        }
        // SAFETY: an entry of the loader's list, which nothing changes before the program runs.
        unsafe {
            let found = Loaded { base: (*map).base, name: text_at((*map).name) };
            map = (*map).next;
            Some(found)
        }
    })
}
