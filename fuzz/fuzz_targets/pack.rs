//! Any bytes as the index and the trailer of a packed application: refused, or every file lies within the data.
#![no_main]

use foolsgold_pack::{Index, Kind, TRAILER, Trailer, fit};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(last) = bytes.last_chunk::<TRAILER>()
        && let Ok(Some(trailer)) = Trailer::parse(last, bytes.len() as u64)
    {
        let parts = [trailer.data, trailer.index, TRAILER as u64];
        assert_eq!(parts.iter().sum::<u64>() + trailer.start, bytes.len() as u64, "parts that are not the whole");
    }
    let Some((data, index)) = bytes.split_first() else { return };
    let Ok(index) = Index::parse(index, u64::from(*data)) else { return };
    let mut end = 0;
    for entry in index.entries() {
        assert!(fit(&entry.name), "a name that leads out of the application");
        assert_eq!(entry.offset, end, "a gap in the data");
        end += entry.kind.length();
        let found = index.find(&entry.name);
        assert!(found.is_some_and(|found| !matches!(found.kind, Kind::Link { .. })), "a name that finds no file");
    }
    assert_eq!(end, u64::from(*data), "data of no file");
});
