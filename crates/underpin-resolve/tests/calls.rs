//! Predicted calls against strace: every call of the loader that searches, opens, reads, stats, maps or closes.
//!
//! The model's sequence must be a prefix of what strace saw, call for call, with path and failure. What ld.so maps for
//! itself (its heap, the thread's storage) is left out of both.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "in a test a panic is the failing assertion")]

mod common;

use common::spack;
use common::strace::agrees;
use std::path::Path;
use underpin_test_support::{Fixture, need};

fn hello(fixture: &Fixture) -> std::path::PathBuf {
    fixture.write("hello.c", "#include <stdio.h>\nint main(void) { return puts(\"hello\") < 0; }\n");
    fixture.cc(["-o", "hello", "hello.c"]);
    fixture.join("hello")
}

#[test]
fn hello_world() {
    need!("strace");
    agrees(&hello(&Fixture::new()), &[], &[]);
}

#[test]
fn programs_in_the_debian_layout() {
    need!("strace", "emacs-gtk", "ffmpeg", "git", "python3");
    for (program, arguments) in
        [("git", ["--version"]), ("emacs-gtk", ["--version"]), ("ffmpeg", ["-version"]), ("python3", ["--version"])]
    {
        agrees(&Path::new("/usr/bin").join(program), &arguments, &[]);
    }
}

#[test]
fn the_library_path_is_searched_before_the_cache() {
    need!("strace");
    let fixture = Fixture::new();
    let program = hello(&fixture);
    fixture.mkdir("empty");
    let path = format!("{0}/missing:{0}/empty:", fixture.text());
    agrees(&program, &[], &[("LD_LIBRARY_PATH", &path)]);
}

#[test]
fn the_mask_of_capabilities_shortens_the_search() {
    need!("strace");
    let fixture = Fixture::new();
    let program = hello(&fixture);
    let path = format!("{}/missing", fixture.text());
    agrees(&program, &[], &[("LD_LIBRARY_PATH", &path), ("GLIBC_TUNABLES", "glibc.cpu.hwcap_mask=0")]);
}

#[test]
fn a_preload_comes_first() {
    need!("strace");
    let fixture = Fixture::new();
    let program = hello(&fixture);
    fixture.write("p.c", "int preloaded;\n");
    fixture.cc(["-shared", "-fPIC", "-o", "libp.so", "p.c"]);
    agrees(&program, &[], &[("LD_PRELOAD", fixture.join("libp.so").to_str().unwrap())]);
}

#[test]
fn layouts_of_segments() {
    need!("strace");
    let fixture = Fixture::new();
    fixture.write("l.c", "int data = 1; static char big[100000]; char *f(void) { return big + data; }\n");
    fixture.write("m.c", "char *f(void); int main(void) { return f() == 0; }\n");
    let variants: [&[&str]; 7] = [
        &[],
        &["-Wl,-z,noseparate-code"],
        &["-Wl,-z,norelro"],
        &["-Wl,-z,noseparate-code", "-Wl,-z,norelro"],
        &["-Wl,-z,max-page-size=0x10000"],
        &["-Wl,-z,now"],
        &["-Wl,-z,execstack"],
    ];
    for (index, flags) in variants.iter().enumerate() {
        let library = format!("libl{index}.so");
        let program = format!("m{index}");
        fixture.cc([&["-shared", "-fPIC", "-o", &library, "l.c"], *flags].concat());
        fixture.cc(["-o", &program, "m.c", &library, "-Wl,-rpath,$ORIGIN", "-Wl,--disable-new-dtags"]);
        agrees(&fixture.join(&program), &[], &[]);
    }
}

#[test]
fn programs_in_a_spack_like_tree() {
    need!("strace", "patchelf", "emacs-gtk", "ffmpeg", "git");
    for (program, arguments) in [("git", ["--version"]), ("emacs-gtk", ["--version"]), ("ffmpeg", ["-version"])] {
        let fixture = Fixture::new();
        let tree = spack::tree(&fixture, &Path::new("/usr/bin").join(program));
        agrees(&tree.program, &arguments, &[]);
    }
}

#[test]
fn musl_programs() {
    need!("strace", "musl-gcc");
    let fixture = Fixture::new();
    for (letter, next) in [("a", Some("b")), ("b", None)] {
        let call = next.map_or_else(|| "0".to_owned(), |next| format!("{next}()"));
        let declared = next.map_or_else(String::new, |next| format!("int {next}(void);"));
        let body = format!("{declared} static char big[9999]; int {letter}(void) {{ big[0] = 1; return {call}; }}\n");
        fixture.write(format!("{letter}.c"), body);
    }
    fixture.write("m.c", "int a(void); int main(void) { return a(); }\n");
    fixture.mkdir("lib");
    fixture.musl_cc(["-shared", "-fPIC", "-o", "lib/libb.so", "b.c"]);
    fixture.musl_cc(["-shared", "-fPIC", "-o", "lib/liba.so", "a.c", "-Llib", "-lb"]);
    fixture.musl_cc(["-o", "m", "m.c", "-Llib", "-la", "-Wl,-rpath-link,lib", "-Wl,-rpath,$ORIGIN/none:$ORIGIN/lib"]);
    agrees(&fixture.join("m"), &[], &[]);
    let path = fixture.join("lib");
    fixture.musl_cc(["-o", "n", "m.c", "-Llib", "-la", "-Wl,-rpath-link,lib"]);
    agrees(&fixture.join("n"), &[], &[("LD_LIBRARY_PATH", path.to_str().unwrap())]);
}
