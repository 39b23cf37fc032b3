//! The plans of `underpin bind` and `underpin unbind`.

use crate::cli::{BindArgs, Place, UnbindArgs};
use crate::input;
use anyhow::{Context, ensure};
use std::fs;
use std::path::PathBuf;
use underpin_resolve::Environment;
use underpin_rewrite::Strategy;
use underpin_rewrite::files::{HardLinks, Keep, Times};
use underpin_rewrite::plan::{Pattern, Policy, Shape};

/// What to bind, and how.
#[derive(Debug)]
pub struct BindRequest {
    /// Files and folders, which exist.
    pub paths: Vec<PathBuf>,
    /// What is not bound, and the shape of the rest.
    pub policy: Policy,
    /// Under which variables the loader resolves.
    pub environment: Environment,
    /// Which attributes of each file are preserved.
    pub keep: Keep,
    /// What to do with the plan.
    pub action: Action,
    /// Whether libraries are merged into one file, instead of bound one by one.
    pub fuse: bool,
    /// Only programs that are fused already.
    pub refresh: bool,
    /// Files and folders of modules, which exist; with one program only.
    pub modules: Vec<PathBuf>,
    /// QEMU's user emulator for programs of another processor.
    pub emulator: Option<PathBuf>,
    /// JSON instead of a screen.
    pub json: bool,
    /// How detailed the screen is.
    pub verbosity: u8,
}

/// What to do with a plan of bindings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Show it.
    Show,
    /// Show what to pass to the linker.
    Reserve,
    /// Print a policy file with every key.
    PrintPolicy,
    /// Carry it out.
    CarryOut,
}

/// What to unbind.
#[derive(Debug)]
pub struct UnbindPlan {
    /// Files and folders, which exist.
    pub paths: Vec<PathBuf>,
    /// Which attributes of each file are preserved.
    pub keep: Keep,
    /// Change nothing.
    pub dry_run: bool,
    /// JSON instead of a screen.
    pub json: bool,
    /// How detailed the screen is.
    pub verbosity: u8,
}

impl BindRequest {
    /// # Errors
    /// If a file does not exist or is not an ELF file, or the policy file cannot be used.
    pub fn new(args: BindArgs) -> anyhow::Result<BindRequest> {
        let one = matches!(args.paths.as_slice(), [path] if !path.is_dir());
        ensure!(one || args.modules.is_empty(), "--modules takes one program: other programs have other modules");
        for path in &args.modules {
            ensure!(path.exists(), "--modules {}: no such file or folder", path.display());
        }
        Ok(BindRequest {
            modules: args.modules.clone(),
            policy: policy(&args)?,
            paths: paths(&args.paths, "bind")?,
            environment: Environment::inherited(),
            keep: keep(args.keep_times, args.break_hard_links),
            action: match (args.print_policy, args.reserve, args.dry_run) {
                (true, _, _) => Action::PrintPolicy,
                (_, true, _) => Action::Reserve,
                (_, _, true) => Action::Show,
                _ => Action::CarryOut,
            },
            fuse: args.fuse,
            refresh: args.refresh,
            emulator: args.emulator.as_deref().map(input::locate).transpose()?,
            json: args.display.json,
            verbosity: args.display.verbose,
        })
    }
}

impl UnbindPlan {
    /// # Errors
    /// If a file does not exist or is not an ELF file.
    pub fn new(args: UnbindArgs) -> anyhow::Result<UnbindPlan> {
        Ok(UnbindPlan {
            paths: paths(&args.paths, "unbind")?,
            keep: keep(args.keep_times, args.break_hard_links),
            dry_run: args.dry_run,
            json: args.display.json,
            verbosity: args.display.verbose,
        })
    }
}

/// Folders are taken unchecked; files are checked.
pub fn paths(names: &[PathBuf], verb: &'static str) -> anyhow::Result<Vec<PathBuf>> {
    let path = |name: &PathBuf| {
        let path = input::locate(name)?;
        if !path.is_dir() {
            input::require_elf(&path, verb)?;
        }
        Ok(path)
    };
    names.iter().map(path).collect()
}

fn policy(args: &BindArgs) -> anyhow::Result<Policy> {
    let mut policy = match &args.policy {
        Some(path) => {
            let text = fs::read_to_string(path).with_context(|| format!("--policy {}", path.display()))?;
            Policy::from_toml(&text).with_context(|| format!("--policy {}", path.display()))?
        }
        None => Policy::default(),
    };
    policy.exclude.extend(args.exclude.iter().cloned().map(Pattern));
    policy.only.extend(args.only.iter().cloned().map(Pattern));
    for (chosen, shape) in [(args.flatten, Shape::Flatten), (args.farm, Shape::Farm), (args.relative, Shape::Relative)]
    {
        if chosen {
            policy.shape = shape;
        }
    }
    policy.strategy = match args.place {
        Place::Cheapest => policy.strategy,
        Place::DeadStrings => Some(Strategy::DeadStrings),
        Place::PagePadding => Some(Strategy::PagePadding),
        Place::DataTail => Some(Strategy::DataTail),
        Place::NewSegment => Some(Strategy::NewSegment),
    };
    Ok(policy)
}

fn keep(times: bool, break_hard_links: bool) -> Keep {
    Keep {
        times: if times { Times::Kept } else { Times::New },
        hard_links: if break_hard_links { HardLinks::Break } else { HardLinks::Refuse },
    }
}
