//! Checks in the process itself whether an allocator took effect.
//!
//! The process is stopped at its entry point by a breakpoint, when its loader is done and its initialisers have run or
//! are about to; the loader's list of objects then says whose malloc it uses. That costs a few stops, once, and leaves
//! no trace. Where tracing is not allowed, its maps are looked at from outside until the object is in them.

use crate::{NotTaken, Scope, Stage};
use bstr::ByteSlice;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use underpin_elf::{Details, Elf, FileSource, LibcPlacement};
use underpin_sys::{
    AuxVector, BREAKPOINT, Launch, LaunchError, RawPid, Resume, Stop, SysError, Tracee, auxv, maps, wait_for,
    write_byte_patch,
};

/// What must be found.
#[derive(Clone, Debug)]
pub(crate) enum Expected {
    /// This object serves malloc.
    Object { path: PathBuf, name: String },
    /// The C library does.
    CLibrary { tunables: bool },
}

/// What will be checked, and against what.
#[derive(Clone, Debug)]
pub struct Watch {
    pub(crate) stages: Vec<Stage>,
    pub(crate) expected: Expected,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// The allocator serves the process. It is at its entry point, still traced.
    Taken,
    /// It does not. The process is at its entry point, still traced, except for [`NotTaken::Ended`].
    NotTaken(NotTaken),
    /// The command never reached its own program: it was not executed, or `env` found nothing to execute.
    NoProgram,
}

/// How long an untraced process is observed. Loaders need a few milliseconds; a loaded machine may need more.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(1);

/// How far a traced task has got.
enum Reached {
    Exec,
    Entry,
    End(Stop),
}

impl Watch {
    /// Follows a traced task from before its exec to the entry point of its program.
    ///
    /// # Errors
    /// If the task cannot be traced any more, other than by its end.
    pub fn follow(&self, task: Tracee) -> Result<Confirmation, SysError> {
        for (index, stage) in self.stages.iter().enumerate() {
            if let Reached::End(_) = run_to(task, None)? {
                return Ok(Confirmation::NoProgram);
            }
            let aux = auxv(task.0)?;
            let code = write_byte_patch(task, aux.entry, BREAKPOINT)?;
            task.resume(Resume::Continue, 0)?;
            match run_to(task, Some(aux.entry))? {
                Reached::End(stop) => return Ok(Confirmation::NotTaken(ended(stage, stop))),
                // A loader that executes another program: nothing is known of what follows.
                Reached::Exec => {
                    return Ok(Confirmation::NotTaken(NotTaken::Unseen("its loader executed another".into())));
                }
                Reached::Entry => {}
            }
            write_byte_patch(task, aux.entry, &code)?;
            let mut registers = task.registers()?;
            registers.set_pc(aux.entry);
            task.set_registers(&registers)?;
            if let Err(reason) = self.judge(task.0, stage, &aux) {
                return Ok(Confirmation::NotTaken(reason));
            }
            if index + 1 < self.stages.len() {
                task.resume(Resume::Continue, 0)?;
            }
        }
        Ok(Confirmation::Taken)
    }

    fn judge(&self, pid: RawPid, stage: &Stage, aux: &AuxVector) -> Result<(), NotTaken> {
        let program = || stage.path.clone();
        let needs_loader = match &self.expected {
            Expected::Object { .. } => true,
            Expected::CLibrary { tunables } => *tunables,
        };
        if aux.secure && needs_loader {
            return Err(NotTaken::Privileged { program: program() });
        }
        let scope = Scope::read(pid, aux)?;
        match &self.expected {
            Expected::Object { path, name } => {
                let place = scope.libraries.iter().position(|library| library == path);
                let place = place.ok_or_else(|| NotTaken::NotLoaded { program: program(), object: path.clone() })?;
                match scope.libraries[..place].iter().find(|library| malloc_of(library).is_some()) {
                    Some(by) => Err(NotTaken::Another { program: program(), by: by.clone(), wanted: name.clone() }),
                    None => Ok(()),
                }
            }
            Expected::CLibrary { .. } => match first_malloc(&scope) {
                Some((by, Malloc::Another)) => {
                    Err(NotTaken::Another { program: program(), by, wanted: "the C library's".to_owned() })
                }
                _ => Ok(()),
            },
        }
    }

    /// Starts a command, checks it and kills it before its program has run an instruction: the proof in advance, for
    /// runs that must not be disturbed. (An allocator's and a library's initialisers have run.)
    ///
    /// # Errors
    /// If the command cannot be started or traced.
    pub fn confirm(&self, launch: Launch) -> Result<Confirmation, LaunchError> {
        let program = launch.program.clone();
        let suspended = launch.start_alone()?;
        let task = suspended.task;
        task.resume(Resume::Continue, 0)?;
        let confirmation = self.follow(task)?;
        if confirmation == Confirmation::NoProgram {
            return Err(suspended.failure(&program));
        }
        task.kill_and_reap()?;
        Ok(confirmation)
    }

    /// Looks at the maps of a process that may not be traced, until the object is in them. Whether another comes before
    /// it cannot be determined that way.
    #[must_use]
    pub fn from_outside(&self, pid: RawPid) -> Confirmation {
        let Expected::Object { path, .. } = &self.expected else { return Confirmation::Taken };
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            let Ok(ranges) = maps(pid) else { return Confirmation::NoProgram };
            if ranges.iter().any(|range| range.path.as_deref() == Some(path)) {
                return Confirmation::Taken;
            }
            std::thread::sleep(PAUSE);
        }
        let program = self.stages.last().map(|stage| stage.path.clone()).unwrap_or_default();
        Confirmation::NotTaken(NotTaken::NotLoaded { program, object: path.clone() })
    }
}

fn ended(stage: &Stage, stop: Stop) -> NotTaken {
    let how = match stop {
        Stop::Exited(code) => format!("exit code {code}"),
        Stop::Signalled(signal) => format!("signal {signal}"),
        _ => "gone".to_owned(),
    };
    NotTaken::Ended { program: stage.path.clone(), how }
}

/// Resumes a task, its signals delivered, to its next exec or to a breakpoint.
fn run_to(task: Tracee, breakpoint: Option<u64>) -> Result<Reached, SysError> {
    while let Some(report) = wait_for(task.0)? {
        let resumed = match report.stop {
            Stop::Executed => return Ok(Reached::Exec),
            end @ (Stop::Exited(_) | Stop::Signalled(_)) => return Ok(Reached::End(end)),
            Stop::Signal(libc::SIGTRAP) if breakpoint.is_some() => {
                if Some(task.registers()?.breakpoint_address()) == breakpoint {
                    return Ok(Reached::Entry);
                }
                task.resume(Resume::Continue, libc::SIGTRAP)
            }
            Stop::Signal(signal) => task.resume(Resume::Continue, signal),
            Stop::Group => task.listen(),
            _ => task.resume(Resume::Continue, 0),
        };
        match resumed {
            Err(error) if !error.task_gone() => return Err(error),
            _ => {}
        }
    }
    Ok(Reached::End(Stop::Other))
}

/// Whose malloc an object defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Malloc {
    CLibrary,
    Another,
}

fn first_malloc(scope: &Scope) -> Option<(PathBuf, Malloc)> {
    scope.libraries.iter().find_map(|library| Some((library.clone(), malloc_of(library)?)))
}

/// An object that cannot be read has been mapped all the same; it is skipped, as nothing is known about it.
fn malloc_of(library: &Path) -> Option<Malloc> {
    let source = FileSource::new(File::open(library).ok()?).ok()?;
    let elf = Elf::read(&source).ok()?;
    let details = Details::read(&source, &elf).ok()?;
    details.export(b"malloc".as_bstr())?;
    let inside = details.identity.libc.as_ref().is_some_and(|libc| libc.placement == LibcPlacement::Inside);
    Some(if inside { Malloc::CLibrary } else { Malloc::Another })
}
