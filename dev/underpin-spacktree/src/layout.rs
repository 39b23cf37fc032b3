//! Which file goes where, and with which search path: worked out before anything is written.

use crate::Layout;
use crate::member::{Member, Members};
use anyhow::Context;
use bstr::BString;
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// One file of the tree. Its places are relative to the tree's folder.
#[derive(Debug)]
pub struct Placed {
    /// Where it is copied from.
    pub from: PathBuf,
    /// Where it goes.
    pub place: PathBuf,
    /// Symbolic links beside it, and what they hold: the names by which it is asked for.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// The folders that it searches, in order; empty for a loader.
    pub search_path: Vec<PathBuf>,
    /// Names with a slash, and the names by which they are searched instead.
    pub renames: Vec<(BString, BString)>,
    /// The loader that is to be its interpreter, if it has one.
    pub interpreter: Option<PathBuf>,
    /// It is one of the files asked for.
    pub program: bool,
    /// It is a loader itself.
    pub loader: bool,
    /// Names that the system does not find for it.
    pub missing: Vec<BString>,
}

/// The whole tree before it is written.
#[derive(Debug)]
pub struct Plan {
    /// Its files.
    pub files: Vec<Placed>,
    /// Those asked for, as indices, in the order asked for.
    pub programs: Vec<usize>,
}

impl Plan {
    /// Plans the tree for the closures of some programs.
    ///
    /// # Errors
    /// If a program cannot be resolved.
    pub fn new(programs: &[PathBuf], layout: Layout) -> anyhow::Result<Plan> {
        let members = Members::of(programs, layout)?;
        let homes: Vec<PathBuf> = members.list.iter().map(|member| home(member, &members)).collect();
        let places: Vec<PathBuf> =
            members.list.iter().zip(&homes).map(|(member, home)| place(member, home)).collect::<anyhow::Result<_>>()?;
        let files = (0..members.list.len()).map(|at| placed(&members, &homes, &places, at, layout)).collect();
        Ok(Plan { files, programs: members.programs })
    }
}

/// `NAME-HASH`, with 32 letters of hash as Spack has them; a C library shares one prefix.
fn home(member: &Member, members: &Members) -> PathBuf {
    let name = member.from.file_name().unwrap_or_default().to_string_lossy();
    let (stem, seed) = match member.libc_of.map(|loader| &members.list[loader].from) {
        Some(loader) => ("libc", loader.as_path()),
        None => (name.split('.').next().unwrap_or_default(), member.from.as_path()),
    };
    let letters = b"abcdefghijklmnopqrstuvwxyz234567";
    let hash = Sha256::digest(seed.as_os_str().as_bytes());
    let hash: String = hash.iter().map(|byte| char::from(letters[usize::from(byte % 32)])).collect();
    PathBuf::from(format!("{stem}-{hash}"))
}

fn place(member: &Member, home: &Path) -> anyhow::Result<PathBuf> {
    let name = member.from.file_name().context("a file without a name")?;
    Ok(home.join(if is_library(member) { "lib" } else { "bin" }).join(name))
}

/// A library is asked for by name, or has a name like one.
fn is_library(member: &Member) -> bool {
    let name = member.from.file_name().unwrap_or_default().as_bytes();
    !member.names.is_empty() || bstr::ByteSlice::contains_str(name, ".so")
}

fn placed(members: &Members, homes: &[PathBuf], places: &[PathBuf], at: usize, layout: Layout) -> Placed {
    let member = &members.list[at];
    let beside = |name: &OsStr| places[at].with_file_name(name);
    let target: OsString = places[at].file_name().unwrap_or_default().to_owned();
    let links = member.names.iter().map(|name| OsStr::from_bytes(name)).filter(|name| **name != *target);
    let links = links.map(|name| (beside(name), PathBuf::from(&target))).collect();
    let loader = member.loader.filter(|_| !member.is_loader).map(|loader| {
        // The name by which programs ask for it, not that of the file behind it.
        let name = members.list[loader].names.iter().next();
        name.map_or_else(|| places[loader].clone(), |name| places[loader].with_file_name(OsStr::from_bytes(name)))
    });
    Placed {
        from: member.from.clone(),
        place: places[at].clone(),
        links,
        search_path: if member.is_loader { Vec::new() } else { search_path(members, homes, at, layout) },
        renames: member.paths.iter().map(|path| (path.clone(), file_name(path))).collect(),
        interpreter: loader,
        program: member.program,
        loader: member.is_loader,
        missing: member.needs.iter().filter(|(_, to)| to.is_none()).map(|(name, _)| name.clone()).collect(),
    }
}

/// What follows the last slash.
pub(crate) fn file_name(path: &BString) -> BString {
    bstr::ByteSlice::rsplit_str(path.as_slice(), "/").next().unwrap_or_default().into()
}

/// `lib` and `lib64` of the member's own prefix, then those of its closure: depth first, each prefix before those that
/// it depends on, neighbours by name, all `lib` before all `lib64` (Spack: `get_rpaths` of build_environment.py over
/// `Spec.traverse`). Spack leaves out a `lib64` that does not exist; here every prefix counts as having one.
fn search_path(members: &Members, homes: &[PathBuf], at: usize, layout: Layout) -> Vec<PathBuf> {
    let below = |member: usize| {
        let mut needs: Vec<usize> = members.list[member].needs.iter().filter_map(|(_, to)| *to).collect();
        // The last one is taken from a stack first.
        needs.sort_by(|a, b| homes[*b].cmp(&homes[*a]));
        needs
    };
    let mut order = Vec::new();
    let mut known = HashSet::from([at]);
    let mut stack = below(at);
    while let Some(member) = stack.pop() {
        if known.insert(member) {
            order.push(member);
            if !layout.direct_runpath {
                stack.extend(below(member));
            }
        }
    }
    let mut seen = HashSet::from([&homes[at]]);
    let rest: Vec<&PathBuf> =
        order.into_iter().map(|member| &homes[member]).filter(|home| seen.insert(*home)).collect();
    let folder = |name: &'static str| rest.iter().map(move |home| home.join(name));
    [homes[at].join("lib"), homes[at].join("lib64")].into_iter().chain(folder("lib")).chain(folder("lib64")).collect()
}
