//! What trees for tests and bundles need in addition to bindings: another loader, and no trace of the rewrite.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

use underpin_rewrite::{Edits, Rename, RewriteOptions, SearchPathEdit, Strategy, record_of, rewrite, undo};
use underpin_test_support::{Fixture, Output, need, traced_objects};

/// `main`, which exits with 42 from a library.
fn program(dir: &Fixture) {
    dir.mkdir("elsewhere");
    dir.write("a.c", "int a(void){return 42;}");
    dir.write("main.c", "int a(void); int main(void){return a();}");
    dir.cc(["-shared", "-fPIC", "-o", "elsewhere/liba.so", "a.c"]);
    let path = format!("-Wl,-rpath,{}/elsewhere", dir.text());
    dir.cc(["-pie", "-o", "main", "main.c", "-Lelsewhere", "-la", &path]);
}

#[test]
fn another_loader_is_named_where_the_kernel_and_the_loader_look() {
    need!("cc", "readelf", "/lib64/ld-linux-x86-64.so.2");
    for strategy in [Strategy::PagePadding, Strategy::DataTail, Strategy::NewSegment] {
        let dir = Fixture::new();
        program(&dir);
        let loader = dir.join("a-folder-with-a-longer-name/ld-linux-x86-64.so.2");
        dir.copy("/lib64/ld-linux-x86-64.so.2", &loader);
        let original = std::fs::read(dir.join("main")).unwrap();
        let wanted = loader.to_str().unwrap();
        let edits = Edits { interpreter: Some(wanted.into()), ..Edits::default() };
        let options = RewriteOptions { only: Some(strategy), ..RewriteOptions::default() };
        let changed = rewrite(&original, &edits, &options).unwrap().apply(&original);
        let path = dir.write("changed", &changed);
        dir.chmod("changed", 0o755);
        let headers = dir.must("readelf", ["-lW", "changed"]);
        assert!(headers.contains(&format!("[Requesting program interpreter: {wanted}]")), "{headers}");
        assert_eq!(Output::of(&mut dir.command(&path)).code, Some(42));
        let traced = traced_objects(&path, &[]).unwrap();
        assert!(traced.iter().any(|object| object.path.as_deref() == Some(loader.as_path())), "{traced:?}");
        assert!(undo(&changed).unwrap() == original, "undo gives the original");
    }
}

#[test]
fn a_file_with_another_loader_outlives_patchelf_and_strip() {
    need!("cc", "readelf", "patchelf", "strip", "/lib64/ld-linux-x86-64.so.2");
    for strategy in [Strategy::PagePadding, Strategy::DataTail, Strategy::NewSegment] {
        let dir = Fixture::new();
        program(&dir);
        let loader = dir.copy("/lib64/ld-linux-x86-64.so.2", "a-folder-with-a-longer-name/ld-linux-x86-64.so.2");
        let original = std::fs::read(dir.join("main")).unwrap();
        // Together with the old table it does not fit into one page's padding.
        let search_path = format!("{}/elsewhere:/{}", dir.text(), "nowhere/".repeat(400));
        let search_path = SearchPathEdit::Rpath(search_path.into());
        let edits = Edits { search_path, interpreter: Some(loader.to_str().unwrap().into()), ..Edits::default() };
        let options = RewriteOptions { only: Some(strategy), without_record: true, ..RewriteOptions::default() };
        dir.write("changed", rewrite(&original, &edits, &options).unwrap().apply(&original));
        dir.chmod("changed", 0o755);
        dir.must("strip", ["-o", "stripped", "changed"]);
        assert_eq!(Output::of(&mut dir.command("./stripped")).code, Some(42), "{strategy:?}, stripped");
        dir.must("patchelf", ["--replace-needed", "liba.so", &format!("{}/elsewhere/liba.so", dir.text()), "changed"]);
        assert_eq!(Output::of(&mut dir.command("./changed")).code, Some(42), "{strategy:?}");
    }
}

#[test]
fn a_rewrite_without_a_record_does_not_look_bound() {
    need!("cc", "readelf");
    for strategy in [Strategy::PagePadding, Strategy::DataTail, Strategy::NewSegment] {
        let dir = Fixture::new();
        program(&dir);
        let original = std::fs::read(dir.join("main")).unwrap();
        let to = dir.join("elsewhere/liba.so").to_str().unwrap().into();
        let edits = Edits { renames: vec![Rename { from: "liba.so".into(), to }], ..Edits::default() };
        let options = RewriteOptions { only: Some(strategy), without_record: true, ..RewriteOptions::default() };
        let changed = rewrite(&original, &edits, &options).unwrap().apply(&original);
        let path = dir.write("changed", &changed);
        dir.chmod("changed", 0o755);
        assert!(record_of(changed.as_slice()).unwrap().is_none());
        let sections = dir.must("readelf", ["-SW", "changed"]);
        assert!(!sections.contains("underpin.binding"), "{sections}");
        assert_eq!(Output::of(&mut dir.command(&path)).code, Some(42));
        // A file that does not look bound can be bound.
        let again = Edits { search_path: SearchPathEdit::Rpath("/somewhere/else".into()), ..Edits::default() };
        let bound = rewrite(&changed, &again, &RewriteOptions::default()).unwrap().apply(&changed);
        assert!(undo(&bound).unwrap() == changed, "undo gives what stood there");
    }
}
