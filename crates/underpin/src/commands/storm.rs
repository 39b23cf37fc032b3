//! `underpin storm`: predicts what the start of a job costs, without running it.

use crate::cli::ModelledBinding;
use crate::exit::Exit;
use crate::export;
use crate::plan::{Format, StormPlan};
use crate::screen::Screen;
use anyhow::bail;
use bstr::{BStr, ByteSlice};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;
use underpin_report::document::storm::FileSystemRecord;
use underpin_report::document::trace::{FailedLookup, PhaseName};
use underpin_report::{
    OpenedLater, Raw, StormBinding, StormDocument, StormInput, TraceDocument, markdown, text, to_json,
};
use underpin_resolve::storm::{FileSystemTable, Node, NodeDemand, StormJob, estimate};
use underpin_resolve::{Call, CallName, Closure, Depth, LoaderKind, Resolver, Root, Severity};
use underpin_rewrite::plan::{Planner, Policy, Scope, Shape};
use underpin_trace::{Session, TraceOptions};

/// Processor time of mapping, relocating and initialising one object, if it was not measured: ffmpeg with its 213
/// libraries takes some 75 ms here.
const PER_OBJECT: Duration = Duration::from_micros(350);
/// Processor time that every process costs: exec, the loader itself, the exit.
const PER_PROCESS: Duration = Duration::from_millis(1);

/// Prints the built-in table of file systems.
///
/// # Errors
/// Never.
pub fn print_file_systems(screen: &mut Screen) -> anyhow::Result<Exit> {
    screen.text(FileSystemTable::embedded_text());
    Ok(Exit::Fine)
}

/// Predicts and shows.
///
/// # Errors
/// If a program cannot be resolved or does not start, or a result cannot be written.
pub fn run(mut plan: StormPlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let options = plan.run.take();
    let mut document = storm(&plan)?;
    if let Some(options) = options {
        document = document.with_run(opened_later(&plan, options)?);
    }
    for (format, path) in &plan.exports {
        let text = match format {
            Format::Markdown => markdown::storm(&document),
            Format::Json | Format::Html => to_json(&document)? + "\n",
        };
        export::write(path, &text)?;
    }
    if plan.json {
        screen.json(&document)?;
    } else {
        screen.show(&text::storm(&document, &screen.view(plan.verbosity)));
    }
    Ok(Exit::Fine)
}

fn storm(plan: &StormPlan) -> anyhow::Result<StormDocument> {
    let root: &dyn Root = &plan.target.root;
    let closures =
        plan.programs.iter().map(|program| closure(plan, root, program)).collect::<anyhow::Result<Vec<_>>>()?;
    let Some(first) = closures.first() else { bail!("no program to look at") };
    let job = job(plan, first);
    let mut cases = Vec::new();
    for (index, (closure, program)) in closures.iter().zip(&plan.programs).enumerate() {
        let name = if index == 0 { "as it is".to_owned() } else { name_of(program) };
        cases.push(case(plan, root, &job, closure, name)?);
    }
    let mut absent = Vec::new();
    for binding in &plan.after {
        match foreseen(plan, root, first, *binding, &job)? {
            Ok(case) => cases.push(case),
            Err(reason) => absent.push(reason),
        }
    }
    let mounted_at = plan.mounted_at.iter().map(Raw::from).collect();
    let record = FileSystemRecord::new(&plan.file_system, &plan.table, mounted_at, &plan.given);
    Ok(StormDocument::new((&first.program).into(), &job, record, cases, absent))
}

/// Runs the program and appends to its start what it looked for later.
fn opened_later(plan: &StormPlan, options: TraceOptions) -> anyhow::Result<OpenedLater> {
    let trace = Session::new(options).run()?;
    let document = TraceDocument::new(&trace);
    let calls = later_calls(&document);
    let (root, fs): (&dyn Root, _) = (&plan.target.root, &plan.file_system);
    let Some(program) = plan.programs.first() else { bail!("no program to look at") };
    let closure = closure(plan, root, program)?;
    let mut node = Node::new(root, &fs.client, &plan.scope, fs.touched, fs.server.read_size);
    let mut process = || {
        let start = node.start(&closure).unwrap_or_default();
        let later = node.go_on(&calls);
        node.end_process();
        (start, later)
    };
    let (first, next) = (process(), process());
    let directories = node.directories();
    let later = NodeDemand { first: first.1, next: next.1, directories };
    let all = NodeDemand { first: first.0 + first.1, next: next.0 + next.1, directories };
    let job = job(plan, &closure);
    let [once, again] = [all, all.following()].map(|demand| estimate(&demand, &job, fs));
    Ok(OpenedLater::new(document.lookups, &later, &once, &again))
}

/// What was looked for after the start, in the order of the libraries: each failing lookup, then the library itself.
fn later_calls(trace: &TraceDocument) -> Vec<Call> {
    let late = |phase: PhaseName| !matches!(phase, PhaseName::Exec | PhaseName::Loader);
    let call = |name: CallName, path: &Raw, failed: bool| Call { name, path: path.bytes().into(), failed };
    let look = |tried: &FailedLookup| {
        let name = if tried.call.starts_with("open") { CallName::Openat } else { CallName::Newfstatat };
        call(name, &tried.path, true)
    };
    let mut calls = Vec::new();
    for library in trace.libraries.iter().filter(|library| late(library.phase)) {
        calls.extend(library.failed.iter().map(look));
        let made = [CallName::Openat, CallName::Newfstatat, CallName::Mmap, CallName::Close];
        calls.extend(made.map(|name| call(name, &library.path, false)));
    }
    let missing = trace.missing.iter().filter(|library| late(library.phase));
    calls.extend(missing.flat_map(|library| library.failed.iter().map(look)));
    calls
}

fn closure(plan: &StormPlan, root: &dyn Root, program: &Path) -> anyhow::Result<Closure> {
    let resolver = Resolver::new(root, plan.target.environment.clone()).with_sequence(true);
    let closure = resolver.resolve(BStr::new(program.as_os_str().as_bytes()), Depth::Findings)?;
    if closure.loader.kind == LoaderKind::None {
        bail!(
            "{} is static: no loader makes any calls for it, so there is nothing to model; its start reads that one file",
            program.display()
        );
    }
    if closure.findings.iter().any(|finding| finding.severity == Severity::Error) {
        bail!("{} does not start here; `underpin tree {0}` shows why", program.display());
    }
    Ok(closure)
}

fn job(plan: &StormPlan, closure: &Closure) -> StormJob {
    let objects = u32::try_from(closure.objects.len()).unwrap_or(u32::MAX);
    StormJob {
        nodes: plan.nodes,
        per_node: plan.per_node,
        cores: plan.cores,
        processor: plan.processor.unwrap_or_else(|| PER_PROCESS + PER_OBJECT * objects),
        processor_known: plan.processor.is_some(),
    }
}

fn case(
    plan: &StormPlan,
    root: &dyn Root,
    job: &StormJob,
    closure: &Closure,
    name: String,
) -> anyhow::Result<StormInput> {
    let fs = &plan.file_system;
    let mut node = Node::new(root, &fs.client, &plan.scope, fs.touched, fs.server.read_size);
    let mut start = || {
        let operations = node.start(closure);
        node.end_process();
        operations
    };
    let (Some(first), Some(next)) = (start(), start()) else {
        bail!("{}: its calls were not kept, which is an error of underpin", closure.program)
    };
    let demand = NodeDemand { first, next, directories: node.directories() };
    Ok(StormInput {
        name,
        binding: None,
        program: (&closure.program).into(),
        changes: Vec::new(),
        objects: closure.objects.len(),
        modelled: closure.calls.modelled,
        demand,
        estimate: estimate(&demand, job, fs),
        following: estimate(&demand.following(), job, fs),
    })
}

/// The program after a binding that is only predicted, or the reason why there is no prediction.
fn foreseen(
    plan: &StormPlan,
    root: &dyn Root,
    now: &Closure,
    binding: ModelledBinding,
    job: &StormJob,
) -> anyhow::Result<Result<StormInput, String>> {
    let (shape, kind) = match binding {
        ModelledBinding::Bind => (Shape::PerObject, StormBinding::Bind),
        ModelledBinding::Flatten => (Shape::Flatten, StormBinding::Flatten),
        ModelledBinding::Farm => (Shape::Farm, StormBinding::Farm),
        ModelledBinding::None => return Ok(Err("no binding was asked for".to_owned())),
    };
    let name = kind.words();
    let loader = now.loader.path.as_bstr();
    let libraries = now.objects[1..].iter().map(|object| &object.path).filter(|path| path.as_bstr() != loader);
    let mut named = vec![now.program.clone()];
    if binding == ModelledBinding::Bind {
        named.extend(libraries.cloned());
    }
    let policy = Policy { shape, ..Policy::default() };
    let environment = plan.target.environment.clone();
    let bindings = Planner::new(root, environment, policy).plan(&Scope::find(root, &named));
    if bindings.changes().next().is_none() {
        let because = bindings.refused.first().map_or_else(String::new, |refused| format!(": {}", refused.because));
        return Ok(Err(format!("not shown: {name}, since it would change nothing{because}")));
    }
    let after = bindings.carried_out(root);
    Ok(match closure(plan, &after, Path::new(OsStr::from_bytes(&now.program))) {
        Ok(closure) => {
            let changes = bindings.changes().map(|object| Raw::from(&object.path)).collect();
            let case = case(plan, &after, job, &closure, name.to_owned())?;
            Ok(StormInput { binding: Some(kind), changes, ..case })
        }
        Err(error) => Err(format!("not shown: {name}, since {error:#}")),
    })
}

fn name_of(program: &Path) -> String {
    program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned()
}
