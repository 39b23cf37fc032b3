//! Each placement of names, on files of each linker: the real loader must accept the new paths, and undo must restore
//! every byte.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "in a test a panic is the failing assertion")]

mod bytes_support;

use bytes_support::{ANSWER, LINKERS, STRATEGIES, absolute, bind, binds, only, program, works};
use std::collections::BTreeSet;
use underpin_elf::Elf;
use underpin_rewrite::{Edits, Names, Refusal, Rename, RewriteOptions, SearchPathEdit, Strategy, rewrite};
use underpin_test_support::{Fixture, Output, need, traced_objects};

/// A search path long enough for the names to fit into its bytes.
fn long_path() -> String {
    format!("-Wl,-rpath,/{}", ["none"; 60].join(":/"))
}

/// Builds with the flags, tries every strategy, and returns those that had room.
fn tried(compiler: &str, flags: &[&str], edit: SearchPathEdit) -> BTreeSet<Strategy> {
    let dir = Fixture::new();
    program(&dir, compiler, flags);
    let edits = Edits { search_path: edit, ..absolute(&dir, "main") };
    assert_eq!(edits.renames.len(), 3, "{edits:?}");
    let found: BTreeSet<Strategy> =
        STRATEGIES.into_iter().filter(|strategy| binds(&dir, "main", &edits, *strategy)).collect();
    println!("{compiler} {flags:?}: {found:?}");
    let chosen = bind(&dir, "main", &edits, &RewriteOptions::default()).unwrap();
    works(&dir, "bound", &edits).unwrap();
    assert_eq!(chosen.cost.segments > 0, found == BTreeSet::from([Strategy::NewSegment]), "{flags:?}: {chosen:?}");
    found
}

const ANYWHERE: [Strategy; 2] = [Strategy::DataTail, Strategy::NewSegment];
const PADDED: [Strategy; 3] = [Strategy::PagePadding, Strategy::DataTail, Strategy::NewSegment];

/// What has room in files that GNU ld links: at a fixed address the string table stays on its page, or patchelf, run
/// later, breaks the program (shown by `bytes_matrix`).
fn expected(flags: &[&str], anywhere: &[Strategy]) -> BTreeSet<Strategy> {
    let pinned = flags.contains(&"-no-pie") && !flags.contains(&"-Wl,-z,noseparate-code");
    if pinned { BTreeSet::from([Strategy::PagePadding]) } else { anywhere.iter().copied().collect() }
}

#[test]
fn padding_tail_and_segment_hold_names_in_what_gnu_ld_links() {
    need!("cc", "readelf");
    let variants = [
        &["-pie"][..],
        &["-no-pie"],
        &["-Wl,-z,noseparate-code"],
        &["-no-pie", "-Wl,-z,noseparate-code"],
        &["-Wl,-z,max-page-size=0x10000"],
        &["-Wl,-z,norelro"],
        &["-Wl,-z,now"],
        &["-Wl,-z,pack-relative-relocs"],
        &["-Wl,--hash-style=sysv"],
    ];
    for flags in variants {
        assert_eq!(tried("cc", flags, SearchPathEdit::Keep), expected(flags, &PADDED), "{flags:?}");
    }
}

#[test]
fn tail_and_segment_hold_names_for_every_linker() {
    need!("cc", "readelf", "ld.lld", "ld.gold", "mold");
    for linker in LINKERS {
        for flags in [&["-pie"][..], &["-no-pie"], &["-Wl,-z,norelro"], &["-Wl,-z,max-page-size=0x10000"]] {
            let found = tried("cc", &[&[linker], flags].concat(), SearchPathEdit::Keep);
            let anywhere = if linker == "-fuse-ld=bfd" { expected(flags, &ANYWHERE) } else { BTreeSet::from(ANYWHERE) };
            assert!(found.is_superset(&anywhere), "{linker} {flags:?}: {found:?}");
        }
    }
}

#[test]
fn thirty_two_bit_files_are_bound_alike() {
    need!("cc", "readelf", "/lib/ld-linux.so.2", "/usr/lib32/libc.so.6", "ld.lld");
    for flags in [&["-m32"][..], &["-m32", "-no-pie"], &["-m32", "-fuse-ld=lld"], &["-m32", "-fuse-ld=gold"]] {
        let found = tried("cc", flags, SearchPathEdit::Keep);
        assert!(found.is_superset(&expected(flags, &ANYWHERE)), "{flags:?}: {found:?}");
    }
}

#[test]
fn a_dead_search_path_gives_its_bytes_to_the_names() {
    need!("cc", "readelf", "ld.lld", "ld.gold", "mold");
    let path = long_path();
    for linker in LINKERS {
        let found = tried("cc", &[linker, &path], SearchPathEdit::Dead);
        assert!(found.contains(&Strategy::DeadStrings), "{linker}: {found:?}");
    }
    let dir = Fixture::new();
    program(&dir, "cc", &["-fuse-ld=lld", &path]);
    let edits = Edits { search_path: SearchPathEdit::Dead, ..absolute(&dir, "main") };
    let rewrite = bind(&dir, "main", &edits, &RewriteOptions::default()).unwrap();
    assert!(rewrite.placed.iter().all(|placed| placed.strategy == Strategy::DeadStrings));
    assert_eq!(rewrite.cost.mapped_bytes, 0);
    // An entry whose bytes are gone would still be searched.
    let headers = dir.must("readelf", ["-dW", "bound"]);
    assert!(!headers.contains("RUNPATH") && !headers.contains("RPATH"), "{headers}");
    // A path that is kept is not dead.
    let kept = Edits { search_path: SearchPathEdit::Keep, ..edits };
    assert!(!binds(&dir, "main", &kept, Strategy::DeadStrings));
}

#[test]
fn musl_programs_are_bound_alike() {
    need!("musl-gcc", "readelf", "/lib/ld-musl-x86_64.so.1");
    let dir = Fixture::new();
    program(&dir, "musl-gcc", &[]);
    let to = dir.join("libdep.so.1").to_str().unwrap().to_owned();
    let edits =
        Edits { renames: vec![Rename { from: "libdep.so.1".into(), to: to.as_str().into() }], ..Edits::default() };
    for strategy in PADDED {
        bind(&dir, "main", &edits, &only(strategy)).unwrap();
        let objects = traced_objects(&dir.join("bound"), &[]).unwrap();
        assert!(objects.iter().any(|object| object.path.as_deref() == Some(to.as_ref())), "{strategy:?}: {objects:?}");
        assert_eq!(Output::of(&mut dir.command(dir.join("bound"))).code, ANSWER, "{strategy:?}");
    }
}

#[test]
fn a_flattened_list_keeps_its_order_whether_the_dynamic_section_has_room_or_not() {
    need!("cc", "readelf", "ld.lld", "ld.gold", "mold");
    for linker in LINKERS {
        let dir = Fixture::new();
        program(&dir, "cc", &[linker]);
        let mut edits = absolute(&dir, "main");
        let mut closure: Vec<String> = edits.renames.iter().map(|rename| rename.to.to_string()).collect();
        for at in 0..20 {
            let name = format!("lib{at}.so");
            dir.write("leaf.c", format!("int leaf_{at};\n"));
            dir.cc(["-shared", "-fPIC", "-o", &name, "leaf.c"]);
            closure.push(dir.join(&name).to_str().unwrap().to_owned());
        }
        edits.needed = Some(closure.iter().map(|path| path.as_str().into()).collect());
        edits.search_path = SearchPathEdit::Runpath("/none".into());
        for strategy in ANYWHERE {
            bind(&dir, "main", &edits, &only(strategy)).unwrap();
            works(&dir, "bound", &edits).unwrap();
            let objects = traced_objects(&dir.join("bound"), &[]).unwrap();
            let order: Vec<String> =
                objects.into_iter().filter_map(|object| Some(object.path?.to_str()?.to_owned())).collect();
            assert_eq!(order.get(..closure.len()), Some(closure.as_slice()), "{linker} {strategy:?}");
            assert!(dir.must("readelf", ["-dW", "bound"]).contains("Library runpath: [/none]"));
        }
        let refusal = bind(&dir, "main", &edits, &only(Strategy::PagePadding)).unwrap_err();
        assert!(matches!(refusal, Refusal::DynamicFull { .. } | Refusal::NoRoom { .. }), "{refusal}");
        assert_eq!(bind(&dir, "main", &edits, &RewriteOptions::default()).unwrap().cost.segments, 0, "{linker}");
    }
}

#[test]
fn a_search_path_is_set_changed_or_removed() {
    need!("cc", "readelf");
    let dir = Fixture::new();
    program(&dir, "cc", &["-Wl,--disable-new-dtags", "-Wl,-rpath,/first"]);
    let paths = |edit: SearchPathEdit| {
        let edits = Edits { search_path: edit, ..absolute(&dir, "main") };
        bind(&dir, "main", &edits, &RewriteOptions::default()).unwrap();
        works(&dir, "bound", &edits).unwrap();
        let text = dir.must("readelf", ["-dW", "bound"]);
        let lines = text.lines().filter(|line| line.contains("PATH)"));
        lines.map(|line| line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(paths(SearchPathEdit::Keep), ["(RPATH) Library rpath: [/first]"]);
    assert_eq!(paths(SearchPathEdit::Remove), [""; 0]);
    assert_eq!(paths(SearchPathEdit::Runpath("/second".into())), ["(RUNPATH) Library runpath: [/second]"]);
    assert_eq!(paths(SearchPathEdit::Runpath("/first".into())), ["(RUNPATH) Library runpath: [/first]"]);
    assert_eq!(paths(SearchPathEdit::Rpath("/third".into())), ["(RPATH) Library rpath: [/third]"]);
}

#[test]
fn a_version_of_a_library_that_is_not_needed_is_renamed_as_well() {
    need!("cc", "patchelf");
    let dir = Fixture::new();
    program(&dir, "cc", &[]);
    dir.must("patchelf", ["--remove-needed", "libdep.so.1", "main"]);
    let library = dir.join("libdep.so.1").to_str().unwrap().to_owned();
    let names = Names::read(&std::fs::read(dir.join("main")).unwrap()).unwrap();
    assert!(names.version_files.contains(&"libdep.so.1".into()) && !names.needed.contains(&"libdep.so.1".into()));
    let edits = Edits {
        renames: vec![Rename { from: "libdep.so.1".into(), to: library.as_str().into() }],
        needed: Some([&[library.as_str().into()], names.needed.as_slice()].concat()),
        ..Edits::default()
    };
    bind(&dir, "main", &edits, &RewriteOptions::default()).unwrap();
    works(&dir, "bound", &edits).unwrap();
}

#[test]
fn what_is_already_as_wished_for_is_not_rewritten() {
    need!("cc");
    let dir = Fixture::new();
    program(&dir, "cc", &[]);
    let original = std::fs::read(dir.join("main")).unwrap();
    let absent = Rename { from: "libabsent.so".into(), to: "/libabsent.so".into() };
    let same = Rename { from: "libm.so.6".into(), to: "libm.so.6".into() };
    let elf = Elf::read(original.as_slice()).unwrap();
    let needed = elf.dynamic.unwrap().needed;
    for edits in [
        Edits::default(),
        Edits { renames: vec![absent, same], ..Edits::default() },
        Edits { needed: Some(needed), ..Edits::default() },
        Edits { search_path: SearchPathEdit::Remove, ..Edits::default() },
    ] {
        let rewrite = rewrite(&original, &edits, &RewriteOptions::default()).unwrap();
        assert!(rewrite.is_empty() && rewrite.apply(&original) == original, "{edits:?}: {rewrite:?}");
    }
}

#[test]
fn a_string_that_the_table_holds_is_used_where_it_stands() {
    need!("cc", "readelf");
    let dir = Fixture::new();
    program(&dir, "cc", &["-Wl,-rpath,/none:/usr/lib/x86_64-linux-gnu/libm.so.6"]);
    let to = "/usr/lib/x86_64-linux-gnu/libm.so.6";
    let edits = Edits { renames: vec![Rename { from: "libm.so.6".into(), to: to.into() }], ..Edits::default() };
    let rewrite = bind(&dir, "main", &edits, &RewriteOptions::default()).unwrap();
    assert!(rewrite.placed.is_empty(), "{:?}", rewrite.placed);
    let loaded = traced_objects(&dir.join("bound"), &[("LD_LIBRARY_PATH", dir.text())]).unwrap();
    assert!(loaded.iter().any(|object| object.path.as_deref() == Some(to.as_ref())), "{loaded:?}");
}
