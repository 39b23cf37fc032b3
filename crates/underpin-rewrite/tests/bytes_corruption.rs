//! The known ways in which rewriting tools break files, each as a test: the file works, or is refused.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "in a test a panic is the failing assertion")]

mod bytes_support;

use bytes_support::{ANSWER, LINKERS, STRATEGIES, absolute, bind, binds, only, program, works};
use std::path::Path;
use underpin_elf::{Elf, SegmentKind};
use underpin_rewrite::{Caution, Edits, Refusal, Rename, RewriteOptions, SearchPathEdit, Strategy};
use underpin_rewrite::{record, record_of, rewrite, undo};
use underpin_test_support::{Fixture, Output, need, traced_objects};

const ANYWHERE: [Strategy; 2] = [Strategy::DataTail, Strategy::NewSegment];

fn tool(dir: &Fixture, tool: &str, args: &[&str]) {
    dir.must(tool, args);
}

/// The 8 bytes at an offset of a 64-bit little-endian file.
fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

#[test]
fn the_dynamic_section_stays_in_writable_memory() {
    need!("cc", "ld.lld", "ld.gold", "mold");
    for linker in LINKERS {
        let dir = Fixture::new();
        program(&dir, "cc", &[linker]);
        let mut edits = absolute(&dir, "main");
        for entries in [0, 40] {
            // The loader treats a name that occurs twice as one.
            let once: Vec<_> = edits.renames.iter().map(|rename| rename.to.clone()).collect();
            let twice = std::iter::repeat_n(once.first().unwrap().clone(), entries);
            edits.needed = (entries > 0).then(|| once.clone().into_iter().chain(twice).collect());
            for strategy in ANYWHERE {
                bind(&dir, "main", &edits, &only(strategy)).unwrap();
                let elf = Elf::read(std::fs::read(dir.join("bound")).unwrap().as_slice()).unwrap();
                let dynamic = elf.segment(SegmentKind::Dynamic).unwrap();
                let (load, _) = elf.load_of(dynamic.vaddr).unwrap();
                assert!(load.flags.write && !load.flags.execute, "{linker} {strategy:?} {entries}: {load:?}");
                assert_eq!(load.offset.0 + (dynamic.vaddr.0 - load.vaddr.0), dynamic.offset.0, "tools see the same");
                works(&dir, "bound", &edits).unwrap();
            }
        }
    }
}

#[test]
fn a_stripped_file_is_bound_as_well() {
    need!("cc", "strip", "eu-strip", "llvm-strip", "ld.lld");
    for (linker, tool) in [("-fuse-ld=bfd", "strip"), ("-fuse-ld=lld", "llvm-strip"), ("-fuse-ld=lld", "eu-strip")] {
        let dir = Fixture::new();
        program(&dir, "cc", &[linker]);
        dir.must(tool, ["main"]);
        let edits = absolute(&dir, "main");
        for strategy in ANYWHERE {
            assert!(binds(&dir, "main", &edits, strategy), "{linker} {tool} {strategy:?}");
        }
    }
}

#[test]
fn patchelf_bind_strip_and_patchelf_again_leave_a_working_program() {
    need!("cc", "patchelf", "strip");
    for strategy in [Strategy::PagePadding, Strategy::DataTail, Strategy::NewSegment] {
        let dir = Fixture::new();
        program(&dir, "cc", &[]);
        tool(&dir, "patchelf", &["--set-rpath", "/a/path/that/is/new", "main"]);
        let edits = absolute(&dir, "main");
        if !binds(&dir, "main", &edits, strategy) {
            assert!(strategy == Strategy::PagePadding);
            continue;
        }
        tool(&dir, "strip", &["bound"]);
        works(&dir, "bound", &edits).unwrap_or_else(|error| panic!("{strategy:?}, stripped: {error}"));
        // patchelf makes room for program headers in the order of the section table, and stops at a first section that
        // has already been moved (0.14.3). A new segment is the last resort for such reasons.
        if strategy == Strategy::NewSegment {
            continue;
        }
        tool(&dir, "patchelf", &["--set-rpath", "/another/path/that/is/longer/than/the/one/before", "bound"]);
        works(&dir, "bound", &edits).unwrap_or_else(|error| panic!("{strategy:?}, patched: {error}"));
    }
}

#[test]
fn binding_and_undoing_twenty_times_neither_grows_nor_changes_a_byte() {
    need!("cc", "ld.lld");
    for linker in ["-fuse-ld=bfd", "-fuse-ld=lld"] {
        let dir = Fixture::new();
        program(&dir, "cc", &[linker]);
        let edits = absolute(&dir, "main");
        let original = std::fs::read(dir.join("main")).unwrap();
        for strategy in STRATEGIES {
            let Ok(first) = rewrite(&original, &edits, &only(strategy)) else { continue };
            let first = first.apply(&original);
            let mut file = original.clone();
            for _ in 0..20 {
                let bound = rewrite(&file, &edits, &only(strategy)).unwrap().apply(&file);
                assert!(bound == first, "{linker} {strategy:?}: the same wish gives the same bytes");
                file = undo(&bound).unwrap();
            }
            assert!(file == original, "{linker} {strategy:?}");
            // Bound again without undo: refused, or it would grow.
            let other = Rename { from: edits.renames[0].to.clone(), to: "/other".into() };
            let again = Edits { renames: vec![other], ..Edits::default() };
            assert_eq!(rewrite(&first, &again, &only(strategy)), Err(Refusal::AlreadyBound));
        }
    }
}

#[test]
fn hash_tables_and_versions_are_found_when_all_symbols_are_bound_at_once() {
    need!("cc", "ld.lld", "ld.gold", "mold");
    for linker in LINKERS {
        for style in ["gnu", "sysv", "both"] {
            let dir = Fixture::new();
            program(&dir, "cc", &[linker, &format!("-Wl,--hash-style={style}"), "-rdynamic"]);
            let edits = absolute(&dir, "main");
            for strategy in ANYWHERE {
                bind(&dir, "main", &edits, &only(strategy)).unwrap();
                let output = Output::of(dir.command(dir.join("bound")).env("LD_BIND_NOW", "1"));
                assert_eq!(output.code, ANSWER, "{linker} {style} {strategy:?}: {output:?}");
            }
        }
    }
}

#[test]
fn exceptions_unwind_through_a_bound_program() {
    need!("c++", "ld.lld", "ld.gold", "mold");
    for linker in LINKERS {
        let dir = Fixture::new();
        dir.write("main.cc", "#include <stdexcept>\nint main(int n, char **) { try { throw std::runtime_error(\"x\"); } catch (std::exception &e) { return 41 + n; } }\n");
        dir.must("c++", [linker, "-o", "main", "main.cc"]);
        let edits = absolute(&dir, "main");
        for strategy in ANYWHERE {
            bind(&dir, "main", &edits, &only(strategy)).unwrap();
            assert_eq!(Output::of(&mut dir.command(dir.join("bound"))).code, ANSWER, "{linker} {strategy:?}");
        }
    }
}

#[test]
fn a_file_without_a_section_table_is_bound_and_its_record_found() {
    need!("cc", "llvm-objcopy");
    let dir = Fixture::new();
    program(&dir, "cc", &[]);
    tool(&dir, "llvm-objcopy", &["--strip-sections", "main"]);
    let edits = absolute(&dir, "main");
    for strategy in [Strategy::PagePadding, Strategy::DataTail, Strategy::NewSegment] {
        let rewrite = bind(&dir, "main", &edits, &only(strategy)).unwrap();
        works(&dir, "bound", &edits).unwrap_or_else(|error| panic!("{strategy:?}: {error}"));
        assert!(rewrite.cautions.contains(&Caution::Unregistered));
        assert!(!rewrite.cautions.contains(&Caution::TableMoved), "{strategy:?}");
    }
}

/// As in chromium's builds: according to the header, the section table is where the file has already ended.
#[test]
fn a_section_table_out_of_bounds_is_left_as_it_is() {
    need!("cc", "llvm-objcopy");
    let dir = Fixture::new();
    program(&dir, "cc", &[]);
    let whole = std::fs::read(dir.join("main")).unwrap();
    tool(&dir, "llvm-objcopy", &["--strip-sections", "main"]);
    let mut cut = std::fs::read(dir.join("main")).unwrap();
    cut[40..48].copy_from_slice(&0x7fff_ffff_u64.to_le_bytes());
    cut[58..64].copy_from_slice(&[64, 0, 30, 0, 29, 0]);
    dir.write("main", &cut);
    let edits = absolute(&dir, "main");
    for strategy in [Strategy::PagePadding, Strategy::DataTail, Strategy::NewSegment] {
        bind(&dir, "main", &edits, &only(strategy)).unwrap();
        works(&dir, "bound", &edits).unwrap_or_else(|error| panic!("{strategy:?}: {error}"));
        assert_eq!(word(&std::fs::read(dir.join("bound")).unwrap(), 40), 0x7fff_ffff);
    }
    // It is unknown what bytes after the segments belong to.
    let mut garbage = whole;
    garbage[40..48].copy_from_slice(&0x7fff_ffff_u64.to_le_bytes());
    assert!(matches!(rewrite(&garbage, &edits, &RewriteOptions::default()), Err(Refusal::Payload { .. })));
}

#[test]
fn a_section_table_without_dynamic_is_no_obstacle() {
    need!("cc", "readelf");
    let dir = Fixture::new();
    program(&dir, "cc", &[]);
    let mut bytes = std::fs::read(dir.join("main")).unwrap();
    let table = usize::try_from(word(&bytes, 40)).unwrap();
    let count = usize::from(u16::from_le_bytes(bytes[60..62].try_into().unwrap()));
    let dynamic = (0..count).map(|at| table + at * 64).find(|at| bytes[at + 4..at + 8] == [6, 0, 0, 0]).unwrap();
    bytes[dynamic + 4] = 1;
    dir.write("main", &bytes);
    let edits = absolute(&dir, "main");
    for strategy in [Strategy::PagePadding, Strategy::DataTail, Strategy::NewSegment] {
        assert!(binds(&dir, "main", &edits, strategy), "{strategy:?}");
    }
}

#[test]
fn a_program_of_gos_own_linker_is_bound() {
    need!("go", "readelf");
    let dir = Fixture::new();
    dir.write(
        "main.go",
        "package main\n// #include <stdio.h>\n// #include <stdlib.h>\n// static void say(void) { puts(\"stopped\"); exit(42); }\n\
         import \"C\"\nfunc main() { C.say() }\n",
    );
    let mut build = dir.command("go");
    build.args(["build", "-ldflags=-linkmode=internal", "-o", "main", "main.go"]);
    build.env("GO111MODULE", "off").env("CGO_ENABLED", "1");
    let output = Output::of(&mut build);
    assert_eq!(output.code, Some(0), "{output:?}");
    let edits = absolute(&dir, "main");
    let found: Vec<Strategy> =
        STRATEGIES.into_iter().filter(|strategy| binds(&dir, "main", &edits, *strategy)).collect();
    println!("{found:?}");
    assert!(found.contains(&Strategy::NewSegment), "{found:?}");
}

#[test]
fn this_very_test_program_is_bound() {
    need!("readelf");
    let dir = Fixture::new();
    dir.copy(std::env::current_exe().unwrap(), "main");
    let edits = absolute(&dir, "main");
    for strategy in ANYWHERE {
        bind(&dir, "main", &edits, &only(strategy)).unwrap();
        let output = Output::of(dir.command(dir.join("bound")).arg("--list"));
        assert!(output.stdout.contains("this_very_test_program_is_bound"), "{strategy:?}: {output:?}");
    }
}

#[test]
fn zeros_of_many_pages_are_not_written_out() {
    need!("cc", "ld.lld");
    let dir = Fixture::new();
    dir.write("main.c", "static char zeros[1 << 22]; int main(int n, char **v) { return 41 + n + zeros[n << 12]; }\n");
    dir.cc(["-fuse-ld=lld", "-o", "main", "main.c"]);
    let edits = absolute(&dir, "main");
    assert_eq!(
        bind(&dir, "main", &edits, &only(Strategy::DataTail)).unwrap_err(),
        Refusal::NoRoom { strategy: Strategy::DataTail }
    );
    let rewrite = bind(&dir, "main", &edits, &RewriteOptions::default()).unwrap();
    assert_eq!((rewrite.cost.segments, rewrite.cost.read_calls), (1, 0));
    assert!(rewrite.appended.len() < 32 << 10 && rewrite.cautions.is_empty(), "{rewrite:?}");
    assert_eq!(Output::of(&mut dir.command(dir.join("bound"))).code, ANSWER);
}

/// Zeros after the last page of the file's content have a mapping of their own; in the file they need none.
#[test]
fn names_behind_the_data_save_the_mapping_of_its_zeros() {
    need!("cc", "ld.lld", "strace");
    let dir = Fixture::new();
    dir.write(
        "lib.c",
        "double cos(double); static char zeros[20000]; int entry(int n) { return (int)cos(n) + zeros[n]++; }\n",
    );
    dir.cc(["-fuse-ld=lld", "-shared", "-fPIC", "-fno-builtin", "-o", "lib.so", "lib.c", "-lm"]);
    dir.write("main.c", "int entry(int); int main(void) { return 41 + entry(0); }\n");
    dir.cc(["-o", "main", "main.c", "lib.so", "-Wl,-rpath,$ORIGIN"]);
    let to = traced_objects(&dir.join("main"), &[]).unwrap();
    let libm = to.iter().find(|object| object.name == "libm.so.6").unwrap().path.clone().unwrap();
    let renames = vec![Rename { from: "libm.so.6".into(), to: libm.to_str().unwrap().into() }];
    let edits = Edits { renames, ..Edits::default() };
    let calls = || {
        let output = Output::of(dir.command("strace").args(["-e", "trace=mmap,pread64"]).arg(dir.join("main")));
        assert_eq!(output.code, ANSWER, "{output:?}");
        i32::try_from(output.stderr.lines().filter(|line| line.contains('(') && !line.starts_with("+++")).count())
            .unwrap()
    };
    let before = calls();
    let original = std::fs::read(dir.join("lib.so")).unwrap();
    for strategy in ANYWHERE {
        let rewrite = rewrite(&original, &edits, &only(strategy)).unwrap();
        dir.write("lib.so", rewrite.apply(&original));
        let predicted = rewrite.cost.mmap_calls + i32::try_from(rewrite.cost.read_calls).unwrap();
        assert_eq!(calls() - before, predicted, "{strategy:?}: {:?}", rewrite.cost);
        assert_eq!(predicted < 0, strategy == Strategy::DataTail);
    }
}

fn refused(dir: &Fixture, file: &str) -> Refusal {
    let edits = Edits { search_path: SearchPathEdit::Runpath("/new".into()), ..Edits::default() };
    rewrite(&std::fs::read(dir.join(file)).unwrap(), &edits, &RewriteOptions::default()).unwrap_err()
}

#[test]
fn what_loads_nothing_is_refused() {
    need!("cc");
    let dir = Fixture::new();
    dir.write("main.c", "int main(void) { return 42; }\n");
    for (flag, refusal) in
        [("-static", Refusal::Static), ("-static-pie", Refusal::StaticPie), ("-c", Refusal::NotLoadable)]
    {
        dir.cc([flag, "-o", "main", "main.c"]);
        assert_eq!(refused(&dir, "main"), refusal, "{flag}");
    }
}

#[test]
fn a_payload_behind_the_end_is_refused_and_zeros_are_none() {
    need!("cc");
    let dir = Fixture::new();
    program(&dir, "cc", &[]);
    let original = std::fs::read(dir.join("main")).unwrap();
    let end = original.len() as u64;
    dir.write("packed", [original.as_slice(), b"PK\x03\x04 the program reads this from its own end"].concat());
    match refused(&dir, "packed") {
        Refusal::Payload { offset, size } => assert_eq!((offset.0, size), (end, 44)),
        other => panic!("{other}"),
    }
    dir.write("main", [original.as_slice(), &[0; 100]].concat());
    assert!(binds(&dir, "main", &absolute(&dir, "main"), Strategy::DataTail));
}

#[test]
fn signed_and_prelinked_files_are_refused() {
    need!("cc", "objcopy");
    let dir = Fixture::new();
    program(&dir, "cc", &[]);
    let original = std::fs::read(dir.join("main")).unwrap();
    dir.write("module", [original.as_slice(), b"....~Module signature appended~\n"].concat());
    assert!(matches!(refused(&dir, "module"), Refusal::Signed { .. }));
    dir.write("signature", "signed");
    tool(&dir, "objcopy", &["--add-section", ".sig=signature", "main", "signed"]);
    assert!(matches!(refused(&dir, "signed"), Refusal::Signed { .. }));
    // The first spare entry becomes DT_GNU_PRELINKED.
    let elf = Elf::read(original.as_slice()).unwrap();
    let dynamic = elf.segment(SegmentKind::Dynamic).unwrap();
    let start = usize::try_from(dynamic.offset.0).unwrap();
    let spare = (start..).step_by(16).find(|at| word(&original, *at) == 0).unwrap();
    let mut prelinked = original;
    prelinked[spare..spare + 8].copy_from_slice(&0x6fff_fdf5_u64.to_le_bytes());
    dir.write("prelinked", prelinked);
    assert_eq!(refused(&dir, "prelinked"), Refusal::Prelinked);
}

#[test]
fn a_damaged_or_newer_record_is_said_to_be_so() {
    need!("cc");
    let dir = Fixture::new();
    program(&dir, "cc", &[]);
    bind(&dir, "main", &absolute(&dir, "main"), &RewriteOptions::default()).unwrap();
    let bound = std::fs::read(dir.join("bound")).unwrap();
    assert_eq!(record_of(bound.as_slice()), record(&bound));
    let magic = b"underpin.bound/2";
    let at = bound.windows(magic.len()).rposition(|window| window == magic).unwrap();
    let with = |offset: usize, byte: u8| {
        let mut changed = bound.clone();
        changed[at + offset] = byte;
        changed
    };
    assert!(record(&with(15, b'3')).unwrap_err().to_string().contains("underpin.binding/3"));
    // Its length, before the magic.
    let mut changed = bound.clone();
    changed[at - 8] ^= 1;
    assert!(record(&changed).unwrap_err().to_string().contains("damaged"));
    // A byte of the program itself: the record is valid, but the original cannot be restored.
    let mut changed = bound.clone();
    changed[0x200] ^= 1;
    assert!(undo(&changed).unwrap_err().to_string().contains("changed after it was bound"));
    assert!(undo(&std::fs::read(dir.join("main")).unwrap()).unwrap_err().to_string().contains("not bound"));
    assert!(Path::new(&dir.join("bound")).exists());
}

/// As written by underpin 0.1.0: JSON, its length, and another magic, at the end of the file.
#[test]
fn a_record_of_the_first_schema_is_read_and_undone() {
    need!("cc");
    let dir = Fixture::new();
    program(&dir, "cc", &[]);
    let original = std::fs::read(dir.join("main")).unwrap();
    let digest = dir.must("sha256sum", ["main"]);
    let (digest, size) = (digest.split_whitespace().next().unwrap(), original.len());
    let json = format!(
        "{{\"schema\":\"underpin.binding/1\",\"original_size\":{size},\"original_sha256\":\"{digest}\",\
         \"inverse\":[{{\"offset\":9,\"bytes\":\"\",\"len\":2}}],\
         \"bound\":[{{\"name\":\"liba.so\",\"path\":\"/lib/liba.so\",\"size\":3,\"modified\":4}}]}}"
    );
    let mut bound = original.clone();
    bound[9..11].copy_from_slice(b"xy");
    bound.extend(json.as_bytes());
    bound.extend((json.len() as u64).to_le_bytes());
    bound.extend(b"underpin.binding");
    let read = record(&bound).unwrap().unwrap();
    assert_eq!((read.schema.as_str(), read.bound[0].path.as_str()), ("underpin.binding/1", "/lib/liba.so"));
    assert!(undo(&bound).unwrap() == original);
    let edits = absolute(&dir, "main");
    assert_eq!(rewrite(&bound, &edits, &RewriteOptions::default()), Err(Refusal::AlreadyBound));
}
