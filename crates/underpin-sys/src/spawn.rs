//! Starting a command many times with as little work as possible, timing it, and asking the kernel what it used.
//!
//! Everything that can be prepared is prepared once; a run is one `clone` and one `wait4`. The child shares our memory
//! until its exec (`CLONE_VM | CLONE_VFORK`), so the size of this process does not matter. `posix_spawn` does the same
//! and then resets each of 64 signals by a call of its own, within the time that is measured: 3 % of a run of `true`.
//! The peak of resident memory that `wait4` reports is left alone on purpose: it starts from the launcher's own
//! (`mm->hiwater_rss` survives in `signal->maxrss`), so it says nothing about small programs.

use crate::error::SysError;
use crate::launch::{c_string, null_terminated, variable};
use crate::reap::{Limits, Waited, ends_within, kill_tree, reap};
use crate::{LaunchError, RawPid};
use std::ffi::{CString, OsString, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A command that is run over and over.
#[derive(Debug)]
pub struct Spawn {
    path: PathBuf,
    program: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    directory: Option<CString>,
    streams: Streams,
    /// Signals that this process handles; what it ignores, the command ignores too, except `SIGPIPE`.
    handled: Vec<c_int>,
}

/// Where the standard streams of a command go; `None`: where ours go.
#[derive(Debug, Default)]
pub struct Streams {
    /// Standard input.
    pub input: Option<OwnedFd>,
    /// Standard output.
    pub output: Option<OwnedFd>,
    /// Standard error.
    pub error: Option<OwnedFd>,
}

/// What one run took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// From before the start to after the end.
    pub wall: Duration,
    /// What the kernel accounted to it and to the children that it waited for.
    pub usage: Usage,
    /// How it ended.
    pub end: RunEnd,
}

/// The part of `getrusage(2)` that holds for any command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Time in user space.
    pub user: Duration,
    /// Time in the kernel.
    pub system: Duration,
    /// Page faults without input from a disk.
    pub minor_faults: u64,
    /// Page faults that read from a disk.
    pub major_faults: u64,
    /// Times that it gave the processor up.
    pub voluntary_switches: u64,
    /// Times that the processor was taken from it.
    pub involuntary_switches: u64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// With this status.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// It was killed since its time was up.
    TimedOut,
    /// It was killed since this process was asked to end.
    Interrupted,
}

impl Spawn {
    /// Prepares a command: the file, its arguments (the first is its name) and its whole environment.
    ///
    /// # Errors
    /// [`LaunchError::Nul`].
    pub fn new(
        program: PathBuf,
        arguments: &[OsString],
        environment: &[(OsString, OsString)],
        streams: Streams,
    ) -> Result<Spawn, LaunchError> {
        Ok(Spawn {
            program: c_string(program.as_os_str())?,
            path: program,
            arguments: arguments.iter().map(|text| c_string(text)).collect::<Result<_, _>>()?,
            environment: environment.iter().map(variable).collect::<Result<_, _>>()?,
            directory: None,
            streams,
            handled: handled_signals(),
        })
    }

    /// The same in another directory; `None`: in ours.
    ///
    /// # Errors
    /// [`LaunchError::Nul`].
    pub fn in_directory(self, directory: Option<&Path>) -> Result<Spawn, LaunchError> {
        let directory = directory.map(|directory| c_string(directory.as_os_str())).transpose()?;
        Ok(Spawn { directory, ..self })
    }

    /// Runs it once, in a process group of its own, with more variables (`NAME=VALUE`) before those of its
    /// environment. A run that comes to a limit is killed, with every process that it started.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn run(&self, more: &[CString], limits: Limits) -> Result<Run, LaunchError> {
        self.start(more, true)?.within(limits)
    }

    /// Starts it; when this returns it has executed its program. In a group of its own Ctrl-C does not reach it, and it
    /// cannot read from the terminal. It is killed if the thread that started it dies.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(&self, more: &[CString], own_group: bool) -> Result<Started, LaunchError> {
        let arguments = null_terminated(&self.arguments);
        let mut environment: Vec<_> = more.iter().map(|variable| variable.as_ptr()).collect();
        environment.extend(null_terminated(&self.environment));
        let mut child = Child {
            program: self.program.as_ptr(),
            arguments: arguments.as_ptr(),
            environment: environment.as_ptr(),
            directory: self.directory.as_ref().map_or(std::ptr::null(), |directory| directory.as_ptr()),
            streams: self.streams.descriptors(),
            handled: &self.handled,
            own_group,
            errno: 0,
        };
        let mut stack = Vec::<u128>::with_capacity(STACK_BYTES / size_of::<u128>());
        let blocked = BlockedSignals::new();
        let since = Instant::now();
        // SAFETY: `child` and the stack, whose end is aligned to 16 bytes, live through the call; with CLONE_VFORK it
        // returns when the child has executed or ended and no longer uses either.
        let pid = unsafe {
            let top = stack.as_mut_ptr().add(stack.capacity()).cast();
            libc::clone(start_child, top, libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD, (&raw mut child).cast())
        };
        if pid == -1 {
            return Err(SysError::last("clone").into());
        }
        drop(blocked);
        if child.errno != 0 {
            reap(pid)?;
            return Err(LaunchError::not_executable(&self.path, child.errno));
        }
        Ok(Started { pid, since, reaped: false })
    }
}

/// A command that runs; killed if it is dropped before its end.
#[derive(Debug)]
pub struct Started {
    pid: RawPid,
    since: Instant,
    reaped: bool,
}

impl Started {
    /// Its process.
    #[must_use]
    pub fn pid(&self) -> RawPid {
        self.pid
    }

    /// Waits for its end, up to a limit; it is not reaped yet.
    ///
    /// # Errors
    /// If it cannot be waited for.
    pub fn ends_within(&self, limits: Limits) -> Result<Waited, SysError> {
        ends_within(self.pid, limits)
    }

    /// Waits for its end, and kills it if that does not come within the limits.
    ///
    /// # Errors
    /// If it cannot be waited for.
    pub fn within(self, limits: Limits) -> Result<Run, LaunchError> {
        let waited = self.ends_within(limits)?;
        let end = match waited {
            Waited::Ended => None,
            Waited::TimedOut => Some(RunEnd::TimedOut),
            Waited::Interrupted => Some(RunEnd::Interrupted),
        };
        if end.is_some() {
            self.kill();
        }
        let run = self.finish()?;
        Ok(end.map_or(run, |end| Run { end, ..run }))
    }

    /// Kills it, with every process that it has started and that still has a living parent or belongs to its group.
    pub fn kill(&self) {
        kill_tree(self.pid);
    }

    /// Reaps it, once it has ended or was killed.
    ///
    /// # Errors
    /// If it does not end even then.
    pub fn finish(mut self) -> Result<Run, SysError> {
        let (status, usage) = reap(self.pid)?;
        let wall = self.since.elapsed();
        self.reaped = true;
        Ok(Run { wall, usage: usage_of(&usage), end: end_of(status) })
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if !self.reaped {
            self.kill();
            // A failure cannot be reported from here.
            let _ = reap(self.pid);
        }
    }
}

impl Streams {
    /// The descriptors for 0, 1 and 2; -1: unchanged.
    fn descriptors(&self) -> [RawFd; 3] {
        [&self.input, &self.output, &self.error].map(|stream| stream.as_ref().map_or(-1, AsRawFd::as_raw_fd))
    }
}

/// Room for the child's few calls until its exec.
const STACK_BYTES: usize = 32 * 1024;

/// What the child needs, all of it prepared before.
struct Child<'a> {
    program: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
    /// Where it changes to before its exec; null: it stays.
    directory: *const c_char,
    streams: [RawFd; 3],
    handled: &'a [c_int],
    own_group: bool,
    /// Why it could not execute; 0: it could.
    errno: c_int,
}

/// Runs in the child, in our memory, while the thread that made it waits: system calls only.
extern "C" fn start_child(data: *mut c_void) -> c_int {
    // SAFETY: `data` is the `Child` of the thread that waits for us; its pointers are to C strings and null-terminated
    // arrays. Every call is async-signal-safe, and all signals are blocked until no handler of ours is left.
    unsafe {
        let child = &mut *data.cast::<Child<'_>>();
        if child.own_group {
            libc::setpgid(0, 0);
        }
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        // Rust ignores SIGPIPE; the command must have the default again.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        for &signal in child.handled {
            libc::signal(signal, libc::SIG_DFL);
        }
        let is_there = child.directory.is_null() || libc::chdir(child.directory) == 0;
        if is_there && redirect(&child.streams) {
            let mut none = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(none.as_mut_ptr());
            libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
            libc::execve(child.program, child.arguments, child.environment);
        }
        child.errno = *libc::__errno_location();
        libc::_exit(127)
    }
}

/// Puts the descriptors in their places; async-signal-safe.
fn redirect(streams: &[RawFd; 3]) -> bool {
    streams.iter().zip(0..).all(|(&from, to)| {
        // SAFETY: takes integers only. One that is in its place already only has to survive the exec.
        let result = unsafe {
            match from {
                -1 => 0,
                from if from == to => libc::fcntl(to, libc::F_SETFD, 0),
                from => libc::dup2(from, to),
            }
        };
        result != -1
    })
}

/// While it lives, no signal is delivered to this thread.
struct BlockedSignals(libc::sigset_t);

impl BlockedSignals {
    fn new() -> BlockedSignals {
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: both sets live through the calls; the second is filled in by the call, which cannot fail with a
        // valid request.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::sigemptyset(before.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            BlockedSignals(before.assume_init())
        }
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        // SAFETY: restores the set that the thread had.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

/// Signals for which this process has a handler: it must not run in a child that shares our memory.
fn handled_signals() -> Vec<c_int> {
    let has_handler = |signal: &c_int| {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: asks only; zeroes are valid for the structure, and the kernel fills it in.
        let action = unsafe {
            libc::sigaction(*signal, std::ptr::null(), action.as_mut_ptr());
            action.assume_init()
        };
        action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN
    };
    (1..=64).filter(has_handler).collect()
}

pub(crate) fn end_of(status: c_int) -> RunEnd {
    if libc::WIFEXITED(status) {
        RunEnd::Exited(libc::WEXITSTATUS(status))
    } else {
        RunEnd::Signalled(libc::WTERMSIG(status))
    }
}

fn usage_of(usage: &libc::rusage) -> Usage {
    let time =
        |value: libc::timeval| Duration::from_secs(value.tv_sec as u64) + Duration::from_micros(value.tv_usec as u64);
    Usage {
        user: time(usage.ru_utime),
        system: time(usage.ru_stime),
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    fn spawn(program: &str, arguments: &[&str], streams: Streams) -> Spawn {
        let arguments: Vec<OsString> =
            std::iter::once(program).chain(arguments.iter().copied()).map(OsString::from).collect();
        Spawn::new(PathBuf::from(program), &arguments, &[("KEY".into(), "value".into())], streams).unwrap()
    }

    fn shell(script: &str) -> Spawn {
        spawn("/bin/sh", &["-c", script], Streams::default())
    }

    #[test]
    fn the_end_is_told_apart() {
        assert_eq!(shell("exit 7").run(&[], Limits::NONE).unwrap().end, RunEnd::Exited(7));
        assert_eq!(shell("kill -TERM $$").run(&[], Limits::NONE).unwrap().end, RunEnd::Signalled(libc::SIGTERM));
        assert_eq!(shell("exit 3").run(&[], Limits::time(Duration::from_secs(60))).unwrap().end, RunEnd::Exited(3));
    }

    #[test]
    fn a_run_that_hangs_is_killed_with_its_children() {
        let mut file = tempfile::tempfile().unwrap();
        let streams = Streams { output: Some(file.try_clone().unwrap().into()), ..Streams::default() };
        let spawn = spawn("/bin/sh", &["-c", "sleep 1000 & echo $!; wait"], streams);
        let run = spawn.run(&[], Limits::time(Duration::from_millis(500))).unwrap();
        assert_eq!(run.end, RunEnd::TimedOut);
        let mut child = String::new();
        std::io::Seek::rewind(&mut file).unwrap();
        std::io::Read::read_to_string(&mut file, &mut child).unwrap();
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
        // A killed orphan is reaped by the process that adopts it; until then it is a zombie.
        while !(state().is_empty() || state().contains(") Z ")) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_command_runs_in_the_directory_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().canonicalize().unwrap();
        let script = format!("test \"$(pwd -P)\" = '{}'", real.display());
        assert_eq!(shell(&script).run(&[], Limits::NONE).unwrap().end, RunEnd::Exited(1));
        let inside = shell(&script).in_directory(Some(&real)).unwrap();
        assert_eq!(inside.run(&[], Limits::NONE).unwrap().end, RunEnd::Exited(0));
        let missing = shell(&script).in_directory(Some(&real.join("missing"))).unwrap();
        assert!(missing.run(&[], Limits::NONE).is_err());
    }

    #[test]
    fn streams_and_environment_are_those_asked_for() {
        let mut file = tempfile::tempfile().unwrap();
        let streams = Streams {
            input: Some(File::open("/dev/null").unwrap().into()),
            output: Some(file.try_clone().unwrap().into()),
            error: Some(file.try_clone().unwrap().into()),
        };
        let spawn = spawn("/bin/sh", &["-c", "read line || echo \"end $KEY $PAD\"; echo to-error >&2"], streams);
        let padding = CString::new("PAD=xyz").unwrap();
        assert_eq!(spawn.run(&[padding], Limits::NONE).unwrap().end, RunEnd::Exited(0));
        let mut text = String::new();
        std::io::Seek::rewind(&mut file).unwrap();
        std::io::Read::read_to_string(&mut file, &mut text).unwrap();
        assert_eq!(text, "end value xyz\nto-error\n");
    }

    /// Signals blocked, ignored and handled, from `/proc/PID/status`, without the two that glibc keeps to itself.
    fn signals(status: &str) -> Vec<(String, u64)> {
        let lines = status.lines().filter_map(|line| line.split_once(":\t"));
        let wanted = lines.filter(|(name, _)| ["SigBlk", "SigIgn", "SigCgt"].contains(name));
        let set = |text: &str| u64::from_str_radix(text.trim(), 16).unwrap() & !(0b11 << 31);
        wanted.map(|(name, text)| (name.to_owned(), set(text))).collect()
    }

    #[test]
    fn signals_are_those_that_posix_spawn_leaves() {
        let mut file = tempfile::tempfile().unwrap();
        let streams = Streams { output: Some(file.try_clone().unwrap().into()), ..Streams::default() };
        let oracle = std::process::Command::new("cat").arg("/proc/self/status").output().unwrap();
        let cat = spawn("/bin/cat", &["/proc/self/status"], streams);
        assert_eq!(cat.run(&[], Limits::NONE).unwrap().end, RunEnd::Exited(0));
        let mut text = String::new();
        std::io::Seek::rewind(&mut file).unwrap();
        std::io::Read::read_to_string(&mut file, &mut text).unwrap();
        assert_eq!(signals(&text), signals(&String::from_utf8_lossy(&oracle.stdout)));
        assert_eq!(signals(&text)[0], ("SigBlk".to_owned(), 0));
    }

    #[test]
    fn runs_of_many_threads_do_not_get_into_each_others_way() {
        let threads: Vec<_> = (0..4)
            .map(|status| {
                std::thread::spawn(move || {
                    let command = shell(&format!("exit {status}"));
                    (0..50).all(|_| command.run(&[], Limits::NONE).unwrap().end == RunEnd::Exited(status))
                })
            })
            .collect();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    }

    #[test]
    fn what_cannot_be_executed_says_so() {
        let error = spawn("/no/such/program", &[], Streams::default()).run(&[], Limits::NONE).unwrap_err();
        assert!(
            matches!(error, LaunchError::NotExecutable { reason: crate::ExecRefusal::NoInterpreter(_), .. }),
            "{error:?}"
        );
    }

    #[test]
    fn usage_is_that_of_the_run_and_grows_with_its_work() {
        let small = shell(":").run(&[], Limits::NONE).unwrap();
        let large = shell("i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; /bin/true; /bin/true")
            .run(&[], Limits::NONE)
            .unwrap();
        assert!(large.usage.user + large.usage.system <= large.wall * 2 + Duration::from_millis(100));
        assert!(large.usage.minor_faults > small.usage.minor_faults, "the children's faults are in it");
    }
}
