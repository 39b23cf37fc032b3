//! Becoming another program, watched from its exec on by a helper process that goes away again.
//!
//! The program has this process's id, parent, terminal and signals, as after any exec: nothing stays between it and
//! our parent. The helper is forked twice, so it is not a child of the program either; it traces its former
//! parent until its watch is over. If that is not allowed, the helper learns it and watches from outside.

use crate::error::{SysError, check};
use crate::launch::{c_string, denied, null_terminated, pipe, variable};
use crate::{Denied, LaunchError, RawPid, Tracee};
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// A program to become.
#[derive(Debug)]
pub struct Replace {
    /// The file to execute; see [`crate::find_program`].
    pub program: PathBuf,
    /// The arguments, the first of which is the program's name.
    pub arguments: Vec<OsString>,
    /// The whole environment.
    pub environment: Vec<(OsString, OsString)>,
}

/// How the helper can watch the program.
#[derive(Debug)]
pub enum Watched {
    /// It traces the program, and its exec will be reported.
    Traced(Tracee),
    /// It may not trace the program; it only knows its id.
    Untraced(RawPid, Denied),
}

const SEIZED: i32 = 0;

impl Replace {
    /// Becomes the program. Returns only if that failed; the helper runs `watch` in the meantime, and ends after it.
    ///
    /// # Errors
    /// Always one: why the program could not be executed. [`LaunchError::Sys`] if this process has several threads,
    /// since a helper forked from it could not be trusted.
    pub fn run(self, watch: impl FnOnce(Watched)) -> LaunchError {
        match self.try_run(watch) {
            Ok(never) => never,
            Err(error) => error,
        }
    }

    fn try_run(self, watch: impl FnOnce(Watched)) -> Result<LaunchError, LaunchError> {
        let program = c_string(self.program.as_os_str())?;
        let arguments = self.arguments.iter().map(|text| c_string(text)).collect::<Result<Vec<_>, _>>()?;
        let environment = self.environment.iter().map(variable).collect::<Result<Vec<_>, _>>()?;
        let (arguments, environment) = (null_terminated(&arguments), null_terminated(&environment));
        start_helper(watch)?;
        // SAFETY: three NUL-terminated strings and arrays of such, alive through the call; the signal's disposition is
        // set to a constant (Rust ignores SIGPIPE, and the program must have the default again).
        unsafe {
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr());
        }
        let error = SysError::last("execve");
        Err(LaunchError::not_executable(&self.program, error.errno))
    }
}

/// Forks the helper and waits until it has seized this process or was refused.
fn start_helper(watch: impl FnOnce(Watched)) -> Result<(), SysError> {
    one_thread()?;
    let (go_read, go_write) = pipe()?;
    let (told_read, told_write) = pipe()?;
    let ours = std::process::id() as RawPid;
    // SAFETY: this process has one thread, so the child's memory is whole; it never returns from here.
    let child = check("fork", libc::c_long::from(unsafe { libc::fork() }))? as RawPid;
    if child == 0 {
        // SAFETY: as above; the first child ends at once, so that the helper has no parent here.
        if unsafe { libc::fork() } != 0 {
            leave(0);
        }
        drop((go_write, told_read));
        helper(ours, File::from(go_read), File::from(told_write), watch);
    }
    drop((go_read, told_write));
    let mut status = 0;
    // SAFETY: `status` lives through the call; the child is ours and ends at once.
    check("waitpid", libc::c_long::from(unsafe { libc::waitpid(child, &raw mut status, 0) }))?;
    let mut told = File::from(told_read);
    let helper = receive(&mut told)?;
    // SAFETY: takes integers only. Yama lets a process be traced by others than its ancestors if it names them; it
    // forgets the name when the helper ends. Without Yama the call fails, and is not needed.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, helper as libc::c_ulong, 0, 0, 0) };
    send(&mut File::from(go_write), 0)?;
    receive(&mut told).map(drop)
}

fn helper(program: RawPid, mut go: File, mut told: File, watch: impl FnOnce(Watched)) -> ! {
    // The terminal's keys are for the program.
    let _ignoring = crate::IgnoreInterrupts::new();
    let started = send(&mut told, std::process::id() as RawPid).and_then(|()| receive(&mut go));
    if started.is_err() {
        leave(1);
    }
    let watched = match Tracee(program).seize_for_exec() {
        Ok(()) => Watched::Traced(Tracee(program)),
        Err(error) => Watched::Untraced(program, denied(&error)),
    };
    let sent = send(&mut told, SEIZED);
    drop((go, told));
    // A panic must not unwind into the caller's frames: they belong to the other process.
    let done = sent.is_ok() && catch_unwind(AssertUnwindSafe(|| watch(watched))).is_ok();
    leave(i32::from(!done))
}

fn leave(code: i32) -> ! {
    // SAFETY: ends this process without running what its parent has registered for its own end.
    unsafe { libc::_exit(code) }
}

fn one_thread() -> Result<(), SysError> {
    let tasks =
        std::fs::read_dir("/proc/self/task").map_err(|error| SysError::io("reading /proc/self/task", &error))?;
    if tasks.count() == 1 { Ok(()) } else { Err(SysError { what: "forking among threads", errno: libc::EBUSY }) }
}

fn send(pipe: &mut File, number: i32) -> Result<(), SysError> {
    pipe.write_all(&number.to_ne_bytes()).map_err(|error| SysError::io("telling the other process", &error))
}

fn receive(pipe: &mut File) -> Result<i32, SysError> {
    let mut bytes = [0; 4];
    pipe.read_exact(&mut bytes).map_err(|error| SysError::io("hearing from the other process", &error))?;
    Ok(i32::from_ne_bytes(bytes))
}
