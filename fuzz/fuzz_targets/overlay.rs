//! The overlay's functions against the C library's, on every level of this processor: two strings at any place of a line, one of
//! them right before a page that may not be touched.
#![no_main]

use libc::{c_char, c_int, c_void, size_t};
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;
use underpin_overlay as _;

const PAGE: usize = 4096;
const ROOM: usize = 17 * PAGE;

unsafe extern "C" {
    fn overlay_force(level: c_int) -> c_int;
    fn overlay_memcpy(to: *mut c_void, from: *const c_void, n: size_t) -> *mut c_void;
    fn overlay_memmove(to: *mut c_void, from: *const c_void, n: size_t) -> *mut c_void;
    fn overlay_memcmp(a: *const c_void, b: *const c_void, n: size_t) -> c_int;
    fn overlay_memchr(s: *const c_void, c: c_int, n: size_t) -> *mut c_void;
    fn overlay_memrchr(s: *const c_void, c: c_int, n: size_t) -> *mut c_void;
    fn overlay_memmem(s: *const c_void, n: size_t, x: *const c_void, l: size_t) -> *mut c_void;
    fn overlay_strlen(s: *const c_char) -> size_t;
    fn overlay_strnlen(s: *const c_char, n: size_t) -> size_t;
    fn overlay_strchr(s: *const c_char, c: c_int) -> *mut c_char;
    fn overlay_strrchr(s: *const c_char, c: c_int) -> *mut c_char;
    fn overlay_strcmp(a: *const c_char, b: *const c_char) -> c_int;
    fn overlay_strncmp(a: *const c_char, b: *const c_char, n: size_t) -> c_int;
    fn overlay_strstr(s: *const c_char, x: *const c_char) -> *mut c_char;
    fn overlay_strcpy(to: *mut c_char, from: *const c_char) -> *mut c_char;
    fn overlay_strncpy(to: *mut c_char, from: *const c_char, n: size_t) -> *mut c_char;
    fn overlay_qsort(base: *mut c_void, n: size_t, size: size_t, compare: Option<Compare>);
}

type Compare = unsafe extern "C" fn(*const c_void, *const c_void) -> c_int;

/// Compares elements of so many bytes by all of them, so that there is one right order.
unsafe extern "C" fn compared<const SIZE: usize>(a: *const c_void, b: *const c_void) -> c_int {
    // SAFETY: both are elements of an array.
    unsafe { libc::memcmp(a, b, SIZE) }
}

/// Sorts elements of so many bytes, the last of them right before the page that may not be touched.
fn sort<const SIZE: usize>(end: usize, bytes: &[u8]) {
    let bytes = &bytes[..bytes.len() / SIZE * SIZE];
    let ours = (end - bytes.len()) as *mut u8;
    let mut judged = bytes.to_vec();
    // SAFETY: the input is shorter than the room before the end; both arrays have that many elements.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), ours, bytes.len());
        overlay_qsort(ours.cast(), bytes.len() / SIZE, SIZE, Some(compared::<SIZE>));
        libc::qsort(judged.as_mut_ptr().cast(), bytes.len() / SIZE, SIZE, Some(compared::<SIZE>));
        assert_eq!(std::slice::from_raw_parts(ours, bytes.len()), judged);
    }
}

/// Three ends of memory, each right before a page that may not be touched.
fn ends() -> &'static [usize; 3] {
    static ENDS: OnceLock<[usize; 3]> = OnceLock::new();
    ENDS.get_or_init(|| {
        [(); 3].map(|()| {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            // SAFETY: new memory, of which the last page is taken away again.
            unsafe {
                let start =
                    libc::mmap(std::ptr::null_mut(), ROOM + PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
                assert_ne!(start, libc::MAP_FAILED);
                assert_eq!(libc::mprotect(start.byte_add(ROOM), PAGE, libc::PROT_NONE), 0);
                start as usize + ROOM
            }
        })
    })
}

/// Puts bytes and a zero `gap` bytes before an end; returns where they begin.
fn placed(end: usize, gap: usize, bytes: &[u8]) -> *mut u8 {
    let start = (end - gap - bytes.len() - 1) as *mut u8;
    // SAFETY: the input is at most 64 kB long, and the room before the end is longer.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len());
        *start.add(bytes.len()) = 0;
    }
    start
}

fuzz_target!(|bytes: &[u8]| {
    let [gap, other, byte, limit, cut_low, cut_high, rest @ ..] = bytes else { return };
    let rest = &rest[..rest.len().min(65_000)];
    let (one, two) = rest.split_at(rest.len() * usize::from(u16::from_le_bytes([*cut_low, *cut_high])) / 65_536);
    let [first, second, third] = *ends();
    let (byte, limit) = (c_int::from(*byte), usize::from(*limit) * 3);
    sort::<1>(third, one);
    sort::<4>(third, rest);
    sort::<8>(third, two);
    sort::<12>(third, rest);
    // From the fourth on it is AVX-512 that takes over in other ways.
    for level in 1..=5 {
        // SAFETY: each argument points to that many bytes, or to a string that ends; targets have room for sources.
        unsafe {
            if overlay_force(level) != level {
                continue;
            }
            let a = placed(first, usize::from(*gap % 64), one);
            let b = placed(second, usize::from(*other % 64), two);
            let (s, x): (*const c_char, *const c_char) = (a.cast(), b.cast());
            let least = one.len().min(two.len());
            assert_eq!(
                overlay_memcmp(s.cast(), x.cast(), least).signum(),
                libc::memcmp(s.cast(), x.cast(), least).signum()
            );
            assert_eq!(overlay_memchr(s.cast(), byte, one.len()), libc::memchr(s.cast(), byte, one.len()));
            assert_eq!(overlay_memrchr(s.cast(), byte, one.len()), libc::memrchr(s.cast(), byte, one.len()));
            let found = libc::memmem(s.cast(), one.len(), x.cast(), two.len());
            assert_eq!(overlay_memmem(s.cast(), one.len(), x.cast(), two.len()), found);
            assert_eq!(overlay_strlen(s), libc::strlen(s));
            assert_eq!(overlay_strnlen(s, limit), libc::strnlen(s, limit));
            assert_eq!(overlay_strchr(s, byte), libc::strchr(s, byte));
            assert_eq!(overlay_strrchr(s, byte), libc::strrchr(s, byte));
            assert_eq!(overlay_strcmp(s, x).signum(), libc::strcmp(s, x).signum());
            assert_eq!(overlay_strncmp(s, x, limit).signum(), libc::strncmp(s, x, limit).signum());
            assert_eq!(overlay_strstr(s, x), libc::strstr(s, x));
            let length = libc::strlen(s);
            let to = (third - length - 1) as *mut c_char;
            assert_eq!(overlay_strcpy(to, s), to);
            assert_eq!(libc::memcmp(to.cast(), s.cast(), length + 1), 0);
            let to = (third - limit) as *mut c_char;
            assert_eq!(overlay_strncpy(to, s, limit), to);
            let kept = length.min(limit);
            assert_eq!(libc::memcmp(to.cast(), s.cast(), kept), 0);
            assert!(std::slice::from_raw_parts(to.add(kept), limit - kept).iter().all(|byte| *byte == 0));
            let to = (third - one.len()) as *mut c_void;
            overlay_memcpy(to, s.cast(), one.len());
            assert_eq!(std::slice::from_raw_parts(to.cast::<u8>(), one.len()), one);
            let distance = limit.min(one.len());
            overlay_memmove(a.cast(), a.add(distance).cast(), one.len() - distance);
            assert_eq!(std::slice::from_raw_parts(a, one.len() - distance), &one[distance..]);
        }
    }
});
