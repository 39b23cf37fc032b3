//! The plan of `underpin build`.

use crate::cli::{BuildArgs, Switch};
use crate::linked;
use anyhow::Context;
use std::path::PathBuf;
use underpin_build::project::Project;
use underpin_build::toolchain::{Finder, Toolchains};
use underpin_build::{CLibrary, Places, Plan, Processor, Request, SpecText};
use underpin_malloc::Store;

/// What to build, and how to show it.
pub struct BuildPlan {
    /// What is run.
    pub plan: Plan,
    /// What was asked for.
    pub request: Request,
    /// Only shown.
    pub dry_run: bool,
    /// JSON instead of a screen.
    pub json: bool,
    /// In how much detail.
    pub verbosity: u8,
}

impl BuildPlan {
    /// # Errors
    /// If nothing here can build it, with the command that brings what is missing.
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
        let project = Project::find(&args.path)?;
        let request = Request {
            path: args.path,
            objects: linked::objects(&spec, project.needs().rust)?,
            spec,
            compiler: args.cc.map(Into::into),
            words: args.words,
            output: args.output,
            force: args.force,
            places: places()?,
        };
        let finder = Finder::here(project.folder());
        let mut toolchains = Toolchains::find(&finder);
        if project.needs().rust {
            toolchains = toolchains.with_rust(&finder);
        }
        let plan = Plan::new(&request, project, &toolchains)?;
        let (json, verbosity) = (args.display.json, args.display.verbose);
        Ok(BuildPlan { plan, request, dry_run: args.dry_run, json, verbosity })
    }
}

/// Folders of ours: the first place for caches that can be written to.
fn places() -> anyhow::Result<Places> {
    let candidates = Store::usual_places();
    let usable = |place: &&PathBuf| std::fs::create_dir_all(place).is_ok();
    let cache = candidates.iter().find(usable).context("no folder for a cache: set XDG_CACHE_HOME")?;
    Ok(Places {
        cache: cache.clone(),
        executable: std::env::current_exe().context("cannot find this program's own file")?,
        current: std::env::current_dir().context("cannot find the current folder")?,
    })
}
