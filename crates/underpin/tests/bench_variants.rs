//! `underpin bench --malloc` and `--bind`: the variant is really in effect, or nothing is measured.

mod common;

use common::underpin;
use serde_json::Value;
use underpin_test_support::{Fixture, Output, need};

fn bench(dir: &Fixture, args: &[&str]) -> Output {
    let few = ["bench", "--json", "-r", "2", "--memory-runs", "1"];
    Output::of(underpin([&few, args].concat()).current_dir(dir.path()).env("XDG_CACHE_HOME", dir.path()))
}

fn document(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", output.stderr))
}

fn names(output: &Output) -> Vec<String> {
    let document = document(output);
    let variants = document["variants"].as_array().expect("variants");
    variants.iter().map(|one| one["name"].as_str().expect("a name").to_owned()).collect()
}

/// A program that fails unless an object with this text in its path is in its maps.
fn fails_without(dir: &Fixture, word: &str) -> String {
    let script = format!("exec grep -q {word} /proc/self/maps");
    dir.write("needs", format!("#!/bin/sh\n{script}\n"));
    dir.chmod("needs", 0o755);
    dir.join("needs").display().to_string()
}

#[test]
fn one_allocator_stands_beside_the_command_as_it_is() {
    let dir = Fixture::new();
    let output = bench(&dir, &["--malloc", "mimalloc", "--", "true"]);
    assert_eq!(names(&output), ["as it is", "mimalloc"], "{}", output.stderr);
    let document = document(&output);
    assert!(document["variants"][1]["environment"]["LD_PRELOAD"].as_str().unwrap().contains("mimalloc"));
    assert!(document["variants"][0]["environment"].as_object().unwrap().is_empty());
}

#[test]
fn a_list_is_what_is_compared_and_settings_stay_with_their_allocator() {
    let dir = Fixture::new();
    let list = "system,jemalloc:narenas:2,dirty_decay_ms:100,snmalloc,system:arena_max=2";
    let output = bench(&dir, &["--malloc", list, "--", "true"]);
    let expected = ["system", "jemalloc:narenas:2,dirty_decay_ms:100", "snmalloc", "system:arena_max=2"];
    assert_eq!(names(&output), expected, "{}", output.stderr);
    let document = document(&output);
    let conf = document["variants"][1]["environment"]["MALLOC_CONF"].as_str().unwrap().to_owned();
    assert!(conf.contains("narenas:2") && conf.contains("dirty_decay_ms:100"), "{conf}");
}

#[test]
fn the_allocator_serves_the_timed_runs_and_children_too() {
    let dir = Fixture::new();
    let program = fails_without(&dir, "jemalloc");
    let output = bench(&dir, &["--malloc", "jemalloc,jemalloc:narenas:1", "--", &program]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let output = bench(&dir, &["--malloc", "system,jemalloc", "--", &program]);
    assert_eq!(output.code, Some(2), "the same program fails on the system's");
}

#[test]
fn every_dimension_is_combined_with_every_other() {
    let dir = Fixture::new();
    let args = ["--malloc", "system,mimalloc", "--bind", "before,after", "--variant", "c=LC_ALL=C", "--", "ls"];
    let output = bench(&dir, &args);
    let names = names(&output);
    assert_eq!(names.len(), 8, "{}", output.stderr);
    assert_eq!((names[0].as_str(), names[7].as_str()), ("system, before", "mimalloc, after, c"));
}

#[test]
fn a_bound_copy_runs_in_the_place_of_the_program_and_is_gone_afterwards() {
    need!("/usr/bin/git");
    let dir = Fixture::new();
    dir.copy("/usr/bin/git", "git");
    let git = dir.join("git").display().to_string();
    let before = std::fs::read(&git).unwrap();
    let output = bench(&dir, &["--bind", "after", "--", &git, "--version"]);
    assert_eq!(names(&output), ["before", "after"], "{}", output.stderr);
    assert_eq!(std::fs::read(&git).unwrap(), before, "the program is as it was");
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with(".underpin-")), "{left:?}");
}

#[test]
fn what_cannot_run_under_a_variant_is_refused_before_anything_runs() {
    let dir = Fixture::new();
    let ran = dir.join("ran").display().to_string();
    for (args, words) in [
        (vec!["--malloc", "hoard", "--", "touch", &ran], "no allocator is called"),
        (vec!["--malloc", "jemalloc:narenas", "--", "touch", &ran], "narenas"),
        (vec!["--malloc", "jemalloc:no_such_setting:1", "--", "touch", &ran], "no setting"),
        (vec!["--malloc", "./none.so", "--", "touch", &ran], "none.so"),
        (vec!["--bind", "sideways", "--", "touch", &ran], "sideways"),
        (vec!["--malloc", "jemalloc", "--", "no-such-program"], "no-such-program"),
    ] {
        let output = bench(&dir, &args);
        assert_eq!(output.code, Some(2), "{args:?}");
        assert!(output.stderr.contains(words), "{args:?}: {}", output.stderr);
        assert!(output.stdout.is_empty(), "{args:?}");
    }
    assert!(!dir.join("ran").exists());
}

#[test]
fn a_static_program_is_told_apart_beforehand() {
    need!("/usr/bin/gcc");
    let dir = Fixture::new();
    dir.write("a.c", "int main(void) { return 0; }\n");
    let program = dir.join("a").display().to_string();
    let source = dir.join("a.c").display().to_string();
    let compiled = std::process::Command::new("gcc").args(["-static", "-o", &program, &source]).status().unwrap();
    assert!(compiled.success());
    for option in [["--malloc", "mimalloc"], ["--bind", "after"]] {
        let output = bench(&dir, &[&option[..], &["--", &program]].concat());
        assert_eq!(output.code, Some(2), "{option:?}");
        assert!(output.stderr.contains("static"), "{option:?}: {}", output.stderr);
    }
}

/// Prints whether it runs with a loader: a static program has no entry for it in its auxiliary vector.
const LOADED: &str = "#include <stdio.h>\n#include <sys/auxv.h>\nint main(int argc, char **argv) {\n    \
    FILE *out = fopen(argv[1], \"a\");\n    fprintf(out, \"%d\", getauxval(AT_BASE) != 0);\n    return fclose(out);\n}\n";

#[test]
fn each_build_of_a_project_runs_in_the_place_of_the_commands_program() {
    need!("cc", "musl-gcc");
    let dir = Fixture::new();
    dir.write("loaded.c", LOADED);
    let args = ["--build", "glibc,musl,musl+jemalloc", "--project", "loaded.c", "--", "./loaded", "out"];
    let output = bench(&dir, &args);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(names(&output), ["glibc", "musl", "musl+jemalloc"]);
    let written = std::fs::read_to_string(dir.join("out")).unwrap();
    let loaded = written.chars().filter(|&run| run == '1').count();
    // The dynamic build is run as often as each static one.
    assert_eq!((loaded * 3, written.len() % 3), (written.len(), 0), "{written}");
    assert!(!dir.join("loaded").exists(), "the builds are gone");
}

#[test]
fn builds_that_cannot_be_compared_are_refused_with_the_reason() {
    need!("cc");
    let dir = Fixture::new();
    dir.write("loaded.c", LOADED);
    let refused = |args: &[&str], reason: &str| {
        let output = bench(&dir, args);
        assert_eq!(output.code, Some(2), "{args:?}: {}", output.stdout);
        assert!(output.stderr.contains(reason), "{args:?}: {}", output.stderr);
    };
    let project = ["--project", "loaded.c"];
    let with = |build, rest: &[&'static str]| [&["--build", build], &project[..], rest].concat();
    refused(&with("make", &["--", "./loaded"]), "--build make: write builds with commas");
    refused(&with("glibc", &["--", "./other"]), "other");
    refused(&with("glibc", &["-S", "default", "./loaded"]), "--build with -S");
    refused(&with("glibc", &["--malloc", "jemalloc", "--", "./loaded"]), "name the allocator in the build");
    refused(&["--build", "glibc", "--", "./loaded"], "--build glibc");
    dir.write("loaded.c", "int main(void) { return missing(); }");
    refused(&with("glibc", &["--", "./loaded"]), "undefined reference");
}
