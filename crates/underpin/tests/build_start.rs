//! What a program that `build` makes pays before `main`.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod common;

use common::building::{build, must};
use std::path::PathBuf;
use underpin_test_support::{Fixture, need, zigs};

/// musl tells the kernel where a thread's variables are, and asks for its number: what a start cannot do without.
const WITHOUT_WHICH_NONE_STARTS: [&str; 4] = ["execve", "arch_prctl", "set_tid_address", "exit_group"];

/// Beside its own, musl has 16 words for thread-local variables (`struct builtin_tls` in `src/env/__init_tls.c`). A program with more of
/// them maps a page at its start: a call, a page fault and its way back, a twentieth of the time of an empty program. Those of the
/// allocator and of the overlay together leave the first program room for a pointer.
#[test]
fn a_program_asks_the_kernel_for_nothing_before_main_that_it_does_not_need() {
    need!("musl-gcc", "strace");
    let dir = Fixture::new();
    dir.write("empty.c", "int main(void) { return 0; }");
    dir.write("local.c", "static _Thread_local volatile char *own; int main(void) { return own != 0; }");
    let zigs = zigs();
    let compilers = [("gcc", None)].into_iter().chain(zigs.iter().map(|zig| ("zig", Some(zig))));
    for (compiler, zig) in compilers {
        for source in ["empty.c", "local.c"] {
            let words = [source, "--cc", compiler, "-o", "started", "--force", "--", "-w"];
            must(build(&dir, zig.map(PathBuf::as_path), &words));
            dir.must("strace", ["-o", "calls", "./started"]);
            let calls = std::fs::read_to_string(dir.join("calls")).unwrap();
            let names: Vec<&str> = calls.lines().filter_map(|call| Some(call.split_once('(')?.0)).collect();
            assert!(names.contains(&"exit_group"), "the test sees nothing: {calls}");
            let needless = names.iter().filter(|name| !WITHOUT_WHICH_NONE_STARTS.contains(name));
            assert_eq!(needless.collect::<Vec<_>>(), Vec::<&&str>::new(), "{compiler}, {source}: {calls}");
        }
    }
}
