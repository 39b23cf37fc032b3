//! `underpin bench` and `underpin report`: measuring, keeping, showing.

use super::builds::Builds;
use super::suite;
use crate::cli::BenchArgs;
use crate::exit::Exit;
use crate::export;
use crate::plan::{BenchPlan, Form, ReportPlan, ResultPlan};
use crate::progress::RunProgress;
use crate::screen::{self, Screen};
use crate::variants::CommitError;
use anyhow::{Context, bail};
use underpin_bench::{
    Analysis, BenchError, BenchRecord, End, Executor, Header, Machine, MemoryRun, MockExecutor, Observer,
    ObserverError, RealExecutor, RunFile, Sample, Stopped, analyse, measure,
};
use underpin_report::units::with_time_unit;
use underpin_report::{BenchDocument, csv, html, hyperfine, markdown, text, to_json};
use underpin_sys::{RunEnd, Supervised, end_signal, supervise};

/// Measures in a process of its own; a supervisor above it ensures that nothing is left running when it ends.
///
/// # Errors
/// As for [`run`], and if no process can be created.
pub fn supervised(args: BenchArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
    if args.suites.list_suites {
        return Ok(suite::list(screen));
    }
    // Before anything is planned: copies of programs in temporary folders belong to one process.
    match supervise()? {
        Supervised::Worker => {
            let decides = !args.commits.is_empty() && args.results.gate.is_some();
            measured(args, screen).or_else(|error| ended(error, decides))
        }
        Supervised::Over(end) => {
            if let RunEnd::Signalled(signal) = end {
                screen::note(&format!(
                    "the measuring process was ended by signal {signal}; `underpin report` shows its runs"
                ));
            }
            Ok(Exit::of_worker(end))
        }
    }
}

fn measured(args: BenchArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
    if args.suites.is_given() {
        return suite::run(args, screen);
    }
    // They must be there until the last run is over.
    let builds = Builds::make(&args)?;
    run(BenchPlan::new(args, &builds.all)?, screen)
}

/// The exit code for an error of the worker. With two commits and a gate, one that cannot be built or run decides
/// nothing: `git bisect run` must skip it.
fn ended(error: anyhow::Error, decides: bool) -> anyhow::Result<Exit> {
    if let (Some(BenchError::Interrupted), Some(signal)) = (error.downcast_ref(), end_signal()) {
        screen::note(&"stopped before the first run: there is nothing to show");
        return Ok(Exit::by_signal(signal));
    }
    if decides && (error.is::<CommitError>() || error.is::<BenchError>()) {
        screen::complain(&error);
        return Ok(Exit::NotDecided);
    }
    Err(error)
}

/// Measures, keeps and shows.
///
/// # Errors
/// If a command fails, in which case the runs up to it are kept, or the figures cannot be kept or written.
fn run(plan: BenchPlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    plan.results.check_stdout()?;
    let baseline = baseline(&plan.results)?;
    let experiment = &plan.experiment;
    let names = experiment.candidates.iter().filter(|one| !one.is_copy).map(|one| one.name.as_str()).collect();
    check_gate(&plan.results, baseline.as_ref(), &experiment.machine, names)?;
    let file = plan.results.store.begin(plan.experiment.started, plan.save.as_deref())?;
    let progress = if plan.shows_progress { RunProgress::new("") } else { RunProgress::hidden() };
    let mut keeper = Keeper { file, progress };
    let seed = plan.experiment.rules.seed;
    let mut executor: Box<dyn Executor> = if plan.mock {
        Box::new(MockExecutor::new(seed))
    } else {
        Box::new(RealExecutor::new(plan.streams.clone(), &plan.counters, seed))
    };
    let measured = measure(&plan.experiment, executor.as_mut(), &mut keeper);
    keeper.progress.clear();
    let record = match (measured, end_signal()) {
        (Err(BenchError::Interrupted), Some(signal)) => {
            keeper.file.discard();
            screen::note(&"stopped before the first run was done: there is nothing to show");
            return Ok(Exit::by_signal(signal));
        }
        (measured, _) => measured.map_err(|error| keeper.kept(error))?,
    };
    let mut exit = present(&record, baseline.as_ref(), &plan.results, screen)?;
    if let (Some(Stopped::Interrupted), Some(signal)) = (record.end.as_ref().map(|end| end.stopped), end_signal()) {
        screen.flush()?;
        keeper.tell();
        exit = Exit::by_signal(signal);
    }
    if let Some(failure) = keeper.file.failure() {
        screen.flush()?;
        return Err(anyhow::Error::from(failure).context("the figures are complete, but could not be kept"));
    }
    Ok(exit)
}

/// Shows a kept run again.
///
/// # Errors
/// If no run has that name, or it cannot be read.
pub fn report(plan: ReportPlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    if plan.list {
        for path in plan.results.store.list()? {
            screen.line(path.file_stem().unwrap_or_default().to_string_lossy().as_bytes());
        }
        for name in suite::kept_names(plan.results.store.folder())? {
            screen.line(format!("{name} (suites)").as_bytes());
        }
        return Ok(Exit::Fine);
    }
    if let Some(kept) =
        plan.run.as_deref().map(|run| suite::find_kept(plan.results.store.folder(), run)).transpose()?.flatten()
    {
        return suite::report(&kept, &plan.results, screen);
    }
    plan.results.check_stdout()?;
    let baseline = baseline(&plan.results)?;
    let (path, record) = plan.results.store.load(plan.run.as_deref())?;
    if record.samples.is_empty() && record.memory.is_empty() {
        let commands: Vec<String> = record.header.variants.iter().map(|one| one.command.join(" ")).collect();
        bail!(
            "{}: it was interrupted before its first run was done, so there is nothing to show; measure again what it was \
             to be: {}",
            path.display(),
            commands.join("; ")
        );
    }
    let variants = record.header.variants.iter().filter(|one| !one.is_copy);
    let names = variants.map(|one| one.name.as_str()).collect();
    check_gate(&plan.results, baseline.as_ref(), &record.header.machine, names)?;
    present(&record, baseline.as_ref(), &plan.results, screen)
}

/// A kept run with its name.
type Baseline = (String, BenchRecord);

fn baseline(plan: &ResultPlan) -> anyhow::Result<Option<Baseline>> {
    let Some(name) = &plan.baseline else { return Ok(None) };
    let (_, record) = plan.store.load(Some(name)).context("--baseline")?;
    Ok(Some((name.clone(), record)))
}

/// Whether there is something for a gate to judge; checked before anything is measured.
///
/// # Errors
/// If there is nothing to compare, or only figures of another machine.
fn check_gate(
    plan: &ResultPlan,
    baseline: Option<&Baseline>,
    machine: &Machine,
    names: Vec<&str>,
) -> anyhow::Result<()> {
    if plan.gate.is_none() {
        return Ok(());
    }
    let Some((name, earlier)) = baseline else {
        if names.len() < 2 {
            bail!("--gate: nothing to compare: give a second command or variant, or --baseline NAME");
        }
        return Ok(());
    };
    if !Analysis::comparable(earlier, &names) {
        let then: Vec<&str> = earlier.header.variants.iter().map(|variant| variant.name.as_str()).collect();
        bail!(
            "--gate: no variant of the saved run {name} has the name of one of these: it has {}, and this run {}",
            then.join(", "),
            names.join(", ")
        );
    }
    let differences = machine.differs_from(&earlier.header.machine);
    if !differences.is_empty() && !plan.any_machine {
        bail!(
            "--gate: the saved run {name} was measured on another machine ({}): measure it here again, or give \
             --any-machine",
            differences.join("; ")
        );
    }
    Ok(())
}

fn present(
    record: &BenchRecord,
    baseline: Option<&Baseline>,
    plan: &ResultPlan,
    screen: &mut Screen,
) -> anyhow::Result<Exit> {
    let mut analysis = analyse(record);
    if let Some((name, earlier)) = baseline {
        analysis = analysis.with_baseline(name, earlier, record);
    }
    if let Some(gate) = &plan.gate {
        analysis = analysis.with_gate(gate, baseline.map(|(_, earlier)| earlier), record);
    }
    let outcome = analysis.gate.as_ref().map(|gate| gate.outcome);
    let document = BenchDocument::new(analysis);
    if plan.json {
        screen.json(&document)?;
    } else if plan.is_shown && !plan.exports_to_stdout() {
        screen.show(&with_time_unit(plan.time_unit, || text::bench(&document, &screen.view(plan.verbosity))));
    }
    for (form, path) in &plan.exports {
        let text = match form {
            Form::Json => to_json(&document)? + "\n",
            Form::Csv => csv::bench(&document),
            Form::Markdown => with_time_unit(plan.time_unit, || markdown::bench(&document)),
            Form::Asciidoc(unit) => hyperfine::asciidoc(&document, *unit),
            Form::Orgmode(unit) => hyperfine::orgmode(&document, *unit),
            Form::Html => with_time_unit(plan.time_unit, || html::bench(&document))?,
        };
        export::write_or_show(path, text, screen)?;
    }
    Ok(Exit::of_gate(outcome))
}

/// Keeps every run as it ends, and shows the progress.
struct Keeper {
    file: RunFile,
    progress: RunProgress,
}

impl Keeper {
    /// Prints where the runs up to an error are kept, and passes it on.
    fn kept(&self, error: BenchError) -> anyhow::Error {
        self.tell();
        error.into()
    }

    fn tell(&self) {
        if self.progress.runs > 0 {
            let stem = self.file.partial().file_stem().unwrap_or_default().to_string_lossy().into_owned();
            screen::note(&format!(
                "{} runs up to here are kept: `underpin report {stem}` shows them",
                self.progress.runs
            ));
        }
    }
}

impl Observer for Keeper {
    fn begin(&mut self, header: &Header) -> Result<(), ObserverError> {
        self.progress.begin(header)?;
        self.file.begin(header)
    }

    fn sample(&mut self, sample: &Sample) -> Result<(), ObserverError> {
        self.file.sample(sample)?;
        self.progress.sample(sample)
    }

    fn memory(&mut self, run: &MemoryRun) -> Result<(), ObserverError> {
        self.file.memory(run)?;
        self.progress.memory(run)
    }

    fn end(&mut self, end: &End) -> Result<(), ObserverError> {
        self.file.end(end)?;
        self.progress.end(end)
    }
}
