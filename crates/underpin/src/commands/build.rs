//! `underpin build`: runs the plan, confirms what came of it, and puts it in its place.

use crate::cli::BuildArgs;
use crate::doctor::Host;
use crate::exit::Exit;
use crate::plan::{BuildPlan, Printed};
use crate::progress::Progress;
use crate::screen::{Screen, note};
use anyhow::{Context, bail};
use bstr::ByteSlice;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, IsTerminal};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use underpin_build::project::{Program, choose};
use underpin_build::{Artifact, Confirmation, Outputs, Plan, Step, confirm, place};
use underpin_elf::{Elf, FileSource, Notes};
use underpin_report::document::build::{BuildClaim, BuildFact, BuildProgram, BuildStep};
use underpin_report::{BuildDocument, Line, Raw, Role, Text, text};
use underpin_sys::{Limits, RunEnd, Spawn, Streams, Supervised, end_signal, supervise};

/// So many lines of a tool's output are shown if it fails.
const LAST_LINES: usize = 40;

/// The build in a process of its own: a supervisor above it ends whatever it leaves running.
///
/// # Errors
/// As for [`run`], and if no process can be made.
pub fn supervised(args: BuildArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
    if args.toolchains {
        return toolchains(&args, screen);
    }
    match supervise()? {
        Supervised::Worker => BuildPlan::new(args).and_then(|plan| run(&plan, screen)),
        Supervised::Over(RunEnd::Exited(code)) => Ok(Exit::Command(u8::try_from(code).unwrap_or(u8::MAX))),
        Supervised::Over(RunEnd::Signalled(signal)) => Ok(Exit::by_signal(signal)),
        Supervised::Over(_) => Ok(Exit::Error),
    }
}

/// What would be used for each target, as `doctor` shows it.
fn toolchains(args: &BuildArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
    let document = Host::this().toolchains();
    if args.display.json {
        screen.json(&document)?;
    } else {
        screen.show(&text::doctor(&document, &screen.view(args.display.verbose)));
    }
    Ok(Exit::Fine)
}

/// Builds, confirms, delivers and shows.
///
/// # Errors
/// If a command fails, or a result cannot be read or written.
pub fn run(build: &BuildPlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    if let Some(printed) = build.printed {
        return print(build, printed, screen);
    }
    let Some(document) = make(build)? else {
        return Ok(Exit::by_signal(end_signal().unwrap_or_default()));
    };
    if build.json {
        screen.json(&document)?;
    } else {
        screen.show(&text::build(&document, &screen.view(build.verbosity)));
    }
    Ok(if document.programs.iter().all(|program| program.confirmed) { Exit::Fine } else { Exit::Finding })
}

/// Builds, confirms and delivers; `None` if the user asked for an end.
///
/// # Errors
/// As for [`run`].
pub fn make(build: &BuildPlan) -> anyhow::Result<Option<BuildDocument>> {
    let mut document = document(build);
    if !build.dry_run {
        refuse_foreign(build)?;
        let Some(outputs) = execute(&build.plan)? else { return Ok(None) };
        let request = &build.request;
        let programs = chosen(build, &outputs, &mut document)?;
        let (folder, inside) = (build.plan.project.folder(), &build.plan.planned.inside);
        let artifacts = place(programs, request.output.as_deref(), folder, inside, &request.places.current)?;
        for artifact in &artifacts {
            artifact.may_replace(request.force, has_note)?;
        }
        for artifact in &artifacts {
            let confirmation = confirm(&artifact.program.path, &build.plan.spec, &build.plan.objects)?;
            if confirmation.holds() {
                artifact.deliver()?;
            }
            document.programs.push(program(artifact, &confirmation));
        }
    }
    Ok(Some(document))
}

/// Before minutes of compiling: a file that is named and that underpin did not build.
fn refuse_foreign(build: &BuildPlan) -> anyhow::Result<()> {
    let Some(output) = &build.request.output else { return Ok(()) };
    let place = build.request.places.current.join(output);
    if place.is_file() && !build.request.force && !has_note(&place) {
        return Err(underpin_build::PlaceError::Foreign(place).into());
    }
    Ok(())
}

/// The programs that are meant; of the others a remark says how to get them.
fn chosen(build: &BuildPlan, outputs: &Outputs, document: &mut BuildDocument) -> anyhow::Result<Vec<Program>> {
    let (request, project) = (&build.request, &build.plan.project);
    let to_folder = |output: &Path| output.is_dir() || output.as_os_str().as_bytes().ends_with(b"/");
    let all = project.wants_all() || request.output.as_deref().is_some_and(to_folder);
    let (programs, others) = choose(project.programs(outputs)?, &request.bins, all, &project.names())?;
    if !others.is_empty() && request.bins.is_empty() {
        let remark = format!("also built: {} (choose with --bin NAME; -o FOLDER/ takes all)", others.join(", "));
        document.remarks.push(remark);
    }
    Ok(programs)
}

/// Makes what a build by the user's own hand needs, and prints how to use it.
fn print(build: &BuildPlan, printed: Printed, screen: &mut Screen) -> anyhow::Result<Exit> {
    let plan = &build.plan;
    if execute(plan)?.is_none() {
        return Ok(Exit::by_signal(end_signal().unwrap_or_default()));
    }
    let mut lines = Text::new();
    let mut push = |line: String| lines.push(Line::new().with(Role::Plain, line));
    match printed {
        Printed::Environment => {
            plan.exported().into_iter().for_each(|(name, value)| push(format!("export {name}={}", quoted(value))));
        }
        Printed::Objects => {
            let objects = plan.tools.objects.iter().map(|path| quoted(&path.display().to_string()));
            push(objects.collect::<Vec<_>>().join(" "));
        }
    }
    screen.show(&lines);
    Ok(Exit::Fine)
}

/// Runs every command; none if the user asked for an end.
fn execute(plan: &Plan) -> anyhow::Result<Option<Outputs>> {
    let _lock = plan.lock(|| note(&"waiting for another build of the same project"))?;
    plan.prepare()?;
    let mut outputs = Outputs::default();
    for step in plan.steps() {
        let (output, log) = (plan.work.join("output"), plan.work.join("log"));
        match start(plan, step, &output, &log)? {
            RunEnd::Exited(0) => {}
            RunEnd::Interrupted => return Ok(None),
            end => bail!(failure(plan, step, end, &log)),
        }
        let text = if step.captured { fs::read(&output)?.to_str_lossy().into_owned() } else { String::new() };
        outputs.add(&text, step.makes.as_deref());
    }
    Ok(Some(outputs))
}

/// Runs a command. What it says goes to the terminal, or into a log of which the end is shown if it fails.
fn start(plan: &Plan, step: &Step, output: &Path, log: &Path) -> anyhow::Result<RunEnd> {
    let on_terminal = io::stderr().is_terminal();
    let created = |path: &Path| File::create(path).with_context(|| format!("cannot write {}", path.display()));
    let log = created(log)?;
    let error = if on_terminal { None } else { Some(OwnedFd::from(log.try_clone()?)) };
    // Standard output is ours alone: what a tool prints belongs beside its messages.
    let output = match (step.captured, on_terminal) {
        (true, _) => OwnedFd::from(created(output)?),
        (false, true) => rustix_stderr()?,
        (false, false) => OwnedFd::from(log),
    };
    let input = Some(OwnedFd::from(File::open("/dev/null")?));
    let streams = Streams { input, output: Some(output), error };
    let mut environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    for (name, value) in plan.environment.iter().chain(&step.environment) {
        environment.insert(name.into(), value.into());
    }
    let environment: Vec<(OsString, OsString)> = environment.into_iter().collect();
    let words: Vec<OsString> = std::iter::once(step.program.clone().into_os_string())
        .chain(step.arguments.iter().map(OsString::from))
        .collect();
    let program = underpin_sys::find_program(step.program.as_os_str(), std::env::var_os("PATH").as_deref())?;
    let progress = if step.slow { Progress::words() } else { Progress::hidden() };
    progress.say(format!("{} ...", step.words));
    let spawn = Spawn::new(program, &words, &environment, streams)?.in_directory(Some(&step.directory))?;
    let run = spawn.run(&[], Limits { timeout: None, requests: 1 })?;
    Ok(run.end)
}

/// A copy of standard error, for another program's output.
fn rustix_stderr() -> io::Result<OwnedFd> {
    use std::os::fd::AsFd;
    io::stderr().as_fd().try_clone_to_owned()
}

/// What failed, the tool's own last lines, and the command to repeat it.
fn failure(plan: &Plan, step: &Step, end: RunEnd, log: &Path) -> String {
    let how = match end {
        RunEnd::Exited(code) => format!("exit status {code}"),
        RunEnd::Signalled(signal) => format!("signal {signal}"),
        _ => "no end".to_owned(),
    };
    let said = fs::read(log).unwrap_or_default();
    let lines: Vec<String> = said.lines().map(|line| line.to_str_lossy().into_owned()).collect();
    let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
    let told = if last.is_empty() { String::new() } else { format!(":\n{last}\n") };
    // What is refused is refused again: then the other way is what helps.
    let next = plan.project.advice(&said.to_str_lossy()).unwrap_or_else(|| format!("to repeat it: {}", shell(step)));
    format!("{} failed ({how}){told}\n{next}", step.words)
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./=:,+@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// A command as a shell takes it.
fn shell(step: &Step) -> String {
    let mut words = vec!["cd".to_owned(), quoted(&step.directory.display().to_string()), "&&".to_owned()];
    words.extend(step.environment.iter().map(|(name, value)| format!("{name}={}", quoted(value))));
    words.push(quoted(&step.program.display().to_string()));
    words.extend(step.arguments.iter().map(|argument| quoted(argument)));
    words.join(" ")
}

/// Whether a file has underpin's note.
fn has_note(path: &Path) -> bool {
    let read = || {
        let source = FileSource::new(File::open(path).ok()?).ok()?;
        let elf = Elf::read(&source).ok()?;
        Notes::read(&source, &elf).ok()?.build
    };
    read().is_some()
}

fn raw(path: &Path) -> Raw {
    Raw(path.as_os_str().as_bytes().into())
}

/// What is known before anything is run.
fn document(build: &BuildPlan) -> BuildDocument {
    let plan = &build.plan;
    let step = |step: &Step| BuildStep {
        what: step.words.clone(),
        command: shell(step),
        environment: step.environment.iter().map(|(name, value)| format!("{name}={value}")).collect(),
    };
    let claim = |claim: &underpin_build::Claim| BuildClaim { key: claim.key.clone(), value: claim.value.clone() };
    BuildDocument {
        schema: underpin_report::document::SchemaTag::new(),
        project: raw(plan.project.folder()),
        kind: plan.project.kind().to_owned(),
        build: plan.spec.to_string(),
        processor: plan.spec.processor.name().to_owned(),
        toolchain: plan.toolchain.words.clone(),
        dry_run: build.dry_run,
        claims: plan.claims.iter().map(claim).collect(),
        tools: raw(&plan.folder),
        steps: plan.steps().map(step).collect(),
        remarks: plan.planned.remarks.clone(),
        programs: Vec::new(),
    }
}

fn program(artifact: &Artifact, confirmation: &Confirmation) -> BuildProgram {
    let fact = |fact: &underpin_build::Fact| BuildFact {
        what: fact.what.to_owned(),
        asked: fact.asked.clone(),
        found: fact.found.clone(),
        met: fact.met,
    };
    let confirmed = confirmation.holds();
    BuildProgram {
        name: artifact.program.name.clone(),
        path: raw(if confirmed { &artifact.place } else { &artifact.program.path }),
        bytes: confirmation.bytes,
        confirmed,
        facts: confirmation.facts.iter().map(fact).collect(),
    }
}
