//! `underpin storm`: predicts what the start of a job costs, without running it.

use crate::exit::Exit;
use crate::export;
use crate::plan::{Format, StormPlan};
use crate::screen::Screen;
use anyhow::bail;
use bstr::BStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;
use underpin_report::document::storm::FileSystemRecord;
use underpin_report::{Raw, StormDocument, StormInput, markdown, text, to_json};
use underpin_resolve::storm::{Demand, Job, Node, estimate};
use underpin_resolve::{Closure, Depth, Resolver, Root, Severity};

/// Processor time of mapping, relocating and initialising one object, where nobody measured the program: ffmpeg with its
/// 213 libraries takes some 75 ms here.
const PER_OBJECT: Duration = Duration::from_micros(350);
/// And of what every process costs: exec, the loader itself, the exit.
const PER_PROCESS: Duration = Duration::from_millis(1);

/// Predicts and shows.
///
/// # Errors
/// Where a program cannot be resolved or does not start, or a result cannot be written.
pub fn run(plan: StormPlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let document = document(&plan)?;
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

fn document(plan: &StormPlan) -> anyhow::Result<StormDocument> {
    let root: &dyn Root = &plan.surroundings.root;
    let closures =
        plan.programs.iter().map(|program| closure(plan, root, program)).collect::<anyhow::Result<Vec<_>>>()?;
    let Some(first) = closures.first() else { bail!("no program to look at") };
    let job = job(plan, first);
    let mut cases = Vec::new();
    for (index, (closure, program)) in closures.iter().zip(&plan.programs).enumerate() {
        let name = if index == 0 { "as it is".to_owned() } else { name_of(program) };
        cases.push(case(plan, root, &job, closure, name)?);
    }
    let mounted_at = plan.mounted_at.iter().map(Raw::from).collect();
    let record = FileSystemRecord::new(&plan.file_system, &plan.table, mounted_at, &plan.given);
    Ok(StormDocument::new((&first.program).into(), &job, record, cases, Vec::new()))
}

fn closure(plan: &StormPlan, root: &dyn Root, program: &Path) -> anyhow::Result<Closure> {
    let resolver = Resolver::new(root, plan.surroundings.environment.clone())
        .with_conf(plan.surroundings.sysroot.is_some())
        .with_sequence(true);
    let closure = resolver.resolve(BStr::new(program.as_os_str().as_bytes()), Depth::Findings)?;
    if closure.findings.iter().any(|finding| finding.severity == Severity::Error) {
        bail!("{} does not start here; `underpin tree {0}` shows why", program.display());
    }
    Ok(closure)
}

fn job(plan: &StormPlan, closure: &Closure) -> Job {
    let objects = u32::try_from(closure.objects.len()).unwrap_or(u32::MAX);
    Job {
        nodes: plan.nodes,
        per_node: plan.per_node,
        cores: plan.cores,
        processor: plan.processor.unwrap_or_else(|| PER_PROCESS + PER_OBJECT * objects),
        processor_known: plan.processor.is_some(),
    }
}

fn case(plan: &StormPlan, root: &dyn Root, job: &Job, closure: &Closure, name: String) -> anyhow::Result<StormInput> {
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
    let demand = Demand { first, next, directories: node.directories() };
    Ok(StormInput {
        name,
        program: (&closure.program).into(),
        objects: closure.objects.len(),
        modelled: closure.calls.modelled,
        demand,
        estimate: estimate(&demand, job, fs),
    })
}

fn name_of(program: &Path) -> String {
    program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned()
}
