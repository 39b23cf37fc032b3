//! `underpin bundle` as a user types it.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod common;

use common::{json, says};
use serde_json::Value;
use std::path::Path;
use underpin_test_support::{Fixture, Output, need};

fn hello() -> Fixture {
    let dir = Fixture::new();
    dir.write("main.c", "#include <stdio.h>\nint main(void){puts(\"hello\");return 0;}");
    dir.cc(["-o", "hello", "main.c"]);
    dir
}

fn text(path: impl AsRef<Path>) -> String {
    path.as_ref().display().to_string()
}

#[test]
fn both_forms_start() {
    need!("cc");
    let dir = hello();
    let (program, directory, file) = (text(dir.join("hello")), text(dir.join("out")), text(dir.join("one")));
    let said = says(["bundle", &program, "-o", &directory]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(
        said.stdout.contains("every one from the bundle") && said.stdout.contains("out/bin/hello"),
        "{}",
        said.stdout
    );
    let said = says(["bundle", "--file", &program, "-o", &file]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for entry in [dir.join("out/bin/hello"), dir.join("one")] {
        assert_eq!(Output::of(&mut dir.command(&entry)).stdout, "hello\n", "{}", entry.display());
    }
}

#[test]
fn a_dry_run_writes_nothing() {
    need!("cc");
    let dir = hello();
    let (program, target) = (text(dir.join("hello")), text(dir.join("out")));
    let said = says(["bundle", "--dry-run", "-v", &program, "-o", &target]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("nothing was written") && said.stdout.contains("lib/libc.so.6"), "{}", said.stdout);
    assert!(!dir.join("out").exists());
}

#[test]
fn the_document_keeps_to_its_schema_and_names_every_file() {
    need!("cc");
    let schema: Value = serde_json::from_str(&says(["generate", "schema", "bundle"]).stdout).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    for (form, flags) in [("directory", &["--json"][..]), ("file", &["--json", "--file"])] {
        let dir = hello();
        let (program, target) = (text(dir.join("hello")), text(dir.join("out")));
        let document = json([&["bundle", &program, "-o", &target][..], flags].concat());
        let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?}");
        assert_eq!((&document["schema"], &document["form"]), (&"underpin.bundle/1".into(), &form.into()));
        assert_eq!(document["judged"]["agrees"], true);
        let files = document["files"].as_array().unwrap();
        let roles: Vec<&str> = files.iter().map(|file| file["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["program", "needed", "loader"], "{document:#}");
        if form == "directory" {
            for file in files {
                assert!(dir.join("out").join(file["place"].as_str().unwrap()).is_file(), "{file}");
            }
        }
    }
}

#[test]
fn another_name_and_another_root() {
    need!("cc");
    let dir = hello();
    let (program, target) = (text(dir.join("hello")), text(dir.join("out")));
    let said = says(["bundle", &program, "--name", "greet", "-o", &target]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(Output::of(&mut dir.command(dir.join("out/bin/greet"))).stdout, "hello\n");
    // A folder as another system: its files are taken, not those of this machine.
    let written = json(["bundle", "--json", "--dry-run", &program, "-o", &target]);
    for file in written["files"].as_array().unwrap().iter().filter(|file| file["role"] != "program") {
        let path = Path::new(file["path"].as_str().unwrap());
        let copy = dir.join("sysroot").join(path.strip_prefix("/").unwrap());
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::copy(path, copy).unwrap();
    }
    dir.copy(&program, "sysroot/hello");
    let (sysroot, other) = (text(dir.join("sysroot")), text(dir.join("other")));
    let said = says(["bundle", "--root", &sysroot, "/hello", "-o", &other]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(Output::of(&mut dir.command(dir.join("other/bin/hello"))).stdout, "hello\n");
}

#[test]
fn refusals_say_why_and_end_with_2() {
    need!("cc");
    let dir = hello();
    dir.cc(["-static", "-o", "static", "main.c"]);
    dir.write("script", "#!/bin/sh\necho hello\n");
    let (program, target) = (text(dir.join("hello")), text(dir.join("out")));
    let (still, script) = (text(dir.join("static")), text(dir.join("script")));
    let cases: [(&[&str], &str); 5] = [
        (&[&still], "static program"),
        (&[&script], "is a script for /bin/sh"),
        (&[&program, "--include", "libnowhere.so.1"], "libnowhere.so.1"),
        (&[&program, "--exclude", "libc.so*"], "does not start"),
        (&[&program, "--name", "a/b"], "without `/`"),
    ];
    for (args, why) in cases {
        let said = says([&["bundle", "-o", &target], args].concat());
        assert_eq!(said.code, Some(2), "{args:?}: {}", said.stdout);
        assert!(said.stderr.contains(why), "{args:?}: {}", said.stderr);
        assert!(!dir.join("out").exists(), "{args:?}");
    }
    assert_eq!(says(["bundle", &program, "-o", &target]).code, Some(0));
    let said = says(["bundle", &program, "-o", &target]);
    assert!(said.code == Some(2) && said.stderr.contains("--force"), "{}", said.stderr);
    assert_eq!(says(["bundle", "--force", &program, "-o", &target]).code, Some(0));
}
