//! Any bytes as an ld.so.conf: every line is dropped or becomes a directory or a list of patterns out of its bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underpin_resolve::conf::{self, Line};

fuzz_target!(|bytes: &[u8]| {
    let lines = conf::parse(bytes);
    assert!(lines.len() <= bytes.len(), "more lines than bytes");
    for line in lines {
        match line {
            Line::Directory(directory) => assert!(!directory.is_empty(), "a directory without a name"),
            Line::Include(patterns) => assert!(patterns.iter().all(|pattern| !pattern.is_empty()), "an empty pattern"),
        }
    }
});
