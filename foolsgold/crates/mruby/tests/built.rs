//! The isolation of interpreters relies on this: mruby as built here has no global state.
#![cfg(not(mruby_sanitize))]

use std::process::Command;
use underpin_test_support::need;

#[test]
fn the_library_has_no_data_that_a_program_can_write() {
    need!("readelf");
    let output = Command::new("readelf").args(["-S", "-W", env!("MRUBY_LIBRARY")]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut sections = 0;
    // `[ 4] .bss.name  NOBITS  0000 0058 000010 00  WA  0   0  8`
    for line in text.lines().filter_map(|line| line.trim_start().strip_prefix('[')?.split_once(']')) {
        let fields: Vec<&str> = line.1.split_whitespace().collect();
        let [name, kind, _, _, size, _, flags, ..] = fields[..] else { continue };
        if kind == "NULL" {
            continue;
        }
        sections += 1;
        let empty = size.bytes().all(|digit| digit == b'0');
        // Written only by the loader, and sealed before the program starts.
        let sealed = name.starts_with(".data.rel.ro");
        // Tables of mruby's `catch` that lack a `const`: nothing writes them.
        let table = name.starts_with(".data.rel.local.catch_reps_");
        // The interpreter whose C code this thread runs, for the signal that stops it.
        let running = name == ".tbss.fg_running";
        assert!(!flags.contains('W') || empty || sealed || table || running, "writable: {name}, {size} bytes, {flags}");
    }
    assert!(sections > 1000, "only {sections} sections");
}
