//! `underpin bench --suite`: the programs built, each row measured and kept, the summary shown.

mod keep;
mod original;
pub mod programs;
mod row;

use crate::cli::BenchArgs;
use crate::exit::Exit;
use crate::export;
use crate::plan::{Form, ResultPlan, SuitePlan, now};
use crate::progress::Progress;
use crate::screen::{self, Screen};
use anyhow::bail;
pub use keep::{Begun, Kept, KeptRow, write as keep_record};
use original::Originals;
use programs::Programs;
use row::Measuring;
use std::time::{Duration, Instant};
use underpin_bench::Store;
use underpin_report::{Line, Role, SuiteDocument, Text, csv, html, markdown, text, to_json};
use underpin_suite::{Row, RowRun, Suite, SuiteRun, rows, summarise};
use underpin_sys::end_signal;

/// The suites and their rows.
pub fn list(screen: &mut Screen) -> Exit {
    let mut text = Text::default();
    for suite in Suite::ALL {
        text.push(Line::new().with(Role::Heading, format!("{suite}: {}", suite.label())));
        let width = rows(suite).iter().map(|row| row.name.len()).max().unwrap_or(0);
        for row in rows(suite) {
            text.push(Line::new().plain(format!("  {:width$}  {}", row.name, row.label)));
        }
    }
    screen.show(&text);
    Exit::Fine
}

/// Builds, measures, keeps and shows.
///
/// # Errors
/// If a build fails, or the figures cannot be kept or written. A row that fails is a row that says so.
pub fn run(args: BenchArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
    let plan = SuitePlan::new(args)?;
    plan.results.check_stdout()?;
    let progress = if plan.shows_progress { Progress::words() } else { Progress::hidden() };
    let mut kept = begin(&plan)?;
    let programs = Programs::make(&plan, &progress)?;
    kept.builds.clone_from(&programs.builds);
    kept.originals = plan.originals.iter().map(|original| original.suite.name().to_owned()).collect();
    let signal = measure(&plan, &programs, &mut kept, &progress)?;
    progress.clear();
    let exit = present(&kept, &plan.results, screen)?;
    screen.flush()?;
    match signal {
        None => {
            kept.finish()?;
            Ok(exit)
        }
        Some(signal) => {
            let left = plan.rows.len() - kept.rows.len();
            screen::note(&format!("{left} rows are left: the same command with --resume goes on with them"));
            Ok(Exit::by_signal(signal))
        }
    }
}

/// A new run, or the one to go on with.
fn begin(plan: &SuitePlan) -> anyhow::Result<Kept> {
    let folder = plan.results.store.folder().join("suites");
    if plan.resumes {
        let Some(kept) = Kept::unfinished(&folder, &plan.asked)? else {
            bail!("--resume: no interrupted run of these suites and builds is in {}", folder.display());
        };
        let differences = plan.machine.differs_from(&kept.machine);
        if !differences.is_empty() {
            bail!("--resume: the run was begun on another machine ({})", differences.join("; "));
        }
        return Ok(kept);
    }
    let begun = Begun {
        machine: &plan.machine,
        asked: &plan.asked,
        guest: None,
        is_quick: plan.is_quick,
        count: plan.rows.len(),
        save: plan.save.as_deref(),
    };
    Kept::begin(&folder, begun, now())
}

/// Measures what is not kept yet; the signal that asked for the end, if one did.
fn measure(plan: &SuitePlan, programs: &Programs, kept: &mut Kept, progress: &Progress) -> anyhow::Result<Option<i32>> {
    let (begun, before, count) = (Instant::now(), kept.seconds, plan.rows.len());
    for (index, row) in plan.rows.iter().enumerate() {
        if kept.has(row) || plan.is_originals(row) {
            continue;
        }
        let rest = left(begun.elapsed(), index, count);
        let place = format!("{} {} ({} of {count}{rest})", row.suite, row.name, index + 1);
        let measuring =
            Measuring { plan, programs, store: Store::new(kept.folder()), started: kept.started, progress, place };
        let Some(done) = measuring.measure(row)? else { return Ok(Some(end_signal().unwrap_or_default())) };
        kept.add(done, before + begun.elapsed().as_secs_f64())?;
    }
    for original in &plan.originals {
        let originals = Originals::make(plan, original, &programs::cache()?, progress)?;
        for (build, description) in kept.builds.iter_mut().zip(&originals.descriptions) {
            if build.description.is_empty() {
                build.description.clone_from(description);
            }
        }
        for run in originals.runs() {
            if originals.wanted(run).iter().all(|row| kept.has(row)) {
                continue;
            }
            let Some(done) = originals.measure(run, kept, progress)? else {
                return Ok(Some(end_signal().unwrap_or_default()));
            };
            let seconds = before + begun.elapsed().as_secs_f64();
            for row in done {
                kept.add(row, seconds)?;
            }
        }
    }
    Ok(None)
}

/// How long the rest will take, judged by the rows so far.
fn left(elapsed: Duration, done: usize, count: usize) -> String {
    const ENOUGH: usize = 3;
    if done < ENOUGH {
        return String::new();
    }
    let seconds = elapsed.as_secs_f64() / done as f64 * (count - done) as f64;
    if seconds < 90.0 { format!(", {seconds:.0} s left") } else { format!(", {:.0} min left", seconds / 60.0) }
}

/// Shows a kept run of suites again.
///
/// # Errors
/// If it cannot be read or written.
pub fn report(kept: &Kept, results: &ResultPlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    results.check_stdout()?;
    present(kept, results, screen)
}

fn present(kept: &Kept, results: &ResultPlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let run = kept.run()?;
    let mut summary = summarise(&run);
    if let Some(gate) = &results.gate {
        summary = summary.with_gate(&gate.rows);
    }
    let outcome = summary.gate.as_ref().map(|gate| gate.outcome);
    let document = SuiteDocument::new(summary);
    if results.json {
        screen.json(&document)?;
    } else if results.is_shown && !results.exports_to_stdout() {
        screen.show(&text::suite(&document, &screen.view(results.verbosity)));
    }
    for (form, path) in &results.exports {
        let text = match form {
            Form::Json => to_json(&document)? + "\n",
            Form::Csv => csv::suite(&document),
            Form::Markdown => markdown::suite(&document),
            Form::Html => html::suite(&document)?,
            Form::Asciidoc(_) | Form::Orgmode(_) => {
                bail!("suites have no table of hyperfine's: export Markdown or CSV")
            }
        };
        export::write_or_show(path, text, screen)?;
    }
    Ok(Exit::of_gate(outcome))
}

pub use keep::{find as find_kept, names as kept_names};

impl Kept {
    /// The run with its records.
    ///
    /// # Errors
    /// If a record cannot be read.
    pub fn run(&self) -> anyhow::Result<SuiteRun> {
        let store = Store::new(self.folder());
        let read = |kept: &KeptRow| -> anyhow::Result<Option<RowRun>> {
            let Some(row) = underpin_suite::find(&kept.suite, &kept.row) else { return Ok(None) };
            let record = if kept.is_measured { Some(store.load(Some(&name(row)))?.1) } else { None };
            Ok(Some(RowRun { row, record, failures: kept.failures.clone() }))
        };
        let rows: Vec<Option<RowRun>> = self.rows.iter().map(read).collect::<anyhow::Result<_>>()?;
        Ok(SuiteRun {
            started: self.started,
            underpin: self.underpin.clone(),
            machine: self.machine.clone(),
            builds: self.builds.clone(),
            guest: self.guest.clone(),
            is_quick: self.is_quick,
            originals: self.originals.clone(),
            seconds: self.seconds,
            is_interrupted: self.rows.len() < self.count,
            rows: rows.into_iter().flatten().collect(),
        })
    }
}

/// The name of a row's record.
fn name(row: &Row) -> String {
    format!("{}.{}", row.suite, row.name)
}
