//! Traces a command and prints its calls as `strace -c` names them, with the points and phases of its start.
//!
//! `counts [--until entry|main|exit] [--calls LIST] [--kill] [--quiet] [--events] -- CMD`. For comparing with strace
//! without the command line of the `underpin` binary in between.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::exit, reason = "a program for the terminal")]

use underpin_trace::{CallSet, Output, Session, Then, Trace, TraceOptions, Until};

fn main() {
    let mut options = TraceOptions::default();
    let (mut quiet, mut events) = (false, false);
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.to_string_lossy().as_ref() {
            "--until" => {
                options.until = match arguments.next().unwrap_or_default().to_string_lossy().as_ref() {
                    "entry" => Until::Entry,
                    "main" => Until::Main,
                    _ => Until::Exit,
                }
            }
            "--calls" => match arguments.next().unwrap_or_default().to_string_lossy().parse::<CallSet>() {
                Ok(calls) => options.calls = calls,
                Err(error) => fail(&error.to_string(), 2),
            },
            "--kill" => options.then = Then::Kill,
            "--null" => options.output = Output::Null,
            "--quiet" => quiet = true,
            "--events" => events = true,
            "--expression" => {
                println!("{}", options.calls.strace_expression(options.until));
                return;
            }
            "--" => {
                options.command = arguments.by_ref().collect();
            }
            other => fail(&format!("unknown argument {other}"), 2),
        }
    }
    match Session::new(options).run() {
        Ok(trace) if quiet => std::process::exit(trace.end.status()),
        Ok(trace) => show(&trace, events),
        Err(error) => fail(&error.to_string(), error.exit_status()),
    }
}

fn fail(message: &str, status: i32) -> ! {
    eprintln!("counts: {message}");
    std::process::exit(status)
}

fn show(trace: &Trace, events: bool) {
    for total in &trace.totals {
        println!("{} {} {}", total.name, total.calls, total.errors);
    }
    eprintln!("{:?} {:?}\n{:?}", trace.end, trace.instants, trace.doubt);
    for phase in &trace.phases {
        eprintln!("{:?} from {} for {} ns: {} calls", phase.kind, phase.start.0, phase.duration.0, phase.calls);
    }
    for library in &trace.libraries {
        eprintln!("{library:?}");
    }
    eprintln!("{:?} {:?}\n{:?}", trace.missing, trace.program_relocate, trace.notes);
    for directory in trace.directories.iter().take(5) {
        eprintln!("{directory:?}");
    }
    if events {
        for task in &trace.tasks {
            eprintln!("{task:?}");
        }
        for event in &trace.events {
            eprintln!("{event:?}");
        }
    }
}
