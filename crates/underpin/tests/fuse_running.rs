//! A fused program that still runs when its libraries are updated, or when it is unbound: what it opens afterwards meets the
//! libraries that it started with.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]
#![cfg(target_arch = "x86_64")]

mod common;

use common::libraries::{at, library, program};
use common::says;
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use underpin_test_support::{Fixture, need};

/// Says that it is there, waits for a line, opens a plug-in that needs a member, and tells whether that was loaded again.
const WAITS: &str = "#include <dlfcn.h>\n#include <stdio.h>\n#include <string.h>\nint f11(void);\n\
    int main(void) { char line[4096]; int again = 0; puts(\"up\"); fflush(stdout); if (!fgets(line, sizeof line, stdin)) return 1;\n\
    void *h = dlopen(\"libplug.so\", RTLD_NOW); int (*f)(void) = h ? dlsym(h, \"plug\") : 0;\n\
    for (FILE *maps = fopen(\"/proc/self/maps\", \"r\"); fgets(line, sizeof line, maps);) again |= strstr(line, \"/lib0.so\") != 0;\n\
    printf(\"%d %d %d\\n\", f11(), f ? f() : -1, again); return 0; }";

fn waiting() -> Fixture {
    let dir = program();
    let search = format!("-Wl,-rpath,{}", dir.text());
    dir.write("plug.c", "int f0(void); int plug(void) { return f0(); }");
    dir.cc(["-shared", "-fPIC", "-o", "libplug.so", "plug.c", "lib0.so", &search]);
    dir.write("waits.c", WAITS);
    let all: Vec<String> = (0..12).map(|number| format!("lib{number}.so")).collect();
    let words = ["-Wl,--no-as-needed", "-o", "waits", "waits.c", &search, "-ldl"];
    dir.cc(words.into_iter().chain(all.iter().map(String::as_str)));
    dir
}

fn started(dir: &Fixture) -> Child {
    let mut command = dir.command(dir.join("waits"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = [0; 3];
    child.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    assert_eq!(&line, b"up\n");
    child
}

fn ends(mut child: Child) -> String {
    child.stdin.take().unwrap().write_all(b"go on\n").unwrap();
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success());
    said
}

#[test]
fn what_a_running_program_opens_meets_the_libraries_it_started_with() {
    need!("cc");
    let dir = waiting();
    let waits = at(&dir, "waits");
    assert_eq!(says(["bind", "--fuse", &waits]).code, Some(0));
    let before = started(&dir);
    library(&dir, 0, 100);
    let again = says(["bind", "--fuse", &waits]);
    let process = format!("process {} runs with it", before.id());
    assert!(again.code == Some(0) && again.stderr.contains(&process), "{}", again.stderr);
    let after = started(&dir);
    assert_eq!(ends(before), "1 12 0\n");

    // The first one has ended: its file is removed, the second one's is left in turn.
    let unbound = says(["unbind", &waits]);
    let process = format!("process {} runs with it", after.id());
    assert!(unbound.code == Some(0) && unbound.stderr.contains(&process), "{}", unbound.stderr);
    assert!(!dir.join(".underpin/fused-waits/1").exists() && dir.join(".underpin/fused-waits/2").exists());
    assert_eq!(ends(after), "1 111 0\n");
    says(["unbind", &waits]);
    assert!(!dir.join(".underpin").exists(), "nothing is left");
}

#[test]
fn a_plug_in_loads_no_library_that_is_inside_again() {
    need!("cc");
    let dir = waiting();
    let unfused = ends(started(&dir));
    assert_eq!(says(["bind", "--fuse", &at(&dir, "waits")]).code, Some(0));
    let fused = ends(started(&dir));
    // The plug-in needs the library, which is mapped once: by its own path, and as a part of the merged file.
    assert_eq!((unfused.as_str(), fused.as_str()), ("1 12 1\n", "1 12 0\n"));
}
