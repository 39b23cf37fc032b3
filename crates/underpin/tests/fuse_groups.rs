//! `bind --fuse` of a folder: programs with nearly the same libraries use one merged file.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]
#![cfg(target_arch = "x86_64")]

mod common;

use common::libraries::{at, library, mapped, prints, program};
use common::{json, says};
use std::fs;
use std::path::PathBuf;
use underpin_test_support::{Fixture, need};

/// A program in a folder of its own, of this code, that names library 0 and what else is given.
fn beside(dir: &Fixture, name: &str, code: &str, more: &[&str]) -> PathBuf {
    dir.mkdir("bin");
    dir.write(format!("{name}.c"), code);
    let (out, source, path) = (format!("bin/{name}"), format!("{name}.c"), format!("-Wl,-rpath,{}", dir.text()));
    dir.cc([&["-o", out.as_str(), &source, &path, "lib0.so"], more].concat());
    dir.join(&out)
}

const TWICE: &str = "#include <stdio.h>\nint f0(void); int main(void) { return printf(\"%d\\n\", 2 * f0()) < 0; }";

/// A fixture of `app` and of `bin/twice` with the same libraries, and the path of `bin/twice`.
fn pair() -> (Fixture, PathBuf) {
    let dir = program();
    let twice = beside(&dir, "twice", TWICE, &[]);
    (dir, twice)
}

fn outcome(document: &serde_json::Value, name: &str) -> serde_json::Value {
    let all = document["programs"].as_array().unwrap();
    let of = |program: &&serde_json::Value| program["path"].as_str().unwrap().ends_with(&format!("/{name}"));
    all.iter().find(of).unwrap().clone()
}

#[test]
fn programs_with_the_same_libraries_use_one_file_until_the_last_is_unbound() {
    need!("cc");
    let (dir, twice) = pair();
    let before = (fs::read(dir.join("app")).unwrap(), fs::read(&twice).unwrap());
    let planned = says(["bind", "--fuse", "--dry-run", dir.text()]);
    assert!(planned.stdout.contains("the file is also that of twice"), "{}", planned.stdout);
    assert!(!dir.join(".underpin").exists());
    let fused = json(["bind", "--fuse", "--json", dir.text()]);
    let (app, other) = (outcome(&fused, "app"), outcome(&fused, "twice"));
    assert_eq!((&app["outcome"], &other["outcome"]), (&"merged".into(), &"merged".into()), "{fused}");
    assert_eq!((&app["file"], &app["shared_with"][0]), (&other["file"], &other["path"]), "{fused}");
    assert!(other["compared"].as_u64().unwrap() >= 12, "{fused}");
    assert_eq!((prints(&dir.join("app")), prints(&twice)), ("12\n".into(), "24\n".into()));
    assert_eq!((mapped(&dir.join("app")), mapped(&twice)), (vec!["app.fused.so".into()], vec!["app.fused.so".into()]));
    let verified = says(["verify", "--bindings", dir.text()]);
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);

    let again = json(["bind", "--fuse", "--json", dir.text()]);
    assert!(["app", "twice"].iter().all(|name| outcome(&again, name)["outcome"] == "unchanged"), "{again}");
    let unbound = says(["unbind", &at(&dir, "app")]);
    assert_eq!(unbound.code, Some(0), "{}", unbound.stderr);
    assert_eq!((prints(&dir.join("app")), prints(&twice)), ("12\n".into(), "24\n".into()), "the other goes on");
    assert_eq!(says(["unbind", dir.text()]).code, Some(0));
    assert!((fs::read(dir.join("app")).unwrap(), fs::read(&twice).unwrap()) == before, "every byte is back");
    assert!(!dir.join(".underpin").exists(), "nothing is left");
}

#[test]
fn what_one_program_has_more_stays_shared_for_it() {
    need!("cc");
    let dir = program();
    dir.write("more.c", "int more(void) { return 30; }");
    dir.cc(["-shared", "-fPIC", "-Wl,-soname,libmore.so", "-o", "libmore.so", "more.c"]);
    let code = "#include <stdio.h>\nint f0(void), more(void);\n\
        int main(void) { return printf(\"%d\\n\", f0() + more()) < 0; }";
    let larger = beside(&dir, "larger", code, &["libmore.so"]);
    let fused = json(["bind", "--fuse", "--json", dir.text()]);
    assert_eq!(outcome(&fused, "app")["file"], outcome(&fused, "larger")["file"], "{fused}");
    let shared = outcome(&fused, "larger")["shared"].as_array().unwrap().clone();
    let of_group = |library: &&serde_json::Value| library["reason"].as_str().unwrap().contains("not in every program");
    let left: Vec<&str> = shared.iter().filter(of_group).map(|library| library["path"].as_str().unwrap()).collect();
    assert!(shared.len() > 1 && left.len() == 1 && left[0].ends_with("/libmore.so"), "{shared:?}");
    assert_eq!((prints(&dir.join("app")), prints(&larger)), ("12\n".into(), "42\n".into()));
    assert_eq!(mapped(&dir.join("app")), ["larger.fused.so"], "it loads nothing that it did not load before");
    assert_eq!(mapped(&larger), ["larger.fused.so", "libmore.so"]);
    assert_eq!(says(["verify", "--bindings", dir.text()]).code, Some(0));
}

#[test]
fn a_program_for_which_the_file_would_do_something_else_has_its_own() {
    need!("cc");
    let (dir, twice) = pair();
    // It answers a call that library 4 makes; for the others library 5 does.
    let code = "#include <stdio.h>\nint f0(void); int f5(void) { return 1000; }\n\
        int main(void) { return printf(\"%d\\n\", f0()) < 0; }";
    let apart = beside(&dir, "apart", code, &["-rdynamic"]);
    let like = beside(&dir, "like", code, &["-rdynamic"]);
    assert_eq!(prints(&apart), "1005\n");
    let fused = json(["bind", "--fuse", "--json", dir.text()]);
    let file = |name: &str| outcome(&fused, name)["file"].clone();
    assert_eq!(file("app"), file("twice"), "{fused}");
    assert_eq!(outcome(&fused, "apart")["outcome"], "merged", "{fused}");
    assert_ne!(file("app"), file("apart"), "{fused}");
    let why = outcome(&fused, "apart")["apart"].as_str().unwrap().to_owned();
    assert!(why.contains("f5"), "{why}");
    assert_eq!(file("apart"), file("like"), "those that left have one for themselves: {fused}");
    assert_eq!(prints(&like), "1005\n");
    let all = (prints(&dir.join("app")), prints(&twice), prints(&apart));
    assert_eq!(all, ("12\n".into(), "24\n".into(), "1005\n".into()));
    assert_eq!(says(["verify", "--bindings", dir.text()]).code, Some(0));
    assert_eq!(says(["unbind", dir.text()]).code, Some(0));
    assert!(!dir.join(".underpin").exists() && !dir.join("bin/.underpin").exists(), "nothing is left");
}

#[test]
fn a_refresh_takes_updated_libraries_and_fuses_no_further_program() {
    need!("cc");
    let (dir, twice) = pair();
    let nothing = says(["bind", "--fuse", "--refresh", dir.text()]);
    assert_eq!((nothing.code, nothing.stdout.trim()), (Some(0), "No program here is fused."), "{}", nothing.stderr);
    assert_eq!(says(["bind", "--fuse", dir.text()]).code, Some(0));
    let third = beside(&dir, "third", TWICE, &[]);
    library(&dir, 5, 100);
    assert_eq!(says(["verify", dir.text()]).code, Some(1));
    // The one that is named, and the one that uses the same file.
    let fresh = json(["bind", "--fuse", "--refresh", "--json", &at(&dir, "app")]);
    assert_eq!((fresh["programs"].as_array().unwrap().len(), prints(&twice)), (2, "222\n".into()), "{fresh}");
    assert_eq!(prints(&dir.join("app")), "111\n");
    assert_eq!(says(["verify", dir.text()]).code, Some(0));
    assert_eq!(mapped(&third).len(), 12, "not fused before, and not now");
    library(&dir, 5, 1);
    assert_eq!(says(["bind", "--fuse", "--refresh", dir.text()]).code, Some(0));
    assert_eq!((prints(&dir.join("app")), prints(&twice), mapped(&third).len()), ("12\n".into(), "24\n".into(), 12));
    assert_eq!(fs::read_dir(dir.join(".underpin/fused-app")).unwrap().count(), 1, "the file of before is gone");
}
