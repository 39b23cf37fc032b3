//! The programs with which `check` is tested.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use underpin_elf::{Details, Elf, FileSource};
use underpin_resolve::compat::ObjectFacts;
use underpin_test_support::Fixture;

/// The facts of a file that the test relies on.
pub fn facts(path: &Path) -> ObjectFacts {
    facts_of(path).unwrap_or_else(|| panic!("{} is not a program or library", path.display()))
}

/// The facts of a file, if it is an ELF program or library.
pub fn facts_of(path: &Path) -> Option<ObjectFacts> {
    let source = FileSource::new(File::open(path).ok()?).ok()?;
    let elf = Elf::read(&source).ok()?;
    let details = Details::read(&source, &elf).ok()?;
    ObjectFacts::from_elf(path.to_str()?.as_bytes(), &elf, &details).ok()
}

/// A Rust program that uses files, threads and powers, as fossas/broker does.
pub fn rust_program(dir: &Fixture, target: Option<&str>) -> PathBuf {
    dir.write(
        "main.rs",
        "fn main() {\n\
         let x: f64 = std::env::args().count() as f64;\n\
         let thread = std::thread::spawn(move || x.powf(x + 0.5).exp());\n\
         let size = std::fs::metadata(\"/\").map(|meta| meta.len()).unwrap_or(0);\n\
         println!(\"{} {size}\", thread.join().unwrap_or(0.0));\n\
         }\n",
    );
    let mut args = vec!["-O", "--edition", "2024", "-o", "prog", "main.rs"];
    if let Some(target) = target {
        args.extend(["--target", target, "-C", "target-feature=+crt-static"]);
    }
    dir.must("rustc", args);
    dir.join("prog")
}

/// (file, version) of each "version `V' not found" of a loader.
pub fn missing_by_loader(stderr: &str) -> BTreeSet<(String, String)> {
    let missing = stderr.lines().filter_map(|line| {
        let (before, after) = line.split_once(": version `")?;
        let (version, _) = after.split_once("' not found")?;
        let file = before.rsplit(['/', ' ']).next()?;
        Some((file.to_owned(), version.to_owned()))
    });
    missing.collect()
}

/// Sets VER_FLG_WEAK in every need of that version: what a linker could write, and GNU ld does not.
pub fn mark_needs_weak(dir: &Fixture, program: &str, version: &str) {
    const VER_FLG_WEAK: u16 = 2;
    dir.must("objcopy", ["--dump-section", ".gnu.version_r=needs", program]);
    let path = dir.join("needs");
    let mut bytes = std::fs::read(&path).expect("the dumped section");
    let hash = elf_hash(version.as_bytes()).to_ne_bytes();
    let mut marked = 0;
    // Elfxx_Vernaux is 16 bytes: hash, flags, other, name, next. A hash can be only where an entry begins.
    for at in (0..bytes.len().saturating_sub(15)).step_by(16) {
        if bytes[at..at + 4] == hash {
            bytes[at + 4..at + 6].copy_from_slice(&VER_FLG_WEAK.to_ne_bytes());
            marked += 1;
        }
    }
    assert!(marked > 0, "{program} does not need {version}");
    std::fs::write(&path, bytes).expect("the changed section");
    dir.must("objcopy", ["--update-section", ".gnu.version_r=needs", program]);
}

/// The hash of a version name (System V gABI, "Hash Table").
fn elf_hash(name: &[u8]) -> u32 {
    name.iter().fold(0, |hash: u32, &byte| {
        let hash = (hash << 4).wrapping_add(u32::from(byte));
        let high = hash & 0xf000_0000;
        (hash ^ (high >> 24)) & !high
    })
}
