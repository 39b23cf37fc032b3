//! A Ruby service with OpenSSL's FIPS provider: what is in effect is asked inside the running image, what bypasses it is found, and what is
//! said of certificates never goes beyond the table.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::underpin;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use underpin_test_support::{Fixture, Output, need, skip};

fn image(dir: &Fixture, args: &[&str]) -> Output {
    let mut command = underpin(["image"]);
    // Packages are fetched once for all tests of images.
    command.args(args).current_dir(dir.path()).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    Output::of(&mut command)
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|data| data.uid() == 0)
}

const WORK: &str = r#"
require "openssl"
require "digest"
puts Digest::MD5.hexdigest("a")
begin
  puts OpenSSL::Digest::MD5.hexdigest("a")
rescue OpenSSL::Digest::DigestError
  puts "refused"
end
"#;

#[test]
fn a_service_with_the_provider_says_so_and_the_probe_finds_what_bypasses_it() {
    need!("ruby", "openssl", "runc", "apt-get");
    if !is_root() {
        skip("only root can run a container");
        return;
    }
    let dir = Fixture::new();
    dir.write("app/work.rb", WORK);
    let words = ["build", "ruby", "--app", "app", "--target", "oci"];
    let rest = ["-o", "fips.tar", "--fips", "--json", "--", "ruby", "work.rb"];
    let output = image(&dir, &[&words[..], &rest[..]].concat());
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let built: Value = serde_json::from_str(&output.stdout).unwrap();
    // The package's version is upstream's, with Debian's after the last dash.
    let remark = built["remarks"][0].as_str().unwrap();
    let package = remark.split_once("openssl-provider-fips ").unwrap().1.split_once(')').unwrap().0;
    let version = package.rsplit_once('-').unwrap().0;
    assert!(remark.contains("its self-test passed here"), "{remark}");

    let ran = image(&dir, &["run", "fips.tar", "--runner", "runtime"]);
    // The first is RFC 1321's own example, by Ruby's own code.
    assert_eq!(ran.stdout, "0cc175b9c0f1b6a831c399e269772661\nrefused\n", "{}", ran.stderr);
    let line: Value = serde_json::from_str(ran.stderr.lines().next().unwrap()).unwrap();
    assert_eq!(line["fips"]["provider"], format!("OpenSSL FIPS Provider {version}"));
    assert_eq!(line["fips"]["in_effect"], true);

    let asked = image(&dir, &["fips", "fips.tar", "--json"]);
    assert_eq!(asked.code, Some(1), "{}", asked.stderr);
    let told: Value = serde_json::from_str(&asked.stdout).unwrap();
    assert_eq!((&told["in_effect"], &told["forced"]), (&true.into(), &true.into()));
    assert_eq!(told["provider"]["version"], version);
    let module = told["mapped"].as_array().unwrap().iter().any(|path| path.as_str().unwrap().ends_with("/fips.so"));
    assert!(module, "{}", told["mapped"]);
    for check in told["checks"].as_array().unwrap() {
        assert_eq!(check["works"], check["expected"], "{check}");
    }
    let bypass = told["bypasses"].as_array().unwrap().iter().find(|one| one["name"] == "Digest::MD5").unwrap();
    let file = bypass["file"].as_str().unwrap();
    assert!(file.ends_with("/digest/md5.so"), "{file}");
    let own = told["own_code"].as_array().unwrap();
    assert!(own.iter().any(|one| one["path"] == file && one["algorithms"][0]["name"] == "MD5"), "{own:?}");

    // Another configuration takes the provider out of effect, and that is seen.
    let plain = image(&dir, &[&words[..], &["-o", "plain.tar", "--", "ruby", "work.rb"]].concat());
    assert_eq!(plain.code, Some(0), "{}", plain.stderr);
    let asked = image(&dir, &["fips", "plain.tar"]);
    assert_eq!(asked.code, Some(1), "{}", asked.stderr);
    assert!(asked.stdout.starts_with("plain.tar: no FIPS provider is active\n"), "{}", asked.stdout);
    let ran = image(&dir, &["run", "plain.tar", "--runner", "runtime"]);
    assert_eq!(ran.stdout, "0cc175b9c0f1b6a831c399e269772661\n".repeat(2), "{}", ran.stderr);
    for text in [&remark.to_owned(), &asked.stdout, &ran.stderr] {
        assert!(!claims(text), "{text}");
    }
}

#[test]
fn a_file_that_is_not_the_provider_and_a_target_without_it_are_refused() {
    need!("openssl", "cc");
    let dir = Fixture::new();
    dir.write("a.c", "int main(void) { return 0; }\n");
    dir.cc(["-o", "app", "a.c"]);
    dir.cc(["-shared", "-o", "fips.so", "a.c"]);
    let refused = |args: &[&str], words: &str| {
        let output = image(&dir, &[&["build", "app", "-o", "out.tar"], args].concat());
        assert_eq!(output.code, Some(2), "{args:?}: {}", output.stdout);
        assert!(output.stderr.contains(words) && output.stderr.lines().count() == 1, "{args:?}: {}", output.stderr);
    };
    refused(&["--target", "oci", "--fips=/nothing.so"], "--fips=/nothing.so");
    refused(&["--target", "oci", "--fips=fips.so"], "its self-test failed");
    refused(&["--target", "qemu-x86_64", "--fips"], "--fips is for containers");
    refused(&["--target", "oci", "--fips", "--root", "."], "--root has another");
    assert!(!dir.join("out.tar").exists());
    let output = image(&dir, &["fips", "app"]);
    assert!(output.code == Some(2) && output.stderr.contains("not an image for containers"), "{}", output.stderr);
    let output = image(&dir, &["build", "app", "--target", "oci", "-o", "app.tar"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let output = image(&dir, &["fips", "app.tar"]);
    let unknown = "app.tar: whether a FIPS provider is in effect is unknown\n";
    assert!(output.code == Some(1) && output.stdout.starts_with(unknown), "{}", output.stdout);
}

/// Whether a text claims more than a configuration and its behaviour show.
fn claims(text: &str) -> bool {
    let lower = text.to_lowercase();
    lower.contains("complian") || lower.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == "validated")
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

#[test]
fn no_text_of_the_program_or_its_pages_claims_a_validation_without_number_and_day() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = vec![top.join("README.md"), top.join("ARCHITECTURE.md"), top.join("CHANGELOG.md")];
    for folder in ["crates", "layers", "docs"] {
        files(&top.join(folder), &mut found);
    }
    // What is said of a certificate is put together in one place, whose own tests want number and day beside the word; and tests say
    // the word to look for it.
    let allowed = ["src/fips/certificates.rs", "src/text/image_fips.rs", "underpin/tests/image_fips.rs"];
    let mut read = 0;
    for path in found.iter().filter(|path| !allowed.iter().any(|end| path.ends_with(end))) {
        let Ok(text) = fs::read_to_string(path) else { continue };
        // What CoreMark prints of its own run, and the name of a repository.
        let text =
            text.replace("peration validated.", "").replace("a validated run", "").replace("pep600_compliance", "");
        read += 1;
        let is_source = path.extension().is_some_and(|end| end == "rs");
        for (number, line) in text.lines().enumerate() {
            // Comments are no output; those of the arguments are the help.
            let comment = is_source && line.trim_start().starts_with("//") && !path.to_string_lossy().contains("/cli/");
            let with_number = line.contains("certificate #") && line.contains("announced 20");
            assert!(comment || with_number || !claims(line), "{}:{}: {line}", path.display(), number + 1);
        }
    }
    assert!(read > 300, "{read} files were read");
}
