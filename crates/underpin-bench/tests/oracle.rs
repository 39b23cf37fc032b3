//! Figures beside those of GNU time and hyperfine: the same program, the same kernel, the same numbers.
//!
//! Nothing here depends on how long anything takes: counts, processor time that a program has set itself, exit codes, and
//! statistics of the very times that hyperfine exports.

mod common;

use serde_json::Value;
use std::path::Path;
use std::process::Command as Process;
use underpin_bench::stats::{Order, mean};
use underpin_bench::{Executor, RealExecutor, RunOutcome, StreamsPlan, TimedRun};
use underpin_test_support::{Fixture, need};

fn run(program: &Path) -> TimedRun {
    let candidate = common::candidate("it", &program.display().to_string());
    RealExecutor::new(StreamsPlan::default(), &[], 1).run(&candidate, None).expect("it starts")
}

/// What GNU time reports for a program, in one of its formats.
fn gnu_time(program: &Path, format: &str) -> Vec<f64> {
    let output = Process::new("/usr/bin/time").args(["-f", format]).arg(program).output().expect("GNU time");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.split_whitespace().map(|word| word.parse().unwrap_or_else(|_| panic!("{text}"))).collect()
}

#[test]
fn page_faults_are_those_of_gnu_time() {
    need!("/usr/bin/time", "cc");
    let dir = Fixture::new();
    dir.write(
        "main.c",
        "#include <string.h>\n#include <stdlib.h>\nint main(void){memset(malloc(40<<20),1,40<<20);return 0;}",
    );
    dir.cc(["-static", "-o", "main", "main.c"]);
    let path = dir.join("main");
    let theirs: f64 = gnu_time(&path, "%R %F").iter().sum();
    let usage = run(&path).usage;
    let ours = (usage.minor_faults + usage.major_faults) as f64;
    assert!(theirs > 20.0, "{theirs}");
    // time(1) forks, and the copied pages of the fork count before its exec.
    assert!((ours - theirs).abs() <= 150.0, "{ours} {theirs}");
}

#[test]
fn context_switches_are_those_of_gnu_time() {
    need!("/usr/bin/time", "cc");
    let dir = Fixture::new();
    // Gives the processor up 300 times.
    dir.write(
        "main.c",
        "#include <time.h>\nint main(void){struct timespec t={0,1000};for(int i=0;i<300;i++)nanosleep(&t,0);return 0;}",
    );
    dir.cc(["-static", "-o", "main", "main.c"]);
    let path = dir.join("main");
    let theirs = gnu_time(&path, "%w")[0];
    let ours = run(&path).usage.voluntary_switches as f64;
    for switches in [theirs, ours] {
        // A sleep that is over before it has begun is no switch; a page that has to come from a disk is one.
        assert!((280.0..=330.0).contains(&switches), "{ours} {theirs}");
    }
}

#[test]
fn processor_time_is_that_of_gnu_time() {
    need!("/usr/bin/time", "cc");
    let dir = Fixture::new();
    // Computes until the kernel has accounted 0.3 s to it, however long that takes.
    dir.write(
        "main.c",
        "#include <time.h>\nint main(void){volatile int x=0;while(clock()<3*CLOCKS_PER_SEC/10)x++;return 0;}",
    );
    dir.cc(["-static", "-o", "main", "main.c"]);
    let path = dir.join("main");
    let theirs: f64 = gnu_time(&path, "%U %S").iter().sum();
    let usage = run(&path).usage;
    let ours = (usage.user + usage.system).as_secs_f64();
    for seconds in [theirs, ours] {
        assert!((0.27..=0.36).contains(&seconds), "{ours} {theirs}");
    }
}

/// hyperfine's figures of one command.
fn hyperfine(dir: &Fixture, args: &[&str]) -> Value {
    let json = dir.join("hyperfine.json");
    let json_text = json.display().to_string();
    dir.must("hyperfine", [&["-N", "-i", "--export-json", &json_text], args].concat());
    let document: Value = serde_json::from_slice(&std::fs::read(json).expect("its document")).expect("JSON");
    document["results"][0].clone()
}

#[test]
fn statistics_of_hyperfines_times_are_those_that_hyperfine_prints() {
    need!("hyperfine");
    let dir = Fixture::new();
    for runs in ["24", "25"] {
        let result = hyperfine(&dir, &["-r", runs, "true"]);
        let times: Vec<f64> = result["times"].as_array().expect("times").iter().filter_map(Value::as_f64).collect();
        let order = Order::new(&times);
        let ours = [mean(&times), order.median(), order.least(), order.greatest()];
        for (name, ours) in ["mean", "median", "min", "max"].into_iter().zip(ours) {
            let theirs = result[name].as_f64().expect("a figure");
            assert!((ours.expect("a figure") / theirs - 1.0).abs() < 1e-12, "{name}: {ours:?} {theirs}");
        }
    }
}

#[test]
fn exit_codes_are_those_that_hyperfine_lists() {
    need!("hyperfine");
    let dir = Fixture::new();
    for status in [0, 3, 255] {
        let script = dir.write(format!("exit-{status}"), format!("#!/bin/sh\nexit {status}\n"));
        dir.chmod(format!("exit-{status}"), 0o755);
        let theirs = hyperfine(&dir, &["-r", "2", &script.display().to_string()])["exit_codes"][0].as_i64();
        let ours = run(&script).outcome;
        assert_eq!((theirs, ours), (Some(status), RunOutcome::Exited(status as i32)));
    }
}
