//! Real files of this machine, each bound to absolute paths: its loader must list them, undo must restore every byte.
//!
//! Each file is compared with itself unbound: the result does not depend on what else is installed.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "in a test a panic is the failing assertion")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use underpin_elf::{Class, Elf, Machine};
use underpin_rewrite::{Caution, Edits, Refusal, Rename, Rewrite, RewriteOptions, Strategy, rewrite, undo};
use underpin_test_support::{Fixture, Output, need};

const LIBRARIES: &str = "/usr/lib/x86_64-linux-gnu";
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
/// Files that are bound, spread evenly over all: the loader is asked about each of them.
const COUNT: usize = 700;
/// Every n-th of them is stripped as well.
const STRIPPED: usize = 12;
/// Larger files only take time.
const LARGEST: u64 = 16 << 20;

fn files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let regular =
        entries.filter(|entry| entry.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= LARGEST));
    let mut files: Vec<PathBuf> = regular.map(|entry| entry.path()).collect();
    files.sort();
    files
}

/// The bytes of a dynamic file of this machine's own kind.
fn dynamic(path: &Path) -> Option<(Vec<u8>, Elf)> {
    let bytes = std::fs::read(path).ok().filter(|bytes| bytes.starts_with(b"\x7fELF"))?;
    let elf = Elf::read(bytes.as_slice()).ok()?;
    let own = elf.ident.machine == Machine::X86_64 && elf.ident.class == Class::Elf64;
    let glibc = elf.interpreter.as_ref().is_none_or(|interpreter| interpreter == LOADER);
    (own && glibc && elf.dynamic.is_some()).then_some((bytes, elf))
}

/// Every DT_NEEDED that is in the system's directory becomes its path there; the loader keeps its name.
fn absolute(elf: &Elf) -> Edits {
    let needed = elf.dynamic.iter().flat_map(|dynamic| &dynamic.needed);
    let renames = needed.filter(|name| !name.starts_with(b"ld-linux") && !name.contains(&b'/')).filter_map(|name| {
        let path = format!("{LIBRARIES}/{name}");
        Path::new(&path).exists().then(|| Rename { from: name.clone(), to: path.into() })
    });
    Edits { renames: renames.collect(), ..Edits::default() }
}

fn options(only: Option<Strategy>) -> RewriteOptions {
    RewriteOptions { only, ..RewriteOptions::default() }
}

/// Asks the loader, and returns what is wrong.
fn judge(dir: &Fixture, name: &str, edits: &Edits) -> Result<(), String> {
    let output = Output::of(dir.command(LOADER).arg("--list").arg(dir.join(name)));
    let listed = |path: &str| output.stdout.lines().any(|line| line.trim().starts_with(&format!("{path} (0x")));
    if output.code != Some(0) || output.stdout.contains(" => not found") {
        return Err(format!("{}{}", output.stdout, output.stderr));
    }
    match edits.renames.iter().find(|rename| !listed(&rename.to.to_string())) {
        Some(rename) => Err(format!("{} is not listed: {}{}", rename.to, output.stdout, output.stderr)),
        None if output.stderr.is_empty() => Ok(()),
        None => Err(output.stderr),
    }
}

/// Whether a file was bound; what is wrong as text.
fn bind(dir: &Fixture, at: usize, path: &Path, strategies: &Mutex<BTreeMap<String, usize>>) -> Result<bool, String> {
    let Some((original, elf)) = dynamic(path) else { return Ok(false) };
    let edits = absolute(&elf);
    let count = |what: String| *strategies.lock().unwrap().entry(what).or_default() += 1;
    let chosen: Rewrite = match rewrite(&original, &edits, &options(None)) {
        Ok(rewrite) if rewrite.is_empty() => return Ok(false),
        Ok(rewrite) => rewrite,
        Err(Refusal::StaticPie) => return Ok(false),
        Err(refusal) => {
            count(format!("refused: {refusal}"));
            return Ok(false);
        }
    };
    // Some find a library beside themselves ($ORIGIN), which a copy elsewhere would not.
    let name = format!("{at}");
    // Only the loader reads it, so unlike an executable it need not be written by a child.
    std::fs::write(dir.join(&name), &original).unwrap();
    if judge(dir, &name, &Edits::default()).is_err() {
        count("loads nothing from another folder, bound or not".to_owned());
        return Ok(false);
    }
    count(format!("{:?}", chosen.placed.first().map(|placed| placed.strategy)));
    for caution in &chosen.cautions {
        count(format!("{caution:?}"));
        if *caution == Caution::TableMoved {
            return Err("its program header table has moved".to_owned());
        }
    }
    // The chosen strategy, and one other in turn.
    let others = [Strategy::NewSegment, Strategy::DataTail, Strategy::PagePadding, Strategy::DeadStrings];
    let other = others.get(at % others.len()).and_then(|only| rewrite(&original, &edits, &options(Some(*only))).ok());
    for rewrite in std::iter::once(chosen).chain(other) {
        let bound = rewrite.apply(&original);
        let strategy = rewrite.placed.first().map(|placed| placed.strategy);
        if undo(&bound).map_err(|error| error.to_string())? != original {
            return Err(format!("{strategy:?}: undo does not give the original"));
        }
        std::fs::write(dir.join(&name), &bound).unwrap();
        judge(dir, &name, &edits).map_err(|error| format!("{strategy:?}: {error}"))?;
        if at.is_multiple_of(STRIPPED) {
            let stripped = Output::of(dir.command("strip").arg(dir.join(&name)));
            if stripped.code != Some(0) {
                return Err(format!("{strategy:?}: strip: {}", stripped.stderr));
            }
            judge(dir, &name, &edits).map_err(|error| format!("{strategy:?}, stripped: {error}"))?;
        }
    }
    std::fs::remove_file(dir.join(&name)).unwrap();
    Ok(true)
}

#[test]
fn files_of_this_machine_are_bound_listed_by_their_loader_and_restored() {
    need!(LOADER, "strip", "git");
    let all: Vec<PathBuf> = ["/usr/bin", "/usr/sbin", LIBRARIES].into_iter().flat_map(files).collect();
    let count = std::env::var("UNDERPIN_SWEEP").ok().and_then(|count| count.parse().ok()).unwrap_or(COUNT);
    let chosen: Vec<&PathBuf> = all.iter().step_by((all.len() / count).max(1)).collect();
    let (dir, next, bound) = (Fixture::new(), AtomicUsize::new(0), AtomicUsize::new(0));
    let (wrong, strategies) = (Mutex::new(Vec::new()), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(path) = chosen.get(at) else { break };
                    match bind(&dir, at, path, &strategies) {
                        Ok(counted) => {
                            bound.fetch_add(usize::from(counted), Ordering::Relaxed);
                        }
                        Err(what) => wrong.lock().unwrap().push(format!("{}: {what}", path.display())),
                    }
                }
            });
        }
    });
    let (wrong, bound) = (wrong.into_inner().unwrap(), bound.into_inner());
    println!("{bound} of {} files bound: {:?}", chosen.len(), strategies.into_inner().unwrap());
    assert!(wrong.is_empty(), "{} of {bound}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(bound > 0, "none of {} files was bound", chosen.len());
}
