//! `underpin tree`: resolves without running, and shows the result.

pub mod check;
mod many;

use crate::exit::Exit;
use crate::plan::{Output, Target, Targets, TreePlan};
use crate::screen::{self, Screen};
use anyhow::bail;
use bstr::{BStr, ByteSlice};
use std::mem::ManuallyDrop;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use underpin_report::{Raw, Text, TreeDocument, finding_words, text};
use underpin_resolve::{Closure, Depth, LoaderKind, Resolver, Severity};

/// Resolves what the plan names and shows it.
///
/// # Errors
/// If a file cannot be resolved; a missing library is a finding, not an error.
pub fn run(plan: TreePlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let Target { root, environment, .. } = &plan.target;
    let resolver = Resolver::new(root, environment.clone());
    match &plan.targets {
        // The process ends with its only resolver: freeing the resolver's cache string by string would be wasted time.
        Targets::Many(files) => many::run(&ManuallyDrop::new(resolver), files, &plan, screen),
        Targets::One(program) => one(resolver, program, &plan, screen),
    }
}

/// From this number of requests on, the memory of one step is freed before the next allocates more.
const MANY_REQUESTS: usize = 10_000;

fn one(resolver: Resolver, program: &Path, plan: &TreePlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    // The list is read by other programs, thousands of times: it needs neither the findings nor a document.
    let is_list = matches!(plan.output, Output::List);
    let depth = match plan.output {
        Output::List => Depth::Load,
        Output::Tree if plan.verbosity < 2 => Depth::Findings,
        Output::Tree | Output::Why(_) | Output::Paths | Output::Json => Depth::Paths,
    };
    let closure = resolve(&resolver, program, depth)?;
    let (requests, mut exit) = (closure.edges.len(), Exit::of(&closure));
    leave(resolver, requests);
    if is_list {
        list(&closure, plan.null, screen);
        leave(closure, requests);
        return Ok(exit);
    }
    let mut document = ManuallyDrop::new(TreeDocument::new(&closure));
    let static_program = closure.loader.kind == LoaderKind::None;
    leave(closure, requests);
    if let Some(arguments) = &plan.check {
        if static_program {
            bail!("{} is static: no loader makes any calls for it, so there is nothing to --check", program.display());
        }
        if document.is_broken() {
            show(&document, plan, screen)?;
            screen::note(&"not run for --check: the program does not start here, and the findings below say why");
            return Ok(exit);
        }
        let comparison = check::compare(program, arguments, &document.calls, &plan.target.environment)?;
        if !comparison.equal {
            exit = Exit::Finding;
        }
        document.comparison = Some(comparison);
    }
    show(&document, plan, screen)?;
    Ok(exit)
}

/// Frees what is no longer needed, if there is much of it. A process that is about to end frees all of it at once, and
/// faster.
fn leave<T>(done: T, requests: usize) {
    if requests < MANY_REQUESTS {
        std::mem::forget(done);
    }
}

/// Paths in load order; what the loader would not find or would reject goes to standard error, as with ldd(1).
fn list(closure: &Closure, null: bool, screen: &mut Screen) {
    for object in closure.objects.iter().skip(1) {
        if null {
            screen.text([object.path.as_slice(), b"\0"].concat());
        } else if screen.is_terminal() {
            // A file name must not reach the terminal as control sequences; programs read the bytes.
            screen.line(Raw::from(&object.path).to_string());
        } else {
            screen.line(&object.path);
        }
    }
    for finding in closure.findings.iter().filter(|finding| finding.severity == Severity::Error) {
        screen::note(&finding_words(finding, closure));
    }
}

/// Resolves one file.
fn resolve(resolver: &Resolver, program: &Path, depth: Depth) -> anyhow::Result<Closure> {
    let path = BStr::new(program.as_os_str().as_bytes());
    Ok(resolver.resolve(path, depth)?)
}

fn show(document: &TreeDocument, plan: &TreePlan, screen: &mut Screen) -> anyhow::Result<()> {
    let view = screen.view(plan.verbosity);
    match &plan.output {
        Output::Json => return screen.json(document),
        Output::List => text::tree_list(document).for_each(|path| screen.line(path)),
        Output::Why(name) => screen.show(&why(document, name, &view)?),
        Output::Paths => screen.show(&text::tree_paths(document, &view)),
        Output::Tree => {
            let mut shown = text::tree(document, &view);
            if let Some(comparison) = &document.comparison {
                shown.gap();
                shown.append(text::calls_comparison(comparison, &view));
            }
            screen.show(&shown);
        }
    }
    Ok(())
}

fn why(document: &TreeDocument, name: &str, view: &underpin_report::View) -> anyhow::Result<Text> {
    let Some(text) = text::tree_why(document, name.as_bytes().as_bstr(), view) else {
        bail!("nothing named {name} has a part in {}; `underpin tree -v` shows every name", document.program);
    };
    Ok(text)
}
