//! Queries to git, through its own command: nothing here touches the user's branches, index, working tree or stashes.

use crate::input::path;
use anyhow::{Context, bail};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use underpin_sys::{CHORE_LIMIT, answer};

/// The repository of the current directory.
#[derive(Debug)]
pub(super) struct Repository {
    /// From the top of the working tree to the current directory; empty at the top.
    pub(super) prefix: PathBuf,
    /// The top of the working tree; `None` in a bare repository.
    pub(super) top: Option<PathBuf>,
    /// Variables that tie git to one repository, as hooks have them: they must not reach what runs in another tree.
    pub(super) bound: Vec<OsString>,
}

/// A commit, as git resolves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Its full hash.
    pub(super) hash: String,
    /// The shortest prefix of it that is unique here.
    pub(super) short: String,
    /// The first line of its message.
    pub(super) subject: String,
}

impl Repository {
    /// # Errors
    /// If git is not installed, or this is not a repository that it may use.
    pub(super) fn here() -> anyhow::Result<Repository> {
        let prefix = path(&told(&["rev-parse", "--show-prefix"]).context("--commits needs a git repository")?);
        let top = told(&["rev-parse", "--show-toplevel"]).ok().map(|top| path(&top));
        let bound = told(&["rev-parse", "--local-env-vars"])?;
        let is_set = |name: &OsString| std::env::var_os(name).is_some();
        let bound = bound.split(|&byte| byte == b'\n').map(|name| OsString::from_vec(name.to_vec()));
        Ok(Repository { prefix, top, bound: bound.filter(|name| !name.is_empty() && is_set(name)).collect() })
    }

    /// The commit that a revision names.
    ///
    /// # Errors
    /// If there is no such commit.
    pub(super) fn find(&self, revision: &str) -> anyhow::Result<Found> {
        if revision.contains("..") {
            bail!("--commits {revision}: a range of commits; name each, with commas between them, as in main,HEAD");
        }
        let wanted = format!("{revision}^{{commit}}");
        let hash = match revision.is_empty() || revision.starts_with('-') {
            true => None,
            false => told(&["rev-parse", "--verify", "--quiet", &wanted]).ok(),
        };
        let hash = hash.with_context(|| {
            format!("--commits {revision}: this repository has no such commit; `git log --oneline --all` lists them")
        })?;
        let hash = String::from_utf8_lossy(&hash).into_owned();
        let lines = told(&["log", "-1", "--no-show-signature", "--format=%h%n%s", &hash])?;
        let lines = String::from_utf8_lossy(&lines);
        let (short, subject) = lines.split_once('\n').unwrap_or((&lines, ""));
        Ok(Found { short: short.to_owned(), subject: subject.to_owned(), hash })
    }

    /// Whether tracked files differ from the commit that is checked out.
    pub(super) fn is_changed(&self) -> bool {
        let status = told(&["status", "--porcelain", "--untracked-files=no"]);
        self.top.is_some() && status.is_ok_and(|changes| !changes.is_empty())
    }

    /// Whether a commit has submodules, which a new worktree leaves empty.
    pub(super) fn has_submodules(&self, hash: &str) -> bool {
        told(&["cat-file", "-e", &format!("{hash}:.gitmodules")]).is_ok()
    }

    /// Checks a commit out into a folder that does not exist yet, on no branch.
    ///
    /// # Errors
    /// If git cannot.
    pub(super) fn check_out(&self, hash: &str, into: &Path) -> anyhow::Result<()> {
        let words = ["worktree", "add", "--quiet", "--detach"].map(OsStr::new);
        said(words.into_iter().chain([into.as_os_str(), OsStr::new(hash)])).map(drop)
    }

    /// Removes what [`Repository::check_out`] made, including everything that a build left in it.
    pub(super) fn remove(&self, worktree: &Path) {
        // `--force` twice: a checkout that was interrupted is still locked.
        let words = ["worktree", "remove", "--force", "--force"].map(OsStr::new);
        if said(words.into_iter().chain([worktree.as_os_str()])).is_err() {
            // If git no longer recognises the worktree, the folder and the entry for it are removed separately.
            let _ = std::fs::remove_dir_all(worktree);
            let _ = told(&["worktree", "prune"]);
        }
    }
}

/// The output of git, without the newline at its end.
fn told(words: &[&str]) -> anyhow::Result<Vec<u8>> {
    said(words.iter().map(OsStr::new))
}

/// # Errors
/// With git's own message if it fails.
fn said<'a>(words: impl Iterator<Item = &'a OsStr>) -> anyhow::Result<Vec<u8>> {
    let mut command = Command::new("git");
    // The user's hooks are not for these trees, and no lock is taken that another git might wait for.
    command.args(["-c", "core.hooksPath=/dev/null"]).args(words).env("GIT_OPTIONAL_LOCKS", "0");
    // Its words become part of our sentences.
    command.env("LC_ALL", "C.UTF-8").env_remove("LANGUAGE");
    // The index of a commit in progress, as hooks have it.
    command.env_remove("GIT_INDEX_FILE");
    // Ctrl-C is for us: we clean up with the same command.
    command.process_group(0);
    let Output { status, mut stdout, stderr } =
        answer(&mut command, CHORE_LIMIT).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => anyhow::anyhow!("git is not installed (`sudo apt install git`)"),
            _ => anyhow::Error::from(error).context("git gave no answer"),
        })?;
    if !status.success() {
        let words = String::from_utf8_lossy(&stderr);
        bail!("git: {}", words.trim().trim_start_matches("fatal: "));
    }
    if stdout.last() == Some(&b'\n') {
        stdout.pop();
    }
    Ok(stdout)
}
