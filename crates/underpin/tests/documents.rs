//! The JSON documents of real programs match their published schemas.

mod common;

use common::{json, says};
use serde_json::Value;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use underpin_test_support::{Fixture, need};

/// Checks a verb, with every program and option that gives another shape of document.
fn holds(verb: &str, args: &[&str]) {
    keeps(verb, verb, args);
}

/// The same, if the document's name differs from the verb.
fn keeps(name: &str, verb: &str, args: &[&str]) {
    let schema: Value = serde_json::from_str(&says(["generate", "schema", name]).stdout).expect("a schema");
    let document = json([&[verb, "--json"][..], args].concat());
    assert_eq!(document["schema"], format!("underpin.{name}/1"));
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{verb} {args:?}: {errors:#?}");
}

/// A program with a missing library, and one that needs nothing.
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
fn images() {
    need!("cc");
    let dir = fixture();
    let (program, out) = (dir.join("static"), dir.join("image"));
    let (program, out) = (program.to_str().unwrap(), out.to_str().unwrap());
    let validate = |args: &[&str]| {
        let schema: Value =
            serde_json::from_str(&says(["generate", "schema", "image-build"]).stdout).expect("a schema");
        let document = json([&["image", "build", "--json", program, "-o", out][..], args].concat());
        assert_eq!(document["schema"], "underpin.image-build/1");
        let validator = jsonschema::validator_for(&schema).expect("a valid schema");
        let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{args:?}: {errors:#?}");
    };
    validate(&["--dry-run"]);
    validate(&["--kernel", program]);
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
    dir.write("set/x.c", "int puts(char *); int x(void){return puts(\"\");}");
    dir.cc(["-shared", "-fPIC", "-o", "set/libx.so", "set/x.c"]);
    keeps("tags", "check", &[dir.join("set").to_str().unwrap()]);
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

/// Every name that a document has as bytes: the text beside it, and the bytes.
fn names_as_bytes(value: &Value, found: &mut Vec<(String, PathBuf)>) {
    let decode = |text: &Value, hex: &Value| {
        let hex = hex.as_str()?.as_bytes();
        let digit = |byte: &u8| char::from(*byte).to_digit(16).expect("hexadecimal") as u8;
        let bytes = hex.chunks(2).map(|pair| digit(&pair[0]) << 4 | digit(&pair[1])).collect();
        Some((text.as_str().expect("text").to_owned(), PathBuf::from(std::ffi::OsString::from_vec(bytes))))
    };
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let first = name.strip_suffix("_bytes").and_then(|name| fields.get(name));
                match (first, value) {
                    (Some(text), Value::String(_)) => found.extend(decode(text, value)),
                    (Some(Value::Array(texts)), Value::Array(all)) => {
                        assert_eq!(texts.len(), all.len(), "{name}");
                        found.extend(texts.iter().zip(all).filter_map(|(text, hex)| decode(text, hex)));
                    }
                    _ => names_as_bytes(value, found),
                }
            }
        }
        Value::Array(all) => all.iter().for_each(|one| names_as_bytes(one, found)),
        _ => {}
    }
}

#[test]
fn a_path_that_is_not_utf_8_can_be_opened_from_every_document() {
    need!("cc");
    let dir = Fixture::new();
    let odd = dir.path().join(OsStr::from_bytes(b"odd\xff"));
    std::fs::create_dir(&odd).expect("a folder");
    dir.write("x.c", "int x(void){return 0;}");
    dir.write("main.c", "int x(void); int main(void){return x();}");
    dir.cc(["-shared", "-fPIC", "-o", "libx.so", "x.c"]);
    dir.cc(["-o", "prog", "main.c", "-L.", "-lx", "-Wl,-rpath,$ORIGIN"]);
    let (library, program) = (odd.join("libx.so"), odd.join("prog"));
    std::fs::rename(dir.join("libx.so"), &library).expect("moved");
    std::fs::rename(dir.join("prog"), &program).expect("moved");
    let real = std::fs::canonicalize(&library).expect("a path");
    let verbs: [(&str, &[&str]); 8] = [
        ("tree", &[]),
        ("check", &[]),
        ("survey", &[]),
        ("trace", &["--"]),
        ("storm", &[]),
        ("verify", &[]),
        ("bind", &["--dry-run"]),
        ("bundle", &["--dry-run", "--output", "out"]),
    ];
    for (verb, options) in verbs {
        let mut command = common::underpin([&[verb, "--json"][..], options].concat());
        command.arg(&program).current_dir(dir.path());
        let output = command.output().expect("underpin runs");
        let words = String::from_utf8_lossy(&output.stderr);
        let text = String::from_utf8(output.stdout).expect("JSON is UTF-8");
        let document: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{verb}: {error}: {words}"));
        let schema: Value = serde_json::from_str(&says(["generate", "schema", verb]).stdout).expect("a schema");
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{verb}: {errors:#?}");
        let mut found = Vec::new();
        names_as_bytes(&document, &mut found);
        assert!(!found.is_empty(), "{verb}: {text}");
        for (shown, path) in &found {
            assert_eq!(path.to_string_lossy(), *shown, "{verb}: one name, twice");
            // A pattern such as a search path of several folders, or a file yet to be made, does not exist.
            if path.is_absolute() && !path.ends_with("out") {
                assert!(path.to_string_lossy().contains("odd"), "{verb}: {path:?}");
            }
        }
        let opened = |wanted: &PathBuf| {
            found.iter().any(|(_, path)| std::fs::canonicalize(path).is_ok_and(|path| path == *wanted))
        };
        if matches!(verb, "tree" | "survey" | "trace" | "bundle") {
            assert!(opened(&real), "{verb}: {found:?}");
        }
        if verb != "trace" {
            assert!(opened(&program), "{verb}: {found:?}");
        }
    }
}
