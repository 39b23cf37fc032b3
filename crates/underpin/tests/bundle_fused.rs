//! A bundle whose libraries are merged into one file: judged by its own loader, and by running it.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]
#![cfg(target_arch = "x86_64")]

mod common;

use common::{holds, json, says};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_test_support::{Fixture, Output, need};

/// Libraries of the program.
const LIBRARIES: usize = 12;

/// Adds up what its libraries give, and asks a plug-in, which needs one of them, whether it meets the same one.
const APP: &str = "#include <dlfcn.h>\n#include <stdio.h>\nint f0(void); int *at5(void);\n\
    int main(void) { void *known = dlopen(\"lib5.so\", RTLD_NOW | RTLD_NOLOAD); void *plug = dlopen(\"libplug.so\", RTLD_NOW);\n\
    if (!plug) { puts(dlerror()); return 1; } int *(*its)(void) = (int *(*)(void))dlsym(plug, \"plug\");\n\
    printf(\"%d %s %s\\n\", f0(), known ? \"known\" : \"unknown\", its() == at5() ? \"one\" : \"two\"); return 0; }";

/// `built/app` with twelve libraries and a plug-in.
fn program() -> Fixture {
    let dir = Fixture::new();
    dir.mkdir("built");
    for number in (0..LIBRARIES).rev() {
        let (next, file) = (number + 1, format!("built/{number}.c"));
        let rest = if next < LIBRARIES { format!(" + f{next}()") } else { String::new() };
        dir.write(
            &file,
            format!(
                "int f{next}(void); int v{number}; int *at{number}(void) {{ return &v{number}; }}\n\
                 int f{number}(void) {{ return 1{rest}; }}"
            ),
        );
        let (out, soname) = (format!("built/lib{number}.so"), format!("-Wl,-soname,lib{number}.so"));
        let (source, needs) = (file, format!("built/lib{next}.so"));
        let mut words = vec!["-shared", "-fPIC", &soname, "-o", &out, &source, "-Wl,-rpath,$ORIGIN"];
        if next < LIBRARIES {
            words.push(&needs);
        }
        dir.cc(words);
    }
    dir.write("built/plug.c", "int *at5(void); int *plug(void) { return at5(); }");
    dir.cc(["-shared", "-fPIC", "-Wl,-soname,libplug.so", "-o", "built/libplug.so", "built/plug.c", "built/lib5.so"]);
    dir.write("built/app.c", APP);
    let rest = ["built/app.c", "built/lib0.so", "built/lib5.so", "-Wl,-rpath,$ORIGIN", "-Wl,-rpath-link,built"];
    dir.cc(["-o", "built/app", "-Wl,--disable-new-dtags"].iter().chain(&rest));
    dir
}

/// Bundles it, and moves the original away. Returns what to start, and the document.
fn bundled(dir: &Fixture, flags: &[&str]) -> (PathBuf, Value) {
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let (app, out, plug) = (path("built/app"), path("out"), path("built/libplug.so"));
    let document = json(["bundle", "--json", &app, "-o", &out, "--include", &plug].iter().chain(flags));
    fs::rename(dir.join("built"), dir.join("gone")).unwrap();
    (PathBuf::from(document["entry"].as_str().unwrap()), document)
}

fn members(document: &Value) -> usize {
    let files = document["files"].as_array().unwrap().iter();
    files.filter(|file| file["role"] == "merged").map(|file| file["members"].as_array().unwrap().len()).sum()
}

fn prints(program: &Path) -> String {
    let output = Output::of(&mut Command::new(program));
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    output.stdout
}

#[test]
fn each_name_leads_to_the_merged_file_in_both_forms() {
    need!("cc");
    for (flags, merged) in
        [(&["--file"][..], LIBRARIES), (&["--fuse"], LIBRARIES), (&["--file", "--no-fuse"], 0), (&[], 0)]
    {
        let dir = program();
        let (entry, document) = bundled(&dir, flags);
        assert_eq!(members(&document), merged, "{flags:?}");
        assert_eq!(prints(&entry), "12 known one\n", "{flags:?}");
        let listed = Output::of(Command::new(&entry).env("LD_TRACE_LOADED_OBJECTS", "1")).stdout;
        assert_eq!(listed.contains("app.fused.so"), merged > 0, "{flags:?}: {listed}");
    }
}

#[test]
fn one_file_needs_no_memory_files_and_no_search() {
    need!("cc", "strace");
    let dir = program();
    let (entry, _) = bundled(&dir, &["--file"]);
    let calls = Output::of(Command::new("strace").args(["-e", "trace=memfd_create,openat"]).arg(&entry)).stderr;
    assert!(
        !calls.contains("memfd_create") && !calls.contains("ENOENT") && calls.contains("/proc/self/exe"),
        "{calls}"
    );
}

#[test]
fn licences_and_a_list_go_along() {
    need!("cc", "dpkg", "python3");
    let dir = program();
    let (entry, _) = bundled(&dir, &["--file"]);
    let script = "import sys,zipfile; z=zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None\n\
                  print(*z.namelist(), sep='\\n'); sys.stderr.write(z.read('bundle.spdx.json').decode())";
    let read = Output::of(Command::new("python3").args(["-c", script]).arg(&entry));
    assert!(read.stdout.contains("licences/libc6/copyright"), "{}{}", read.stdout, read.stderr);
    let list: Value = serde_json::from_str(&read.stderr).unwrap();
    holds(&list);
    let has = |list: &Value, name: &str| list["packages"].as_array().unwrap().iter().any(|one| one["name"] == name);
    assert!(has(&list, "libc6") && has(&list, "lib7.so"), "{list}");

    let dir = program();
    let (entry, _) = bundled(&dir, &[]);
    let top = entry.ancestors().nth(2).unwrap();
    assert!(top.join("licences/libc6/copyright").is_file());
    holds(&serde_json::from_slice(&fs::read(top.join("bundle.spdx.json")).unwrap()).unwrap());
}

#[test]
fn a_fused_file_has_a_list_beside_it_that_unbind_removes() {
    need!("cc");
    let dir = program();
    let app = dir.join("built/app").to_str().unwrap().to_owned();
    let said = says(["bind", "--fuse", &app]);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    let list = dir.join("built/.underpin/fused-app/1/app.fused.spdx.json");
    let list: Value = serde_json::from_slice(&fs::read(list).unwrap()).unwrap();
    holds(&list);
    let names: Vec<&str> = list["packages"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert!((0..LIBRARIES).all(|number| names.contains(&format!("lib{number}.so").as_str())), "{names:?}");
    assert_eq!(says(["unbind", &app]).code, Some(0));
    assert!(!dir.join("built/.underpin").exists());
}
