//! `underpin survey`: check, tree and, if the user asked for a run, trace of one program, on one page.

use super::{check, trace};
use crate::exit::Exit;
use crate::export;
use crate::fusion;
use crate::gain::Gain;
use crate::plan::{Format, SurveyPlan};
use crate::progress::RunProgress;
use crate::screen::{self, Screen};
use crate::trial;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use underpin_report::document::gain::BindingGain;
use underpin_report::{StartUp, SurveyDocument, TreeDocument, html, markdown, text, to_json};
use underpin_resolve::{Depth, Resolver};
use underpin_trace::{Session, TraceOptions};

/// Why there is no start-up on the page, though nothing went wrong.
const NOT_ASKED: &str = "the program is run only on request: add `-- ARGS` (or `--` alone)";

/// Looks at the program, runs it if asked to, and shows and writes the page.
///
/// # Errors
/// If the program cannot be resolved or a page cannot be written.
pub fn run(plan: SurveyPlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let resolver = Resolver::new(&plan.target.root, plan.target.environment.clone());
    let closure = resolver.resolve(plan.path.as_os_str().as_bytes().into(), Depth::Paths)?;
    let binding = gain(&plan);
    let (start_up, ran) = plan.run.map_or_else(|| (StartUp::Absent(NOT_ASKED.to_owned()), Exit::Fine), start);
    let trial = match &start_up {
        StartUp::Traced(trace) => {
            let mut progress = RunProgress::new("allocators on trial");
            Some(trial::allocators(&plan.path, &plan.arguments, trace, plan.trial, &mut progress))
        }
        StartUp::Absent(_) => None,
    };
    let exit = Exit::of(&closure).or(ran);
    let document = SurveyDocument::new(check::document(&plan.check), TreeDocument::new(&closure), start_up);
    let document = match binding {
        Some(gain) => document.with_binding(gain),
        None => document,
    };
    let document = match trial {
        Some(trial) => document.with_allocators(trial),
        None => document,
    };
    for (format, path) in &plan.exports {
        write(&document, *format, path)?;
    }
    if plan.json {
        screen.json(&document)?;
    } else {
        screen.show(&text::survey(&document, &screen.view(plan.verbosity)));
    }
    Ok(exit)
}

/// What binding would save, measured if `--measure-bind` was given.
fn gain(plan: &SurveyPlan) -> Option<BindingGain> {
    // Its libraries are one file already, and binding it takes that away first.
    if fusion::file_of(&plan.path).is_some() {
        return None;
    }
    let gain = Gain::predict(&plan.path, &plan.target.environment)?;
    Some(gain.measured_or_told(&plan.path, plan.measure_bind.as_deref()))
}

/// Runs the program. If it cannot be run or watched, the page gives the reason and still shows the rest.
fn start(options: TraceOptions) -> (StartUp, Exit) {
    match Session::new(options).run() {
        Ok(trace) => (StartUp::Traced(Box::new(trace::document(&trace))), Exit::Fine),
        Err(error) => {
            screen::note(&error);
            (StartUp::Absent(error.to_string()), Exit::Error)
        }
    }
}

fn write(document: &SurveyDocument, format: Format, path: &Path) -> anyhow::Result<()> {
    let text = match format {
        Format::Html => html::survey(document)?,
        Format::Json => to_json(document)? + "\n",
        Format::Markdown => markdown::survey(document),
    };
    export::write(path, &text)
}
