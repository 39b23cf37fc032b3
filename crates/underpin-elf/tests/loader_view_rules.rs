//! One test for each rule of the loader's view, on files written byte by byte.

#[path = "common/synthetic.rs"]
mod synthetic;

use std::cell::Cell;
use std::io;
use synthetic::Synthetic;
use underpin_elf::{Class, DependencyTag, Elf, Endian, Fault, FileOffset, Source};

const NEEDED: u64 = 1;
const SONAME: u64 = 14;
const RPATH: u64 = 15;
const RUNPATH: u64 = 29;
const FLAGS_1: u64 = 0x6fff_fffb;
const AUXILIARY: u64 = 0x7fff_fffd;
const FILTER: u64 = 0x7fff_ffff;

fn fault_of(bytes: &[u8]) -> (Fault, u64) {
    let error = Elf::read(bytes).expect_err("this file is malformed");
    (error.fault, error.offset.0)
}

#[test]
fn all_four_layouts_are_read_alike() {
    for (wide, big) in [(true, false), (true, true), (false, false), (false, true)] {
        let mut file = Synthetic { wide, big, ..Synthetic::default() };
        file.interpreter = Some(b"/lib/ld.so.1\0".to_vec());
        file.named(NEEDED, "liba.so.1").named(SONAME, "libself.so").named(RUNPATH, "$ORIGIN");
        file.dynamic.push((FLAGS_1, 0x0800_0001));
        let elf = Elf::read(&file.build()).expect("a good file");
        assert_eq!(elf.ident.class, if wide { Class::Elf64 } else { Class::Elf32 });
        assert_eq!(elf.ident.endian, if big { Endian::Big } else { Endian::Little });
        assert_eq!(elf.interpreter, Some("/lib/ld.so.1".into()));
        let dynamic = elf.dynamic.expect("it has a dynamic section");
        assert_eq!(dynamic.needed, ["liba.so.1"]);
        assert_eq!((dynamic.soname, dynamic.runpath), (Some("libself.so".into()), Some("$ORIGIN".into())));
        assert!(dynamic.flags.pie() && dynamic.bind_now && !dynamic.text_relocations);
    }
}

#[test]
fn the_last_of_duplicate_tags_wins() {
    let mut file = Synthetic::default();
    file.named(SONAME, "first").named(SONAME, "last").named(RPATH, "/a").named(RPATH, "/b");
    let dynamic = Elf::read(&file.build()).expect("a good file").dynamic.expect("dynamic");
    assert_eq!(dynamic.soname, Some("last".into()));
    assert_eq!(dynamic.rpath, Some("/b".into()));
}

#[test]
fn dependencies_keep_their_order_across_tags_and_their_duplicates() {
    let mut file = Synthetic::default();
    file.named(NEEDED, "a").named(AUXILIARY, "x").named(NEEDED, "b").named(FILTER, "f").named(NEEDED, "a");
    let dynamic = Elf::read(&file.build()).expect("a good file").dynamic.expect("dynamic");
    assert_eq!(dynamic.needed, ["a", "b", "a"]);
    use DependencyTag::{Auxiliary, Filter, Needed};
    let expected = [(Needed, "a"), (Auxiliary, "x"), (Needed, "b"), (Filter, "f"), (Needed, "a")];
    assert_eq!(dynamic.dependencies, expected.map(|(tag, name)| (tag, name.into())));
}

#[test]
fn strings_longer_than_one_read_are_complete() {
    let mut file = Synthetic::default();
    let long = "/a/long/directory:".repeat(3000);
    file.named(NEEDED, "near").named(RUNPATH, &long).named(SONAME, "far");
    let dynamic = Elf::read(&file.build()).expect("a good file").dynamic.expect("dynamic");
    assert_eq!(dynamic.runpath, Some(long.into()));
    assert_eq!((dynamic.soname, dynamic.needed), (Some("far".into()), vec!["near".into()]));
}

#[test]
fn a_string_table_size_that_is_too_small_does_not_matter() {
    let mut file = Synthetic::default();
    file.named(NEEDED, "liba.so.1");
    file.dynamic.push((10, 1));
    let dynamic = Elf::read(&file.build()).expect("loaders ignore DT_STRSZ").dynamic.expect("dynamic");
    assert_eq!(dynamic.needed, ["liba.so.1"]);
}

#[test]
fn junk_is_refused_with_its_offset() {
    assert_eq!(fault_of(b"#!/bin/sh\n"), (Fault::BadMagic, 0));
    assert_eq!(fault_of(b""), (Fault::Truncated { what: "the ELF header" }, 0));
    assert_eq!(fault_of(b"\x7fEL"), (Fault::Truncated { what: "the ELF header" }, 3));
    let good = Synthetic::default().build();
    for (at, value, field) in [(4, 3, "EI_CLASS"), (5, 0, "EI_DATA"), (6, 7, "EI_VERSION"), (20, 9, "e_version")] {
        let mut bytes = good.clone();
        bytes[at] = value;
        assert_eq!(fault_of(&bytes), (Fault::BadHeader { field, value: u64::from(value) }, at as u64));
    }
    let mut bytes = good.clone();
    bytes[54] = 1;
    assert_eq!(fault_of(&bytes), (Fault::BadHeader { field: "e_phentsize", value: 1 }, 54));
    assert_eq!(fault_of(&good[..100]), (Fault::Truncated { what: "the program headers" }, 64));
}

#[test]
fn an_unended_interpreter_is_refused() {
    let mut file = Synthetic { interpreter: Some(b"/lib/ld.so".to_vec()), ..Synthetic::default() };
    assert_eq!(fault_of(&file.build()).0, Fault::BadTable { what: "PT_INTERP" });
    file.interpreter = Some(vec![b'x'; 5000]);
    assert_eq!(fault_of(&file.build()).0, Fault::BadTable { what: "PT_INTERP" });
}

#[test]
fn an_unended_dynamic_section_or_string_is_refused() {
    let mut file = Synthetic { end_dynamic: false, strings: vec![1], ..Synthetic::default() };
    assert!(matches!(fault_of(&file.build()).0, Fault::BadTable { .. }));
    file = Synthetic::default();
    file.dynamic.push((NEEDED, 0x7000_0000));
    assert!(matches!(fault_of(&file.build()).0, Fault::BadTable { .. }));
    file = Synthetic::default();
    file.named(NEEDED, "liba.so");
    let last = file.strings.len() - 1;
    file.strings[last] = b'!';
    assert!(matches!(fault_of(&file.build()).0, Fault::BadTable { .. }));
}

#[test]
fn entries_that_share_one_long_string_cannot_multiply_it() {
    let mut file = Synthetic::default();
    let at = file.string(&"x".repeat(100_000));
    file.dynamic.extend((0..1000).map(|_| (NEEDED, at)));
    assert_eq!(fault_of(&file.build()).0, Fault::BadTable { what: "the dynamic string table" });
}

#[test]
fn the_section_table_is_never_looked_at() {
    let mut bytes = Synthetic::default().build();
    bytes[40..48].fill(0xff);
    bytes[58..64].fill(0xff);
    assert!(Elf::read(&bytes).is_ok());
}

/// Counts the ranges asked for.
struct Counting(Vec<u8>, Cell<u32>);

impl Source for Counting {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.1.set(self.1.get() + 1);
        self.0.read_exact_at(offset, buf)
    }
}

#[test]
fn a_usual_program_costs_at_most_four_reads() {
    let bytes = std::fs::read("/proc/self/exe").expect("the test can read itself");
    let source = Counting(bytes, Cell::new(0));
    Elf::read(&source).expect("a good file");
    assert!(source.1.get() <= 4, "{} reads", source.1.get());
}

#[test]
fn addresses_outside_every_segment_have_no_offset() {
    let elf = Elf::read(&Synthetic::default().build()).expect("a good file");
    let load = *elf.loads().next().expect("one PT_LOAD");
    assert_eq!(elf.offset_of(load.vaddr), Some(FileOffset(0)));
    assert_eq!(elf.offset_of(underpin_elf::Vaddr(load.vaddr.0 + load.file_size)), None);
    assert_eq!(elf.offset_of(underpin_elf::Vaddr(0)), None);
}
