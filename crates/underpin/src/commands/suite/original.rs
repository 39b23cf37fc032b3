//! Rows measured by an original benchmark's own programs: `--suite-source libc-bench=FOLDER`.

use super::keep::{Kept, KeptRow, write};
use super::programs::{built, describe};
use crate::cli::BuildArgs;
use crate::plan::{Original, SuitePlan};
use crate::progress::Progress;
use anyhow::{Context, bail};
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use underpin_bench::{
    BenchError, BenchRecord, End, Header, Nanos, RowName, RunOutcome, Sample, Schedule, Stopped, VariantRecord,
};
use underpin_suite::original::{Printed, Readings, Recipe, Role, Run, Step, WorkFile};
use underpin_suite::{Failure, Row, find};
use underpin_sys::{Limits, RunEnd, Spawn, Streams, end_requests};

/// An original's programs, built in every way.
pub struct Originals<'a> {
    plan: &'a SuitePlan,
    original: &'a Original,
    recipe: Recipe,
    /// For each build: the folder of its programs, or why there is none.
    builds: Vec<Result<PathBuf, String>>,
    /// What the files of each build are, in a few words; empty if it made none.
    pub descriptions: Vec<String>,
    _folder: tempfile::TempDir,
}

impl<'a> Originals<'a> {
    /// Copies the sources and builds the programs. The user's folder is not written to.
    ///
    /// # Errors
    /// If the sources cannot be copied, or the user interrupted it.
    pub fn make(
        plan: &'a SuitePlan,
        original: &'a Original,
        cache: &Path,
        progress: &Progress,
    ) -> anyhow::Result<Originals<'a>> {
        let recipe = original.suite.recipe(&original.setting(plan.is_quick));
        let sources = cache.join("originals").join(original.suite.name());
        copied(&original.folder, &sources)?;
        for file in &recipe.written {
            let path = sources.join(file.path);
            let parent = path.parent().unwrap_or(&sources);
            fs::create_dir_all(parent)
                .and_then(|()| fs::write(&path, file.text))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        let folder = tempfile::Builder::new().prefix("underpin-original-").tempdir()?;
        let (mut builds, mut descriptions) = (Vec::new(), Vec::new());
        for (index, (text, _)) in plan.builds.iter().enumerate() {
            progress.say(format!("building {} for {text}", original.suite));
            let to = folder.path().canonicalize()?.join(index.to_string());
            match prepared(plan, index, &recipe, &sources, &to) {
                Ok(description) => {
                    builds.push(Ok(to));
                    descriptions.push(description);
                }
                Err(error) if error.is::<BenchError>() => return Err(error),
                Err(error) => {
                    builds.push(Err(format!("not built: {error:#}")));
                    descriptions.push(String::new());
                }
            }
        }
        Ok(Originals { plan, original, recipe, builds, descriptions, _folder: folder })
    }

    /// The runs of the recipe.
    pub fn runs(&self) -> &[Run] {
        &self.recipe.runs
    }

    /// The rows of a run that are wanted.
    pub fn wanted(&self, run: &Run) -> Vec<&'static Row> {
        let rows = run.rows.iter().filter_map(|row| find(row.suite.name(), row.name));
        rows.filter(|row| self.plan.rows.contains(row)).collect()
    }

    /// One run, again and again under every build, one after the other in an order drawn anew for each block; `None` if the
    /// user asked for the end.
    ///
    /// # Errors
    /// If a record cannot be kept.
    pub fn measure(&self, run: &Run, kept: &Kept, progress: &Progress) -> anyhow::Result<Option<Vec<KeptRow>>> {
        let working: Vec<usize> = (0..self.builds.len()).filter(|&build| self.builds[build].is_ok()).collect();
        let mut failures: Vec<Vec<(usize, String)>> = vec![Vec::new(); run.rows.len()];
        for (build, reason) in
            self.builds.iter().enumerate().filter_map(|(build, made)| Some((build, made.as_ref().err()?)))
        {
            failures.iter_mut().for_each(|of_row| of_row.push((build, reason.clone())));
        }
        let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); run.rows.len()];
        let mut schedule = Schedule::new(working.len(), self.plan.rules.seed);
        let begun = Instant::now();
        for block in 0..self.plan.blocks_of_originals() {
            for at in schedule.one_way() {
                progress.say(format!(
                    "{} {}, block {}, {}",
                    self.original.suite,
                    run.name,
                    block + 1,
                    self.plan.builds[working[at]].0
                ));
                let at_ns = Nanos::from(begun.elapsed());
                let readings = self.once(run, working[at]);
                if end_requests() > 0 {
                    return Ok(None);
                }
                for (index, row) in run.rows.iter().enumerate() {
                    let figure = readings.as_ref().map_err(String::as_str).and_then(|readings| readings.of(*row));
                    match figure {
                        Ok(figure) => samples[index].push(Sample::of_report(
                            at,
                            block,
                            at_ns,
                            RunOutcome::Exited(0),
                            figure.reported(),
                        )),
                        Err(reason) => failures[index].push((working[at], reason.to_owned())),
                    }
                }
            }
        }
        let mut done = Vec::new();
        for ((row, samples), failures) in run.rows.iter().zip(samples).zip(failures) {
            let Some(row) = find(row.suite.name(), row.name).filter(|row| self.plan.rows.contains(row)) else {
                continue;
            };
            done.push(self.keep(row, samples, failures, &working, kept, begun.elapsed())?);
        }
        Ok(Some(done))
    }

    /// A row's record without the builds that failed in any block.
    fn keep(
        &self,
        row: &'static Row,
        samples: Vec<Sample>,
        failures: Vec<(usize, String)>,
        working: &[usize],
        kept: &Kept,
        took: Duration,
    ) -> anyhow::Result<KeptRow> {
        let mut of_build: Vec<Failure> = Vec::new();
        for (build, reason) in failures {
            if !of_build.iter().any(|failure| failure.build == build) {
                of_build.push(Failure { build, reason });
            }
        }
        let fine: Vec<usize> =
            (0..working.len()).filter(|&at| !of_build.iter().any(|failure| failure.build == working[at])).collect();
        if fine.is_empty() {
            return Ok(KeptRow::new(row, of_build, false));
        }
        let variants = fine.iter().map(|&at| VariantRecord {
            name: self.plan.builds[working[at]].0.clone(),
            command: vec![self.original.suite.name().to_owned()],
            ..VariantRecord::default()
        });
        let header = Header {
            started: kept.started,
            underpin: env!("CARGO_PKG_VERSION").to_owned(),
            machine: self.plan.machine.clone(),
            variants: variants.collect(),
            reference: 0,
            rules: self.plan.rules.clone(),
            load: None,
            row: Some(RowName { suite: row.suite.to_string(), row: row.name.to_owned() }),
        };
        let place =
            |sample: Sample| Some(Sample { variant: fine.iter().position(|&at| at == sample.variant)?, ..sample });
        let samples = samples.into_iter().filter_map(place).collect();
        let end = End {
            stopped: Stopped::Runs,
            took_ns: took.into(),
            missing: Vec::new(),
            load_hundredths: None,
            sampled: None,
        };
        write(kept, row, &BenchRecord { header, samples, memory: Vec::new(), end: Some(end) })?;
        Ok(KeptRow::new(row, of_build, true))
    }

    /// All steps of a run under one build; an error is the reason, as a clause.
    fn once(&self, run: &Run, build: usize) -> Result<Readings, String> {
        let folder = self.builds[build].as_ref().map_err(Clone::clone)?;
        let _installed =
            run.installed.map(|(program, path)| Installed::new(&folder.join(program), Path::new(path))).transpose()?;
        let (mut stdout, mut stderr, mut elapsed, mut failure) = (String::new(), String::new(), Duration::ZERO, None);
        for step in &run.steps {
            // What ends a server runs also if what is between has failed.
            if failure.is_some() && step.role != Role::Ends {
                continue;
            }
            match self.step(step, run, folder) {
                Ok((out, error, took)) if step.role == Role::Measures => {
                    stdout += &out;
                    stderr += &error;
                    elapsed += took;
                }
                Ok(_) => {}
                Err(reason) => failure = failure.or(Some(reason)),
            }
            if let Role::Serves { ready } = step.role {
                std::thread::sleep(ready);
            }
        }
        match failure {
            Some(reason) => Err(reason),
            None => {
                let printed = Printed { stdout: &stdout, stderr: &stderr, elapsed };
                self.original.suite.parse(run.name, &printed).map_err(|error| error.to_string())
            }
        }
    }

    fn step(&self, step: &Step, run: &Run, folder: &Path) -> Result<(String, String, Duration), String> {
        let program = folder.join(step.program);
        let words: Vec<OsString> =
            [program.clone().into_os_string()].into_iter().chain(step.arguments.iter().map(OsString::from)).collect();
        let mut environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        for (name, value) in &self.recipe.environment {
            environment.retain(|(other, _)| other != name);
            environment.push((name.into(), value.into()));
        }
        let file = || tempfile::tempfile().map_err(|error| format!("no temporary file: {error}"));
        let (mut out, mut error) = (file()?, file()?);
        let copy = |file: &fs::File| file.try_clone().map(Into::into).map_err(|error| error.to_string());
        let input = fs::File::open("/dev/null").map_err(|error| error.to_string())?;
        let streams = Streams { input: Some(input.into()), output: Some(copy(&out)?), error: Some(copy(&error)?) };
        let spawn =
            Spawn::new(program, &words, &environment, streams).and_then(|spawn| spawn.in_directory(Some(folder)));
        let limits = Limits { timeout: Some(run.deadline), requests: end_requests() + 1 };
        let ended = spawn.and_then(|spawn| spawn.run(&[], limits)).map_err(|error| error.to_string())?;
        match ended.end {
            RunEnd::TimedOut => Err(format!("{} did not end within {} s", step.program, run.deadline.as_secs())),
            RunEnd::Signalled(signal) => Err(format!("{} was ended by signal {signal}", step.program)),
            RunEnd::Interrupted => Err("interrupted".to_owned()),
            // Several of these programs end with whatever lay in a register.
            RunEnd::Exited(_) => Ok((text(&mut out)?, text(&mut error)?, ended.wall)),
        }
    }
}

fn text(file: &mut fs::File) -> Result<String, String> {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A program at the absolute path by which the original names it, removed when this is dropped.
struct Installed(PathBuf);

impl Installed {
    fn new(program: &Path, path: &Path) -> Result<Installed, String> {
        if fs::symlink_metadata(path).is_ok() {
            return Err(format!("{} is there already, and the original needs that path", path.display()));
        }
        fs::copy(program, path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Installed(path.to_owned()))
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        // Nothing else can be done about one that stays.
        let _ = fs::remove_file(&self.0);
    }
}

/// A copy of a folder in place of an older one, without its repository.
fn copied(from: &Path, to: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(to) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot replace {}", to.display()));
        }
        _ => {}
    }
    fs::create_dir_all(to).with_context(|| format!("cannot write {}", to.display()))?;
    let entries = fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {}", from.display()))?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().with_context(|| format!("cannot read {}", path.display()))?;
        if kind.is_dir() && entry.file_name() != ".git" {
            copied(&path, &target)?;
        } else if kind.is_file() {
            fs::copy(&path, &target).with_context(|| format!("cannot copy {}", path.display()))?;
        }
    }
    Ok(())
}

/// Builds the programs of one build, and puts what they need beside them.
fn prepared(plan: &SuitePlan, build: usize, recipe: &Recipe, sources: &Path, to: &Path) -> anyhow::Result<String> {
    if plan.target.is_some() {
        bail!("an original is not run under an emulator");
    }
    let before = std::env::current_dir()?;
    // Their options name files of the sources.
    std::env::set_current_dir(sources).with_context(|| format!("cannot enter {}", sources.display()))?;
    let made = programs(plan, build, recipe, sources, to);
    std::env::set_current_dir(&before).with_context(|| format!("cannot enter {}", before.display()))?;
    let description = made?;
    for copy in &recipe.copied {
        let target = to.join(copy.to);
        fs::copy(sources.join(copy.from), &target).with_context(|| format!("cannot copy {}", copy.from))?;
        fs::set_permissions(&target, fs::Permissions::from_mode(if copy.is_executable { 0o755 } else { 0o644 }))?;
    }
    for file in &recipe.work_files {
        write_work_file(file, &to.join(file.name)).with_context(|| format!("cannot write {}", file.name))?;
    }
    Ok(description)
}

/// A file for the programs to read, written in pieces as the original's own tool writes it: the pages of one that was
/// written at once are mapped ten times faster.
fn write_work_file(file: &WorkFile, path: &Path) -> std::io::Result<()> {
    let mut to = fs::File::create(path)?;
    let piece = vec![b'u'; file.piece];
    let mut left = file.bytes;
    while left > 0 {
        let now = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        to.write_all(&piece[..now])?;
        left -= now as u64;
    }
    Ok(())
}

fn programs(plan: &SuitePlan, build: usize, recipe: &Recipe, sources: &Path, to: &Path) -> anyhow::Result<String> {
    let mut description = String::new();
    for program in &recipe.programs {
        let project = sources.join(program.project());
        let stem = project.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        let beside = names(project.parent().unwrap_or(sources))?;
        let output = to.join(format!("{}.made", program.name)).join("");
        let args = BuildArgs::of(project, plan.builds[build].1, Vec::new(), output);
        let (document, path, _) = built(BuildArgs { goal: plan.goal, words: program.words(&beside), ..args }, &stem)
            .with_context(|| program.name.to_owned())?;
        fs::rename(&path, to.join(program.name)).with_context(|| format!("cannot move {}", path.display()))?;
        description = describe(&document);
    }
    Ok(description)
}

/// The names of a folder's files.
fn names(folder: &Path) -> anyhow::Result<Vec<String>> {
    let names = fs::read_dir(folder).and_then(|entries| {
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect::<std::io::Result<_>>()
    });
    names.with_context(|| format!("cannot read {}", folder.display()))
}
