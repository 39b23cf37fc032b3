//! `underpin bind`, `unbind` and `verify` from outside: what they change, what they print, how they exit.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod common;

use common::{json, says};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use underpin_test_support::{Fixture, Output, need, traced_objects};

/// Three prefixes, and a program that needs `libb.so`, which needs `liba.so`; the search goes through many folders
/// first, as in a prefix of a package manager.
fn prefixes() -> Fixture {
    let dir = Fixture::new();
    dir.write("a.c", "int a(void){return 41;}");
    dir.write("b.c", "int a(void); int b(void){return a() + 1;}");
    dir.write("main.c", "#include <stdio.h>\nint b(void); int main(int n, char **a){(void)a; printf(\"%d\\n\", b()); return n > 2 ? 3 : 0;}");
    for folder in ["tree/a/lib", "tree/b/lib", "tree/app/bin"] {
        dir.mkdir(folder);
    }
    let mut path: Vec<String> = (0..12).map(|number| format!("{}/tree/none{number}/lib", dir.text())).collect();
    path.extend(["a", "b"].map(|prefix| format!("{}/tree/{prefix}/lib", dir.text())));
    let rpath = format!("-Wl,--disable-new-dtags,-rpath,{}", path.join(":"));
    let soname = |name: &str| format!("-Wl,-soname,{name}");
    dir.cc(["-shared", "-fPIC", &soname("liba.so"), "-o", "tree/a/lib/liba.so", "a.c"]);
    dir.cc(["-shared", "-fPIC", &soname("libb.so"), "-o", "tree/b/lib/libb.so", "b.c", "-Ltree/a/lib", "-la", &rpath]);
    let link = ["-Ltree/b/lib", "-lb", "-Wl,-rpath-link,tree/a/lib", &rpath];
    dir.cc([&["-o", "tree/app/bin/app", "main.c"][..], &link].concat());
    dir
}

fn app(dir: &Fixture) -> String {
    dir.join("tree/app/bin/app").to_str().unwrap().to_owned()
}

fn runs(dir: &Fixture) -> String {
    let output = Output::of(&mut dir.command(app(dir)));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output.stdout
}

/// The real loader's list, by real path: a file that is replaced is another inode.
fn objects(dir: &Fixture) -> Vec<PathBuf> {
    let traced = traced_objects(dir.join("tree/app/bin/app").as_path(), &[]).unwrap();
    traced.into_iter().map(|object| object.path.unwrap().canonicalize().unwrap()).collect()
}

fn bytes(dir: &Fixture) -> Vec<Vec<u8>> {
    ["tree/a/lib/liba.so", "tree/b/lib/libb.so", "tree/app/bin/app"]
        .map(|path| fs::read(dir.join(path)).unwrap())
        .into()
}

fn failing_opens(dir: &Fixture) -> usize {
    let log = dir.join("strace.log");
    let mut command = dir.command("strace");
    command.args(["-e", "trace=open,openat,stat,newfstatat", "-o"]).arg(&log).arg(app(dir));
    assert_eq!(Output::of(&mut command).code, Some(0));
    fs::read_to_string(&log).unwrap().lines().filter(|line| line.contains("= -1 ENOENT")).count()
}

#[test]
fn a_bound_prefix_loads_the_same_searches_for_nothing_and_comes_back_byte_for_byte() {
    need!("cc", "readelf", "strace");
    let dir = prefixes();
    let tree = dir.join("tree");
    let tree = tree.to_str().unwrap();
    let (original, order) = (bytes(&dir), objects(&dir));
    assert!(failing_opens(&dir) > 12);

    let bound = json(["bind", "--json", tree]);
    assert_eq!((&bound["dry_run"], &bound["totals"]["changed"]), (&false.into(), &2.into()), "{bound}");
    assert_eq!(runs(&dir), "42\n");
    assert_eq!(objects(&dir), order);
    assert_eq!(failing_opens(&dir), 0);
    assert_eq!(bound["programs"][0]["after"]["errors"], 1, "/etc/ld.so.preload, which is not there");
    let now = bytes(&dir);
    let changed: Vec<bool> = now.iter().zip(&original).map(|(now, before)| now != before).collect();
    assert_eq!(changed, [false, true, true], "liba.so needs nothing");

    let verified = json(["verify", "--json", tree]);
    assert_eq!(verified["holds"], true, "{verified}");
    assert!(verified["files"].as_array().unwrap().iter().all(|file| file["loader"] == "agrees"), "{verified}");

    let again = json(["bind", "--json", tree]);
    assert_eq!((&again["totals"]["changed"], &again["totals"]["unchanged"]), (&0.into(), &2.into()), "{again}");
    assert_eq!(bytes(&dir), now, "binding twice changes nothing");

    let unbound = says(["unbind", tree]);
    assert_eq!(unbound.code, Some(0), "{}", unbound.stderr);
    assert_eq!(bytes(&dir), original);
    assert!(says(["unbind", tree]).stdout.contains("Nothing to unbind"));
}

#[test]
fn a_plan_changes_nothing_and_says_what_is_left_alone() {
    need!("cc");
    let dir = prefixes();
    let original = bytes(&dir);
    let plan = json(["bind", "--dry-run", "--json", "--exclude", "liba*", dir.join("tree").to_str().unwrap()]);
    assert_eq!(bytes(&dir), original);
    assert_eq!(plan["dry_run"], true);
    let names = || plan["files"].as_array().unwrap().iter().flat_map(|file| file["names"].as_array().unwrap());
    let name = |wanted: &str| names().find(|name| name["name"] == wanted).unwrap().clone();
    assert_eq!(name("libb.so")["becomes"], dir.join("tree/b/lib/libb.so").to_str().unwrap());
    assert!(name("liba.so")["left_alone"].as_str().unwrap().contains("liba*"), "{}", name("liba.so"));
    let screen = says(["bind", "--dry-run", "-v", &app(&dir)]).stdout;
    assert!(screen.contains("nothing was changed") && screen.contains("dead strings, 0x"), "{screen}");
}

#[test]
fn every_shape_runs_verifies_and_comes_back() {
    need!("cc", "readelf", "strace");
    let dir = prefixes();
    let original = bytes(&dir);
    for (shape, named) in
        [("--flatten", app(&dir)), ("--farm", app(&dir)), ("--relative", dir.text().to_owned() + "/tree")]
    {
        let before = objects(&dir);
        let output = says(["bind", shape, &named]);
        assert_eq!(output.code, Some(0), "{shape}: {}{}", output.stdout, output.stderr);
        assert!(output.stdout.starts_with("Bound "), "{shape}: {}", output.stdout);
        assert_eq!((runs(&dir).as_str(), objects(&dir)), ("42\n", before), "{shape}");
        let verified = says(["verify", &named]);
        assert_eq!(verified.code, Some(0), "{shape}: {}", verified.stdout);
        assert_eq!(says(["unbind", &named]).code, Some(0));
        assert_eq!(bytes(&dir), original, "{shape}");
        let folder = fs::read_dir(dir.join("tree/app/bin")).unwrap().count();
        assert_eq!(folder, 1, "{shape}: nothing is left beside the program");
    }
}

#[test]
fn a_tree_bound_relatively_may_be_moved() {
    need!("cc");
    let dir = prefixes();
    let tree = dir.join("tree");
    let output = says(["bind", "--relative", tree.to_str().unwrap()]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    let moved = dir.join("moved");
    fs::rename(&tree, &moved).unwrap();
    let output = Output::of(&mut Command::new(moved.join("app/bin/app")));
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), "42\n"), "{}", output.stderr);
}

#[test]
fn a_name_that_leads_nowhere_any_more_is_stale() {
    need!("cc");
    let dir = prefixes();
    let tree = dir.join("tree");
    let tree = tree.to_str().unwrap();
    assert_eq!(says(["bind", tree]).code, Some(0));
    fs::remove_file(dir.join("tree/a/lib/liba.so")).unwrap();
    let output = says(["verify", tree]);
    assert_eq!(output.code, Some(1));
    assert!(output.stdout.contains("liba.so") && output.stdout.contains("is gone"), "{}", output.stdout);
}

#[test]
fn predicted_calls_of_a_bound_program_are_the_real_ones() {
    need!("cc");
    let dir = prefixes();
    assert_eq!(says(["bind", dir.join("tree").to_str().unwrap()]).code, Some(0));
    let document = json(["verify", "--json", "--bindings", "--check", &app(&dir)]);
    assert_eq!(document["files"][0]["comparison"]["equal"], true, "{document}");
    assert!(document["files"][0]["symbols"].as_u64() > Some(0), "{document}");
    assert_eq!(document["holds"], true);
}

#[test]
fn what_cannot_be_bound_is_refused_with_its_reason() {
    need!("cc");
    let dir = Fixture::new();
    dir.write("main.c", "int main(void){return 0;}");
    dir.cc(["-static", "-o", "static", "main.c"]);
    let output = says(["bind", dir.join("static").to_str().unwrap()]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("statically linked"), "{}", output.stderr);
    dir.cc(["-static-pie", "-o", "static-pie", "main.c"]);
    let before = fs::read(dir.join("static-pie")).unwrap();
    let output = says(["bind", dir.join("static-pie").to_str().unwrap()]);
    assert_eq!(output.code, Some(2), "{}", output.stdout);
    assert_eq!(fs::read(dir.join("static-pie")).unwrap(), before);
    let output = says(["bind", dir.join("main.c").to_str().unwrap()]);
    assert!(output.code == Some(2) && output.stderr.contains("not an ELF file"), "{}", output.stderr);
}

#[test]
fn a_policy_file_is_obeyed_and_a_wrong_one_refused() {
    need!("cc");
    let dir = prefixes();
    let policy = dir.write("policy.toml", "only = [\"libb*\"]\n");
    let policy = policy.to_str().unwrap();
    let plan = json(["bind", "--dry-run", "--json", "--policy", policy, &app(&dir)]);
    assert_eq!(plan["totals"]["names_bound"], 1, "{plan}");
    dir.write("policy.toml", "onyl = []\n");
    let output = says(["bind", "--dry-run", "--policy", policy, &app(&dir)]);
    assert!(output.code == Some(2) && output.stderr.contains("onyl"), "{}", output.stderr);
}

#[test]
fn a_storm_is_told_with_what_binding_would_save() {
    need!("cc");
    let dir = prefixes();
    let document = json(["survey", "--json", &app(&dir)]);
    let advice = document["advice"].as_array().unwrap();
    assert!(advice.iter().any(|item| item["rule"] == "bind"), "{advice:?}");
    let binding = &document["binding"];
    assert_eq!(binding["after"]["errors"], 1, "/etc/ld.so.preload alone: {binding}");
    let measured = json(["survey", "--json", "--measure-bind", &app(&dir), "--", "x"]);
    let measured = &measured["binding"]["measured"];
    assert!(measured["runs"].as_u64() >= Some(6) && measured["ratio"]["low"].as_f64() > Some(0.0), "{measured}");
    assert_eq!(fs::read_dir(dir.join("tree/app/bin")).unwrap().count(), 1, "the bound copy is gone");
}

#[test]
fn a_run_that_fails_is_no_measured_gain() {
    need!("cc");
    let dir = prefixes();
    // With two arguments it ends with status 3.
    let output = says(["survey", "--json", "--measure-bind", &app(&dir), "--", "x", "y"]);
    let document: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert!(document["binding"]["measured"].is_null(), "{}", document["binding"]);
    assert!(output.stderr.contains("was not measured") && output.stderr.contains("status 3"), "{}", output.stderr);
}
