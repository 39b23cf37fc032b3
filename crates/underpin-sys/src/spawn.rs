//! Starting a command many times with as little work as can be, timing it, and asking the kernel what it used.
//!
//! Everything that can be prepared is prepared once; a run is `posix_spawn` and one wait. `posix_spawn` of both C
//! libraries shares the memory until the exec, so the size of this process does not matter. The peak of resident memory
//! that `wait4` reports is left alone on purpose: it starts from the launcher's own (`mm->hiwater_rss` survives in
//! `signal->maxrss`), so it says nothing about small programs.

use crate::error::SysError;
use crate::launch::{c_string, null_terminated, variable};
use crate::{LaunchError, RawPid};
use std::ffi::{CString, OsString};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A command that is run over and over.
#[derive(Debug)]
pub struct Spawn {
    path: PathBuf,
    program: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    streams: Streams,
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
            streams,
        })
    }

    /// Runs it once. `padding` is one more variable of the environment, to shift the stack by its length. A run that
    /// has not ended after `timeout` is killed, with every process of its group.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn run(&self, padding: Option<&CString>, timeout: Option<Duration>) -> Result<Run, LaunchError> {
        let arguments = null_terminated(&self.arguments);
        let mut environment = null_terminated(&self.environment);
        if let Some(padding) = padding {
            environment.insert(0, padding.as_ptr());
        }
        let settings = Settings::new(&self.streams, timeout.is_some())?;
        let mut pid: RawPid = 0;
        let start = Instant::now();
        // SAFETY: all pointers are to C strings, null-terminated arrays and settings that live through the call.
        let errno = unsafe {
            libc::posix_spawn(
                &raw mut pid,
                self.program.as_ptr(),
                settings.actions.as_ptr(),
                settings.attributes.as_ptr(),
                arguments.as_ptr().cast(),
                environment.as_ptr().cast(),
            )
        };
        if errno != 0 {
            return Err(LaunchError::NotExecutable { program: self.path.clone().into_os_string(), errno });
        }
        let timed_out = match timeout {
            Some(timeout) => !ends_within(pid, timeout)?,
            None => false,
        };
        if timed_out {
            // SAFETY: takes integers only; the child leads a group of its own and has not been reaped.
            unsafe { libc::kill(-pid, libc::SIGKILL) };
        }
        let (end, usage) = reap(pid)?;
        Ok(Run { wall: start.elapsed(), usage, end: if timed_out { RunEnd::TimedOut } else { end } })
    }
}

/// The settings of `posix_spawn`, freed when dropped.
struct Settings {
    actions: MaybeUninit<libc::posix_spawn_file_actions_t>,
    attributes: MaybeUninit<libc::posix_spawnattr_t>,
}

impl Settings {
    fn new(streams: &Streams, own_group: bool) -> Result<Settings, SysError> {
        let mut settings = Settings { actions: MaybeUninit::uninit(), attributes: MaybeUninit::uninit() };
        let (actions, attributes) = (settings.actions.as_mut_ptr(), settings.attributes.as_mut_ptr());
        let mut flags = libc::POSIX_SPAWN_SETSIGDEF | libc::POSIX_SPAWN_SETSIGMASK;
        if own_group {
            flags |= libc::POSIX_SPAWN_SETPGROUP;
        }
        // SAFETY: both objects are initialised first, by the calls that POSIX has for it; the signal sets live through
        // the calls that copy them.
        unsafe {
            libc::posix_spawn_file_actions_init(actions);
            libc::posix_spawnattr_init(attributes);
            let mut signals = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(signals.as_mut_ptr());
            libc::posix_spawnattr_setsigmask(attributes, signals.as_ptr());
            // Rust ignores SIGPIPE; the command must have the default again.
            libc::sigaddset(signals.as_mut_ptr(), libc::SIGPIPE);
            libc::posix_spawnattr_setsigdefault(attributes, signals.as_ptr());
            libc::posix_spawnattr_setpgroup(attributes, 0);
            libc::posix_spawnattr_setflags(attributes, flags as libc::c_short);
        }
        let redirections = [(&streams.input, 0), (&streams.output, 1), (&streams.error, 2)];
        for (stream, number) in redirections {
            if let Some(stream) = stream {
                // SAFETY: the actions are initialised; takes integers.
                let errno =
                    unsafe { libc::posix_spawn_file_actions_adddup2(actions, stream.as_raw_fd(), number as RawFd) };
                if errno != 0 {
                    return Err(SysError { what: "posix_spawn_file_actions_adddup2", errno });
                }
            }
        }
        Ok(settings)
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        // SAFETY: `new` has initialised both before anything could fail.
        unsafe {
            libc::posix_spawn_file_actions_destroy(self.actions.as_mut_ptr());
            libc::posix_spawnattr_destroy(self.attributes.as_mut_ptr());
        }
    }
}

/// Waits for the end of a child without reaping it; whether it came in time.
fn ends_within(pid: RawPid, timeout: Duration) -> Result<bool, SysError> {
    // SAFETY: takes integers only.
    let descriptor =
        crate::error::check("pidfd_open", unsafe { libc::syscall(libc::SYS_pidfd_open, i64::from(pid), 0i64) })?;
    // SAFETY: the kernel has just made it, and nobody else owns it.
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor as RawFd) };
    let deadline = Instant::now() + timeout;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let milliseconds = i32::try_from(left.as_micros().div_ceil(1000)).unwrap_or(i32::MAX);
        let mut polled = libc::pollfd { fd: descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one element, which lives through the call.
        match unsafe { libc::poll(&raw mut polled, 1, milliseconds) } {
            0 if left.is_zero() => return Ok(false),
            -1 if SysError::last("poll").errno != libc::EINTR => return Err(SysError::last("poll")),
            1 => return Ok(true),
            _ => {}
        }
    }
}

/// Reaps a child.
fn reap(pid: RawPid) -> Result<(RunEnd, Usage), SysError> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both objects live through the call.
        let reaped = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
        if reaped == pid {
            break;
        }
        let error = SysError::last("wait4");
        if error.errno != libc::EINTR {
            return Err(error);
        }
    }
    // SAFETY: all fields are integers, for which zeroes are valid, and the kernel has filled them in.
    let usage = unsafe { usage.assume_init() };
    let end = if libc::WIFEXITED(status) {
        RunEnd::Exited(libc::WEXITSTATUS(status))
    } else {
        RunEnd::Signalled(libc::WTERMSIG(status))
    };
    let time =
        |value: libc::timeval| Duration::from_secs(value.tv_sec as u64) + Duration::from_micros(value.tv_usec as u64);
    let usage = Usage {
        user: time(usage.ru_utime),
        system: time(usage.ru_stime),
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
    };
    Ok((end, usage))
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
        assert_eq!(shell("exit 7").run(None, None).unwrap().end, RunEnd::Exited(7));
        assert_eq!(shell("kill -TERM $$").run(None, None).unwrap().end, RunEnd::Signalled(libc::SIGTERM));
        assert_eq!(shell("exit 3").run(None, Some(Duration::from_secs(60))).unwrap().end, RunEnd::Exited(3));
    }

    #[test]
    fn a_run_that_hangs_is_killed_with_its_children() {
        let mut file = tempfile::tempfile().unwrap();
        let streams = Streams { output: Some(file.try_clone().unwrap().into()), ..Streams::default() };
        let spawn = spawn("/bin/sh", &["-c", "sleep 1000 & echo $!; wait"], streams);
        let run = spawn.run(None, Some(Duration::from_millis(500))).unwrap();
        assert_eq!(run.end, RunEnd::TimedOut);
        let mut child = String::new();
        std::io::Seek::rewind(&mut file).unwrap();
        std::io::Read::read_to_string(&mut file, &mut child).unwrap();
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
        // A killed orphan is reaped by whoever adopts it; until then it is a zombie.
        while !(state().is_empty() || state().contains(") Z ")) {
            std::thread::yield_now();
        }
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
        assert_eq!(spawn.run(Some(&padding), None).unwrap().end, RunEnd::Exited(0));
        let mut text = String::new();
        std::io::Seek::rewind(&mut file).unwrap();
        std::io::Read::read_to_string(&mut file, &mut text).unwrap();
        assert_eq!(text, "end value xyz\nto-error\n");
    }

    #[test]
    fn what_cannot_be_executed_says_so() {
        let error = spawn("/no/such/program", &[], Streams::default()).run(None, None).unwrap_err();
        assert!(matches!(error, LaunchError::NotExecutable { errno: libc::ENOENT, .. }), "{error:?}");
    }

    #[test]
    fn usage_is_that_of_the_run_and_grows_with_its_work() {
        let small = shell(":").run(None, None).unwrap();
        let large =
            shell("i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; /bin/true; /bin/true").run(None, None).unwrap();
        assert!(large.usage.user + large.usage.system <= large.wall * 2 + Duration::from_millis(100));
        assert!(large.usage.minor_faults > small.usage.minor_faults, "the children's faults are in it");
    }
}
