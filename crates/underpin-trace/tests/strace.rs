//! The counts of a trace are those of `strace -c -f` over the same set of calls: names, calls, errors.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

use std::collections::BTreeMap;
use std::path::Path;
use underpin_test_support::{Fixture, Output as Ran, need};
use underpin_trace::{CallSet, Output, Session, Trace, TraceOptions, Until};

type Counts = BTreeMap<String, (u64, u64)>;

/// Variables that make two runs of one command make the same calls: no locale of the user, one malloc arena for all
/// threads, a fixed hash seed.
const ENVIRONMENT: [(&str, &str); 3] = [("LC_ALL", "C"), ("MALLOC_ARENA_MAX", "1"), ("PYTHONHASHSEED", "0")];

fn trace(dir: &Path, command: &[&str], calls: CallSet) -> Trace {
    let mut options = TraceOptions::new(command);
    options.until = Until::Exit;
    options.calls = calls;
    options.output = Output::Null;
    options.env = ENVIRONMENT.map(|(name, value)| (name.into(), Some(value.into()))).to_vec();
    options.env.push(("PWD".into(), Some(dir.into())));
    // Cargo sets it for tests; strace runs without it here.
    options.env.push(("LD_LIBRARY_PATH".into(), None));
    Session::new(options).run().unwrap()
}

fn ours(trace: &Trace) -> Counts {
    trace.totals.iter().map(|total| (total.name.to_string(), (total.calls, total.errors))).collect()
}

fn straces(dir: &Fixture, command: &[&str], calls: &CallSet) -> Counts {
    let list = dir.join("strace.txt");
    let mut strace = dir.command("strace");
    strace.args(["-c", "-f", "-U", "calls,errors,name", "-o"]).arg(&list);
    strace.arg("-e").arg(format!("trace={}", calls.strace_expression(Until::Exit))).args(command).envs(ENVIRONMENT);
    strace.env("PWD", dir.path()).current_dir(std::env::current_dir().unwrap());
    // As with the tracer: programs check what their output is, and make other calls on a pipe.
    strace.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    strace.status().unwrap();
    let text = std::fs::read_to_string(list).unwrap();
    let rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter_map(|row| match row[..] {
        [calls, name] => Some((name.to_owned(), (calls.parse().ok()?, 0))),
        [calls, errors, name] => Some((name.to_owned(), (calls.parse().ok()?, errors.parse().ok()?))),
        _ => None,
    })
    .filter(|(name, _)| name != "total")
    .collect()
}

/// With several processes at once, whether a `clone` is interrupted by the end of another child and restarted
/// (`ERESTARTNOINTR`) differs from run to run, so of these calls only the successful ones are compared.
fn settled(mut counts: Counts) -> Counts {
    for (name, (calls, errors)) in &mut counts {
        if ["clone", "vfork", "wait4"].contains(&name.as_str()) {
            *calls -= std::mem::take(errors);
        }
    }
    counts
}

/// How often a shell asks without waiting whether another child has ended depends on the order in which they end.
fn of_a_shell(counts: Counts) -> Counts {
    let mut counts = settled(counts);
    counts.remove("wait4");
    counts
}

fn same(dir: &Fixture, command: &[&str], calls: CallSet) -> Trace {
    same_as(dir, command, calls, |counts| counts)
}

fn same_as(dir: &Fixture, command: &[&str], calls: CallSet, view: fn(Counts) -> Counts) -> Trace {
    let oracle = view(straces(dir, command, &calls));
    assert!(oracle.values().map(|(calls, _)| calls).sum::<u64>() > 3, "strace saw nothing of {command:?}");
    let trace = trace(dir.path(), command, calls);
    assert_eq!(view(ours(&trace)), oracle, "{command:?}");
    trace
}

#[test]
fn simple_programs() {
    need!("strace", "git");
    let dir = Fixture::new();
    for command in [&["true"][..], &["git", "--version"], &["env", "A=1", "ls", "/"], &["false"]] {
        same(&dir, command, CallSet::Default);
        same(&dir, command, CallSet::All);
    }
}

#[test]
fn pipelines_and_background_processes_of_a_shell() {
    need!("strace");
    let dir = Fixture::new();
    let script = "echo a | cat | tr a b; (true; true) & wait; exit 3";
    let trace = same_as(&dir, &["sh", "-c", script], CallSet::Default, of_a_shell);
    assert_eq!(trace.end.status(), 3);
    assert!(trace.tasks.len() > 4, "{:?}", trace.tasks);
}

#[test]
fn threads_forks_and_vforks() {
    need!("strace", "cc");
    let dir = Fixture::new();
    let program = build(&dir, "threads", THREADS);
    let trace = same(&dir, &[&program], CallSet::Default);
    same(&dir, &[&program], "openat,access,clone3,clone,vfork,wait4".parse().unwrap());
    let threads = trace.tasks.iter().filter(|task| task.kind == underpin_trace::TaskKind::Thread).count();
    assert_eq!(threads, 4, "{:?}", trace.tasks);
}

#[test]
fn an_exec_in_a_thread_that_is_not_the_first() {
    need!("strace", "cc");
    let dir = Fixture::new();
    let program = build(&dir, "exec", EXEC_IN_THREAD);
    let trace = same(&dir, &[&program], CallSet::Default);
    assert_eq!(trace.end.status(), 0);
    let programs = &trace.tasks[0].programs;
    assert_eq!(programs.len(), 2, "{programs:?}");
    assert_eq!(programs[1].path.as_ref().unwrap().to_string(), "/bin/echo");
}

#[test]
fn signals_and_interrupted_calls() {
    need!("strace", "cc");
    let dir = Fixture::new();
    let program = build(&dir, "signals", SIGNALS);
    let trace = same(&dir, &[&program], CallSet::Default);
    assert_eq!(trace.end, underpin_trace::End::Signalled(15), "it ends by its own SIGTERM");
    let restarted = trace.events.iter().filter(|event| event.outcome.to_string() == "ERESTARTSYS").count();
    assert!(restarted >= 2, "the interrupted wait4 calls are seen");
}

#[test]
fn python_with_threads_and_a_child() {
    need!("strace", "python3");
    let dir = Fixture::new();
    let script = "import threading, subprocess\n\
        for i in range(3):\n    t = threading.Thread(target=lambda: open('/etc/passwd').close()); t.start(); t.join()\n\
        subprocess.run(['true'])";
    // A first run, so that neither of the compared runs writes the cache of compiled modules.
    let _ = Ran::of(dir.command("python3").args(["-c", script]).envs(ENVIRONMENT));
    same_as(&dir, &["python3", "-c", script], "file,process".parse().unwrap(), settled);
}

#[test]
fn emacs_in_batch() {
    need!("strace", "emacs");
    let dir = Fixture::new();
    same(&dir, &["emacs", "--batch", "-Q", "--eval", "(message \"hi\")"], CallSet::Default);
}

fn build(dir: &Fixture, name: &str, source: &str) -> String {
    dir.write(format!("{name}.c"), source);
    dir.cc(["-O1", "-pthread", "-o", name, &format!("{name}.c")]);
    dir.join(name).to_str().unwrap().to_owned()
}

/// The threads run one after the other, so that the number of calls does not depend on the scheduler.
const THREADS: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <fcntl.h>
#include <unistd.h>
#include <sys/wait.h>
static void *work(void *p) {
    for (int i = 0; i < 50; i++) { int fd = open("/etc/passwd", O_RDONLY); close(fd); access("/nonexistent", 0); }
    return p;
}
int main(void) {
    pthread_t t;
    for (int i = 0; i < 4; i++) { pthread_create(&t, 0, work, 0); pthread_join(t, 0); }
    int status;
    pid_t p = fork();
    if (!p) { work(0); _exit(3); }
    waitpid(p, &status, 0);
    p = vfork();
    if (!p) { execl("/bin/true", "true", (char *)0); _exit(1); }
    waitpid(p, &status, 0);
    return 0;
}"#;

/// The thread waits until the `clone` that made it has returned: the exec kills the first thread wherever it is.
const EXEC_IN_THREAD: &str = r#"
#include <pthread.h>
#include <unistd.h>
static volatile int go;
static void *work(void *p) { while (!go); execl("/bin/echo", "echo", "from a thread", (char *)0); return p; }
int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); go = 1; for (;;) pause(); }"#;

/// A call that is restarted, one that fails with EINTR, a SIGTRAP of its own.
const SIGNALS: &str = r#"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static int traps;
static void handler(int s) { if (s == SIGTRAP) traps++; else access("/from-the-handler", 0); }
int main(void) {
    struct sigaction a; memset(&a, 0, sizeof a); a.sa_handler = handler;
    a.sa_flags = SA_RESTART; sigaction(SIGUSR1, &a, 0);
    a.sa_flags = 0; sigaction(SIGUSR2, &a, 0); sigaction(SIGTRAP, &a, 0);
    pid_t me = getpid(), p = fork();
    if (!p) {
        usleep(150000); kill(me, SIGUSR1); usleep(150000); kill(me, SIGUSR2); usleep(150000);
        _exit(0);
    }
    int status;
    if (waitpid(p, &status, 0) != -1) return 1;
    if (waitpid(p, &status, 0) != p || !WIFEXITED(status)) return 3;
    raise(SIGTRAP);
    if (traps != 1) return 4;
    kill(me, SIGTERM);
    for (;;) pause();
}"#;
