//! `underpin image run` of an image of containers: in a runtime, or in a guest.

use super::{raw, run};
use crate::exit::Exit;
use crate::plan::{ContainedRunPlan, MayFail, Means};
use crate::screen::{self, Screen};
use anyhow::bail;
use std::fs::File;
use std::io::{Read, Seek};
use std::time::Duration;
use underpin_image::container::{NoCommand, Ran, Refused, Runtime, write};
use underpin_report::document::image::ImageOutcome;
use underpin_report::{ImageRunDocument, Raw, text};
use underpin_sys::{RunEnd, Streams};

/// Runs the command of the image or another, and returns its code.
///
/// # Errors
/// If neither a runtime nor a guest can be started, or a file cannot be written.
pub fn run(plan: &ContainedRunPlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    match done(plan)? {
        Done::Here(document, exit) => {
            show(plan, &document, screen)?;
            Ok(exit)
        }
        Done::Interrupted => Ok(Exit::interrupted()),
        Done::NotHere(reason) => {
            let folder = tempfile::Builder::new().prefix("underpin-container-").tempdir()?;
            run::run(&plan.guest(&reason, &folder.path().join("guest"))?, screen)
        }
    }
}

/// Runs the command with its streams kept; `None` if this process was asked to end.
///
/// # Errors
/// As for [`run`].
pub(super) fn recorded(plan: &ContainedRunPlan) -> anyhow::Result<Option<ImageRunDocument>> {
    match done(plan)? {
        Done::Here(document, _) => Ok(Some(*document)),
        Done::Interrupted => Ok(None),
        Done::NotHere(reason) => {
            let folder = tempfile::Builder::new().prefix("underpin-container-").tempdir()?;
            run::recorded(&plan.guest(&reason, &folder.path().join("guest"))?)
        }
    }
}

/// What became of a command.
enum Done {
    Here(Box<ImageRunDocument>, Exit),
    /// No runtime starts it, and why.
    NotHere(String),
    Interrupted,
}

fn done(plan: &ContainedRunPlan) -> anyhow::Result<Done> {
    let folder = tempfile::Builder::new().prefix("underpin-container-").tempdir()?;
    Ok(match &plan.means {
        Means::Guest(reason) => Done::NotHere(reason.clone()),
        Means::Runtime(runtime, may_fail) => {
            if let Some(obstacle) = plan.obstacle() {
                let outcome = Outcome::NotStarted(obstacle);
                let document = document(plan, runtime, &outcome, (Raw::default(), Raw::default()), Duration::ZERO);
                return Ok(Done::Here(Box::new(document), outcome.exit()));
            }
            let bundle = folder.path().join("bundle");
            std::fs::create_dir(&bundle)?;
            write(&plan.image, &plan.process, plan.host_network, &bundle)?;
            let mut kept = Kept::new(plan.args.display.json)?;
            match runtime.run(&bundle, plan.timeout, kept.streams()?)? {
                Ok(Ran { end: RunEnd::Interrupted, .. }) => Done::Interrupted,
                Ok(Ran { end, wall }) => {
                    let outcome = Outcome::Ended(end);
                    Done::Here(Box::new(document(plan, runtime, &outcome, kept.texts()?, wall)), outcome.exit())
                }
                Err(Refused(said)) if *may_fail == MayFail::No => bail!("--runner runtime: {said}"),
                Err(Refused(said)) if plan.host_network => bail!("--network host: a guest has no network, and {said}"),
                Err(Refused(said)) => Done::NotHere(said),
            }
        }
    })
}

/// How a command in a runtime ended.
enum Outcome {
    Ended(RunEnd),
    NotStarted(NoCommand),
}

impl Outcome {
    fn exit(&self) -> Exit {
        match self {
            Outcome::Ended(RunEnd::Exited(code)) => Exit::Command(u8::try_from(*code).unwrap_or(u8::MAX)),
            Outcome::Ended(RunEnd::Signalled(signal)) => Exit::by_signal(*signal),
            Outcome::Ended(_) => Exit::Command(run::AT_DEADLINE),
            Outcome::NotStarted(NoCommand::NotFound) => Exit::Command(run::NOT_FOUND),
            Outcome::NotStarted(NoCommand::NotExecutable) => Exit::Command(run::NOT_EXECUTABLE),
        }
    }
}

/// The streams of the process: ours, or files for a document.
struct Kept(Option<(File, File)>);

impl Kept {
    fn new(keeps: bool) -> std::io::Result<Kept> {
        Ok(Kept(if keeps { Some((tempfile::tempfile()?, tempfile::tempfile()?)) } else { None }))
    }

    /// The input is empty, as in a guest.
    fn streams(&self) -> std::io::Result<Streams> {
        let input = Some(File::open("/dev/null")?.into());
        Ok(match &self.0 {
            None => Streams { input, output: None, error: None },
            Some((out, err)) => {
                Streams { input, output: Some(out.try_clone()?.into()), error: Some(err.try_clone()?.into()) }
            }
        })
    }

    fn texts(&mut self) -> std::io::Result<(Raw, Raw)> {
        let text = |file: &mut File| -> std::io::Result<Raw> {
            let mut bytes = Vec::new();
            file.rewind()?;
            file.read_to_end(&mut bytes)?;
            Ok(Raw(bytes.into()))
        };
        match &mut self.0 {
            None => Ok((Raw::default(), Raw::default())),
            Some((out, err)) => Ok((text(out)?, text(err)?)),
        }
    }
}

fn document(
    plan: &ContainedRunPlan,
    runtime: &Runtime,
    outcome: &Outcome,
    (output, errors): (Raw, Raw),
    wall: Duration,
) -> ImageRunDocument {
    let error = match outcome {
        Outcome::NotStarted(NoCommand::NotFound) => Some("no such program in the image"),
        Outcome::NotStarted(NoCommand::NotExecutable) => Some("it cannot be executed: its mode has no right to"),
        Outcome::Ended(_) => None,
    };
    ImageRunDocument {
        schema: underpin_report::document::SchemaTag::new(),
        folder: raw(&plan.args.image),
        target: plan.target.container().to_owned(),
        command: plan.process.arguments.iter().map(raw).collect(),
        runner: runtime.name.to_owned(),
        runner_reason: None,
        accelerator: None,
        accelerator_reason: None,
        qemu: None,
        icount: false,
        outcome: match outcome {
            Outcome::Ended(RunEnd::Exited(_)) => ImageOutcome::Exited,
            Outcome::Ended(RunEnd::Signalled(_)) => ImageOutcome::Signalled,
            Outcome::Ended(_) => ImageOutcome::TimedOut,
            Outcome::NotStarted(_) => ImageOutcome::NotStarted,
        },
        exit_status: if let Outcome::Ended(RunEnd::Exited(code)) = outcome { Some(*code) } else { None },
        signal: if let Outcome::Ended(RunEnd::Signalled(signal)) = outcome { Some(*signal) } else { None },
        error: error.map(str::to_owned),
        boot_seconds: None,
        wall_seconds: wall.as_secs_f64(),
        used: None,
        output,
        errors,
        files: Vec::new(),
        console: Vec::new(),
    }
}

fn show(plan: &ContainedRunPlan, document: &ImageRunDocument, screen: &mut Screen) -> anyhow::Result<()> {
    if plan.args.display.json {
        screen.json(document)?;
    } else {
        run::explain_end(document, plan.timeout);
        if plan.args.display.verbose > 0 {
            // Standard output is the command's.
            let lines = text::image_run(document, &screen.view(plan.args.display.verbose));
            lines.lines().iter().for_each(|line| screen::note(line));
        }
    }
    Ok(())
}
