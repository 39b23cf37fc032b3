//! `underpin bench --suite`: each row under each build, with its failures, its gate and its interruption.

mod common;

use common::underpin;
use serde_json::Value;
use std::time::{Duration, Instant};
use underpin_test_support::{Fixture, Output, need};

/// Few and short runs: what they say of time means nothing here.
const SHORT: [&str; 4] = ["bench", "--quick", "--style", "basic"];

fn suite(dir: &Fixture, words: &[&str]) -> Output {
    let words = [&SHORT[..], words].concat();
    Output::of(underpin(&words).current_dir(dir.path()).env("XDG_CACHE_HOME", dir.path()))
}

fn document(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", output.stderr))
}

fn rows(document: &Value) -> Vec<&Value> {
    let suites = document["suites"].as_array().expect("suites").iter();
    suites.flat_map(|suite| suite["rows"].as_array().expect("rows")).collect()
}

#[test]
fn a_row_is_measured_under_every_build_and_its_program_reports_time_and_memory() {
    need!("cc", "musl-gcc");
    let dir = Fixture::new();
    let filter = ["--filter", "libc:*strlen", "--filter", "os:null-call"];
    let words = [&["--suite", "libc,os", "--build", "glibc,musl", "--runs", "2", "--json"][..], &filter].concat();
    let output = suite(&dir, &words);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let document = document(&output);
    assert_eq!(document["schema"], "underpin.suite/1");
    let builds: Vec<&str> =
        document["builds"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(builds, ["glibc", "musl"]);
    let rows = rows(&document);
    assert_eq!(rows.len(), 2, "{document}");
    for row in rows {
        for cell in row["cells"].as_array().unwrap() {
            assert_eq!(cell["is"], "measured", "{row}");
            assert!(cell["seconds"]["estimate"].as_f64().unwrap() > 0.0);
            assert!(cell["memory"]["virtual_bytes"].as_f64().unwrap() > 0.0);
        }
        assert!(row["cells"][0]["compared"].is_null() && row["cells"][1]["compared"]["time"]["ratio"].is_object());
    }
}

#[test]
fn builds_are_made_for_the_goal_as_by_underpin_build() {
    need!("cc", "musl-gcc");
    let dir = Fixture::new();
    let words = ["--suite", "libc", "--filter", "strlen", "--build", "musl", "--runs", "2", "--json"];
    for (goal, usual) in [(&["--goal", "memory"][..], "system"), (&[], "mimalloc")] {
        let document = document(&suite(&dir, &[&words[..], goal].concat()));
        let described = document["builds"][0]["description"].as_str().unwrap();
        assert!(described.contains(&format!("musl+{usual}")), "{described}");
    }
}

#[test]
fn a_row_that_fails_under_one_build_says_why_and_the_rest_goes_on() {
    need!("cc", "musl-gcc");
    let dir = Fixture::new();
    // A static program has no dlopen.
    let words = [
        "--suite",
        "libc",
        "--build",
        "glibc,musl",
        "--filter",
        "dlopen",
        "--filter",
        "getenv",
        "--runs",
        "2",
        "--json",
    ];
    let output = suite(&dir, &words);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let document = document(&output);
    let rows = rows(&document);
    let of = |name: &str| rows.iter().find(|row| row["row"] == name).unwrap_or_else(|| panic!("no row {name}"));
    assert_eq!(of("dlopen")["cells"][0]["is"], "measured");
    assert_eq!(of("dlopen")["cells"][1]["is"], "failed");
    let reason = of("dlopen")["cells"][1]["reason"].as_str().unwrap();
    assert!(reason.contains("not supported"), "{reason}");
    assert_eq!(of("getenv")["cells"][1]["is"], "measured");
}

#[test]
fn a_build_for_another_processor_is_emulated_and_has_no_ratio() {
    need!("aarch64-linux-gnu-gcc", "qemu-aarch64");
    let dir = Fixture::new();
    let target = if std::env::consts::ARCH == "aarch64" { "x86_64" } else { "aarch64" };
    let builds = ["--build", "glibc,glibc", "--target", target];
    let words = [&["--suite", "cpu", "--filter", "core-1", "--runs", "2", "--json"][..], &builds].concat();
    let output = suite(&dir, &words);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let document = document(&output);
    assert!(document["builds"][0]["emulator"].as_str().unwrap().contains("qemu-"), "{document}");
    let row = rows(&document)[0];
    assert_eq!(
        (&row["cells"][1]["is"], &row["cells"][1]["compared"]),
        (&Value::from("measured"), &Value::Null),
        "{row}"
    );
}

#[test]
fn unknown_names_list_those_that_there_are() {
    let dir = Fixture::new();
    for (words, expected) in [
        (&["--suite", "libcs"][..], "alloc, libc, os, system, cpu, and all"),
        (&["--suite", "cpu", "--filter", "strlen"], "there are core-1, core-n"),
        (&["--suite", "cpu", "--build", "glibc,mussel"], "--build mussel"),
        (&["--suite", "cpu", "--gate", "wall<+3%"], "row:strlen<+3%"),
        (&["--suite", "cpu", "--resume"], "no interrupted run"),
        (&["--suite", "cpu", "--warmup", "3"], "cannot be used with"),
        (&["--suite", "cpu", "--prepare", "sync"], "cannot be used with"),
    ] {
        let output = suite(&dir, words);
        assert_eq!(output.code, Some(2), "{words:?}: {}", output.stdout);
        assert!(output.stderr.contains(expected), "{words:?}: {}", output.stderr);
    }
}

#[test]
fn the_list_names_every_suite_and_row() {
    let output = Output::of(&mut underpin(["bench", "--list-suites"]));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    for name in ["alloc: ", "libc: ", "os: ", "system: ", "cpu: ", "  malloc-sparse ", "  core-n ", "  shell-8 "] {
        assert!(output.stdout.contains(name), "{name}: {}", output.stdout);
    }
}

#[test]
fn a_gate_judges_rows_by_their_intervals() {
    need!("cc");
    let dir = Fixture::new();
    let gate = |limit: &str| {
        let words =
            ["--suite", "libc", "--build", "glibc,glibc", "--filter", "libc:*strlen", "--runs", "20", "--gate", limit];
        let output = suite(&dir, &words);
        output.code.unwrap_or_else(|| panic!("{}", output.stderr))
    };
    assert_eq!(gate("row:strlen<+900%"), 0);
    assert_eq!(gate("row:strlen<-90%"), 1);
    assert_eq!(gate("row:strchr<+3%"), 125, "a row that was not measured decides nothing");
}

#[test]
fn an_interrupted_run_goes_on_at_the_row_where_it_was() {
    need!("cc");
    let dir = Fixture::new();
    let words = ["--suite", "libc", "--build", "glibc", "--filter", "malloc-", "--runs", "8", "--json"];
    let all = [&SHORT[..], &words].concat();
    let mut child = underpin(&all)
        .current_dir(dir.path())
        .env("XDG_CACHE_HOME", dir.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("underpin starts");
    let is_begun = || {
        let runs = std::fs::read_dir(dir.join(".underpin/bench/suites")).into_iter().flatten().flatten();
        runs.into_iter().any(|run| {
            std::fs::read_to_string(run.path().join("suite.json")).is_ok_and(|text| text.contains("\"row\":"))
        })
    };
    let deadline = Instant::now() + Duration::from_secs(120);
    while !is_begun() {
        assert!(Instant::now() < deadline && child.try_wait().unwrap().is_none(), "no row was done");
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let status = child.wait().unwrap();
    assert!(!status.success(), "it was interrupted: {status}");
    let output = suite(&dir, &[&words[..], &["--resume"]].concat());
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let document = document(&output);
    assert_eq!(document["is_interrupted"], false);
    let done: Vec<&str> = rows(&document).iter().map(|row| row["row"].as_str().unwrap()).collect();
    let expected: Vec<&str> = underpin_suite_rows();
    assert_eq!(done, expected);
    let again = suite(&dir, &[&words[..], &["--resume"]].concat());
    assert_eq!(again.code, Some(2), "nothing is left to go on with: {}", again.stdout);
}

/// The rows of `libc` with `malloc-` in their names, as the list has them.
fn underpin_suite_rows() -> Vec<&'static str> {
    let output = Output::of(&mut underpin(["bench", "--list-suites"]));
    let text: &'static str = output.stdout.leak();
    let libc = text.split("libc: ").nth(1).expect("libc").split("\nos: ").next().expect("os");
    libc.lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| name.contains("malloc-"))
        .collect()
}

#[test]
fn a_saved_run_is_shown_again_and_exported() {
    need!("cc");
    let dir = Fixture::new();
    let words =
        ["--suite", "cpu", "--build", "glibc", "--filter", "core-1", "--runs", "2", "--save", "first", "--json"];
    let output = suite(&dir, &words);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let report = |words: &[&str]| {
        let words = [&["report", "first"], words].concat();
        Output::of(underpin(&words).current_dir(dir.path()))
    };
    assert_eq!(document(&report(&["--json"])), document(&output));
    let listed = Output::of(underpin(["report", "--list"]).current_dir(dir.path()));
    assert_eq!(listed.stdout, "first (suites)\n");
    let exported = report(&["--export-html", "page.html", "--export-csv", "rows.csv", "--export-markdown", "rows.md"]);
    assert_eq!(exported.code, Some(0), "{}", exported.stderr);
    for file in ["page.html", "rows.csv", "rows.md"] {
        assert!(std::fs::read_to_string(dir.join(file)).unwrap().contains("core-1"), "{file}");
    }
}

/// Prints what libc-bench prints for two of its rows, with times that grow from call to call.
const ORIGINAL: &str = r#"
#include <stdio.h>
int main(void) {
    puts("b_malloc_sparse (0)\n  time: 0.020000000, virt: 39000, res: 38000, dirty: 37000\n");
    puts("b_string_strlen (0)\n  time: 0.001000000, virt: 200, res: 100, dirty: 50\n");
}
"#;

#[test]
fn an_originals_own_programs_measure_the_rows_of_its_suite() {
    need!("cc", "musl-gcc");
    let dir = Fixture::new();
    dir.write("theirs/main.c", ORIGINAL);
    for file in ["malloc", "pthread", "regex", "stdio", "string", "utf8"] {
        dir.write(format!("theirs/{file}.c"), format!("int unused_{file};\n"));
    }
    let source = format!("libc-bench={}", dir.join("theirs").display());
    let words = ["--suite-source", &source, "--build", "glibc,musl", "--runs", "4", "--json"];
    let output = suite(&dir, &words);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let document = document(&output);
    assert_eq!(document["originals"], serde_json::json!(["libc-bench"]));
    let rows = rows(&document);
    assert_eq!(rows.len(), 29);
    let of = |name: &str| rows.iter().find(|row| row["row"] == name).unwrap_or_else(|| panic!("no row {name}"));
    for cell in of("malloc-sparse")["cells"].as_array().unwrap() {
        // 20 ms for its 10,000 blocks, and KiB.
        assert!((cell["seconds"]["estimate"].as_f64().unwrap() / 2e-6 - 1.0).abs() < 1e-9, "{cell}");
        assert_eq!(cell["memory"]["dirty_bytes"], 37000.0 * 1024.0);
    }
    assert_eq!(of("memset")["cells"][1]["is"], "failed", "it printed nothing for it");
    let elsewhere = suite(&dir, &["--suite-source", "libc-bench=."]);
    assert_eq!(elsewhere.code, Some(2));
    assert!(elsewhere.stderr.contains("main.c"), "{}", elsewhere.stderr);
}
