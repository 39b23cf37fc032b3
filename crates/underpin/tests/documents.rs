//! The JSON documents of real programs keep to their published schemas.

mod common;

use common::{json, says};
use serde_json::Value;
use underpin_test_support::{Fixture, need};

/// Every program and option that makes another shape of document.
fn holds(verb: &str, args: &[&str]) {
    let schema: Value = serde_json::from_str(&says(["generate", "schema", verb]).stdout).expect("a schema");
    let document = json([&[verb, "--json"][..], args].concat());
    assert_eq!(document["schema"], format!("underpin.{verb}/1"));
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{verb} {args:?}: {errors:#?}");
}

/// A program that lacks a library, and one that needs nothing.
fn fixture() -> Fixture {
    let dir = Fixture::new();
    dir.write("x.c", "int x(void){return 0;}");
    dir.write("main.c", "int x(void); int main(void){return x();}");
    dir.cc(["-shared", "-fPIC", "-o", "libx.so", "x.c"]);
    dir.cc(["-o", "broken", "main.c", "-L.", "-lx", "-Wl,-rpath,/opt/nowhere"]);
    dir.cc(["-static", "-o", "static", "main.c", "x.c"]);
    std::fs::remove_file(dir.join("libx.so")).expect("the library is there");
    dir
}

#[test]
fn trees() {
    need!("cc", "emacs-gtk");
    let dir = fixture();
    for name in ["broken", "static"] {
        holds("tree", &[dir.join(name).to_str().unwrap()]);
    }
    holds("tree", &["/usr/bin/emacs-gtk"]);
    holds("tree", &["--check", "/bin/sh", "--", "-c", ":"]);
}

#[test]
fn checks() {
    need!("cc", "emacs-gtk");
    let dir = fixture();
    for name in ["broken", "static"] {
        holds("check", &[dir.join(name).to_str().unwrap()]);
    }
    holds("check", &["/usr/bin/emacs-gtk"]);
    holds("check", &["--on", "rhel8", "--max-glibc", "2.5", "/bin/sh"]);
}

#[test]
fn traces() {
    holds("trace", &["--", "/bin/sh", "-c", "echo output of the command"]);
    holds("trace", &["--until", "exit", "--calls", "all", "--", "/bin/sh", "-c", "/bin/true; /bin/false"]);
}

#[test]
fn surveys() {
    need!("cc", "musl-gcc");
    let dir = fixture();
    holds("survey", &["/bin/sh"]);
    holds("survey", &["/bin/sh", "--", "-c", ":"]);
    holds("survey", &[dir.join("broken").to_str().unwrap(), "--"]);
    dir.musl_cc(["-static", "-o", "musl", "main.c", "x.c"]);
    holds("survey", &[dir.join("musl").to_str().unwrap(), "--"]);
}

#[test]
fn doctors() {
    holds("doctor", &[]);
}
