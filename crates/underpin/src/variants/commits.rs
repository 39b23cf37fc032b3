//! Commits as variants of a benchmark: each checked out in a git worktree of its own among the temporary files, built
//! there once, and removed when the benchmark is over, however it ends.

use super::git::{Found, Repository};
use crate::progress::Progress;
use crate::screen;
use anyhow::{Context, bail};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use underpin_bench::{BenchError, CommandLine, Shell};
use underpin_sys::{Limits, RunEnd, Spawn, Streams, end_requests};

/// An error of one commit, not of the command line.
#[derive(Debug, thiserror::Error)]
#[error("{commit}: {problem}")]
pub struct CommitError {
    commit: String,
    problem: String,
}

/// A commit in its worktree.
#[derive(Clone, Debug)]
pub struct Commit {
    /// As the user named it.
    pub revision: String,
    found: Found,
    worktree: PathBuf,
    /// Where its commands run: the folder in its worktree that corresponds to the user's current one.
    pub directory: PathBuf,
    /// Variables that are set or removed for its commands.
    pub changes: Vec<(OsString, Option<OsString>)>,
}

/// All commits of a comparison. Dropping it removes their worktrees.
#[derive(Debug)]
pub struct Commits {
    /// In the order given.
    pub all: Vec<Commit>,
    repository: Repository,
    folder: TempDir,
}

/// The last lines of a build that an error quotes, and the most bytes of them.
const QUOTED_LINES: usize = 12;
const QUOTED_BYTES: u64 = 4096;
/// A build that takes longer is considered hung.
const LONGEST_BUILD: Duration = Duration::from_secs(24 * 3600);

impl Commits {
    /// Checks the commits out.
    ///
    /// # Errors
    /// Outside a repository, for a revision that names no commit, and if git cannot check it out.
    pub fn check_out(revisions: &[String], build: Option<&str>) -> anyhow::Result<Commits> {
        let repository = Repository::here()?;
        let found: Vec<Found> = revisions.iter().map(|one| repository.find(one)).collect::<Result<_, _>>()?;
        let folder = tempfile::Builder::new().prefix("underpin-commits-").tempdir()?;
        let place = folder.path().canonicalize()?;
        if repository.top.as_ref().is_some_and(|top| place.starts_with(top)) {
            bail!("{} lies in the working tree: set TMPDIR to a folder outside it", std::env::temp_dir().display());
        }
        warn(&repository, revisions, &found, build);
        // From here on, dropping this removes what was made.
        let mut commits = Commits { all: Vec::new(), repository, folder };
        for (index, (revision, found)) in revisions.iter().zip(found).enumerate() {
            commits.add(revision, found, &place.join(index.to_string()))?;
        }
        Ok(commits)
    }

    /// Checks out one commit. The last part of its path is that of the repository, which some build tools show.
    fn add(&mut self, revision: &str, found: Found, place: &Path) -> anyhow::Result<()> {
        let name = self.repository.top.as_ref().and_then(|top| top.file_name()).unwrap_or("worktree".as_ref());
        let worktree = place.join(name);
        // Without the slash that joining an empty path would append.
        let directory: PathBuf = worktree.join(&self.repository.prefix).components().collect();
        // The shell's notion of the current directory; programs trust it if it looks right.
        let mut changes = vec![("PWD".into(), Some(directory.clone().into_os_string()))];
        changes.extend(self.repository.bound.iter().map(|name| (name.clone(), None)));
        let commit = Commit { revision: revision.to_owned(), found, worktree, directory, changes };
        stop_if_asked()?;
        fs::create_dir(place)?;
        self.all.push(commit.clone());
        self.repository.check_out(&commit.found.hash, &commit.worktree).context(commit.to_string())?;
        if !commit.directory.is_dir() {
            let prefix = self.repository.prefix.display();
            return Err(commit.error(format!("this commit has no folder {prefix}, where underpin was started")).into());
        }
        Ok(())
    }

    /// Builds each; `log` is where the output of one that fails is kept.
    ///
    /// # Errors
    /// [`CommitError`] for the first that cannot be built.
    pub fn build(&self, command: &str, logs: &Path, progress: &Progress) -> anyhow::Result<()> {
        for commit in &self.all {
            stop_if_asked()?;
            progress.say(format!("building {commit}"));
            let log = self.folder.path().join("build.log");
            let end = commit.run(&command.replace("{COMMIT}", &commit.found.hash), &log)?;
            stop_if_asked()?;
            match end {
                RunEnd::Exited(0) => {}
                RunEnd::Interrupted => return Err(BenchError::Interrupted.into()),
                end => return Err(commit.not_built(command, end, &log, logs).into()),
            }
        }
        Ok(())
    }
}

impl Drop for Commits {
    fn drop(&mut self) {
        self.all.iter().for_each(|commit| self.repository.remove(&commit.worktree));
    }
}

impl Commit {
    /// The name for its variants: the revision and the hash. The first line of its message would be cut in every table.
    pub fn label(&self) -> String {
        let Found { hash, short, .. } = &self.found;
        if hash.starts_with(&self.revision) { short.clone() } else { format!("{} {short}", self.revision) }
    }

    /// `{COMMIT}`, and the full hash that replaces it.
    pub fn parameter(&self) -> (String, String) {
        ("COMMIT".to_owned(), self.found.hash.clone())
    }

    /// The error for a program that does not exist once the commit is built.
    pub fn missing(&self, program: &OsStr) -> CommitError {
        let is_path = program.as_encoded_bytes().contains(&b'/');
        let hint = if is_path { "the commit has no such file and --build makes none" } else { "it is not in PATH" };
        self.error(format!("cannot run {}: {hint}", program.display()))
    }

    /// A shell command for it: without the variables that tie git to the user's tree.
    pub fn script(&self, text: &str) -> String {
        let unset = self.changes.iter().filter(|(_, value)| value.is_none());
        let names: Vec<_> = unset.map(|(name, _)| name.to_string_lossy()).collect();
        if names.is_empty() { text.to_owned() } else { format!("unset {}\n{text}", names.join(" ")) }
    }

    /// An error of this commit alone.
    pub fn error(&self, problem: impl fmt::Display) -> CommitError {
        CommitError { commit: self.to_string(), problem: problem.to_string() }
    }

    /// The error for a build that failed: how, and the last lines of its output. All of that is kept in `logs`.
    fn not_built(&self, command: &str, end: RunEnd, log: &Path, logs: &Path) -> CommitError {
        let how = match end {
            RunEnd::Exited(status) => format!("exited with status {status}"),
            RunEnd::Signalled(signal) => format!("was ended by signal {signal}"),
            RunEnd::TimedOut | RunEnd::Interrupted => "was not done after a day".to_owned(),
        };
        let kept = logs.join(format!("build-{}.log", self.found.short));
        // A log that cannot be kept is quoted all the same.
        let is_kept = fs::create_dir_all(logs).is_ok() && fs::copy(log, &kept).is_ok();
        let all = if is_kept { format!(" ({} has all of its output)", kept.display()) } else { String::new() };
        let lines = tail(log).unwrap_or_default();
        self.error(format!("--build `{command}` {how}{all}; its last lines:\n{lines}"))
    }

    /// Runs a shell command to its end, with its output in a file.
    fn run(&self, command: &str, log: &Path) -> anyhow::Result<RunEnd> {
        let shell = Shell::Program(vec!["/bin/sh".into()]);
        let command = CommandLine::parse(&self.script(command), &shell).context("--build")?;
        let output = File::create(log)?;
        let streams = Streams {
            input: Some(File::open("/dev/null")?.into()),
            error: Some(output.try_clone()?.into()),
            output: Some(output.into()),
        };
        let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let spawn = Spawn::new("/bin/sh".into(), command.words(), &environment, streams)?;
        let limits = Limits { timeout: Some(LONGEST_BUILD), requests: 1 };
        // In our process group: it may ask for a password on the terminal.
        let started = spawn.in_directory(Some(&self.directory))?.start(&[], false)?;
        Ok(started.within(limits)?.end)
    }
}

/// The name for errors and notes.
impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.label(), self.found.subject)
    }
}

/// Prints what a comparison of these commits leaves out.
fn warn(repository: &Repository, revisions: &[String], found: &[Found], build: Option<&str>) {
    let checked_out = repository.find("HEAD").ok();
    if found.iter().any(|one| checked_out.as_ref() == Some(one)) && repository.is_changed() {
        screen::note(&"the working tree has changes that are in no commit: they are not measured");
    }
    for (index, one) in found.iter().enumerate() {
        if let Some(same) = found[..index].iter().position(|other| other == one) {
            let (first, second) = (&revisions[same], &revisions[index]);
            screen::note(&format!("{first} and {second} are the same commit, {}: any difference is noise", one.short));
        }
    }
    let says_it = build.is_some_and(|build| build.contains("submodule"));
    if !says_it && let Some(one) = found.iter().find(|one| repository.has_submodules(&one.hash)) {
        screen::note(&format!(
            "{} has submodules, which are empty in a new worktree; if the build needs them: \
             --build 'git submodule update --init --recursive && ...'",
            one.short
        ));
    }
}

/// # Errors
/// [`BenchError::Interrupted`] if the user interrupted it.
fn stop_if_asked() -> Result<(), BenchError> {
    if end_requests() > 0 { Err(BenchError::Interrupted) } else { Ok(()) }
}

/// The last lines of a file, indented.
fn tail(path: &Path) -> anyhow::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(QUOTED_BYTES)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let last = &lines[lines.len().saturating_sub(QUOTED_LINES)..];
    let shown: Vec<String> = last.iter().map(|line| format!("    {line}")).collect();
    Ok(if shown.is_empty() { "    (it printed nothing)".to_owned() } else { shown.join("\n") })
}
