//! The memory functions that compilers call on their own: without a libc the launcher has to define them.
//!
//! Byte by byte through volatile accesses, so that the compiler does not turn a loop back into a call of itself. The
//! launcher moves a few kilobytes at most.

/// memcpy(3).
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, size: usize) -> *mut u8 {
    for index in 0..size {
        // SAFETY: inside both ranges, which the caller vouches for.
        unsafe { to.add(index).write_volatile(from.add(index).read_volatile()) };
    }
    to
}

/// memmove(3).
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, size: usize) -> *mut u8 {
    if (to as usize) <= from as usize {
        // SAFETY: upwards is right if the target is not above the source.
        return unsafe { memcpy(to, from, size) };
    }
    for index in (0..size).rev() {
        // SAFETY: inside both ranges, which the caller vouches for.
        unsafe { to.add(index).write_volatile(from.add(index).read_volatile()) };
    }
    to
}

/// memset(3).
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memset(to: *mut u8, byte: i32, size: usize) -> *mut u8 {
    for index in 0..size {
        // SAFETY: inside the range, which the caller vouches for.
        unsafe { to.add(index).write_volatile(byte as u8) };
    }
    to
}

/// memcmp(3).
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcmp(one: *const u8, other: *const u8, size: usize) -> i32 {
    for index in 0..size {
        // SAFETY: inside both ranges, which the caller vouches for.
        let (a, b) = unsafe { (one.add(index).read_volatile(), other.add(index).read_volatile()) };
        if a != b {
            return i32::from(a) - i32::from(b);
        }
    }
    0
}

/// Whether two texts are equal. A loop of our own: `==` on slices calls bcmp(3) through a table of addresses, which
/// would need relocation.
pub fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a == b)
}
