//! Every dynamic ELF file of this machine: the model and the real loader must agree on objects, order and misses.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "in a test a panic is the failing assertion")]

mod common;

use common::{judged, listing, modelled};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use underpin_resolve::{Environment, LoaderKind, ResolveError};
use underpin_test_support::need;

/// Every regular file below the folders that starts with the ELF magic.
fn elf_files(folders: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
    while let Some(folder) = pending.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => pending.push(entry.path()),
                Ok(kind) if kind.is_file() && starts_with_magic(&entry.path()) => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

fn starts_with_magic(path: &Path) -> bool {
    let mut magic = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && &magic == b"\x7fELF"
}

/// Whether this machine can run the loader that the file names.
fn has_a_judge(closure: &underpin_resolve::Closure) -> bool {
    use underpin_elf::{Class, Machine};
    let loader = closure.loader.path.to_string();
    let ident = closure.objects[0].ident;
    let runs_here = ident.machine == Machine::X86_64 && ident.class == Class::Elf64 || ident.machine == Machine::I386;
    closure.loader.kind != LoaderKind::None && runs_here && Path::new(&loader).exists()
}

#[test]
fn the_model_agrees_with_the_loader_on_every_file_of_this_machine() {
    need!("emacs-gtk", "ffmpeg", "git", "python3", "musl-gcc");
    let files = elf_files(&["/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec", "/usr/lib32"]);
    let (next, compared) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let differences = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match compare(file) {
                        Ok(counted) => {
                            compared.fetch_add(usize::from(counted), Ordering::Relaxed);
                        }
                        Err(difference) => differences.lock().unwrap().push(difference),
                    }
                }
            });
        }
    });
    let differences = differences.into_inner().unwrap();
    let compared = compared.into_inner();
    println!("{compared} files compared with their loaders, {} differ", differences.len());
    assert!(compared > 500, "only {compared} files were compared: the packages of the test set-up are missing");
    assert!(differences.is_empty(), "{} of {compared} differ:\n{}", differences.len(), differences.join("\n"));
}

/// Whether the file was compared; a difference as text.
fn compare(file: &Path) -> Result<bool, String> {
    let closure = match modelled(file, Environment::empty()) {
        Ok(closure) => closure,
        Err(ResolveError::NotLoadable { .. }) => return Ok(false),
        Err(error) => return Err(format!("{}: {error}", file.display())),
    };
    if !has_a_judge(&closure) {
        return Ok(false);
    }
    let (model, judge) = (listing(&closure), judged(file, &closure, &[]));
    if model.stopped && judge.stopped || model == judge {
        return Ok(true);
    }
    Err(format!("{}\n  model {model:?}\n  judge {judge:?}", file.display()))
}
