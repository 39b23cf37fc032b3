//! The file system and the environment in which a program is resolved.

use crate::cli::{Cpu, TargetArgs};
use crate::input;
use anyhow::{Context, bail};
use bstr::{BString, ByteSlice};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use underpin_resolve::{Environment, HostRoot, IsaLevel, Processor};

/// Where and how a program is resolved.
#[derive(Debug)]
pub struct Target {
    /// The file system.
    pub root: HostRoot,
    /// The folder that takes the place of `/`, if one was given.
    pub sysroot: Option<PathBuf>,
    /// Variables, processor, mode.
    pub environment: Environment,
}

impl Target {
    /// This machine.
    pub fn here() -> Target {
        Target { root: HostRoot::new(), sysroot: None, environment: Environment::inherited() }
    }

    /// # Errors
    /// If the root is not a folder, or a variable has no `=` or is not one that a loader reads.
    pub fn new(args: &TargetArgs) -> anyhow::Result<Target> {
        let mut target = match &args.root {
            Some(folder) => Target::below(folder)?,
            None => Target::here(),
        };
        for assignment in &args.env {
            target.set(assignment)?;
        }
        target.environment.secure = args.secure;
        target.environment.processor = processor(args.cpu);
        Ok(target)
    }

    /// Another system: the environment of this one does not apply to it.
    fn below(folder: &Path) -> anyhow::Result<Target> {
        let sysroot = folder.canonicalize().with_context(|| format!("--root {}", folder.display()))?;
        if !sysroot.is_dir() {
            bail!("--root {} is not a folder", folder.display());
        }
        let root = HostRoot::sysroot(&sysroot);
        Ok(Target { root, sysroot: Some(sysroot), environment: Environment::empty() })
    }

    fn set(&mut self, assignment: &OsStr) -> anyhow::Result<()> {
        let shown = assignment.to_string_lossy();
        let Some((name, value)) = assignment.as_bytes().split_once_str("=") else {
            bail!("--env {shown} has no `=`; write --env NAME=VALUE");
        };
        if !self.environment.set(name, BString::from(value)) {
            bail!("--env {shown}: loaders search by LD_LIBRARY_PATH, LD_PRELOAD and GLIBC_TUNABLES, not by this one");
        }
        Ok(())
    }

    /// The path that the loader sees for a name given by the user, once it is known to be an ELF file.
    ///
    /// In another root the path may be one inside (`/usr/bin/app`) or one from here (`sysroot/usr/bin/app`).
    ///
    /// # Errors
    /// If there is no such file, or it is not a file that a loader would look at.
    pub fn program(&self, name: &Path, verb: &'static str) -> anyhow::Result<PathBuf> {
        let Some(sysroot) = &self.sysroot else {
            let path = input::locate(name)?;
            input::require_elf(&path, verb)?;
            return Ok(path);
        };
        let inside = name.canonicalize().ok().and_then(|path| Some(path.strip_prefix(sysroot).ok()?.to_owned()));
        let inside = Path::new("/").join(inside.unwrap_or_else(|| name.to_owned()));
        if inside.components().any(|part| part == Component::ParentDir) {
            bail!("{}: a path inside --root is written without `..`", name.display());
        }
        Ok(inside)
    }
}

fn processor(cpu: Cpu) -> Processor {
    match cpu {
        Cpu::Native => Processor::native(),
        Cpu::Baseline => Processor::of_level(IsaLevel::Baseline),
        Cpu::V2 => Processor::of_level(IsaLevel::V2),
        Cpu::V3 => Processor::of_level(IsaLevel::V3),
        Cpu::V4 => Processor::of_level(IsaLevel::V4),
    }
}
