//! What is reserved at link time is enough: with it the names fit into the string table, without it they do not.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod plan_support;

use plan_support::*;
use std::path::{Path, PathBuf};
use underpin_resolve::HostRoot;
use underpin_rewrite::plan::{Policy, Reserve, reserve};
use underpin_rewrite::{Rewrite, Strategy};
use underpin_test_support::{Fixture, need};

fn link(fixture: &Fixture, flags: &[String]) -> PathBuf {
    fixture.write("main.c", "int main(void){return 0;}");
    let library = fixture.join("a/rather/long/path/to/the/library/libx.so");
    let mut arguments: Vec<String> =
        ["-fuse-ld=lld", "-o", "prog", "main.c", "-Wl,--no-as-needed"].map(String::from).into();
    arguments.extend([text(&library), "-B/usr/bin".into()]);
    arguments.extend(flags.iter().cloned());
    fixture.must("clang", arguments);
    fixture.join("prog")
}

fn advice(program: &Path, variables: &str) -> (Reserve, Rewrite) {
    let mut environment = underpin_resolve::Environment::empty();
    environment.set(b"LD_LIBRARY_PATH", variables.into());
    let mut policy = Policy::default();
    policy.built_in.library_path = false;
    let plan = plan_in(&[program], &policy, environment);
    (reserve(&HostRoot::new(), &plan).remove(0), object(&plan, program).rewrite.clone().unwrap())
}

#[test]
fn a_placeholder_path_makes_room_in_the_output_of_lld() {
    need!("clang", "ld.lld", "cc");
    let fixture = Fixture::new();
    Library::new("a/rather/long/path/to/the/library/libx.so").build(&fixture);
    let path = text(&fixture.join("a/rather/long/path/to/the/library"));
    let program = link(&fixture, &[]);
    let (reserved, made) = advice(&program, &path);
    let elsewhere = made.placed.iter().any(|placed| placed.strategy != Strategy::DeadStrings);
    assert!(elsewhere, "without the flags there is no room: {:?}", made.placed);
    let expected = path.len() + "/libx.so".len() + 1 + "/lib/x86_64-linux-gnu/libc.so.6".len() + 1;
    assert_eq!((reserved.bytes, reserved.dynamic_tags), (expected as u64, 0));
    assert!(reserved.flags[0].starts_with("-Wl,--enable-new-dtags,-rpath,"), "{reserved:?}");
    let program = link(&fixture, &reserved.flags);
    let (_, made) = advice(&program, &path);
    assert_eq!((made.cost.segments, made.cost.mapped_bytes), (0, 0), "the names fit into what was reserved");
    assert!(made.placed.iter().all(|placed| placed.strategy == Strategy::DeadStrings), "{:?}", made.placed);
}

#[test]
fn a_flattened_program_asks_for_spare_entries() {
    need!("cc");
    let fixture = Fixture::new();
    Library::new("l/libx.so").build(&fixture);
    Library::new("l/liby.so").needs(&["l/libx.so"]).flags(&["-Wl,-rpath,@/l"]).build(&fixture);
    let program = program(&fixture, "prog", &["l/liby.so"], &["-Wl,-rpath,@/l"]);
    let policy = Policy { shape: underpin_rewrite::plan::Shape::Flatten, ..Policy::default() };
    let plan = plan_of(&[&program], &policy);
    let reserved = reserve(&HostRoot::new(), &plan).remove(0);
    assert!(reserved.dynamic_tags >= 1, "{reserved:?}");
    assert_eq!(reserved.flags[0], format!("-Wl,--spare-dynamic-tags={}", reserved.dynamic_tags + 5));
    fixture.write("src/main.c", "int main(void){return 0;}\n");
    let mut arguments = vec!["-o", "prog", "src/main.c", "-Wl,--no-as-needed", "l/liby.so"];
    let rpath = format!("-Wl,-rpath,{}", text(&fixture.join("l")));
    // GNU ld does not have lld's flag.
    arguments.extend([rpath.as_str(), reserved.flags[0].as_str(), "-Wl,-z,separate-code"]);
    fixture.cc(arguments);
    let plan = plan_of(&[&program], &policy);
    let cost = object(&plan, &program).rewrite.as_ref().unwrap().cost;
    assert_eq!((cost.segments, cost.mmap_calls), (0, 0));
}
