//! A Spack-like tree of a real program: every library in a hashed prefix of its own, DT_RPATH of the whole closure.

use super::{listing, modelled};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use underpin_resolve::Environment;
use underpin_test_support::Fixture;

/// The tree and the program in it.
pub struct Tree {
    pub program: PathBuf,
    pub libraries: Vec<PathBuf>,
}

/// Copies the closure of `program`; glibc stays where it is, as Spack leaves it.
pub fn tree(fixture: &Fixture, program: &Path) -> Tree {
    let program = program.canonicalize().expect("the program");
    let closure = modelled(&program, Environment::empty()).expect("its closure");
    let libraries: Vec<PathBuf> = listing(&closure).objects.into_iter().filter(|object| !is_glibc(object)).collect();
    let prefixes: Vec<String> = libraries.iter().map(|library| prefix(fixture, library)).collect();
    let rpath = prefixes.iter().flat_map(|prefix| [format!("{prefix}/lib"), format!("{prefix}/lib64")]);
    let rpath = rpath.collect::<Vec<_>>().join(":");
    let copies = libraries.iter().zip(&prefixes).map(|(library, prefix)| {
        let name = library.file_name().expect("a library's name");
        copy(fixture, library, &Path::new(prefix).join("lib").join(name), &rpath)
    });
    let libraries = copies.collect();
    let home = prefix(fixture, &program);
    let name = program.file_name().expect("a program's name");
    let program = copy(fixture, &program, &Path::new(&home).join("bin").join(name), &rpath);
    Tree { program, libraries }
}

fn prefix(fixture: &Fixture, file: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    file.hash(&mut hasher);
    let name = file.file_name().expect("a name").to_string_lossy();
    let stem = name.split('.').next().unwrap_or_default();
    format!("{}/{stem}-{:016x}", fixture.text(), hasher.finish())
}

fn copy(fixture: &Fixture, from: &Path, to: &Path, rpath: &str) -> PathBuf {
    std::fs::create_dir_all(to.parent().expect("a folder")).expect("a prefix");
    std::fs::copy(from, to).expect("a copy");
    let path = to.to_str().expect("a UTF-8 path");
    fixture.must("patchelf", ["--force-rpath", "--set-rpath", rpath, path]);
    to.to_owned()
}

fn is_glibc(object: &Path) -> bool {
    let name = object.file_name().unwrap_or_default().to_string_lossy();
    ["libc.so.", "libm.so.", "libdl.so.", "libpthread.so.", "librt.so.", "libresolv.so.", "libutil.so.", "ld-linux"]
        .iter()
        .any(|start| name.starts_with(start))
}
