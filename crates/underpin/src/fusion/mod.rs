//! A program whose libraries are merged into one file: worked out, judged by the real loader, and put in the program's place
//! (`bind --fuse`), run as a copy (`bench --bind fused`) or part of a bundle (`bundle`).

mod bundled;
mod emulator;
mod group;
mod judge;
mod modules;
mod place;
mod running;
mod subject;

pub use bundled::merged;
pub use group::GroupFile;
pub use judge::{differences, same_symbols};
pub use place::{Fusions, Place, file_of};

use crate::contents::{Contents, part};
use crate::input::path;
use anyhow::{Context, bail, ensure};
use bstr::BString;
use judge::Judge;
use modules::StartList;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use subject::Subject;
use underpin_fuse::{Fused, Kept, Refusal, note};
use underpin_resolve::{Closure, Environment};
use underpin_rewrite::files::{self, Keep, Verifier};
use underpin_rewrite::plan::Policy;
use underpin_rewrite::{BoundObject, Edits, Rename, RewriteOptions, rewrite, undo};

/// With fewer libraries a start gains nothing that can be measured: docs/bench/fuse.md.
pub const WORTH: usize = 10;

/// How the loader of a program is run, to be asked.
#[derive(Clone, Copy)]
pub struct LoaderRun<'r> {
    /// Under which variables.
    pub environment: &'r Environment,
    /// QEMU's user emulator for programs of another processor; without it the one that binfmt_misc names is taken.
    pub emulator: Option<&'r Path>,
}

impl LoaderRun<'_> {
    /// The variables without LD_PRELOAD.
    fn quiet(&self) -> Environment {
        Environment { preload: None, ..self.environment.clone() }
    }
}

/// What modules bring.
pub struct FoundModules<'m> {
    /// How many modules were found.
    pub modules: usize,
    /// How many libraries the program loads at start for them.
    pub libraries: usize,
    /// Libraries that only modules load, and modules that cannot be opened, and why.
    pub left: &'m [(BString, String)],
}

/// A fusion that is worked out, before a byte is written.
pub struct Merger {
    subject: Subject,
    verifier: Verifier,
    place: Place,
    fused: Fused,
    /// What the references of the libraries inside were bound to: library, symbol with version, defining object.
    computed: Vec<((PathBuf, String), PathBuf)>,
    /// The libraries inside, in load order.
    pub merged: Vec<note::Merged>,
    /// The libraries that stay shared, and why.
    pub shared: Vec<(BString, String)>,
    /// References of the libraries inside, and those of them that lead inside.
    pub references: (usize, usize),
}

impl Merger {
    /// Works out a fusion of a program at its real path that would be at a place. `Err` within: how many libraries could be
    /// merged, if those are fewer than `least`.
    ///
    /// # Errors
    /// Why it cannot be done.
    pub fn of(
        program: &Path,
        loader: LoaderRun,
        policy: &Policy,
        place: Place,
        least: usize,
    ) -> anyhow::Result<Result<Merger, usize>> {
        let subject = Subject::read(program, &loader.quiet(), policy, &[])?;
        Merger::of_subject(subject, loader, place, least)
    }

    /// The same with the libraries that modules bring, which the program loads at each start then. Modules are named by files
    /// and folders.
    ///
    /// # Errors
    /// As for [`Merger::of`]; and if there is no module.
    pub fn with_modules(
        program: &Path,
        loader: LoaderRun,
        policy: &Policy,
        place: Place,
        modules: &[PathBuf],
    ) -> anyhow::Result<Result<Merger, usize>> {
        let subject = Subject::read(program, &loader.quiet(), policy, modules)?;
        Merger::of_subject(subject, loader, place, WORTH)
    }

    /// The same with none but these libraries inside, which all programs of a group have.
    ///
    /// # Errors
    /// As for [`Merger::of`].
    pub fn among(
        program: &Path,
        loader: LoaderRun,
        policy: &Policy,
        place: Place,
        common: &BTreeSet<PathBuf>,
    ) -> anyhow::Result<Result<Merger, usize>> {
        let mut subject = Subject::read(program, &loader.quiet(), policy, &[])?;
        // Only these: of the others the plan knows the reason.
        subject.leave_out(&(&subject.candidates()? - common));
        Merger::of_subject(subject, loader, place, WORTH)
    }

    /// The real paths of the libraries that could be inside.
    ///
    /// # Errors
    /// Why it cannot be done.
    pub fn candidates(program: &Path, loader: LoaderRun, policy: &Policy) -> anyhow::Result<BTreeSet<PathBuf>> {
        Subject::read(program, &loader.quiet(), policy, &[])?.candidates()
    }

    fn of_subject(
        subject: Subject,
        loader: LoaderRun,
        place: Place,
        least: usize,
    ) -> anyhow::Result<Result<Merger, usize>> {
        let environment = loader.quiet();
        let emulator = loader.emulator.map(Path::to_owned).or_else(|| emulator::registered(subject.original()));
        let verifier = Verifier::new(environment).emulated(emulator);
        let closure = subject.closure();
        let plan = match underpin_fuse::plan(&closure) {
            Err(Refusal::NothingToFuse { members }) => return Ok(Err(members)),
            plan => plan?,
        };
        if plan.members.len() < least {
            return Ok(Err(plan.members.len()));
        }
        let fused = underpin_fuse::fuse(&closure, &plan, &place.names())?;
        let merged = note::read(&fused.bytes).context("the list of its members cannot be read again")?;
        let shared = |kept: &Kept| (closure.objects[kept.object].path.clone(), kept.because.to_string());
        let shared = plan.kept.iter().map(shared).collect();
        let is_inside = |object: Option<usize>| object.is_some_and(|object| plan.members.contains(&object));
        let inside = fused.bindings.iter().filter(|binding| is_inside(binding.to)).count();
        let references = (fused.bindings.len(), inside);
        let paths: Vec<PathBuf> = closure.objects.iter().map(|object| real(&object.path)).collect();
        let computed = fused.bindings.iter().filter_map(|binding| {
            let symbol = match binding.version.is_empty() {
                true => binding.name.to_string(),
                false => format!("{} [{}]", binding.name, binding.version),
            };
            // Nothing, for a weak reference: the loader does not tell of those.
            Some(((paths[binding.from].clone(), symbol), paths[binding.to?].clone()))
        });
        let computed = computed.collect();
        Ok(Ok(Merger { subject, verifier, place, fused, computed, merged, shared, references }))
    }

    /// Takes a file in place of its own.
    ///
    /// # Errors
    /// What that file would do otherwise for this program.
    pub fn adopt(&mut self, file: &GroupFile) -> anyhow::Result<()> {
        if let Some(difference) = file.fused.meaning.difference(&self.fused.meaning) {
            bail!("{difference}");
        }
        self.place = file.place.clone();
        self.fused.bytes.clone_from(&file.fused.bytes);
        self.fused.links.clone_from(&file.fused.links);
        self.merged.clone_from(&file.merged);
        Ok(())
    }

    /// Its merged file, for several programs; the program is let go.
    pub fn into_file(self) -> GroupFile {
        GroupFile { place: self.place, fused: self.fused, merged: self.merged }
    }

    /// Whether the program and its merged file are already what they would become.
    ///
    /// # Errors
    /// If the program cannot be read, or its new bytes cannot be worked out.
    pub fn is_done(&self) -> anyhow::Result<bool> {
        let same = self.place.holds(&self.fused) && self.place.start_list() == self.start_list()?;
        Ok(same && self.subject.held.read()? == self.program()?)
    }

    /// The merged file.
    pub fn file(&self) -> &Path {
        self.place.file()
    }

    /// The real paths of the libraries inside.
    pub fn members(&self) -> BTreeSet<PathBuf> {
        self.merged.iter().map(|member| real(&member.path)).collect()
    }

    /// The size of the merged file in bytes.
    pub fn bytes(&self) -> u64 {
        self.fused.bytes.len() as u64
    }

    /// Writes the file, replaces the program, and removes what the program named before. Returns how many references the
    /// loader bound as before.
    ///
    /// # Errors
    /// If something cannot be written, or the loader binds a reference otherwise; the program is the old one then.
    pub fn carry_out(&self, keep: &Keep) -> anyhow::Result<usize> {
        self.place.write(&self.fused, &self.list()?, self.start_list()?.as_deref())?;
        let compared = self.carry_out_written(keep);
        if compared.is_err() {
            self.place.remove();
        }
        compared
    }

    /// The same if the file is written, which stays whatever happens.
    ///
    /// # Errors
    /// As for [`Merger::carry_out`].
    pub fn carry_out_written(&self, keep: &Keep) -> anyhow::Result<usize> {
        let program = vec![self.subject.path.clone()];
        let (farms, fusions) = (files::farms_of(&program), Fusions::of(&program));
        let compared = self.replace(keep);
        if compared.is_ok() {
            fusions.remove_unused();
            Fusions::remove_left(&program);
            for error in files::remove_unused(&farms) {
                crate::screen::note(&error);
            }
        }
        compared
    }

    fn replace(&self, keep: &Keep) -> anyhow::Result<usize> {
        let new = self.program()?;
        let judge = self.judge()?;
        let mut compared = 0;
        self.subject.held.replace(&new, keep, |copy| {
            compared = judge.accepts(copy)?;
            Ok(())
        })?;
        Ok(compared)
    }

    /// Writes the file, and the program that uses it where `write` puts its bytes; both belong to the caller.
    ///
    /// # Errors
    /// As for [`Merger::carry_out`].
    pub fn copy<C: AsRef<Path>>(&self, write: impl FnOnce(&[u8]) -> anyhow::Result<C>) -> anyhow::Result<C> {
        self.place.write(&self.fused, &self.list()?, self.start_list()?.as_deref())?;
        let copy = write(&self.program()?)?;
        self.judge()?.accepts(copy.as_ref())?;
        Ok(copy)
    }

    fn list(&self) -> anyhow::Result<Vec<u8>> {
        list(self.file(), &self.merged, &self.fused.bytes)
    }

    /// What the program would start with for its modules, as a file; `None` without modules.
    fn start_list(&self) -> anyhow::Result<Option<Vec<u8>>> {
        self.subject.start.as_ref().map(|start| StartList::of(start)?.bytes()).transpose()
    }

    /// What was found of modules; `None` if none were named.
    pub fn modules(&self) -> Option<FoundModules<'_>> {
        let start = self.subject.start.as_ref()?;
        Some(FoundModules { modules: start.modules, libraries: start.added, left: &start.left })
    }

    fn judge(&self) -> anyhow::Result<Judge<'_>> {
        Judge::of(&self.subject, self.members(), &self.computed, self.file(), &self.verifier)
    }

    /// The program's new bytes: it names the merged file first, which must be there.
    fn program(&self) -> anyhow::Result<Vec<u8>> {
        let file = BString::from(self.file().as_os_str().as_bytes());
        let mut needed = vec![file.clone()];
        needed.extend(self.fused.program_needs.iter().cloned());
        let renames = self.fused.renames(&file).into_iter().map(|(from, to)| Rename { from, to }).collect();
        let edits = Edits { needed: Some(needed), renames, ..Edits::default() };
        let bound = bound(&self.merged, &self.fused.bytes, self.file())?;
        let options = RewriteOptions { bound, ..RewriteOptions::default() };
        let original = self.subject.original();
        let new = rewrite(original, &edits, &options)?.apply(original);
        ensure!(undo(&new)? == *original, "the rewritten program could not be restored");
        Ok(new)
    }
}

/// The files and folders of modules with whose libraries a program was fused; none if it was fused without.
pub fn modules_of(place: &Place) -> Vec<PathBuf> {
    start_list(place).map(|list| list.modules.into_iter().map(PathBuf::from).collect()).unwrap_or_default()
}

fn start_list(place: &Place) -> Option<StartList> {
    serde_json::from_slice(&place.start_list()?).ok()
}

/// The program that a fused one was compared with, if that has more libraries than its original, and what it loads.
///
/// # Errors
/// If the program cannot be read or restored.
pub fn compared_with(
    program: &Path,
    original: &[u8],
    environment: &Environment,
) -> anyhow::Result<Option<(Vec<u8>, Closure)>> {
    let Some(list) = Place::of(program).and_then(|place| start_list(&place)) else { return Ok(None) };
    let extended = list.extend(original)?;
    let resolved = modules::resolve(program, extended.clone(), environment)?;
    Ok(Some((extended, resolved)))
}

/// What is in a merged file, as an SPDX list.
fn list(file: &Path, merged: &[note::Merged], bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let comment = |member: &note::Merged| match member.build_id.as_str() {
        "" => "merged".to_owned(),
        id => format!("merged; build-id {id}"),
    };
    let parts = merged.iter().map(|member| part(&member.path, comment(member))).collect();
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut list = serde_json::to_vec_pretty(&Contents::of(None, parts).spdx(&name, Some(bytes)))?;
    list.push(b'\n');
    Ok(list)
}

/// What the record in the program tells `verify`: the merged file and its members as they are now.
fn bound(merged: &[note::Merged], bytes: &[u8], file: &Path) -> anyhow::Result<Vec<BoundObject>> {
    let text = |bytes: &BString| String::from_utf8(bytes.to_vec()).context("a library's path is not UTF-8");
    let own = FileFacts::of(file)?;
    let first = BoundObject {
        name: file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        path: file.to_str().context("its path is not UTF-8")?.to_owned(),
        build_id: subject::build_id(bytes),
        size: own.size,
        modified: own.modified,
    };
    let members = merged.iter().map(|member| {
        let path = text(&member.path)?;
        let name = if member.soname.is_empty() { path.clone() } else { text(&member.soname)? };
        let build_id = Some(member.build_id.clone()).filter(|id| !id.is_empty());
        Ok(BoundObject { name, path, build_id, size: member.size, modified: member.modified })
    });
    std::iter::once(Ok(first)).chain(members).collect()
}

/// Size and modification time of a file.
struct FileFacts {
    size: u64,
    modified: i64,
}

impl FileFacts {
    fn of(path: &Path) -> anyhow::Result<FileFacts> {
        let identity = files::FileIdentity::at(path).with_context(|| path.display().to_string())?;
        // Nanoseconds since 1970: 64 bits last until 2262.
        Ok(FileFacts { size: identity.size, modified: i64::try_from(identity.modified).unwrap_or(0) })
    }
}

/// The same with symbolic links resolved, if it exists.
fn real(bytes: &BString) -> PathBuf {
    let path = path(bytes);
    fs::canonicalize(&path).unwrap_or(path)
}
