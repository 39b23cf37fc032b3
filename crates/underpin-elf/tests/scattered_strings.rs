//! Strings of the dynamic section outside the segment of their table, as loaders find them: by address.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

use std::fs;
use std::path::Path;
use underpin_elf::{Details, Elf, LinkFacts};
use underpin_test_support::{Fixture, need, traced_objects};

const DT_NEEDED: u64 = 1;
const DT_RUNPATH: u64 = 29;

/// Makes the first entry with this tag use the string at `address`; returns the file offset of the entry's value.
fn point(bytes: &mut [u8], tag: u64, address: u64) {
    let elf = Elf::read(&*bytes).unwrap();
    let dynamic = elf.segment(underpin_elf::SegmentKind::Dynamic).unwrap();
    let (start, size) = (usize::try_from(dynamic.offset.0).unwrap(), usize::try_from(dynamic.file_size).unwrap());
    let (table, _) = elf.dynamic.as_ref().unwrap().string_table.unwrap();
    let entry = bytes[start..start + size].chunks_exact_mut(16).find(|entry| entry[..8] == tag.to_le_bytes()).unwrap();
    entry[8..].copy_from_slice(&(address.wrapping_sub(table.0)).to_le_bytes());
}

fn address_of(fixture: &Fixture, symbol: &str, file: &str) -> u64 {
    let symbols = fixture.must("nm", [file]);
    let line = symbols.lines().find(|line| line.ends_with(&format!(" {symbol}"))).expect("the symbol");
    u64::from_str_radix(line.split_whitespace().next().unwrap(), 16).unwrap()
}

#[test]
fn a_search_path_in_the_data_segment_is_the_one_that_the_loader_uses() {
    need!("cc", "nm", "readelf");
    let fixture = Fixture::new();
    fixture.write("a.c", "int a(void){return 1;}");
    fixture.mkdir("elsewhere");
    fixture.cc(["-shared", "-fPIC", "-o", "elsewhere/liba.so", "a.c"]);
    let elsewhere = fixture.join("elsewhere");
    let source =
        format!("char path[] = \"{}\"; int a(void); int main(void){{return a() + path[0] == 0;}}", elsewhere.display());
    fixture.write("main.c", source);
    fixture.cc(["-o", "main", "main.c", "-Lelsewhere", "-la", "-Wl,--enable-new-dtags,-rpath,/nowhere"]);
    let mut bytes = fs::read(fixture.join("main")).unwrap();
    point(&mut bytes, DT_RUNPATH, address_of(&fixture, "path", "main"));
    fs::write(fixture.join("main"), &bytes).unwrap();

    let found = traced_objects(&fixture.join("main"), &[]).unwrap();
    assert!(found.iter().any(|object| object.path == Some(elsewhere.join("liba.so"))), "{found:?}");
    let dynamic = Elf::read(bytes.as_slice()).unwrap().dynamic.unwrap();
    assert_eq!(dynamic.runpath.unwrap(), elsewhere.to_str().unwrap());
}

#[test]
fn the_file_of_a_needed_version_is_read_from_the_data_segment() {
    need!("cc", "nm", "readelf");
    let fixture = Fixture::new();
    fixture.write("main.c", "char name[] = \"libc.so.6\"; int main(void){return name[0] == 0;}");
    fixture.cc(["-o", "main", "main.c"]);
    let mut bytes = fs::read(fixture.join("main")).unwrap();
    let elf = Elf::read(bytes.as_slice()).unwrap();
    let dynamic = elf.dynamic.as_ref().unwrap();
    let address = address_of(&fixture, "name", "main");
    let offset = u32::try_from(address - dynamic.string_table.unwrap().0.0).unwrap();
    // `vn_file` is the second word of an entry of DT_VERNEED.
    let entry = usize::try_from(elf.offset_of(dynamic.verneed.unwrap().0).unwrap().0).unwrap();
    bytes[entry + 4..entry + 8].copy_from_slice(&offset.to_le_bytes());
    point(&mut bytes, DT_NEEDED, address);
    fs::write(fixture.join("main"), &bytes).unwrap();

    assert_eq!(fixture.command("./main").status().unwrap().code(), Some(0));
    let elf = Elf::read(bytes.as_slice()).unwrap();
    assert_eq!(elf.dynamic.as_ref().unwrap().needed, ["libc.so.6"]);
    let details = Details::read(bytes.as_slice(), &elf).unwrap();
    assert!(details.defects.is_empty(), "{:?}", details.defects);
    assert!(!details.version_needs.is_empty());
    assert!(details.version_needs.iter().all(|need| need.file == "libc.so.6"), "{:?}", details.version_needs);
    let facts = LinkFacts::read(bytes.as_slice(), &elf, &[], |_| true).unwrap();
    assert!(facts.version_needs.iter().all(|need| need.file == "libc.so.6"), "{:?}", facts.version_needs);
}

#[test]
fn a_string_table_may_run_on_in_the_next_segment() {
    need!("cc", "patchelf", "readelf");
    let fixture = Fixture::new();
    let functions: String = (0..2000).map(|number| format!("int f{number}(void){{return {number};}}\n")).collect();
    fixture.write("main.c", format!("{functions}int main(void){{return 0;}}"));
    // In a program with fixed addresses patchelf begins a new first segment and lets the table extend into the old one,
    // over the tables that it moved.
    fixture.cc(["-no-pie", "-rdynamic", "-o", "main", "main.c"]);
    let path = format!("/{}", "long/".repeat(2000));
    fixture.must("patchelf", ["--set-rpath", &path, "main"]);
    let said = fixture.must("readelf", ["-dW", "main"]);
    assert!(said.contains("[libc.so.6]"), "{said}");
    assert!(traced_objects(Path::new(&fixture.join("main")), &[]).is_ok());
    let bytes = fs::read(fixture.join("main")).unwrap();
    let elf = Elf::read(bytes.as_slice()).unwrap();
    let dynamic = elf.dynamic.as_ref().unwrap();
    let (table, size) = dynamic.string_table.unwrap();
    let segment = elf.loads().find(|load| (load.vaddr.0..load.vaddr.0 + load.file_size).contains(&table.0)).unwrap();
    assert!(table.0 + size > segment.vaddr.0 + segment.file_size, "the table lies within one segment");
    let dynamic = elf.dynamic.unwrap();
    assert_eq!((dynamic.needed, dynamic.runpath), (vec!["libc.so.6".into()], Some(path.into())));
}
