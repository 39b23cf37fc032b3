//! Real programs with every library in a directory of its own: bound in each shape, started, and compared.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod plan_support;

use plan_support::*;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_resolve::{Depth, Environment, HostRoot, Resolver};
use underpin_rewrite::plan::{CallSum, Policy, Shape};
use underpin_test_support::{Fixture, Output, need};

/// Copies a program and its libraries, except for glibc; DT_RPATH of the program names all their directories.
fn spread(fixture: &Fixture, program: &str) -> PathBuf {
    let program = Path::new(program).canonicalize().unwrap();
    let root = HostRoot::new();
    let resolver = Resolver::new(&root, Environment::empty());
    let closure = resolver.resolve(program.as_os_str().as_bytes().into(), Depth::Load).unwrap();
    let glibc = ["libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "libpthread.so.0", "libdl.so.2", "librt.so.1"];
    let mut directories = Vec::new();
    for (number, object) in closure.objects[1..].iter().enumerate() {
        let path = PathBuf::from(object.path.to_string());
        let name = path.file_name().unwrap().to_str().unwrap();
        if glibc.contains(&name) {
            continue;
        }
        let directory = fixture.mkdir(format!("prefix-{number}/lib"));
        std::fs::copy(&path, directory.join(name)).unwrap();
        directories.push(text(&directory));
    }
    let copy = fixture.mkdir("bin").join(program.file_name().unwrap());
    std::fs::copy(&program, &copy).unwrap();
    fixture.must("patchelf", ["--force-rpath", "--set-rpath", &directories.join(":"), &text(&copy)]);
    copy
}

/// What the loader does in a real start: constructors in order, what the program prints, its exit code. (Emacs does not
/// find its dump from another directory, and exits with an error after all constructors have run.)
fn start(program: &Path, argument: &str) -> (Vec<String>, String, Option<i32>) {
    let mut command = Command::new(program);
    command.arg(argument).env("LD_DEBUG", "files").env_remove("LD_LIBRARY_PATH").env("LC_ALL", "C");
    let output = Output::of(&mut command);
    let constructors = output.stderr.lines().take_while(|line| !line.contains("initialize program: "));
    let constructors = constructors.filter_map(|line| Some(line.split_once("calling init: ")?.1));
    let real = |path: &str| text(&Path::new(path).canonicalize().unwrap());
    let constructors: Vec<String> = constructors.map(real).collect();
    assert!(!constructors.is_empty(), "{}: {}", program.display(), output.stderr);
    (constructors, output.stdout, output.code)
}

fn calls(program: &Path) -> CallSum {
    let root = HostRoot::new();
    let resolver = Resolver::new(&root, Environment::empty());
    CallSum::of(&resolver.resolve(program.as_os_str().as_bytes().into(), Depth::Findings).unwrap())
}

fn in_every_shape(program: &str, argument: &str) {
    need!(program, "patchelf", "cc");
    let fixture = Fixture::new();
    let copy = spread(&fixture, program);
    let (before, started) = (loaded(&copy), start(&copy, argument));
    assert!(before.iter().filter(|object| object.starts_with(fixture.path())).count() > 0, "{before:?}");
    let unbound = contents(fixture.path());
    for shape in [Shape::PerObject, Shape::Flatten, Shape::Farm, Shape::Relative] {
        let policy = Policy { shape, ..Policy::default() };
        let plan = plan_of(&[fixture.path()], &policy);
        assert_eq!(plan.refused, [], "{shape:?}");
        carry_out(&plan);
        assert_eq!(loaded(&copy), before, "{shape:?}");
        assert_eq!(start(&copy, argument), started, "{shape:?}");
        let predicted = plan.programs[0].after.unwrap();
        assert_eq!(calls(&copy), predicted, "{shape:?}: the files on the disk cost what the plan said");
        let worst = if matches!(shape, Shape::PerObject | Shape::Flatten) { 2 } else { 60 };
        assert!(predicted.failed <= worst, "{shape:?}: {predicted:?}");
        unbind_all(&plan);
        for farm in &plan.farms {
            std::fs::remove_dir_all(&farm.directory).unwrap();
        }
        assert_eq!(contents(fixture.path()), unbound, "{shape:?}: every byte is back");
    }
}

#[test]
fn git_is_the_same_program_in_every_shape() {
    in_every_shape("/usr/bin/git", "--version");
}

#[test]
fn python_is_the_same_program_in_every_shape() {
    in_every_shape("/usr/bin/python3", "--version");
}

#[test]
fn emacs_is_the_same_program_in_every_shape() {
    in_every_shape("/usr/bin/emacs-gtk", "--version");
}
