//! Other tools on bound files: strip and objcopy keep the names, linkers link against them, readers read them.
//!
//! Checked by the tools' own exit codes, then by the loader and the program's answer.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "in a test a panic is the failing assertion")]

mod bytes_support;

use bytes_support::{ANSWER, LINKERS, absolute, bind, library, only, program, works};
use underpin_rewrite::{Edits, RewriteOptions, Strategy, UndoError, record, undo};
use underpin_test_support::{Fixture, Output, need};

const PLACES: [Strategy; 3] = [Strategy::PagePadding, Strategy::DataTail, Strategy::NewSegment];
/// Tools that remove symbols or sections, or write the file again.
const TOOLS: [&[&str]; 8] = [
    &["strip"],
    &["strip", "-g"],
    &["strip", "--strip-unneeded"],
    &["eu-strip"],
    &["llvm-strip"],
    &["llvm-strip", "-g"],
    &["objcopy"],
    &["llvm-objcopy"],
];

fn apply(dir: &Fixture, tool: &[&str], file: &str) -> Output {
    Output::of(dir.command(tool[0]).args(&tool[1..]).arg(dir.join(file)))
}

#[test]
fn what_strips_or_copies_a_bound_program_leaves_it_bound() {
    need!("cc", "ld.lld", "ld.gold", "mold", "strip", "eu-strip", "llvm-strip", "llvm-objcopy");
    for linker in LINKERS {
        let dir = Fixture::new();
        program(&dir, "cc", &[linker, "-g"]);
        let edits = absolute(&dir, "main");
        for place in PLACES {
            if bind(&dir, "main", &edits, &only(place)).is_err() {
                assert!(place == Strategy::PagePadding, "{linker}: no room for {place:?}");
                continue;
            }
            let bound = std::fs::read(dir.join("bound")).unwrap();
            for tool in TOOLS {
                dir.write("bound", &bound);
                let output = apply(&dir, tool, "bound");
                assert_eq!(output.code, Some(0), "{linker} {place:?} {tool:?}: {}", output.stderr);
                works(&dir, "bound", &edits).unwrap_or_else(|error| panic!("{linker} {place:?} {tool:?}: {error}"));
                let text = dir.must("readelf", ["-dW", "bound"]);
                let named = edits.renames.iter().filter(|rename| text.contains(&rename.to.to_string())).count();
                assert_eq!(named, 3, "{linker} {place:?} {tool:?}: readelf prints\n{text}");
            }
        }
    }
}

#[test]
fn names_in_padding_that_no_section_covers_are_lost_to_strip() {
    need!("cc", "strip");
    let dir = Fixture::new();
    program(&dir, "cc", &[]);
    let edits = absolute(&dir, "main");
    bind(&dir, "main", &edits, &RewriteOptions { without_sections: true, ..only(Strategy::PagePadding) }).unwrap();
    works(&dir, "bound", &edits).unwrap();
    assert_eq!(apply(&dir, &["strip"], "bound").code, Some(0));
    assert!(works(&dir, "bound", &edits).is_err(), "then the section is not needed any more");
}

#[test]
fn undo_says_that_a_stripped_file_was_changed() {
    need!("cc", "strip");
    let dir = Fixture::new();
    program(&dir, "cc", &[]);
    bind(&dir, "main", &absolute(&dir, "main"), &RewriteOptions::default()).unwrap();
    assert_eq!(apply(&dir, &["strip"], "bound").code, Some(0));
    let stripped = std::fs::read(dir.join("bound")).unwrap();
    assert!(record(&stripped).unwrap().is_some(), "strip keeps the record");
    assert_eq!(undo(&stripped), Err(UndoError::Changed));
}

#[test]
fn every_linker_links_against_a_bound_library() {
    need!("cc", "ld.lld", "ld.gold", "mold");
    for made_by in LINKERS {
        let dir = Fixture::new();
        let edits = library(&dir, made_by);
        for place in PLACES {
            let Ok(rewrite) = bind(&dir, "libentry.so", &edits, &only(place)) else {
                assert!(place == Strategy::PagePadding, "{made_by}: no room for {place:?}");
                continue;
            };
            if place == Strategy::PagePadding {
                assert!(rewrite.placed.len() == edits.renames.len() && rewrite.patches.len() > 1);
                let sections = dir.must("readelf", ["-SW", "bound"]);
                assert!(!sections.contains(".underpin.dynstr"), "a copy of the table was not needed:\n{sections}");
            }
            std::fs::create_dir_all(dir.join("linked")).unwrap();
            std::fs::rename(dir.join("bound"), dir.join("linked/libentry.so")).unwrap();
            for linker in LINKERS {
                let path = format!("-Wl,-rpath,{}", dir.join("linked").display());
                dir.cc([linker, "-o", "linked/user", "user.c", "linked/libentry.so", &path]);
                let output = Output::of(&mut dir.command(dir.join("linked/user")));
                assert_eq!(output.code, ANSWER, "{made_by} {place:?}, linked by {linker}: {}", output.stderr);
            }
        }
    }
}

#[test]
fn every_reader_prints_the_new_names() {
    need!("cc", "readelf", "objdump", "eu-readelf", "llvm-readelf", "patchelf", "nm");
    let readers: [&[&str]; 5] = [
        &["readelf", "-dW"],
        &["objdump", "-p"],
        &["eu-readelf", "-d"],
        &["llvm-readelf", "-d"],
        &["patchelf", "--print-needed"],
    ];
    let dir = Fixture::new();
    let edits = library(&dir, "-fuse-ld=bfd");
    for place in PLACES {
        bind(&dir, "libentry.so", &edits, &only(place)).unwrap();
        for reader in readers {
            let output = apply(&dir, reader, "bound");
            for rename in &edits.renames {
                assert!(output.stdout.contains(&rename.to.to_string()), "{place:?} {reader:?}: {output:?}");
            }
        }
        // Symbols with their versions are found as before.
        let symbols = |file: &str| dir.must("nm", ["-D", file]);
        assert_eq!(symbols("bound"), symbols("libentry.so"), "{place:?}");
    }
}

#[test]
fn a_file_bound_stripped_and_bound_again_works_and_has_one_record() {
    need!("cc", "strip", "readelf");
    let dir = Fixture::new();
    let edits = library(&dir, "-fuse-ld=bfd");
    let back: Vec<_> = edits
        .renames
        .iter()
        .map(|rename| underpin_rewrite::Rename { from: rename.to.clone(), to: rename.from.clone() })
        .collect();
    bind(&dir, "libentry.so", &edits, &only(Strategy::PagePadding)).unwrap();
    for round in 0..6 {
        assert_eq!(apply(&dir, &["strip"], "bound").code, Some(0));
        std::fs::rename(dir.join("bound"), dir.join("again")).unwrap();
        let renames = if round % 2 == 0 { back.clone() } else { edits.renames.clone() };
        bind(&dir, "again", &Edits { renames, ..Edits::default() }, &RewriteOptions::default()).unwrap();
        let sections = dir.must("readelf", ["-SW", "bound"]);
        assert_eq!(sections.matches(".underpin.binding").count(), 1, "{sections}");
        assert_eq!(sections.matches(" .dynstr").count(), 1, "{sections}");
        dir.copy(dir.join("bound"), "libentry.so");
        let output = Output::of(dir.command(dir.join("user")).env("LD_LIBRARY_PATH", dir.path()));
        assert_eq!(output.code, ANSWER, "round {round}: {}", output.stderr);
    }
}
