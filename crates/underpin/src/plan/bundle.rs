//! The plan of `underpin bundle`.

use super::Target;
use crate::cli::{BundleArgs, TargetArgs};
use crate::contents::{Contents, part};
use crate::fusion;
use anyhow::{Context, bail};
use bstr::BString;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use underpin_elf::Machine;
use underpin_resolve::{Closure, Resolver};
use underpin_rewrite::bundle::{self, BundlePlan, Form, IncludedBecause, Wish};
use underpin_rewrite::plan::Pattern;
use underpin_sys::LauncherMachine;

/// What to bundle, and where to.
pub struct BundleCommand {
    /// Where the files are.
    pub target: Target,
    /// What goes into it.
    pub plan: BundlePlan,
    /// Where it goes.
    pub output: PathBuf,
    /// Whether an existing bundle there is replaced.
    pub force: bool,
    /// Whether to only show the plan.
    pub dry_run: bool,
    /// JSON instead of a screen.
    pub json: bool,
    /// In how much detail.
    pub verbosity: u8,
}

impl BundleCommand {
    /// # Errors
    /// If the program cannot be bundled, with the reason.
    pub fn new(args: BundleArgs) -> anyhow::Result<BundleCommand> {
        let BundleArgs { program, output, include, exclude, locale, root, env, cpu, .. } = args;
        let target = Target::new(&TargetArgs { root, env, cpu, secure: false })?;
        let path = target.program(&program, "bundle")?;
        let name = args.name.or_else(|| program.file_name().map(OsString::from)).unwrap_or_default();
        if name.is_empty() || name.as_bytes().contains(&b'/') {
            bail!("--name {}: invalid file name: expected one without `/`", name.to_string_lossy());
        }
        let called = name.to_string_lossy().into_owned();
        let root = &target.root;
        let merge = |closure: &Closure, folder: &str| fusion::merged(root, closure, &called, folder);
        let merges = (args.file || args.fuse) && !args.no_fuse;
        let wish = Wish {
            program: path.as_os_str().as_bytes().into(),
            name: name.into_vec().into(),
            form: if args.file { Form::File } else { Form::Directory },
            include: include.into_iter().map(|argument| BString::from(argument.into_vec())).collect(),
            exclude: exclude.into_iter().map(Pattern).collect(),
            locales: locale.into_iter().map(|name| BString::from(name.into_vec())).collect(),
            launcher: &launcher,
            locale_library: &|machine| underpin_sys::locale_library(launcher_machine(machine)?),
            merge: merges.then_some(&merge),
        };
        let resolver = Resolver::new(&target.root, target.environment.clone());
        let mut plan = bundle::plan(&resolver, &target.root, &wish)
            .with_context(|| format!("cannot bundle {}", program.display()))?;
        drop(resolver);
        plan.documents = documents(&plan, target.sysroot.as_deref())?;
        Ok(BundleCommand {
            target,
            plan,
            output,
            force: args.force,
            dry_run: args.dry_run,
            json: args.display.json,
            verbosity: args.display.verbose,
        })
    }
}

/// The licence files of what goes in, and an SPDX list of it.
fn documents(plan: &BundlePlan, sysroot: Option<&Path>) -> anyhow::Result<Vec<(BString, Vec<u8>)>> {
    let one = |path: &BString, comment: String| part(path, comment);
    let parts = plan.items.iter().flat_map(|item| match &item.reason {
        IncludedBecause::Merged { libraries } => {
            libraries.iter().map(|path| one(path, format!("merged into {}", item.place))).collect()
        }
        _ if item.source.is_empty() => Vec::new(),
        _ => vec![one(&item.source, item.place.to_string())],
    });
    let contents = Contents::of(sysroot, parts.collect());
    let list = serde_json::to_vec_pretty(&contents.spdx(&plan.name.to_string(), None))?;
    let licences = contents.licences().into_iter().map(|(place, bytes)| (place.into(), bytes));
    Ok(licences.chain([("bundle.spdx.json".into(), list)]).collect())
}

fn launcher(machine: Machine) -> Option<&'static [u8]> {
    underpin_sys::launcher(launcher_machine(machine)?)
}

fn launcher_machine(machine: Machine) -> Option<LauncherMachine> {
    match machine {
        Machine::X86_64 => Some(LauncherMachine::X86_64),
        Machine::AARCH64 => Some(LauncherMachine::Aarch64),
        _ => None,
    }
}
