//! Bound copies of a program, placed beside it and removed when they are dropped.
//!
//! The copies are flattened: the program alone is changed, and the libraries stay as they are.

use super::built::ran_as;
use crate::fusion::{LoaderRun, Merger, Place};
use anyhow::{Context, bail};
use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tempfile::{TempDir, TempPath};
use underpin_bench::Proof;
use underpin_elf::{Elf, FileSource};
use underpin_resolve::{Environment, HostRoot};
use underpin_rewrite::plan::{BindPlan, Planner, Policy, Scope, Shape};
use underpin_rewrite::undo;
use underpin_sys::{RawPid, maps};

/// Libraries that it takes to merge any.
const LEAST: usize = 2;

/// What binding would do to one program, as a plan that is never carried out on the program itself.
#[derive(Debug)]
pub struct Binding {
    /// The program.
    program: PathBuf,
    /// The plan.
    pub plan: BindPlan,
}

impl Binding {
    /// Makes the plan.
    #[must_use]
    pub fn of(program: &Path, environment: &Environment) -> Binding {
        let root = HostRoot::new();
        let scope = Scope::find(&root, &[program.as_os_str().as_bytes().into()]);
        // A copy that exists for a run needs no folder of links.
        let policy = Policy { shape: Shape::Flatten, narrow_search: false, ..Policy::default() };
        let plan = Planner::new(&root, environment.clone(), policy).plan(&scope);
        Binding { program: program.to_owned(), plan }
    }

    /// A bound copy.
    ///
    /// # Errors
    /// If binding would change nothing, or the copy cannot be written.
    pub fn after(&self) -> anyhow::Result<ProgramCopy> {
        let Some(object) = self.plan.changes().next() else {
            bail!("binding would change nothing in {}: {}", self.program.display(), self.why_not());
        };
        let libraries = object.bound.iter().map(|bound| PathBuf::from(&bound.path)).collect();
        Ok(ProgramCopy { path: bound_copy(&self.plan, &self.program)?, libraries })
    }

    /// Why there is nothing to change, as a clause.
    fn why_not(&self) -> String {
        let elf = || {
            let source = FileSource::new(File::open(&self.program).ok()?).ok()?;
            Elf::read(&source).ok()
        };
        match (self.plan.refused.first(), elf()) {
            (Some(refused), _) => refused.because.to_string(),
            (None, None) => "it is not an ELF file".to_owned(),
            (None, Some(elf)) if elf.interpreter.is_none() => "it is statically linked".to_owned(),
            (None, Some(_)) => "every library that it may be bound to is there already".to_owned(),
        }
    }

    /// A copy as the program was before it was bound; `None` if it is not bound.
    ///
    /// # Errors
    /// If the program cannot be read or the copy cannot be written.
    pub fn before(&self) -> anyhow::Result<Option<ProgramCopy>> {
        let (real, bytes) = read(&self.program)?;
        let Ok(original) = undo(&bytes) else { return Ok(None) };
        Ok(Some(ProgramCopy { path: copy(&real, &original)?, libraries: Vec::new() }))
    }
}

/// A copy of a program whose libraries are one file.
///
/// # Errors
/// If they cannot be merged, or the copy cannot be written.
pub fn fused_copy(program: &Path, environment: &Environment) -> anyhow::Result<FusedCopy> {
    let real = program.canonicalize().with_context(|| program.display().to_string())?;
    // Not beside the program: what is written is found by its absolute path.
    let folder = tempfile::Builder::new().prefix("underpin-fused-").tempdir()?;
    let place = Place::next_in(folder.path(), &real)?;
    let file = place.file().to_owned();
    let merger = Merger::of(&real, LoaderRun { environment, emulator: None }, &Policy::default(), place, LEAST)?;
    let Ok(merger) = merger else { bail!("{} has no libraries to merge", real.display()) };
    let path = merger.copy(|bytes| copy(&real, bytes))?;
    let copy = ProgramCopy { path, libraries: vec![file] };
    Ok(FusedCopy { copy, members: merger.members(), _folder: folder })
}

/// A copy of a program whose libraries are one file; both are removed when it is dropped. As a proof it shows that the file
/// was loaded, and none of the libraries.
#[derive(Debug)]
pub struct FusedCopy {
    copy: ProgramCopy,
    members: BTreeSet<PathBuf>,
    _folder: TempDir,
}

impl FusedCopy {
    /// The path of the copy.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.copy.path()
    }
}

impl Proof for FusedCopy {
    fn took(&self, pid: RawPid) -> Result<(), String> {
        self.copy.took(pid)?;
        let ranges = maps(pid).map_err(|error| error.to_string())?;
        match ranges.into_iter().filter_map(|range| range.path).find(|path| self.members.contains(path)) {
            Some(path) => Err(format!("{} was merged, and was loaded too", path.display())),
            None => Ok(()),
        }
    }
}

/// A copy of a program, removed when it is dropped. As a proof it shows that the copy ran, with the libraries that it
/// is bound to.
#[derive(Debug)]
pub struct ProgramCopy {
    path: TempPath,
    /// Absolute paths that it names to its loader.
    libraries: Vec<PathBuf>,
}

impl ProgramCopy {
    /// The path of the copy.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Proof for ProgramCopy {
    fn took(&self, pid: RawPid) -> Result<(), String> {
        ran_as(pid, &self.path)?;
        let ranges = maps(pid).map_err(|error| error.to_string())?;
        let mapped: HashSet<PathBuf> = ranges.into_iter().filter_map(|range| range.path).collect();
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        match self.libraries.iter().find(|library| !mapped.contains(&real(library))) {
            Some(library) => Err(format!("{} is bound to, and was not loaded", library.display())),
            None => Ok(()),
        }
    }
}

fn read(program: &Path) -> anyhow::Result<(PathBuf, Vec<u8>)> {
    let real = program.canonicalize().with_context(|| program.display().to_string())?;
    let bytes = fs::read(&real).with_context(|| real.display().to_string())?;
    Ok((real, bytes))
}

/// A bound copy of a program, made by a plan.
///
/// # Errors
/// If the program cannot be read or the copy cannot be written.
pub fn bound_copy(plan: &BindPlan, program: &Path) -> anyhow::Result<TempPath> {
    let (real, bytes) = read(program)?;
    let original = undo(&bytes).unwrap_or(bytes);
    let object = plan.changes().find(|object| OsStr::from_bytes(&object.path) == real);
    let rewrite = object.and_then(|object| object.rewrite.as_ref());
    let bound = rewrite.map_or_else(|| original.clone(), |rewrite| rewrite.apply(&original));
    copy(&real, &bound)
}

/// A file beside the program, where `$ORIGIN` is the same; if that folder is not writable, among the temporary files.
fn copy(real: &Path, bytes: &[u8]) -> anyhow::Result<TempPath> {
    let builder = || {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".underpin-");
        builder
    };
    let beside = real.parent().and_then(|folder| builder().tempfile_in(folder).ok());
    let mut copy = beside.map_or_else(|| builder().tempfile(), Ok)?;
    copy.write_all(bytes)?;
    fs::set_permissions(copy.path(), fs::metadata(real)?.permissions())?;
    Ok(copy.into_temp_path())
}
