//! Predicted calls against strace: every call of the loader that searches, opens, reads, stats, maps or closes.
//!
//! The model's sequence must stand at the start of what strace saw, call for call, with path and failure. What ld.so
//! maps for itself (its heap, the thread's storage) is left out of both.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "in a test a panic is the failing assertion")]

mod common;

use common::strace::{Seen, strace};
use common::{modelled, spack};
use std::path::Path;
use underpin_resolve::{CallName, Environment};
use underpin_test_support::{Fixture, need};

fn environment(variables: &[(&str, &str)]) -> Environment {
    let mut environment = Environment::empty();
    for (name, value) in variables {
        assert!(environment.set(name.as_bytes(), (*value).into()), "{name} matters to no loader");
    }
    environment
}

/// The model's calls in the form in which strace shows them.
fn predicted(program: &Path, variables: &[(&str, &str)]) -> Vec<Seen> {
    let closure = modelled(program, environment(variables)).unwrap();
    assert!(closure.calls.modelled, "{}: no model for {:?}", program.display(), closure.loader.version);
    closure
        .calls
        .sequence
        .unwrap()
        .into_iter()
        .map(|call| Seen {
            name: call.name.to_string(),
            // strace cannot tell whose pages an mprotect of the program or of ld.so means.
            path: if call.name == CallName::Mprotect { String::new() } else { call.path.to_string() },
            failed: call.failed,
        })
        .collect()
}

/// Objects whose segments want more than a page's alignment are mapped with two munmaps, one of which the loader saves
/// where address-space randomisation happens to hand out an aligned place: such a run is made again.
const ATTEMPTS: usize = 4;

fn agrees(program: &Path, arguments: &[&str], variables: &[(&str, &str)]) {
    let program = program.canonicalize().unwrap();
    let model = predicted(&program, variables);
    let mut difference = String::new();
    for _ in 0..ATTEMPTS {
        let seen = strace(&program, arguments, variables);
        let Some(at) = first_difference(&model, &seen) else {
            println!("{}: {} calls predicted exactly", program.display(), model.len());
            return;
        };
        let around = |list: &[Seen]| {
            let lines = list.iter().skip(at.saturating_sub(3)).take(8);
            lines.map(|call| format!("    {call:?}\n")).collect::<String>()
        };
        difference = format!("  model:\n{}  strace:\n{}", around(&model), around(&seen));
        let is_munmap = |list: &[Seen]| list.get(at).is_some_and(|call| call.name == "munmap");
        if !is_munmap(&model) && !is_munmap(&seen) {
            break;
        }
    }
    panic!("{}: {} calls predicted, and they differ\n{difference}", program.display(), model.len());
}

/// Where the model leaves what strace saw. The loader's last act is an mprotect or munmap; another one right behind the
/// prediction would be one that the model forgot.
fn first_difference(model: &[Seen], seen: &[Seen]) -> Option<usize> {
    (0..model.len())
        .find(|&index| seen.get(index) != Some(&model[index]))
        .or_else(|| seen.get(model.len()).is_some_and(|call| call.name == "mprotect").then_some(model.len()))
}

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
