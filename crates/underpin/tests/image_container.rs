//! `underpin image build --target oci`: what umoci makes of the image runs in a chroot as its user, and what cannot be an image
//! is refused with nothing lost.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{says, underpin};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;
use underpin_test_support::{Fixture, Output, need, skip};

fn build(dir: &Fixture, args: &[&str]) -> Output {
    let mut command = underpin(["image", "build"]);
    Output::of(command.args(args).current_dir(dir.path()))
}

fn built(dir: &Fixture, args: &[&str]) -> Value {
    let output = build(dir, &[args, &["--json"]].concat());
    assert_eq!(output.code, Some(0), "{args:?}: {}", output.stderr);
    serde_json::from_str(&output.stdout).unwrap()
}

/// A program that tells who it is, with a library of its own beside it and one that glibc opens, and one that is static.
fn fixture() -> Fixture {
    let dir = Fixture::new();
    dir.write("x.c", "int x(void){return 42;}");
    dir.write(
        "main.c",
        "#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\nint x(void);\n\
         static void *end(void *p){ pthread_exit(p); }\nint main(void){ pthread_t t; pthread_create(&t, 0, end, 0); \
         pthread_join(t, 0); FILE *f = tmpfile(); printf(\"%d %d %d %s\\n\", x(), (int)getuid(), f != 0, getenv(\"GREETING\")); return 3; }",
    );
    dir.mkdir("own");
    dir.cc(["-shared", "-fPIC", "-o", "own/libx.so", "x.c"]);
    // $ORIGIN is read from /proc, which runtimes mount and a chroot lacks.
    let path = format!("-Wl,-rpath,{}", dir.join("own").canonicalize().unwrap().display());
    dir.cc(["-o", "app", "main.c", "-Lown", "-lx", &path]);
    dir.cc(["-static", "-w", "-o", "static", "main.c", "x.c"]);
    dir
}

#[test]
fn the_image_of_a_program_runs_as_its_user_with_nothing_else() {
    need!("cc", "umoci", "unshare");
    if fs::metadata("/proc/self").is_ok_and(|data| std::os::unix::fs::MetadataExt::uid(&data) != 0) {
        skip("only root can run an image in a chroot");
        return;
    }
    let dir = fixture();
    for program in ["app", "static"] {
        let document = built(&dir, &[program, "--target", "oci", "--env", "GREETING=hello", "-o", "out", "--dry-run"]);
        assert_eq!((&document["dry_run"], &document["container"]), (&Value::Bool(true), &Value::Null));
        let image = format!("{program}-image");
        let document = built(&dir, &[program, "--target", "oci", "--env", "GREETING=hello", "-o", &image]);
        assert_eq!(document["remarks"], Value::from(Vec::<String>::new()), "{program}");
        let bundle = format!("{program}-bundle");
        dir.must("umoci", ["unpack", "--image", &format!("{image}:latest"), &bundle]);
        let config: Value = serde_json::from_slice(&fs::read(dir.join(&bundle).join("config.json")).unwrap()).unwrap();
        let process = &config["process"];
        assert_eq!((&process["user"]["uid"], &process["user"]["gid"]), (&65532.into(), &65532.into()), "{process}");
        let words = |of: &Value| {
            of.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let mut command = dir.command("unshare");
        command.args(["-n", "env", "-i"]).args(words(&process["env"]));
        command.args(["/usr/sbin/chroot", "--userspec=65532:65532"]);
        command.arg(dir.join(&bundle).join("rootfs")).args(words(&process["args"]));
        let output = Output::of(&mut command);
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (Some(3), "42 65532 1 hello\n"),
            "{program}: {}",
            output.stderr
        );
        assert!(!dir.join(&bundle).join("rootfs/init").exists() && !dir.join(&bundle).join("rootfs/bin/sh").exists());
    }
}

#[test]
fn a_signal_ends_the_writing_and_leaves_nothing() {
    need!("cc");
    let dir = fixture();
    // More than is compressed within any patience.
    fs::File::create(dir.join("large")).unwrap().set_len(1 << 40).unwrap();
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let mut command =
            underpin(["image", "build", "static", "--target", "oci", "--add", "large:/large", "-o", "out"]);
        let mut child = command.current_dir(dir.path()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let is_begun = || fs::read_dir(dir.path()).unwrap().any(|entry| is_temporary(&entry.unwrap().file_name()));
        while !is_begun() {
            assert_eq!(child.try_wait().unwrap(), None, "it has ended");
            sleep(Duration::from_millis(5));
        }
        dir.must("kill", [&format!("-{signal}"), &child.id().to_string()]);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(!is_begun() && !dir.join("out").exists(), "{signal}");
    }
}

fn is_temporary(name: &OsStr) -> bool {
    name.to_string_lossy().starts_with(".underpin-")
}

#[test]
fn the_same_program_is_the_same_image_as_a_folder_and_as_a_file() {
    need!("cc", "skopeo");
    let dir = fixture();
    let first = built(&dir, &["static", "--target", "oci", "-o", "one"]);
    let second = built(&dir, &["static", "--target", "oci", "-o", "two.tar"]);
    assert_eq!(first["container"], second["container"]);
    assert_eq!(first["kernel"], Value::Null);
    for place in ["oci:one", "oci-archive:two.tar"] {
        let told: Value = serde_json::from_str(&dir.must("skopeo", ["inspect", place])).unwrap();
        assert_eq!(told["Digest"], first["container"]["manifest"], "{place}");
    }
    let schema: Value = serde_json::from_str(&says(["generate", "schema", "image-build"]).stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&first).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn nothing_that_is_there_is_lost_and_what_is_of_machines_is_refused() {
    need!("cc", "aarch64-linux-gnu-gcc");
    let dir = fixture();
    dir.write("folder/kept", "kept");
    dir.write("file.tar", "kept");
    let container = ["static", "--target", "oci"];
    let refused = |args: &[&str], words: &str| {
        let output = build(&dir, args);
        assert_eq!(output.code, Some(2), "{args:?}: {}", output.stdout);
        assert!(output.stderr.contains(words) && output.stderr.lines().count() == 1, "{args:?}: {}", output.stderr);
    };
    built(&dir, &[&container[..], &["-o", "image"]].concat());
    refused(&[&container[..], &["-o", "image"]].concat(), "--force");
    built(&dir, &[&container[..], &["-o", "image", "--force", "--user", "0"]].concat());
    for mine in ["folder", "file.tar"] {
        refused(&[&container[..], &["-o", mine]].concat(), "--force");
        refused(&[&container[..], &["-o", mine, "--force"]].concat(), "--force replaces only images");
    }
    assert_eq!(fs::read(dir.join("folder/kept")).unwrap(), b"kept");
    assert_eq!(fs::read(dir.join("file.tar")).unwrap(), b"kept");
    refused(&[&container[..], &["-o", "out", "--offline"]].concat(), "a container has no kernel");
    refused(&[&container[..], &["-o", "out", "--env", "NOTHING"]].concat(), "NAME=VALUE");
    refused(&["static", "-o", "out", "--user", "1"], "--target oci");
    dir.must("aarch64-linux-gnu-gcc", ["-static", "-w", "-o", "arm", "main.c", "x.c"]);
    refused(&["arm", "--target", "oci-x86_64", "-o", "out"], "oci-x86_64 cannot run");
    let arm = built(&dir, &["arm", "--target", "oci-aarch64", "-o", "arm-image"]);
    assert_eq!(arm["target"], "oci-aarch64");
    assert!(!Path::new(&dir.join("out")).exists());
}

#[test]
fn links_of_a_system_below_a_folder_are_followed_there_and_a_program_keeps_its_name() {
    need!("cc");
    let dir = Fixture::new();
    dir.write("main.c", "#include <stdio.h>\nint main(int count, char **words) { puts(words[0]); return count; }");
    dir.mkdir("root/usr/bin");
    dir.mkdir("root/etc/alternatives");
    dir.cc(["-static", "-o", "root/usr/bin/env", "main.c"]);
    dir.write("root/etc/passwd", "of the root\n");
    let link = |target: &str, path: &str| std::os::unix::fs::symlink(target, dir.join(path)).unwrap();
    // Each exists on this machine too, with other contents.
    link("/usr/bin/env", "root/etc/alternatives/tool");
    link("/etc/alternatives/tool", "root/usr/bin/tool");
    link("/etc/passwd", "root/etc/alternatives/list");
    link("alternatives/list", "root/etc/list");
    built(&dir, &["/usr/bin/tool", "--root", "root", "--include", "/etc/list", "--target", "oci", "-o", "image"]);
    let layout: Value = serde_json::from_slice(&fs::read(dir.join("image/index.json")).unwrap()).unwrap();
    let blob = |digest: &Value| {
        let name = digest["digest"].as_str().unwrap().trim_start_matches("sha256:");
        dir.join(format!("image/blobs/sha256/{name}"))
    };
    let read = |digest: &Value| serde_json::from_slice::<Value>(&fs::read(blob(digest)).unwrap()).unwrap();
    let manifest = read(&layout["manifests"][0]);
    assert_eq!(read(&manifest["config"])["config"]["Entrypoint"], serde_json::json!(["/usr/bin/tool"]));
    dir.mkdir("out");
    for layer in manifest["layers"].as_array().unwrap() {
        dir.must("tar", ["-xf", blob(layer).to_str().unwrap(), "-C", "out"]);
    }
    assert_eq!(fs::read(dir.join("out/usr/bin/tool")).unwrap(), fs::read(dir.join("root/usr/bin/env")).unwrap());
    assert_eq!(fs::read(dir.join("out/etc/list")).unwrap(), b"of the root\n");
    let nothing =
        build(&dir, &["/usr/bin/tool", "--root", "root", "--include", "/etc/fstab", "--target", "oci", "-o", "x"]);
    assert_eq!(nothing.code, Some(2), "{}", nothing.stderr);
    assert!(nothing.stderr.contains("--include /etc/fstab: not in "), "{}", nothing.stderr);
}
