//! NUL-terminated strings in a loader's bytes.

use bstr::ByteSlice;

/// The whole string that holds the first occurrence of `needle`.
pub(super) fn containing<'b>(bytes: &'b [u8], needle: &[u8]) -> Option<&'b [u8]> {
    all_containing(bytes, needle).next()
}

/// Every string that holds `needle`, in file order.
pub(super) fn all_containing<'b>(bytes: &'b [u8], needle: &[u8]) -> impl Iterator<Item = &'b [u8]> {
    bytes.find_iter(needle).map(move |at| {
        let start = bytes[..at].rfind_byte(0).map_or(0, |nul| nul + 1);
        let end = bytes[at..].find_byte(0).map_or(bytes.len(), |nul| at + nul);
        &bytes[start..end]
    })
}

/// Whether `text` is there as a whole string.
pub(super) fn holds(bytes: &[u8], text: &[u8]) -> bool {
    bytes.find_iter(text).any(|at| (at == 0 || bytes[at - 1] == 0) && bytes.get(at + text.len()) == Some(&0))
}
