//! A program of twelve small libraries, which `bind --fuse` takes.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

use std::path::Path;
use underpin_test_support::{Fixture, Output};

/// Libraries of the program that [`program`] builds.
pub const LIBRARIES: usize = 12;

/// A library `libN.so`: it gives `of` and what the next one gives.
pub fn library(dir: &Fixture, number: usize, of: u32) {
    let next = number + 1;
    let (more, needs) = match next < LIBRARIES {
        true => (format!("int f{next}(void);\nint f{number}(void) {{ return {of} + f{next}(); }}\n"), true),
        false => (format!("int f{number}(void) {{ return {of}; }}\n"), false),
    };
    dir.write(format!("{number}.c"), more);
    let (out, soname, next) =
        (format!("lib{number}.so"), format!("-Wl,-soname,lib{number}.so"), format!("lib{next}.so"));
    let (source, folder) = (format!("{number}.c"), format!("-Wl,-rpath,{}", dir.text()));
    let mut words = vec!["-shared", "-fPIC", "-Wl,--build-id", &soname, "-o", &out, &source, &folder];
    if needs {
        words.push(&next);
    }
    dir.cc(words);
}

/// `app` prints what its twelve libraries add up to: 12.
pub fn program() -> Fixture {
    let dir = Fixture::new();
    (0..LIBRARIES).rev().for_each(|number| library(&dir, number, 1));
    dir.write("app.c", "#include <stdio.h>\nint f0(void); int main(void) { return printf(\"%d\\n\", f0()) < 0; }");
    dir.cc(["-o", "app", "app.c", "lib0.so", &format!("-Wl,-rpath,{}", dir.text())]);
    dir
}

pub fn at(dir: &Fixture, name: &str) -> String {
    dir.join(name).to_str().unwrap().to_owned()
}

pub fn prints(program: &Path) -> String {
    let output = Output::of(&mut std::process::Command::new(program));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output.stdout
}

/// The objects that the real loader maps, by their file names, glibc's own left out.
pub fn mapped(program: &Path) -> Vec<String> {
    let objects = underpin_test_support::traced_objects(program, &[]).unwrap();
    let paths = objects.into_iter().filter_map(|object| object.path);
    let names = paths.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned());
    names.filter(|name| !name.starts_with("libc.so") && !name.starts_with("ld-linux")).collect()
}
