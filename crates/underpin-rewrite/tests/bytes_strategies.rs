//! Each placement of names, on files of each linker: the real loader must take the new paths, and undo every byte.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "in a test a panic is the failing assertion")]

use std::path::{Path, PathBuf};
use underpin_rewrite::{Edits, Rename, RewriteOptions, Strategy, record, rewrite, undo};
use underpin_test_support::{Fixture, Output, need, traced_objects};

/// A program that uses a versioned library of its own beside libm and libc.
fn program(dir: &Fixture, flags: &[&str]) -> PathBuf {
    dir.write("dep.c", "int dep(void) { return 40; }\n");
    dir.write("dep.map", "DEP_1 { global: dep; local: *; };\n");
    dir.cc([
        "-shared",
        "-fPIC",
        "-o",
        "libdep.so.1",
        "-Wl,-soname,libdep.so.1",
        "-Wl,--version-script=dep.map",
        "dep.c",
    ]);
    dir.write(
        "main.c",
        "int dep(void); double cos(double); int main(int n, char **v) { return dep() + (int)cos(n - 1.0) + 1; }\n",
    );
    let library = dir.join("libdep.so.1");
    let fixed = ["-o", "main", "main.c", library.to_str().unwrap(), "-lm", "-fno-builtin"];
    dir.cc([flags, &fixed].concat());
    dir.join("main")
}

/// Every DT_NEEDED but the loader becomes the path that the loader found for it.
fn absolute(dir: &Fixture, file: &Path) -> Edits {
    let renames = traced_objects(file, &[("LD_LIBRARY_PATH", dir.text())]).unwrap().into_iter().filter_map(|object| {
        let path = object.path?;
        (object.name != path.to_str()?).then(|| Rename { from: object.name.into(), to: path.to_str().unwrap().into() })
    });
    Edits { renames: renames.collect(), ..Edits::default() }
}

fn binds(dir: &Fixture, strategy: Strategy) {
    let file = dir.join("main");
    let original = std::fs::read(&file).unwrap();
    let edits = absolute(dir, &file);
    assert_eq!(edits.renames.len(), 3, "{edits:?}");
    let options = RewriteOptions { only: Some(strategy), ..RewriteOptions::default() };
    let bound = rewrite(&original, &edits, &options).unwrap().apply(&original);
    let path = dir.write("bound", &bound);
    dir.chmod("bound", 0o755);
    let loaded: Vec<PathBuf> =
        traced_objects(&path, &[]).unwrap().into_iter().filter_map(|object| object.path).collect();
    for rename in &edits.renames {
        assert!(loaded.iter().any(|path| rename.to == path.to_str().unwrap()), "{rename:?} is not in {loaded:?}");
    }
    assert_eq!(Output::of(&mut dir.command(&path)).code, Some(42));
    assert!(record(&bound).unwrap().is_some());
    assert!(undo(&bound).unwrap() == original, "undo gives the original");
}

#[test]
fn names_fit_into_the_padding_of_what_gnu_ld_links() {
    need!("cc", "readelf");
    for flags in [&["-pie"][..], &["-no-pie"], &["-Wl,-z,noseparate-code"], &["-Wl,-z,max-page-size=0x10000"]] {
        let dir = Fixture::new();
        program(&dir, flags);
        binds(&dir, Strategy::PagePadding);
    }
}

#[test]
fn a_new_segment_holds_names_for_every_linker() {
    need!("cc", "readelf", "ld.lld", "ld.gold", "mold");
    let linkers = ["-fuse-ld=bfd", "-fuse-ld=lld", "-fuse-ld=gold", "-fuse-ld=mold"];
    for linker in linkers {
        for pie in ["-pie", "-no-pie"] {
            let dir = Fixture::new();
            program(&dir, &[linker, pie]);
            binds(&dir, Strategy::NewSegment);
        }
    }
}
