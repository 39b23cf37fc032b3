//! Files that are not programs: one clear sentence with the path and what to do, exit code 2, and never a hang.

mod common;

use common::says;
use std::os::unix::net::UnixListener;
use std::process::Command;
use underpin_test_support::{Fixture, Output, need, skip};

/// The message of each verb that reads a program.
fn refusals(path: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    for verb in ["tree", "check", "survey"] {
        let output = says([verb, path]);
        assert_eq!(output.code, Some(2), "{verb} {path}: {}{}", output.stdout, output.stderr);
        assert_eq!(output.stdout, "", "{verb} {path}: a refusal goes to standard error");
        let lines: Vec<&str> = output.stderr.lines().collect();
        assert_eq!(lines.len(), 1, "{verb} {path}: one line, not {lines:?}");
        assert!(lines[0].contains(path), "{verb}: {} does not name {path}", lines[0]);
        sentences.push(lines[0].to_owned());
    }
    sentences
}

fn refused_with(path: &str, words: &[&str]) {
    for sentence in refusals(path) {
        for word in words {
            assert!(sentence.contains(word), "{sentence:?} does not say {word:?}");
        }
    }
}

#[test]
fn a_name_that_is_nothing_here_and_nothing_in_path() {
    refused_with("/no/such/program", &["no such file"]);
    refused_with("no-such-program-of-underpin", &["no such file here", "PATH"]);
}

#[test]
fn a_fifo_is_refused_unopened() {
    need!("mkfifo");
    let dir = Fixture::new();
    dir.must("mkfifo", ["pipe"]);
    refused_with(dir.join("pipe").to_str().unwrap(), &["is a FIFO", "name a regular file"]);
}

#[test]
fn a_socket_and_a_device_are_refused_by_their_kind() {
    let dir = Fixture::new();
    let _socket = UnixListener::bind(dir.join("socket")).unwrap();
    refused_with(dir.join("socket").to_str().unwrap(), &["is a socket"]);
    refused_with("/dev/null", &["is a character device"]);
}

#[test]
fn an_empty_file_says_how_empty_it_is() {
    let dir = Fixture::new();
    dir.write("empty", "");
    refused_with(dir.join("empty").to_str().unwrap(), &["is empty (0 bytes)"]);
}

#[test]
fn a_text_is_shown_by_its_first_bytes() {
    let dir = Fixture::new();
    dir.write("notes", "hello, world");
    refused_with(dir.join("notes").to_str().unwrap(), &["not an ELF file", "offset 0", "hello"]);
    dir.write("picture", b"\x89PNG\r\n\x1a\n");
    refused_with(dir.join("picture").to_str().unwrap(), &["not an ELF file", "89 50 4e 47"]);
}

#[test]
fn a_script_names_its_interpreter_and_offers_it() {
    let dir = Fixture::new();
    dir.write("run.sh", "#!/bin/sh -e\necho hi\n");
    dir.write("run.py", "#!/usr/bin/env -S python3 -u\nprint()\n");
    let sentences = refusals(dir.join("run.sh").to_str().unwrap());
    assert!(
        sentences[0].contains("script for /bin/sh") && sentences[0].contains("`underpin tree /bin/sh`"),
        "{sentences:?}"
    );
    assert!(sentences[1].contains("`underpin check /bin/sh`"), "{sentences:?}");
    refused_with(dir.join("run.py").to_str().unwrap(), &["script for python3"]);
}

#[test]
fn a_circle_of_links_is_no_missing_file() {
    let dir = Fixture::new();
    dir.symlink("b", "a");
    dir.symlink("a", "b");
    refused_with(dir.join("a").to_str().unwrap(), &["lead in a circle"]);
}

#[test]
fn a_truncated_program_says_at_which_offset_it_ends() {
    need!("cc");
    let dir = Fixture::new();
    dir.write("main.c", "int main(void){return 0;}");
    dir.cc(["-o", "whole", "main.c"]);
    let whole = std::fs::read(dir.join("whole")).unwrap();
    for length in [5, 40, 100] {
        dir.write("part", &whole[..length]);
        refused_with(dir.join("part").to_str().unwrap(), &["offset"]);
    }
}

#[test]
fn a_directory_is_no_program_for_the_verbs_that_want_one() {
    let dir = Fixture::new();
    // `check` takes a folder as a set.
    for verb in ["storm", "survey"] {
        let output = says([verb, dir.text()]);
        assert_eq!(output.code, Some(2));
        assert!(output.stderr.contains("is a directory"), "{}", output.stderr);
    }
}

#[test]
fn wrong_use_is_exit_code_two() {
    for args in [&["no-such-verb"][..], &["tree"], &["tree", "--cpu", "x86-64-v9", "/bin/sh"], &["trace"], &["check"]] {
        assert_eq!(says(args).code, Some(2), "{args:?}");
    }
    assert_eq!(says(["--help"]).code, Some(0));
    assert_eq!(says(["--version"]).code, Some(0));
}

#[test]
fn a_variable_that_no_loader_reads_is_refused_instead_of_ignored() {
    let output = says(["tree", "--env", "LD_LIBARY_PATH=/opt", "/bin/sh"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("LD_LIBARY_PATH") && output.stderr.contains("LD_LIBRARY_PATH"), "{}", output.stderr);
    assert_eq!(says(["tree", "--env", "LD_LIBRARY_PATH", "/bin/sh"]).code, Some(2));
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

/// Runs underpin as an unprivileged user.
fn as_nobody(dir: &Fixture, args: &[&str]) -> Output {
    // The build folder may be closed to others, so the program is copied.
    let copy = dir.join("underpin");
    if !copy.exists() {
        dir.copy(common::program(), "underpin");
        dir.chmod("underpin", 0o755);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(copy).args(args);
    Output::of(command.env_clear().env("PATH", "/usr/bin:/bin").current_dir(dir.path()))
}

#[test]
fn what_this_user_may_not_read_or_execute_names_the_cause_and_the_next_step() {
    need!("cc", "setpriv");
    if !is_root() {
        return skip("becoming somebody else takes root");
    }
    let dir = Fixture::new();
    dir.chmod(".", 0o755);
    dir.write("main.c", "int main(void) { return 0; }\n");
    dir.mkdir("closed");
    for name in ["secret", "unreadable", "others", "closed/prog"] {
        dir.cc(["-o", name, "main.c"]);
    }
    for (name, mode) in [("secret", 0o600), ("unreadable", 0o711), ("others", 0o744), ("closed", 0o700)] {
        dir.chmod(name, mode);
    }
    let to_run = [&["run", "--malloc", "system", "--"][..], &["trace", "--"], &["bench", "-r", "2", "--"]];
    for (path, verbs, words) in [
        ("./secret", &[&["tree"][..], &["check"], &["survey"]][..], ["not readable by this user", "sudo"]),
        ("./unreadable", &[&["tree"], &["check"], &["survey"]], ["not readable by this user", "sudo"]),
        ("./closed/prog", &[&["tree"], &["check"], &["survey"]], ["closed", "namei -l ./closed/prog"]),
        ("./closed/prog", &to_run, ["closed to this user", "namei -l ./closed/prog"]),
        ("./secret", &to_run, ["not executable", "chmod +x"]),
        ("./others", &to_run, ["not executable by this user", "sudo"]),
        ("./unreadable", &to_run[..2], ["may not read", "sudo"]),
    ] {
        for verb in verbs {
            let output = as_nobody(&dir, &[verb, &[path][..]].concat());
            assert!(output.code.is_some_and(|code| code != 0), "{verb:?} {path}: {}", output.stdout);
            assert!(output.stderr.matches("os error").count() <= 1, "each cause once: {}", output.stderr);
            for word in [path].iter().chain(&words) {
                assert!(output.stderr.contains(word), "{verb:?} {path}, {word}: {}", output.stderr);
            }
        }
    }
}

#[test]
fn a_program_of_another_processor_names_both_and_what_runs_it() {
    need!("aarch64-linux-gnu-gcc");
    let dir = Fixture::new();
    dir.write("main.c", "int main(void) { return 0; }\n");
    dir.must("aarch64-linux-gnu-gcc", ["-o", "foreign", "main.c"]);
    let path = dir.join("foreign");
    let path = path.to_str().unwrap();
    for verb in [&["trace"][..], &["bench", "-r", "2"]] {
        let output = says([verb, &["--", path]].concat());
        assert!(output.code.is_some_and(|code| code != 0), "{verb:?}: {}", output.stdout);
        for word in ["aarch64", std::env::consts::ARCH, "qemu-aarch64"] {
            assert!(output.stderr.contains(word), "{verb:?}, {word}: {}", output.stderr);
        }
        assert_eq!(output.stderr.matches(path).count(), 1, "{verb:?}: {}", output.stderr);
    }
    let output = says(["run", "--malloc", "jemalloc", "--", path]);
    assert!(output.stderr.contains("aarch64") && output.stderr.contains("on such a machine"), "{}", output.stderr);
    // The libraries of this machine do not count for it.
    let output = says(["tree", path]);
    assert!(!output.stdout.contains("run ldconfig"), "{}", output.stdout);
}

#[test]
fn a_static_program_has_no_start_up_to_model() {
    need!("cc");
    let dir = Fixture::new();
    dir.write("main.c", "int main(void) { return 0; }\n");
    dir.cc(["-static", "-o", "alone", "main.c"]);
    let path = dir.join("alone");
    let output = says(["storm", path.to_str().unwrap()]);
    assert_eq!(output.code, Some(2), "{}", output.stdout);
    assert!(output.stderr.contains("is static: no loader"), "{}", output.stderr);
}
