//! Starting a command so that it is traced from its `execve` on.
//!
//! The child waits until it has been seized, stops itself, installs the filter and executes; a close-on-exec pipe
//! brings back why it could not. Between fork and exec it makes async-signal-safe calls only, so that a process with
//! other threads may launch.

use crate::error::{SysError, check};
use crate::{CallFilter, Denied, LaunchError, RawPid, Stop, Tracee, probe, seccomp, wait_for};
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A command to start.
#[derive(Debug)]
pub struct Launch {
    /// The file to execute; see [`find_program`].
    pub program: PathBuf,
    /// The arguments, the first of which is the program's name.
    pub arguments: Vec<OsString>,
    /// The whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where standard input comes from, if not from where ours does.
    pub input: Option<OwnedFd>,
    /// Where standard output and error go, if not where ours go.
    pub output: Option<OwnedFd>,
    /// The directory that it runs in, if not ours.
    pub directory: Option<PathBuf>,
    /// Calls to stop at.
    pub filter: Option<CallFilter>,
}

/// A seized child that is stopped before its `execve`, and the pipe that says why that failed, if it does.
#[derive(Debug)]
pub struct Suspended {
    /// The child.
    pub task: Tracee,
    failure: File,
}

/// The steps of the child that can fail, as they go over the pipe.
const STEP_EXEC: u8 = 0;
const STEP_FILTER: u8 = 1;
const STEP_STREAMS: u8 = 2;
const STEP_DIRECTORY: u8 = 3;

impl Launch {
    /// Forks, seizes and leaves the child stopped. Resume it to let it execute. Every task that it makes is traced too,
    /// and must be waited for ([`crate::wait_any`]).
    ///
    /// # Errors
    /// [`LaunchError::Denied`] if ptrace is not allowed; nothing has run then.
    pub fn start(self) -> Result<Suspended, LaunchError> {
        self.begin(false, Tracee::seize)
    }

    /// The same, and only the child itself is traced ([`Tracee::seize_alone`]): for callers that wait for it alone.
    ///
    /// # Errors
    /// As for [`Launch::start`].
    pub fn start_alone(self) -> Result<Suspended, LaunchError> {
        self.begin(false, Tracee::seize_alone)
    }

    /// As [`Launch::start_alone`], for a command that runs beside us when it is let go: it leads a process group of its
    /// own, and is told to end (`SIGTERM`) when this thread dies.
    ///
    /// # Errors
    /// As for [`Launch::start`].
    pub fn start_beside(self) -> Result<Suspended, LaunchError> {
        self.begin(true, Tracee::seize_alone)
    }

    fn begin(self, beside: bool, seize: fn(Tracee) -> Result<(), SysError>) -> Result<Suspended, LaunchError> {
        let program = c_string(self.program.as_os_str())?;
        let arguments = self.arguments.iter().map(|text| c_string(text)).collect::<Result<Vec<_>, _>>()?;
        let environment = self.environment.iter().map(variable).collect::<Result<Vec<_>, _>>()?;
        let directory = self.directory.as_ref().map(|directory| c_string(directory.as_os_str())).transpose()?;
        let plan = ChildPlan {
            program: &program,
            arguments: &null_terminated(&arguments),
            environment: &null_terminated(&environment),
            input: self.input.as_ref().map(AsRawFd::as_raw_fd),
            output: self.output.as_ref().map(AsRawFd::as_raw_fd),
            directory: directory.as_ref(),
            filter: self.filter.as_ref().map(CallFilter::program),
            beside,
        };
        let (go_read, go_write) = pipe()?;
        let (failure_read, failure_write) = pipe()?;
        // SAFETY: the child runs `ChildPlan::run` only, which makes async-signal-safe calls and never returns.
        let pid = check("fork", libc::c_long::from(unsafe { libc::fork() }))? as RawPid;
        if pid == 0 {
            // The child's copy must go, or the child would wait for itself if the tracer died.
            // SAFETY: closes a descriptor of this process's own copy of the table.
            unsafe { libc::close(go_write.as_raw_fd()) };
            plan.run(go_read.as_raw_fd(), failure_write.as_raw_fd());
        }
        drop((go_read, failure_write));
        let task = Tracee(pid);
        if let Err(error) = seize(task) {
            drop(go_write);
            wait_for(pid)?;
            return Err(LaunchError::Denied(denied(&error)));
        }
        File::from(go_write).sync_write_byte()?;
        let suspended = Suspended { task, failure: File::from(failure_read) };
        match wait_for(pid)?.map(|report| report.stop) {
            Some(Stop::Signal(libc::SIGSTOP)) => Ok(suspended),
            Some(Stop::Exited(_) | Stop::Signalled(_)) | None => Err(suspended.failure(&self.program)),
            Some(_) => Err(SysError { what: "waiting for the child's stop", errno: libc::EIO }.into()),
        }
    }
}

impl Suspended {
    /// Why the child ended before it executed its program; call it after its end.
    #[must_use]
    pub fn failure(mut self, program: &Path) -> LaunchError {
        let mut message = [0u8; 5];
        if self.failure.read_exact(&mut message).is_err() {
            return SysError { what: "starting the command", errno: libc::ECHILD }.into();
        }
        let [step, errno @ ..] = message;
        let errno = i32::from_ne_bytes(errno);
        match step {
            STEP_EXEC => LaunchError::not_executable(program, errno),
            STEP_FILTER => SysError { what: "installing the seccomp filter", errno }.into(),
            STEP_DIRECTORY => SysError { what: "changing to the command's directory", errno }.into(),
            _ => SysError { what: "redirecting the command's streams", errno }.into(),
        }
    }
}

/// What the child does, all memory prepared before the fork.
struct ChildPlan<'a> {
    program: &'a CString,
    arguments: &'a [*const libc::c_char],
    environment: &'a [*const libc::c_char],
    input: Option<i32>,
    output: Option<i32>,
    directory: Option<&'a CString>,
    filter: Option<Vec<libc::sock_filter>>,
    beside: bool,
}

impl ChildPlan<'_> {
    fn run(&self, go: i32, failure: i32) -> ! {
        let mut byte = 0u8;
        // SAFETY: async-signal-safe calls on descriptors, constants and memory that was prepared before the fork.
        unsafe {
            if libc::read(go, (&raw mut byte).cast(), 1) != 1 {
                libc::_exit(127);
            }
            // Rust ignores SIGPIPE; the command must have the default again.
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            if self.beside {
                libc::setpgid(0, 0);
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            }
            if let Some(input) = self.input
                && libc::dup2(input, 0) == -1
            {
                fail(failure, STEP_STREAMS);
            }
            if let Some(output) = self.output
                && (libc::dup2(output, 1) == -1 || libc::dup2(output, 2) == -1)
            {
                fail(failure, STEP_STREAMS);
            }
            if let Some(directory) = self.directory
                && libc::chdir(directory.as_ptr()) == -1
            {
                fail(failure, STEP_DIRECTORY);
            }
            libc::kill(libc::getpid(), libc::SIGSTOP);
            if let Some(filter) = &self.filter
                && seccomp::install(filter).is_err()
            {
                fail(failure, STEP_FILTER);
            }
            libc::execve(self.program.as_ptr(), self.arguments.as_ptr(), self.environment.as_ptr());
        }
        fail(failure, STEP_EXEC)
    }
}

/// Sends the current error number and ends the child.
fn fail(pipe: i32, step: u8) -> ! {
    // SAFETY: reads this thread's errno, writes a local buffer to a descriptor, ends the process.
    unsafe {
        let [a, b, c, d] = (*libc::__errno_location()).to_ne_bytes();
        let message = [step, a, b, c, d];
        libc::write(pipe, message.as_ptr().cast(), message.len());
        libc::_exit(127)
    }
}

/// The file that a command name means: itself if it has a slash, else the first executable regular file of
/// that name in `path` (the value of PATH; unset means `/bin:/usr/bin`, as `execvp(3)` has it).
///
/// # Errors
/// [`LaunchError::NotFound`], or [`LaunchError::NotExecutable`] if only files without permission are there.
pub fn find_program(name: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, LaunchError> {
    let not_found = || LaunchError::NotFound { program: name.to_owned() };
    let denied = |path: &Path| LaunchError::not_executable(path, libc::EACCES);
    if name.is_empty() {
        return Err(not_found());
    }
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return match executable(&path) {
            Some(true) => Ok(path),
            Some(false) => Err(denied(&path)),
            // A closed directory on the way hides whether the file exists.
            None if is_hidden(&path) => Err(denied(&path)),
            None => Err(not_found()),
        };
    }
    let mut refused = None;
    for directory in std::env::split_paths(path.unwrap_or(OsStr::new("/bin:/usr/bin"))) {
        let candidate = if directory.as_os_str().is_empty() { Path::new(".").join(name) } else { directory.join(name) };
        match executable(&candidate) {
            Some(true) => return Ok(candidate),
            Some(false) if !candidate.is_dir() => refused = refused.or(Some(denied(&candidate))),
            _ => {}
        }
    }
    Err(refused.unwrap_or_else(not_found))
}

/// Whether a path is a regular file with some execute permission; `None` if nothing is there.
fn executable(path: &Path) -> Option<bool> {
    let metadata = std::fs::metadata(path).ok()?;
    Some(metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

fn is_hidden(path: &Path) -> bool {
    std::fs::metadata(path).is_err_and(|error| error.raw_os_error() == Some(libc::EACCES))
}

pub(crate) fn denied(error: &SysError) -> Denied {
    if let Some(scope) = probe::yama_ptrace_scope().filter(|&scope| scope >= 2) {
        return Denied::Yama { scope };
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<i32>().ok());
    match (field("TracerPid:"), field("Seccomp:")) {
        (Some(tracer), _) if tracer != 0 => Denied::TracedAlready { tracer },
        (_, Some(mode)) if mode != 0 => Denied::Seccomp,
        _ => Denied::Unknown { errno: error.errno },
    }
}

pub(crate) fn pipe() -> Result<(OwnedFd, OwnedFd), SysError> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for the two descriptors.
    check("pipe2", libc::c_long::from(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) }))?;
    // SAFETY: the kernel has just made both, and nothing else owns them.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

trait SyncWriteByte {
    fn sync_write_byte(self) -> Result<(), SysError>;
}

impl SyncWriteByte for File {
    fn sync_write_byte(mut self) -> Result<(), SysError> {
        std::io::Write::write_all(&mut self, b"g").map_err(|error| SysError::io("releasing the child", &error))
    }
}

pub(crate) fn c_string(text: &OsStr) -> Result<CString, LaunchError> {
    CString::new(text.as_bytes()).map_err(|_| LaunchError::Nul(text.to_owned()))
}

pub(crate) fn variable((name, value): &(OsString, OsString)) -> Result<CString, LaunchError> {
    let mut text = name.as_bytes().to_vec();
    text.push(b'=');
    text.extend_from_slice(value.as_bytes());
    c_string(&OsString::from_vec(text))
}

pub(crate) fn null_terminated(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_searched_in_path_and_a_path_is_not() {
        let path = OsStr::new("/nonexistent:/bin:/usr/bin");
        assert!(find_program(OsStr::new("sh"), Some(path)).unwrap().ends_with("sh"));
        assert_eq!(find_program(OsStr::new("/bin/sh"), None).unwrap(), Path::new("/bin/sh"));
        let missing = find_program(OsStr::new("no-such-program"), Some(path)).unwrap_err();
        assert_eq!(missing.exit_status(), 127);
        assert_eq!(find_program(OsStr::new("/etc/passwd"), None).unwrap_err().exit_status(), 126);
        assert_eq!(find_program(OsStr::new("/etc"), None).unwrap_err().exit_status(), 126);
    }
}
