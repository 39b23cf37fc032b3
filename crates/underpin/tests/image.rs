//! `underpin image`: what is in an image, what is refused, and what comes back from a guest.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::underpin;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use underpin_test_support::{Fixture, Output, need};

/// A run in a folder, with a cache that only this fixture has.
fn image<A: AsRef<OsStr>>(dir: &Fixture, args: impl IntoIterator<Item = A>) -> Output {
    let mut command = underpin(["image"]);
    command.args(args).current_dir(dir.path()).env("XDG_CACHE_HOME", dir.join("cache"));
    Output::of(&mut command)
}

/// The same with the cache that all tests of images share, so that kernels are fetched once.
fn cached(dir: &Fixture, args: &[&str]) -> Output {
    let mut command = underpin(["image"]);
    command.args(args).current_dir(dir.path()).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    Output::of(&mut command)
}

/// A dynamic program with a library of its own beside it, and a file that stands for a kernel.
fn fixture() -> Fixture {
    let dir = Fixture::new();
    dir.write("x.c", "int x(void){return 42;}");
    dir.write(
        "main.c",
        "#include <pthread.h>\n#include <stdio.h>\nint x(void);\nstatic void *end(void *p){ pthread_exit(p); }\n\
         int main(int c, char **v){ pthread_t t; pthread_create(&t, 0, end, 0); pthread_join(t, 0); printf(\"%d %s\\n\", x(), c > 1 ? v[1] : \"\"); \
         FILE *f = fopen(\"/tmp/out\", \"w\"); fputs(\"made\", f); fclose(f); return x(); }",
    );
    dir.mkdir("own");
    dir.cc(["-shared", "-fPIC", "-o", "own/libx.so", "x.c"]);
    dir.cc(["-o", "app", "main.c", "-Lown", "-lx", "-Wl,-rpath,$ORIGIN/own"]);
    dir.cc(["-static", "-o", "static", "main.c", "x.c"]);
    dir.write("kernel", "not a real one");
    dir
}

fn names(document: &Value) -> Vec<String> {
    let files = document["files"].as_array().unwrap();
    files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {} {}", output.stdout, output.stderr))
}

#[test]
fn a_plan_shows_the_closure_and_fetches_and_writes_nothing() {
    need!("cc");
    let dir = fixture();
    let output = image(&dir, ["build", "app", "-o", "out", "--dry-run", "--json"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let document = json(&output);
    let names = names(&document);
    // Its library is found through $ORIGIN, so both keep their folders.
    let app = dir.join("app").canonicalize().unwrap().display().to_string();
    assert_eq!(document["command"], Value::from(app.as_str()));
    assert!(names.contains(&app) && names.contains(&app.replace("/app", "/own/libx.so")), "{names:?}");
    assert!(names.iter().any(|name| name.ends_with("/libc.so.6")), "{names:?}");
    assert!(names.iter().any(|name| name.contains("/ld-linux")), "{names:?}");
    assert!(!dir.join("out").exists() && !dir.join("cache/underpin/image").exists());
}

#[test]
fn what_glibc_opens_to_unwind_a_stack_is_there_or_said_to_be_missing() {
    need!("cc");
    let dir = fixture();
    let plan = |words: &[&str]| {
        let output = image(&dir, [&["build", "-o", "out", "--dry-run", "--json"], words].concat());
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        json(&output)
    };
    let document = plan(&["app"]);
    let found = names(&document).into_iter().find(|name| name.ends_with("/libgcc_s.so.1"));
    assert!(found.is_some() && document["remarks"] == Value::from(Vec::<String>::new()), "{document}");
    assert!(!plan(&["static"]).to_string().contains("libgcc_s"), "a static program has it linked in");
    // The same files as another system, without the library.
    for file in document["files"].as_array().unwrap() {
        let (path, from) = (file["path"].as_str().unwrap(), file["from"].as_str());
        if let Some(from) = from.filter(|_| Some(path) != found.as_deref()) {
            let to = dir.join("root").join(&path[1..]);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(from, to).unwrap();
        }
    }
    let app = document["command"].as_str().unwrap();
    let without = plan(&["--root", "root", app]);
    assert!(!names(&without).iter().any(|name| name.ends_with("/libgcc_s.so.1")), "{without}");
    let remarks = without["remarks"].as_array().unwrap();
    let said = remarks.first().and_then(Value::as_str).unwrap();
    assert!(
        remarks.len() == 1 && said.contains("calls pthread_exit(3) (byte ") && said.contains("libgcc-s1"),
        "{said}"
    );
}

#[test]
fn the_same_input_is_the_same_bytes_and_a_second_build_writes_nothing() {
    need!("cc");
    let dir = fixture();
    dir.write("data/a", "a");
    dir.write("data/b", "b");
    let build = |out: &str, more: &[&str]| {
        let common = ["build", "static", "--kernel", "kernel", "--add", "data:/srv/data", "-o", out, "--json"];
        let output = image(&dir, common.iter().chain(more));
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        json(&output)
    };
    let first = build("one", &[]);
    fs::set_permissions(dir.join("data/a"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(dir.join("data"), fs::Permissions::from_mode(0o700)).unwrap();
    let second = build("two", &[]);
    assert_eq!(first["initramfs_sha256"], second["initramfs_sha256"]);
    assert_eq!(fs::read(dir.join("one/initramfs.cpio")).unwrap(), fs::read(dir.join("two/initramfs.cpio")).unwrap());
    let written = |name: &str| fs::metadata(dir.join("one").join(name)).unwrap().modified().unwrap();
    let before = ["image.json", "initramfs.cpio", "vmlinuz"].map(written);
    assert_eq!(build("one", &[])["unchanged"], true);
    assert_eq!(before, ["image.json", "initramfs.cpio", "vmlinuz"].map(written));
    dir.write("data/b", "changed");
    assert_eq!(build("one", &[])["unchanged"], false);
    assert_ne!(fs::read(dir.join("one/initramfs.cpio")).unwrap(), fs::read(dir.join("two/initramfs.cpio")).unwrap());
    // A file that was damaged is written again.
    let whole = fs::read(dir.join("one/initramfs.cpio")).unwrap();
    fs::write(dir.join("one/initramfs.cpio"), vec![0; whole.len()]).unwrap();
    assert_eq!(build("one", &[])["unchanged"], false);
    assert_eq!(fs::read(dir.join("one/initramfs.cpio")).unwrap(), whole);
}

#[test]
fn what_cannot_be_an_image_is_refused_in_one_sentence() {
    need!("cc", "aarch64-linux-gnu-gcc");
    let dir = fixture();
    let refused = |args: &[&str], words: &[&str]| {
        let output = image(&dir, [&["build", "--kernel", "kernel"], args].concat());
        assert_eq!(output.code, Some(2), "{args:?}: {}", output.stdout);
        assert_eq!(output.stderr.lines().count(), 1, "{args:?}: {}", output.stderr);
        words.iter().for_each(|word| assert!(output.stderr.contains(word), "{args:?}: {}", output.stderr));
    };
    fs::remove_file(dir.join("own/libx.so")).unwrap();
    refused(&["app", "-o", "out"], &["libx.so", "not found"]);
    let other = if cfg!(target_arch = "x86_64") { "qemu-aarch64" } else { "qemu-x86_64" };
    refused(&["static", "-o", "out", "--target", other], &["cannot run", "--target"]);
    refused(&["main.c", "-o", "out"], &["main.c"]);
    refused(&["static", "-o", "own/..", "--dry-run", "--add", "main.c"], &["HOST:GUEST"]);
    refused(&["static", "-o", "out", "--add", "main.c:/a/../../b"], &["`..`"]);
    refused(&["static", "-o", "out", "--add", "absent:/a"], &["absent"]);
    refused(&["static", "-o", ".", "--json"], &["holds no image"]);
    let offline = image(&dir, ["build", "static", "-o", "out", "--offline"]);
    assert!(offline.code == Some(2) && offline.stderr.contains("--offline"), "{}", offline.stderr);
    let nothing = image(&dir, ["run", "own"]);
    assert!(nothing.code == Some(2) && nothing.stderr.contains("image.json"), "{}", nothing.stderr);
    assert!(!dir.join("out").exists());
}

#[test]
fn a_kernel_that_does_not_start_is_125_with_what_qemu_says() {
    need!("cc", "qemu-system-x86_64");
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    let dir = fixture();
    assert_eq!(image(&dir, ["build", "static", "--kernel", "kernel", "-o", "out"]).code, Some(0));
    let output = image(&dir, ["run", "out", "--kvm", "off"]);
    assert_eq!(output.code, Some(125), "{}", output.stderr);
    assert!(output.stderr.contains("did not come up") && output.stderr.contains("QEMU says"), "{}", output.stderr);
}

#[test]
fn a_dynamic_program_runs_with_its_libraries_and_its_code_and_files_come_back() {
    need!("cc", "qemu-system-x86_64");
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    let dir = fixture();
    let built = cached(&dir, &["build", "app", "-o", "out"]);
    if built.code != Some(0) {
        assert!(!underpin_test_support::all_required(), "{}", built.stderr);
        underpin_test_support::skip(&built.stderr);
        return;
    }
    let run = ["run", "out", "--kvm", "off", "--get", "/tmp/out:fetched", "--json", "--"];
    let app = dir.join("app").canonicalize().unwrap().display().to_string();
    let output = cached(&dir, &[&run[..], &[&app, "two words"]].concat());
    assert_eq!(output.code, Some(42), "{}", output.stderr);
    let document = json(&output);
    assert_eq!(document["output"], "42 two words\n");
    assert_eq!((&document["outcome"], &document["exit_status"]), (&"exited".into(), &42.into()));
    assert_eq!(fs::read(dir.join("fetched")).unwrap(), b"made");
    let schema: Value = serde_json::from_str(&common::says(["generate", "schema", "image-run"]).stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");

    let lock: Value = serde_json::from_slice(&fs::read(dir.join("out/image.lock")).unwrap()).unwrap();
    let version = lock["kernel"]["version"].as_str().unwrap().to_owned();
    assert!(version.starts_with("6."), "{lock}");
    // With the lock and the store nothing is fetched.
    assert_eq!(cached(&dir, &["build", "app", "-o", "out", "--offline"]).code, Some(0));
    let absent = cached(&dir, &["run", "out", "--kvm", "off", "--", "absent"]);
    assert_eq!(absent.code, Some(127), "{}", absent.stderr);
    assert!(!Path::new(&dir.join("fetched.underpin-new")).exists());
}
