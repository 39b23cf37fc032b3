//! A trace built by hand: a start with a search, one library that is never found, and a child.

use underpin_trace::{
    CallOutcome, CallTotal, DirectoryCost, End, Errno, Event, FailedTry, Instants, LibraryLoad, MissingLibrary, Nanos,
    PathText, Phase, PhaseKind, Pid, Program, Syscall, Task, TaskKind, Trace, TraceNote, TracingCost, Until,
};

fn path(text: &str) -> PathText {
    PathText::new(text.as_bytes())
}

fn total(name: &str, calls: u64, errors: u64, micros: u64) -> CallTotal {
    CallTotal { name: Syscall::named(name).unwrap(), calls, errors, time: Nanos(micros * 1000) }
}

fn failed(text: &str) -> FailedTry {
    FailedTry { path: path(text), call: Syscall::named("openat").unwrap(), errno: Errno::NOENT, duration: Nanos(4_100) }
}

fn phase(kind: PhaseKind, start: u64, duration: u64, syscalls: Vec<CallTotal>) -> Phase {
    Phase {
        kind,
        start: Nanos(start * 1000),
        duration: Nanos(duration * 1000),
        stops: 2 * syscalls.iter().map(|call| call.calls).sum::<u64>(),
        tracing: Nanos(1_200 * 2 * syscalls.iter().map(|call| call.calls).sum::<u64>()),
        calls: syscalls.iter().map(|call| call.calls).sum(),
        errors: syscalls.iter().map(|call| call.errors).sum(),
        in_calls: Nanos(duration * 400),
        syscalls,
    }
}

fn library(text: &str, tries: Vec<FailedTry>, opened: u64, map: u64, relocate: Option<u64>) -> LibraryLoad {
    LibraryLoad {
        name: PathText::new(path(text).file_name()),
        path: path(text),
        phase: PhaseKind::Loader,
        search: Nanos(tries.len() as u64 * 4_100),
        failed: tries,
        opened: Nanos(opened * 1000),
        map: Nanos(map * 1000),
        mappings: 5,
        relocate: relocate.map(|micros| Nanos(micros * 1000)),
    }
}

fn event(name: &str, text: Option<&str>, start: u64, outcome: CallOutcome) -> Event {
    Event {
        pid: Pid(100),
        tid: Pid(100),
        phase: PhaseKind::Loader,
        call: Syscall::named(name).unwrap(),
        args: [0; 6],
        path: text.map(path),
        by_descriptor: false,
        outcome,
        start: Nanos(start * 1000),
        duration: Nanos(4_100),
    }
}

/// A start of 12.5 ms in four phases.
pub(crate) fn sample_trace() -> Trace {
    let search = vec![failed("/opt/app/bin/../lib/libz.so.1"), failed("/opt/gone/lib/libz.so.1")];
    Trace {
        command: vec![path("./app"), path("--version")],
        program: path("/opt/app/bin/app"),
        interpreter: Some(path("/lib64/ld-linux-x86-64.so.2")),
        until: Until::Exit,
        traced: "all".to_owned(),
        end: End::Exited(0),
        instants: Instants {
            exec_done: Some(Nanos(900_000)),
            loader_ready: Some(Nanos(6_000_000)),
            entry: Some(Nanos(6_800_000)),
            main: Some(Nanos(7_000_000)),
            first_output: Some(Nanos(12_000_000)),
            end: Nanos(12_500_000),
        },
        phases: vec![
            phase(PhaseKind::Exec, 0, 900, vec![total("execve", 1, 0, 850)]),
            phase(
                PhaseKind::Loader,
                900,
                5_100,
                vec![total("mmap", 1_020, 0, 2_100), total("openat", 9, 4, 300), total("read", 4, 0, 40)],
            ),
            phase(PhaseKind::Initialisers, 6_000, 1_000, vec![total("brk", 2, 0, 10)]),
            phase(PhaseKind::Main, 7_000, 5_000, vec![total("openat", 2, 1, 33), total("clone", 1, 0, 120)]),
            phase(PhaseKind::AfterOutput, 12_000, 500, vec![]),
        ],
        totals: vec![
            total("mmap", 1_020, 0, 2_100),
            total("execve", 1, 0, 850),
            total("openat", 11, 5, 333),
            total("clone", 1, 0, 120),
            total("read", 4, 0, 40),
            total("brk", 2, 0, 10),
        ],
        program_relocate: Some(Nanos(40_000)),
        libraries: vec![
            library("/opt/app/bin/../lib/libcore.so.1", vec![], 1_000, 120, Some(310)),
            library("/lib/x86_64-linux-gnu/libz.so.1", search, 1_300, 95, Some(40)),
            library("/lib/x86_64-linux-gnu/libc.so.6", vec![], 1_500, 180, None),
            library("/opt/extra/lib/libdeep.so", vec![], 1_900, 3_000, Some(900)),
        ],
        missing: vec![MissingLibrary {
            name: path("libplugin.so"),
            phase: PhaseKind::Main,
            failed: vec![failed("/opt/app/plugins/libplugin.so")],
        }],
        directories: vec![
            DirectoryCost { directory: path("/opt/gone/lib"), failed: 3, time: Nanos(12_300) },
            DirectoryCost { directory: path("/opt/app/bin/../lib"), failed: 2, time: Nanos(8_200) },
        ],
        tasks: vec![
            Task {
                pid: Pid(100),
                tid: Pid(100),
                parent: None,
                kind: TaskKind::Process,
                start: Nanos(0),
                end: Some(Nanos(12_500_000)),
                programs: vec![Program { path: Some(path("/opt/app/bin/app")), at: Nanos(900_000) }],
                ended: Some(End::Exited(0)),
            },
            Task {
                pid: Pid(100),
                tid: Pid(101),
                parent: Some(Pid(100)),
                kind: TaskKind::Thread,
                start: Nanos(9_000_000),
                end: None,
                programs: vec![],
                ended: None,
            },
        ],
        events: vec![
            event("openat", Some("/opt/gone/lib/libz.so.1"), 1_250, CallOutcome::Failed(Errno::NOENT)),
            event("openat", Some("/lib/x86_64-linux-gnu/libz.so.1"), 1_300, CallOutcome::Returned(3)),
            event("mmap", None, 1_330, CallOutcome::Returned(0x7f00_0000_0000)),
            event("exit_group", None, 12_490, CallOutcome::NotSeen),
        ],
        events_dropped: 7,
        notes: vec![TraceNote::MainUnknown { reason: "the program is stripped".to_owned() }],
        doubt: TracingCost {
            stops: 2_080,
            handling: Nanos(1_000_000),
            per_call: Nanos(1_200),
            per_stop: Nanos(1_400),
            total: Nanos(2_912_000),
        },
    }
}

/// A trace with names that would control the terminal or the page.
pub(crate) fn hostile_trace() -> Trace {
    let mut trace = sample_trace();
    trace.command = vec![path("./\u{1b}[2Ja"), path("</script><b>")];
    trace.libraries[0].path = path("/x/\u{1b}]0;t\u{7}<svg onload=alert(1)>.so");
    trace.libraries[0].name = PathText::new(b"\xff\xfe\"'><i>.so");
    trace.directories[0].directory = path("/tmp/\r\n<script>");
    trace.notes = vec![TraceNote::PrivilegesDropped { path: path("/bin/\u{1b}[31m") }];
    trace
}
