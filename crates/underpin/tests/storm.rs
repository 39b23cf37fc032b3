//! `underpin storm` from outside. The operations are checked by a counting file system elsewhere (underpin-resolve,
//! tests/storm.rs) and the times by `cargo xtask bench storm-model`.

mod common;

use common::{json, says};
use serde_json::Value;
use std::fs;
use underpin_test_support::{Fixture, need};

/// A program whose library is searched for in many folders, and the same program bound to it.
fn programs() -> Fixture {
    let dir = Fixture::new();
    dir.write("x.c", "int x(void){return 0;}");
    dir.write("main.c", "int x(void); int main(void){return x();}");
    dir.mkdir("last");
    dir.mkdir("plain");
    // Without a soname, a library linked by its path is needed by that path.
    dir.cc(["-shared", "-fPIC", "-o", "plain/libx.so", "x.c"]);
    dir.cc(["-shared", "-fPIC", "-o", "last/libx.so", "-Wl,-soname,libx.so", "x.c"]);
    let folders: Vec<String> = (0..30).map(|at| format!("{}/folder{at}", dir.text())).collect();
    folders.iter().for_each(|folder| fs::create_dir(folder).expect("a folder"));
    let rpath = format!("-Wl,--disable-new-dtags,-rpath,{}:{}/last", folders.join(":"), dir.text());
    dir.cc(["-o", "searching", "main.c", "-Llast", "-lx", &rpath]);
    dir.cc(["-o", "bound", "main.c", &format!("{}/plain/libx.so", dir.text())]);
    dir
}

fn path(dir: &Fixture, name: &str) -> String {
    format!("{}/{name}", dir.text())
}

fn figure(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path} in {value}"))
}

#[test]
fn the_document_keeps_to_its_schema() {
    need!("cc");
    let dir = programs();
    let (searching, bound) = (path(&dir, "searching"), path(&dir, "bound"));
    let schema: Value = serde_json::from_str(&says(["generate", "schema", "storm"]).stdout).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    for more in
        [&[][..], &["--fs", "cvmfs", "--ppn", "7"], &["--compare", &bound], &["--rate", "0", "--latency", "1ms"]]
    {
        let document = json([&["storm", "--json", &searching][..], more].concat());
        let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{more:?}: {errors:#?}");
    }
}

#[test]
fn a_program_that_does_not_search_asks_for_less_and_ends_earlier() {
    need!("cc");
    let dir = programs();
    let (searching, bound) = (path(&dir, "searching"), path(&dir, "bound"));
    let arguments = ["--nodes", "64", "--ppn", "8", "--fs", "lustre", "--on", dir.text(), "--compare", &bound];
    let document = json([&["storm", "--json", &searching][..], &arguments].concat());
    assert!(figure(&document, "/cases/0/first/absent") >= 30.0);
    // What is left is the lookup of the system's libc, which is not on this file system.
    assert_eq!(figure(&document, "/cases/1/first/absent"), 0.0);
    assert!(figure(&document, "/cases/0/seconds") > 2.0 * figure(&document, "/cases/1/seconds"), "{document}");
    for case in ["/cases/0", "/cases/1"] {
        let [low, middle, high] =
            ["low_seconds", "seconds", "high_seconds"].map(|name| figure(&document, &format!("{case}/{name}")));
        assert!(low < middle && middle < high, "{low} {middle} {high}");
    }
}

#[test]
fn a_foreseen_binding_costs_what_the_bound_program_costs() {
    need!("cc");
    let dir = programs();
    let searching = path(&dir, "searching");
    let flags = ["--fs", "lustre", "--on", dir.text(), "--after", "bind", "--after", "flatten", "--after", "farm"];
    let before = json([&["storm", "--json", &searching][..], &flags].concat());
    assert_eq!(before["absent"], serde_json::json!([]), "{before}");
    let named = |name: &str| {
        let cases = before["cases"].as_array().expect("cases");
        cases.iter().find(|case| case["name"] == name).unwrap_or_else(|| panic!("no {name}: {before}")).clone()
    };
    let library = path(&dir, "last/libx.so");
    for (name, how) in [("flattened", "--flatten"), ("bound", library.as_str())] {
        let copy = path(&dir, &format!("copy-{name}"));
        fs::copy(&searching, &copy).expect("a copy");
        let output = says(["bind", how, &copy]);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        let real = json(["storm", "--json", &copy, "--fs", "lustre", "--on", dir.text(), "--after", "none"]);
        assert_eq!(named(name)["first"], real["cases"][0]["first"], "{name}");
        assert_eq!(named(name)["first"]["absent"], 0);
    }
    // A folder of links is found at once, but the way leads through each link.
    let (farm, now) = (named("farm of links"), named("as it is"));
    assert!(figure(&farm, "/first/absent") < figure(&now, "/first/absent"), "{farm}");
    assert!(before["advice"][0]["command"].as_str().is_some_and(|it| it.starts_with("underpin bind --flatten")));
}

#[test]
fn more_nodes_never_end_earlier_and_ask_for_as_much_each() {
    need!("cc");
    let dir = programs();
    let searching = path(&dir, "searching");
    let with = |nodes: &str| json(["storm", "--json", &searching, "--fs", "nfs", "--nodes", nodes]);
    let (one, many) = (with("1"), with("5000"));
    assert!(figure(&many, "/cases/0/seconds") > figure(&one, "/cases/0/seconds"));
    let asked = |document| figure(document, "/cases/0/operations") - figure(document, "/cases/0/renewed");
    assert_eq!(asked(&many), 5000.0 * asked(&one));
}

#[test]
fn a_remembered_absence_is_asked_for_once_per_node() {
    need!("cc");
    let dir = programs();
    let searching = path(&dir, "searching");
    let with = |cache: &str| {
        let flags = ["--fs", "lustre", "--ppn", "4", "--negative-cache", cache];
        json([&["storm", "--json", &searching][..], &flags].concat())
    };
    let (never, always) = (with("never"), with("always"));
    assert_eq!(figure(&never, "/cases/0/next/absent"), figure(&never, "/cases/0/first/absent"));
    assert_eq!(figure(&always, "/cases/0/next/absent"), 0.0);
    assert!(figure(&always, "/cases/0/first/absent") > 30.0);
}

#[test]
fn a_figure_that_the_user_gives_has_no_doubt_and_is_named_as_given() {
    need!("cc");
    let dir = programs();
    let document =
        json(["storm", "--json", &path(&dir, "searching"), "--fs", "gpfs", "--latency", "120us", "--rate", "7000"]);
    let server = &document["file_system"]["server"];
    assert_eq!((&server["latency_seconds"], &server["latency_doubt"]), (&1.2e-4.into(), &1.0.into()));
    assert_eq!(server["operations_per_second"], 7000.0);
    let given: Vec<&Value> = document["file_system"]["sources"].as_array().expect("sources").iter().collect();
    assert!(given.iter().any(|source| source["covers"] == "--latency" && source["verified"] == true));
}

#[test]
fn a_table_of_ones_own_stands_before_the_compiled_in_one() {
    need!("cc");
    let dir = programs();
    dir.write(
        "site.toml",
        r#"
        [sources]
        ours = { verified = true, text = "measured in our machine room" }
        [[filesystem]]
        name = "scratch"
        title = "our scratch"
        client = { found = "always", absent = "10s", attributes = "always", links = "always", opened = "never", open_finds = true, access = false, close = true, pages = true }
        server = { latency_us = 77, latency_doubt = 1.1, read_kib = 1024, serves = "job", variation = 1.0 }
        touched = 0.5
        sources = { caching = "ours" }
        "#,
    );
    let (file, program) = (path(&dir, "site.toml"), path(&dir, "searching"));
    let document = json(["storm", "--json", &program, "--fs-file", &file, "--fs", "scratch"]);
    assert_eq!(document["file_system"]["title"], "our scratch");
    assert_eq!(document["file_system"]["client"]["absent"], "10s");
    let unknown = says(["storm", &program, "--fs-file", &file, "--fs", "tape"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("scratch, nfs"), "{}", unknown.stderr);
    dir.write("site.toml", "[[filesystem]]\nname = 3");
    let broken = says(["storm", &program, "--fs-file", &file]);
    assert!(broken.code == Some(2) && broken.stderr.contains("site.toml"), "{}", broken.stderr);
}

#[test]
fn what_does_not_start_or_makes_no_sense_is_refused() {
    need!("cc");
    let dir = programs();
    let (searching, bound) = (path(&dir, "searching"), path(&dir, "bound"));
    for (arguments, word) in [
        (vec!["--touched", "2"], "between 0 and 1"),
        (vec!["--rate", "-1"], "unexpected argument"),
        (vec!["--latency", "5"], "a unit is missing"),
        (vec!["--on", "/nowhere/at/all"], "/nowhere/at/all"),
        (vec!["--nodes", "0"], "--nodes"),
    ] {
        let output = says([&["storm", &searching][..], &arguments].concat());
        assert_eq!(output.code, Some(2), "{arguments:?}");
        assert!(output.stderr.contains(word), "{arguments:?}: {}", output.stderr);
    }
    fs::remove_file(dir.join("plain/libx.so")).expect("the library");
    let output = says(["storm", &bound]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("does not start") && output.stderr.contains("underpin tree"), "{}", output.stderr);
}

#[test]
fn the_screen_fits_and_ends_with_advice() {
    need!("cc");
    let dir = programs();
    let mut command = common::underpin(["storm", &path(&dir, "searching"), "--nodes", "64", "--ppn", "32", "-v"]);
    let output = underpin_test_support::Output::of(command.env("COLUMNS", "80"));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    for word in ["2,048 in all", "Operations at the server", "not there", "nfs(5)", "underpin bind"] {
        assert!(output.stdout.contains(word), "{word}: {}", output.stdout);
    }
    assert!(output.stdout.lines().all(|line| line.chars().count() <= 100), "{}", output.stdout);
}

#[test]
fn exports_are_written() {
    need!("cc");
    let dir = programs();
    let (json, page) = (path(&dir, "storm.json"), path(&dir, "storm.md"));
    let output = says(["storm", &path(&dir, "searching"), "--export-json", &json, "--export-markdown", &page]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let document: Value = serde_json::from_slice(&fs::read(json).expect("the document")).expect("JSON");
    assert_eq!(document["schema"], "underpin.storm/1");
    assert!(fs::read_to_string(page).expect("the page").contains("| case |"));
}

/// A program in a tree of prefixes whose library needs a driver's library: that one is searched for even after the
/// program alone was bound.
fn tree_with_a_driver() -> Fixture {
    let dir = Fixture::new();
    dir.write("gl.c", "int gl(void){return 0;}");
    dir.write("a.c", "int gl(void); int a(void){return gl();}");
    dir.write("m.c", "int a(void); int main(void){return a();}");
    for folder in ["bin", "a/lib", "gl/lib"] {
        dir.mkdir(format!("t/{folder}"));
    }
    let at = format!("{}/t", dir.text());
    let empty: Vec<String> = (0..60).map(|number| format!("{at}/p{number}/lib")).collect();
    empty.iter().for_each(|folder| fs::create_dir_all(folder).expect("a folder"));
    let search = |folders: &str| format!("-Wl,--disable-new-dtags,-rpath,{folders}");
    dir.cc(["-shared", "-fPIC", "-Wl,-soname,libGL.so.1", "gl.c", "-o", "t/gl/lib/libGL.so.1"]);
    let own = search(&format!("{at}/gl/lib"));
    dir.cc([
        "-shared",
        "-fPIC",
        "-Wl,-soname,liba.so.1",
        "a.c",
        "t/gl/lib/libGL.so.1",
        &own,
        "-o",
        "t/a/lib/liba.so.1",
    ]);
    let all = search(&format!("{}:{at}/a/lib:{at}/gl/lib", empty.join(":")));
    dir.cc(["m.c", "t/a/lib/liba.so.1", &all, "-Wl,-rpath-link,t/gl/lib", "-o", "t/bin/m"]);
    dir
}

#[test]
fn what_is_advised_ends_first_in_the_table_and_costs_what_the_table_says_when_done() {
    need!("cc");
    let dir = tree_with_a_driver();
    let program = path(&dir, "t/bin/m");
    let ask = |fs: &str| json(["storm", "--json", &program, "--nodes", "128", "--ppn", "32", "--fs", fs]);
    for fs in ["lustre", "nfs", "gpfs"] {
        let document = ask(fs);
        let seconds = |case: &&Value| figure(case, "/seconds");
        let cases = document["cases"].as_array().expect("cases");
        let best = cases.iter().min_by(|one, two| seconds(one).total_cmp(&seconds(two))).expect("a case");
        let advice = &document["advice"][0];
        let name = best["name"].as_str().expect("a name");
        assert!(advice["message"].as_str().is_some_and(|it| it.starts_with(name)), "{fs}: {document}");
        let command = advice["command"].as_str().unwrap_or_else(|| panic!("{fs}: {document}"));
        let done = says(command.split(' ').skip(1));
        assert_eq!(done.code, Some(0), "{command}: {}", done.stderr);
        let after = ask(fs);
        assert_eq!(after["cases"][0]["first"], best["first"], "{fs}: {command}");
        assert_eq!(after["cases"][0]["operations"], best["operations"], "{fs}: {command}");
        assert_eq!(after["advice"], serde_json::json!([]), "{fs}: what is done is not advised again");
        let undone = says(["unbind", &path(&dir, "t")]);
        assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    }
}

#[test]
fn what_a_run_opens_later_is_counted_where_a_run_was_asked_for() {
    need!("cc");
    let dir = Fixture::new();
    dir.write("g.c", "int g(void){return 0;}");
    dir.write("m.c", "#include <dlfcn.h>\nint main(void) { return !dlopen(\"libg.so.1\", RTLD_NOW); }");
    let folders: Vec<String> = (0..20).map(|at| format!("{}/folder{at}", dir.text())).collect();
    folders.iter().for_each(|folder| fs::create_dir(folder).expect("a folder"));
    dir.mkdir("last");
    dir.cc(["-shared", "-fPIC", "-o", "last/libg.so.1", "-Wl,-soname,libg.so.1", "g.c"]);
    let rpath = format!("-Wl,--disable-new-dtags,-rpath,{}:{}/last", folders.join(":"), dir.text());
    dir.cc(["-o", "late", "m.c", &rpath, "-ldl"]);
    let program = path(&dir, "late");
    let flags = ["storm", "--json", &program, "--fs", "slowfs", "--on", dir.text(), "--after", "none"];
    let without = json(flags);
    assert!(without["opened_later"].is_null());
    assert!(says(["storm", &program]).stdout.contains("not counted"));
    let document = json([&flags[..], &["--"]].concat());
    let later = &document["opened_later"];
    let traced = json(["trace", "--json", "--", &program]);
    assert_eq!(later["lookups"], traced["lookups"]);
    // The name is looked up in each folder, after the path to it; nothing of that is remembered.
    assert!(figure(later, "/first/absent") >= 20.0, "{later}");
    assert_eq!(figure(later, "/first/opens"), 1.0);
    assert!(figure(later, "/seconds") > figure(&document, "/cases/0/seconds"));
    assert_eq!(document["cases"], without["cases"], "the cases are those of the start");
}
