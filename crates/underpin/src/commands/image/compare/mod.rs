//! `underpin image compare`: twins built, started in turn, their rows kept and shown.

mod boots;
mod twins;

use crate::commands::suite::{Begun, Kept, KeptRow, keep_record};
use crate::exit::Exit;
use crate::export;
use crate::plan::{Form, ImageComparePlan, now};
use crate::progress::Progress;
use crate::screen::Screen;
use anyhow::bail;
use boots::{Started, Starter};
use std::time::Instant;
use twins::Twins;
use underpin_bench::{GateOutcome, Header, Rules};
use underpin_report::document::SchemaTag;
use underpin_report::document::image_compare::ImageCompareDocument;
use underpin_report::{ImageSizeDocument, SuiteDocument, html, markdown, text, to_json};
use underpin_suite::{GuestFigureName, guest_figure, repeats, rows_of, summarise};
use underpin_sys::end_requests;

/// Builds, starts, keeps and shows.
///
/// # Errors
/// If an image cannot be built or does not come up, or the figures cannot be kept or written.
pub fn run(plan: &ImageComparePlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let begun = Instant::now();
    let started = now();
    let progress = Progress::words();
    let twins = Twins::make(plan, &progress)?;
    let starter = Starter::new(plan, &twins, &progress)?;
    if let Some(folder) = &plan.output {
        starter.keep_rows(folder)?;
    }
    let mut kept = Kept::begin(
        &plan.store.folder().join("suites"),
        Begun {
            machine: &plan.machine,
            asked: &plan.asked,
            guest: Some(starter.guest.clone()),
            is_quick: plan.is_quick,
            count: plan.rows.len(),
            save: plan.save.as_deref(),
        },
        started,
    )?;
    kept.builds = twins.builds();
    let figures = starter.figures()?;
    let done = if end_requests() > 0 { None } else { starter.rows()? };
    let Some(done) = done else {
        return Ok(Exit::interrupted());
    };
    progress.clear();
    let header = header(plan, started);
    for row in rows_of(&done.boots, &plan.rows, &kept.builds, &done.failed, &header) {
        if let Some(record) = &row.record {
            keep_record(&kept, row.row, record)?;
        }
        let is_measured = row.record.is_some();
        kept.add(KeptRow::new(row.row, row.failures, is_measured), begun.elapsed().as_secs_f64())?;
    }
    let document = document(plan, &twins, &starter, &figures, &kept, &header)?;
    let outcome = show(plan, &document, screen)?;
    screen.flush()?;
    kept.finish()?;
    Ok(Exit::of_gate(outcome))
}

/// What all records of this run have in common.
fn header(plan: &ImageComparePlan, started: u64) -> Header {
    let rules = Rules { runs: Some(plan.boots), memory_runs: 0, ..Rules::default() };
    Header {
        started,
        underpin: env!("CARGO_PKG_VERSION").to_owned(),
        machine: plan.machine.clone(),
        variants: Vec::new(),
        reference: 0,
        rules,
        load: None,
        row: None,
    }
}

fn document(
    plan: &ImageComparePlan,
    twins: &Twins,
    starter: &Starter<'_>,
    figures: &[Started],
    kept: &Kept,
    header: &Header,
) -> anyhow::Result<ImageCompareDocument> {
    let run = kept.run()?;
    let names = [
        GuestFigureName::FirstResult,
        GuestFigureName::Boot,
        GuestFigureName::EmptyProcess,
        GuestFigureName::UsedMemory,
    ];
    // The host's clock depends on what else runs here, so that figure is judged as any other time is.
    let timed = Header { machine: underpin_bench::Machine::here(), ..header.clone() };
    let figure = |name: GuestFigureName| {
        let all: Vec<_> = figures.iter().filter_map(|one| one.figure(name)).collect();
        let header = if name == GuestFigureName::FirstResult { &timed } else { header };
        guest_figure(name, &kept.builds, &all, header)
    };
    let sizes = twins.sizes()?;
    let beside = sizes.iter().skip(1).map(|one| ImageSizeDocument::new(one.clone(), sizes.first().cloned()));
    let repeats = repeats(&run.rows, &kept.builds);
    let mut summary = summarise(&run);
    if let Some(rules) = &plan.gate {
        summary = summary.with_gate(rules);
    }
    Ok(ImageCompareDocument {
        schema: SchemaTag::new(),
        target: plan.target.name().to_owned(),
        guest: starter.guest.clone(),
        memory_mib: starter.memory_mib,
        boots: plan.boots,
        images: twins.images(),
        differences: twins.differences(),
        sizes: beside.collect(),
        figures: names.into_iter().map(figure).collect(),
        repeats,
        suite: SuiteDocument::new(summary),
    })
}

fn show(
    plan: &ImageComparePlan,
    document: &ImageCompareDocument,
    screen: &mut Screen,
) -> anyhow::Result<Option<GateOutcome>> {
    let to_stdout = plan.exports.iter().any(|(_, path)| path.as_os_str() == "-");
    if plan.json {
        screen.json(document)?;
    } else if !to_stdout {
        screen.show(&text::image_compare(document, &screen.view(plan.verbosity)));
    }
    for (form, path) in &plan.exports {
        let text = match form {
            Form::Json => to_json(document)? + "\n",
            Form::Markdown => markdown::image_compare(document),
            Form::Html => html::image_compare(document)?,
            Form::Csv | Form::Asciidoc(_) | Form::Orgmode(_) => bail!("twin images have no table of this form"),
        };
        export::write_or_show(path, text, screen)?;
    }
    Ok(document.summary().gate.as_ref().map(|gate| gate.outcome))
}
