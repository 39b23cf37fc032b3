//! Files and folders that a user includes, with the libraries of every ELF file among them: what programs open while they run
//! (extension modules, gems, plugins) is loaded by the same loader.

use super::planner::{LOADER_CACHE, Planner, broken, lexical};
use super::{Because, Included, Source};
use crate::root::GuestRoot;
use crate::tree::{Content, Kind, host_entry};
use crate::{Entry, ImageError, Tree};
use bstr::{BString, ByteSlice};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use underpin_resolve::{Closure, Depth, Environment, Found, Resolver, Root};

/// What version control keeps beside an application, and no image needs.
const LEFT_OUT: [&str; 4] = [".git", ".hg", ".svn", ".jj"];
/// A link to a link to a link: more in a row are a cycle.
const LINKS: usize = 40;

impl Planner<'_> {
    /// Adds a file, or what is in a folder. What is there already stays, so that folders may overlap; what a link leads to
    /// comes too.
    pub(super) fn include(&mut self, included: &Included) -> Result<(), ImageError> {
        let mut links = Vec::new();
        match &included.from {
            Source::Host(from) => self.take(from, &included.to, &included.because, &mut links)?,
            Source::Bytes(content) => {
                let entry = Entry::file(content.clone(), 0o644);
                self.put(included.to.clone(), entry, &included.because, &mut links)?;
            }
        }
        for _ in 0..LINKS {
            let pending: Vec<PathBuf> = std::mem::take(&mut links);
            for target in pending {
                let from = self.on_host(&target);
                if !self.is_there(&target) && from.exists() {
                    self.take(&from, &target, &included.because, &mut links)?;
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, from: &Path, to: &Path, because: &Because, links: &mut Vec<PathBuf>) -> Result<(), ImageError> {
        let data = std::fs::metadata(from).map_err(ImageError::io(from))?;
        if !data.is_dir() {
            let real = from.canonicalize().map_err(ImageError::io(from))?;
            return self.put(to.to_owned(), host_entry(&real)?, because, links);
        }
        let mut folder = Tree::from_folder(from, self.recipe.time)?;
        let left_out = |path: &Path| path.iter().any(|name| LEFT_OUT.iter().any(|known| name == OsStr::new(known)));
        for (path, entry) in folder.take().filter(|(path, _)| !left_out(path)) {
            self.put(to.join(path), entry, because, links)?;
        }
        Ok(())
    }

    fn put(
        &mut self,
        path: PathBuf,
        entry: Entry,
        because: &Because,
        links: &mut Vec<PathBuf>,
    ) -> Result<(), ImageError> {
        if self.tree.get(&path).is_some() {
            return Ok(());
        }
        match &entry.kind {
            Kind::Symlink(target) => {
                let above = Path::new("/").join(&path);
                links.push(lexical(&above.parent().unwrap_or(Path::new("/")).join(target)));
            }
            Kind::File(_) => self.included.push(Path::new("/").join(&path)),
            _ => {}
        }
        self.add(&path, entry, because.clone())
    }

    /// Whether something is at a path, links followed.
    pub(super) fn is_there(&self, path: &Path) -> bool {
        GuestRoot { tree: &self.tree, host: None }.stat(path.as_os_str().as_bytes().into()).is_ok()
    }

    /// Adds the libraries of the ELF files that were included. One whose libraries are missing is told, and stays: nobody may
    /// ever load it.
    pub(super) fn close_included(&mut self) -> Result<(), ImageError> {
        self.included.retain(|path| self.tree.get(path).is_some_and(|entry| is_elf(&entry.kind)));
        let (mut needed, mut missing, mut cached) = (Vec::new(), Vec::new(), false);
        {
            let root = GuestRoot { tree: &self.tree, host: Some(self.host) };
            let resolver = Resolver::new(&root, Environment::empty());
            for path in &self.included {
                let name = path.as_os_str().as_bytes().as_bstr();
                // What is neither a program nor a library, such as an object file, is data.
                let Ok(closure) = resolver.resolve(name, Depth::Findings) else { continue };
                if closure.objects.first().map(|object| object.ident.machine) != Some(self.recipe.target.machine()) {
                    continue;
                }
                missing.extend(broken(&closure));
                cached |= closure.objects.iter().any(|object| object.found == Found::Cache);
                needed.extend(libraries(&closure));
            }
        }
        for (path, because) in needed {
            self.object(path.as_ref(), because)?;
        }
        missing.sort();
        missing.dedup();
        self.remarks.extend(missing.into_iter().map(|reason| format!("included, but cannot be loaded: {reason}")));
        if cached && !self.finds_all() {
            self.object(LOADER_CACHE.into(), Because::Search)?;
        }
        Ok(())
    }

    /// Whether the image's own loader finds what this machine's found with its cache.
    fn finds_all(&self) -> bool {
        let root = GuestRoot { tree: &self.tree, host: None };
        let resolver = Resolver::new(&root, Environment::empty());
        let resolved = |path: &PathBuf| resolver.resolve(path.as_os_str().as_bytes().into(), Depth::Load);
        self.included.iter().filter_map(|path| resolved(path).ok()).all(|closure| broken(&closure).is_none())
    }
}

/// The libraries of a closure, each with what needs it.
fn libraries(closure: &Closure) -> Vec<(BString, Because)> {
    let objects = closure.objects.iter().skip(1).filter(|object| object.found != Found::Interpreter);
    let by = |by: usize| closure.objects.get(by).map_or(&closure.program, |object| &object.path).clone();
    objects
        .map(|object| {
            let by = by(object.requested_by.map_or(0, |by| by.0));
            (object.path.clone(), Because::Needed { by })
        })
        .collect()
}

fn is_elf(kind: &Kind) -> bool {
    let mut magic = [0; 4];
    match kind {
        Kind::File(Content::Host { path, .. }) => {
            File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == *b"\x7fELF"
        }
        Kind::File(Content::Bytes(bytes)) => bytes.starts_with(b"\x7fELF"),
        _ => false,
    }
}
