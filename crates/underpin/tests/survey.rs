//! `underpin survey` from outside: nothing runs unless asked for, and every export is whole.

mod common;

use common::{json, says};
use underpin_test_support::{Fixture, need};

/// A program that leaves a file behind when it runs.
fn telltale() -> Fixture {
    let dir = Fixture::new();
    dir.write(
        "main.c",
        "#include <stdio.h>\nint main(int n, char **a){fclose(fopen(a[n - 1], \"w\")); puts(\"said\"); return 0;}",
    );
    dir.cc(["-o", "telltale", "main.c"]);
    dir
}

#[test]
fn the_program_runs_only_behind_a_double_dash() {
    need!("cc");
    let dir = telltale();
    let (program, trace) = (dir.join("telltale"), dir.join("ran"));
    let (program, trace) = (program.to_str().unwrap(), trace.to_str().unwrap());
    let output = says(["survey", program]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(!std::path::Path::new(trace).exists());
    assert!(output.stdout.contains("`-- ARGS`"), "{}", output.stdout);

    let output = says(["survey", program, "--", trace]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(std::path::Path::new(trace).exists());
    assert!(!output.stdout.contains("said") && output.stderr.contains("said"), "the page is alone on standard output");
}

#[test]
fn an_empty_double_dash_runs_it_without_arguments() {
    let document = json(["survey", "--json", "/bin/true", "--"]);
    assert!(document["trace"].is_object(), "{}", document["trace_absent"]);
    assert!(json(["survey", "--json", "/bin/true"])["trace"].is_null());
}

#[test]
fn a_program_that_cannot_be_run_keeps_its_page() {
    need!("cc");
    let dir = telltale();
    dir.chmod("telltale", 0o644);
    let output = says(["survey", dir.join("telltale").to_str().unwrap(), "--"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stdout.contains("Where it runs"), "{}", output.stdout);
    assert!(output.stderr.contains("telltale"), "{}", output.stderr);
}

#[test]
fn every_export_is_written_whole() {
    let dir = Fixture::new();
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let (html, data, markdown) = (path("a.html"), path("a.json"), path("a.md"));
    let args = ["survey", "--export-html", &html, "--export-json", &data, "--export-markdown", &markdown, "/bin/sh"];
    let output = says([&args[..], &["--", "-c", ":"]].concat());
    assert_eq!(output.code, Some(0), "{}", output.stderr);

    let page = std::fs::read_to_string(&html).unwrap();
    assert!(page.trim_end().ends_with("</html>") && page.matches("<svg").count() >= 2, "timeline and picture");
    for outside in ["src=\"http", "href=\"http", "url(http", "@import"] {
        assert!(!page.contains(outside), "{outside}");
    }
    let document: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&data).unwrap()).unwrap();
    assert_eq!(document["schema"], "underpin.survey/1");
    assert!(std::fs::read_to_string(&markdown).unwrap().starts_with("# "));
}

#[test]
fn a_missing_library_decides_the_exit_code() {
    need!("cc");
    let dir = Fixture::new();
    dir.write("x.c", "int x(void){return 0;}");
    dir.write("main.c", "int x(void); int main(void){return x();}");
    dir.cc(["-shared", "-fPIC", "-o", "libx.so", "x.c"]);
    dir.cc(["-o", "broken", "main.c", "-L.", "-lx"]);
    std::fs::remove_file(dir.join("libx.so")).unwrap();
    let output = says(["survey", dir.join("broken").to_str().unwrap()]);
    assert_eq!(output.code, Some(1));
    assert!(output.stdout.contains("libx.so"), "{}", output.stdout);
}
