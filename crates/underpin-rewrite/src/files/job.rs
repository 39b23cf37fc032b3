//! What to do to many files, and the outcome: the types of the driver.

use super::{BoundName, Disagreement, FileIdentity, Keep, Leftovers, ReplaceError, TIME_LIMIT, Verified};
use crate::bytes::Rewrite;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;
use underpin_resolve::Environment;

/// One file to change.
#[derive(Clone, Debug)]
pub struct Job {
    /// The file; a symbolic link stays, and its target is changed.
    pub path: PathBuf,
    /// Its state when it was planned; `None` if nothing was planned from its contents. In any case the record proves
    /// that the contents are still those that the plan was made from.
    pub planned: Option<FileIdentity>,
    /// What to do.
    pub task: JobKind,
}

/// What to do to a file.
#[derive(Clone, Debug)]
pub enum JobKind {
    /// Apply a rewrite.
    Bind {
        /// The patches.
        rewrite: Rewrite,
        /// The names that it binds, and the objects they are bound to.
        bound: Vec<BoundName>,
    },
    /// Restore the original from the record.
    Unbind,
}

/// A run over many files, and its options.
#[derive(Clone, Debug)]
pub struct Jobs {
    /// The files, in any order; one that is listed twice (two names, one inode) is changed once.
    pub jobs: Vec<Job>,
    /// Programs that must still start with the same objects when all is done; those among the jobs are always checked.
    pub programs: Vec<PathBuf>,
    /// Real paths of programs that load one file in place of their libraries: after the run they must start as their
    /// originals do, and not as now.
    pub fused: BTreeSet<PathBuf>,
    /// Further paths among which the other names of hard links are looked for, besides those of the jobs.
    pub scope: Vec<PathBuf>,
    /// What is kept of each file.
    pub keep: Keep,
    /// The environment for which it was planned.
    pub environment: Environment,
    /// How many files are changed at a time; `None`: as many as there are processors.
    pub threads: Option<NonZeroUsize>,
    /// How long a loader may take for one file.
    pub time_limit: Duration,
}

/// The outcome for one file.
#[derive(Debug)]
pub enum JobOutcome {
    /// Bound and verified.
    Bound(Verified),
    /// It holds exactly this binding already.
    AlreadyBound,
    /// The original again, byte for byte.
    Unbound(Verified),
    /// No record in it: nothing to restore.
    NotBound,
    /// The rewrite is empty.
    Unchanged,
    /// Left alone, for a reason in the file itself.
    Refused(ReplaceError),
    /// Something went wrong; the file is as it was.
    Failed(ReplaceError),
    /// Written, and taken back because a program did not load as before.
    RolledBack {
        /// The program.
        program: PathBuf,
        /// What was different.
        disagreement: Disagreement,
    },
}

impl Job {
    /// The restoration of a file.
    #[must_use]
    pub fn unbind(path: PathBuf) -> Job {
        Job { path, planned: None, task: JobKind::Unbind }
    }
}

impl Jobs {
    /// These jobs with the default options.
    #[must_use]
    pub fn new(jobs: Vec<Job>, environment: Environment) -> Jobs {
        Jobs {
            jobs,
            programs: Vec::new(),
            fused: BTreeSet::new(),
            scope: Vec::new(),
            keep: Keep::default(),
            environment,
            threads: None,
            time_limit: TIME_LIMIT,
        }
    }
}

/// One file and its outcome.
#[derive(Debug)]
pub struct ObjectResult {
    /// As in the job.
    pub path: PathBuf,
    /// The outcome.
    pub outcome: JobOutcome,
}

/// The outcome of a run.
#[derive(Debug, Default)]
pub struct JobsSummary {
    /// In the order of the jobs; one per distinct file.
    pub results: Vec<ObjectResult>,
    /// How many programs were checked again after the last rename.
    pub programs_verified: usize,
    /// Programs that do not load as before and were not rolled back successfully, or not at all (unbinding is never
    /// taken back), and why.
    pub broken: Vec<(PathBuf, String)>,
    /// What earlier, killed runs had left, and what was done with it.
    pub leftovers: Leftovers,
}

/// A phase of the work, for progress bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobPhase {
    /// Loaders are asked about the unchanged programs.
    Asking,
    /// Files are verified and replaced.
    Replacing,
    /// The programs are checked again.
    Verifying,
    /// Changes that failed the check are taken back.
    RollingBack,
}

/// Called as the work proceeds, from several threads.
pub trait Progress: Sync {
    /// A phase begins, with this many items.
    fn begin(&self, step: JobPhase, items: usize);
    /// An item is done.
    fn done(&self, path: &Path);
}

/// Reports nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullProgress;

impl Progress for NullProgress {
    fn begin(&self, _: JobPhase, _: usize) {}
    fn done(&self, _: &Path) {}
}
