//! `underpin image size`, `image.spdx.json` and `underpin image sources`: what an image consists of, and from what.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{holds, says, underpin};
use serde_json::Value;
use std::fs;
use std::path::Path;
use underpin_test_support::{Fixture, Output, need};

fn image(dir: &Fixture, args: &[&str]) -> Output {
    let mut command = underpin(["image"]);
    command.args(args).current_dir(dir.path()).env("XDG_CACHE_HOME", dir.join("cache"));
    Output::of(&mut command)
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {} {}", output.stdout, output.stderr))
}

/// The document of a verb, which keeps to its schema.
fn document(dir: &Fixture, verb: &str, args: &[&str]) -> Value {
    let output = image(dir, &[&[verb], args, &["--json"]].concat());
    assert_eq!(output.code, Some(0), "{args:?}: {}", output.stderr);
    let document = json(&output);
    let schema: Value =
        serde_json::from_str(&says(["generate", "schema", &format!("image-{verb}")]).stdout).expect("a schema");
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{args:?}: {errors:#?}");
    document
}

fn refused(dir: &Fixture, args: &[&str], parts: &[&str]) {
    let output = image(dir, args);
    assert_eq!(output.code, Some(2), "{args:?}: {}", output.stdout);
    assert_eq!(output.stderr.lines().count(), 1, "{args:?}: {}", output.stderr);
    parts.iter().for_each(|part| assert!(output.stderr.contains(part), "{args:?}: {}", output.stderr));
}

/// A static and a dynamic program, and a file that stands for a kernel.
fn fixture() -> Fixture {
    let dir = Fixture::new();
    dir.write("main.c", "int main(void){ return 0; }");
    dir.cc(["-static", "-o", "static", "main.c"]);
    dir.cc(["-o", "dynamic", "main.c"]);
    dir.write("kernel", "not a real one");
    dir
}

fn build(dir: &Fixture, args: &[&str]) {
    let output = image(dir, &[&["build", "--kernel", "kernel"], args].concat());
    assert_eq!(output.code, Some(0), "{args:?}: {}", output.stderr);
}

/// Bytes of each part, by kind and name.
fn part(sizes: &Value, kind: &str) -> (String, u64) {
    let parts = sizes["parts"].as_array().unwrap();
    let found: Vec<&Value> = parts.iter().filter(|part| part["kind"] == kind).collect();
    let [part] = found.as_slice() else { panic!("{kind}: {sizes}") };
    (part["name"].as_str().unwrap().to_owned(), part["bytes"].as_u64().unwrap())
}

fn size(path: impl AsRef<Path>) -> u64 {
    fs::metadata(path).unwrap().len()
}

#[test]
fn each_byte_is_of_one_part_and_the_files_that_are_handed_on_have_their_own_sizes() {
    need!("cc");
    let dir = fixture();
    dir.write("data", "much ".repeat(1000));
    build(&dir, &["static", "--add", "data:/srv/data", "-o", "out"]);
    let sizes = document(&dir, "size", &["out"]);
    assert_eq!(part(&sizes, "programs").1, size(dir.join("static")));
    assert_eq!(part(&sizes, "added").1, 5000);
    assert_eq!(part(&sizes, "kernel").1, size(dir.join("kernel")));
    let parts = sizes["parts"].as_array().unwrap();
    let bytes: Vec<u64> = parts.iter().map(|part| part["bytes"].as_u64().unwrap()).collect();
    assert!(bytes.is_sorted_by(|a, b| a >= b), "{bytes:?}");
    assert_eq!(sizes["total_bytes"], bytes.iter().sum::<u64>());
    assert_eq!(sizes["system_bytes"], bytes.iter().sum::<u64>() - size(dir.join("kernel")));
    let archive = &sizes["shipped"][1];
    assert_eq!(
        (&archive["file"], &archive["bytes"]),
        (&"initramfs.cpio".into(), &size(dir.join("out/initramfs.cpio")).into())
    );
    assert!(archive["gzip_bytes"].as_u64() < archive["bytes"].as_u64(), "{archive}");

    // The same on a disk: underpin's first process is there twice, and the parts are the same.
    build(&dir, &["static", "--add", "data:/srv/data", "-o", "disk", "--format", "ext4"]);
    let disk = document(&dir, "size", &["disk"]);
    assert_eq!(part(&disk, "programs"), part(&sizes, "programs"));
    assert_eq!(disk["shipped"][2]["file"], "root.ext4");
}

#[test]
fn files_of_this_machines_packages_are_counted_as_these() {
    need!("cc", "dpkg-query");
    let dir = fixture();
    build(&dir, &["dynamic", "-o", "out"]);
    let manifest: Value = serde_json::from_slice(&fs::read(dir.join("out/image.json")).unwrap()).unwrap();
    let (name, bytes) = part(&document(&dir, "size", &["out"]), "c_library");
    let entries = manifest["layers"][1]["entries"].as_array().unwrap();
    let of = |entry: &&Value| entry["package"].as_str().is_some_and(|package| package.starts_with(&format!("{name} ")));
    assert_eq!(entries.iter().filter(of).map(|entry| entry["bytes"].as_u64().unwrap()).sum::<u64>(), bytes);
    // dpkg's own answer, by whichever of its two names it has the file.
    let libc = entries.iter().find(|entry| entry["path"].as_str().unwrap().ends_with("/libc.so.6")).unwrap();
    let from = libc["from"].as_str().unwrap();
    let asked = [from.to_owned(), from.replacen("/usr/", "/", 1)].map(|path| {
        let output = Output::of(std::process::Command::new("dpkg-query").args(["--search", &path]));
        output.stdout
    });
    assert!(asked.iter().any(|answer| answer.starts_with(&format!("{name}:"))), "{name}: {asked:?}");
    let version = dir.must("dpkg-query", ["--show", "--showformat", "${Version}\n", &name]);
    let known: Vec<&str> = version.lines().collect();
    let package = libc["package"].as_str().unwrap();
    assert!(known.contains(&package.rsplit(' ').next().unwrap()), "{package}: {known:?}");
}

#[test]
fn two_images_differ_by_what_only_one_has() {
    need!("cc");
    let dir = fixture();
    dir.write("data", "much ".repeat(1000));
    build(&dir, &["static", "-o", "small"]);
    build(&dir, &["static", "--add", "data:/srv/data", "-o", "large"]);
    let sizes = document(&dir, "size", &["large", "--against", "small"]);
    let rows = sizes["differences"].as_array().unwrap();
    assert_eq!((&rows[0]["kind"], &rows[0]["difference_bytes"]), (&"added".into(), &5000.into()));
    assert!(rows[0].get("against_bytes").is_none(), "{rows:?}");
    assert!(rows[1..].iter().all(|row| row["difference_bytes"] == 0), "{rows:?}");
    assert!(sizes["ratio"].as_f64().unwrap() > 1.0, "{sizes}");
    let turned = image(&dir, &["size", "small", "--against", "large"]);
    assert!(turned.stdout.contains("only in B"), "{}", turned.stdout);
}

#[test]
fn a_folder_without_an_image_and_an_image_of_another_form_are_refused() {
    need!("cc");
    let dir = fixture();
    build(&dir, &["static", "-o", "out"]);
    dir.write("other/image.json", "{\"format\": 99}");
    dir.write("broken/image.json", "no JSON");
    assert_eq!(image(&dir, &["build", "static", "--target", "oci", "-o", "container"]).code, Some(0));
    for verb in [&["size"][..], &["sources", "-o", "sources"]] {
        refused(&dir, &[verb, &["cache"]].concat(), &["cache", "image.json", "build the image again"]);
        refused(&dir, &[verb, &["container"]].concat(), &["image for containers"]);
        refused(&dir, &[verb, &["other"]].concat(), &["other/image.json", "form 99"]);
        refused(&dir, &[verb, &["broken"]].concat(), &["broken/image.json", "build the image again"]);
    }
    refused(&dir, &["size", "out", "--against", "absent"], &["absent"]);
    assert!(!dir.join("sources").exists());
}

fn named<'a>(spdx: &'a Value, name: &str) -> &'a Value {
    let found = spdx["packages"].as_array().unwrap().iter().find(|package| package["name"] == name);
    found.unwrap_or_else(|| panic!("{name}: {spdx}"))
}

#[test]
fn the_list_for_others_is_the_same_bytes_again_and_has_the_images_time() {
    need!("cc");
    let dir = fixture();
    build(&dir, &["dynamic", "-o", "one"]);
    build(&dir, &["dynamic", "-o", "two"]);
    let one = fs::read(dir.join("one/image.spdx.json")).unwrap();
    assert!(one == fs::read(dir.join("two/image.spdx.json")).unwrap());
    let spdx: Value = serde_json::from_slice(&one).unwrap();
    holds(&spdx);
    assert_eq!(spdx["creationInfo"]["created"], "1970-01-01T00:00:00Z");
    assert_eq!(named(&spdx, "dynamic")["packageFileName"], "/usr/bin/dynamic");
    assert_eq!(named(&spdx, "underpin-init")["licenseDeclared"], "MIT OR Apache-2.0");

    let mut command = underpin(["image", "build", "dynamic", "--kernel", "kernel", "-o", "three"]);
    command.current_dir(dir.path()).env("XDG_CACHE_HOME", dir.join("cache")).env("SOURCE_DATE_EPOCH", "1700000000");
    assert_eq!(Output::of(&mut command).code, Some(0));
    let three: Value = serde_json::from_slice(&fs::read(dir.join("three/image.spdx.json")).unwrap()).unwrap();
    assert_eq!(three["creationInfo"]["created"], "2023-11-14T22:13:20Z");
    // A list that is gone is written again.
    fs::remove_file(dir.join("one/image.spdx.json")).unwrap();
    build(&dir, &["dynamic", "-o", "one"]);
    assert!(one == fs::read(dir.join("one/image.spdx.json")).unwrap());
}

const RECIPE: &str = "version = \"1:1.0\"\nlicence = \"MIT\"\nbuild = \"make\"\n\n[source]\nfolder = \"hello-src\"\n\n\
                      [take]\n\"usr/bin/hello\" = \"hello\"\n";
const APPEND: &str = "[[change]]\ncause = \"upstream bug\"\nwhy = \"it greets nobody\"\npatches = [\"greet.patch\"]\n";
const PATCH: &str = "--- a/hello.c\n+++ b/hello.c\n@@ -1,4 +1,4 @@\n #include <stdio.h>\n int main(void) {\n\
                     -    return puts(\"hello, nobody\") < 0;\n+    return puts(\"hello, world\") < 0;\n }\n";
const SOURCE: &str = "#include <stdio.h>\nint main(void) {\n    return puts(\"hello, nobody\") < 0;\n}\n";

fn layered() -> Fixture {
    let dir = Fixture::new();
    dir.write("my-layer/layer.toml", "order = 100\n");
    dir.write("my-layer/hello.toml", RECIPE);
    dir.write("my-layer/hello_1.*.append.toml", APPEND);
    dir.write("my-layer/greet.patch", PATCH);
    dir.write("my-layer/hello-src/hello.c", SOURCE);
    dir.write("my-layer/hello-src/Makefile", "hello: hello.c\n\t$(CC) -O2 -o hello hello.c\n");
    dir.write("kernel", "not a real one");
    dir.write("extra", "of the user's own");
    let words = ["hello", "--libc", "musl", "--toolchain", "gcc", "--layer", "my-layer", "--add", "extra:/srv/extra"];
    build(&dir, &[&words[..], &["-o", "out"]].concat());
    dir
}

#[test]
fn a_recipe_is_counted_listed_and_its_sources_are_written() {
    need!("cc", "make", "musl-gcc", "patch");
    let dir = layered();
    let (name, bytes) = part(&document(&dir, "size", &["out"]), "recipe");
    assert!(name == "hello" && bytes > 1000, "{name} {bytes}");
    let spdx: Value = serde_json::from_slice(&fs::read(dir.join("out/image.spdx.json")).unwrap()).unwrap();
    holds(&spdx);
    assert_eq!(named(&spdx, "hello")["versionInfo"], "1:1.0");
    let patch = named(&spdx, "greet.patch");
    let sum = dir.must("sha256sum", ["my-layer/greet.patch"]);
    assert_eq!(patch["checksums"][0]["checksumValue"], sum.split(' ').next().unwrap());
    let applied = spdx["relationships"].as_array().unwrap().iter();
    let applied = applied.filter(|relation| relation["spdxElementId"] == patch["SPDXID"]);
    assert!(applied.clone().all(|relation| relation["relationshipType"] == "PATCH_APPLIED") && applied.count() == 1);

    let write = ["out", "-o", "sources", "--offline", "--layer", "my-layer"];
    let sources = document(&dir, "sources", &write);
    let files =
        ["hello-1.0/Makefile", "hello-1.0/hello.c", "layers/my-layer/greet.patch", "layers/my-layer/hello.toml"];
    for file in files {
        assert!(sources["packages"][0]["files"].as_array().unwrap().contains(&file.into()), "{sources}");
    }
    assert_eq!(fs::read_to_string(dir.join("sources/hello-1.0/hello.c")).unwrap(), SOURCE);
    assert_eq!(fs::read_to_string(dir.join("sources/layers/my-layer/hello_1.*.append.toml")).unwrap(), APPEND);
    let licences = fs::read_to_string(dir.join("sources/licences.txt")).unwrap();
    assert!(licences.starts_with("hello 1:1.0: MIT\n"), "{licences}");
    // What has no source is named, one line each.
    let missing: Vec<&str> =
        sources["missing"].as_array().unwrap().iter().map(|part| part["what"].as_str().unwrap()).collect();
    assert_eq!(missing, ["kernel", "/srv/extra"]);
    let again = image(&dir, &[&["sources"], &write[..]].concat());
    assert!(again.code == Some(0) && again.stdout.contains("/srv/extra: added by name: no source"), "{}", again.stdout);
}

#[test]
fn sources_go_into_no_foreign_folder_and_come_from_no_other_layer() {
    need!("cc", "make", "musl-gcc", "patch");
    let dir = layered();
    dir.write("foreign/letter", "mine");
    refused(&dir, &["sources", "out", "--layer", "my-layer", "-o", "foreign"], &["foreign", "choose another folder"]);
    refused(&dir, &["sources", "out", "-o", "sources"], &["hello.toml", "--layer"]);
    dir.write("my-layer/greet.patch", PATCH.replace("world", "moon"));
    refused(&dir, &["sources", "out", "--layer", "my-layer", "-o", "sources"], &["greet.patch", "--layer"]);
    let left: Vec<String> =
        fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into()).collect();
    assert!(!left.iter().any(|name| name.contains("underpin-new") || name == "sources"), "{left:?}");
    assert_eq!(fs::read_dir(dir.join("foreign")).unwrap().count(), 1);
}
