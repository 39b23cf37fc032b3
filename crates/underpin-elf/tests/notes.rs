//! Notes of packagers, tracers and patched loaders, assembled according to their specifications.

mod common;

use common::details;
use underpin_elf::{CachedPlace, DlopenPriority, Elf, FileSource, Notes};
use underpin_test_support::{Fixture, need};

/// Assembles one note into a shared library.
fn noted(fixture: &Fixture, section: &str, flags: &str, owner: &str, kind: u32, content: &str) -> std::path::PathBuf {
    let size = owner.len() + 1;
    let source = format!(
        ".section {section},\"{flags}\",%note\n.balign 4\n.long {size}\n.long 2f-1f\n.long {kind}\n.asciz \"{owner}\"\n\
         .balign 4\n1: {content}\n2: .balign 4\n"
    );
    fixture.write("note.s", source);
    fixture.cc(["-shared", "-nostdlib", "-o", "note.so", "note.s"]);
    fixture.join("note.so")
}

#[test]
fn dlopen_notes_are_lists_of_libraries() {
    need!("cc");
    let json = r#".asciz "[{\"soname\":[\"libzstd.so.1\",\"libzstd.so\"],\"feature\":\"zstd\",\"description\":\"Compression\",\"priority\":\"suggested\"},{\"soname\":[\"libz.so.1\"]}]""#;
    let details = details(&noted(&Fixture::new(), ".note.dlopen", "a", "FDO", 0x407c_0c0a, json));
    let [first, second] = details.notes.dlopen.as_slice() else { panic!("{:?}", details.notes.dlopen) };
    assert_eq!(first.sonames, ["libzstd.so.1", "libzstd.so"]);
    assert_eq!((first.feature.as_deref(), first.priority), (Some("zstd"), DlopenPriority::Suggested));
    assert_eq!(
        (second.sonames.as_slice(), second.priority),
        (&["libz.so.1".to_string()][..], DlopenPriority::Recommended)
    );
}

#[test]
fn package_notes_name_the_package() {
    need!("cc");
    let json = r#".asciz "{\"type\":\"deb\",\"os\":\"debian\",\"name\":\"demo\",\"version\":\"1.0-1\",\"architecture\":\"amd64\"}""#;
    let package = details(&noted(&Fixture::new(), ".note.package", "a", "FDO", 0xcafe_1a7e, json)).notes.package;
    let package = package.expect("there is a note");
    assert_eq!((package.kind.as_deref(), package.name.as_deref()), (Some("deb"), Some("demo")));
    assert_eq!((package.version.as_deref(), package.os_cpe), (Some("1.0-1"), None));
}

#[test]
fn resolution_caches_are_names_with_places() {
    need!("cc");
    let text = r#".asciz "libfoo.so.1"; .asciz "=/opt/foo/libfoo.so.1"; .asciz "libbar.so"; .asciz "?/run/lib:=/opt/libbar.so""#;
    let cache =
        details(&noted(&Fixture::new(), ".note.nixos.ldcache", "a", "NixOS", 0x63a8_6cb6, text)).notes.resolution_cache;
    let entries = cache.expect("there is a note").entries;
    assert_eq!(entries[0].needed, "libfoo.so.1");
    assert_eq!(entries[0].places, [CachedPlace::File("/opt/foo/libfoo.so.1".into())]);
    let places = [CachedPlace::Directory("/run/lib".into()), CachedPlace::File("/opt/libbar.so".into())];
    assert_eq!((entries[1].needed.to_string().as_str(), entries[1].places.as_slice()), ("libbar.so", &places[..]));
    assert_eq!(entries.len(), 2);
}

#[test]
fn probes_are_read_from_a_section_that_is_never_loaded() {
    need!("cc");
    let content = ".quad 0x1234, 0x5678, 0\n.asciz \"rtld\"\n.asciz \"init_complete\"\n.asciz \"-8@%rax\"";
    let fixture = Fixture::new();
    let path = noted(&fixture, ".note.stapsdt", "", "stapsdt", 3, content);
    let source = FileSource::new(std::fs::File::open(&path).expect("it was just built")).expect("a regular file");
    let elf = Elf::read(&source).expect("a good file");
    let notes = Notes::read(&source, &elf).expect("a good file");
    let [probe] = notes.probes.as_slice() else { panic!("{:?}", notes.probes) };
    assert_eq!((probe.provider.to_string().as_str(), probe.name.to_string().as_str()), ("rtld", "init_complete"));
    assert_eq!((probe.pc.0, probe.base.0, probe.semaphore.0), (0x1234, 0x5678, 0));
    assert_eq!(probe.arguments, "-8@%rax");
}

#[test]
fn a_malformed_note_is_a_defect_and_no_error() {
    need!("cc");
    let details = details(&noted(&Fixture::new(), ".note.dlopen", "a", "FDO", 0x407c_0c0a, ".asciz \"[{]\""));
    assert!(details.notes.dlopen.is_empty());
    assert_eq!(details.defects.len(), 1, "{:?}", details.defects);
    assert!(details.defects[0].to_string().starts_with("a note is malformed (at offset 0x"));
}
