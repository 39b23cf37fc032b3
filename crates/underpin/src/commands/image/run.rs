//! `underpin image run`.

use super::raw;
use super::receive::Sink;
use crate::exit::Exit;
use crate::plan::{ImageRunPlan, MachineFiles};
use crate::screen::{self, Screen};
use std::io;
use std::time::Duration;
use underpin_image::ImageError;
use underpin_image::boot::{Boot, GuestEnd, Patience, boot, telling};
use underpin_image::protocol::Status;
use underpin_report::document::image::{ImageFetched, ImageOutcome, ImageUsage};
use underpin_report::{ImageRunDocument, text};

/// As timeout(1) has it.
pub(super) const AT_DEADLINE: u8 = 124;
/// As env(1) has it: the failure is ours.
const OURS: u8 = 125;
pub(super) const NOT_EXECUTABLE: u8 = 126;
pub(super) const NOT_FOUND: u8 = 127;
const ENOENT: i32 = 2;
/// A panic with its trace fits.
const SHOWN: usize = 20;

/// Starts the image, passes the command's streams and files on, returns its code.
///
/// # Errors
/// If QEMU cannot be started, or a file cannot be written.
pub fn run(plan: &ImageRunPlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let files = MachineFiles::of(&plan.image);
    let mut sink = Sink::new(plan.json, &plan.places);
    let machine = plan.machine(&files);
    let result = match boot(&plan.qemu, &machine, &plan.request, Patience::command(plan.timeout), &mut sink) {
        Ok(result) => result,
        // The reader of the command's output has what it wanted.
        Err(ImageError::PassOn { source }) if source.kind() == io::ErrorKind::BrokenPipe => return Ok(Exit::Fine),
        Err(error) => return Err(error.into()),
    };
    if result.outcome == GuestEnd::Interrupted {
        return Ok(Exit::interrupted());
    }
    let document = document(plan, &sink, &result);
    if plan.json {
        screen.json(&document)?;
    } else {
        explain(plan, &document, &result);
        if plan.verbosity > 0 {
            // Standard output is the command's.
            let lines = text::image_run(&document, &screen.view(plan.verbosity));
            lines.lines().iter().for_each(|line| screen::note(line));
        }
    }
    let lost = document.files.iter().any(|file| file.error.is_some());
    let exit = exit(&result.outcome);
    Ok(if lost && exit == Exit::Command(0) { Exit::Command(OURS) } else { exit })
}

/// Runs the command with its streams kept; `None` if this process was asked to end.
///
/// # Errors
/// As for [`run`].
pub(super) fn recorded(plan: &ImageRunPlan) -> anyhow::Result<Option<ImageRunDocument>> {
    let files = MachineFiles::of(&plan.image);
    let mut sink = Sink::new(true, &plan.places);
    let result = boot(&plan.qemu, &plan.machine(&files), &plan.request, Patience::command(plan.timeout), &mut sink)?;
    Ok((result.outcome != GuestEnd::Interrupted).then(|| document(plan, &sink, &result)))
}

/// What a person must know that the command's own output does not say.
fn explain(plan: &ImageRunPlan, document: &ImageRunDocument, result: &Boot) {
    explain_end(document, plan.timeout);
    if let GuestEnd::NoResult { was_up, gave_up } = result.outcome {
        let what = match (was_up, gave_up) {
            (true, _) => "the guest went down before the command ended",
            (false, true) => "the guest did not come up in time and was ended",
            (false, false) => "the guest did not come up",
        };
        let said = if result.said.is_empty() { String::new() } else { format!("; QEMU says: {}", result.said) };
        let lines = if result.console.is_empty() { "its console is empty" } else { "the end of its console:" };
        screen::note(&format!("{what}{said}; {lines}"));
        telling(&result.console, SHOWN).iter().for_each(|line| screen::note(&format!("  {line}")));
    }
    for file in &document.files {
        if let Some(error) = &file.error {
            screen::note(&format!("--get {}: {error}", file.path));
        }
    }
}

/// That the command did not start, or did not end by itself.
pub(super) fn explain_end(document: &ImageRunDocument, timeout: Duration) {
    if document.outcome == ImageOutcome::TimedOut {
        screen::note(&format!("the command was ended after {} s (--timeout)", timeout.as_secs_f64()));
    }
    if let Some(error) = &document.error {
        screen::note(&format!("{}: {error}", document.command.first().map(ToString::to_string).unwrap_or_default()));
    }
}

fn exit(outcome: &GuestEnd) -> Exit {
    match outcome {
        GuestEnd::Ended(status) => match end(status) {
            (ImageOutcome::Exited, code) => Exit::Command(u8::try_from(code).unwrap_or(u8::MAX)),
            (ImageOutcome::Signalled, signal) => Exit::by_signal(signal),
            (_, ENOENT) => Exit::Command(NOT_FOUND),
            _ => Exit::Command(NOT_EXECUTABLE),
        },
        GuestEnd::TimedOut => Exit::Command(AT_DEADLINE),
        GuestEnd::NoResult { .. } | GuestEnd::Interrupted => Exit::Command(OURS),
    }
}

/// How, and its number: exit status, signal or error. The status is as wait4(2) of the guest gives it.
fn end(status: &Status) -> (ImageOutcome, i32) {
    match (status.exec_errno, status.status & 0x7f) {
        (0, 0) => (ImageOutcome::Exited, status.status >> 8 & 0xff),
        (0, signal) => (ImageOutcome::Signalled, signal),
        (errno, _) => (ImageOutcome::NotStarted, errno),
    }
}

fn document(plan: &ImageRunPlan, sink: &Sink<'_>, result: &Boot) -> ImageRunDocument {
    let (outcome, number, status) = match &result.outcome {
        GuestEnd::Ended(status) => {
            let (outcome, number) = end(status);
            (outcome, number, Some(status).filter(|_| outcome != ImageOutcome::NotStarted))
        }
        GuestEnd::TimedOut => (ImageOutcome::TimedOut, 0, None),
        GuestEnd::NoResult { .. } | GuestEnd::Interrupted => (ImageOutcome::NoResult, 0, None),
    };
    let number = |wanted| (outcome == wanted).then_some(number);
    let files = plan.request.files.iter().zip(&plan.places).zip(&sink.files);
    let shows_console = outcome == ImageOutcome::NoResult;
    ImageRunDocument {
        schema: underpin_report::document::SchemaTag::new(),
        folder: raw(&plan.folder),
        target: plan.target.name().to_owned(),
        command: plan.request.arguments.iter().map(raw).collect(),
        runner: "qemu".to_owned(),
        runner_reason: plan.runner_reason.clone(),
        accelerator: Some(plan.chosen.accelerator.name().to_owned()),
        accelerator_reason: Some(plan.chosen.because.clone()),
        qemu: Some(format!("{}.{}", plan.qemu.version.0, plan.qemu.version.1)),
        icount: plan.icount,
        outcome,
        exit_status: number(ImageOutcome::Exited),
        signal: number(ImageOutcome::Signalled),
        error: number(ImageOutcome::NotStarted).map(not_started),
        boot_seconds: result.up_after.map(|up| up.as_secs_f64()),
        wall_seconds: result.wall.as_secs_f64(),
        used: status.map(used),
        output: underpin_report::Raw(sink.output.as_slice().into()),
        errors: underpin_report::Raw(sink.errors.as_slice().into()),
        files: files
            .map(|((path, place), file)| ImageFetched {
                path: raw(path),
                place: raw(place),
                bytes: file.bytes,
                error: file.error.clone(),
            })
            .collect(),
        console: if shows_console { result.console.clone() } else { Vec::new() },
    }
}

fn not_started(errno: i32) -> String {
    let advice = if errno == ENOENT {
        "no such program in the image, or its loader is missing: image.json lists what is there"
    } else {
        "the guest's kernel does not start it"
    };
    format!("{advice} ({})", io::Error::from_raw_os_error(errno))
}

fn used(status: &Status) -> ImageUsage {
    let seconds = |microseconds: u64| microseconds as f64 / 1e6;
    ImageUsage {
        wall_seconds: seconds(status.wall_us),
        user_seconds: seconds(status.user_us),
        system_seconds: seconds(status.system_us),
        max_rss_bytes: status.max_rss_kib * 1024,
        minor_faults: status.minor_faults,
        major_faults: status.major_faults,
    }
}
