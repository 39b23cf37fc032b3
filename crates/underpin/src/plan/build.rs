//! The plan of `underpin build`.

use crate::cli::{BuildArgs, Switch};
use crate::linked;
use anyhow::Context;
use std::path::PathBuf;
use std::time::Duration;
use underpin_build::project::Project;
use underpin_build::toolchain::{Finder, Toolchains};
use underpin_build::{CLibrary, Places, Plan, Processor, Request, SpecText};
use underpin_malloc::Store;

/// What is printed for a build that the user starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Printed {
    /// Variables.
    Environment,
    /// Objects for a link line.
    Objects,
}

/// What to build, and how to show it.
pub struct BuildPlan {
    /// What is run.
    pub plan: Plan,
    /// What was asked for.
    pub request: Request,
    /// What to print instead of building.
    pub printed: Option<Printed>,
    /// Only show the plan.
    pub dry_run: bool,
    /// JSON instead of a screen.
    pub json: bool,
    /// How long to wait for another run of the same build.
    pub wait: Duration,
    /// How long a command of the project's build tool may take.
    pub timeout: Duration,
    /// In how much detail.
    pub verbosity: u8,
}

impl BuildPlan {
    /// # Errors
    /// If it cannot be built here, with the command that installs what is missing.
    pub fn new(args: BuildArgs) -> anyhow::Result<BuildPlan> {
        let text = args.text.unwrap_or(SpecText {
            libc: args.libc.unwrap_or(CLibrary::Musl),
            linkage: args.linkage,
            allocator: args.malloc,
            overlay: args.overlay.map(|switch| switch == Switch::On),
        });
        let processor = args.target.or_else(Processor::host).context("name a processor: --target x86_64")?;
        let usual = |goal| linked::usual_allocator(goal, processor);
        let spec = linked::without_absent(text.complete(processor, args.goal.into(), usual)?, text.overlay);
        let current = std::env::current_dir().context("cannot find the current folder")?;
        let prints = [(args.print_env, Printed::Environment), (args.print_link_args, Printed::Objects)];
        let printed = prints.into_iter().find_map(|(wanted, printed)| wanted.then_some(printed));
        let project = match (&args.published, printed) {
            (Some(name), _) => Project::published(name)?,
            (None, Some(_)) => Project::elsewhere(&current, true),
            (None, None) => Project::find(&args.path, args.build_system.map(Into::into))?,
        };
        let request = Request {
            path: args.path,
            bins: args.bin,
            objects: linked::objects(&spec, project.needs().rust)?,
            headers: linked::headers(&spec),
            layout: linked::layout(&spec),
            spec,
            compiler: args.cc.map(Into::into),
            words: args.words,
            output: args.output,
            force: args.force,
            places: places(current)?,
        };
        let finder = Finder::here(project.folder());
        let mut toolchains = Toolchains::find(&finder);
        if project.needs().rust {
            toolchains = toolchains.with_rust(&finder);
        }
        let plan = match (Plan::new(&request, project, &toolchains), printed) {
            // Without Rust for this target the variables are for C alone.
            (Err(_), Some(_)) => Plan::new(&request, Project::elsewhere(&request.places.current, false), &toolchains)?,
            (plan, _) => plan?,
        };
        let mut plan = plan;
        plan.planned.remarks.extend(linked::absent(&plan.spec));
        let (json, verbosity) = (args.display.json, args.display.verbose);
        let (wait, timeout) = (Duration::from_secs(args.wait), Duration::from_secs(args.timeout));
        Ok(BuildPlan { plan, request, printed, dry_run: args.dry_run, json, wait, timeout, verbosity })
    }
}

/// The first place for caches that is writable.
///
/// # Errors
/// If there is none.
pub fn cache() -> anyhow::Result<PathBuf> {
    let usable = |place: &PathBuf| std::fs::create_dir_all(place).is_ok();
    Store::usual_places().into_iter().find(usable).context("no folder for a cache: set XDG_CACHE_HOME")
}

/// Our own folders.
pub(super) fn places(current: PathBuf) -> anyhow::Result<Places> {
    Ok(Places {
        cache: cache()?,
        executable: std::env::current_exe().context("cannot find this program's own file")?,
        current,
    })
}
