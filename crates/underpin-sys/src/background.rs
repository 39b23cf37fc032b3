//! A command that runs beside us until it is told to end: a server.
//!
//! It leads a process group of its own, so that everything it started can be ended with it, and it is told to end
//! (`SIGTERM`) when the thread that started it dies. Dropping it kills the group.

use crate::error::{SysError, check};
use crate::launch::Suspended;
use crate::reap::{kill_tree, reap};
use crate::spawn::{RunEnd, Streams};
use crate::{LaunchError, RawPid};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How often a process that was told to end is checked.
const LOOK: Duration = Duration::from_millis(5);

/// A running command, the leader of its group.
#[derive(Debug)]
pub struct Background {
    pid: RawPid,
    end: Option<RunEnd>,
}

impl Background {
    /// Starts a command: the file, its arguments (the first is its name), its whole environment, and the directory that it
    /// runs in, if not ours.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(
        program: &Path,
        arguments: &[OsString],
        environment: &[(OsString, OsString)],
        directory: Option<&Path>,
        streams: Streams,
    ) -> Result<Background, LaunchError> {
        let (name, rest) = arguments.split_first().ok_or(LaunchError::Empty)?;
        let stdio = |stream: Option<std::os::fd::OwnedFd>| stream.map_or_else(Stdio::inherit, Stdio::from);
        let mut command = Command::new(program);
        command.arg0(name).args(rest).env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
        command.stdin(stdio(streams.input)).stdout(stdio(streams.output)).stderr(stdio(streams.error));
        command.process_group(0);
        directory.map(|directory| command.current_dir(directory));
        // SAFETY: one system call on integers between fork and exec.
        unsafe {
            command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) {
                -1 => Err(std::io::Error::last_os_error()),
                _ => Ok(()),
            });
        }
        let child = command.spawn().map_err(|error| match error.raw_os_error() {
            Some(errno) => LaunchError::not_executable(program, errno),
            None => LaunchError::Nul(program.as_os_str().to_owned()),
        })?;
        // Its handle has no destructor: from here on it is reaped by its id.
        Ok(Background { pid: child.id() as RawPid, end: None })
    }

    /// Lets a command of [`crate::Launch::start_beside`] go on without a tracer.
    ///
    /// # Errors
    /// If it was killed meanwhile.
    pub fn release(suspended: Suspended) -> Result<Background, LaunchError> {
        let background = Background { pid: suspended.task.0, end: None };
        suspended.task.detach(0)?;
        Ok(background)
    }

    /// Its first process.
    #[must_use]
    pub fn pid(&self) -> RawPid {
        self.pid
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// Whatever `waitpid` reports.
    pub fn ended(&mut self) -> Result<Option<RunEnd>, SysError> {
        if self.end.is_none() {
            let mut status = 0;
            // SAFETY: `status` lives through the call; the process is our child and has not been reaped.
            let reaped = unsafe { libc::waitpid(self.pid, &raw mut status, libc::WNOHANG) };
            if check("waitpid", reaped.into())? != 0 {
                self.end = Some(if libc::WIFEXITED(status) {
                    RunEnd::Exited(libc::WEXITSTATUS(status))
                } else {
                    RunEnd::Signalled(libc::WTERMSIG(status))
                });
            }
        }
        Ok(self.end)
    }

    /// Tells it to end, waits for `grace`, then kills it. Whatever is left of its group is killed.
    ///
    /// # Errors
    /// Whatever `waitpid` reports.
    pub fn end(mut self, grace: Duration) -> Result<RunEnd, SysError> {
        if self.ended()?.is_none() {
            // SAFETY: takes integers only; the process is our child and has not been reaped.
            unsafe { libc::kill(self.pid, libc::SIGTERM) };
        }
        let deadline = Instant::now() + grace;
        loop {
            if let Some(end) = self.ended()? {
                // What it left behind is killed in `drop`.
                return Ok(end);
            }
            if Instant::now() >= deadline {
                self.kill();
                return Ok(RunEnd::TimedOut);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Kills the group, the leader with all its descendants, and reaps the leader.
    fn kill(&mut self) {
        // SAFETY: takes integers only. The group's number is that of the leader, which we have not reaped, or which was
        // reaped while its group may have members; the kernel does not reuse a number while a group has it.
        unsafe { libc::kill(-self.pid, libc::SIGKILL) };
        if self.end.is_none() {
            kill_tree(self.pid);
            // If the kernel still holds it, it has its signal; nothing more can be done here.
            let _ = reap(self.pid);
            self.end = Some(RunEnd::TimedOut);
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process_tree;

    fn shell(script: &str) -> Background {
        let arguments = ["sh", "-c", script].map(OsString::from);
        let environment: Vec<_> = std::env::vars_os().collect();
        Background::start(Path::new("/bin/sh"), &arguments, &environment, None, Streams::default()).unwrap()
    }

    fn await_end(background: &mut Background) -> RunEnd {
        loop {
            if let Some(end) = background.ended().unwrap() {
                return end;
            }
            std::thread::yield_now();
        }
    }

    fn is_gone(pid: RawPid) -> bool {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        state.is_empty() || state.contains(") Z ")
    }

    #[test]
    fn an_end_of_its_own_is_told() {
        let mut background = shell("exit 7");
        assert_eq!(await_end(&mut background), RunEnd::Exited(7));
        assert_eq!(background.end(Duration::ZERO).unwrap(), RunEnd::Exited(7));
    }

    #[test]
    fn one_that_was_traced_up_to_its_exec_is_ended_with_its_children_too() {
        let launch = crate::Launch {
            program: "/bin/sh".into(),
            arguments: ["sh", "-c", "sleep 1000 & wait"].map(OsString::from).to_vec(),
            environment: std::env::vars_os().collect(),
            input: None,
            output: None,
            directory: None,
            filter: None,
        };
        let suspended = match launch.start_beside() {
            Err(LaunchError::Denied(_)) => return,
            started => started.unwrap(),
        };
        let background = Background::release(suspended).unwrap();
        let tree = loop {
            let tree = process_tree(background.pid());
            if tree.len() == 2
                && std::fs::read_to_string(format!("/proc/{}/comm", tree[1].pid)).is_ok_and(|name| name == "sleep\n")
            {
                break tree;
            }
            std::thread::yield_now();
        };
        assert!(tree.iter().all(|process| process.group == background.pid()), "{tree:?}");
        assert_eq!(background.end(Duration::from_secs(60)).unwrap(), RunEnd::Signalled(libc::SIGTERM));
        while !tree.iter().all(|process| is_gone(process.pid)) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn it_may_end_in_its_own_way_when_it_is_told_to() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().display();
        let background =
            shell(&format!("trap 'echo ended >{path}; exit 3' TERM; echo up >{path}; while :; do sleep 0.01; done"));
        while std::fs::read_to_string(file.path()).unwrap().is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(background.end(Duration::from_secs(60)).unwrap(), RunEnd::Exited(3));
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "ended\n");
    }

    #[test]
    fn one_that_does_not_listen_is_killed_with_all_that_it_started() {
        let background = shell("trap '' TERM; sleep 1000 & sleep 1000 & wait");
        let tree = loop {
            let tree = process_tree(background.pid());
            if tree.len() == 3 {
                break tree;
            }
            std::thread::yield_now();
        };
        assert_eq!(background.end(Duration::from_millis(20)).unwrap(), RunEnd::TimedOut);
        while !tree.iter().all(|process| is_gone(process.pid)) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn children_that_outlive_it_are_killed() {
        let mut background = shell("sleep 1000 & exit 0");
        let child = loop {
            // The shell may be gone before it is looked at; then the orphan is found by its group.
            let orphan = crate::procfs::processes()
                .into_iter()
                .find(|one| one.group == background.pid() && one.pid != background.pid());
            if let Some(orphan) = orphan {
                break orphan.pid;
            }
            std::thread::yield_now();
        };
        assert_eq!(await_end(&mut background), RunEnd::Exited(0));
        drop(background);
        while !is_gone(child) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_cannot_be_executed_says_so() {
        let missing = Path::new("/no/such/program");
        let error = Background::start(missing, &["x".into()], &[], None, Streams::default()).unwrap_err();
        assert!(
            matches!(error, LaunchError::NotExecutable { reason: crate::ExecRefusal::NoInterpreter(_), .. }),
            "{error:?}"
        );
    }
}
