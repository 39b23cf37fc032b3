//! `underpin survey` from outside: nothing runs unless requested, and every export is complete.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod common;

use common::{json, says, underpin};
use underpin_test_support::{Fixture, Output, need};

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

/// A program that adds a line to a file each time it runs.
fn counter(status: i32) -> Fixture {
    let dir = Fixture::new();
    let main = "#include <stdio.h>\nint main(int n, char **a){FILE *f = fopen(a[n - 1], \"a\"); fputs(\"x\", f); \
                fclose(f); return STATUS;}";
    dir.write("main.c", main.replace("STATUS", &status.to_string()));
    dir.cc(["-o", "counter", "main.c"]);
    dir
}

fn runs(dir: &Fixture) -> usize {
    std::fs::read(dir.join("log")).map_or(0, |log| log.len())
}

#[test]
fn a_command_that_ends_well_is_tried_on_other_allocators() {
    need!("cc");
    let dir = counter(0);
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let document = json(["survey", "--json", &path("counter"), "--", &path("log")]);
    let trial = &document["allocators"];
    let names: Vec<&str> =
        trial["allocators"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["jemalloc", "mimalloc"], "{}", document["allocators_absent"]);
    let timed = 3 * trial["runs"].as_u64().unwrap() as usize;
    let watched = 3 * trial["memory_runs"].as_u64().unwrap() as usize;
    // One traced run; a run to verify an allocator goes to its end too.
    assert_eq!(runs(&dir), 1 + timed + watched + names.len());
    for one in trial["allocators"].as_array().unwrap() {
        for figure in ["wall", "rss"] {
            let ratio = &one[figure]["ratio"];
            let bound = |name: &str| ratio[name].as_f64().unwrap();
            assert!(bound("low") <= bound("estimate") && bound("estimate") <= bound("high"), "{one}");
        }
    }
}

#[test]
fn no_trial_is_made_where_none_was_asked_for_or_the_command_fails() {
    need!("cc");
    for (status, option, reason) in [(0, "0", "--trial 0"), (3, "60s", "status 3"), (0, "1ms", "take longer")] {
        let dir = counter(status);
        let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
        let output = says(["survey", "--json", "--trial", option, &path("counter"), "--", &path("log")]);
        let document: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
        assert!(document["allocators_absent"].as_str().unwrap().contains(reason), "{}", document["allocators_absent"]);
        assert_eq!(runs(&dir), 1, "{reason}");
    }
}

#[test]
fn a_static_program_is_not_tried_and_the_page_says_why() {
    need!("cc");
    let dir = Fixture::new();
    dir.write("main.c", "int main(void){return 0;}");
    dir.cc(["-static", "-o", "still", "main.c"]);
    let output = Output::of(underpin(["survey", dir.join("still").to_str().unwrap(), "--"]).env("COLUMNS", "200"));
    assert!(output.stdout.contains("not tried") && output.stdout.contains("statically linked"), "{}", output.stdout);
}

/// cargo-run(1) and rustup's proxies export folders of the build and of the compiler. The expected answer comes from
/// the loader, run by a plain shell.
#[test]
fn library_paths_that_cargo_exports_do_not_count_and_others_do() {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_underpin"));
    // The released file is not in one of cargo's folders.
    if std::path::Path::new(common::program()) != program {
        return;
    }
    let build = program.parent().unwrap();
    let cargos = format!("{}:{}", build.join("deps").display(), build.display());
    let calls = |paths: Option<&str>, cargo: bool| {
        let mut command = underpin(["tree", "--json", "/bin/ls"]);
        command.env_remove("CARGO");
        if let Some(paths) = paths {
            command.env("LD_LIBRARY_PATH", paths);
        }
        if cargo {
            command.env("CARGO", "cargo");
        }
        let output = Output::of(&mut command);
        let document: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
        (document["calls"].clone(), output.stderr)
    };
    let (plain, silent) = calls(None, false);
    assert_eq!(silent, "");
    let (under_cargo, told) = calls(Some(&cargos), true);
    assert_eq!(under_cargo, plain);
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.contains("LD_LIBRARY_PATH"), "{told}");
    // Without cargo they are the user's own, and under cargo the user's own remain.
    assert_ne!(calls(Some(&cargos), false).0, plain);
    let own = std::env::temp_dir();
    let (mixed, _) = calls(Some(&format!("{}:{cargos}", own.display())), true);
    assert_eq!(mixed, calls(Some(own.to_str().unwrap()), false).0);
    assert_ne!(mixed, plain);
}
