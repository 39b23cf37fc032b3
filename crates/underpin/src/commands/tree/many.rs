//! Many files at once: in parallel, in the order given, one line each.

use super::resolve;
use crate::exit::Exit;
use crate::input;
use crate::object::files_below;
use crate::plan::{Output, TreePlan};
use crate::progress::Progress;
use crate::screen::{self, Screen};
use anyhow::bail;
use rayon::prelude::*;
use std::path::PathBuf;
use underpin_report::{Line, Role, TreeDocument, to_json_line};
use underpin_resolve::{Closure, Depth, FindingKind, LoaderKind, Resolver};

/// Files between two writes: enough to keep every processor busy, few enough that output comes while work goes on.
const BATCH: usize = 256;

/// One file to look at.
struct Candidate {
    path: PathBuf,
    /// The user named it: then it is an error if it is not a program. In a folder it is skipped.
    named: bool,
}

/// The result for one file.
enum Answer {
    Line(Line, Exit),
    Json(String, Exit),
    PassedOver,
    Refused(anyhow::Error),
}

/// Resolves every file and shows a line for each.
///
/// # Errors
/// If a folder cannot be read or standard output fails; files that cannot be resolved are reported on standard error.
pub fn run(resolver: &Resolver, names: &[PathBuf], plan: &TreePlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let files = candidates(names)?;
    let progress = Progress::steps(files.len());
    let mut worst = Exit::Fine;
    let mut looked_at = false;
    for batch in files.chunks(BATCH) {
        let answers: Vec<Answer> = batch.par_iter().map(|file| answer(resolver, file, plan)).collect();
        progress.advance(batch.len());
        for answer in answers {
            looked_at |= !matches!(answer, Answer::PassedOver);
            worst = worst.or(told(answer, screen));
        }
        screen.flush()?;
        if screen.closed() {
            break;
        }
    }
    if !looked_at && !screen.closed() {
        let names: Vec<String> = names.iter().map(|name| name.display().to_string()).collect();
        bail!("no program and no shared library in {}", names.join(", "));
    }
    Ok(worst)
}

fn told(answer: Answer, screen: &mut Screen) -> Exit {
    match answer {
        Answer::Line(line, exit) => {
            screen.show_line(&line);
            exit
        }
        Answer::Json(line, exit) => {
            screen.line(line);
            exit
        }
        Answer::PassedOver => Exit::Fine,
        Answer::Refused(error) => {
            screen::complain(&error);
            Exit::Error
        }
    }
}

fn answer(resolver: &Resolver, file: &Candidate, plan: &TreePlan) -> Answer {
    if plan.target.sysroot.is_none()
        && let Err(refusal) = input::require_elf(&file.path, "tree")
    {
        return if file.named { Answer::Refused(refusal.into()) } else { Answer::PassedOver };
    }
    let closure = match resolve(
        resolver,
        &file.path,
        if matches!(plan.output, Output::Json) { Depth::Paths } else { Depth::Findings },
    ) {
        Ok(closure) => closure,
        Err(error) => return Answer::Refused(error),
    };
    let exit = Exit::of(&closure);
    if !matches!(plan.output, Output::Json) {
        return Answer::Line(summary(&closure), exit);
    }
    match to_json_line(&TreeDocument::new(&closure)) {
        Ok(line) => Answer::Json(line, exit),
        Err(error) => Answer::Refused(error.into()),
    }
}

/// `path: 12 objects, glibc 2.36`, or what is missing.
fn summary(closure: &Closure) -> Line {
    let line = Line::new().with(Role::Path, &closure.program).plain(": ");
    let missing: Vec<String> = closure.findings.iter().filter_map(|finding| missing(&finding.kind)).collect();
    if !missing.is_empty() {
        return line.with(Role::Bad, missing.join(", "));
    }
    let version = closure.loader.version.map_or_else(String::new, |version| format!(" {version}"));
    let objects = closure.objects.len().saturating_sub(1);
    line.plain(match closure.loader.kind {
        LoaderKind::Glibc => format!("{objects} objects, glibc{version}"),
        LoaderKind::Musl => format!("{objects} objects, musl{version}"),
        LoaderKind::None => "static".to_owned(),
    })
}

fn missing(kind: &FindingKind) -> Option<String> {
    match kind {
        FindingKind::Missing { name } => Some(format!("{name} not found")),
        FindingKind::FatalFile { path, .. } => Some(format!("{path} stops the loader")),
        FindingKind::MissingInterpreter { path } => Some(format!("its loader {path} does not exist")),
        FindingKind::MissingVersion { file, version } => Some(format!("{file} lacks {version}")),
        _ => None,
    }
}

/// Named files themselves, and every regular file in and below named folders.
fn candidates(names: &[PathBuf]) -> anyhow::Result<Vec<Candidate>> {
    let mut files = Vec::new();
    for name in names {
        let is_folder = name.is_dir();
        if is_folder {
            files.extend(files_below(name)?.into_iter().map(|path| Candidate { path, named: false }));
        } else {
            // A name that leads nowhere is refused in its turn, without hiding the others.
            let path = input::locate(name).unwrap_or_else(|_| name.clone());
            files.push(Candidate { path, named: true });
        }
    }
    Ok(files)
}
