//! `underpin build`, interrupted at any moment and beside other builds like it: the result is the old or the new one,
//! nothing keeps running, and the next run continues. The processes are found in /proc by a variable that only this
//! test sets.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "in a test a panic is the failing assertion")]

mod common;

use common::underpin;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use underpin_bench::stats::Random;
use underpin_test_support::{Fixture, Output, need};

/// Only to end a hang.
const DEADLINE: Duration = Duration::from_secs(120);
const MARK: &str = "UNDERPIN_TEST_BUILD_ENDS";
const KILLS: usize = 18;

fn build(dir: &Fixture, project: &str, more: &[&str]) -> Command {
    let mut command = underpin(["build", "--as", "musl+system-overlay"]);
    command.arg(dir.join(project)).arg("-o").arg(dir.join("out/")).args(more).current_dir(dir.path());
    command.env("XDG_CACHE_HOME", dir.join("cache")).env(MARK, dir.path());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn must(mut command: Command) {
    let output = Output::of(&mut command);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
}

/// A program of several files that prints a word.
fn project(dir: &Fixture, name: &str, word: &str) {
    let objects = "a.o b.o c.o d.o";
    dir.write(format!("{name}/Makefile"), format!("{name}: {objects}\n\t$(CC) -o {name} {objects}\n"));
    for file in ["b", "c", "d"] {
        dir.write(format!("{name}/{file}.c"), format!("const char *{file}(void) {{ return \"{word}\"; }}\n"));
    }
    let main = "#include <stdio.h>\nconst char *b(void), *c(void), *d(void);\n\
                int main(void) { printf(\"%s %s %s\\n\", b(), c(), d()); return 0; }\n";
    dir.write(format!("{name}/a.c"), main);
}

/// A program with a header that a rule writes in two halves. After the first the rule waits until `go` exists.
fn halting(dir: &Fixture, name: &str) {
    let makefile = "prog: part.h\n\t$(CC) -o NAME prog.c\n\
        part.h:\n\tprintf '#define TEXT \"wh' >part.h\n\ttouch DIR/half-NAME\n\
        \tn=0; while test ! -e DIR/go-NAME && test $$n -lt 1200; do sleep 0.1; n=$$((n + 1)); done\n\
        \tprintf 'ole\"\\n' >>part.h\n";
    let makefile = makefile.replace("DIR", dir.text()).replace("NAME", name).replacen("prog:", &format!("{name}:"), 1);
    dir.write(format!("{name}/Makefile"), makefile);
    dir.write(
        format!("{name}/prog.c"),
        "#include <stdio.h>\n#include \"part.h\"\nint main(void) { puts(TEXT); return 0; }\n",
    );
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < DEADLINE, "waited in vain until {what}");
        sleep(Duration::from_millis(10));
    }
}

/// The processes of a test's builds, with their command lines.
fn running(dir: &Fixture) -> Vec<String> {
    let mark = format!("{MARK}={}", dir.text());
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let of_test = processes.filter(|process| {
        fs::read(process.join("environ"))
            .is_ok_and(|all| all.split(|byte| *byte == 0).any(|one| one == mark.as_bytes()))
    });
    of_test
        .map(|process| {
            String::from_utf8_lossy(&fs::read(process.join("cmdline")).unwrap_or_default()).replace('\0', " ")
        })
        .collect()
}

fn wait_until_nothing_runs(dir: &Fixture) {
    wait_for(&format!("nothing runs any more of {:?}", running(dir)), || running(dir).is_empty());
}

fn says(program: &Path) -> String {
    Output::of(&mut Command::new(program)).stdout
}

/// How a run is ended: a signal, to the process alone or to its group.
#[derive(Clone, Copy, Debug)]
struct Ending {
    signal: &'static str,
    group: bool,
}

impl Ending {
    const ALL: [Ending; 6] = [
        Ending { signal: "KILL", group: false },
        Ending { signal: "INT", group: true },
        Ending { signal: "KILL", group: true },
        Ending { signal: "TERM", group: false },
        Ending { signal: "INT", group: false },
        Ending { signal: "HUP", group: true },
    ];

    /// Those that reach a program here: what is ignored when it starts stays ignored, as under nohup(1).
    fn here() -> Vec<Ending> {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
        let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
        let number =
            |name: &str| [("HUP", 1), ("INT", 2), ("KILL", 9), ("TERM", 15)].into_iter().find(|one| one.0 == name);
        let reaches =
            |ending: &Ending| number(ending.signal).is_some_and(|(_, number)| ignored >> (number - 1) & 1 == 0);
        Ending::ALL.into_iter().filter(reaches).collect()
    }

    fn send(self, child: &Child) {
        let target = if self.group { format!("-{}", child.id()) } else { child.id().to_string() };
        // It may have ended just now.
        let _ = Output::of(Command::new("kill").args(["-s", self.signal, "--", &target]));
    }
}

/// Unfinished files in the folder of results and in the cache.
fn temporaries(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(temporaries(&entry.path()));
        } else if name.contains(".underpin-") || name == "unfinished" {
            found.push(name);
        }
    }
    found
}

#[test]
fn ended_at_any_instant_the_result_is_the_old_one_or_the_new_one_and_nothing_runs_on() {
    need!("make", "musl-gcc");
    let dir = Fixture::new();
    project(&dir, "say", "word0");
    let since = Instant::now();
    must(build(&dir, "say", &[]));
    let whole = since.elapsed().as_micros() as usize;
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    println!("seed {seed}, a build takes {whole} us");
    // Printed, so that a failure can be reproduced.
    let mut random = Random::new(seed);
    let mut words = vec!["word0 word0 word0\n".to_owned()];
    let endings = Ending::here();
    for round in 1..=KILLS {
        let word = format!("word{round}");
        project(&dir, "say", &word);
        let ending = endings[round % endings.len()];
        let mut child = build(&dir, "say", &[]).process_group(0).spawn().unwrap();
        sleep(Duration::from_micros(random.below(whole) as u64));
        ending.send(&child);
        wait_for("it ends", || child.try_wait().unwrap().is_some());
        wait_until_nothing_runs(&dir);
        words.push(format!("{word} {word} {word}\n"));
        let now = says(&dir.join("out/say"));
        assert!(words.contains(&now), "neither an old nor the new program: {now:?} ({ending:?})");
    }
    project(&dir, "say", "last");
    must(build(&dir, "say", &[]));
    assert_eq!(says(&dir.join("out/say")), "last last last\n");
    assert_eq!(temporaries(dir.path()), Vec::<String>::new());
}

#[test]
fn what_a_killed_make_left_half_written_is_not_built_upon() {
    need!("make", "musl-gcc");
    for ending in Ending::here() {
        let dir = Fixture::new();
        halting(&dir, "half");
        let mut child = build(&dir, "half", &[]).process_group(0).spawn().unwrap();
        wait_for("half of it is written", || dir.join("half-half").exists());
        ending.send(&child);
        let mut end = None;
        wait_for("it ends", || {
            end = child.try_wait().unwrap();
            end.is_some()
        });
        // As in a shell: 128 plus the signal's number, 130 for Ctrl-C (bash(1), "EXIT STATUS").
        let expected = [("INT", 130), ("TERM", 143), ("HUP", 129)].into_iter().find(|(name, _)| *name == ending.signal);
        assert_eq!(end.and_then(|end| end.code()), expected.map(|(_, code)| code), "{ending:?}");
        wait_until_nothing_runs(&dir);
        assert!(!dir.join("out").exists(), "{ending:?}: {:?}", fs::read_dir(dir.join("out")).map(|all| all.count()));
        dir.write("go-half", "");
        must(build(&dir, "half", &[]));
        assert_eq!(says(&dir.join("out/half")), "whole\n", "{ending:?}");
    }
}

#[test]
fn a_command_that_takes_too_long_is_ended_and_not_built_upon() {
    need!("make", "musl-gcc");
    let dir = Fixture::new();
    halting(&dir, "half");
    let ended = Output::of(&mut build(&dir, "half", &["--timeout", "1"]));
    assert_eq!(ended.code, Some(2), "{}", ended.stdout);
    assert!(ended.stderr.contains("build failed (it took longer than --timeout"), "{}", ended.stderr);
    wait_until_nothing_runs(&dir);
    assert!(!dir.join("out").exists());
    dir.write("go-half", "");
    must(build(&dir, "half", &[]));
    assert_eq!(says(&dir.join("out/half")), "whole\n");
}

#[test]
fn builds_of_one_project_wait_for_each_other_and_say_so_and_those_of_others_do_not() {
    need!("make", "musl-gcc");
    let dir = Fixture::new();
    halting(&dir, "half");
    project(&dir, "other", "other");
    let first = build(&dir, "half", &[]).spawn().unwrap();
    wait_for("the first build is at it", || dir.join("half-half").exists());
    must(build(&dir, "other", &[]));
    let refused = Output::of(&mut build(&dir, "half", &["--wait", "0"]));
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert!(refused.stderr.contains("process ") && refused.stderr.contains("--wait"), "{}", refused.stderr);
    // Two wait; one of them is interrupted and ends.
    let mut waiting = [(); 2].map(|()| build(&dir, "half", &[]).spawn().unwrap());
    for child in &mut waiting {
        let mut line = String::new();
        BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        let parts = ["waiting for process ", &dir.join("half").display().to_string(), "musl+system-overlay"];
        assert!(parts.iter().all(|part| line.contains(part)), "{line}");
    }
    let [mut ended, second] = waiting;
    Ending { signal: "TERM", group: false }.send(&ended);
    wait_for("a waiting build ends", || ended.try_wait().unwrap().is_some());
    dir.write("go-half", "");
    for child in [first, second] {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(says(&dir.join("out/half")), "whole\n");
    assert_eq!(says(&dir.join("out/other")), "other other other\n");
    assert_eq!(temporaries(dir.path()), Vec::<String>::new());
}

#[test]
fn a_lock_of_a_run_that_is_dead_does_not_block() {
    need!("make", "musl-gcc");
    let dir = Fixture::new();
    project(&dir, "say", "one");
    must(build(&dir, "say", &[]));
    // The file remains, and names its last owner; pid 1 is always alive.
    let caches = fs::read_dir(dir.join("cache/underpin/build")).unwrap();
    for cache in caches {
        fs::write(cache.unwrap().path().join("lock"), "1\n").unwrap();
    }
    must(build(&dir, "say", &["--wait", "0"]));
}
