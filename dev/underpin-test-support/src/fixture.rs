//! A temporary folder in which a test builds its programs and libraries from source.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// A folder of its own for one test, gone when it is dropped.
#[derive(Debug)]
pub struct Fixture {
    dir: tempfile::TempDir,
    path: PathBuf,
}

/// What a command left behind.
#[derive(Debug)]
pub struct Output {
    /// Exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output, invalid UTF-8 replaced.
    pub stdout: String,
    /// Standard error, invalid UTF-8 replaced.
    pub stderr: String,
}

impl Default for Fixture {
    fn default() -> Fixture {
        Fixture::new()
    }
}

impl Fixture {
    /// A new empty folder. Its path has no symbolic links in it, so it can be compared with what a loader prints.
    ///
    /// # Panics
    /// If no temporary folder can be made.
    #[must_use]
    pub fn new() -> Fixture {
        let dir = tempfile::Builder::new().prefix("underpin-").tempdir().expect("a temporary folder");
        let path = dir.path().canonicalize().expect("the temporary folder's real path");
        Fixture { dir, path }
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path below the folder.
    #[must_use]
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// The folder as text, for compiler flags such as `-Wl,-rpath,{}`.
    ///
    /// # Panics
    /// If the temporary folder's name is not UTF-8.
    #[must_use]
    pub fn text(&self) -> &str {
        self.path.to_str().expect("a temporary folder with a UTF-8 name")
    }

    /// Keeps the folder after the test and returns its path: for looking at a failure by hand.
    #[must_use]
    pub fn keep(mut self) -> PathBuf {
        self.dir.disable_cleanup(true);
        self.path.clone()
    }

    /// Writes a file, folders above it included. Scripts and ELF files can be executed at once, by anyone.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn write(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let (path, bytes) = (self.parent_of(name), bytes.as_ref());
        let executable = bytes.starts_with(b"#!") || bytes.starts_with(b"\x7fELF");
        let written = if executable { write_in_child(&path, bytes) } else { fs::write(&path, bytes) };
        written.unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
        path
    }

    /// Copies a file with its mode, folders above it included. The copy can be executed at once, by anyone.
    ///
    /// # Panics
    /// If the file cannot be copied.
    pub fn copy(&self, from: impl AsRef<Path>, name: impl AsRef<Path>) -> PathBuf {
        let path = self.parent_of(name);
        self.must("cp", [OsStr::new("-L"), OsStr::new("--preserve=mode"), from.as_ref().as_ref(), path.as_ref()]);
        path
    }

    /// A path below the folder, after the folders above it were made.
    fn parent_of(&self, name: impl AsRef<Path>) -> PathBuf {
        let path = self.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).expect("the folder of a fixture file");
        }
        path
    }

    /// Makes a folder and those above it.
    ///
    /// # Panics
    /// If it cannot be made.
    pub fn mkdir(&self, name: impl AsRef<Path>) -> PathBuf {
        let path = self.join(name);
        fs::create_dir_all(&path).unwrap_or_else(|error| panic!("cannot make {}: {error}", path.display()));
        path
    }

    /// Makes a symbolic link `name` that holds `target` as written.
    ///
    /// # Panics
    /// If it cannot be made.
    pub fn symlink(&self, target: impl AsRef<Path>, name: impl AsRef<Path>) -> PathBuf {
        let path = self.join(name);
        symlink(target, &path).unwrap_or_else(|error| panic!("cannot link {}: {error}", path.display()));
        path
    }

    /// Sets the mode bits of a file, such as `0o4755`.
    ///
    /// # Panics
    /// If they cannot be set.
    pub fn chmod(&self, name: impl AsRef<Path>, mode: u32) {
        let path = self.join(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))
            .unwrap_or_else(|error| panic!("cannot set the mode of {}: {error}", path.display()));
    }

    /// Runs the machine's C compiler in the folder.
    ///
    /// # Panics
    /// If it fails, with what it said.
    pub fn cc<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) {
        self.must("cc", args);
    }

    /// Runs the compiler of musl in the folder.
    ///
    /// # Panics
    /// If it fails, with what it said.
    pub fn musl_cc<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) {
        self.must("musl-gcc", args);
    }

    /// Runs a tool in the folder and returns what it printed.
    ///
    /// # Panics
    /// If it cannot be started or fails, with what it said.
    pub fn must<A: AsRef<OsStr>>(&self, tool: &str, args: impl IntoIterator<Item = A>) -> String {
        let mut command = self.command(tool);
        command.args(args);
        let output = Output::of(&mut command);
        assert!(output.code == Some(0), "{command:?} failed ({:?}):\n{}{}", output.code, output.stdout, output.stderr);
        output.stdout
    }

    /// A command that starts in the folder, with the messages of tools in English and no loader variables inherited.
    #[must_use]
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.path).env("LC_ALL", "C");
        for name in ["LD_LIBRARY_PATH", "LD_PRELOAD", "LD_BIND_NOW", "LD_DEBUG"] {
            command.env_remove(name);
        }
        command
    }
}

/// Writes a file in a child process. If this process opened it for writing, the child of another test's thread would
/// inherit the descriptor until its exec, and the file could not be executed for that long (ETXTBSY).
fn write_in_child(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut child = Command::new("cp").arg("/dev/stdin").arg(path).stdin(Stdio::piped()).spawn()?;
    let sent = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(bytes));
    let status = child.wait()?;
    sent?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("cp failed ({status})"))) }
}

/// How often a program that is still open for writing is tried again, and after what time.
const TRIES: u32 = 500;
const PAUSE: Duration = Duration::from_millis(10);

/// A program that this process itself has just written (without [`Fixture::write`]) is busy (ETXTBSY) while the child of
/// another test's thread is between fork and exec: it holds a copy of the descriptor until then.
fn started(command: &mut Command) -> io::Result<std::process::Output> {
    for _ in 1..TRIES {
        match command.output() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => thread::sleep(PAUSE),
            done => return done,
        }
    }
    command.output()
}

/// After this time a command hangs, and does not only take long: the slowest of a test takes a minute where nothing else
/// runs.
const DEADLINE: Duration = Duration::from_secs(400);

/// Runs a function that starts children and waits for them. At the deadline they and their descendants are killed, which
/// ends the wait; says whether that happened.
fn within<T>(deadline: Duration, wait: impl FnOnce() -> T) -> (T, bool) {
    // PID/task/TID: a child is in the list of the thread that forked it.
    let thread = fs::read_link("/proc/thread-self").expect("the thread's folder in /proc");
    let (done, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let watch = scope.spawn(move || {
            let late = ended.recv_timeout(deadline) == Err(mpsc::RecvTimeoutError::Timeout);
            if late {
                let mut found = Vec::new();
                descendants(&Path::new("/proc").join(thread), &mut found);
                let _ = Command::new("kill").arg("-KILL").args(found).status();
            }
            late
        });
        let result = wait();
        drop(done);
        (result, watch.join().expect("the watch ends"))
    })
}

/// Adds the processes below a thread, the parents first.
fn descendants(thread: &Path, found: &mut Vec<String>) {
    for child in fs::read_to_string(thread.join("children")).unwrap_or_default().split_whitespace() {
        found.push(child.to_owned());
        let threads = fs::read_dir(Path::new("/proc").join(child).join("task")).into_iter().flatten().flatten();
        threads.for_each(|thread| descendants(&thread.path(), found));
    }
}

impl Output {
    /// Runs a command to its end.
    ///
    /// # Panics
    /// If it cannot be started, or has not ended after some minutes.
    #[must_use]
    pub fn of(command: &mut Command) -> Output {
        Output::within(DEADLINE, command)
    }

    /// Runs a command to its end, which must come before a deadline.
    ///
    /// # Panics
    /// If it cannot be started, or has not ended at the deadline; it and its descendants are killed then.
    #[must_use]
    pub fn within(deadline: Duration, command: &mut Command) -> Output {
        let (output, late) = within(deadline, || started(command));
        let output = output.unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!late, "{command:?} did not end within {} s, and was killed:\n{stderr}", deadline.as_secs());
        Output {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: stderr.into_owned(),
        }
    }
}
