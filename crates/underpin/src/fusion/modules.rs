//! Libraries that modules bring (`--modules`): which of them a program can load at start, to be merged with its own.
//!
//! A program that names them as needed, after everything that it loads itself, is the original that the merged file is held
//! against. Before that, each library that would answer a reference otherwise there than when it is brought by a module
//! ([`underpin_fuse::strangers`]) is left to its modules, with what needs it; and so is what would stay shared anyway and
//! no library inside needs.

use super::real;
use super::subject::{Read, content, keep};
use crate::input::path;
use anyhow::{Context, anyhow, bail, ensure};
use bstr::{BString, ByteSlice};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use underpin_elf::{Elf, FileSource};
use underpin_fuse::{Content, Member, Refusal};
use underpin_resolve::{Closure, Depth, Environment, Found, HostRoot, Object, Outcome, OverlayRoot, Resolver, Root};
use underpin_rewrite::plan::{Scope, UnboundRoot};
use underpin_rewrite::{Edits, RewriteOptions, rewrite};

/// A program's start with the libraries that its modules bring.
pub(super) struct Start {
    /// What the program names as needed then.
    pub needed: Vec<BString>,
    /// The program with those names.
    pub program: Vec<u8>,
    /// Files and folders of modules, as the caller named them, absolute.
    pub named: Vec<PathBuf>,
    /// How many modules there are.
    pub modules: usize,
    /// How many libraries it loads besides.
    pub added: usize,
    /// Libraries that only modules bring, and why they are left to those.
    pub left: Vec<(BString, String)>,
}

/// The same as it is written beside the merged file, for `verify` and for the next time.
#[derive(Serialize, Deserialize)]
pub(super) struct StartList {
    /// Files and folders of modules.
    pub modules: Vec<String>,
    /// What the program would name as needed.
    pub needed: Vec<String>,
}

impl StartList {
    /// # Errors
    /// If a path is not UTF-8.
    pub fn of(start: &Start) -> anyhow::Result<StartList> {
        let text =
            |bytes: &[u8]| String::from_utf8(bytes.to_vec()).with_context(|| format!("{}: not UTF-8", bytes.as_bstr()));
        let modules = start.named.iter().map(|path| text(path.as_os_str().as_bytes()));
        let needed = start.needed.iter().map(|name| text(name));
        Ok(StartList { modules: modules.collect::<Result<_, _>>()?, needed: needed.collect::<Result<_, _>>()? })
    }

    /// As a file.
    ///
    /// # Errors
    /// None that is known.
    pub fn bytes(&self) -> anyhow::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// A program with those names as needed.
    ///
    /// # Errors
    /// If they cannot be written into it.
    pub fn extend(&self, original: &[u8]) -> anyhow::Result<Vec<u8>> {
        extended(original, &self.needed.iter().map(|name| BString::from(name.as_str())).collect::<Vec<_>>())
    }
}

/// A program as it is, which shall have modules.
pub(super) struct Program<'p> {
    pub path: &'p Path,
    pub original: &'p [u8],
    pub own: &'p Closure,
    pub environment: &'p Environment,
    pub read: &'p Read<'p>,
}

/// A module, or a library that modules bring.
struct Library {
    path: BString,
    real: PathBuf,
    /// Names under which modules and their libraries request it.
    names: Vec<BString>,
    /// Whether a search path of a file led to it: the program would not find it by its name.
    by_path: bool,
    content: Content,
}

/// Modules with what they bring.
struct Brought {
    /// What the program does not load: libraries and modules.
    all: Vec<Library>,
    /// For each module what its search list has, itself first.
    scopes: Vec<Vec<PathBuf>>,
    left: Vec<(BString, String)>,
}

/// Works out with which libraries a program can start. Also what it loads then, and the contents of the objects that it
/// does not load by itself, which are the last ones.
///
/// # Errors
/// If no module is found, or one cannot be read.
pub(super) fn find(program: &Program, named: &[PathBuf]) -> anyhow::Result<(Start, Closure, Vec<Content>)> {
    let modules = modules(program, named)?;
    let mut brought = brought(program, &modules)?;
    let is_module: BTreeSet<&PathBuf> = brought.scopes.iter().filter_map(|scope| scope.first()).collect();
    let mut added: Vec<usize> =
        (0..brought.all.len()).filter(|&index| !is_module.contains(&brought.all[index].real)).collect();
    loop {
        let needed = needed(program, added.iter().map(|&index| &brought.all[index]));
        let bytes = extended(program.original, &needed)?;
        let mut resolved = resolve(program.path, bytes.clone(), program.environment)?;
        same_start(program.own, &resolved)?;
        add_names(&mut resolved, &brought.all);
        let leave = leave(program, &resolved, &brought, &added)?;
        if leave.is_empty() {
            let named = named.iter().map(|path| fs::canonicalize(path).unwrap_or_else(|_| path.clone())).collect();
            let (modules, left) = (brought.scopes.len(), brought.left);
            let mut by_file: HashMap<PathBuf, Content> =
                brought.all.into_iter().map(|library| (library.real, library.content)).collect();
            let last = resolved.objects.iter().skip(program.own.objects.len());
            let contents: Option<Vec<Content>> = last.map(|object| by_file.remove(&real(&object.path))).collect();
            let contents = contents.context("its libraries changed meanwhile")?;
            let start = Start { needed, program: bytes, named, modules, added: contents.len(), left };
            return Ok((start, resolved, contents));
        }
        added.retain(|index| !leave.contains_key(&brought.all[*index].real));
        let said = leave.into_iter().filter_map(|(library, why)| Some((library, why?)));
        brought.left.extend(said.map(|(library, why)| (library.as_os_str().as_bytes().into(), why)));
    }
}

/// The modules in files and folders that were named, by their real paths.
fn modules(program: &Program, named: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let names: Vec<BString> = named.iter().map(|path| path.as_os_str().as_bytes().into()).collect();
    let scope = Scope::find(&HostRoot::new(), &names);
    if let Some(skipped) = scope.skipped.first() {
        bail!("--modules {}: {}", skipped.path, skipped.why);
    }
    let ident = &program.own.objects[0].ident;
    let fits = |file: &Path| {
        let elf = Elf::read(&FileSource::new(fs::File::open(file).ok()?).ok()?).ok()?;
        let same = elf.ident.machine == ident.machine && elf.ident.class == ident.class;
        (same && elf.interpreter.is_none()).then_some(())
    };
    let files = scope.files.iter().map(|file| path(&file.path));
    let modules: Vec<PathBuf> = files.filter(|file| fits(file).is_some()).collect();
    ensure!(
        !modules.is_empty(),
        "--modules {}: no module for this processor; symbolic links in a folder are not followed",
        list(named)
    );
    Ok(modules)
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// What modules bring that a program does not load. What one requests by a name that the program's libraries have is theirs.
fn brought(program: &Program, modules: &[PathBuf]) -> anyhow::Result<Brought> {
    let mut own: HashMap<BString, PathBuf> = HashMap::new();
    for object in program.own.objects.iter().skip(1) {
        let names = object.names.iter().chain(&object.soname);
        own.extend(names.map(|name| (name.clone(), real(&object.path))));
    }
    let known: BTreeSet<PathBuf> = own.values().cloned().collect();
    let mut found: BTreeMap<PathBuf, usize> = BTreeMap::new();
    let mut brought = Brought { all: Vec::new(), scopes: Vec::new(), left: Vec::new() };
    for module in modules.iter().filter(|module| !known.contains(*module)) {
        let closure = program.read.resolver.resolve(module.as_os_str().as_bytes().into(), Depth::Load)?;
        if let Some(name) = missing(&closure) {
            let why = format!("cannot be opened by this program: {name} is not found");
            brought.left.push((closure.program.clone(), why));
            continue;
        }
        let mut scope = Vec::new();
        for object in closure.objects.iter().filter(|object| !matches!(object.found, Found::Interpreter)) {
            let names: Vec<&BString> = object.names.iter().chain(&object.soname).collect();
            let theirs = names.iter().find_map(|name| own.get(*name)).cloned();
            let file = theirs.unwrap_or_else(|| real(&object.path));
            if !known.contains(&file) {
                let at = *found.entry(file.clone()).or_insert(brought.all.len());
                if at == brought.all.len() {
                    brought.all.push(library(object, file.clone())?);
                }
                let all = &mut brought.all[at].names;
                names.into_iter().for_each(|name| {
                    if !all.contains(name) {
                        all.push(name.clone())
                    }
                });
            }
            scope.push(file);
        }
        brought.scopes.push(scope);
    }
    Ok(brought)
}

fn missing(closure: &Closure) -> Option<&BString> {
    let lost = |outcome: &Outcome| matches!(outcome, Outcome::Missing | Outcome::Fatal { .. });
    closure.edges.iter().find(|edge| lost(&edge.outcome)).map(|edge| &edge.name)
}

fn library(object: &Object, real: PathBuf) -> anyhow::Result<Library> {
    let by_path = !matches!(object.found, Found::Cache | Found::DefaultDirectory);
    let content = content(object)?;
    Ok(Library { path: object.path.clone(), real, names: Vec::new(), by_path, content })
}

/// The names that a program needs to load everything that it loads in the same order, and then these libraries.
fn needed<'l>(program: &Program, added: impl Iterator<Item = &'l Library>) -> Vec<BString> {
    let first = &program.own.objects[0];
    let searches = first.rpath.is_some() || first.runpath.is_some();
    let mut needed = first.needed.clone();
    let direct = program.own.edges.iter().filter(|edge| edge.from.0 == 0);
    let direct: BTreeSet<usize> = direct
        .filter_map(|edge| match &edge.outcome {
            Outcome::Loaded { object, .. } => Some(object.0),
            _ => None,
        })
        .collect();
    for (index, object) in program.own.objects.iter().enumerate().skip(1) {
        let by_name = matches!(object.found, Found::Cache | Found::DefaultDirectory) && !searches;
        match object.names.first() {
            _ if direct.contains(&index) => {}
            Some(name) if by_name || matches!(object.found, Found::Interpreter) => needed.push(name.clone()),
            None if matches!(object.found, Found::Interpreter) => {}
            _ => needed.push(object.path.clone()),
        }
    }
    needed.extend(added.map(|library| match library.names.first() {
        Some(name) if !library.by_path && !searches => name.clone(),
        _ => library.path.clone(),
    }));
    needed
}

/// A program with these names as needed.
fn extended(original: &[u8], needed: &[BString]) -> anyhow::Result<Vec<u8>> {
    let edits = Edits { needed: Some(needed.to_vec()), ..Edits::default() };
    Ok(rewrite(original, &edits, &RewriteOptions::default())?.apply(original))
}

/// What a program loads if it has these bytes, every bound object as it was before.
pub(super) fn resolve(path: &Path, bytes: Vec<u8>, environment: &Environment) -> anyhow::Result<Closure> {
    let root = HostRoot::new();
    let unbound = UnboundRoot::new(&root);
    let mut changed = OverlayRoot::new(&unbound);
    let program = root.stat(path.as_os_str().as_bytes().into());
    let program = program.map_err(|error| anyhow!("{}: {error}", path.display()))?;
    changed.change(program.id, Arc::new(bytes));
    let resolver = Resolver::new(&changed, environment.clone());
    Ok(resolver.resolve(path.as_os_str().as_bytes().into(), Depth::Paths)?)
}

/// What the program loads by itself is loaded first, in the same order.
fn same_start(own: &Closure, now: &Closure) -> anyhow::Result<()> {
    let files = |closure: &Closure| closure.objects.iter().skip(1).map(|object| real(&object.path)).collect::<Vec<_>>();
    let (then, now) = (files(own), files(now));
    let differs = then.iter().zip(&now).find(|(then, now)| then != now).map(|(then, _)| then);
    match differs.or_else(|| then.get(now.len())) {
        None => Ok(()),
        Some(library) => {
            bail!("with the libraries of its modules {} would be loaded in another order", library.display())
        }
    }
}

/// Adds the names that modules use.
fn add_names(resolved: &mut Closure, all: &[Library]) {
    for object in resolved.objects.iter_mut().skip(1) {
        let file = real(&object.path);
        let names = all.iter().filter(|library| library.real == file).flat_map(|library| &library.names);
        let new: Vec<BString> = names.filter(|name| !object.names.contains(name)).cloned().collect();
        object.names.extend(new);
    }
}

/// Of the added libraries those that must not be loaded at start, and why; without a reason those that come anyway if a
/// library inside needs them.
fn leave(
    program: &Program,
    resolved: &Closure,
    brought: &Brought,
    added: &[usize],
) -> anyhow::Result<BTreeMap<PathBuf, Option<String>>> {
    let by_file: HashMap<&Path, &Content> =
        brought.all.iter().map(|library| (library.real.as_path(), &library.content)).collect();
    let own = program.own.objects.len();
    let files: Vec<PathBuf> = resolved.objects.iter().map(|object| real(&object.path)).collect();
    let content = |index: usize| match index < own {
        true => Some(&program.read.contents[index]),
        false => by_file.get(files[index].as_path()).copied(),
    };
    let contents: Option<Vec<&Content>> = (0..files.len()).map(content).collect();
    let contents = contents.context("its libraries changed meanwhile")?;
    let mut pool = underpin_fuse::Closure::new(resolved, contents);
    for (object, resolved) in pool.objects.iter_mut().zip(&resolved.objects) {
        object.keep = keep(resolved, program.read.policy);
    }
    let is_added = |file: &Path| added.iter().any(|&index| brought.all[index].real == file);
    let plan = match underpin_fuse::plan(&pool) {
        Err(Refusal::NothingToFuse { .. }) => return Ok(BTreeMap::new()),
        plan => plan?,
    };
    let kept = plan.kept.iter().map(|kept| &files[kept.object]).filter(|file| is_added(file));
    let mut leave: BTreeMap<PathBuf, Option<String>> = kept.map(|file| (file.clone(), None)).collect();
    let mut strangers = strangers(&mut pool, own..files.len(), files.clone(), brought)?;
    // Opened by its path, a module that is inside would be loaded a second time.
    let is_module = |file: &PathBuf| brought.scopes.iter().any(|scope| scope.first() == Some(file));
    strangers.extend((own..files.len()).filter(|&at| is_module(&files[at])).map(|at| (at, "is a module".to_owned())));
    for (library, why) in strangers {
        let name = file_name(&files[library]);
        for index in above(&pool, own..files.len(), library).into_iter().filter(|&index| is_added(&files[index])) {
            let why =
                if index == library { why.clone() } else { format!("needs {name}, which stays with its modules") };
            leave.insert(files[index].clone(), Some(why));
        }
    }
    Ok(leave)
}

/// A library and those of a range that need it, directly or not: each of them would bring it.
fn above(pool: &underpin_fuse::Closure, range: Range<usize>, library: usize) -> BTreeSet<usize> {
    let mut above = BTreeSet::from([library]);
    let needs_one =
        |index: usize, above: &BTreeSet<usize>| pool.objects[index].needs.iter().any(|need| above.contains(need));
    while let Some(more) = range.clone().find(|&index| !above.contains(&index) && needs_one(index, &above)) {
        above.insert(more);
    }
    above
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Libraries of a range of a pool that would be strangers at start, and why. Modules and what else they bring are added to
/// the pool.
fn strangers<'c>(
    pool: &mut underpin_fuse::Closure<'c>,
    added: Range<usize>,
    mut files: Vec<PathBuf>,
    brought: &'c Brought,
) -> anyhow::Result<Vec<(usize, String)>> {
    let objects = pool.objects.len();
    let is_in: BTreeSet<PathBuf> = files.iter().cloned().collect();
    for library in brought.all.iter().filter(|library| !is_in.contains(&library.real)) {
        files.push(library.real.clone());
        pool.objects.push(member(library));
    }
    let index: HashMap<&Path, usize> = files.iter().enumerate().map(|(at, file)| (file.as_path(), at)).collect();
    let scope = |scope: &Vec<PathBuf>| scope.iter().filter_map(|file| index.get(file.as_path()).copied()).collect();
    let scopes: Vec<Vec<usize>> = brought.scopes.iter().map(scope).collect();
    let found = underpin_fuse::strangers(pool, added, &scopes)?;
    pool.objects.truncate(objects);
    let name = |at: usize| file_name(&files[at]);
    let why = |stranger: &underpin_fuse::Stranger| {
        let was = stranger.was.map_or("nothing has".to_owned(), |was| format!("{} has", name(was)));
        format!("at start it would answer for {}, which {was} for {}", stranger.symbol, name(stranger.asked_by))
    };
    Ok(found.iter().map(|stranger| (stranger.library, why(stranger))).collect())
}

fn member(library: &Library) -> Member<'_> {
    Member {
        path: library.path.clone(),
        real_path: library.real.as_os_str().as_bytes().into(),
        names: library.names.clone(),
        bytes: &library.content.bytes,
        modified: library.content.modified,
        needs: Vec::new(),
        by_path: library.by_path,
        is_loader: false,
        keep: None,
    }
}
