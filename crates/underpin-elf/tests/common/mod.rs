//! Shared by the tests of this crate: tools that may be missing, files of the system, small compilations.
#![allow(dead_code, reason = "every test binary uses a part of it")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_elf::{Details, Elf, ElfError, FileSource};

/// Standard output, whatever the exit status (readelf fails on some files that it prints correctly).
pub fn run_any(command: &mut Command) -> String {
    let output = command.env("LC_ALL", "C").output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn open(path: &Path) -> FileSource {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    FileSource::new(file).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn read(path: &Path) -> Result<Elf, ElfError> {
    Elf::read(&open(path))
}

pub fn details(path: &Path) -> Details {
    let source = open(path);
    let elf = Elf::read(&source).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let details = Details::read(&source, &elf).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    // A file that is in memory is searched where it is.
    let bytes = std::fs::read(path).expect("a file that was just read");
    let in_memory = Details::read(&bytes, &elf).expect("what could be read from a file");
    assert_eq!(format!("{in_memory:?}"), format!("{details:?}"), "{}", path.display());
    details
}

/// The ELF files below the given directories (not recursive), without symlinks, in name order.
pub fn system_files(directories: &[&str]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for directory in directories {
        let Ok(entries) = std::fs::read_dir(directory) else { continue };
        for entry in entries.flatten() {
            let regular = entry.file_type().is_ok_and(|kind| kind.is_file());
            if regular && is_elf(&entry.path()) {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    files
}

fn is_elf(path: &Path) -> bool {
    use std::io::Read;
    let mut magic = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == *b"\x7fELF"
}

/// Every n-th element, so that about `count` remain: the sample is the same on every run.
pub fn sample<T>(all: Vec<T>, count: usize) -> Vec<T> {
    let step = (all.len() / count.max(1)).max(1);
    all.into_iter().step_by(step).collect()
}
