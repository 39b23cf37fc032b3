//! `underpin image`: builds images, runs commands in them, and tells what is missing in one.

mod build;
mod compare;
mod contained_run;
mod doctor;
mod fips;
mod layer;
mod packages;
mod receive;
mod run;
mod sdk;
mod size;
mod sources;
mod tools;

use crate::cli::{ImageArgs, ImageVerb};
use crate::exit::Exit;
use crate::plan::{
    ContainedRunPlan, ImageBuildPlan, ImageComparePlan, ImageFipsPlan, ImageRunPlan, ImageSdkPlan, ImageSizePlan,
    ImageSourcesPlan,
};
use crate::screen::Screen;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use underpin_image::{ImageError, OciError};
use underpin_report::Raw;
use underpin_sys::{Supervised, end_signal, supervise_twice, work_alone};

/// The work in a process of its own: a supervisor above it ends whatever it leaves running. What starts nothing needs none.
///
/// # Errors
/// As for the verbs, and if no process can be created.
pub fn supervised(args: ImageArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
    match &args.verb {
        // It writes nothing, so a signal may end it anywhere.
        ImageVerb::Doctor(_) => return work(args.verb, screen),
        ImageVerb::Build(build) if !build.starts_processes() => {
            work_alone()?;
            return by_signal(work(args.verb, screen));
        }
        _ => {}
    }
    match supervise_twice()? {
        Supervised::Worker => by_signal(work(args.verb, screen)),
        Supervised::Over(end) => Ok(Exit::of_worker(end)),
    }
}

fn work(verb: ImageVerb, screen: &mut Screen) -> anyhow::Result<Exit> {
    match verb {
        ImageVerb::Build(args) if args.libc.is_some() => packages::run(*args, screen),
        ImageVerb::Build(args) => build::run(&ImageBuildPlan::new(*args, None)?, screen),
        ImageVerb::Run(args) => match ContainedRunPlan::new(&args)? {
            Some(plan) => contained_run::run(&plan, screen),
            None => run::run(&ImageRunPlan::new(*args)?, screen),
        },
        ImageVerb::Compare(args) => compare::run(&ImageComparePlan::new(*args)?, screen),
        ImageVerb::Sdk(args) => sdk::run(&ImageSdkPlan::new(*args)?, screen),
        ImageVerb::Size(args) => size::run(&ImageSizePlan::new(*args)?, screen),
        ImageVerb::Sources(args) => sources::run(&ImageSourcesPlan::new(*args)?, screen),
        ImageVerb::Fips(args) => fips::run(&ImageFipsPlan::new(*args)?, screen),
        ImageVerb::Doctor(args) => doctor::run(*args, screen),
        ImageVerb::Layer(args) => layer::run(&args, screen),
    }
}

/// Files are written until a signal asks for an end. The partial result is gone then, and the exit status tells the rest.
fn by_signal(result: anyhow::Result<Exit>) -> anyhow::Result<Exit> {
    let is_interrupted = |error: &anyhow::Error| {
        error.chain().any(|cause| {
            matches!(cause.downcast_ref(), Some(ImageError::Interrupted))
                || matches!(cause.downcast_ref(), Some(OciError::Tree(ImageError::Interrupted)))
        })
    };
    match (result, end_signal()) {
        (Err(error), Some(signal)) if is_interrupted(&error) => Ok(Exit::by_signal(signal)),
        (result, _) => result,
    }
}

fn raw(path: impl AsRef<Path>) -> Raw {
    Raw(path.as_ref().as_os_str().as_bytes().into())
}
