//! Errors of system calls, each with a reason that the user can act on.

use crate::exec_refusal::ExecRefusal;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;

/// A system call that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {}", std::io::Error::from_raw_os_error(*errno))]
pub struct SysError {
    /// What was being done.
    pub what: &'static str,
    /// The error number.
    pub errno: i32,
}

impl SysError {
    /// The current `errno`, for a call that has just failed.
    pub(crate) fn last(what: &'static str) -> SysError {
        SysError { what, errno: std::io::Error::last_os_error().raw_os_error().unwrap_or(0) }
    }

    /// From an I/O error of the standard library.
    #[must_use]
    pub fn io(what: &'static str, error: &std::io::Error) -> SysError {
        SysError { what, errno: error.raw_os_error().unwrap_or(libc::EIO) }
    }

    /// The error for a task that ended while it was being worked on.
    #[must_use]
    pub fn gone(what: &'static str) -> SysError {
        SysError { what, errno: libc::ESRCH }
    }

    /// The task is gone (`ESRCH`): it was killed while it was stopped, which is not a fault of the tracer.
    #[must_use]
    pub fn task_gone(&self) -> bool {
        self.errno == libc::ESRCH
    }
}

/// Turns the -1 of a C function into an error.
pub(crate) fn check(what: &'static str, result: libc::c_long) -> Result<libc::c_long, SysError> {
    if result == -1 { Err(SysError::last(what)) } else { Ok(result) }
}

/// Why ptrace is not allowed here, as far as it can be determined.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Denied {
    /// `kernel.yama.ptrace_scope` is 2 (administrators only) or 3 (nobody).
    Yama {
        /// The setting.
        scope: u32,
    },
    /// This process is traced itself; its children belong to that tracer.
    TracedAlready {
        /// The other tracer.
        tracer: i32,
    },
    /// A seccomp filter is active on this process: a container's, most likely.
    Seccomp,
    /// None of these: the kernel's error number.
    Unknown {
        /// The error number of `PTRACE_SEIZE`.
        errno: i32,
    },
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Denied::Yama { scope: 3 } => f.write_str(
                "kernel.yama.ptrace_scope is 3, which forbids it to everybody until the next boot \
                 (set it to 1 in /etc/sysctl.d and reboot)",
            ),
            Denied::Yama { scope } => write!(
                f,
                "kernel.yama.ptrace_scope is {scope}, which leaves it to administrators: \
                 run `sudo sysctl kernel.yama.ptrace_scope=1`, or run this command as root"
            ),
            Denied::TracedAlready { tracer } => {
                write!(f, "process {tracer} (a debugger or strace) traces this one already: run it without that tracer")
            }
            Denied::Seccomp => f.write_str(
                "a seccomp filter forbids it, as containers often do: start the container with \
                 `--cap-add=SYS_PTRACE` or `--security-opt seccomp=unconfined`",
            ),
            Denied::Unknown { errno } => {
                write!(f, "the kernel says: {}", std::io::Error::from_raw_os_error(*errno))
            }
        }
    }
}

/// A command that could not be started (or not under the tracer).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// No command was given.
    #[error("no command given")]
    Empty,
    /// An argument or a variable holds a NUL byte.
    #[error("{0:?} holds a NUL byte, which no program can be given")]
    Nul(OsString),
    /// No such program, by path or in PATH.
    #[error("{}: {}", program.display(), if program.as_encoded_bytes().contains(&b'/') { "no such file; check the path" } else { "not found in PATH; if it is a file, give its path" })]
    NotFound {
        /// The name as given.
        program: OsString,
    },
    /// The program exists, and the kernel does not execute it.
    #[error("{}: cannot be executed: {reason}", program.display())]
    NotExecutable {
        /// The path.
        program: OsString,
        /// Why.
        reason: ExecRefusal,
    },
    /// ptrace is not allowed.
    #[error("tracing is not permitted: {0}")]
    Denied(Denied),
    /// Anything else.
    #[error(transparent)]
    Sys(#[from] SysError),
}

impl LaunchError {
    /// For a file that execve(2) refused with `errno`.
    pub(crate) fn not_executable(program: &Path, errno: i32) -> LaunchError {
        LaunchError::NotExecutable { program: program.as_os_str().to_owned(), reason: ExecRefusal::of(program, errno) }
    }

    /// The exit status that `env(1)` and `timeout(1)` would give: 127 not found, 126 not executable, 125 our own.
    #[must_use]
    pub fn exit_status(&self) -> i32 {
        match self {
            LaunchError::NotFound { .. } | LaunchError::NotExecutable { reason: ExecRefusal::NoInterpreter(_), .. } => {
                127
            }
            LaunchError::NotExecutable { .. } => 126,
            _ => 125,
        }
    }
}
