//! One program's closure as a plan uses it: which object serves which name of which file.
//!
//! Reduced from the resolver's closure at once, so that a thousand programs need little memory. A file of the scope
//! that no program loads (a plugin) has a view of its own, as if the loader were started with it.

use super::exclusions::is_loader_name;
use super::facts::{Catalogue, directory_of, file_name};
use super::signature::ClosureSignature;
use crate::plan::model::{CallSum, Exclusion, LeftAlone, RefusedBecause};
use bstr::{BStr, BString, ByteSlice};
use std::collections::{HashMap, HashSet};
use underpin_elf::{Class, Endian, Machine};
use underpin_resolve::{Closure, EdgeKind, FileId, Found, Loader, LoaderKind, Object, ObjectId, Outcome};

/// What serves a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::plan) enum Served {
    /// An object that could be bound.
    Object(usize),
    /// No such object, for this reason.
    Not(LeftAlone),
}

/// One request.
#[derive(Clone, Debug)]
pub(in crate::plan) struct Request {
    /// Index of the file that makes the request.
    pub asker: usize,
    pub name: BString,
    pub kind: RequestKind,
    pub served: Served,
    /// A file that another processor would load instead, or that this one loaded instead.
    pub variant: Option<BString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::plan) enum RequestKind {
    Needed,
    /// A filter, or a name of `vn_file` alone: the loader makes no request for it.
    Version,
    Filter,
}

/// One object of a closure.
#[derive(Clone, Debug)]
pub(in crate::plan) struct Member {
    pub id: FileId,
    /// `l_name`.
    pub path: BString,
    pub soname: Option<BString>,
    /// Names by which it was requested.
    pub names: Vec<BString>,
    /// Why no name is bound to it.
    pub left: Option<LeftAlone>,
    /// A file of a capability directory in its place, or beside it.
    pub variant: Option<BString>,
}

/// What objects in one process must have in common.
pub(in crate::plan) type Abi = (Machine, Class, Endian);

/// One closure.
pub(in crate::plan) struct View {
    pub path: BString,
    pub id: FileId,
    pub is_program: bool,
    pub loader: Loader,
    pub machine: Abi,
    /// By object number; the program first.
    pub members: Vec<Member>,
    /// In the loader's order.
    pub requests: Vec<Request>,
    pub calls: CallSum,
    pub signature: ClosureSignature,
    pub refused: Option<RefusedBecause>,
}

impl View {
    /// Reduces a closure that was resolved at [`underpin_resolve::Depth::Findings`].
    pub fn of(closure: &Closure, catalogue: &Catalogue, scope: &HashSet<FileId>, is_program: bool) -> View {
        let identity = |object: &Object| {
            object.id.or_else(|| catalogue.identity(object.path.as_ref())).unwrap_or(FileId { device: 0, inode: 0 })
        };
        let mut members: Vec<Member> = closure
            .objects
            .iter()
            .map(|object| Member {
                id: identity(object),
                path: object.path.clone(),
                soname: object.soname.clone(),
                names: object.names.clone(),
                left: None,
                variant: None,
            })
            .collect();
        let refused = libc_mismatch(closure, catalogue, &members);
        let mut reader = Reader { closure, catalogue, members: &members, loader_id: None, mismatch: refused.is_some() };
        reader.loader_id = catalogue.identity(closure.loader.path.as_ref());
        let mut requests: Vec<Request> = closure.edges.iter().filter_map(|edge| reader.request(edge)).collect();
        for (asker, member) in members.iter().enumerate().filter(|(_, member)| scope.contains(&member.id)) {
            requests.extend(reader.versions(asker, member));
        }
        let standing: Vec<(Option<LeftAlone>, Option<BString>)> = (0..members.len())
            .map(|index| match reader.served(ObjectId(index)) {
                Served::Object(_) => (None, reader.variant(ObjectId(index))),
                Served::Not(reason) => (Some(reason), None),
            })
            .collect();
        for (member, (left, variant)) in members.iter_mut().zip(standing) {
            (member.left, member.variant) = (left, variant);
        }
        View {
            path: closure.program.clone(),
            id: members.first().map_or(FileId { device: 0, inode: 0 }, |member| member.id),
            is_program,
            loader: closure.loader.clone(),
            machine: closure.objects.first().map_or((Machine(0), Class::Elf64, Endian::Little), |program| {
                (program.ident.machine, program.ident.class, program.ident.endian)
            }),
            signature: ClosureSignature::of(closure, is_program),
            calls: CallSum::of(closure),
            members,
            requests,
            refused,
        }
    }

    /// Marks what only LD_LIBRARY_PATH provides: requests that another view, made without it, answers differently.
    pub fn without_library_path(&mut self, plain: &View) {
        let key = |view: &View, request: &Request| (view.members[request.asker].id, request.name.clone());
        let object = |view: &View, request: &Request| match &request.served {
            Served::Object(index) => Some(view.members[*index].id),
            Served::Not(_) => None,
        };
        let plainly: HashMap<(FileId, BString), Option<FileId>> =
            plain.requests.iter().map(|request| (key(plain, request), object(plain, request))).collect();
        for index in 0..self.requests.len() {
            let request = &self.requests[index];
            let Some(own) = object(self, request) else { continue };
            if plainly.get(&key(self, request)) != Some(&Some(own)) {
                let reason = LeftAlone::Excluded { by: Exclusion::LibraryPath };
                if let Served::Object(object) = self.requests[index].served {
                    self.members[object].left = Some(reason.clone());
                }
                self.requests[index].served = Served::Not(reason);
            }
        }
    }

    pub fn is_musl(&self) -> bool {
        self.loader.kind == LoaderKind::Musl
    }
}

struct Reader<'a> {
    closure: &'a Closure,
    catalogue: &'a Catalogue<'a>,
    members: &'a [Member],
    loader_id: Option<FileId>,
    mismatch: bool,
}

impl Reader<'_> {
    fn request(&self, edge: &underpin_resolve::Edge) -> Option<Request> {
        let kind = match edge.kind {
            EdgeKind::Needed => RequestKind::Needed,
            EdgeKind::Filter | EdgeKind::Auxiliary => RequestKind::Filter,
            EdgeKind::LdPreload | EdgeKind::EtcPreload | EdgeKind::Interpreter => return None,
        };
        let mut variant = None;
        let served = match &edge.outcome {
            Outcome::Missing => Served::Not(LeftAlone::Missing),
            Outcome::Ignored { .. } => Served::Not(LeftAlone::Missing),
            Outcome::Fatal { path, .. } => Served::Not(LeftAlone::Fatal { path: path.clone() }),
            Outcome::Loaded { object, .. } => {
                variant = self.variant(*object);
                self.served(*object)
            }
        };
        Some(Request { asker: edge.from.0, name: edge.name.clone(), kind, served, variant })
    }

    fn served(&self, id: ObjectId) -> Served {
        let (object, member) = (&self.closure.objects[id.0], &self.members[id.0]);
        let is_loader = object.found == Found::Interpreter
            || object.found == Found::Reserved
            || Some(member.id) == self.loader_id
            || object.soname.as_ref().is_some_and(|soname| is_loader_name(soname.as_ref()));
        if is_loader {
            return Served::Not(LeftAlone::Loader);
        }
        if object.found == Found::Program {
            return Served::Not(LeftAlone::Program);
        }
        if self.is_preloaded(id) {
            return Served::Not(LeftAlone::Preloaded);
        }
        let is_libc = |name: &BString| super::exclusions::is_glibc(name.as_ref());
        if self.mismatch && object.soname.as_ref().is_some_and(is_libc) {
            return Served::Not(LeftAlone::LibcMismatch { loader: self.closure.loader.version, libc: None });
        }
        if !member.path.starts_with(b"/") {
            return Served::Not(LeftAlone::CurrentDirectory { path: member.path.clone() });
        }
        Served::Object(id.0)
    }

    fn is_preloaded(&self, id: ObjectId) -> bool {
        let first =
            |edge: &&underpin_resolve::Edge| matches!(edge.outcome, Outcome::Loaded { object, .. } if object == id);
        let first = self.closure.edges.iter().find(first);
        first.is_some_and(|edge| matches!(edge.kind, EdgeKind::LdPreload | EdgeKind::EtcPreload))
    }

    /// Names of `vn_file` that the file does not request itself: objects known by them must stay known by them.
    fn versions(&self, asker: usize, member: &Member) -> Vec<Request> {
        let Some(facts) = self.catalogue.of(member.id, member.path.as_ref()) else { return Vec::new() };
        let own = &facts.dynamic.needed;
        let foreign = facts.version_files.iter().filter(|file| !own.contains(file));
        let known = |file: &BString| {
            let objects = self.closure.objects.iter();
            objects.clone().position(|object| object.path == *file || object.names.contains(file))
        };
        foreign
            .map(|file| {
                let object = known(file).map(ObjectId);
                let served = object.map_or(Served::Not(LeftAlone::Missing), |object| self.served(object));
                let variant = object.and_then(|object| self.variant(object));
                Request { asker, name: file.clone(), kind: RequestKind::Version, served, variant }
            })
            .collect()
    }

    /// The capability subdirectory through which an object was found, or a file in one beside it.
    fn variant(&self, id: ObjectId) -> Option<BString> {
        if self.closure.loader.kind != LoaderKind::Glibc {
            return None;
        }
        let object = &self.closure.objects[id.0];
        if matches!(object.found, Found::Direct | Found::Program | Found::Interpreter) {
            return None;
        }
        let path = object.path.as_bstr();
        if path.contains_str("/glibc-hwcaps/") || self.is_legacy_variant(object) {
            return Some(path.into());
        }
        let (directory, name) = (directory_of(path), file_name(path));
        let levels = ["glibc-hwcaps/x86-64-v4", "glibc-hwcaps/x86-64-v3", "glibc-hwcaps/x86-64-v2"];
        let others = ["glibc-hwcaps/power10", "glibc-hwcaps/power9", "glibc-hwcaps/z16", "glibc-hwcaps/z15"];
        let old = ["haswell", "tls", "avx512_1", "xeon_phi"];
        let named: BString = [directory.as_bytes(), b"/glibc-hwcaps"].concat().into();
        let mut candidates: Vec<&str> = Vec::new();
        if self.catalogue.identity(named.as_ref()).is_some() {
            candidates.extend(levels.iter().chain(&others));
        }
        if self.closure.loader.version.is_none_or(|version| (version.major, version.minor) < (2, 37)) {
            candidates.extend(old);
        }
        candidates.into_iter().find_map(|subdirectory| {
            let folder: BString = [directory.as_bytes(), b"/", subdirectory.as_bytes()].concat().into();
            self.catalogue.identity(folder.as_ref())?;
            let file: BString = [folder.as_slice(), b"/", name.as_bytes()].concat().into();
            self.catalogue.identity(file.as_ref()).map(|_| file)
        })
    }

    /// Found in one of the older subdirectories (`tls`, `haswell`, ...) of a directory of the search path.
    fn is_legacy_variant(&self, object: &Object) -> bool {
        let requester = object.requested_by.unwrap_or(ObjectId(0));
        let search = &self.closure.objects[requester.0].search;
        let name = file_name(object.path.as_ref());
        let taken = |subdirectory: &BString| {
            let tail = [b"/", subdirectory.as_slice(), name.as_bytes()].concat();
            let Some(base) = object.path.strip_suffix(tail.as_slice()) else { return false };
            let named = |entry: &underpin_resolve::SearchDirectory| {
                entry.source == object.found && entry.directory.trim_end_with(|letter| letter == '/') == base
            };
            object.found == Found::Cache || search.iter().any(named)
        };
        self.closure.loader.subdirectories.iter().filter(|subdirectory| !subdirectory.is_empty()).any(taken)
    }
}

/// Whether the C library and the loader of a closure are of one build: same release, and the loader has what libc
/// imports from it under GLIBC_PRIVATE.
fn libc_mismatch(closure: &Closure, catalogue: &Catalogue, members: &[Member]) -> Option<RefusedBecause> {
    if closure.loader.kind != LoaderKind::Glibc || closure.loader.assumed {
        return None;
    }
    let libc = members.iter().find(|member| member.soname.as_ref().is_some_and(|soname| soname == "libc.so.6"))?;
    let loader_path: &BStr = closure.loader.path.as_ref();
    let loader_id = catalogue.identity(loader_path)?;
    let (own, loader) = (catalogue.libc(libc.id, libc.path.as_ref()), catalogue.libc(loader_id, loader_path));
    let release = |version: underpin_resolve::LibcVersion| (version.major, version.minor);
    let versions = (own.version, closure.loader.version);
    let same_release = !matches!(versions, (Some(one), Some(other)) if release(one) != release(other));
    let exports: HashSet<&BString> = loader.has.iter().collect();
    if same_release && own.wants.iter().all(|name| exports.contains(name)) {
        return None;
    }
    Some(RefusedBecause::LibcMismatch {
        loader: loader_path.into(),
        loader_version: closure.loader.version,
        libc: libc.path.clone(),
        libc_version: own.version,
    })
}
