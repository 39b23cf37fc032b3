//! Real programs laid out as Spack lays them out: every library in a hashed prefix of its own, DT_RPATH of lib and lib64
//! of the transitive closure in every object, the C library with its loader in a prefix too.
//!
//! For tests and benchmarks; not part of the product. The search path and the loader's name are written without another
//! segment wherever that is possible, as a linker would have written them: a tree made by patchelf has one PT_LOAD more
//! in nearly every object, and its start would not be that of a Spack installation. The resolver determines once what a
//! program loads; only the tests ask the loader itself.
#![forbid(unsafe_code)]

mod layout;
mod member;
mod write;

pub use layout::{Placed, Plan};
pub use write::{Unwritten, Written};

use anyhow::Context;
use rayon::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

/// What the tree is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The C library and its loader are copied into a prefix and named by PT_INTERP; else those of the system serve.
    pub own_glibc: bool,
    /// DT_RUNPATH of the direct dependencies (as Nix has it) instead of DT_RPATH of the closure (as Spack has it).
    pub direct_runpath: bool,
}

impl Layout {
    /// As Spack lays it out.
    pub const SPACK: Layout = Layout { own_glibc: true, direct_runpath: false };
}

/// Where the tree is put, and by which path its files name it.
#[derive(Clone, Debug)]
pub struct Site {
    /// Where its files are written.
    pub folder: PathBuf,
    /// The path that search paths and PT_INTERP begin with: a different one if the tree will be mounted elsewhere.
    pub named: PathBuf,
}

impl Site {
    /// A tree that is used where it is written.
    #[must_use]
    pub fn at(folder: impl Into<PathBuf>) -> Site {
        let folder = folder.into();
        Site { named: folder.clone(), folder }
    }
}

/// The tree on disk. Paths are those where the files were written.
#[derive(Debug)]
pub struct Tree {
    /// Where the prefixes are.
    pub folder: PathBuf,
    /// The files asked for, in the order asked for; one that is given twice is listed once.
    pub programs: Vec<PathBuf>,
    /// What they brought in, without the loaders.
    pub libraries: Vec<PathBuf>,
    /// The loaders in the tree, if the C library is included.
    pub loaders: Vec<PathBuf>,
    /// Files that needed a further segment for their search path.
    pub with_segment: Vec<PathBuf>,
    /// Files that were copied as they are, and why.
    pub as_they_are: Vec<(PathBuf, Unwritten)>,
    /// Names that the system itself does not find, with the file that needs them; they stay missing.
    pub missing: Vec<(PathBuf, String)>,
    /// Where each file came from.
    pub origins: Vec<(PathBuf, PathBuf)>,
}

/// Copies the closures of some programs (or libraries) of this system into a tree, each file once.
///
/// # Errors
/// If one cannot be resolved or read, or the tree cannot be written.
pub fn build(site: &Site, programs: &[PathBuf], layout: Layout) -> anyhow::Result<Tree> {
    let plan = Plan::new(programs, layout)?;
    for home in plan.files.iter().filter_map(|file| file.place.parent()) {
        let home = site.folder.join(home);
        fs::create_dir_all(&home).with_context(|| format!("cannot make {}", home.display()))?;
    }
    let written: Vec<Written> =
        plan.files.par_iter().map(|file| write::file(file, site, layout)).collect::<anyhow::Result<_>>()?;
    for (link, target) in plan.files.iter().flat_map(|file| &file.links) {
        let link = site.folder.join(link);
        std::os::unix::fs::symlink(target, &link).with_context(|| format!("cannot link {}", link.display()))?;
    }
    Ok(tree(site, plan, written))
}

fn tree(site: &Site, plan: Plan, written: Vec<Written>) -> Tree {
    let mut tree = Tree {
        folder: site.folder.clone(),
        programs: Vec::new(),
        libraries: Vec::new(),
        loaders: Vec::new(),
        with_segment: Vec::new(),
        as_they_are: Vec::new(),
        missing: Vec::new(),
        origins: Vec::new(),
    };
    for (file, written) in plan.files.iter().zip(written) {
        let path = site.folder.join(&file.place);
        match written {
            Written::InPlace => {}
            Written::WithSegment => tree.with_segment.push(path.clone()),
            Written::AsItIs(why) => tree.as_they_are.push((path.clone(), why)),
        }
        tree.missing.extend(file.missing.iter().map(|name| (path.clone(), name.to_string())));
        tree.origins.push((path.clone(), file.from.clone()));
        match (file.loader, file.program) {
            (_, true) => {}
            (true, false) => tree.loaders.push(path),
            (false, false) => tree.libraries.push(path),
        }
    }
    tree.programs = plan.programs.iter().map(|&at| site.folder.join(&plan.files[at].place)).collect();
    tree
}

/// Every regular file below some folders that starts with the ELF magic; one with several names once. Symbolic links
/// are not followed. Sorted.
#[must_use]
pub fn elf_files(folders: &[&Path]) -> Vec<PathBuf> {
    let mut pending: Vec<PathBuf> = folders.iter().map(|folder| folder.to_path_buf()).collect();
    let mut found = Vec::new();
    while let Some(folder) = pending.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => pending.push(entry.path()),
                Ok(kind) if kind.is_file() => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found.sort();
    let mut seen = std::collections::HashSet::new();
    let magic: Vec<bool> = found.par_iter().map(|path| starts_with_magic(path)).collect();
    let found = found.into_iter().zip(magic).filter(|(_, magic)| *magic).map(|(path, _)| path);
    found.filter(|path| inode(path).is_none_or(|inode| seen.insert(inode))).collect()
}

fn starts_with_magic(path: &Path) -> bool {
    use std::io::Read;
    let mut magic = [0; 4];
    fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && &magic == b"\x7fELF"
}

fn inode(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}
