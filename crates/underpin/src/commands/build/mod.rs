//! `underpin build`: runs the plan, confirms the results, and puts them in their places.

pub(in crate::commands) mod steps;

use crate::cli::BuildArgs;
use crate::doctor::Host;
use crate::exit::Exit;
use crate::plan::{BuildPlan, Printed};
use crate::screen::Screen;
use anyhow::{Context, anyhow};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use steps::{execute, lock, shell};
use underpin_bench::shell_word;
use underpin_build::project::{Program, choose};
use underpin_build::tool::Dialect;
use underpin_build::{Artifact, BuildError, Confirmation, Outputs, Step, confirm, is_folder, may_replace, place};
use underpin_report::document::build::{BuildClaim, BuildFact, BuildProgram, BuildStep};
use underpin_report::{BuildDocument, Line, Raw, Role, Text, text};
use underpin_sys::{EndAtOnce, Supervised, supervise_twice};

/// The build in a process of its own: a supervisor above it ends whatever it leaves running.
///
/// # Errors
/// As for [`run`], and if no process can be created.
pub fn supervised(args: BuildArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
    if args.toolchains {
        return toolchains(&args, screen);
    }
    match supervise_twice()? {
        Supervised::Worker => {
            let plan = {
                // Nothing has been written yet, and cargo may take as long as the network does to answer.
                let _ends = EndAtOnce::new();
                BuildPlan::new(args)?
            };
            run(&plan, screen)
        }
        Supervised::Over(end) => Ok(Exit::of_worker(end)),
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
        return Ok(Exit::interrupted());
    };
    if build.json {
        screen.json(&document)?;
    } else {
        screen.show(&text::build(&document, &screen.view(build.verbosity)));
    }
    Ok(if document.programs.iter().all(|program| program.confirmed) { Exit::Fine } else { Exit::Finding })
}

/// Builds, confirms and delivers; `None` if the user interrupted it.
///
/// # Errors
/// As for [`run`].
pub fn make(build: &BuildPlan) -> anyhow::Result<Option<BuildDocument>> {
    let mut document = document(build);
    if !build.dry_run {
        refuse_early(build)?;
        // Held until the results are in their places: another run would overwrite what is being copied.
        let Some(_lock) = lock(build)? else { return Ok(None) };
        let Some(outputs) = execute(&build.plan, build.timeout)? else { return Ok(None) };
        document.remarks.extend(outputs.left_out.iter().cloned());
        document.remarks.extend(build.plan.manual_remark());
        deliver(build, &outputs, &mut document)?;
    }
    Ok(Some(document))
}

/// Confirms the chosen programs and puts them in their places.
fn deliver(build: &BuildPlan, outputs: &Outputs, document: &mut BuildDocument) -> anyhow::Result<()> {
    let request = &build.request;
    let programs = chosen(build, outputs, document)?;
    let (folder, inside) = (build.plan.project.folder(), &build.plan.planned.inside);
    let artifacts = place(programs, request.output.as_deref(), folder, inside, &request.places.current)?;
    for artifact in &artifacts {
        may_replace(&artifact.place, request.force)?;
    }
    let (mut opening, mut converting) = (Vec::new(), Vec::new());
    for artifact in &artifacts {
        let confirmation = confirm(&artifact.program.path, &build.plan.spec, &build.plan.objects)?;
        if confirmation.holds() {
            artifact.deliver()?;
        }
        if confirmation.opens_in_vain {
            opening.push(artifact.program.name.as_str());
        }
        if confirmation.converts {
            converting.push(artifact.program.name.as_str());
        }
        document.programs.push(program(artifact, &confirmation));
    }
    document.remarks.extend(otherwise_on_musl(&opening, &converting));
    if artifacts.iter().any(|artifact| artifact.place.starts_with(&build.plan.work)) {
        let remark =
            "the sources are not written to, so the result is not among them; -o FILE or -o FOLDER/ says where it goes";
        document.remarks.push(remark.to_owned());
    }
    Ok(())
}

/// What programs of these names do that static musl does otherwise than glibc, and what to do.
fn otherwise_on_musl(opening: &[&str], converting: &[&str]) -> Vec<String> {
    let remarks = [
        (
            opening,
            "opens libraries while it runs (dlopen), and a static program cannot: what it has as modules or plug-ins is missing, \
             unless the project links it in; --linkage dynamic keeps them",
        ),
        (
            converting,
            "converts texts (iconv) by musl's own tables: it knows fewer character sets than glibc's, and writes * for what a set lacks, \
             where glibc's reports an error; --libc glibc has glibc's",
        ),
    ];
    let named = remarks.into_iter().filter(|(names, _)| !names.is_empty());
    named.map(|(names, remark)| format!("{}: {remark}", names.join(", "))).collect()
}

/// Refuses, before minutes of compiling, a result in place of a foreign file or in a folder that is not writable.
fn refuse_early(build: &BuildPlan) -> anyhow::Result<()> {
    let Some(output) = &build.request.output else { return Ok(()) };
    let current = &build.request.places.current;
    let place = current.join(output);
    let folder = if is_folder(output, current) {
        place.as_path()
    } else {
        may_replace(&place, build.request.force)?;
        place.parent().unwrap_or(&place)
    };
    // The nearest existing one: those below it are created.
    let there = folder.ancestors().find(|folder| folder.exists()).unwrap_or(folder);
    tempfile::tempfile_in(there).with_context(|| format!("the result cannot be written to {}", there.display()))?;
    Ok(())
}

/// The chosen programs; for the others a remark says how to get them.
fn chosen(build: &BuildPlan, outputs: &Outputs, document: &mut BuildDocument) -> anyhow::Result<Vec<Program>> {
    let (request, project) = (&build.request, &build.plan.project);
    let to_folder = |output: &Path| is_folder(output, &request.places.current);
    let all = project.wants_all() || request.output.as_deref().is_some_and(to_folder);
    let built = project.programs(outputs, &request.words, &build.plan.folder).map_err(|error| match error {
        // A terminal has shown it.
        BuildError::NoProgram { .. } if !outputs.last_said().is_empty() => {
            anyhow!("{error}; it said at last:\n{}", outputs.last_said())
        }
        error => error.into(),
    })?;
    let helpers: Vec<String> = built.iter().filter(|one| one.helper).map(|one| one.name.clone()).collect();
    let (programs, others) = choose(built, &request.bins, all, &project.names())?;
    if request.bins.is_empty() {
        document.remarks.extend(left_out(&others, &helpers));
    }
    Ok(programs)
}

/// What else was built, and how to get it.
fn left_out(others: &[String], helpers: &[String]) -> Vec<String> {
    let (tools, others): (Vec<&str>, Vec<&str>) =
        others.iter().map(String::as_str).partition(|name| helpers.iter().any(|helper| helper == name));
    let also = format!("also built: {} (choose with --bin NAME; -o FOLDER/ takes all)", others.join(", "));
    let left = format!(
        "left out: {} (built, but not installed by the project: tests, examples or tools of the build; --bin NAME takes one)",
        tools.join(", ")
    );
    [(others.is_empty(), also), (tools.is_empty(), left)]
        .into_iter()
        .filter_map(|(nothing, remark)| (!nothing).then_some(remark))
        .collect()
}

/// Makes what a build started by the user needs, and prints how to use it.
fn print(build: &BuildPlan, printed: Printed, screen: &mut Screen) -> anyhow::Result<Exit> {
    let plan = &build.plan;
    let Some(_lock) = lock(build)? else { return Ok(Exit::interrupted()) };
    if execute(plan, build.timeout)?.is_none() {
        return Ok(Exit::interrupted());
    }
    let mut lines = Text::new();
    let mut push = |line: String| lines.push(Line::new().with(Role::Plain, line));
    match printed {
        Printed::Environment => {
            plan.exported().into_iter().for_each(|(name, value)| push(format!("export {name}={}", shell_word(value))));
        }
        Printed::Objects => {
            // For a link that is not known an archive has no place: what a program does not call is there, too.
            let optional = plan.objects.iter().filter(|object| object.is_optional);
            let optional = optional.map(|object| plan.folder.join(object.file_name()).into_os_string());
            let words = plan.tools.first_of_a_link(Dialect::Own).into_iter().chain(optional);
            push(words.map(|word| shell_word(&word.to_string_lossy())).collect::<Vec<_>>().join(" "));
        }
    }
    screen.show(&lines);
    Ok(Exit::Fine)
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
        remarks: plan.planned.doubt.iter().chain(&plan.planned.remarks).cloned().collect(),
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
        debug_bytes: confirmation.debug_bytes,
        confirmed,
        facts: confirmation.facts.iter().map(fact).collect(),
    }
}
