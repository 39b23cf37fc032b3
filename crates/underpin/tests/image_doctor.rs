//! `underpin image doctor` as a user types it. What it finds is judged in `underpin-image/tests/doctor.rs`.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod common;

use common::{json, says};
use serde_json::Value;
use underpin_test_support::{Fixture, need};

/// A root file system with one program, and nothing that it needs.
fn bare() -> Fixture {
    let dir = Fixture::new();
    dir.write("main.c", "#include <stdio.h>\nint main(void) { return tmpfile() == NULL; }");
    dir.mkdir("root/usr/bin");
    dir.cc(["-o", "root/usr/bin/app", "main.c"]);
    dir
}

#[test]
fn a_finding_is_exit_1_with_the_byte_and_the_way_out_and_no_line_is_too_wide() {
    need!("cc");
    let dir = bare();
    let root = dir.join("root").display().to_string();
    let said = says(["image", "doctor", &root]);
    assert_eq!(said.code, Some(1), "{said:?}");
    for words in ["the loader", "PT_INTERP", "DT_NEEDED libc.so.6", "calls tmpfile(3)", "byte 0x", "fix"] {
        assert!(said.stdout.contains(words), "{words}: {}", said.stdout);
    }
    assert!(said.stdout.lines().all(|line| line.chars().count() <= 80), "{}", said.stdout);
}

#[test]
fn a_static_program_without_needs_is_exit_0() {
    need!("cc");
    let dir = Fixture::new();
    dir.write("main.c", "int main(void) { return 0; }");
    dir.mkdir("root");
    dir.cc(["-static", "-o", "root/app", "main.c"]);
    let said = says(["image", "doctor", &dir.join("root").display().to_string()]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("Nothing that these programs need is missing"), "{}", said.stdout);
}

#[test]
fn the_document_keeps_to_its_schema() {
    need!("cc");
    let schema: Value = serde_json::from_str(&says(["generate", "schema", "image-doctor"]).stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let dir = bare();
    let document = json(["image", "doctor", "--json", &dir.join("root").display().to_string()]);
    let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(document["schema"], "underpin.image-doctor/1");
    let kinds: Vec<&str> =
        document["findings"].as_array().unwrap().iter().map(|finding| finding["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["interpreter", "library", "temporary"], "{document:#}");
}

#[test]
fn what_is_not_an_image_is_exit_2_in_one_line() {
    let dir = Fixture::new();
    let text = dir.write("text", "no tar, but a text that is long enough for nothing").display().to_string();
    let empty = dir.mkdir("empty").display().to_string();
    let absent = dir.join("absent").display().to_string();
    for path in [&text, &empty, &absent] {
        let said = says(["image", "doctor", path]);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{said:?}");
        assert!(said.stderr.lines().count() == 1 && said.stderr.contains(path.as_str()), "{said:?}");
    }
    let said = says(["image", "doctor", &dir.path().display().to_string(), "--program", "/none"]);
    assert!(said.code == Some(1) && said.stdout.contains("/none is not in the image"), "{said:?}");
}
