//! What belongs in the tree: every object of every closure once, and which object serves which of its requests.

use crate::Layout;
use crate::layout::file_name;
use anyhow::Context;
use bstr::BString;
use rayon::prelude::*;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use underpin_resolve::{Closure, Depth, EdgeKind, Environment, HostRoot, LoaderKind, Outcome, ResolveError, Resolver};

/// A library or program on the way into the tree.
#[derive(Debug, Default)]
pub(crate) struct Member {
    /// Its real path on this system.
    pub from: PathBuf,
    /// Names by which it is asked for, without folders.
    pub names: BTreeSet<BString>,
    /// What it asks for, in load order; `None` if the system itself finds nothing or keeps it.
    pub needs: Vec<(BString, Option<usize>)>,
    /// Names with a slash, as written: they would lead out of the tree.
    pub paths: Vec<BString>,
    /// One of the files asked for.
    pub program: bool,
    /// A loader that some program or library names.
    pub is_loader: bool,
    /// Part of the C library that this loader belongs to.
    pub libc_of: Option<usize>,
    /// The loader that serves it.
    pub loader: Option<usize>,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Members {
    pub list: Vec<Member>,
    index: HashMap<PathBuf, usize>,
    /// The files asked for.
    pub programs: Vec<usize>,
}

impl Members {
    /// Of the closures of some files.
    pub fn of(programs: &[PathBuf], layout: Layout) -> anyhow::Result<Members> {
        let root = HostRoot::new();
        let resolver = Resolver::new(&root, Environment::empty());
        let closures = programs.par_iter().map(|program| closure(&resolver, program));
        let closures: Vec<Option<(PathBuf, Closure)>> = closures.collect::<anyhow::Result<_>>()?;
        let mut members = Members::default();
        for (program, closure) in closures.iter().flatten() {
            members.add(program, closure, layout)?;
        }
        Ok(members)
    }

    fn at(&mut self, from: &Path) -> usize {
        if let Some(&known) = self.index.get(from) {
            return known;
        }
        self.list.push(Member { from: from.to_owned(), ..Member::default() });
        self.index.insert(from.to_owned(), self.list.len() - 1);
        self.list.len() - 1
    }

    fn add(&mut self, program: &Path, closure: &Closure, layout: Layout) -> anyhow::Result<()> {
        let loader = self.loader(closure, layout);
        let mut ids = Vec::with_capacity(closure.objects.len());
        let mut fresh = Vec::with_capacity(closure.objects.len());
        for (at, object) in closure.objects.iter().enumerate() {
            let path = Path::new(OsStr::from_bytes(&object.path));
            let real = if at == 0 { program.to_owned() } else { real(path)? };
            if at > 0 && !layout.own_glibc && of_c_library(&real, &closure.loader.path) {
                ids.push(None);
                fresh.push(false);
                continue;
            }
            let id = self.at(&real);
            let member = &mut self.list[id];
            fresh.push(member.needs.is_empty());
            member.loader = member.loader.or(loader);
            if layout.own_glibc && of_c_library(&real, &closure.loader.path) {
                member.libc_of = member.libc_of.or(loader);
            }
            if at == 0 && !member.program {
                member.program = true;
                self.programs.push(id);
            }
            ids.push(Some(id));
        }
        for edge in closure.edges.iter().filter(|edge| edge.kind != EdgeKind::Interpreter) {
            let (Some(from), true) = (ids[edge.from.0], fresh[edge.from.0]) else { continue };
            let name = file_name(&edge.name);
            let to = match &edge.outcome {
                Outcome::Loaded { object, .. } => ids[object.0],
                _ => None,
            };
            if let Some(to) = to.filter(|&to| to != from) {
                self.list[to].names.insert(name.clone());
            }
            if edge.name.contains(&b'/') {
                self.list[from].paths.push(edge.name.clone());
            }
            self.list[from].needs.push((name, to));
        }
        Ok(())
    }

    /// The member that is this closure's loader, if loaders are included.
    fn loader(&mut self, closure: &Closure, layout: Layout) -> Option<usize> {
        if !layout.own_glibc || closure.loader.kind == LoaderKind::None {
            return None;
        }
        let path = Path::new(OsStr::from_bytes(&closure.loader.path));
        let id = self.at(&path.canonicalize().ok()?);
        let member = &mut self.list[id];
        member.is_loader = true;
        member.libc_of = Some(id);
        member.names.extend(path.file_name().map(|name| BString::from(name.as_bytes())));
        Some(id)
    }
}

fn closure(resolver: &Resolver, program: &Path) -> anyhow::Result<Option<(PathBuf, Closure)>> {
    let real = real(program)?;
    match resolver.resolve(real.as_os_str().as_bytes().into(), Depth::Load) {
        Ok(closure) => Ok(Some((real, closure))),
        // An object file or a core dump: no loader ever sees it.
        Err(ResolveError::NotLoadable { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn real(path: &Path) -> anyhow::Result<PathBuf> {
    path.canonicalize().with_context(|| path.display().to_string())
}

/// Whether it is part of the C library: by its name, and because it is where that library's loader is.
fn of_c_library(path: &Path, loader: &[u8]) -> bool {
    const NAMES: [&str; 16] = [
        "ld-",
        "libBrokenLocale.so.",
        "libSegFault.so",
        "libanl.so.",
        "libc.so",
        "libc_malloc_debug.so.",
        "libdl.so.",
        "libm.so.",
        "libmvec.so.",
        "libnsl.so.1",
        "libnss_",
        "libpthread.so.",
        "libresolv.so.",
        "librt.so.",
        "libthread_db.so.",
        "libutil.so.",
    ];
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let loader = Path::new(OsStr::from_bytes(loader));
    NAMES.iter().any(|start| name.starts_with(start))
        && loader.canonicalize().is_ok_and(|loader| loader.parent() == path.parent())
}
