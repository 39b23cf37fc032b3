//! The executor on real programs: memory that tells the five kinds of `true` apart, trees, ends, variants.

mod common;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use underpin_bench::{
    BenchError, Candidate, CommandLine, Executor, Followed, MemoryRun, Metric, Proof, RealExecutor, RunOutcome,
    StreamsPlan, Variant,
};
use underpin_sys::{PtraceProbe, RawPid, Tracee, ptrace_probe};
use underpin_test_support::{Fixture, need, skip};

fn candidate(text: &str) -> Candidate {
    common::candidate(text, text)
}

fn shell(script: &str) -> Candidate {
    let words = ["sh", "-c", script].map(std::ffi::OsString::from).to_vec();
    Candidate { command: CommandLine::of_words(words).expect("a command"), ..candidate("sh") }
}

fn executor() -> RealExecutor {
    RealExecutor::new(StreamsPlan::default(), &[], 1)
}

fn can_watch() -> bool {
    let works = matches!(ptrace_probe(), PtraceProbe::Works(_));
    if !works {
        skip("ptrace is not allowed here");
    }
    works
}

fn watched(candidate: &Candidate) -> MemoryRun {
    let run = executor().watch(candidate, Some(Duration::from_secs(120)), Duration::ZERO);
    run.expect("it starts").expect("it can be watched")
}

const MAIN: &str = "int main(void){return 0;}";
const NO_LIBC: &str = "void _start(void){__asm__ volatile(\"mov $60,%eax\\n xor %edi,%edi\\n syscall\");}";

#[test]
fn five_kinds_of_nothing_are_told_apart_by_their_memory() {
    need!("cc", "musl-gcc");
    if !can_watch() || !cfg!(target_arch = "x86_64") {
        return;
    }
    let dir = Fixture::new();
    dir.write("main.c", MAIN);
    dir.write("bare.c", NO_LIBC);
    dir.cc(["-nostdlib", "-static", "-o", "bare", "bare.c"]);
    dir.cc(["-static", "-o", "glibc-static", "main.c"]);
    dir.cc(["-o", "glibc-dynamic", "main.c"]);
    dir.musl_cc(["-static", "-o", "musl-static", "main.c"]);
    dir.musl_cc(["-o", "musl-dynamic", "main.c"]);
    let mut peaks = HashMap::new();
    for name in ["bare", "musl-static", "musl-dynamic", "glibc-static", "glibc-dynamic"] {
        let run = watched(&candidate(&dir.join(name).display().to_string()));
        assert_eq!(run.outcome, RunOutcome::Exited(0));
        assert_eq!(run.process_count, 1);
        peaks.insert(name, run.peak_rss.0 / 1024);
    }
    // Of the order of 12, 24, 510, 700 and 1120 KiB with 4 KiB pages; the ranges leave room for other releases.
    let ranges = [
        ("bare", 4..=40),
        ("musl-static", 12..=120),
        ("musl-dynamic", 250..=800),
        ("glibc-static", 350..=1000),
        ("glibc-dynamic", 800..=1800),
    ];
    for (name, range) in &ranges {
        assert!(range.contains(&peaks[name]), "{name}: {peaks:?}");
    }
    for pair in ranges.windows(2) {
        assert!(peaks[pair[0].0] < peaks[pair[1].0], "{peaks:?}");
    }
}

#[test]
fn memory_is_that_which_the_program_touched() {
    need!("cc");
    if !can_watch() {
        return;
    }
    let dir = Fixture::new();
    // Touches 64 MiB, gives 48 of them back, and ends.
    dir.write(
        "main.c",
        "#include <string.h>\n#include <sys/mman.h>\nint main(void){char *m=mmap(0,64<<20,3,34,-1,0);\
         memset(m,1,64<<20);munmap(m,48<<20);return m[63<<20]-1;}",
    );
    dir.cc(["-o", "main", "main.c"]);
    let run = watched(&candidate(&dir.join("main").display().to_string()));
    let mebibytes = |bytes: underpin_bench::Bytes| bytes.0 >> 20;
    assert!((64..70).contains(&mebibytes(run.peak_rss)), "{run:?}");
    let end = run.at_exit.unwrap();
    assert!((16..22).contains(&mebibytes(end.rss)) && (16..18).contains(&mebibytes(end.private_dirty)), "{end:?}");
}

#[test]
fn the_peak_of_a_tree_is_the_sum_of_what_lives_at_once() {
    need!("cc");
    if !can_watch() {
        return;
    }
    let dir = Fixture::new();
    // Parent and child touch 32 MiB each; the child waits until the parent has, and ends first.
    dir.write(
        "main.c",
        "#include <string.h>\n#include <unistd.h>\n#include <stdlib.h>\n#include <sys/wait.h>\n\
         int main(void){int p[2];pipe(p);char c;if(!fork()){memset(malloc(32<<20),1,32<<20);read(p[0],&c,1);_exit(0);}\
         memset(malloc(32<<20),1,32<<20);write(p[1],\"x\",1);wait(0);return 0;}",
    );
    dir.cc(["-O0", "-o", "main", "main.c"]);
    let run = watched(&candidate(&dir.join("main").display().to_string()));
    assert_eq!(run.process_count, 2);
    let dirty = run.peak_private_dirty.0 >> 20;
    assert!((64..70).contains(&dirty), "{dirty}");
    assert!(run.peak_pss.0 >> 20 >= 64, "{run:?}");
    assert!(run.processes.iter().all(|process| process.name == "main" && process.peak_rss.0 >> 20 >= 32));
}

#[test]
fn pages_that_processes_share_count_once_in_the_peak() {
    need!("cc");
    if !can_watch() {
        return;
    }
    let dir = Fixture::new();
    // 100 MiB in the parent, of which each of eight children writes to one: 108 MiB of pages are touched.
    dir.write(
        "main.c",
        "#include <stdlib.h>\n#include <string.h>\n#include <sys/wait.h>\n#include <unistd.h>\n\
         int main(void){char*p=malloc(100<<20);memset(p,1,100<<20);\
         for(int i=0;i<8;i++)if(!fork()){memset(p,2,1<<20);sleep(1);_exit(0);}while(wait(0)>0){}return 0;}",
    );
    dir.cc(["-O1", "-o", "main", "main.c"]);
    let run = watched(&candidate(&dir.join("main").display().to_string()));
    let peak = run.figure(Metric::Rss).unwrap() / f64::from(1 << 20);
    assert!((108.0 * 0.8..108.0 * 1.2).contains(&peak), "{peak}: {run:?}");
    assert!(run.peak_rss.0 >> 20 > 800, "the sum counts them nine times: {run:?}");
}

/// Grows by 4 MiB every 50 ms up to 60, keeps that for a while and frees it as it ends. Little enough that a busy machine
/// frees it in less time than it was kept: the figure is that of the last part of the run.
const GROWS: &str = "import time\nkeep = []\nfor _ in range(15):\n    keep.append(bytearray(b'x') * (4 << 20))\n    time.sleep(0.05)\ntime.sleep(0.6)\n";

#[test]
fn growth_is_that_of_the_whole_tree_and_of_the_time_before_the_end() {
    need!("/usr/bin/python3");
    if !can_watch() {
        return;
    }
    let dir = Fixture::new();
    let path = dir.write("grow.py", GROWS);
    let alone = format!("/usr/bin/python3 {}", path.display());
    for candidate in [candidate(&alone), shell(&format!("{alone}; :"))] {
        let run = watched(&candidate);
        let growth = run.figure(Metric::RssGrowth).unwrap() / f64::from(1 << 20);
        // The first look may come before Python's own 8 MiB are there, or after.
        assert!((54.0..74.0).contains(&growth), "{growth}: {run:?}");
    }
}

#[test]
fn a_peak_of_several_processes_between_two_samples_is_within_the_bound() {
    need!("cc");
    if !can_watch() {
        return;
    }
    let dir = Fixture::new();
    // Three children hold 100 MiB each for 5 ms at the same time: a pipe is closed when all of them are there.
    dir.write(
        "main.c",
        "#define _GNU_SOURCE\n#include <sys/mman.h>\n#include <sys/wait.h>\n#include <unistd.h>\n\
         int main(void){int p[2];char c;pipe(p);for(int i=0;i<3;i++)if(!fork()){close(p[1]);read(p[0],&c,1);\
         char*m=mmap(0,100<<20,3,MAP_PRIVATE|MAP_ANONYMOUS|MAP_POPULATE,-1,0);usleep(5000);munmap(m,100<<20);_exit(0);}\
         close(p[1]);while(wait(0)>0){}return 0;}",
    );
    dir.cc(["-o", "main", "main.c"]);
    let run = watched(&candidate(&dir.join("main").display().to_string()));
    let bound = run.peak_bound.unwrap().0 >> 20;
    assert!((300..320).contains(&bound), "{bound}: {run:?}");
    assert!(run.peak_rss <= run.peak_bound.unwrap() && run.step_ns.is_some(), "{run:?}");
}

#[test]
fn threads_and_signals_do_not_lose_the_figures() {
    need!("cc");
    if !can_watch() {
        return;
    }
    let dir = Fixture::new();
    dir.write(
        "main.c",
        "#include <pthread.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n\
         static void *f(void *p){memset(malloc(8<<20),1,8<<20);if(p)exit(5);pause();return 0;}\n\
         int main(void){pthread_t t;pthread_create(&t,0,f,0);pthread_create(&t,0,f,&t);pause();return 0;}",
    );
    dir.cc(["-pthread", "-o", "main", "main.c"]);
    // The process is ended by a thread that is not its first.
    let run = watched(&candidate(&dir.join("main").display().to_string()));
    assert_eq!((run.outcome, run.process_count), (RunOutcome::Exited(5), 1));
    assert!(run.at_exit.unwrap().rss.0 > 8 << 20, "{run:?}");
    let run = watched(&shell("kill -SEGV $$"));
    assert_eq!(run.outcome, RunOutcome::Signalled(11));
}

#[test]
fn processes_that_are_left_behind_are_ended_and_counted() {
    if !can_watch() {
        return;
    }
    let run = watched(&shell("sleep 1000 & exit 0"));
    assert_eq!((run.outcome, run.left_behind), (RunOutcome::Exited(0), 1));
}

#[test]
fn a_watched_run_that_hangs_is_killed() {
    if !can_watch() {
        return;
    }
    let run = executor().watch(&shell("sleep 1000; :"), Some(Duration::from_millis(300)), Duration::ZERO);
    assert_eq!(run.unwrap().unwrap().outcome, RunOutcome::TimedOut);
}

#[test]
fn what_cannot_be_started_is_an_error_in_both_passes() {
    let dir = Fixture::new();
    let text = dir.write("text", "no program");
    for (name, status) in [("no-such-command-of-underpin", 127), (text.to_str().unwrap(), 126)] {
        let candidate = candidate(name);
        let errors = [executor().run(&candidate, None).err(), executor().watch(&candidate, None, Duration::ZERO).err()];
        for error in errors {
            match error.unwrap() {
                BenchError::Launch { source, .. } => assert_eq!(source.exit_status(), status),
                other => panic!("{other}"),
            }
        }
    }
}

#[test]
fn a_variant_changes_the_environment_of_both_passes() {
    let changes = vec![("GIVEN".into(), Some("yes".into())), ("HOME".into(), None)];
    let variant = Variant { changes, ..Variant::default() };
    let script = "test \"$GIVEN\" = yes && test -z \"$HOME\"";
    let with = Candidate { variant, ..shell(script) };
    assert_eq!(executor().run(&with, None).unwrap().outcome, RunOutcome::Exited(0));
    assert_eq!(executor().run(&shell(script), None).unwrap().outcome, RunOutcome::Exited(1));
    if can_watch() {
        assert_eq!(watched(&with).outcome, RunOutcome::Exited(0));
    }
}

#[test]
fn a_wrapper_stands_before_the_command() {
    let variant = Variant { wrapper: vec!["env".into(), "GIVEN=yes".into()], ..Variant::default() };
    let with = Candidate { variant, ..shell("test \"$GIVEN\" = yes") };
    assert_eq!(executor().run(&with, None).unwrap().outcome, RunOutcome::Exited(0));
}

/// Refuses every task.
#[derive(Debug)]
struct Never;

impl Proof for Never {
    fn follow(&self, _: Tracee) -> Result<Followed, String> {
        Err("it never does".to_owned())
    }
}

/// Requires a file among the maps of the process.
#[derive(Debug)]
struct Mapped(&'static str);

impl Proof for Mapped {
    fn took(&self, pid: RawPid) -> Result<(), String> {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).map_err(|error| error.to_string())?;
        if maps.contains(self.0) { Ok(()) } else { Err(format!("{} is not mapped", self.0)) }
    }
}

#[test]
fn memory_before_the_exec_is_not_that_of_a_program_under_a_proof() {
    if !can_watch() {
        return;
    }
    // What is started begins as a copy of this process.
    let ours = vec![1_u8; 64 << 20];
    let variant = Variant { proof: Some(Arc::new(Mapped("[stack]"))), ..Variant::default() };
    let command = CommandLine::of_words(vec!["true".into()]).unwrap();
    let candidate = Candidate { variant, ..Candidate::new("true", command) };
    for _ in 0..20 {
        let run = executor().watch(&candidate, None, Duration::ZERO).unwrap().unwrap();
        assert!(run.peak_rss.0 < 32 << 20, "{:?}", run.peak_rss);
    }
    assert_eq!(ours.last(), Some(&1));
}

#[test]
fn a_variant_that_did_not_take_is_an_error() {
    if !can_watch() {
        return;
    }
    let with = |name: &'static str| {
        let variant = Variant { proof: Some(Arc::new(Mapped(name))), ..Variant::default() };
        executor().watch(&Candidate { variant, ..shell(":") }, None, Duration::ZERO)
    };
    assert!(with("[stack]").is_ok());
    match with("libnothing.so").unwrap_err() {
        BenchError::NotInEffect { reason, .. } => assert!(reason.contains("libnothing")),
        other => panic!("{other}"),
    }
    let variant = Variant { proof: Some(Arc::new(Never)), ..Variant::default() };
    let refused = executor().watch(&Candidate { variant, ..shell("sleep 1000") }, None, Duration::ZERO);
    assert!(matches!(refused, Err(BenchError::NotInEffect { .. })), "{refused:?}");
}
