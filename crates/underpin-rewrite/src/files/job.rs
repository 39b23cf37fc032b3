//! What is to be done to many files, and what came of it: the types of the driver.

use super::{BoundName, Disagreement, FileIdentity, Keep, Leftovers, ReplaceError, TIME_LIMIT, Verified};
use crate::bytes::Rewrite;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;
use underpin_resolve::Environment;

/// One file to change.
#[derive(Clone, Debug)]
pub struct Job {
    /// The file; a symbolic link stays and what it leads to is changed.
    pub path: PathBuf,
    /// Its state when it was planned; `None` if nothing was planned from its contents. That the contents are still
    /// those that the plan was made from is proven by the record in any case.
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
        /// The names that it binds, and to which objects.
        bound: Vec<BoundName>,
    },
    /// Restore the original from the record.
    Unbind,
}

/// How many files are changed.
#[derive(Clone, Debug)]
pub struct Jobs {
    /// The files, in any order; one that is there twice (two names, one inode) is changed once.
    pub jobs: Vec<Job>,
    /// Programs that must still start with the same objects when all is done; those among the jobs are always looked
    /// at.
    pub programs: Vec<PathBuf>,
    /// Further paths among which the other names of hard links are looked for, besides those of the jobs.
    pub scope: Vec<PathBuf>,
    /// What is kept of each file.
    pub keep: Keep,
    /// The environment for which it was planned.
    pub environment: Environment,
    /// Files at a time; `None`: as many as there are processors.
    pub threads: Option<NonZeroUsize>,
    /// How long a loader may take for one file.
    pub time_limit: Duration,
}

/// What came of one file.
#[derive(Debug)]
pub enum JobOutcome {
    /// Bound, and verified so.
    Bound(Verified),
    /// It holds exactly this binding already.
    AlreadyBound,
    /// The original again, byte for byte.
    Unbound(Verified),
    /// No record in it: nothing to restore.
    NotBound,
    /// The rewrite is empty.
    Unchanged,
    /// Left alone, for a reason that lies in the file.
    Refused(ReplaceError),
    /// Something went wrong; the file is as it was.
    Failed(ReplaceError),
    /// Written, and taken back since a program did not load as before.
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
    /// These jobs, everything else as usual.
    #[must_use]
    pub fn new(jobs: Vec<Job>, environment: Environment) -> Jobs {
        Jobs {
            jobs,
            programs: Vec::new(),
            scope: Vec::new(),
            keep: Keep::default(),
            environment,
            threads: None,
            time_limit: TIME_LIMIT,
        }
    }
}

/// One file and what came of it.
#[derive(Debug)]
pub struct ObjectResult {
    /// As in the job.
    pub path: PathBuf,
    /// What came of it.
    pub outcome: JobOutcome,
}

/// What came of all.
#[derive(Debug, Default)]
pub struct Summary {
    /// In the order of the jobs; one per distinct file.
    pub results: Vec<ObjectResult>,
    /// Programs that were looked at again after the last rename.
    pub programs_verified: usize,
    /// Programs that do not load as before and were not rolled back (unbinding is never taken back), or not
    /// successfully, and why.
    pub broken: Vec<(PathBuf, String)>,
    /// What earlier, killed runs had left, and what became of it.
    pub leftovers: Leftovers,
}

/// A part of the work, for whoever draws a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Loaders are asked about the programs as they are.
    Asking,
    /// Files are verified and replaced.
    Replacing,
    /// The programs are looked at again.
    Verifying,
    /// What did not hold is taken back.
    RollingBack,
}

/// Called as the work proceeds, from several threads.
pub trait Progress: Sync {
    /// A part begins, with so many items.
    fn begin(&self, step: Step, items: usize);
    /// An item is done.
    fn done(&self, path: &Path);
}

/// Reports nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullProgress;

impl Progress for NullProgress {
    fn begin(&self, _: Step, _: usize) {}
    fn done(&self, _: &Path) {}
}
