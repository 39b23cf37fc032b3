//! The shared test tools judge others, so they are tested themselves.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};
use underpin_test_support::{Fixture, Output, available, missing, need, traced_objects};

#[test]
fn a_tool_is_looked_up_in_path_and_a_file_by_its_name() {
    assert!(available("sh"));
    assert!(available("/bin/sh"));
    assert!(!available("no-such-tool-of-underpin"));
    assert_eq!(missing(&["sh", "/no/such/file"]).as_deref(), Some("/no/such/file is not on this machine"));
}

#[test]
fn the_trace_names_a_library_where_it_is_and_says_when_it_is_gone() {
    need!("cc", "readelf");
    let dir = Fixture::new();
    dir.write("a.c", "int a(void){return 1;}");
    dir.write("main.c", "int a(void); int main(void){return a();}");
    dir.cc(["-shared", "-fPIC", "-o", "liba.so", "a.c"]);
    dir.cc(["-o", "prog", "main.c", "-L.", "-la", "-Wl,-rpath,$ORIGIN"]);

    let objects = traced_objects(&dir.join("prog"), &[]).unwrap();
    assert_eq!(objects[0].name, "liba.so");
    assert_eq!(objects[0].path.as_deref(), Some(dir.join("liba.so").as_path()));

    std::fs::remove_file(dir.join("liba.so")).unwrap();
    let objects = traced_objects(&dir.join("prog"), &[]).unwrap();
    assert_eq!((objects[0].name.as_str(), objects[0].path.as_ref()), ("liba.so", None));
}

#[test]
fn the_program_does_not_run_while_it_is_traced() {
    need!("cc", "musl-gcc", "readelf");
    let dir = Fixture::new();
    dir.write("main.c", "#include <stdio.h>\nint main(void){fclose(fopen(\"ran\",\"w\"));return 0;}");
    dir.cc(["-o", "glibc", "main.c"]);
    dir.musl_cc(["-o", "musl", "main.c"]);
    for name in ["glibc", "musl"] {
        assert!(!traced_objects(&dir.join(name), &[]).unwrap().is_empty(), "{name}");
        assert!(!dir.join("ran").exists(), "{name} ran");
    }
    assert_eq!(Output::of(&mut dir.command(dir.join("musl"))).code, Some(0));
    assert!(dir.join("ran").exists());
}

#[test]
fn written_programs_can_be_executed_while_other_threads_start_processes() {
    let dir = Fixture::new();
    let done = AtomicBool::new(false);
    // A long search in PATH, after the fork and before the exec.
    let path = "/no-folder:".repeat(10_000);
    // Long, so that it stays open for a while.
    let text = format!("#!/bin/sh\nexit 0\n{}", "#".repeat(4 << 20));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !done.load(Relaxed) {
                    let _ = Command::new("no-program").env("PATH", &path).status();
                }
            });
        }
        let busy = (0..15).find_map(|number| {
            let name = format!("script-{number}");
            dir.write(&name, &text);
            dir.chmod(&name, 0o755);
            dir.copy(dir.join(&name), format!("copy-{number}"));
            let program = format!("./{name} && ./copy-{number}");
            // A shell starts them: Output::of would try again.
            let output = Output::of(dir.command("sh").args(["-c", &program]));
            (output.code != Some(0)).then_some(output)
        });
        done.store(true, Relaxed);
        assert!(busy.is_none(), "{busy:?}");
    });
}

#[test]
fn what_does_not_end_fails_at_its_deadline_with_all_that_it_started() {
    let dir = Fixture::new();
    let begun = Instant::now();
    // The shell's child holds the pipe to the test open.
    let script = "echo waiting >&2; (sleep 1000; true) & echo $! > child; wait";
    let ended = std::panic::catch_unwind(|| {
        Output::within(Duration::from_secs(2), dir.command("sh").args(["-c", script])).code
    });
    let said = *ended.expect_err("a panic").downcast::<String>().expect("a text");
    assert!(said.contains("did not end within 2 s") && said.contains("waiting"), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(500), "it waited for the child");
    let child = std::fs::read_to_string(dir.join("child")).expect("the child's number");
    let state = std::fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "the child runs: {state}");
}
