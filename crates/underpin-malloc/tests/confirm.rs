//! The proof in advance: a command is started, checked, and killed before its program has run.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use underpin_malloc::{Confirmation, Inherit, Malloc, MallocError, NotTaken, Prepared, Program, prepare};
use underpin_sys::{Launch, LaunchError};
use underpin_test_support::{Fixture, need};

const JEMALLOC_OF_DEBIAN: &str = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2";

fn prepared(dir: &Fixture, variant: &str, command: &str) -> Result<Prepared, MallocError> {
    let variant: Malloc = variant.parse().expect("a variant");
    let program = Program::find(OsStr::new(command), None)?;
    prepare(&variant, &program, &[dir.join("store")], |_| None)
}

/// A command that leaves a file behind if its program ever runs.
fn launch(dir: &Fixture, prepared: &Prepared, preloaded: Option<&str>) -> Result<Confirmation, LaunchError> {
    let before = |name: &OsStr| (name == "LD_PRELOAD").then(|| preloaded.map(OsString::from)).flatten();
    let environment = prepared
        .changes(1, Inherit::Follow, false, before)
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .chain(preloaded.filter(|_| prepared.object.is_none()).map(|path| ("LD_PRELOAD".into(), path.into())))
        .collect();
    let mark = dir.join("it-ran").into_os_string();
    let arguments = vec!["touch".into(), mark];
    let program = PathBuf::from("/bin/touch");
    prepared.watch().confirm(Launch {
        program,
        arguments,
        environment,
        input: None,
        output: None,
        directory: None,
        filter: None,
    })
}

#[test]
fn a_variant_that_takes_is_confirmed_and_nothing_has_run() {
    let dir = Fixture::new();
    for variant in ["jemalloc:narenas:2", "mimalloc", "system", "system:arena_max=2"] {
        let prepared = prepared(&dir, variant, "/bin/touch").unwrap();
        assert_eq!(launch(&dir, &prepared, None).unwrap(), Confirmation::Taken, "{variant}");
        assert!(!dir.join("it-ran").exists(), "{variant}");
    }
}

#[test]
fn another_allocator_in_front_is_found() {
    need!(JEMALLOC_OF_DEBIAN);
    let dir = Fixture::new();
    let system = prepared(&dir, "system", "/bin/touch").unwrap();
    let Confirmation::NotTaken(NotTaken::Another { by, .. }) = launch(&dir, &system, Some(JEMALLOC_OF_DEBIAN)).unwrap()
    else {
        panic!("the C library does not serve it");
    };
    assert_eq!(by, PathBuf::from(JEMALLOC_OF_DEBIAN));
    let mimalloc = prepared(&dir, "mimalloc", "/bin/touch").unwrap();
    assert_eq!(launch(&dir, &mimalloc, Some(JEMALLOC_OF_DEBIAN)).unwrap(), Confirmation::Taken, "ours comes first");
}

#[test]
fn an_object_that_is_gone_when_it_is_needed_is_found() {
    let dir = Fixture::new();
    let prepared = prepared(&dir, "mimalloc", "/bin/touch").unwrap();
    std::fs::remove_file(prepared.object.as_ref().unwrap()).unwrap();
    let confirmation = launch(&dir, &prepared, None).unwrap();
    assert!(matches!(confirmation, Confirmation::NotTaken(NotTaken::NotLoaded { .. })), "{confirmation:?}");
    assert!(!dir.join("it-ran").exists());
}

#[test]
fn a_script_stands_for_its_interpreter_and_env_for_two_programs() {
    need!("/usr/bin/env", "/bin/sh");
    let dir = Fixture::new();
    for (first, stages) in [("#!/bin/sh -e\n", 1), ("#!/usr/bin/env sh\n", 2), ("#!/usr/bin/env -S A=1 sh -e\n", 2)] {
        dir.write("script", first);
        dir.chmod("script", 0o755);
        let program = Program::find(dir.join("script").as_os_str(), Some(OsStr::new("/usr/bin:/bin"))).unwrap();
        assert_eq!(program.stages.len(), stages, "{first}");
        assert!(program.stages.last().unwrap().path.ends_with("sh"), "{first}");
        assert_eq!(program.file, dir.join("script"));
    }
    dir.write("circle", format!("#!{}\n", dir.join("circle").display()));
    dir.chmod("circle", 0o755);
    assert!(Program::find(dir.join("circle").as_os_str(), None).is_err());
}
