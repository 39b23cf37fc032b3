//! Tests of native/copy.c: the C library's own functions, as Rust has them, are the judge.

use std::ffi::{c_int, c_void};

unsafe extern "C" {
    fn overlay_memcpy(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void;
    fn overlay_memmove(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void;
    fn overlay_memcmp(one: *const c_void, other: *const c_void, n: usize) -> c_int;
}

/// Every size at which the code does something else, with its neighbours, and more.
fn sizes() -> impl Iterator<Item = usize> {
    (0..=300).chain(1000..=1100).chain([4095, 4096, 4097, 10_000, 70_001])
}

fn noise(count: usize) -> Vec<u8> {
    let mut state = 1_u32;
    std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    })
    .take(count)
    .collect()
}

#[test]
fn what_is_copied_is_the_same_and_nothing_beside_it() {
    let from = noise(80_000);
    for n in sizes() {
        for (at, to_at) in [(0, 0), (1, 0), (0, 1), (3, 8), (15, 17), (63, 64), (64, 63), (5, 33)] {
            let mut to = vec![0xEE_u8; n + 160];
            let into = to[to_at..].as_mut_ptr();
            // SAFETY: both have so many bytes from there on, and lie apart.
            let returned = unsafe { overlay_memcpy(into.cast(), from[at..].as_ptr().cast(), n) };
            assert_eq!(returned.cast(), into);
            assert!(to[to_at..to_at + n] == from[at..at + n], "{n} {at} {to_at}");
            assert!(to[..to_at].iter().chain(&to[to_at + n..]).all(|byte| *byte == 0xEE), "{n} {at} {to_at}");
        }
    }
}

#[test]
fn what_is_moved_over_itself_arrives_whole() {
    for n in sizes() {
        let gaps = [0, 1, 7, 8, 15, 16, 17, 31, 63, 64, 65, 100, 500, 5000].into_iter().filter(|gap| *gap <= n + 64);
        for (from, to) in gaps.flat_map(|gap| [(16, 16 + gap), (16 + gap, 16)]) {
            let mut bytes = noise(n + 5100);
            let mut expected = bytes.clone();
            expected.copy_within(from..from + n, to);
            let base = bytes.as_mut_ptr();
            // SAFETY: both ranges lie within the bytes.
            unsafe { overlay_memmove(base.add(to).cast(), base.add(from).cast(), n) };
            assert!(bytes == expected, "{n} from {from} to {to}");
        }
    }
}

#[test]
fn the_first_difference_decides() {
    for n in sizes().filter(|n| *n < 1200) {
        let one = noise(n);
        // SAFETY: both have so many bytes.
        let compare = |other: &[u8]| unsafe { overlay_memcmp(one.as_ptr().cast(), other.as_ptr().cast(), n) }.signum();
        assert_eq!(compare(&one.clone()), 0);
        for at in (0..n).step_by(1 + n / 40) {
            let mut other = one.clone();
            other[at] = other[at].wrapping_add(128);
            if let Some(last) = other.get_mut(at + 1) {
                *last = last.wrapping_add(77);
            }
            assert_eq!(compare(&other), one.cmp(&other) as c_int, "{n} {at}");
        }
    }
}
