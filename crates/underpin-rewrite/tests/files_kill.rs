//! Killed at any instant, the file is the old one or the new one.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "in a test a panic is the failing assertion")]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use underpin_resolve::Environment;
use underpin_rewrite::bytes::{record, rewrite, undo};
use underpin_rewrite::files::{Baseline, BoundName, HardLinks, HeldFile, Keep, Verifier, clean, verify_rewritten};
use underpin_rewrite::{Edits, Rename, RewriteOptions};
use underpin_test_support::{Fixture, Random, need};

const CHILD: &str = "UNDERPIN_TEST_BINDS_FOR_EVER";
const KILLS: usize = 320;

/// The child: binds and unbinds one program until it is killed.
fn bind_and_unbind_for_ever(program: &Path) {
    let verifier = Verifier::new(Environment::empty());
    loop {
        let target = HeldFile::open(program, None).unwrap();
        let old = target.read().unwrap();
        let (new, bound) = match record(&old).unwrap() {
            Some(_) => (undo(&old).unwrap(), Vec::new()),
            None => (bind(program, &old), names(program)),
        };
        let baseline = Baseline::of(&verifier, program, bound);
        let verify = |copy: &Path| verify_rewritten(&verifier, copy, program, &baseline).map(|_| ());
        let keep = Keep { hard_links: HardLinks::Relink(vec![other_name(program)]), ..Keep::default() };
        target.replace(&new, &keep, verify).unwrap();
    }
}

fn library(program: &Path) -> PathBuf {
    program.with_file_name("lib").join("libx.so")
}

/// A second name of the program, in another directory.
fn other_name(program: &Path) -> PathBuf {
    program.with_file_name("bin").join("also")
}

fn names(program: &Path) -> Vec<BoundName> {
    let object = library(program);
    vec![BoundName { name: object.to_str().unwrap().into(), object }]
}

fn bind(program: &Path, original: &[u8]) -> Vec<u8> {
    let to = library(program).to_str().unwrap().into();
    let edits = Edits { renames: vec![Rename { from: "libx.so".into(), to }], ..Edits::default() };
    rewrite(original, &edits, &RewriteOptions::default()).unwrap().apply(original)
}

#[test]
fn killed_at_any_instant_the_file_is_the_old_one_or_the_new_one() {
    if let Some(program) = std::env::var_os(CHILD) {
        return bind_and_unbind_for_ever(Path::new(&program));
    }
    need!("cc");
    let dir = Fixture::new();
    dir.mkdir("lib");
    dir.write("x.c", "int x(void){return 0;}");
    dir.write("main.c", "int x(void); int main(void){return x();}");
    dir.cc(["-shared", "-fPIC", "-o", "lib/libx.so", "-Wl,-soname,libx.so", "x.c"]);
    dir.cc(["-o", "prog", "main.c", "-Llib", "-lx", &format!("-Wl,-rpath,{}/lib", dir.text())]);
    let program = dir.join("prog");
    dir.mkdir("bin");
    fs::hard_link(&program, other_name(&program)).unwrap();
    let old = fs::read(&program).unwrap();
    let new = bind(&program, &old);
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let (mut olds, mut news, mut leftovers, mut finished) = (0, 0, 0, 0);
    for _ in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["killed_at_any_instant_the_file_is_the_old_one_or_the_new_one", "--exact"])
            .env(CHILD, &program)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        sleep(Duration::from_micros(random.below(45_000)));
        assert!(child.try_wait().unwrap().is_none(), "the child gave up by itself");
        child.kill().unwrap();
        child.wait().unwrap();
        let now = fs::read(&program).unwrap();
        assert!(now == old || now == new, "neither the old nor the new file");
        *(if now == old { &mut olds } else { &mut news }) += 1;
        assert!(Command::new(&program).status().unwrap().success(), "it does not start");
        leftovers += temporaries(dir.path()).len();
        let also = fs::read(other_name(&program)).unwrap();
        assert!(also == old || also == new, "neither the old nor the new file under its second name");
        // The next run finishes what is unfinished, and both names lead to one file again.
        finished += clean(&dir.join("bin")).unwrap().finished.len() + clean(dir.path()).unwrap().finished.len();
        let inode = |path: &Path| fs::metadata(path).unwrap().ino();
        assert_eq!(inode(&program), inode(&other_name(&program)), "two files of what was one");
    }
    println!("{olds} times the old file, {news} times the new one, {leftovers} leftovers, {finished} finished");
    assert!(olds > 0 && news > 0 && leftovers > 0, "the kills did not come at different moments");
    // A process that the last child had started may hold its lock a moment longer than the child lived.
    for _ in 0..100 {
        if temporaries(dir.path()).is_empty() && temporaries(&dir.join("bin")).is_empty() {
            return;
        }
        sleep(Duration::from_millis(50));
        clean(&dir.join("bin")).unwrap();
        clean(dir.path()).unwrap();
    }
    assert_eq!(temporaries(dir.path()), Vec::<String>::new());
    assert_eq!(temporaries(&dir.join("bin")), Vec::<String>::new());
}

fn temporaries(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains("underpin")).collect()
}

/// A program with two names, its bound bytes under a third, as after a kill between two renames.
fn half_done(dir: &Fixture, renamed: bool) -> (PathBuf, PathBuf) {
    dir.mkdir("lib");
    dir.mkdir("bin");
    dir.write("x.c", "int x(void){return 0;}");
    dir.write("main.c", "int x(void); int main(void){return x();}");
    dir.cc(["-shared", "-fPIC", "-o", "lib/libx.so", "-Wl,-soname,libx.so", "x.c"]);
    dir.cc(["-o", "prog", "main.c", "-Llib", "-lx", &format!("-Wl,-rpath,{}/lib", dir.text())]);
    let (program, other) = (dir.join("prog"), dir.join("bin/also"));
    fs::hard_link(&program, &other).unwrap();
    let first = dir.write(".prog.underpin-1-0", bind(&program, &fs::read(&program).unwrap()));
    fs::hard_link(&first, dir.join("bin/.also.underpin-1-1")).unwrap();
    if renamed {
        fs::rename(&first, &program).unwrap();
    }
    (program, other)
}

#[test]
fn names_that_were_half_renamed_are_finished() {
    need!("cc");
    for renamed in [true, false] {
        let dir = Fixture::new();
        let (program, other) = half_done(&dir, renamed);
        let first = clean(dir.path()).unwrap();
        let second = clean(&dir.join("bin")).unwrap();
        assert_eq!((first.finished.len(), second.finished.len()), (usize::from(!renamed), 1));
        assert!(first.removed.is_empty() && second.removed.is_empty());
        assert_eq!(fs::metadata(&program).unwrap().ino(), fs::metadata(&other).unwrap().ino());
        assert!(record(&fs::read(&other).unwrap()).unwrap().is_some());
    }
}

#[test]
fn names_for_which_not_all_was_ready_stay_as_they_were() {
    need!("cc");
    let dir = Fixture::new();
    let (program, other) = half_done(&dir, false);
    // A third name, for which no link existed yet when the run was killed.
    let third = dir.join("third");
    fs::hard_link(&program, &third).unwrap();
    let found = [clean(dir.path()).unwrap(), clean(&dir.join("bin")).unwrap()];
    assert!(found.iter().all(|found| found.removed.len() == 1 && found.finished.is_empty()), "{found:?}");
    let inode = |path: &Path| fs::metadata(path).unwrap().ino();
    assert!(inode(&program) == inode(&other) && inode(&program) == inode(&third));
    assert_eq!(record(&fs::read(&third).unwrap()).unwrap(), None);
}

#[test]
fn a_file_that_somebody_replaced_meanwhile_is_not_overwritten_by_a_leftover() {
    need!("cc");
    let dir = Fixture::new();
    let (_, other) = half_done(&dir, true);
    fs::remove_file(&other).unwrap();
    fs::write(&other, "an upgrade").unwrap();
    let found = clean(&dir.join("bin")).unwrap();
    assert_eq!((found.finished.len(), found.removed.len()), (0, 1));
    assert_eq!(fs::read(&other).unwrap(), b"an upgrade");
}
