//! The commands of a build: one after the other, each with its own log, until one fails or the user interrupts.

use crate::plan::BuildPlan;
use crate::progress::Progress;
use crate::screen::note;
use crate::tool_terminal::{ToolTerminal, plain};
use anyhow::{Context, bail};
use bstr::ByteSlice;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, IsTerminal};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;
use underpin_bench::shell_word;
use underpin_build::{Holder, Outputs, Plan, Step, Waited, WorkLock, telling, unseen};
use underpin_sys::{Limits, RunEnd, Spawn, Streams, end_requests};

/// This many lines of a tool's output are shown if it fails.
const LAST_LINES: usize = 40;

/// Takes the lock for building, if need be after another run has ended; `None` if the user interrupted it.
///
/// # Errors
/// If the other run takes longer than the user is willing to wait.
pub fn lock(build: &BuildPlan) -> anyhow::Result<Option<WorkLock>> {
    let plan = &build.plan;
    let what = |holder: &Holder| format!("{holder}, which builds {} as {}", plan.project.folder().display(), plan.spec);
    let told = |holder: &Holder| note(&format!("waiting for {}, too", what(holder)));
    match Waited::for_lock(build.wait, || plan.lock(), told)? {
        Waited::Locked(lock) => Ok(Some(lock)),
        Waited::Ended => Ok(None),
        Waited::Late(holder) => bail!(
            "waited {} s for {}, too: end it, wait longer (--wait SECONDS), or build with another cache (XDG_CACHE_HOME)",
            build.wait.as_secs(),
            what(&holder)
        ),
    }
}

/// Runs every command, each within a time; `None` if the user interrupted it.
///
/// # Errors
/// If one fails.
pub fn execute(plan: &Plan, timeout: Duration) -> anyhow::Result<Option<Outputs>> {
    if end_requests() > 0 {
        return Ok(None);
    }
    plan.prepare()?;
    let mut outputs = Outputs::default();
    for step in plan.steps() {
        let (output, log) = (plan.work.join("output"), plan.work.join("log"));
        let was_shown = match complete(plan, step, timeout, &output, &log) {
            Ok(Some(was_shown)) => was_shown,
            Ok(None) => return Ok(None),
            Err(error) if step.optional => {
                let said = error.to_string();
                let how = said.lines().next().unwrap_or_default().trim_end_matches(':');
                outputs.left_out.push(format!("{how}: built with the sources as they were"));
                plan.prepare()?;
                continue;
            }
            Err(error) => return Err(error),
        };
        let text = if step.captured { fs::read(&output)?.to_str_lossy().into_owned() } else { String::new() };
        outputs.add(&text, step.makes.as_deref());
        // A step whose output is read asks a tool something: what it says beside is not about the build.
        if !step.captured && !was_shown {
            outputs.said(&last_lines(&fs::read(&log).unwrap_or_default()));
        }
    }
    plan.finished();
    Ok(if end_requests() > 0 { None } else { Some(outputs) })
}

/// Runs a command to its good end, whether the user has seen what it said; `None` if the user interrupted it. What it lacks of a
/// manual gets a stand-in, and it is tried again.
fn complete(plan: &Plan, step: &Step, timeout: Duration, output: &Path, log: &Path) -> anyhow::Result<Option<bool>> {
    let mut step = plan.as_remembered(step);
    loop {
        let (end, was_shown) = start(plan, &step, timeout, output, log)?;
        let again = match end {
            RunEnd::Exited(0) => return Ok(Some(was_shown)),
            RunEnd::Interrupted => return Ok(None),
            RunEnd::Exited(_) => {
                plan.finished();
                let said = plain(&fs::read(log).unwrap_or_default());
                plan.without_manual(&step, &said.to_str_lossy())?
            }
            _ => None,
        };
        let Some((again, names)) = again else { bail!(failure(plan, &step, end, log, was_shown)) };
        note(&format!("no {} among the sources, of their manual: again with an empty file", names.join(", ")));
        step = Cow::Owned(again);
    }
}

/// Runs a command: how it ended, and whether the user has seen what it said. That goes into a log, and to the terminal if there
/// is one.
fn start(plan: &Plan, step: &Step, timeout: Duration, output: &Path, log: &Path) -> anyhow::Result<(RunEnd, bool)> {
    let created = |path: &Path| File::create(path).with_context(|| format!("cannot write {}", path.display()));
    let log = created(log)?;
    // Without pseudo-terminals a tool has none, and a user reads what it said if it fails.
    let on_terminal = io::stderr().is_terminal();
    let terminal = on_terminal.then(|| log.try_clone().and_then(ToolTerminal::new).ok()).flatten();
    let messages = || terminal.as_ref().map_or_else(|| Ok(log.try_clone()?.into()), ToolTerminal::stream);
    // Standard output is reserved for us: what a tool prints belongs beside its messages.
    let output = if step.captured { OwnedFd::from(created(output)?) } else { messages()? };
    let input = Some(OwnedFd::from(File::open("/dev/null")?));
    let streams = Streams { input, output: Some(output), error: Some(messages()?) };
    let mut environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    // What tools say is read: which folder make entered, what a linker lacks. A German make says it in German.
    environment.insert("LC_ALL".into(), "C.UTF-8".into());
    environment.remove(OsStr::new("LANGUAGE"));
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
    let run = spawn.run(&[], Limits { timeout: Some(timeout), requests: 1 });
    drop(spawn);
    let was_shown = terminal.is_some();
    if let Some(terminal) = terminal {
        terminal.finish();
    }
    Ok((run?.end, was_shown))
}

fn last_lines(said: &[u8]) -> String {
    let lines: Vec<String> = said.lines().map(|line| line.to_str_lossy().into_owned()).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

/// What failed, the tool's own last lines or, where the user has seen them, what was far above, and the command to repeat it.
fn failure(plan: &Plan, step: &Step, end: RunEnd, log: &Path, was_shown: bool) -> String {
    let how = match end {
        RunEnd::Exited(code) => format!("exit status {code}"),
        RunEnd::Signalled(signal) => format!("signal {signal}"),
        _ => "it took longer than --timeout SECONDS gives it, and was ended".to_owned(),
    };
    let said = plain(&fs::read(log).unwrap_or_default());
    let said = said.to_str_lossy();
    let lines: Vec<&str> = said.lines().collect();
    let told = if was_shown { unseen(&lines, LAST_LINES) } else { telling(&lines, LAST_LINES) };
    let told = if told.is_empty() { String::new() } else { format!(":\n{}\n", told.join("\n")) };
    // Repeating a refused command would be refused again: then the advice is the other way.
    let next = plan.project.advice(&said).unwrap_or_else(|| format!("to repeat it: {}", shell(step)));
    let advice = underpin_build::advice(&plan.spec, &said);
    let advice: String = plan.planned.doubt.iter().chain(&advice).map(|advice| format!("{advice}\n")).collect();
    format!("{} failed ({how}){told}\n{advice}{next}", step.words)
}

/// A command in shell syntax.
pub fn shell(step: &Step) -> String {
    let mut words = vec!["cd".to_owned(), shell_word(&step.directory.display().to_string()), "&&".to_owned()];
    words.extend(step.environment.iter().map(|(name, value)| format!("{name}={}", shell_word(value))));
    words.push(shell_word(&step.program.display().to_string()));
    words.extend(step.arguments.iter().map(|argument| shell_word(argument)));
    words.join(" ")
}
