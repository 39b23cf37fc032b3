//! The points of a program's start, checked against the program itself, `nm` and the loader's own output.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

use std::fs::File;
use std::io::{Read, Seek};
use underpin_test_support::{Fixture, Output as Ran, need};
use underpin_trace::{
    CallOutcome, CallSet, End, Instants, Output, PhaseKind, Session, Then, Trace, TraceError, TraceNote, TraceOptions,
    Until,
};

const PROGRAM: &str = r#"
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void before(void) { access("/mark/initialiser", 0); }
int main(void) {
    access("/mark/main", 0);
    if (write(1, "out\n", 4) != 4) return 1;
    access("/mark/after", 0);
    return 7;
}"#;

fn options(until: Until, command: &str) -> TraceOptions {
    TraceOptions { until, output: Output::Null, ..TraceOptions::new([command]) }
}

fn run(options: TraceOptions) -> Trace {
    Session::new(options).run().unwrap()
}

fn built(dir: &Fixture, compiler: &str, flags: &[&str]) -> String {
    dir.write("p.c", PROGRAM);
    let name = format!("p{}", flags.concat());
    dir.must(compiler, ["-O1", "-o", &name, "p.c"].into_iter().chain(flags.iter().copied()));
    dir.join(name).to_str().unwrap().to_owned()
}

/// The phase in which the program's own markers were seen.
fn marks(trace: &Trace) -> Vec<(String, PhaseKind)> {
    let marked =
        |event: &&underpin_trace::Event| event.path.as_ref().is_some_and(|path| path.bytes().starts_with(b"/mark/"));
    trace
        .events
        .iter()
        .filter(marked)
        .map(|event| (event.path.as_ref().unwrap().file_name().to_string(), event.phase))
        .collect()
}

fn in_order(instants: &Instants) -> bool {
    let points = [
        instants.exec_done,
        instants.loader_ready,
        instants.entry,
        instants.main,
        instants.first_output,
        Some(instants.end),
    ];
    points.into_iter().flatten().is_sorted()
}

/// Every call stops in these runs, so the first output is exact.
fn phases_are_right(program: &str, dynamic: bool) {
    let mut options = options(Until::Exit, program);
    options.calls = CallSet::All;
    let output = tempfile::tempfile().unwrap();
    options.output = Output::File(output.try_clone().unwrap());
    let trace = run(options);
    assert_eq!(trace.end, End::Exited(7), "{program}");
    let expected = [
        ("initialiser".to_owned(), PhaseKind::Initialisers),
        ("main".to_owned(), PhaseKind::Main),
        ("after".to_owned(), PhaseKind::AfterOutput),
    ];
    assert_eq!(marks(&trace), expected, "{program}");
    assert_eq!(trace.instants.loader_ready.is_some(), dynamic, "{program}: {:?}", trace.notes);
    assert_eq!(trace.interpreter.is_some(), dynamic, "{program}");
    assert_eq!(trace.notes.contains(&TraceNote::Static), !dynamic, "{program}");
    assert!(trace.instants.main.is_some() && in_order(&trace.instants), "{program}: {:?}", trace.instants);
    let sum: u64 = trace.phases.iter().map(|phase| phase.duration.0).sum();
    assert_eq!(sum, trace.instants.end.0, "the phases cover the trace without gap or overlap");
}

#[test]
fn glibc_programs_of_every_linkage() {
    need!("cc", "strip");
    let dir = Fixture::new();
    for (flags, dynamic) in
        [(&[][..], true), (&["-no-pie"], true), (&["-s"], true), (&["-static"], false), (&["-static-pie", "-s"], false)]
    {
        phases_are_right(&built(&dir, "cc", flags), dynamic);
    }
    phases_are_right(&built(&dir, "cc", &["-Wl,-z,lazy"]), true);
}

#[test]
fn musl_programs_of_every_linkage() {
    need!("musl-gcc");
    let dir = Fixture::new();
    for (flags, dynamic) in [(&[][..], true), (&["-s"], true), (&["-static"], false), (&["-static", "-s"], false)] {
        phases_are_right(&built(&dir, "musl-gcc", flags), dynamic);
    }
}

#[test]
fn main_is_where_the_symbol_table_says() {
    need!("cc", "nm");
    let dir = Fixture::new();
    // The program prints the address of its `main`; nm prints that of the symbol.
    dir.write("p.c", "#include <stdio.h>\nint main(void) { printf(\"%p\\n\", (void *)main); return 0; }");
    dir.cc(["-no-pie", "-o", "p", "p.c"]);
    let trace = run(options(Until::Exit, dir.join("p").to_str().unwrap()));
    assert!(trace.instants.main.is_some());
    let told = Ran::of(&mut dir.command(dir.join("p"))).stdout;
    let symbols = dir.must("nm", ["p"]);
    let symbol = symbols.lines().find(|line| line.ends_with(" T main")).unwrap();
    let address = u64::from_str_radix(symbol.split(' ').next().unwrap(), 16).unwrap();
    assert_eq!(told.trim(), format!("{address:#x}"));
}

#[test]
fn a_program_without_a_c_library_has_no_main() {
    need!("cc");
    let dir = Fixture::new();
    dir.write("p.c", "void _start(void) { __asm__ volatile(\"mov $60, %eax; mov $5, %edi; syscall\"); }");
    if cfg!(target_arch = "aarch64") {
        dir.write("p.c", "void _start(void) { __asm__ volatile(\"mov x8, #93; mov x0, #5; svc #0\"); }");
    }
    dir.cc(["-nostdlib", "-static", "-o", "p", "p.c"]);
    let trace = run(options(Until::Exit, dir.join("p").to_str().unwrap()));
    assert_eq!(trace.end, End::Exited(5));
    assert!(trace.instants.entry.is_some() && trace.instants.main.is_none());
    assert!(trace.notes.iter().any(|note| matches!(note, TraceNote::MainUnknown { .. })), "{:?}", trace.notes);
    assert!(trace.phase(PhaseKind::Main).is_some());
}

#[test]
fn a_go_program_runs_to_its_end() {
    need!("go");
    let dir = Fixture::new();
    dir.write("p.go", "package main\nimport \"os\"\nfunc main() { os.Exit(9) }");
    let built = dir.command("go").args(["build", "-o", "p", "p.go"]).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let trace = run(options(Until::Exit, dir.join("p").to_str().unwrap()));
    assert_eq!(trace.end, End::Exited(9));
    assert!(trace.instants.entry.is_some() && trace.instants.main.is_none());
}

#[test]
fn after_main_the_command_runs_on_untraced() {
    need!("cc");
    let dir = Fixture::new();
    // A seccomp filter without its tracer would make this open fail; an attached tracer shows in /proc.
    dir.write(
        "p.c",
        "#include <stdio.h>\n#include <string.h>\nint main(void) { char line[256]; FILE *f = fopen(\"/proc/self/status\", \"r\");\n\
         while (f && fgets(line, sizeof line, f)) if (!strncmp(line, \"TracerPid:\", 10) || !strncmp(line, \"Seccomp:\", 8)) fputs(line, stdout);\n\
         return f ? 0 : 1; }",
    );
    dir.cc(["-o", "p", "p.c"]);
    for until in [Until::Entry, Until::Main] {
        let mut output = tempfile::tempfile().unwrap();
        let mut options = options(until, dir.join("p").to_str().unwrap());
        options.output = Output::File(output.try_clone().unwrap());
        let trace = run(options);
        assert_eq!(trace.end, End::Exited(0), "{until:?}");
        let mut text = String::new();
        output.rewind().unwrap();
        output.read_to_string(&mut text).unwrap();
        let ours = std::fs::read_to_string("/proc/self/status").unwrap();
        let seccomp = ours.lines().find(|line| line.starts_with("Seccomp:")).unwrap();
        assert_eq!(text.lines().collect::<Vec<_>>(), ["TracerPid:\t0", seccomp], "{until:?}");
        assert_eq!(trace.instants.main.is_some(), until == Until::Main);
    }
}

#[test]
fn a_stopped_child_stays_stopped_until_it_is_continued() {
    need!("cc");
    let dir = Fixture::new();
    dir.write(
        "p.c",
        "#include <signal.h>\n#include <sys/wait.h>\n#include <unistd.h>\nint main(void) { int status; pid_t p = fork();\n\
         if (!p) { raise(SIGSTOP); _exit(6); }\n\
         if (waitpid(p, &status, WUNTRACED) != p || !WIFSTOPPED(status)) return 1;\n\
         if (waitpid(p, &status, WNOHANG | WUNTRACED) != 0) return 2;\n\
         kill(p, SIGCONT); return waitpid(p, &status, 0) == p && WIFEXITED(status) ? WEXITSTATUS(status) : 3; }",
    );
    dir.cc(["-o", "p", "p.c"]);
    for calls in [CallSet::Default, CallSet::All] {
        let trace = run(TraceOptions { calls, ..options(Until::Exit, dir.join("p").to_str().unwrap()) });
        assert_eq!(trace.end, End::Exited(6));
    }
}

#[test]
fn killed_at_the_entry_point_nothing_of_the_program_has_run() {
    need!("cc");
    let dir = Fixture::new();
    let program = built(&dir, "cc", &[]);
    let trace = run(TraceOptions { then: Then::Kill, ..options(Until::Entry, &program) });
    assert_eq!(trace.end, End::Stopped);
    assert_eq!(marks(&trace), []);
    assert!(trace.loader_events().any(|event| event.name() == "openat"));
}

#[test]
fn threads_and_children_of_initialisers_are_let_go_too() {
    need!("cc");
    let dir = Fixture::new();
    dir.write(
        "p.c",
        "#include <pthread.h>\n#include <sys/wait.h>\n#include <unistd.h>\nstatic pthread_t t; static pid_t child; static int ends[2];\n\
         static void *work(void *p) { char c; return read(ends[0], &c, 1) == 1 ? p : 0; }\n\
         __attribute__((constructor)) static void before(void) { pipe(ends); pthread_create(&t, 0, work, &t); child = fork(); if (!child) { usleep(1000); _exit(4); } }\n\
         int main(void) { int status; void *r; write(ends[1], \"x\", 1); pthread_join(t, &r); waitpid(child, &status, 0);\n\
         return r == &t && WIFEXITED(status) ? WEXITSTATUS(status) : 1; }",
    );
    dir.cc(["-pthread", "-o", "p", "p.c"]);
    for until in [Until::Main, Until::Exit] {
        let trace = run(options(until, dir.join("p").to_str().unwrap()));
        assert_eq!(trace.end, End::Exited(4), "{until:?}");
        assert_eq!(trace.tasks.len(), 3, "{until:?}");
    }
}

#[test]
fn libraries_with_their_failed_lookups_and_directories() {
    need!("cc");
    let dir = Fixture::new();
    for folder in ["one", "two", "three"] {
        dir.mkdir(folder);
    }
    dir.write("l.c", "int l(void) { return 3; }");
    dir.write("p.c", "int l(void); int main(void) { return l(); }");
    dir.cc(["-shared", "-fPIC", "-Wl,-soname,libl.so.1", "-o", "three/libl.so.1", "l.c"]);
    let rpath = ["one", "two", "three"].map(|folder| dir.join(folder).to_str().unwrap().to_owned());
    dir.cc(["-o", "p", "p.c", "three/libl.so.1", &format!("-Wl,--disable-new-dtags,-rpath,{}", rpath.join(":"))]);
    let trace = run(options(Until::Main, dir.join("p").to_str().unwrap()));
    assert_eq!(trace.end, End::Exited(3));
    let library = trace.libraries.iter().find(|library| library.name.bytes() == "libl.so.1").unwrap();
    assert_eq!(library.path.to_string(), format!("{}/libl.so.1", rpath[2]));
    let opened =
        |folder: &str| library.failed.iter().any(|tried| tried.path.to_string() == format!("{folder}/libl.so.1"));
    assert!(opened(&rpath[0]) && opened(&rpath[1]), "{:?}", library.failed);
    assert!(library.mappings >= 2 && library.relocate.is_some() && library.phase == PhaseKind::Loader);
    let failed_opens = trace.loader_events().filter(|event| event.name() == "openat" && event.failed()).count();
    let claimed =
        trace.libraries.iter().flat_map(|library| &library.failed).filter(|tried| tried.call.to_string() == "openat");
    assert_eq!(claimed.count(), failed_opens, "every failed open belongs to the library that it looked for");
    assert!(trace.directories.iter().any(|cost| cost.directory.to_string() == rpath[0] && cost.failed > 0));
    assert!(trace.libraries.iter().any(|library| library.name.bytes() == "libc.so.6"));
    assert!(trace.missing.is_empty(), "{:?}", trace.missing);
}

#[test]
fn a_missing_library_is_named_with_its_lookups() {
    need!("cc");
    let dir = Fixture::new();
    dir.mkdir("gone");
    dir.write("l.c", "int l(void) { return 3; }");
    dir.write("p.c", "int l(void); int main(void) { return l(); }");
    dir.cc(["-shared", "-fPIC", "-Wl,-soname,libgone.so.1", "-o", "libgone.so.1", "l.c"]);
    dir.cc(["-o", "p", "p.c", "libgone.so.1", &format!("-Wl,-rpath,{}/gone", dir.text())]);
    std::fs::remove_file(dir.join("libgone.so.1")).unwrap();
    let trace = run(options(Until::Main, dir.join("p").to_str().unwrap()));
    assert_eq!(trace.end, End::Exited(127));
    assert!(trace.notes.contains(&TraceNote::EndedEarly));
    assert_eq!(trace.instants.entry, None);
    let [missing] = &trace.missing[..] else { panic!("{:?}", trace.missing) };
    assert_eq!(missing.name.to_string(), "libgone.so.1");
    assert!(missing.failed.iter().any(|tried| tried.path.to_string() == format!("{}/gone/libgone.so.1", dir.text())));
}

#[test]
fn descriptor_calls_carry_the_path_that_was_opened() {
    need!("cc");
    let dir = Fixture::new();
    let program = built(&dir, "cc", &[]);
    let trace = run(options(Until::Entry, &program));
    let libc: Vec<&str> = trace
        .loader_events()
        .filter(|event| event.path.as_ref().is_some_and(|path| path.file_name() == "libc.so.6"))
        .map(underpin_trace::Event::name)
        .collect();
    assert_eq!(libc.first(), Some(&"openat"), "{libc:?}");
    assert_eq!(libc.last(), Some(&"close"), "{libc:?}");
    for name in ["read", "mmap"] {
        assert!(libc.contains(&name), "{name} in {libc:?}");
    }
    let heap: Vec<_> = trace.loader_events().filter(|event| event.heap_growth()).collect();
    assert!(!heap.is_empty() && heap.iter().all(|event| event.path.is_none()), "{heap:?}");
    let zeroed = trace
        .loader_events()
        .filter(|event| event.mapping().is_some_and(|map| map.anonymous()) && !event.heap_growth());
    assert!(zeroed.count() >= 1, "libc's zeroed data is mapped over its end, and is no heap");
}

#[test]
fn exit_statuses_of_commands_that_do_not_start() {
    let dir = Fixture::new();
    dir.write("script", "not a program");
    dir.chmod("script", 0o755);
    dir.write("dangling", "#!/no/such/interpreter\n");
    dir.chmod("dangling", 0o755);
    for (name, status) in [("absent", 127), ("script", 126), ("dangling", 127)] {
        for until in [Until::Main, Until::Exit] {
            let error = Session::new(options(until, dir.join(name).to_str().unwrap())).run().unwrap_err();
            assert_eq!(error.exit_status(), status, "{name}: {error}");
            assert!(matches!(error, TraceError::Launch(_)));
        }
    }
    assert_eq!(Session::new(TraceOptions::default()).run().unwrap_err().exit_status(), 125);
}

#[test]
fn the_first_output_is_noticed_where_only_chosen_calls_stop() {
    need!("cc");
    let dir = Fixture::new();
    let program = built(&dir, "cc", &[]);
    let output = tempfile::tempfile().unwrap();
    let trace =
        run(TraceOptions { output: Output::File(output.try_clone().unwrap()), ..options(Until::Exit, &program) });
    assert!(trace.instants.first_output.is_some_and(|at| Some(at) >= trace.instants.main), "{:?}", trace.instants);
    assert!(in_order(&trace.instants));
    let silent = run(options(Until::Exit, &program));
    assert_eq!(silent.instants.first_output, None, "what goes to the null device is nobody's output");
}

/// inotify does not cover sockets, so a bounded number of calls is inspected instead.
#[test]
fn the_first_output_to_a_socket_is_looked_for_and_given_up() {
    need!("cc");
    let dir = Fixture::new();
    let to_a_socket = |program: &str| {
        let (theirs, _ours) = std::os::unix::net::UnixStream::pair().unwrap();
        let output = Output::File(File::from(std::os::fd::OwnedFd::from(theirs)));
        run(TraceOptions { output, ..options(Until::Exit, program) })
    };
    let trace = to_a_socket(&built(&dir, "cc", &[]));
    assert_eq!(trace.end, End::Exited(7));
    assert!(trace.phase(PhaseKind::AfterOutput).is_some() && in_order(&trace.instants), "{:?}", trace.instants);
    dir.write(
        "q.c",
        "#include <unistd.h>\nint main(void) { for (int i = 0; i < 1000; i++) getppid(); return write(1, \"x\", 1) != 1; }",
    );
    dir.cc(["-o", "q", "q.c"]);
    let trace = to_a_socket(dir.join("q").to_str().unwrap());
    assert_eq!((trace.end, trace.instants.first_output), (End::Exited(0), None));
    assert!(trace.notes.iter().any(|note| matches!(note, TraceNote::FirstOutputGivenUp { .. })), "{:?}", trace.notes);
    assert!(trace.totals.iter().all(|total| total.name.name() != Some("getppid")), "looked at and not counted");
}

#[test]
fn events_beyond_the_limit_are_counted() {
    need!("cc");
    let dir = Fixture::new();
    let program = built(&dir, "cc", &[]);
    let whole = run(options(Until::Exit, &program));
    let cut = run(TraceOptions { event_limit: Some(5), ..options(Until::Exit, &program) });
    assert_eq!(cut.events.len(), 5);
    assert_eq!(cut.events_dropped + 5, whole.events.len() as u64);
    let calls = |trace: &Trace| trace.totals.iter().map(|total| total.calls).sum::<u64>();
    assert_eq!(calls(&cut), calls(&whole));
}

#[test]
fn a_call_that_ends_its_process_is_an_event_and_no_count() {
    let trace = run(options(Until::Exit, "true"));
    let last = trace.events.last().unwrap();
    assert_eq!((last.name(), last.outcome), ("exit_group", CallOutcome::NotSeen));
    assert!(trace.totals.iter().all(|total| total.name.name() != Some("exit_group")));
}

#[test]
fn the_doubt_is_measured() {
    let doubt = run(options(Until::Exit, "true")).doubt;
    assert!(doubt.stops > 20 && doubt.per_call.0 > 0 && doubt.handling.0 > 0, "{doubt:?}");
    assert_eq!(doubt.total.0, doubt.per_stop.0 * doubt.stops);
}

#[test]
fn a_trace_leaves_other_children_of_this_process_alone() {
    let mut other = std::process::Command::new("true").spawn().unwrap();
    run(options(Until::Exit, "true"));
    assert!(other.wait().unwrap().success());
    assert!(File::open("/proc/self/status").is_ok());
}
