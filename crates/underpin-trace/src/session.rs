//! From options to a trace: launch, watch, detach, summarise.

use crate::options::Output;
use crate::summary;
use crate::tracer::{OUTPUT_SEARCH, Tracer, gone_is_fine};
use crate::{End, PathText, Then, Trace, TraceError, TraceNote, TraceOptions, Until};
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use underpin_sys::{
    CallFilter, IgnoreInterrupts, Launch, LaunchError, OutputWatch, RawPid, Stop, SysError, Tracee, Watchable,
    effective_capabilities, find_program, wait_any, wait_for,
};

/// A trace of one command.
#[derive(Debug)]
pub struct Session(TraceOptions);

impl Session {
    /// Prepares a session; nothing runs yet.
    #[must_use]
    pub fn new(options: TraceOptions) -> Session {
        Session(options)
    }

    /// Runs the command and watches it as far as requested. Returns when the command has ended, or, with
    /// [`Then::Kill`], when the phase has been reached.
    ///
    /// # Errors
    /// [`TraceError::Launch`] if the command cannot be started or tracing is not permitted. A command that fails
    /// by itself is not an error: its end is in [`Trace::end`].
    pub fn run(self) -> Result<Trace, TraceError> {
        // ptrace and waiting are bound to the thread that started the command: the tracer has its own.
        let thread = std::thread::Builder::new().name("tracer".to_owned()).spawn(move || watch(self.0));
        thread.map_err(|_| TraceError::Thread)?.join().map_err(|_| TraceError::Thread)?
    }
}

fn watch(options: TraceOptions) -> Result<Trace, TraceError> {
    let environment = environment(&options.env);
    let name = options.command.first().ok_or(LaunchError::Empty)?;
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let program = find_program(name, path)?;
    let failed = |source| TraceError::Sys { program: program.clone(), source };
    let chosen = options.calls.calls(options.until);
    let filter = match (&chosen, options.until) {
        (Some(calls), Until::Exit) => {
            Some(CallFilter::stopping(Some(&calls.iter().map(|call| call.0).collect::<Vec<_>>())))
        }
        _ => None,
    };
    let output = open_output(options.output).map_err(failed)?;
    let filtered = filter.is_some();
    let outputs = Outputs::find(output.as_ref(), filtered);
    let launch = Launch {
        program: program.clone(),
        arguments: options.command.clone(),
        environment,
        input: None,
        output,
        directory: None,
        filter,
    };
    let suspended = launch.start()?;
    let _interrupts = IgnoreInterrupts::new();
    let limit = options.event_limit.unwrap_or(TraceOptions::EVENT_LIMIT);
    let mut tracer = Tracer::new(suspended.task.0, options.until, chosen.as_ref(), filtered, limit);
    tracer.outputs = outputs.identities;
    tracer.output_watch = outputs.watch;
    tracer.output_search = outputs.search;
    tracer.notes.extend(privileges(&program));
    gone_is_fine(suspended.task.resume(first_resume(filtered), 0), ()).map_err(failed)?;
    let reached = tracer.run().map_err(failed)?;
    tracer.instants.end = tracer.clock.now();
    tracer.end_output_watch();
    if tracer.instants.exec_done.is_none() {
        return Err(suspended.failure(&program).into());
    }
    let end = finish(&mut tracer, reached, options.then).map_err(failed)?;
    let command = options.command.iter().map(|text| PathText::new(text.as_bytes())).collect();
    let program = PathText::new(program.as_os_str().as_bytes());
    let traced = options.calls.strace_expression(options.until);
    Ok(summary::trace(tracer, summary::Given { command, program, until: options.until, traced, end }))
}

fn first_resume(filtered: bool) -> underpin_sys::Resume {
    if filtered { underpin_sys::Resume::Continue } else { underpin_sys::Resume::ToCall }
}

/// Detaches from the command or kills it, and returns how it ended.
fn finish(tracer: &mut Tracer, reached: Option<Tracee>, then: Then) -> Result<End, SysError> {
    let leader = tracer.leader;
    let Some(task) = reached else {
        if tracer.until != Until::Exit {
            tracer.notes.push(TraceNote::EndedEarly);
        }
        let first = tracer.records.first().and_then(|record| record.ended);
        return Ok(first.unwrap_or(End::Stopped));
    };
    match then {
        Then::Kill => {
            kill_all(tracer)?;
            Ok(End::Stopped)
        }
        Then::Detach => {
            gone_is_fine(tracer.landmarks.disarm_in(task), ())?;
            detach_all(tracer, task)?;
            wait_to_the_end(leader)
        }
    }
}

fn kill_all(tracer: &Tracer) -> Result<(), SysError> {
    for &tid in tracer.tasks.keys().chain(&tracer.early) {
        gone_is_fine(Tracee(tid).kill(), ())?;
    }
    while wait_any()?.is_some() {}
    Ok(())
}

/// Stops every other task and detaches from all of them, including those that appear meanwhile.
fn detach_all(tracer: &Tracer, stopped: Tracee) -> Result<(), SysError> {
    let mut others: VecDeque<RawPid> =
        tracer.tasks.keys().chain(&tracer.early).copied().filter(|&tid| tid != stopped.0).collect();
    while let Some(tid) = others.pop_front() {
        let task = Tracee(tid);
        let stop = if tracer.early.contains(&tid) {
            Some(Stop::Trap)
        } else {
            gone_is_fine(task.interrupt(), ())?;
            wait_for(tid)?.map(|report| report.stop)
        };
        match stop {
            Some(Stop::Exited(_) | Stop::Signalled(_)) | None => {}
            Some(Stop::Signal(signal)) => gone_is_fine(task.detach(signal), ())?,
            Some(Stop::Made { .. }) => {
                others.push_back(task.event_message()?);
                gone_is_fine(task.detach(0), ())?;
            }
            Some(_) => gone_is_fine(task.detach(0), ())?,
        }
    }
    gone_is_fine(stopped.detach(0), ())
}

fn wait_to_the_end(leader: RawPid) -> Result<End, SysError> {
    loop {
        match wait_for(leader)?.map(|report| report.stop) {
            Some(Stop::Exited(code)) => return Ok(End::Exited(code)),
            Some(Stop::Signalled(signal)) => return Ok(End::Signalled(signal)),
            None => return Err(SysError::gone("waiting for the command")),
            Some(_) => {}
        }
    }
}

fn environment(changes: &[(OsString, Option<OsString>)]) -> Vec<(OsString, OsString)> {
    let mut all: Vec<(OsString, OsString)> =
        std::env::vars_os().filter(|(name, _)| changes.iter().all(|(changed, _)| changed != name)).collect();
    all.extend(changes.iter().filter_map(|(name, value)| Some((name.clone(), value.clone()?))));
    all
}

fn open_output(output: Output) -> Result<Option<OwnedFd>, SysError> {
    match output {
        Output::Inherit => Ok(None),
        Output::File(file) => Ok(Some(file.into())),
        Output::Null => match File::options().write(true).open("/dev/null") {
            Ok(file) => Ok(Some(file.into())),
            Err(error) => Err(SysError { what: "opening /dev/null", errno: error.raw_os_error().unwrap_or_default() }),
        },
    }
}

/// The files to which the command's output goes, and how the first write to them is detected.
struct Outputs {
    /// Device and inode.
    identities: Vec<(u64, u64)>,
    watch: Option<OutputWatch>,
    /// Calls to look at if a watch is not possible.
    search: u64,
}

impl Outputs {
    /// If every call stops (no filter), the write itself is seen and nothing else is needed.
    fn find(output: Option<&OwnedFd>, filtered: bool) -> Outputs {
        let descriptors = output.map_or(vec![1, 2], |file| vec![file.as_raw_fd()]);
        let identities = descriptors.iter().filter_map(|&descriptor| identity(descriptor)).collect();
        let of_kind = |kind: Watchable| -> Vec<i32> {
            descriptors.iter().copied().filter(|&one| filtered && OutputWatch::watchable(one) == kind).collect()
        };
        let wanted = of_kind(Watchable::Yes);
        let watch = if wanted.is_empty() { None } else { OutputWatch::new(&wanted).ok() };
        let blind = !of_kind(Watchable::No).is_empty() || (watch.is_none() && !wanted.is_empty());
        Outputs { identities, watch, search: if blind { OUTPUT_SEARCH } else { 0 } }
    }
}

fn identity(descriptor: i32) -> Option<(u64, u64)> {
    let file = std::fs::metadata(format!("/proc/self/fd/{descriptor}")).ok()?;
    Some((file.dev(), file.ino()))
}

/// Without `CAP_SYS_PTRACE` a set-user-id program runs without its privileges under a tracer (`ptrace(2)`).
fn privileges(program: &Path) -> Option<TraceNote> {
    const CAP_SYS_PTRACE: u64 = 1 << 19;
    const SET_ID: u32 = 0o6000;
    let privileged = effective_capabilities().is_some_and(|set| set & CAP_SYS_PTRACE != 0);
    let mode = std::fs::metadata(program).ok()?.permissions().mode();
    let path = PathText::new(OsStr::as_bytes(PathBuf::from(program).as_os_str()));
    (!privileged && mode & SET_ID != 0).then_some(TraceNote::PrivilegesDropped { path })
}
