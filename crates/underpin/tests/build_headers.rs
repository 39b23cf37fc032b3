//! Headers that glibc has and musl has not, which `build` brings: what a program does with them it does with glibc's.

mod common;

use common::underpin;
use underpin_test_support::{Fixture, Output, need};

/// Lists and queues through random changes, with macros of `sys/cdefs.h` around its declarations.
const QUEUE: &str = include_str!("headers/queue.c");

#[test]
fn lists_and_queues_are_those_of_glibc() {
    need!("musl-gcc", "clang", "ld.lld", "readelf");
    let dir = Fixture::new();
    dir.write("queue.c", QUEUE);
    dir.cc(["-O1", "-w", "queue.c", "-o", "on-glibc"]);
    let judge = Output::of(&mut dir.command(dir.join("on-glibc"))).stdout;
    assert!(judge.lines().count() > 2000, "{judge}");
    for compiler in ["gcc", "clang"] {
        let output = dir.join(compiler).display().to_string();
        let words = ["build", "queue.c", "--cc", compiler, "-o", &output, "--", "-Wall", "-Wextra", "-Werror"];
        let built = Output::of(underpin(words).current_dir(dir.path()).env("XDG_CACHE_HOME", dir.join("cache")));
        assert_eq!(built.code, Some(0), "{}{}", built.stdout, built.stderr);
        let said = Output::of(&mut dir.command(dir.join(compiler))).stdout;
        assert!(said == judge, "{compiler}: another answer than glibc's header gives");
    }
}

#[test]
fn a_projects_own_header_of_the_name_is_found_first() {
    need!("musl-gcc", "readelf");
    let dir = Fixture::new();
    dir.write("own/sys/queue.h", "#define OWN 7\n");
    dir.write("program.c", "#include <sys/queue.h>\nint main(void) { return OWN - 7; }\n");
    for word in ["-Iown", "-isystem"] {
        let mut command = underpin(["build", "program.c", "--as", "musl+system", "--force", "--", word]);
        if word == "-isystem" {
            command.arg("own");
        }
        let built = Output::of(command.current_dir(dir.path()).env("XDG_CACHE_HOME", dir.join("cache")));
        assert_eq!(built.code, Some(0), "{word}: {}{}", built.stdout, built.stderr);
    }
}
