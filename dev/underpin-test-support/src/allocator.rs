//! Allocators as other languages link them.

use crate::Fixture;

/// Names of the family that a file may define beside jemalloc's own.
const FAMILY: [&str; 12] = [
    "malloc",
    "calloc",
    "realloc",
    "free",
    "aligned_alloc",
    "memalign",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "malloc_usable_size",
    "malloc_stats_print",
    "reallocarray",
];

/// jemalloc's archive with the names that Rust's bindings give it (`tikv-jemalloc-sys`: `_rjem_`): an archive in the
/// fixture, beside which `malloc` stays the C library's. Returns its name.
///
/// # Panics
/// If `nm` or `objcopy` is missing, or the archive is.
pub fn prefixed_jemalloc(fixture: &Fixture, archive: &str) -> String {
    let listed = fixture.must("nm", ["--defined-only", "--extern-only", archive]);
    let names = listed.lines().filter_map(|line| line.split_whitespace().nth(2));
    let public = |name: &&str| FAMILY.contains(name) || name.starts_with("mallctl") || name.ends_with("allocx");
    let mut renamed: Vec<String> = names.filter(public).map(|name| format!("{name} _rjem_{name}\n")).collect();
    renamed.sort();
    renamed.dedup();
    fixture.write("renamed", renamed.concat());
    let output = "librjem.a".to_owned();
    // What C++ and the C library's own hooks would bind to it is left out: those call malloc.
    fixture.must(
        "objcopy",
        [
            "--redefine-syms=renamed",
            "--wildcard",
            "--localize-symbol=_Z*",
            "--localize-symbol=__libc_*",
            "--localize-symbol=__posix_memalign",
            archive,
            &output,
        ],
    );
    output
}
