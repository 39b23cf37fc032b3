//! What a binding adds to a file: less than patchelf does, and next to nothing for a file that is not tiny.
//!
//! Compared with: the sizes of the files, patchelf in four versions, the loader.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "in a test a panic is the failing assertion")]

mod bytes_support;

use bytes_support::{ANSWER, LINKERS, STRATEGIES, bind, library, only};
use underpin_rewrite::{BoundObject, Edits, RewriteOptions, SearchPathEdit};
use underpin_test_support::{Fixture, Output, need, patchelfs, skip};

/// The options of `bind`: the record names what was bound.
fn options(edits: &Edits) -> RewriteOptions {
    let bound = |rename: &underpin_rewrite::Rename| BoundObject {
        name: rename.from.to_string(),
        path: rename.to.to_string(),
        build_id: Some("0123456789abcdef0123456789abcdef01234567".to_owned()),
        size: 907_784,
        modified: 1_700_000_000_123_456_789,
    };
    RewriteOptions { bound: edits.renames.iter().map(bound).collect(), ..RewriteOptions::default() }
}

fn size(dir: &Fixture, name: &str) -> u64 {
    std::fs::metadata(dir.join(name)).unwrap().len()
}

/// By how many bytes the file grows when it is bound, which must be what the rewrite predicts.
fn growth(dir: &Fixture, edits: &Edits) -> u64 {
    let rewrite = bind(dir, "libentry.so", edits, &options(edits)).unwrap();
    let more = size(dir, "bound") - size(dir, "libentry.so");
    assert_eq!(rewrite.cost.file_bytes, more, "{:?}", rewrite.cost);
    more
}

#[test]
fn a_bound_file_grows_less_than_with_any_patchelf() {
    need!("cc", "ld.lld", "ld.gold", "mold", "patchelf");
    let versions = patchelfs();
    if versions.is_empty() {
        return skip("the versions of patchelf are not below target/patchelf");
    }
    for linker in LINKERS {
        let dir = Fixture::new();
        let edits = library(&dir, linker);
        let more = growth(&dir, &edits);
        for (name, patchelf) in &versions {
            dir.copy(dir.join("libentry.so"), "patched");
            for rename in &edits.renames {
                let (from, to) = (rename.from.to_string(), rename.to.to_string());
                dir.must(patchelf.to_str().unwrap(), ["--replace-needed", &from, &to, "patched"]);
            }
            let theirs = size(&dir, "patched") - size(&dir, "libentry.so");
            println!("{linker}: {more}, {name}: {theirs}");
            assert!(more < theirs, "{linker}: {more} bytes more, with {name} {theirs}");
        }
    }
}

#[test]
fn a_file_as_patchelf_leaves_it_grows_by_less_than_a_hundredth() {
    need!("cc", "ld.lld", "ld.gold", "mold", "patchelf");
    let versions = patchelfs();
    if versions.is_empty() {
        return skip("the versions of patchelf are not below target/patchelf");
    }
    for linker in LINKERS {
        for (name, patchelf) in &versions {
            let dir = Fixture::new();
            let edits = library(&dir, linker);
            // Half a megabyte of constants, as a library of that size has code.
            dir.write("large.c", "const unsigned char large[1 << 19] = { 1 };\n");
            dir.cc(["-c", "-fPIC", "-o", "large.o", "large.c"]);
            let script = "-Wl,--version-script=lib.map";
            dir.cc([
                "-shared",
                linker,
                "-fPIC",
                "-fno-builtin",
                "-o",
                "libentry.so",
                "lib.c",
                "large.o",
                "-lm",
                script,
            ]);
            let path = format!("/opt/{}", "prefix/".repeat(20));
            dir.must(patchelf.to_str().unwrap(), ["--force-rpath", "--set-rpath", &path, "libentry.so"]);
            let (more, before) = (growth(&dir, &edits), size(&dir, "libentry.so"));
            println!("{linker}, {name}: {more} of {before}");
            assert!(more * 100 <= before, "{linker}, {name}: {more} bytes more, of {before}");
            std::fs::rename(dir.join("bound"), dir.join("libentry.so")).unwrap();
            let output = Output::of(dir.command(dir.join("user")).env("LD_LIBRARY_PATH", dir.path()));
            assert_eq!(output.code, ANSWER, "{linker}, {name}: {}", output.stderr);
        }
    }
}

/// What slides stays inside the segment that grows for it: strip warns about an allocated section outside of all
/// segments, and the next tool drops it.
#[test]
fn every_allocated_section_lies_in_a_segment_wherever_the_names_go() {
    need!("cc", "ld.lld", "ld.gold", "mold", "strip");
    for linker in LINKERS {
        let dir = Fixture::new();
        // A small library without zeros after its data: everything that follows the string table can slide.
        dir.write("s.c", "#include <stdio.h>\nvoid hear(int n) { printf(\"%d\", n); }\n");
        dir.cc(["-shared", "-fPIC", linker, "-o", "libs.so", "s.c", "-nostartfiles", "-Wl,-z,lazy"]);
        let original = std::fs::read(dir.join("libs.so")).unwrap();
        for strategy in STRATEGIES {
            for (length, without_record) in
                [20, 240, 900, 3000, 5000].into_iter().flat_map(|length| [(length, false), (length, true)])
            {
                let path = format!("/{}", "folder/".repeat(length / 7));
                let edits = Edits { search_path: SearchPathEdit::Rpath(path.into()), ..Edits::default() };
                let options = RewriteOptions { without_record, ..only(strategy) };
                let Ok(rewrite) = underpin_rewrite::bytes::rewrite(&original, &edits, &options) else { continue };
                dir.write("bound", rewrite.apply(&original));
                let stripped = Output::of(dir.command("strip").args(["-o", "stripped", "bound"]));
                let place = format!("{linker} {strategy:?} {length}");
                // Neither outside a segment nor overlapping, which strip would correct by moving them.
                assert_eq!(stripped.stderr, "", "{place}");
                let loaded = Output::of(dir.command("/bin/true").env("LD_PRELOAD", dir.join("stripped")));
                assert_eq!((loaded.code, loaded.stderr.as_str()), (Some(0), ""), "{place}");
            }
        }
    }
}
