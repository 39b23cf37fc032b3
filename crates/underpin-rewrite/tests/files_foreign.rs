//! Files of musl and of other machines through the driver: verified by their own loader, or reported as verified by the
//! model.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

use std::fs;
use std::path::Path;
use std::process::Command;
use underpin_resolve::Environment;
use underpin_rewrite::bytes::rewrite;
use underpin_rewrite::files::{BoundName, Job, JobKind, JobOutcome, Jobs, NotAsked, NullProgress, Verified, run_all};
use underpin_rewrite::{Edits, Rename, RewriteOptions};
use underpin_test_support::{Fixture, need};

/// A program that needs libx.so from a directory of its own, built by this compiler.
fn tree(compiler: &str) -> Fixture {
    let dir = Fixture::new();
    dir.mkdir("lib");
    dir.write("x.c", "int x(void){return 7;}");
    dir.write("m.c", "int x(void); int main(void){return x();}");
    let rpath = format!("-Wl,-rpath,{}/lib", dir.text());
    dir.must(compiler, ["-shared", "-fPIC", "-o", "lib/libx.so", "-Wl,-soname,libx.so", "x.c"]);
    dir.must(compiler, ["-o", "prog", "m.c", "-Llib", "-lx", &rpath]);
    dir
}

fn bind(dir: &Fixture, to: &Path) -> Job {
    let path = dir.join("prog");
    let name = to.to_str().unwrap();
    let edits = Edits { renames: vec![Rename { from: "libx.so".into(), to: name.into() }], ..Edits::default() };
    let rewrite = rewrite(&fs::read(&path).unwrap(), &edits, &RewriteOptions::default()).unwrap();
    let bound = vec![BoundName { name: name.into(), object: to.into() }];
    Job { path, planned: None, task: JobKind::Bind { rewrite, bound } }
}

fn outcome(job: Job) -> JobOutcome {
    run_all(&Jobs::new(vec![job], Environment::empty()), &NullProgress).results.pop().unwrap().outcome
}

#[test]
fn a_musl_program_is_bound_and_verified_by_musl() {
    need!("musl-gcc");
    let dir = tree("musl-gcc");
    let old = fs::read(dir.join("prog")).unwrap();
    let found = outcome(bind(&dir, &dir.join("lib/libx.so")));
    assert!(matches!(found, JobOutcome::Bound(Verified::Loader { objects: 2 })), "{found:?}");
    fs::rename(dir.join("lib/libx.so"), dir.join("lib/liby.so")).unwrap();
    assert_eq!(
        Command::new(dir.join("prog")).output().unwrap().status.code(),
        Some(127),
        "it is asked for by its path"
    );
    fs::rename(dir.join("lib/liby.so"), dir.join("lib/libx.so")).unwrap();
    assert_eq!(Command::new(dir.join("prog")).status().unwrap().code(), Some(7));
    assert!(matches!(outcome(Job::unbind(dir.join("prog"))), JobOutcome::Unbound(_)));
    assert_eq!(fs::read(dir.join("prog")).unwrap(), old);
}

#[test]
fn a_wrong_binding_of_a_musl_program_is_rejected() {
    need!("musl-gcc");
    let dir = tree("musl-gcc");
    let old = fs::read(dir.join("prog")).unwrap();
    dir.mkdir("copy");
    fs::copy(dir.join("lib/libx.so"), dir.join("copy/libx.so")).unwrap();
    for to in ["copy/libx.so", "lib/none.so"] {
        let found = outcome(bind(&dir, &dir.join(to)));
        assert!(matches!(found, JobOutcome::Failed(_)), "{to}: {found:?}");
        assert_eq!(fs::read(dir.join("prog")).unwrap(), old);
    }
}

#[test]
fn another_machines_program_is_bound_by_the_models_word_and_runs() {
    need!("aarch64-linux-gnu-gcc", "qemu-aarch64");
    let dir = tree("aarch64-linux-gnu-gcc");
    let old = fs::read(dir.join("prog")).unwrap();
    let found = outcome(bind(&dir, &dir.join("lib/libx.so")));
    let by_model = |found: &JobOutcome| {
        matches!(found, JobOutcome::Bound(Verified::ModelOnly { because: NotAsked::ForeignMachine { .. }, .. }))
    };
    assert!(by_model(&found), "{found:?}");
    let run = || Command::new("qemu-aarch64").args(["-L", "/usr/aarch64-linux-gnu"]).arg(dir.join("prog")).status();
    assert_eq!(run().unwrap().code(), Some(7));
    assert!(matches!(outcome(Job::unbind(dir.join("prog"))), JobOutcome::Unbound(_)));
    assert_eq!(fs::read(dir.join("prog")).unwrap(), old);
    let wrong = outcome(bind(&dir, &dir.join("lib/none.so")));
    assert!(matches!(wrong, JobOutcome::Failed(_)), "the model rejects it: {wrong:?}");
}
