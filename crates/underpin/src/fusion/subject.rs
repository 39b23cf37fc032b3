//! A program and its closure as they are before a byte is written, and what rules fusion out.

use super::modules::{self, Program, Start};
use super::{FileFacts, real};
use crate::input::path;
use anyhow::{Context, bail, ensure};
use bstr::{BString, ByteSlice};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use underpin_elf::{Elf, Notes};
use underpin_fuse::{Content, Refusal};
use underpin_resolve::{Closure, Depth, Environment, Found, HostRoot, LoaderKind, Object, Outcome, Resolver, Root};
use underpin_rewrite::files::{self, HeldFile, Status};
use underpin_rewrite::plan::{Exclusion, Policy, UnboundRoot};
use underpin_rewrite::{record_of, undo};

/// A larger file is not read.
const LIMIT: u64 = 2 << 30;

/// The program to fuse.
pub(super) struct Subject {
    /// Its real path.
    pub path: PathBuf,
    /// The file, so that nobody else's change is lost.
    pub held: HeldFile,
    resolved: Closure,
    contents: Vec<Content>,
    /// Why the caller keeps each object shared, in the order of the closure.
    keep: Vec<Option<String>>,
    /// Names that glibc requests by itself while the program runs.
    opened_by_glibc: Vec<BString>,
    /// What it would start with besides, for its modules; that is in the closure then.
    pub start: Option<Start>,
}

/// What was read of a program, and how.
pub(super) struct Read<'r> {
    pub resolver: &'r Resolver<'r>,
    /// In the order of the closure.
    pub contents: &'r [Content],
    pub policy: &'r Policy,
}

impl Subject {
    /// Reads a program as it was before it was bound, and all that it loads; with modules also what those bring.
    pub fn read(
        path: &Path,
        environment: &Environment,
        policy: &Policy,
        modules: &[PathBuf],
    ) -> anyhow::Result<Subject> {
        let held = HeldFile::open(path, None)?;
        let mode = fs::metadata(path)?.permissions().mode();
        ensure!(mode & 0o6000 == 0, "set-user-ID or set-group-ID: its libraries must stay the system's own");
        ensure!(!files::has_privileges(path)?, "has file capabilities: its libraries must stay the system's own");
        let mut original = held.read()?;
        match files::status(path) {
            Status::Unbound => {}
            Status::Bound(_) | Status::Stale(..) => original = undo(&original)?,
            Status::Unrecorded(_) => bail!("another tool has written absolute library paths into it"),
            Status::Damaged(reason) | Status::Unreadable(reason) => bail!("{reason}"),
        }
        let root = HostRoot::new();
        let unbound = UnboundRoot::new(&root);
        let resolver = Resolver::new(&unbound, environment.clone());
        let resolved = resolver.resolve(path.as_os_str().as_bytes().into(), Depth::Paths)?;
        ensure!(
            !resolved.loader.assumed,
            "a library, or a static program: `--fuse` takes programs that name libraries"
        );
        ensure!(resolved.loader.kind == LoaderKind::Glibc, "its loader is not glibc's");
        let lost = |outcome: &Outcome| matches!(outcome, Outcome::Missing | Outcome::Fatal { .. });
        if let Some(edge) = resolved.edges.iter().find(|edge| lost(&edge.outcome)) {
            bail!("{} is not found: `underpin tree` tells where it is searched for", edge.name);
        }
        let opened_by_glibc = opened_by_glibc(&root, &resolver, &resolved);
        let program = Content { bytes: original, modified: FileFacts::of(path)?.modified };
        let libraries = resolved.objects.iter().skip(1).map(content);
        let contents = std::iter::once(Ok(program)).chain(libraries).collect::<anyhow::Result<_>>()?;
        let mut subject =
            Subject { path: path.to_owned(), held, keep: Vec::new(), contents, resolved, opened_by_glibc, start: None };
        if !modules.is_empty() {
            let read = Read { resolver: &resolver, contents: &subject.contents, policy };
            let original = subject.original();
            let program = Program { path, original, own: &subject.resolved, environment, read: &read };
            let (start, resolved, contents) = modules::find(&program, modules)?;
            subject.contents.extend(contents);
            subject.resolved = resolved;
            subject.start = Some(start);
        }
        subject.keep = subject.resolved.objects.iter().map(|object| keep(object, policy)).collect();
        Ok(subject)
    }

    /// The real paths of the libraries that could be merged.
    ///
    /// # Errors
    /// Why it cannot be done.
    pub fn candidates(&self) -> anyhow::Result<BTreeSet<PathBuf>> {
        let closure = self.closure();
        match underpin_fuse::plan(&closure) {
            Err(Refusal::NothingToFuse { .. }) => Ok(BTreeSet::new()),
            plan => Ok(plan?.members.iter().map(|&index| real(&closure.objects[index].path)).collect()),
        }
    }

    /// Keeps these libraries shared, by their real paths: not every program of the group has them.
    pub fn leave_out(&mut self, libraries: &BTreeSet<PathBuf>) {
        for (object, keep) in self.resolved.objects.iter().zip(&mut self.keep) {
            if keep.is_none() && libraries.contains(&real(&object.path)) {
                *keep = Some("not in every program that uses the merged file".to_owned());
            }
        }
    }

    /// The closure for the plan.
    pub fn closure(&self) -> underpin_fuse::Closure<'_> {
        let mut closure = underpin_fuse::Closure::new(&self.resolved, &self.contents);
        for (object, keep) in closure.objects.iter_mut().zip(&self.keep) {
            object.keep.clone_from(keep);
        }
        closure.opened_by_glibc.clone_from(&self.opened_by_glibc);
        closure
    }

    /// The program's bytes as they were before any binding.
    pub fn original(&self) -> &Vec<u8> {
        &self.contents[0].bytes
    }

    /// The program that the merged file is held against: the original, or what it would be with the libraries of its modules.
    pub fn compared(&self) -> &[u8] {
        self.start.as_ref().map_or(self.original(), |start| &start.program)
    }
}

/// What glibc requests by itself while a program runs, and all that this needs: the modules of its name service
/// (nsswitch.conf(5)) that are installed, whichever are configured today, and the library for names of hosts that are not
/// ASCII (`inet/idna.c`). Modules of iconv need glibc alone.
fn opened_by_glibc(root: &HostRoot, resolver: &Resolver, resolved: &Closure) -> Vec<BString> {
    let named = |object: &&Object| object.names.iter().any(|name| name == "libc.so.6");
    let Some(libc) = resolved.objects.iter().find(named) else { return Vec::new() };
    let folder = |path: &BString| path.rfind_byte(b'/').map(|end| path[..end].to_vec());
    let beside = [Some(&libc.path), libc.real_path.as_ref()].into_iter().flatten().filter_map(folder);
    // The loader searches /lib and /usr/lib, which may be one folder.
    let usr = |folder: &Vec<u8>| match folder.strip_prefix(b"/usr") {
        Some(rest) => rest.to_vec(),
        None => [b"/usr", folder.as_slice()].concat(),
    };
    let folders: BTreeSet<Vec<u8>> = beside.flat_map(|folder| [usr(&folder), folder]).collect();
    let is_opened =
        |name: &BString| name.starts_with(b"libnss_") && name.contains_str(".so.") || name == "libidn2.so.0";
    let mut names = BTreeSet::new();
    for folder in folders {
        let all = root.list(folder.as_bstr()).unwrap_or_default();
        for name in all.into_iter().filter(is_opened) {
            let path = [folder.as_slice(), b"/", name.as_slice()].concat();
            if let Ok(closure) = resolver.resolve(path.as_bstr(), Depth::Load) {
                names.extend(closure.edges.into_iter().map(|edge| edge.name));
                names.insert(name);
            }
        }
    }
    names.into_iter().collect()
}

pub(super) fn content(object: &Object) -> anyhow::Result<Content> {
    let path = path(&object.path);
    let what = || path.display().to_string();
    let facts = FileFacts::of(&path)?;
    ensure!(facts.size <= LIMIT, "{}: larger than {} GiB", what(), LIMIT >> 30);
    let bytes = fs::read(&path).with_context(what)?;
    ensure!(
        !matches!(record_of(bytes.as_slice()), Ok(Some(_))),
        "{} is bound: a merged copy would keep its paths; `underpin unbind` it first",
        what()
    );
    Ok(Content { bytes, modified: facts.modified })
}

/// Why the policy or the place of a library keeps it shared; `None` if nothing does.
pub(super) fn keep(object: &Object, policy: &Policy) -> Option<String> {
    let name = object.names.first().or(object.soname.as_ref()).unwrap_or(&object.path);
    let soname = object.soname.as_ref().map(|soname| soname.as_ref());
    if let Some(exclusion) = policy.leaves_out(name.as_ref(), soname, object.path.as_ref()) {
        return Some(exclusion.reason());
    }
    if policy.built_in.library_path && object.found == Found::LibraryPath {
        return Some(Exclusion::LibraryPath.reason());
    }
    if let Some(checksum) = checksum(object) {
        return Some(format!("checks its own file, by {}", checksum.display()));
    }
    let variant = policy.built_in.hwcaps.then(|| variant(&real(&object.path))).flatten()?;
    Some(Exclusion::Hwcaps { variant: variant.into_os_string().into_vec().into() }.reason())
}

/// The file beside a library from which that tells whether its own bytes are the certified ones: HMACs of FIPS modules, as
/// Fedora and SUSE install them, and the signatures of NSS; `None` if there is none.
fn checksum(object: &Object) -> Option<PathBuf> {
    let opened = path(&object.path);
    [real(&object.path), opened].iter().find_map(|library| {
        let (folder, name) = (library.parent()?, library.file_name()?.to_str()?);
        let signature = name.split_once(".so").map(|(start, _)| format!("{start}.chk"));
        let hmacs = [format!(".{name}.hmac"), format!("{name}.hmac"), format!("fipscheck/{name}.hmac")];
        hmacs.into_iter().chain(signature).map(|file| folder.join(file)).find(|file| file.exists())
    })
}

/// Another file of the same name that the loader takes on another processor (ld.so(8), glibc-hwcaps); `None` if there is none.
fn variant(path: &Path) -> Option<PathBuf> {
    const FOLDER: &str = "glibc-hwcaps";
    let (folder, name) = (path.parent()?, path.file_name()?);
    if path.components().any(|part| part.as_os_str() == FOLDER) {
        return Some(path.to_owned());
    }
    let levels = fs::read_dir(folder.join(FOLDER)).ok()?.flatten();
    levels.map(|level| level.path().join(name)).find(|path| path.exists())
}

/// The build-id of a file in hexadecimal; `None` if it has none.
pub(super) fn build_id(bytes: &[u8]) -> Option<String> {
    let elf = Elf::read(bytes).ok()?;
    Some(Notes::read(bytes, &elf).ok()?.build_id?.to_string())
}
