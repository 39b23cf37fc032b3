//! Sources that this machine's own compiler takes, built by one of another C library: what the compilers have by themselves (old
//! names, debugging information, this machine's folders) does not come between.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod common;

use common::building::{build, must};
use underpin_test_support::{Fixture, Output, need, zigs};

/// C of before 1989, without what may be wrong.
const OLD: &str = include_str!("sources/old.c");
const REMOVED: &str = include_str!("sources/removed.cpp");

fn says(dir: &Fixture, file: &str) -> String {
    Output::of(&mut dir.command(dir.join(file))).stdout
}

#[test]
fn names_that_newer_standards_removed_are_there_as_they_are_for_gcc() {
    need!("g++");
    let Some(zig) = zigs().into_iter().next() else { return };
    let dir = Fixture::new();
    dir.write("removed.cpp", REMOVED);
    dir.must("g++", ["-w", "removed.cpp", "-o", "by-gcc"]);
    let judge = says(&dir, "by-gcc");
    assert!(judge.starts_with("3 1 "), "{judge}");
    for standard in ["-O1", "-std=c++11", "-std=c++20"] {
        must(build(&dir, Some(&zig), &["removed.cpp", "--cc", "zig", "-o", "by-zig", "--force", "--", "-w", standard]));
        assert_eq!(says(&dir, "by-zig"), judge, "{standard}");
    }
}

#[test]
fn old_c_is_taken_as_gcc_took_it() {
    need!("gcc");
    let Some(zig) = zigs().into_iter().next() else { return };
    let dir = Fixture::new();
    dir.write("old.c", OLD);
    // As it did before release 14.
    dir.must("gcc", ["-w", "-std=gnu89", "old.c", "-o", "by-gcc"]);
    let judge = says(&dir, "by-gcc");
    assert!(judge.starts_with("3 3 "), "{judge}");
    for standard in ["-O2", "-std=gnu89"] {
        must(build(&dir, Some(&zig), &["old.c", "--cc", "zig", "-o", "by-zig", "--force", "--", "-w", standard]));
        assert_eq!(says(&dir, "by-zig"), judge, "{standard}");
    }
}

#[test]
fn debugging_information_of_a_project_is_there_if_it_asks_for_it() {
    need!("readelf");
    let Some(zig) = zigs().into_iter().next() else { return };
    let dir = Fixture::new();
    for (folder, word) in [("with", "-g"), ("without", "-Wall")] {
        dir.write(format!("{folder}/program.c"), "int main(void) { return 0; }\n");
        dir.write(format!("{folder}/quick.s"), ".globl quick\nquick: ret\n");
        let rule = format!("program: program.c quick.s\n\t$(CC) {word} -O2 program.c quick.s -o $@\n");
        dir.write(format!("{folder}/Makefile"), rule);
    }
    for (folder, there) in [("with", true), ("without", false)] {
        let said =
            Output::of(&mut build(&dir, Some(&zig), &[folder, "--cc", "zig", "-o", "made", "--force", "--json"]))
                .stdout;
        let document: serde_json::Value = serde_json::from_str(&said).unwrap();
        let sections = dir.must("readelf", ["-SW", "made"]);
        let sizes = sections.lines().filter_map(|line| line.split_once(" .debug_")?.1.split_whitespace().nth(4));
        let judge: u64 = sizes.map(|size| u64::from_str_radix(size, 16).unwrap()).sum();
        assert_eq!(document["programs"][0]["debug_bytes"], judge, "{folder}: {sections}");
        let sources = dir.must("readelf", ["--debug-dump=info", "made"]);
        assert_eq!(sources.contains("program.c"), there, "{folder}");
    }
}

/// What a level of optimisation means to a program, and what must not depend on it.
const LEVELS: &str = r#"
#include <assert.h>
#include <stdio.h>
int main(void) {
    int asserted = 0;
    assert(asserted = 1);
    printf("%zu %d", sizeof(__DATE__ __TIME__), asserted);
#ifdef __OPTIMIZE__
    printf(" optimised");
#endif
#ifdef __OPTIMIZE_SIZE__
    printf(" for size");
#endif
#ifdef __FAST_MATH__
    printf(" fast-math");
#endif
    puts("");
}
"#;

#[test]
fn a_level_of_optimisation_means_what_it_means_to_gcc() {
    need!("gcc");
    let Some(zig) = zigs().into_iter().next() else { return };
    let dir = Fixture::new();
    dir.write("levels.c", LEVELS);
    for level in ["-O0", "-O", "-O1", "-O2", "-O3", "-Os", "-Oz", "-Og", "-Ofast", "-O3 -O0", "-O2 -DNDEBUG"] {
        let words: Vec<&str> = ["-Wall", "-Werror"].into_iter().chain(level.split(' ')).collect();
        dir.must("gcc", ["levels.c", "-o", "by-gcc", "-w"].iter().chain(&words));
        must(build(
            &dir,
            Some(&zig),
            &[&["levels.c", "--cc", "zig", "-o", "by-zig", "--force", "--"], &words[..]].concat(),
        ));
        assert_eq!(says(&dir, "by-zig"), says(&dir, "by-gcc"), "{level}");
    }
}

#[test]
fn a_folder_of_this_machines_own_headers_or_libraries_is_passed_over() {
    need!("musl-gcc", "clang", "ld.lld");
    let Some(zig) = zigs().into_iter().next() else { return };
    let dir = Fixture::new();
    let source = "#include <stdio.h>\n#ifdef __GLIBC__\n#error these are the headers of another C library\n#endif\n\
                  int main(void) { return puts(\"so\") < 0; }\n";
    dir.write("program.c", source);
    for compiler in ["gcc", "clang", "zig"] {
        for folder in [&["-I/usr/include", "-L/usr/lib/x86_64-linux-gnu"][..], &["-isystem", "/usr/include"]] {
            let words = ["program.c", "--cc", compiler, "-o", "made", "--force", "--"];
            must(build(&dir, Some(&zig), &[&words[..], folder].concat()));
            assert_eq!(says(&dir, "made"), "so\n", "{compiler} {folder:?}");
        }
    }
}
