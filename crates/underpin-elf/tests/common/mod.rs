//! What the tests of this crate share: tools that may be missing, files of the system, small compilations.
#![allow(dead_code, reason = "every test binary uses a part of it")]
#![allow(clippy::print_stdout, reason = "a skipped test says so")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_elf::{Elf, ElfError, FileSource};

/// Whether `tool` can be run. Missing in CI is a failure; elsewhere the test is skipped with a printed reason.
pub fn have(tool: &str) -> bool {
    let found = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|directory| directory.join(tool).is_file()));
    missing_unless(found, tool)
}

/// Like [`have`], for a file or directory.
pub fn have_path(path: &str) -> bool {
    missing_unless(Path::new(path).exists(), path)
}

fn missing_unless(found: bool, what: &str) -> bool {
    assert!(found || std::env::var_os("CI").is_none(), "{what} is missing, and in CI nothing is skipped");
    if !found {
        println!("skipped: {what} is not on this machine");
    }
    found
}

/// Standard output of a command that must succeed.
pub fn run(command: &mut Command) -> String {
    let output = command.env("LC_ALL", "C").output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

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

/// The ELF files below the given directories (not recursive), symlinks left out, in name order.
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

/// Every n-th element, so that about `count` remain: a sample that is the same on every run.
pub fn sample<T>(all: Vec<T>, count: usize) -> Vec<T> {
    let step = (all.len() / count.max(1)).max(1);
    all.into_iter().step_by(step).collect()
}

/// Compiles `source` (C) with `command` and arguments into `directory/name`.
pub fn compile(directory: &Path, name: &str, source: &str, compiler: &[&str]) -> PathBuf {
    let input = directory.join(format!("{name}.c"));
    std::fs::write(&input, source).expect("a temporary directory takes files");
    let output = directory.join(name);
    let (program, arguments) = compiler.split_first().expect("a compiler is named");
    run(Command::new(program).args(arguments).arg("-o").arg(&output).arg(&input));
    output
}
