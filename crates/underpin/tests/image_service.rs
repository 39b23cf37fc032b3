//! Images for containers as services are made: what programs open comes with them, layers hold the same files however they are
//! divided, a Ruby application serves on the allocator that was asked for, and `image run` starts all of it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::underpin;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use underpin_test_support::{Fixture, Output, need, skip};

fn image(dir: &Fixture, args: &[&str]) -> Output {
    let mut command = underpin(["image"]);
    // Kernels are fetched once for all tests of images.
    command.args(args).current_dir(dir.path()).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    Output::of(&mut command)
}

fn built(dir: &Fixture, args: &[&str]) -> Value {
    let output = image(dir, &[&["build", "--target", "oci", "--json"], args].concat());
    assert_eq!(output.code, Some(0), "{args:?}: {}", output.stderr);
    serde_json::from_str(&output.stdout).unwrap()
}

fn because<'d>(document: &'d Value, path: &str) -> &'d str {
    let file = document["files"].as_array().unwrap().iter().find(|file| file["path"] == path);
    file.unwrap_or_else(|| panic!("{path} is missing"))["because"].as_str().unwrap()
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|data| data.uid() == 0)
}

/// Opens what images forget; what fails is printed as `NAME no`.
const PROBE: &str = r#"
#include <iconv.h>
#include <locale.h>
#include <netdb.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static void say(const char *name, int works) { printf("%s %s\n", name, works ? "yes" : "no"); }
int main(void) {
    struct addrinfo *list, hint;
    memset(&hint, 0, sizeof hint);
    say("name", getaddrinfo("127.0.0.1", "80", &hint, &list) == 0);
    say("account", getpwuid(getuid()) != NULL);
    say("charset", iconv_open("UTF-8", "ISO-8859-1") != (iconv_t)-1);
    say("locale", setlocale(LC_ALL, "") != NULL);
    say("temporary", tmpfile() != NULL);
    time_t zero = 0;
    say("zone", localtime(&zero)->tm_hour == 1);
    return 0;
}
"#;

#[test]
fn what_a_program_is_known_to_open_comes_with_it_and_the_doctor_finds_nothing() {
    need!("cc", "umoci", "unshare", "curl");
    let dir = Fixture::new();
    dir.write("probe.c", PROBE);
    dir.cc(["-o", "probe", "probe.c"]);
    let set = ["--env", "TZ=Europe/Berlin", "--env", "LANG=C.UTF-8", "--user", "1000"];
    let document = built(&dir, &[&["probe", "-o", "full"], &set[..]].concat());
    assert_eq!(document["remarks"], Value::from(Vec::<String>::new()));
    assert!(because(&document, "/usr/share/zoneinfo/Europe/Berlin").contains("calls localtime(3) (byte "));
    assert!(because(&document, "/etc/nsswitch.conf").contains("calls getaddrinfo(3) (byte "));
    assert_eq!(image(&dir, &["doctor", "full"]).code, Some(0));
    let bare =
        [&["probe", "-o", "bare", "--without", "charsets,locale", "--without", "zoneinfo,name-service"], &set[..]];
    let document = built(&dir, &bare.concat());
    assert_eq!(document["remarks"].as_array().unwrap().len(), 3, "{}", document["remarks"]);
    if is_root() {
        for (name, expected) in [("full", ""), ("bare", "charset no\nlocale no\nzone no\n")] {
            let bundle = format!("{name}-bundle");
            dir.must("umoci", ["unpack", "--image", &format!("{name}:latest"), &bundle]);
            let mut command = dir.command("unshare");
            command.args(["-n", "env", "-i", "TZ=Europe/Berlin", "LANG=C.UTF-8", "/usr/sbin/chroot"]);
            command.arg("--userspec=1000:1000").arg(dir.join(&bundle).join("rootfs")).arg("/usr/bin/probe");
            let output = Output::of(&mut command);
            let failed: String =
                output.stdout.lines().filter(|line| line.ends_with(" no")).map(|line| format!("{line}\n")).collect();
            assert_eq!(
                (output.code, failed.as_str()),
                (Some(0), expected),
                "{name}: {}{}",
                output.stdout,
                output.stderr
            );
        }
    }
    let document = built(&dir, &["curl", "-o", "curl.tar"]);
    assert!(because(&document, "/etc/ssl/certs/ca-certificates.crt").starts_with("roots of certificates: "));
    assert_eq!(image(&dir, &["doctor", "curl.tar"]).code, Some(0));
    built(&dir, &["curl", "-o", "none.tar", "--without", "ca-roots"]);
    let output = image(&dir, &["doctor", "none.tar"]);
    assert!(output.code == Some(1) && output.stdout.contains("roots of certificates"), "{}", output.stdout);
}

/// Every file below a folder with its mode and content.
fn listed(root: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let (mut out, mut folders) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let data = fs::symlink_metadata(&path).unwrap();
            let content = match () {
                () if data.is_dir() => {
                    folders.push(path.clone());
                    Vec::new()
                }
                () if data.is_symlink() => fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
                () => fs::read(&path).unwrap(),
            };
            let mode = data.permissions().mode();
            out.insert(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned(), (mode, content));
        }
    }
    out
}

#[test]
fn layers_hold_the_same_files_however_they_are_divided() {
    need!("skopeo", "umoci", "curl");
    let dir = Fixture::new();
    let mut known = Vec::new();
    for per in ["one", "closure", "package"] {
        let place = format!("by-{per}");
        let first = built(&dir, &["curl", "-o", &place, "--layer-per", per]);
        let again = built(&dir, &["curl", "-o", "again", "--layer-per", per, "--force"]);
        assert_eq!(first["container"], again["container"], "{per}");
        let config = dir.must("skopeo", ["inspect", "--config", &format!("oci:{place}")]);
        let config: Value = serde_json::from_str(&config).unwrap();
        assert_eq!(config["rootfs"]["diff_ids"], first["container"]["diff_ids"], "{per}");
        let bundle = format!("{place}-bundle");
        let rootless: &[&str] = if is_root() { &[] } else { &["--rootless"] };
        // umoci compares each layer with its diff_id while it unpacks it.
        let image = format!("{place}:latest");
        dir.must("umoci", [&["unpack"], rootless, &["--image", &image, &bundle]].concat());
        known.push((
            first["container"]["diff_ids"].as_array().unwrap().len(),
            listed(&dir.join(&bundle).join("rootfs")),
        ));
    }
    assert_eq!((known[0].0, known[1].0), (1, 3));
    assert!(known[2].0 > 10, "{} packages", known[2].0);
    assert!(known[0].1 == known[1].1 && known[0].1 == known[2].1);
}

/// A container that is ended with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned())
}

#[test]
fn a_ruby_application_serves_on_its_allocator_with_nothing_but_what_it_needs() {
    need!("ruby", "puma", "runc");
    if !is_root() {
        skip("only root can run a container");
        return;
    }
    let dir = Fixture::new();
    let app = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/ruby");
    let settings = "jemalloc:background_thread:true,dirty_decay_ms:500,muzzy_decay_ms:500";
    let rest = ["--malloc", settings, "-o", "app.tar", "--", "ruby", "-S", "puma", "-C", "puma.rb"];
    let document = built(&dir, &[&["ruby", "--app", app], &rest[..]].concat());
    assert_eq!(document["remarks"], Value::from(Vec::<String>::new()));
    let files = document["files"].as_array().unwrap();
    let has = |end: &str| files.iter().any(|file| file["path"].as_str().unwrap().ends_with(end));
    assert!(has("/puma/puma_http11.so") && has("/openssl.so") && has("/libssl.so.3") && has("/app/config.ru"));
    assert!(!has("/bin/sh") && !has("/bin/bash") && !has("/bin/dash"), "a shell");
    let output = image(&dir, &["doctor", "app.tar", "--json"]);
    let told: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(
        (&told["findings"], &told["unneeded"]),
        (&Value::from(Vec::<u8>::new()), &Value::from(Vec::<u8>::new()))
    );

    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = underpin(["image", "run", "app.tar", "--runner", "runtime", "--network", "host"]);
    command.args(["--timeout", "60", "--env", &format!("PORT={port}")]).current_dir(dir.path());
    let log = fs::File::create(dir.join("log")).unwrap();
    command.stdout(log.try_clone().unwrap()).stderr(log).stdin(Stdio::null());
    let mut running = Running(command.spawn().unwrap());
    let since = Instant::now();
    let body = loop {
        if let Some(body) = get(port, "/") {
            break body;
        }
        let said = || fs::read_to_string(dir.join("log")).unwrap();
        assert!(since.elapsed() < Duration::from_secs(40) && running.0.try_wait().unwrap().is_none(), "{}", said());
        std::thread::sleep(Duration::from_millis(50));
    };
    let about: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(about["allocator"], "jemalloc (via LD_PRELOAD)");
    // The application reads this from its own maps.
    assert_eq!(about["allocator_object"], "/usr/lib/underpin/libjemalloc.so");
    assert_eq!(about["allocator_settings"]["dirty_decay_ms"], 500);
    assert_eq!(about["pid"], 1);
    let log = fs::read_to_string(dir.join("log")).unwrap();
    let line: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    assert_eq!((&line["ruby"], &line["puma"]), (&about["ruby_version"], &about["puma"]), "{log}");
    assert!(line["abi"].as_str().unwrap().ends_with(".0"));

    dir.write("script/work.rb", "puts 6 * 7");
    built(&dir, &["ruby", "--app", "script", "-o", "script.tar", "--", "ruby", "work.rb"]);
    let output = image(&dir, &["run", "script.tar", "--runner", "runtime"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), "42\n"), "{}", output.stderr);
}

#[test]
fn a_gem_that_is_not_there_and_a_command_that_is_no_program_are_refused() {
    need!("ruby");
    let dir = Fixture::new();
    dir.write("app/Gemfile.lock", "GEM\n  specs:\n    absent-gem (1.0)\n\nDEPENDENCIES\n  absent-gem\n");
    let refused = |args: &[&str], words: &str| {
        let output = image(&dir, &[&["build", "--target", "oci", "ruby", "-o", "out"], args].concat());
        assert_eq!(output.code, Some(2), "{args:?}: {}", output.stdout);
        assert!(output.stderr.contains(words) && output.stderr.lines().count() == 1, "{args:?}: {}", output.stderr);
    };
    refused(&["--app", "app"], "absent-gem, which Gemfile.lock names, is not installed");
    refused(&["--app", "nothing"], "--app nothing");
    refused(&["--", "python3"], "expected one of the programs of the image (/usr/bin/ruby)");
    refused(&["--malloc", "jemalloc:no_such_setting:1"], "no_such_setting");
    refused(&["--include", "/nothing/here"], "--include /nothing/here");
    assert!(!dir.join("out").exists());
}

const SPEAKS: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int count, char **words) {
    FILE *root = fopen("/written", "w"), *temporary = fopen("/tmp/written", "w");
    printf("%d %d %d %s %s\n", (int)getuid(), root != 0, temporary != 0, getenv("GREETING"), count > 1 ? words[1] : "-");
    fflush(stdout);
    if (count > 1 && !strcmp(words[1], "sleep")) sleep(60);
    return 7;
}
"#;

#[test]
fn an_image_of_containers_runs_in_a_runtime_and_its_end_is_passed_on() {
    need!("cc", "runc");
    if !is_root() {
        skip("only root can run a container");
        return;
    }
    let dir = Fixture::new();
    dir.write("speaks.c", SPEAKS);
    dir.cc(["-o", "speaks", "speaks.c"]);
    built(&dir, &["speaks", "-o", "app.tar", "--env", "GREETING=hello", "--", "speaks", "given"]);
    let run = |args: &[&str]| image(&dir, &[&["run", "app.tar", "--runner", "runtime"], args].concat());
    let output = run(&[]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(7), "65532 0 1 hello given\n"), "{}", output.stderr);
    let output = run(&["--env", "GREETING=other", "--json", "--", "speaks", "word"]);
    let document: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((&document["runner"], &document["exit_status"]), (&"runc".into(), &7.into()));
    assert_eq!(document["output"], "65532 0 1 other word\n");
    let output = run(&["--", "absent"]);
    assert!(output.code == Some(127) && output.stderr.contains("no such program"), "{}", output.stderr);
    let output = run(&["--", "/etc/passwd"]);
    assert!(output.code == Some(126) && output.stderr.contains("cannot be executed"), "{}", output.stderr);
    let begun = Instant::now();
    let output = run(&["--timeout", "1", "--", "speaks", "sleep"]);
    assert!(output.code == Some(124) && output.stderr.contains("after 1 s"), "{:?} {}", output.code, output.stderr);
    assert!(begun.elapsed() < Duration::from_secs(50), "it was waited for");
    let output = image(&dir, &["run", "app.tar", "--runner", "guest", "--network", "host"]);
    assert!(output.code == Some(2) && output.stderr.contains("a guest has no network"), "{}", output.stderr);
}

#[test]
fn without_a_runtime_the_files_are_started_in_a_guest() {
    need!("cc", "qemu-system-x86_64", "apt-get");
    let dir = Fixture::new();
    dir.write("speaks.c", SPEAKS);
    dir.cc(["-o", "speaks", "speaks.c"]);
    built(&dir, &["speaks", "-o", "app.tar", "--env", "GREETING=hello"]);
    let output = image(&dir, &["run", "app.tar", "--json", "--kvm", "off", "--runner", "guest"]);
    let document: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{}", output.stderr));
    assert_eq!((&document["runner"], &document["exit_status"]), (&"qemu".into(), &7.into()), "{document}");
    assert_eq!(document["output"], "0 1 1 hello -\n");
    assert_eq!(document["runner_reason"], "--runner guest");
}
