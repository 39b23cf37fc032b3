//! Makes the bundle's C library read the bundle's list of charset modules (gconv), and no other.
//!
//! glibc reads that list once, at the first iconv_open(3), from where GCONV_PATH says (glibc `iconv/gconv_conf.c`). The
//! variable is set for that one call only, so no child of the program, which may be a program of the host, sees it.

use crate::head::Bundle;
use crate::maps;
use crate::memory::same;
use crate::names;

const NAME: &[u8] = b"GCONV_PATH=";

type SetEnv = unsafe extern "C" fn(*const u8, *const u8, i32) -> i32;
type UnsetEnv = unsafe extern "C" fn(*const u8) -> i32;
type IconvOpen = unsafe extern "C" fn(*const u8, *const u8) -> usize;
type IconvClose = unsafe extern "C" fn(usize) -> i32;

/// Sets the variable, lets glibc read the list, takes the variable away again. A GCONV_PATH set by the user stays.
pub fn announce(bundle: Bundle, mut environment: impl Iterator<Item = &'static [u8]>) {
    if environment.any(|variable| variable.split_at_checked(NAME.len()).is_some_and(|(name, _)| same(name, NAME))) {
        return;
    }
    let head = bundle.head();
    let Some(base) = base_of(bundle, head.charsets_of - 1) else { return };
    let top = bundle.at_offset(head.room);
    // SAFETY: the top's path is the first string in the room, of this length.
    let top = unsafe { core::slice::from_raw_parts(top, head.top_size) };
    let Some(value) = names::compose(bundle, &[top, b"/", names::text(bundle, head.charsets)]) else { return };
    let [set, unset, open, close] = head.functions.map(|function| base.wrapping_add(function));
    // SAFETY: the bundler took the addresses from the symbol table of this very file; these are their C prototypes.
    let (set, unset, open, close) = unsafe {
        (
            core::mem::transmute::<usize, SetEnv>(set),
            core::mem::transmute::<usize, UnsetEnv>(unset),
            core::mem::transmute::<usize, IconvOpen>(open),
            core::mem::transmute::<usize, IconvClose>(close),
        )
    };
    let (name, builtin) = (c"GCONV_PATH".as_ptr().cast(), c"UTF-8".as_ptr().cast());
    // SAFETY: the C library is initialised, the process has one thread, the strings are terminated.
    unsafe {
        if set(name, value, 0) == 0 {
            let both = open(c"UCS-4".as_ptr().cast(), builtin);
            if both != usize::MAX {
                close(both);
            }
            unset(name);
        }
    }
}

/// Where the loader put an object of the bundle.
fn base_of(bundle: Bundle, index: usize) -> Option<usize> {
    let top = bundle.at_offset(bundle.head().room);
    // SAFETY: the top's path is the first string in the room; the record is the bundler's.
    let (top, name) = unsafe {
        let object = bundle.object(index);
        (core::slice::from_raw_parts(top, bundle.head().top_size), names::text(bundle, (*object).name))
    };
    maps::loaded(bundle).find(|loaded| is_below(loaded.name, top, name)).map(|loaded| loaded.base)
}

/// Whether a path is `top`, a slash, and `name`.
fn is_below(path: &[u8], top: &[u8], name: &[u8]) -> bool {
    match path.split_at_checked(top.len()) {
        Some((start, [b'/', rest @ ..])) => same(start, top) && same(rest, name),
        _ => false,
    }
}
