//! The plan of `underpin survey`.

use super::{CheckPlan, Target, survey_options};
use crate::cli::SurveyArgs;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use underpin_trace::TraceOptions;

/// What to examine, whether to run it, what to write.
#[derive(Debug)]
pub struct SurveyPlan {
    /// The program.
    pub path: PathBuf,
    /// The plan of its check.
    pub check: CheckPlan,
    /// How it is resolved.
    pub target: Target,
    /// The run that the user asked for, if any.
    pub run: Option<TraceOptions>,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The longest time for the trial of allocators.
    pub trial: Duration,
    /// Arguments for measuring the gain of binding, if that was requested.
    pub measure_bind: Option<Vec<OsString>>,
    /// Output files and their formats.
    pub exports: Vec<(Format, PathBuf)>,
    /// JSON instead of a screen.
    pub json: bool,
    /// How detailed the screen is.
    pub verbosity: u8,
}

/// The formats of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One self-contained page.
    Html,
    /// The document.
    Json,
    /// A page for a code host.
    Markdown,
}

impl SurveyPlan {
    /// `asked_to_run`: the command line has a `--`, even with nothing after it.
    ///
    /// # Errors
    /// If the program cannot be read.
    pub fn new(args: SurveyArgs, asked_to_run: bool) -> anyhow::Result<SurveyPlan> {
        let target = Target::here();
        let path = target.program(&args.program, "survey")?;
        let check = CheckPlan::of(&path, &[], target.environment.clone())?;
        let arguments = args.arguments.clone();
        let measure_bind = args.measure_bind.then(|| args.arguments.clone());
        let run = if asked_to_run {
            // A bare name would be searched for in PATH, but the file here is meant.
            let has_folder = path.parent().is_some_and(|folder| !folder.as_os_str().is_empty());
            let here = if has_folder { path.clone() } else { Path::new(".").join(&path) };
            Some(survey_options(here.into_os_string(), args.arguments, args.until)?)
        } else {
            None
        };
        let exports = [
            (Format::Html, args.export_html),
            (Format::Json, args.exports.export_json),
            (Format::Markdown, args.exports.export_markdown),
        ];
        let exports = exports.into_iter().filter_map(|(format, path)| Some((format, path?))).collect();
        Ok(SurveyPlan {
            path,
            check,
            target,
            run,
            arguments,
            trial: args.trial,
            measure_bind,
            exports,
            json: args.display.json,
            verbosity: args.display.verbose,
        })
    }
}
