//! Killed at any instant, the file is the old one or the new one.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "in a test a panic is the failing assertion")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use underpin_resolve::Environment;
use underpin_rewrite::bytes::{record, rewrite, undo};
use underpin_rewrite::files::{BoundName, Expectation, Judge, Keep, Target, clean, verify_rewritten};
use underpin_rewrite::{Edits, Rename, RewriteOptions};
use underpin_test_support::{Fixture, need};

const CHILD: &str = "UNDERPIN_TEST_BINDS_FOR_EVER";
const KILLS: usize = 320;

/// The child: binds and unbinds one program until it is killed.
fn bind_and_unbind_for_ever(program: &Path) {
    clean(program.parent().unwrap()).unwrap();
    let judge = Judge::new(Environment::empty());
    loop {
        let target = Target::open(program, None).unwrap();
        let old = target.read().unwrap();
        let (new, bound) = match record(&old).unwrap() {
            Some(_) => (undo(&old).unwrap(), Vec::new()),
            None => (bind(program, &old), names(program)),
        };
        let expectation = Expectation::of(&judge, program, bound);
        let verify = |copy: &Path| verify_rewritten(&judge, copy, program, &expectation).map(|_| ());
        target.replace(&new, &Keep::default(), verify).unwrap();
    }
}

fn library(program: &Path) -> PathBuf {
    program.with_file_name("lib").join("libx.so")
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

/// A small generator of random numbers (splitmix64); the seed is printed, so that a failure can be seen again.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (value ^ (value >> 31)) % limit
    }
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
    dir.cc(["-o", "prog", "main.c", "-Llib", "-lx", "-Wl,-rpath,$ORIGIN/lib"]);
    let program = dir.join("prog");
    let old = fs::read(&program).unwrap();
    let new = bind(&program, &old);
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    println!("seed {seed}");
    let mut random = Random(seed);
    let (mut olds, mut news, mut leftovers) = (0, 0, 0);
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
    }
    println!("{olds} times the old file, {news} times the new one, {leftovers} leftovers");
    assert!(olds > 0 && news > 0 && leftovers > 0, "the kills did not come at different moments");
    clean(dir.path()).unwrap();
    assert_eq!(temporaries(dir.path()), Vec::<String>::new());
}

fn temporaries(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains("underpin")).collect()
}
