//! Programs with their closures, put into a tree.

use super::base::{usual, usual_files};
use super::{Around, Because, Recipe};
use crate::root::GuestRoot;
use crate::{Content, Entry, ImageError, Kind, Tree};
use bstr::{BStr, ByteSlice};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use underpin_resolve::{Closure, Depth, Environment, Found, HostRoot, LoaderKind, Resolver, Root, Severity};

/// The cache that glibc's loader searches before its own directories.
pub(super) const LOADER_CACHE: &str = "/etc/ld.so.cache";
/// The directories in which musl's loader searches, if it is not to use its own.
const MUSL_PATHS: [&str; 2] = ["/etc/ld-musl-x86_64.path", "/etc/ld-musl-aarch64.path"];

pub(super) struct Planner<'a> {
    pub(super) recipe: &'a Recipe,
    pub(super) host: &'a dyn Root,
    pub(super) tree: Tree,
    reasons: Vec<(PathBuf, Because)>,
    pub(super) remarks: Vec<String>,
    /// Files that came with a folder or by name, and may be ELF files.
    pub(super) included: Vec<PathBuf>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(recipe: &'a Recipe, host: &'a dyn Root, base: &Tree) -> Planner<'a> {
        let reasons = base.entries().map(|(path, _)| (path.to_owned(), usual(path))).collect();
        let (tree, remarks, included) = (Tree::new(recipe.time), Vec::new(), Vec::new());
        Planner { recipe, host, tree, reasons, remarks, included }
    }

    /// The files, why each is there, and what a person should know.
    pub(super) fn done(self) -> (Tree, Vec<(PathBuf, Because)>, Vec<String>) {
        (self.tree, self.reasons, self.remarks)
    }

    /// Where a path of the image's own system is on this machine. Links within a system below a folder are followed there: one
    /// to `/etc/alternatives` would lead to this machine's.
    pub(super) fn on_host(&self, path: &Path) -> PathBuf {
        let Some(sysroot) = &self.recipe.sysroot else { return path.to_owned() };
        let found = HostRoot::sysroot(sysroot).locate(path.as_os_str().as_bytes().into());
        found.unwrap_or_else(|_| sysroot.join(path.strip_prefix("/").unwrap_or(path)))
    }

    /// What a path of this machine is in the system below a folder; `None` if it is not there, or there is no such system.
    fn inside(&self, path: &Path) -> Option<PathBuf> {
        Some(Path::new("/").join(path.strip_prefix(self.recipe.sysroot.as_ref()?).ok()?))
    }

    /// The path of a program as it was given, on this machine or in the system below a folder, and the file that it leads to.
    fn located(&self, path: &Path) -> Result<(PathBuf, PathBuf), ImageError> {
        let given = std::path::absolute(path).map_err(ImageError::io(path))?;
        if let Some(inside) = self.inside(&given) {
            let file = self.on_host(&inside);
            return Ok((inside, file));
        }
        let file = path.canonicalize().map_err(ImageError::io(path))?;
        Ok((self.inside(&file).unwrap_or(given), file))
    }

    pub(super) fn add(&mut self, path: &Path, entry: Entry, because: Because) -> Result<(), ImageError> {
        self.tree.add(path, entry)?;
        self.reasons.push((path.strip_prefix("/").unwrap_or(path).to_owned(), because));
        Ok(())
    }

    pub(super) fn added(&mut self, from: &Path, to: &Path) -> Result<(), ImageError> {
        let data = std::fs::metadata(from).map_err(ImageError::io(from))?;
        if data.is_dir() {
            let mut folder = Tree::from_folder(from, self.recipe.time)?;
            for (path, entry) in folder.take() {
                self.add(&to.join(path), entry, Because::Added)?;
            }
            return Ok(());
        }
        let entry = crate::tree::host_entry(&from.canonicalize().map_err(ImageError::io(from))?)?;
        self.add(to, entry, Because::Added)
    }

    /// Adds a program with its closure; returns where it is.
    pub(super) fn program(&mut self, path: &Path) -> Result<PathBuf, ImageError> {
        let (given, file) = self.located(path)?;
        let content = Content::host(&file)?;
        let name = path.file_name().unwrap_or_else(|| OsStr::new("program"));
        // Where the system has it, by the name that was given: some programs do another work by another name. A file of the
        // user's own becomes a program of the system.
        let stays = ["/usr", "/bin", "/sbin", "/opt", "/lib"].iter().any(|top| given.starts_with(top));
        let place = if stays { given } else { Path::new("/usr/bin").join(name) };
        let missing = match self.place(&place, &content) {
            Err(error @ ImageError::NotClosed { .. }) => error,
            done => return done.map(|()| place),
        };
        // Libraries beside it are found through $ORIGIN, so its folder may matter.
        let own = self.inside(&file).unwrap_or(file);
        if self.place(&own, &content).is_ok() { Ok(own) } else { Err(missing) }
    }

    /// Adds a program at a place, with all that its loader will load from there, or nothing.
    fn place(&mut self, place: &Path, content: &Content) -> Result<(), ImageError> {
        let (tree, reasons) = (self.tree.clone(), self.reasons.len());
        let result =
            self.add(place, Entry::file(content.clone(), 0o755), Because::Program).and_then(|()| self.close(place));
        if result.is_err() {
            self.tree = tree;
            self.reasons.truncate(reasons);
        }
        result
    }

    fn close(&mut self, place: &Path) -> Result<(), ImageError> {
        let closure = closure(&self.tree, Some(self.host), place)?;
        let found = closure.objects.first().map(|object| object.ident.machine);
        if found != Some(self.recipe.target.machine()) {
            return Err(ImageError::WrongMachine {
                path: place.to_owned(),
                found: found.and_then(|machine| machine.name()).unwrap_or("another processor"),
                target: match &self.recipe.around {
                    Around::Machine => self.recipe.target.name(),
                    Around::Container(_) => self.recipe.target.container(),
                },
            });
        }
        if let Some(reason) = broken(&closure) {
            return Err(ImageError::NotClosed { path: place.to_owned(), reason });
        }
        if closure.loader.kind == LoaderKind::None {
            return Ok(());
        }
        for (index, object) in closure.objects.iter().enumerate() {
            let because = match (&object.found, object.requested_by) {
                _ if index == 0 => continue,
                (Found::Interpreter, _) => Because::Loader,
                (_, Some(by)) => Because::Needed { by: closure.objects[by.0].path.clone() },
                _ => Because::Needed { by: closure.program.clone() },
            };
            self.object(object.path.as_ref(), because)?;
        }
        self.object(closure.loader.path.as_ref(), Because::Loader)?;
        for path in MUSL_PATHS.iter().filter(|_| closure.loader.kind == LoaderKind::Musl) {
            if self.host.stat((*path).into()).is_ok() {
                self.object((*path).into(), Because::Search)?;
            }
        }
        if closure.objects.iter().any(|object| object.found == Found::Cache) && !self.closes(place, &closure) {
            self.object(LOADER_CACHE.into(), Because::Search)?;
        }
        Ok(())
    }

    /// Whether the guest's loader finds the same with what is in the tree.
    pub(super) fn closes(&self, place: &Path, expected: &Closure) -> bool {
        let paths = |closure: &Closure| closure.objects.iter().map(|object| object.path.clone()).collect::<Vec<_>>();
        closure(&self.tree, None, place).is_ok_and(|found| broken(&found).is_none() && paths(&found) == paths(expected))
    }

    /// Adds a file of the host's root at the same path, unless it is there.
    pub(super) fn object(&mut self, path: &BStr, because: Because) -> Result<(), ImageError> {
        let place = PathBuf::from(OsStr::from_bytes(path));
        let place = lexical(&place);
        if (GuestRoot { tree: &self.tree, host: None }).stat(place.as_os_str().as_bytes().into()).is_ok() {
            return Ok(());
        }
        let real = self.host.real_path(path).map_err(|error| ImageError::NotClosed {
            path: place.clone(),
            reason: format!("it cannot be read: {error}"),
        })?;
        let real = Path::new(OsStr::from_bytes(&real)).to_owned();
        let file = self.on_host(&real);
        let entry = Entry { kind: Kind::File(Content::host(&file)?), ..crate::tree::host_entry(&file)? };
        self.add(&place, entry, because)
    }

    /// Adds those of a machine's usual files that the image does not have. A link in the place of their folder is left alone.
    pub(super) fn usual_files(&mut self) -> Result<(), ImageError> {
        let folder = self.tree.get(Path::new("etc")).map(|entry| entry.kind == Kind::Directory);
        for (path, entry) in usual_files().into_iter().filter(|_| folder != Some(false)) {
            let path = Path::new("/").join(path);
            if !self.is_there(&path) {
                self.add(&path, entry, Because::Usual)?;
            }
        }
        Ok(())
    }

    /// What the guest's loaders will find, without the host behind them.
    pub(super) fn confirm(&mut self, places: &[PathBuf]) -> Result<(), ImageError> {
        for place in places {
            let closure = closure(&self.tree, None, place)?;
            if let Some(reason) = broken(&closure) {
                let reason = format!("{reason}, although this host's root has it: add it with --add HOST:GUEST");
                return Err(ImageError::NotClosed { path: place.clone(), reason });
            }
            let glibc = closure.loader.kind == LoaderKind::Glibc;
            let opens = |kind: &underpin_resolve::FindingKind| *kind == underpin_resolve::FindingKind::ImportsDlopen;
            if glibc && self.included.is_empty() && closure.findings.iter().any(|finding| opens(&finding.kind)) {
                self.remarks.push(format!(
                    "{} may open more libraries while it runs (it imports dlopen): add those with --include PATH",
                    place.display()
                ));
            }
        }
        Ok(())
    }
}

pub(super) fn closure(tree: &Tree, host: Option<&dyn Root>, place: &Path) -> Result<Closure, ImageError> {
    let root = GuestRoot { tree, host };
    let resolver = Resolver::new(&root, Environment::empty());
    let path = place.as_os_str().as_bytes().as_bstr();
    resolver.resolve(path, Depth::Findings).map_err(|error| ImageError::NotProgram { reason: error.to_string() })
}

/// What keeps the loader from starting it.
pub(super) fn broken(closure: &Closure) -> Option<String> {
    use underpin_resolve::FindingKind;
    let errors = closure.findings.iter().filter(|finding| finding.severity == Severity::Error);
    let words = errors.map(|finding| {
        let of = finding.object.map_or(&closure.program, |id| &closure.objects[id.0].path);
        match &finding.kind {
            FindingKind::Missing { name } => format!("{of} needs {name}, which is not found"),
            FindingKind::MissingInterpreter { path } => format!("its loader {path} is not found"),
            FindingKind::MissingVersion { file, version } => format!("{of} needs version {version} of {file}"),
            FindingKind::FatalFile { path, .. } => format!("{path} stops the loader"),
            _ => format!("the loader refuses {of}"),
        }
    });
    let all: Vec<String> = words.collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Without `.` and `..`: the loader's paths have them if $ORIGIN is followed by them.
pub(super) fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(clean.pop()),
            std::path::Component::CurDir => {}
            other => clean.push(other),
        }
    }
    clean
}
