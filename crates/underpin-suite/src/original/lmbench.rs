//! lmbench 3 (`src`): one program for each kind of figure, run as `scripts/lmbench` runs them for the rows of
//! `scripts/getsummary`. All figures go to standard error, as `LABEL: NUMBER microseconds` or as a table.
//!
//! Its licence (`COPYING-2`) lets figures be published only of unmodified programs, and only all of them with the raw
//! output: nothing in its sources is changed, and no output of it is kept here.

use super::parse::{ParseError, Printed, number, positive, whole_lines};
use super::recipe::{Program, Recipe, Role, Run, Setting, Step, WorkFile, Written, owned};
use super::{Amount, Figure, Readings, RowName};
use crate::row::Suite;
use std::time::Duration;

type Words = &'static [&'static str];

/// What a run prints.
#[derive(Clone, Copy)]
enum Prints {
    /// `LABEL: NUMBER microseconds` for each label, of which the row is the mean.
    Micro(Words),
    /// `LABEL: NUMBER MB/sec`, in millions of bytes.
    Megabytes(&'static str),
    /// `SIZE NUMBER`, both in millions of bytes; the size as it is printed. bw_tcp puts `MB/sec` behind it.
    SizeAndMegabytes(&'static str),
    /// `SIZE NUMBER`: microseconds.
    SizeAndMicro(&'static str),
    /// `"size=Nk ovr=NUMBER`, then for each number of processes `PROCESSES MICROSECONDS`.
    Switches(&'static str),
    /// `SIZEk FILES CREATED DELETED`, files in a second, for four sizes.
    Files,
}

/// A run: its name, the rows, what is started, and what comes out.
struct Entry {
    name: &'static str,
    rows: Words,
    /// Programs with their words, one after another.
    steps: &'static [(&'static str, Words)],
    prints: Prints,
}

const fn entry(name: &'static str, rows: Words, steps: &'static [(&'static str, Words)], prints: Prints) -> Entry {
    Entry { name, rows, steps, prints }
}

/// The file that is mapped and read, and its size; `suites/os` has the same (`LARGE_BYTES`).
const FILE: &str = "file";
const FILE_BYTES: u64 = 64 << 20;
/// What `lmdd` writes at a time, which makes this file in `scripts/lmbench`.
const PIECE: usize = 8192;

#[rustfmt::skip]
const ENTRIES: &[Entry] = &[
    entry("null-call", &["null-call"], &[("lat_syscall", &["null"])], Prints::Micro(&["Simple syscall"])),
    entry("null-io", &["null-io"], &[("lat_syscall", &["read"]), ("lat_syscall", &["write"])],
          Prints::Micro(&["Simple read", "Simple write"])),
    entry("stat", &["stat"], &[("lat_syscall", &["stat", FILE])], Prints::Micro(&["Simple stat"])),
    entry("open-close", &["open-close"], &[("lat_syscall", &["open", FILE])], Prints::Micro(&["Simple open/close"])),
    entry("select-tcp-100", &["select-tcp-100"], &[("lat_select", &["-n", "100", "tcp"])],
          Prints::Micro(&["Select on 100 tcp fd's"])),
    entry("signal-install", &["signal-install"], &[("lat_sig", &["install"])],
          Prints::Micro(&["Signal handler installation"])),
    entry("signal-handle", &["signal-handle"], &[("lat_sig", &["catch"])], Prints::Micro(&["Signal handler overhead"])),
    entry("fork", &["fork"], &[("lat_proc", &["fork"])], Prints::Micro(&["Process fork+exit"])),
    entry("exec", &["exec"], &[("lat_proc", &["exec"])], Prints::Micro(&["Process fork+execve"])),
    entry("sh-system", &["sh-system"], &[("lat_proc", &["shell"])], Prints::Micro(&["Process fork+/bin/sh -c"])),
    entry("context-0k", &["context-2p-0k"], &[("lat_ctx", &["-s", "0", "2", "8", "16"])], Prints::Switches("0k")),
    entry("context-16k", &["context-2p-16k", "context-8p-16k", "context-16p-16k"],
          &[("lat_ctx", &["-s", "16", "2", "8", "16"])], Prints::Switches("16k")),
    entry("context-64k", &["context-2p-64k", "context-8p-64k", "context-16p-64k"],
          &[("lat_ctx", &["-s", "64", "2", "8", "16"])], Prints::Switches("64k")),
    entry("pipe-latency", &["pipe-latency"], &[("lat_pipe", &[])], Prints::Micro(&["Pipe latency"])),
    entry("af-unix-latency", &["af-unix-latency"], &[("lat_unix", &[])],
          Prints::Micro(&["AF_UNIX sock stream latency"])),
    entry("udp-latency", &["udp-latency"], &[("lat_udp", &[HOST])], Prints::Micro(&["UDP latency using localhost"])),
    entry("tcp-latency", &["tcp-latency"], &[("lat_tcp", &[HOST])], Prints::Micro(&["TCP latency using localhost"])),
    entry("tcp-connect", &["tcp-connect"], &[("lat_connect", &[HOST])],
          Prints::Micro(&["TCP/IP connection cost to localhost"])),
    entry("files", &["create-0k", "delete-0k", "create-10k", "delete-10k"], &[("lat_fs", &["."])], Prints::Files),
    entry("mmap-latency", &["mmap-latency"], &[("lat_mmap", &["64m", FILE])], Prints::SizeAndMicro("67.108864")),
    entry("protection-fault", &["protection-fault"], &[("lat_sig", &["prot", FILE])],
          Prints::Micro(&["Protection fault"])),
    entry("page-fault", &["page-fault"], &[("lat_pagefault", &[FILE])], Prints::Micro(&["Pagefaults on file"])),
    entry("select-file-100", &["select-file-100"], &[("lat_select", &["-n", "100", "file"])],
          Prints::Micro(&["Select on 100 fd's"])),
    entry("pipe-bandwidth", &["pipe-bandwidth"], &[("bw_pipe", &[])], Prints::Megabytes("Pipe bandwidth")),
    entry("af-unix-bandwidth", &["af-unix-bandwidth"], &[("bw_unix", &[])],
          Prints::Megabytes("AF_UNIX sock stream bandwidth")),
    entry("tcp-bandwidth", &["tcp-bandwidth"], &[("bw_tcp", &["-m", "10M", HOST])],
          Prints::SizeAndMegabytes("10.485760")),
    entry("file-reread", &["file-reread"], &[("bw_file_rd", &["64m", "io_only", FILE])],
          Prints::SizeAndMegabytes("67.11")),
    entry("mmap-reread", &["mmap-reread"], &[("bw_mmap_rd", &["64m", "mmap_only", FILE])],
          Prints::SizeAndMegabytes("67.11")),
    entry("copy-libc", &["copy-libc"], &[("bw_mem", &["32m", "bcopy"])], Prints::SizeAndMegabytes("33.55")),
    entry("copy-by-hand", &["copy-by-hand"], &[("bw_mem", &["32m", "fcp"])], Prints::SizeAndMegabytes("33.55")),
    entry("memory-read", &["memory-read"], &[("bw_mem", &["64m", "frd"])], Prints::SizeAndMegabytes("67.11")),
    entry("memory-write", &["memory-write"], &[("bw_mem", &["64m", "fwr"])], Prints::SizeAndMegabytes("67.11")),
];

/// The argument of a client; the label of its figure has it too.
const HOST: &str = "localhost";

/// Programs that are a server too: with `-s` they go to the background, with `-S` they end the one that is there. Their
/// ports are fixed (31234 to 31238).
const SERVERS: [&str; 4] = ["lat_udp", "lat_tcp", "lat_connect", "bw_tcp"];

/// `lat_proc` starts this path, whatever its arguments.
const HELLO: (&str, &str) = ("hello", "/tmp/hello");

/// The library of all programs, of which the makefile's archive gives each what it needs.
const BASE: Words = &["lib_timing.c", "lib_sched.c", "getopt.c"];

/// The makefile's `-O`. The sources are of 1994 to 2005: K&R C, which compilers take as C89 only. `HAVE_*` is what
/// `scripts/build` finds on Linux; without the others the sources use `long long`.
const OPTIONS: Words = &[
    "-O",
    "-std=gnu89",
    "-w",
    "-Wno-error=implicit-function-declaration",
    "-Wno-error=int-conversion",
    "-Wno-error=incompatible-pointer-types",
    "-Wno-error=return-type",
    "-I.",
    "-DRUSAGE",
    "-DHAVE_uint",
    "-DHAVE_DRAND48",
    "-lm",
];

/// No C library has Sun RPC any more. The port mapper is asked for numbers of programs only, and lmbench is compiled
/// for fixed ports (`NO_PORTMAPPER`).
const RPC: [Written; 2] = [
    Written {
        path: "rpc/rpc.h",
        text: "#define pmap_set(program, version, protocol, port) 0\n\
               #define pmap_unset(program, version) 0\n\
               #define pmap_getport(address, program, version, protocol) 0\n",
    },
    Written { path: "rpc/types.h", text: "\n" },
];

const fn row(name: &'static str) -> RowName {
    RowName { suite: Suite::Os, name }
}

pub(super) fn recipe(setting: &Setting) -> Recipe {
    let mut names: Vec<&'static str> = vec![HELLO.0];
    for (program, _) in ENTRIES.iter().flat_map(|entry| entry.steps) {
        if !names.contains(program) {
            names.push(program);
        }
    }
    // `ENOUGH` is the least microseconds of one repetition. The script has it found by a program of its own, and the
    // overheads too; a known value is the same under all builds.
    let enough = if setting.is_quick { "10000" } else { "50000" };
    Recipe {
        written: RPC.to_vec(),
        programs: names.into_iter().map(program).collect(),
        copied: Vec::new(),
        work_files: vec![WorkFile { name: FILE, bytes: FILE_BYTES, piece: PIECE }],
        environment: vec![("ENOUGH", enough), ("TIMING_O", "0"), ("LOOP_O", "0")],
        runs: ENTRIES.iter().map(|entry| run(entry, setting.is_quick)).collect(),
    }
}

fn program(name: &'static str) -> Program {
    let own = PROGRAM_FILES.iter().find(|(program, _)| *program == name).map_or("", |(_, file)| *file);
    let mut sources = vec![own];
    if name != HELLO.0 {
        sources.extend(BASE);
    }
    if SERVERS.contains(&name) || name == "lat_select" {
        sources.push("lib_tcp.c");
    }
    if name == "lat_udp" {
        sources.push("lib_udp.c");
    }
    Program { name, sources, takes_the_folder: false, options: owned(OPTIONS) }
}

/// Programs and their own files.
const PROGRAM_FILES: [(&str, &str); 20] = [
    ("hello", "hello.c"),
    ("lat_syscall", "lat_syscall.c"),
    ("lat_select", "lat_select.c"),
    ("lat_sig", "lat_sig.c"),
    ("lat_proc", "lat_proc.c"),
    ("lat_ctx", "lat_ctx.c"),
    ("lat_pipe", "lat_pipe.c"),
    ("lat_unix", "lat_unix.c"),
    ("lat_udp", "lat_udp.c"),
    ("lat_tcp", "lat_tcp.c"),
    ("lat_connect", "lat_connect.c"),
    ("lat_fs", "lat_fs.c"),
    ("lat_mmap", "lat_mmap.c"),
    ("lat_pagefault", "lat_pagefault.c"),
    ("bw_pipe", "bw_pipe.c"),
    ("bw_unix", "bw_unix.c"),
    ("bw_tcp", "bw_tcp.c"),
    ("bw_file_rd", "bw_file_rd.c"),
    ("bw_mmap_rd", "bw_mmap_rd.c"),
    ("bw_mem", "bw_mem.c"),
];

fn run(entry: &Entry, is_quick: bool) -> Run {
    // These take a second or more for each repetition, whatever ENOUGH is.
    let is_server = entry.steps.iter().any(|(program, _)| SERVERS.contains(program));
    let is_long = is_server || matches!(entry.prints, Prints::Megabytes(_) | Prints::Files);
    let mut steps = Vec::new();
    for (program, words) in entry.steps {
        let mut words = words.to_vec();
        if is_quick && is_long {
            // Of 11 repetitions, whose median is the figure.
            words.splice(0..0, ["-N", "3"]);
        }
        let measures = Step::measures(program, &words);
        if SERVERS.contains(program) {
            let serves = Role::Serves { ready: Duration::from_millis(500) };
            steps.push(Step { role: serves, ..Step::measures(program, &["-s"]) });
            steps.push(measures);
            steps.push(Step { role: Role::Ends, ..Step::measures(program, &["-S", HOST]) });
        } else {
            steps.push(measures);
        }
    }
    let starts_hello = matches!(entry.name, "exec" | "sh-system");
    Run {
        name: entry.name,
        rows: entry.rows.iter().copied().map(row).collect(),
        steps,
        installed: starts_hello.then_some(HELLO),
        usual: Duration::from_secs(if is_long && !is_quick { 30 } else { 5 }),
        deadline: Duration::from_secs(300),
    }
}

pub(super) fn parse(run: &str, printed: &Printed<'_>) -> Result<Readings, ParseError> {
    let entry = ENTRIES.iter().find(|entry| entry.name == run);
    let entry = entry.ok_or_else(|| ParseError::UnknownRun(run.to_owned()))?;
    let read = Output { entry, text: printed.stderr };
    let amounts = match entry.prints {
        Prints::Micro(labels) => read.micro(labels),
        Prints::Megabytes(label) => read.one(&format!("`{label}: NUMBER MB/sec`"), |line| {
            let rest = line.strip_prefix(label)?.strip_prefix(": ")?.strip_suffix(" MB/sec")?;
            positive(rest, &[2]).map(|megabytes| Amount::BytesPerSecond(megabytes * 1e6))
        }),
        Prints::SizeAndMegabytes(size) => read.one(&format!("`{size} NUMBER`"), |line| {
            let rest = line.strip_prefix(size)?.strip_prefix(' ')?;
            positive(rest.strip_suffix(" MB/sec").unwrap_or(rest), &[2, 6])
                .map(|megabytes| Amount::BytesPerSecond(megabytes * 1e6))
        }),
        Prints::SizeAndMicro(size) => read.one(&format!("`{size} NUMBER`"), |line| {
            positive(line.strip_prefix(size)?.strip_prefix(' ')?, &[0, 3]).map(|micro| Amount::Seconds(micro / 1e6))
        }),
        Prints::Switches(size) => read.switches(size),
        Prints::Files => read.files(),
    }?;
    Ok(readings(entry, &amounts))
}

const NO_FIGURE: &str = "lmbench printed no figure: the work took less than what is subtracted from it, or it failed";

/// The amounts of the rows, in their order; `None` for one that is not above zero or not printed.
fn readings(entry: &Entry, amounts: &[Option<Amount>]) -> Readings {
    let mut readings = Readings::default();
    for (at, name) in entry.rows.iter().enumerate() {
        match amounts.get(at).copied().flatten().and_then(Figure::new) {
            Some(figure) => readings.figures.push((row(name), figure)),
            None => readings.refused.push((row(name), NO_FIGURE.to_owned())),
        }
    }
    readings
}

/// The output of a run.
struct Output<'t> {
    entry: &'static Entry,
    text: &'t str,
}

type Amounts = Result<Vec<Option<Amount>>, ParseError>;

impl<'t> Output<'t> {
    fn lines(&self, expected: &str) -> Result<Vec<&'t str>, ParseError> {
        Ok(whole_lines(self.entry.name, self.text, expected)?.collect())
    }

    fn wrong(&self, line: &str, expected: &str) -> ParseError {
        ParseError::line(self.entry.name, line, expected)
    }

    fn missing(&self, expected: &str) -> ParseError {
        ParseError::missing(self.entry.name, self.text, expected)
    }

    /// One line.
    fn one(&self, expected: &str, amount: impl Fn(&str) -> Option<Amount>) -> Amounts {
        let lines = self.lines(expected)?;
        let wrong = lines.iter().find(|line| amount(line).is_none()).or(lines.get(1));
        if let Some(line) = wrong {
            return Err(self.wrong(line, expected));
        }
        let figure = lines.first().and_then(|line| amount(line));
        figure.map(|figure| vec![Some(figure)]).ok_or_else(|| self.missing(expected))
    }

    /// One line for each label, of which the mean is taken.
    fn micro(&self, labels: Words) -> Amounts {
        let expected = format!("`{}: NUMBER microseconds`", labels.join("` and `"));
        let mut found: Vec<(&str, f64)> = Vec::new();
        for line in self.lines(&expected)? {
            let of = |label: &&&str| {
                let rest = line.strip_prefix(**label)?.strip_prefix(": ")?;
                positive(rest.strip_suffix(" microseconds")?, &[4])
            };
            let read = labels.iter().find_map(|label| of(&label).map(|micro| (*label, micro)));
            match read {
                Some((label, micro)) if !found.iter().any(|(known, _)| *known == label) => found.push((label, micro)),
                _ => return Err(self.wrong(line, &expected)),
            }
        }
        if found.len() != labels.len() {
            return Err(self.missing(&expected));
        }
        let mean = found.iter().map(|(_, micro)| micro).sum::<f64>() / found.len() as f64;
        Ok(vec![Some(Amount::Seconds(mean / 1e6))])
    }

    /// The table of `lat_ctx`. It leaves a number of processes out if its overhead was more than the time.
    fn switches(&self, size: &str) -> Amounts {
        let expected = format!("`\"size={size} ovr=NUMBER` and lines of `PROCESSES MICROSECONDS`");
        let lines = self.lines(&expected)?;
        let overhead = lines.first().and_then(|line| line.strip_prefix(&format!("\"size={size} ovr=")));
        if overhead.and_then(|text| number(text, &[2])).is_none() {
            return Err(lines.first().map_or_else(|| self.missing(&expected), |line| self.wrong(line, &expected)));
        }
        let mut found: Vec<(u32, f64)> = Vec::new();
        for line in lines.iter().skip(1) {
            let read = line
                .split_once(' ')
                .and_then(|(processes, micro)| Some((processes.parse().ok()?, number(micro, &[2])?)));
            match read {
                Some((processes @ (2 | 8 | 16), micro)) if found.iter().all(|(before, _)| *before < processes) => {
                    found.push((processes, micro));
                }
                _ => return Err(self.wrong(line, &expected)),
            }
        }
        if found.is_empty() {
            return Err(self.missing(&expected));
        }
        let of = |processes: &u32| found.iter().find(|(known, _)| known == processes);
        Ok([2, 8, 16].iter().map(|processes| of(processes).map(|(_, micro)| Amount::Seconds(micro / 1e6))).collect())
    }

    /// The table of `lat_fs`. It prints -1 for what took no time.
    fn files(&self) -> Amounts {
        let expected = "`SIZEk FILES CREATED DELETED` for 0k, 1k, 4k and 10k";
        let lines = self.lines(expected)?;
        let mut amounts = Vec::new();
        for (at, size) in ["0k", "1k", "4k", "10k"].into_iter().enumerate() {
            let line = lines.get(at).ok_or_else(|| self.missing(expected))?;
            let fields: Vec<&str> = line.split('\t').collect();
            let is_figure = |text: &&str| **text == *"-1" || number(text, &[0]).is_some();
            let [name, files @ .., created, deleted] = fields.as_slice() else {
                return Err(self.wrong(line, expected));
            };
            if *name != size || files.len() != 1 || !fields.iter().skip(1).all(is_figure) {
                return Err(self.wrong(line, expected));
            }
            if matches!(size, "0k" | "10k") {
                let seconds = |text: &str| positive(text, &[0]).map(|rate| Amount::Seconds(rate.recip()));
                amounts.extend([seconds(created), seconds(deleted)]);
            }
        }
        lines.get(4).map_or(Ok(amounts), |line| Err(self.wrong(line, expected)))
    }
}
