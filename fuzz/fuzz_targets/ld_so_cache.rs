//! Any bytes as an ld.so.cache, in both byte orders: reading it, and walking all that it holds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underpin_resolve::cache::Cache;

fuzz_target!(|bytes: &[u8]| {
    for big_endian in [false, true] {
        if let Ok(cache) = Cache::parse(bytes.to_vec(), big_endian) {
            let longest = cache.entries().map(|entry| entry.name.len() + entry.path.len()).max();
            assert!(longest.unwrap_or(0) <= 2 * bytes.len(), "a string is longer than the file");
        }
    }
});
