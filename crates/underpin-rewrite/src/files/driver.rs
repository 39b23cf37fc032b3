//! Many files: each one once, in parallel, one failure never stopping the rest, and the programs checked again at the
//! end.
//!
//! The order does not matter: each bound name by itself leads to the object that it led to before, so every mixture of
//! bound and unbound files loads the same, and a run that is killed leaves only programs that start. A second run skips
//! the finished files and does the rest. What cannot be checked file by file is checked when all is done: a program
//! that does not load as before gets its files back.

use super::change::{Done, Written, change, keep_for, take_back};
use super::{
    Baseline, HeldFile, Job, JobOutcome, JobPhase, Jobs, JobsSummary, Keep, Listing, ObjectResult, Opinion, Progress,
    Verifier,
};
use super::{BoundName, Disagreement, FileIdentity, JobKind, Leftovers, ReplaceError, clean, verify_rewritten};
use crate::bytes::undo;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use underpin_elf::{Elf, FileSource};

/// Does all jobs. Errors are in the summary, each with its file.
#[must_use]
pub fn run_all(jobs: &Jobs, progress: &dyn Progress) -> JobsSummary {
    let threads = jobs.threads.map_or(0, NonZeroUsize::get);
    let verifier = Verifier::new(jobs.environment.clone()).with_time_limit(jobs.time_limit);
    let run = Run { jobs, progress, verifier };
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(|| run.run()),
        // No further thread can be started: the existing ones do the work.
        Err(_) => run.run(),
    }
}

struct Run<'a> {
    jobs: &'a Jobs,
    progress: &'a dyn Progress,
    verifier: Verifier,
}

/// One distinct file.
struct Unit<'a> {
    /// Index of the job.
    index: usize,
    job: &'a Job,
    /// As in the job, unless the unfinished work of a killed run was just completed.
    planned: Option<&'a FileIdentity>,
    path: PathBuf,
    keep: Keep,
    is_program: bool,
}

/// Programs and what was said of them before.
type Baselines = BTreeMap<PathBuf, Baseline>;

impl Run<'_> {
    fn run(&self) -> JobsSummary {
        // Before the units are listed: this completes what a killed run had begun, which changes which files there are.
        let leftovers = self.clean();
        let (units, mut results) = self.units(&leftovers);
        // Before the first rename: after it no loader can tell how a program was loaded before.
        let baseline = self.baseline(&units);
        let mut done = self.replace_all(&units, &baseline);
        let mut summary = JobsSummary { leftovers, ..JobsSummary::default() };
        if done.iter().any(|done| done.written.is_some()) {
            // After the last rename: a program's libraries change one after the other, each verified alone.
            summary.programs_verified = baseline.len();
            let failed = self.verify_programs(&bound_names(&units, &done), baseline.iter().collect());
            summary.broken = self.roll_back(&units, &mut done, &baseline, failed);
        }
        results.extend(units.iter().zip(done).map(|(unit, done)| (unit.index, done.outcome)));
        results.sort_by_key(|(index, _)| *index);
        let path = |index: usize| self.jobs.jobs[index].path.clone();
        summary.results =
            results.into_iter().map(|(index, outcome)| ObjectResult { path: path(index), outcome }).collect();
        summary
    }

    /// Handles what killed runs left beside everything in scope. A directory that cannot be read does not stop the run.
    fn clean(&self) -> Leftovers {
        let real = self.jobs.jobs.iter().filter_map(|job| fs::canonicalize(&job.path).ok());
        let names = real.chain(self.jobs.scope.iter().cloned());
        let directories: BTreeSet<PathBuf> = names.filter_map(|name| Some(name.parent()?.to_path_buf())).collect();
        let mut all = Leftovers::default();
        for found in directories.iter().filter_map(|directory| clean(directory).ok()) {
            all.removed.extend(found.removed);
            all.finished.extend(found.finished);
        }
        all
    }

    /// The distinct files behind the jobs, and the jobs that lead to no file.
    fn units(&self, leftovers: &Leftovers) -> (Vec<Unit<'_>>, Vec<(usize, JobOutcome)>) {
        let identity = |path: &PathBuf| FileIdentity::at(path).map(|identity| (identity.device, identity.inode)).ok();
        let finished: BTreeSet<(u64, u64)> = leftovers.finished.iter().filter_map(identity).collect();
        let mut missing = Vec::new();
        let mut units: Vec<Unit<'_>> = Vec::new();
        let mut known: HashMap<(u64, u64), usize> = HashMap::new();
        let mut names: Vec<Vec<PathBuf>> = Vec::new();
        for (position, job) in self.jobs.jobs.iter().enumerate() {
            let found = fs::canonicalize(&job.path).and_then(|path| Ok((FileIdentity::at(&path)?, path)));
            let (identity, path) = match found {
                Ok(found) => found,
                Err(source) => {
                    let error = ReplaceError::Io { path: job.path.clone(), step: "finding it", source };
                    missing.push((position, JobOutcome::Failed(error)));
                    continue;
                }
            };
            let next = units.len();
            let id = (identity.device, identity.inode);
            let index = *known.entry(id).or_insert(next);
            if index == next {
                let is_program = is_program(&path);
                let planned = job.planned.as_ref().filter(|_| !finished.contains(&id));
                let (path, keep) = (path.clone(), Keep::default());
                units.push(Unit { index: position, job, planned, path, keep, is_program });
                names.push(Vec::new());
            }
            names[index].push(path);
        }
        for path in &self.jobs.scope {
            // Only a file with a second name can be such a name.
            let Ok(status) = fs::symlink_metadata(path) else { continue };
            let identity = FileIdentity::of(&status);
            if let Some(&index) = known.get(&(identity.device, identity.inode)).filter(|_| status.is_file()) {
                names[index].push(path.clone());
            }
        }
        for (unit, names) in units.iter_mut().zip(names) {
            unit.keep = keep_for(&self.jobs.keep, names);
        }
        (units, missing)
    }

    /// What the loaders say of every program before anything is changed.
    fn baseline(&self, units: &[Unit<'_>]) -> Baselines {
        let listed = self.jobs.programs.iter().filter_map(|path| fs::canonicalize(path).ok());
        let of_jobs = units.iter().filter(|unit| unit.is_program).map(|unit| unit.path.clone());
        let programs: BTreeSet<PathBuf> = listed.chain(of_jobs).collect();
        self.progress.begin(JobPhase::Asking, programs.len());
        let ask = |path: PathBuf| {
            let original = self.jobs.fused.contains(&path).then(|| self.of_original(&path)).flatten();
            let said = original.unwrap_or_else(|| Baseline::of(&self.verifier, &path, Vec::new()));
            self.progress.done(&path);
            (path, said)
        };
        programs.into_par_iter().map(ask).collect()
    }

    /// What the loader says of the original of a bound program, in the same folder; `None` if it cannot be restored.
    fn of_original(&self, path: &Path) -> Option<Baseline> {
        let held = HeldFile::open(path, None).ok()?;
        let original = undo(&held.read().ok()?).ok()?;
        held.beside(&original, |copy| Baseline::of(&self.verifier, copy, Vec::new())).ok()
    }

    fn replace_all(&self, units: &[Unit<'_>], baseline: &Baselines) -> Vec<Done> {
        self.progress.begin(JobPhase::Replacing, units.len());
        let one = |unit: &Unit<'_>| {
            let done = change(unit.job, unit.planned, &unit.keep, &self.verifier, baseline.get(&unit.path));
            self.progress.done(&unit.path);
            done
        };
        units.par_iter().map(one).collect()
    }

    /// The programs that do not load as before.
    fn verify_programs(
        &self,
        bound: &HashMap<&Path, &[BoundName]>,
        programs: Vec<(&PathBuf, &Baseline)>,
    ) -> Vec<(PathBuf, Disagreement)> {
        self.progress.begin(JobPhase::Verifying, programs.len());
        let verify = |(path, before): (&PathBuf, &Baseline)| {
            let bound = bound.get(path.as_path()).map(|bound| bound.to_vec()).unwrap_or_default();
            let verdict = verify_rewritten(&self.verifier, path, path, &Baseline { bound, ..before.clone() });
            self.progress.done(path);
            verdict.err().map(|disagreement| (path.clone(), disagreement))
        };
        programs.into_par_iter().filter_map(verify).collect()
    }

    /// Takes back what the failed programs load, checks them again, and returns those that still differ.
    fn roll_back(
        &self,
        units: &[Unit<'_>],
        done: &mut [Done],
        baseline: &Baselines,
        failed: Vec<(PathBuf, Disagreement)>,
    ) -> Vec<(PathBuf, String)> {
        let mut broken = Vec::new();
        let mut again = Vec::new();
        if failed.is_empty() {
            return broken;
        }
        self.progress.begin(JobPhase::RollingBack, failed.len());
        for (program, disagreement) in failed {
            let Some(before) = baseline.get(&program) else { continue };
            // What it loads now as well as what it loaded before: the wrong object is in one list only.
            let loaded = loads(&program, before, &self.verifier);
            let mut taken_back = 0;
            for (unit, done) in units.iter().zip(done.iter_mut()) {
                let bound = matches!((&unit.job.task, &done.outcome), (JobKind::Bind { .. }, JobOutcome::Bound(_)));
                if !bound || !loaded.contains(&unit.path) {
                    continue;
                }
                let Some(written) = &done.written else { continue };
                match roll_back_one(unit, written) {
                    Ok(()) => {
                        let (program, disagreement) = (program.clone(), disagreement.clone());
                        *done = Done { outcome: JobOutcome::RolledBack { program, disagreement }, written: None };
                        taken_back += 1;
                    }
                    Err(error) => broken.push((program.clone(), error.to_string())),
                }
            }
            self.progress.done(&program);
            if taken_back == 0 {
                broken.push((program, disagreement.to_string()));
            } else {
                again.push((program, before));
            }
        }
        let again = again.iter().map(|(program, before)| (program, *before)).collect();
        let still = self.verify_programs(&HashMap::new(), again);
        broken.extend(still.into_iter().map(|(program, disagreement)| (program, disagreement.to_string())));
        broken
    }
}

/// The names that are bound now, by file.
fn bound_names<'u>(units: &'u [Unit<'_>], done: &[Done]) -> HashMap<&'u Path, &'u [BoundName]> {
    let is_bound = |done: &Done| matches!(done.outcome, JobOutcome::Bound(_) | JobOutcome::AlreadyBound);
    let names = |(unit, done): (&'u Unit<'_>, &Done)| match &unit.job.task {
        JobKind::Bind { bound, .. } if is_bound(done) => Some((unit.path.as_path(), bound.as_slice())),
        JobKind::Bind { .. } | JobKind::Unbind => None,
    };
    units.iter().zip(done).filter_map(names).collect()
}

fn roll_back_one(unit: &Unit<'_>, written: &Written) -> Result<(), ReplaceError> {
    let job = Job { path: unit.path.clone(), ..unit.job.clone() };
    take_back(&job, written, &unit.keep)
}

/// The files of a program: itself, what it loaded before, and what it loads now.
fn loads(program: &Path, before: &Baseline, verifier: &Verifier) -> BTreeSet<PathBuf> {
    let now = Baseline::of(verifier, program, Vec::new());
    let heard = |opinion: &Opinion| match opinion {
        Opinion::Heard(listing) => Some(listing.clone()),
        Opinion::NotAsked(_) => None,
    };
    let said: [Option<Listing>; 4] =
        [heard(&before.before), before.model_before.clone(), heard(&now.before), now.model_before];
    let objects = said.into_iter().flatten().flat_map(|listing| listing.objects);
    objects.map(|object| object.real_path).chain([program.to_path_buf()]).collect()
}

fn is_program(path: &Path) -> bool {
    let elf = File::open(path).and_then(FileSource::new).ok().and_then(|source| Elf::read(&source).ok());
    elf.is_some_and(|elf| elf.interpreter.is_some())
}
