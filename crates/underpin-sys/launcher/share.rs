//! Gives memory back: what the loader mapped from memory files and nothing writes to is mapped from the bundle's own
//! file instead, so that processes share it with the page cache, and the copies are dropped.
//!
//! Runs after the loader, before any initialiser of the program or of a library (a loader without DT_PREINIT_ARRAY:
//! before the program). The bytes are the same, at the same addresses; if a step fails, the copy stays, or, if parts of it
//! were left out, the program does not start.

use crate::arch;
use crate::calls::{self, Descriptor, Mapping};
use crate::head::{Bundle, Object};
use crate::load::{self, Header};
use crate::maps;
use crate::say::stop;

/// Shares every library of the bundle that can be shared.
pub fn all(bundle: Bundle, page: usize) {
    if !arch::SHARES {
        return;
    }
    // SAFETY: a terminated literal.
    let file = match unsafe { calls::open(c"/proc/self/exe".as_ptr().cast()) } {
        Ok(file) => file,
        Err(error) if bundle.head().preinit != 0 => missing(error),
        Err(_) => return,
    };
    for loaded in maps::loaded(bundle) {
        let Some(descriptor) = descriptor_in(loaded.name) else { continue };
        let object = (0..bundle.head().object_count).map(|index| bundle.object(index)).find(|object| {
            // SAFETY: the bundler made that many records.
            unsafe { (**object).descriptor == descriptor + 1 && (**object).shared == 0 }
        });
        if let Some(object) = object {
            // SAFETY: one of the bundler's records, which is written to here alone.
            let object = unsafe { &mut *object };
            object.shared = 1;
            one(object, loaded.base, file, page);
        }
    }
    calls::close(file);
}

/// Ends the process: what was left out of a copy cannot be mapped.
fn missing(error: i32) -> ! {
    stop(b"cannot map libraries of ", b"/proc/self/exe", error, b"memory is short; make it a directory")
}

/// The number in `/proc/self/fd/7`.
fn descriptor_in(name: &[u8]) -> Option<Descriptor> {
    let (start, digits) = name.split_at_checked(b"/proc/self/fd/".len())?;
    if !crate::memory::same(start, b"/proc/self/fd/") || digits.is_empty() {
        return None;
    }
    let digit = |number: usize, digit: &u8| digit.is_ascii_digit().then(|| number * 10 + usize::from(digit - b'0'));
    digits.iter().try_fold(0, digit)
}

fn one(object: &Object, base: usize, file: Descriptor, page: usize) {
    let memory = object.descriptor - 1;
    let mut start = load::Start::empty();
    let Ok(read) = calls::read_at(memory, &mut start.0, 0) else { return };
    let Some((_, loads)) = load::headers(&start, read) else { return };
    if object.writes_code != 0 {
        return;
    }
    let sparse = object.eager_size < object.needed_size;
    let down = |address: usize| address & !(page - 1);
    let up = |address: usize| down(address + page - 1);
    for load in loads.clone().filter(|load| load.flags & 2 == 0 && load.file_size > 0) {
        let (offset, address) = (down(load.offset as usize), down(base.wrapping_add(load.address as usize)));
        let end = load.offset as usize + load.file_size as usize;
        let protection = load.protection();
        let flags = calls::MAP_PRIVATE | calls::MAP_FIXED;
        let file = Some((file, object.place + offset));
        // SAFETY: the loader mapped the same bytes there, read-only, and keeps none of its own in them.
        match unsafe { calls::map(&Mapping { address, size: up(end) - offset, protection, flags, file }) } {
            Ok(_) if sparse => {}
            Ok(_) => release(memory, (offset, up(end)), loads.clone(), page),
            Err(error) if sparse && end > object.eager_size => missing(error),
            Err(_) => {}
        }
    }
}

/// Drops the pages of a copy, except those that a writable segment shares with the next one.
fn release(memory: Descriptor, range: (usize, usize), loads: impl Iterator<Item = Header>, page: usize) {
    let (mut start, mut end) = range;
    for load in loads.filter(|load| load.flags & 2 != 0) {
        let first = load.offset as usize & !(page - 1);
        let last = (load.offset as usize + load.file_size as usize + page - 1) & !(page - 1);
        if first <= start {
            start = start.max(last);
        } else {
            end = end.min(first);
        }
    }
    if start < end {
        calls::punch(memory, start, end - start);
    }
}
