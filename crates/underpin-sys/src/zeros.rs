//! Memory whose pages are there before something is written to it.

/// So many zeros to read a file into. Reading is quicker with the pages asked for at once than with each of them made when
/// it is first written to (683 KB: 0.20 instead of 0.29 ms).
#[must_use]
pub fn zeros(size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    let whole = whole_pages(bytes.as_ptr() as usize, bytes.len());
    if let Some(pages) = bytes.get_mut(whole).filter(|pages| !pages.is_empty()) {
        // SAFETY: the pages are this vector's, and their content stays as it is. Linux before 5.14 does not know the call,
        // and one that fails leaves them to be made later: nothing depends on it.
        unsafe { libc::madvise(pages.as_mut_ptr().cast(), pages.len(), libc::MADV_POPULATE_WRITE) };
    }
    bytes
}

/// The part of a range of memory that is whole pages of the smallest size that Linux has: larger ones make the call fail.
fn whole_pages(start: usize, size: usize) -> std::ops::Range<usize> {
    const PAGE: usize = 4096;
    let first = start.next_multiple_of(PAGE) - start;
    let end = (start + size) / PAGE * PAGE;
    first..end.saturating_sub(start).max(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_size_is_zeros() {
        for size in [0, 1, 4095, 4096, 4097, 12_288, 683_000, 1 << 22] {
            let bytes = zeros(size);
            assert_eq!(bytes.len(), size);
            assert!(bytes.iter().all(|byte| *byte == 0), "{size}");
        }
    }

    #[test]
    fn only_whole_pages_are_asked_for() {
        for (start, size, expected) in [
            (0, 0, 0..0),
            (0, 4096, 0..4096),
            (16, 4096, 4080..4080),
            (16, 8192, 4080..8176),
            (4080, 16, 16..16),
            (4080, 8191, 16..4112),
        ] {
            assert_eq!(whole_pages(start, size), expected, "{size} at {start}");
        }
    }
}
