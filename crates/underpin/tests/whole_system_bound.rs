//! Every dynamic program and library of this machine, in a Spack-like tree: bound, proven equal, stripped, restored.
//!
//! All of them, or each exception is a refusal with a reason from the lists below. Each file is judged by itself, and a
//! tool that does not accept a file has to refuse it unbound as well: what else is installed changes the number of
//! files, but no verdict.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "in a test a panic is the failing assertion")]

#[path = "common/answers.rs"]
mod answers;
mod common;

use answers::Room;
use common::json;
use rayon::prelude::*;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_elf::{Elf, FileType};
use underpin_spacktree::{Layout, Site, Tree, build, elf_files};
use underpin_test_support::{Fixture, need, skip, traced_objects};

/// Programs that are started, over all parts.
const STARTED: usize = 100;

/// Programs that the set-up of the tests installs; each has to be bound, and to agree with its loader.
const NAMED: [&str; 4] = ["/usr/bin/emacs-gtk", "/usr/bin/ffmpeg", "/usr/bin/git", "/usr/bin/python3"];

/// Why a file is left unchanged.
const REFUSALS: [&str; 11] = [
    "the loader itself",
    "a static-pie program",
    "bytes behind its own end",
    "it is signed",
    "it is prelinked",
    "no usable string table",
    "its dynamic section has no room for",
    "no room for names within reach",
    "no place for the names",
    "of one release",
    "it would no longer load the same",
];

/// Why a name is left unchanged.
const LEFT_ALONE: [&str; 9] = [
    "the loader itself",
    "which belongs to the driver of the machine it runs on",
    "an MPI library",
    "a stub to link against",
    "the processor decides",
    "not found",
    "by itself it does not find that name",
    "no program here loads this file",
    "programs that share this file load different objects",
];

/// More parts than this would mostly copy the same libraries again.
const MOST_PARTS: usize = 8;

#[test]
fn every_file_of_this_system_is_bound_proven_equal_and_restored() {
    need!("strip", "eu-strip", "objcopy", "readelf", "emacs-gtk", "ffmpeg", "git", "python3");
    let files: Vec<PathBuf> = elf_files(&[Path::new("/usr/bin"), Path::new("/usr/lib")])
        .into_iter()
        .filter(|file| is_dynamic(file))
        .collect();
    let size: u64 = files.iter().filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum();
    let Some(parts) = (1..=MOST_PARTS).find(|parts| needed_bytes(size, *parts) < free_bytes(&env::temp_dir())) else {
        let needed = needed_bytes(size, MOST_PARTS) >> 20;
        skip(&format!("the copies need {needed} MB below {}", env::temp_dir().display()));
        return;
    };
    println!("{} files in {parts} parts", files.len());
    for program in NAMED {
        assert!(is_among(program, &files), "{program} is not among the files");
    }
    for part in files.chunks(files.len().div_ceil(parts)) {
        is_bound_proven_equal_and_restored(part, STARTED / parts);
    }
}

fn is_among(program: &str, files: &[PathBuf]) -> bool {
    // A link such as python3 leads to the file of one version.
    fs::canonicalize(program).is_ok_and(|program| files.contains(&program))
}

/// The space for the copies if the files are taken in parts. The tree of a part has what its files load too, so that a
/// part is larger than its share; the other half is for backups and for what the tools write.
fn needed_bytes(size: u64, parts: usize) -> u64 {
    let part = if parts == 1 { size } else { size / parts as u64 + size / 4 };
    part * 2
}

fn is_bound_proven_equal_and_restored(files: &[PathBuf], started: usize) {
    let fixture = Fixture::new();
    let tree = build(&Site::at(fixture.join("tree")), files, Layout::SPACK).unwrap();
    let before = contents(&tree.folder);
    println!("{} files of this system make a tree of {}", files.len(), before.len());
    let room = Room::new(fixture.join("home"));
    let answers = room.choose(&candidates(&tree), started);
    println!("{} programs answer", answers.len());
    let has_programs = files.iter().any(|file| file.starts_with("/usr/bin"));
    assert!(!has_programs || !answers.is_empty(), "no program answers");

    let named: Vec<&str> = NAMED.into_iter().filter(|program| is_among(program, files)).collect();
    let folder = tree.folder.to_str().unwrap();
    is_bound(&json(["bind", "--json", folder]), &before, &named);
    let unbound = fixture.join("unbound");
    let stripped = |file: &&PathBuf| takes_unbound(&["strip"], file, &tree, &unbound);
    let moved: Vec<&PathBuf> = before.keys().filter(|file| has_moved_headers(file, &tree)).filter(stripped).collect();
    assert!(moved.is_empty(), "strip breaks files whose program header table has moved: {moved:?}");
    is_equal(&json(["verify", "--json", folder]), &named);
    assert_eq!(room.differences(&answers), Vec::<String>::new(), "bound");

    let programs: Vec<PathBuf> = answers.iter().map(|(question, _)| question.program.clone()).collect();
    let loaded = objects_of(&programs, &tree);
    for tool in [&["strip"][..], &["strip", "--strip-debug"], &["eu-strip"], &["objcopy"]] {
        let kept = Kept::aside(&loaded, fixture.join("kept"));
        let refused: Vec<&PathBuf> = loaded.par_iter().filter(|file| !run_over(tool, file)).collect();
        println!("{tool:?} went over {} of {} objects", loaded.len() - refused.len(), loaded.len());
        let bound_only: Vec<&&PathBuf> =
            refused.iter().filter(|file| takes_unbound(tool, file, &tree, &unbound)).collect();
        assert!(bound_only.is_empty(), "{tool:?} takes these unbound only: {bound_only:?}");
        assert_eq!(room.differences(&answers), Vec::<String>::new(), "after {tool:?}");
        kept.back();
    }

    let restored = json(["unbind", "--json", folder]);
    let failed: Vec<&Value> = records(&restored).iter().filter(|file| file["outcome"] == "failed").collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let after = contents(&tree.folder);
    let different: Vec<&PathBuf> =
        before.iter().filter(|(path, hash)| after.get(*path) != Some(hash)).map(|(path, _)| path).collect();
    assert!(different.is_empty(), "not restored byte for byte: {different:?}");
    let more: Vec<&PathBuf> = after.keys().filter(|path| !before.contains_key(*path)).collect();
    assert!(more.is_empty(), "left behind: {more:?}");
}

/// Whether a loader loads the file, and it names libraries.
fn is_dynamic(path: &Path) -> bool {
    let Ok(elf) = fs::File::open(path).and_then(underpin_elf::FileSource::new).map(|file| Elf::read(&file)) else {
        return false;
    };
    elf.is_ok_and(|elf| {
        matches!(elf.ident.file_type, FileType::Executable | FileType::Dynamic)
            && elf.dynamic.is_some_and(|dynamic| !dynamic.dependencies.is_empty())
    })
}

fn free_bytes(folder: &Path) -> u64 {
    let text = Command::new("df").args(["--output=avail", "-B1"]).arg(folder).output().unwrap().stdout;
    String::from_utf8_lossy(&text).lines().nth(1).and_then(|line| line.trim().parse().ok()).unwrap_or(u64::MAX)
}

/// SHA-256 and mode of every regular file below a folder.
fn contents(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32)> {
    let mut pending = vec![folder.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => pending.push(entry.path()),
                kind if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    let of = |path: PathBuf| {
        let hash = Sha256::digest(fs::read(&path).unwrap()).to_vec();
        let mode = path.metadata().unwrap().permissions().mode();
        (path, (hash, mode))
    };
    files.into_par_iter().map(of).collect()
}

/// The programs of /usr/bin, in an order that is the same each time and mixes all kinds.
fn candidates(tree: &Tree) -> Vec<PathBuf> {
    let origins: BTreeMap<&PathBuf, &PathBuf> = tree.origins.iter().map(|(copy, origin)| (copy, origin)).collect();
    let from_bin = |program: &&PathBuf| origins.get(program).is_some_and(|origin| origin.starts_with("/usr/bin"));
    let mut programs: Vec<&PathBuf> = tree.programs.iter().filter(from_bin).collect();
    programs.sort_by_key(|program| Sha256::digest(program.file_name().unwrap_or_default().as_encoded_bytes()).to_vec());
    programs.into_iter().cloned().collect()
}

fn records(document: &Value) -> &[Value] {
    document["files"].as_array().map_or(&[], Vec::as_slice)
}

/// Every file is bound, or left for a reason from the lists.
fn is_bound(document: &Value, all: &BTreeMap<PathBuf, (Vec<u8>, u32)>, named_programs: &[&str]) {
    let known = |reason: &Value, list: &[&str]| {
        reason.as_str().is_some_and(|reason| list.iter().any(|known| reason.contains(known)))
    };
    let mut outcomes = BTreeMap::<&str, usize>::new();
    let (mut named, mut unexplained) = (BTreeSet::new(), Vec::new());
    for file in records(document) {
        let outcome = file["outcome"].as_str().unwrap_or_default();
        *outcomes.entry(outcome).or_default() += 1;
        named.insert(PathBuf::from(file["path"].as_str().unwrap_or_default()));
        let names = file["names"].as_array().map_or(&[][..], Vec::as_slice);
        let names_explained =
            names.iter().all(|name| !name["becomes"].is_null() || known(&name["left_alone"], &LEFT_ALONE));
        let explained = match outcome {
            "bound" | "unchanged" => names_explained,
            "refused" => known(&file["reason"], &REFUSALS),
            _ => false,
        };
        if !explained {
            unexplained.push(file);
        }
    }
    println!("{outcomes:?}");
    assert!(
        unexplained.is_empty(),
        "{} without a known reason, the first: {:#?}",
        unexplained.len(),
        &unexplained[..unexplained.len().min(3)]
    );
    let silent: Vec<&PathBuf> = all.keys().filter(|path| !named.contains(*path) && is_dynamic(path)).collect();
    assert!(silent.is_empty(), "nothing is said of {} files: {silent:?}", silent.len());
    for &program in named_programs {
        let record = records(document).iter().find(|file| is_named(file, program));
        // A fixed-address file changed by patchelf before 0.19 mostly has no place that the tools leave alone.
        let may_be_refused = |file: &Value| file["outcome"] == "refused" && is_at_fixed_address(program);
        let is_right = record.is_some_and(|file| file["outcome"] == "bound" || may_be_refused(file));
        assert!(is_right, "{program} is not bound: {record:#?}");
    }
}

fn is_at_fixed_address(program: &str) -> bool {
    let elf = fs::File::open(program).and_then(underpin_elf::FileSource::new).map(|file| Elf::read(&file));
    elf.is_ok_and(|elf| elf.is_ok_and(|elf| elf.ident.file_type == FileType::Executable))
}

fn is_named(record: &Value, program: &str) -> bool {
    // A link such as python3 leads to the file of one version.
    let real = fs::canonicalize(program).ok();
    let name = real.as_deref().and_then(Path::file_name);
    name.is_some() && record["path"].as_str().map(Path::new).and_then(Path::file_name) == name
}

fn is_equal(document: &Value, named: &[&str]) {
    let files = records(document);
    let empty = |list: &Value| list.as_array().is_none_or(Vec::is_empty);
    let unequal: Vec<&Value> = files
        .iter()
        .filter(|file| !empty(&file["differences"]) || !empty(&file["stale"]) || file["loader"] == "differs")
        .collect();
    let asked = files.iter().filter(|file| file["loader"] == "agrees").count();
    println!("{} files verified, {asked} of them with their loader", files.len());
    assert!(unequal.is_empty(), "{} are not equal, the first: {:#?}", unequal.len(), &unequal[..unequal.len().min(3)]);
    assert!(document["holds"] == true, "verify does not say that all holds");
    for program in named {
        let record = files.iter().find(|file| is_named(file, program));
        assert!(record.is_some_and(|file| file["loader"] == "agrees"), "{program}: {record:#?}");
    }
}

/// The programs and what they load, loaders left out.
fn objects_of(programs: &[PathBuf], tree: &Tree) -> Vec<PathBuf> {
    let loaded = programs.par_iter().flat_map_iter(|program| {
        let objects = traced_objects(program, &[]).unwrap_or_default();
        objects.into_iter().filter_map(|object| object.path).chain([program.clone()])
    });
    let real = loaded.filter_map(|path| path.canonicalize().ok()).filter(|path| path.starts_with(&tree.folder));
    let all: BTreeSet<PathBuf> = real.collect();
    all.into_iter().filter(|path| !tree.loaders.contains(path)).collect()
}

/// Whether a tool rewrote the file. A file that it refuses is left unchanged.
fn run_over(tool: &[&str], file: &Path) -> bool {
    Command::new(tool[0]).args(&tool[1..]).arg(file).output().unwrap().status.success()
}

/// Whether a tool accepts the file of which another one is a copy.
fn takes_unbound(tool: &[&str], file: &Path, tree: &Tree, copy: &Path) -> bool {
    let origin = tree.origins.iter().find_map(|(copy, origin)| (copy == file).then_some(origin));
    origin.is_some_and(|origin| {
        fs::copy(origin, copy).unwrap();
        run_over(tool, copy)
    })
}

/// Whether the program headers of a file are elsewhere than in the file of which it is a copy.
fn has_moved_headers(file: &Path, tree: &Tree) -> bool {
    let at =
        |path: &Path| fs::read(path).ok().and_then(|bytes| Some(Elf::read(bytes.as_slice()).ok()?.segments_offset));
    let origin = tree.origins.iter().find_map(|(copy, origin)| (copy == file).then_some(origin));
    origin.is_some_and(|origin| at(file) != at(origin))
}

/// Copies of files, to be restored.
struct Kept {
    folder: PathBuf,
    files: Vec<PathBuf>,
}

impl Kept {
    fn aside(files: &[PathBuf], folder: PathBuf) -> Kept {
        fs::create_dir_all(&folder).unwrap();
        files.par_iter().enumerate().for_each(|(at, file)| {
            fs::copy(file, folder.join(at.to_string())).unwrap();
        });
        Kept { folder, files: files.to_vec() }
    }

    fn back(self) {
        self.files.par_iter().enumerate().for_each(|(at, file)| {
            fs::rename(self.folder.join(at.to_string()), file).unwrap();
        });
        fs::remove_dir(&self.folder).unwrap();
    }
}
