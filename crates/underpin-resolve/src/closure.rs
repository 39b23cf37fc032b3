//! The result of a resolution: objects in load order, edges with their reasons, every path tried, findings, calls.
//!
//! Pure data. Indices ([`ObjectId`]) point into [`Closure::objects`]; object 0 is the program itself.

use crate::calls::Calls;
use crate::loader::Loader;
use crate::root::FileId;
use bstr::BString;
use serde::Serialize;
use std::fmt;
use underpin_elf::{DependencyTag, Ident};

/// Index of an object in [`Closure::objects`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ObjectId(pub usize);

/// What the loader named in PT_INTERP would load, without running anything.
#[derive(Clone, Debug, Serialize)]
pub struct Closure {
    /// The program, as it was named by the user.
    pub program: BString,
    /// The loader whose rules apply, and what is known about it.
    pub loader: Loader,
    /// Objects in the loader's list order; the program first. Objects that were not found are not in it.
    pub objects: Vec<Object>,
    /// Every request for an object, in the order in which the loader makes them.
    pub edges: Vec<Edge>,
    /// What the user should know, worst first.
    pub findings: Vec<Finding>,
    /// The predicted system calls of the loader.
    pub calls: Calls,
}

/// One mapped object.
#[derive(Clone, Debug, Serialize)]
pub struct Object {
    /// The path by which the loader opened it (its `l_name`); for the program the path given.
    pub path: BString,
    /// The path with every symbolic link resolved, if different.
    pub real_path: Option<BString>,
    /// Device and inode; `None` only if the file system behind the root has none.
    pub id: Option<FileId>,
    /// DT_SONAME.
    pub soname: Option<BString>,
    /// Names under which it was requested, in the order in which the loader learned them.
    pub names: Vec<BString>,
    /// The object that requested it first (`l_loader`); `None` for the program and for preloads without one.
    pub requested_by: Option<ObjectId>,
    /// How it was found the first time.
    pub found: Found,
    /// Class, machine and type.
    pub ident: Ident,
    /// File size in bytes.
    pub size: u64,
    /// The object's own dependencies in file order.
    pub needed: Vec<BString>,
    /// DT_RPATH as written.
    pub rpath: Option<BString>,
    /// DT_RUNPATH as written.
    pub runpath: Option<BString>,
    /// DF_1_NODEFLIB.
    pub no_default_lib: bool,
    /// DF_1_INITFIRST: its constructors run before all others.
    pub initialise_first: bool,
    /// Where its own requests are searched, in order; empty at [`crate::Depth::Load`].
    pub search: Vec<SearchDirectory>,
}

/// One directory in which an object's requests are searched.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct SearchDirectory {
    /// With a trailing slash; empty for the current directory. The path of ld.so.cache for [`Found::Cache`].
    pub directory: BString,
    /// Which path lists it.
    pub source: Found,
    /// Whether it exists; `None` if not looked up.
    pub exists: Option<bool>,
}

/// Why an edge exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    /// DT_NEEDED.
    Needed,
    /// DT_FILTER.
    Filter,
    /// DT_AUXILIARY.
    Auxiliary,
    /// LD_PRELOAD.
    LdPreload,
    /// `/etc/ld.so.preload`.
    EtcPreload,
    /// PT_INTERP: mapped by the kernel.
    Interpreter,
}

impl From<DependencyTag> for EdgeKind {
    fn from(tag: DependencyTag) -> EdgeKind {
        match tag {
            DependencyTag::Needed => EdgeKind::Needed,
            DependencyTag::Filter => EdgeKind::Filter,
            DependencyTag::Auxiliary => EdgeKind::Auxiliary,
        }
    }
}

/// One request for an object and its outcome.
#[derive(Clone, Debug, Serialize)]
pub struct Edge {
    /// The object that asks.
    pub from: ObjectId,
    /// What makes the request.
    pub kind: EdgeKind,
    /// The name as written in the file or variable.
    pub name: BString,
    /// What became of it.
    pub outcome: Outcome,
    /// Every path considered, in order, the successful one last. Empty if no search was made.
    pub tries: Vec<Try>,
}

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "result")]
pub enum Outcome {
    /// An object serves the request.
    Loaded {
        /// The object.
        object: ObjectId,
        /// How it was found.
        found: Found,
    },
    /// No object was found; the program will not start.
    Missing,
    /// No object was found, and the loader goes on (DT_AUXILIARY, preloads).
    Ignored {
        /// Why, in the loader's own wording if it prints any.
        reason: String,
    },
    /// The loader stops with an error at this file, although another directory might hold a good one.
    Fatal {
        /// The path at which it stops.
        path: BString,
        /// What is wrong with it.
        reason: FatalReason,
    },
}

/// Why a loader gives up at a file of the right name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
#[non_exhaustive]
pub enum FatalReason {
    /// Shorter than an ELF header ("file too short").
    TooShort,
    /// No ELF magic ("invalid ELF header").
    NotElf,
    /// A directory: reading it fails ("cannot read file data: Is a directory").
    Directory,
    /// The other byte order.
    WrongByteOrder,
    /// Neither ET_DYN nor ET_EXEC.
    WrongType,
    /// An executable is not a library ("cannot dynamically load [position-independent] executable").
    Executable,
    /// A header field that the loader rejects.
    BadHeader {
        /// Which, and how.
        detail: String,
    },
    /// No PT_DYNAMIC, or an empty one (separate debug information).
    NoDynamicSection,
    /// A FIFO: the loader would wait for a writer for ever.
    WouldBlock,
    /// `$ORIGIN` and the like in DT_NEEDED of a secure-execution program.
    TokenInSecureMode,
    /// A token without a value leaves an empty name.
    EmptyToken,
    /// open(2) failed with an error that ends the search.
    Open {
        /// The error's name, such as `ELOOP`.
        error: String,
    },
}

impl fmt::Display for FatalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FatalReason::TooShort => "file too short",
            FatalReason::NotElf => "invalid ELF header",
            FatalReason::Directory => "cannot read file data: Is a directory",
            FatalReason::WrongByteOrder => "the other byte order",
            FatalReason::WrongType => "only ET_DYN and ET_EXEC can be loaded",
            FatalReason::Executable => "an executable, not a library",
            FatalReason::BadHeader { detail } => detail,
            FatalReason::NoDynamicSection => "object file has no dynamic section",
            FatalReason::WouldBlock => "a FIFO: the loader would wait for ever",
            FatalReason::TokenInSecureMode => "DST not allowed in SUID/SGID programs",
            FatalReason::EmptyToken => "empty dynamic string token substitution",
            FatalReason::Open { error } => error,
        })
    }
}

/// Where a name was found, or would have been.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case", tag = "by")]
#[non_exhaustive]
pub enum Found {
    /// The program itself.
    Program,
    /// The kernel maps it because PT_INTERP names it.
    Interpreter,
    /// The name contains a slash: opened directly, no search.
    Direct,
    /// DT_RPATH of an object.
    Rpath {
        /// Whose DT_RPATH.
        of: ObjectId,
    },
    /// DT_RUNPATH of the requester.
    Runpath {
        /// Whose DT_RUNPATH.
        of: ObjectId,
    },
    /// LD_LIBRARY_PATH.
    LibraryPath,
    /// ld.so.cache.
    Cache,
    /// A directory compiled into the loader.
    DefaultDirectory,
    /// A directory of musl's path file.
    PathFile,
    /// An object loaded earlier has this name (path, alias or soname).
    AlreadyLoaded {
        /// How the two were matched.
        identity: RecognisedBy,
    },
    /// musl: a name reserved for the loader itself.
    Reserved,
}

/// How a request was matched to an object already loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecognisedBy {
    /// The same string was requested before, or is its path.
    Name,
    /// Its DT_SONAME.
    Soname,
    /// Another path led to the same device and inode.
    Inode,
    /// musl: redirected to its own libc because the file is a libc.
    Libc,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Found::Program => "program",
            Found::Interpreter => "interpreter",
            Found::Direct => "direct path",
            Found::Rpath { .. } => "rpath",
            Found::Runpath { .. } => "runpath",
            Found::LibraryPath => "LD_LIBRARY_PATH",
            Found::Cache => "ld.so.cache",
            Found::DefaultDirectory => "default directory",
            Found::PathFile => "musl path file",
            Found::AlreadyLoaded { identity: RecognisedBy::Name } => "already loaded",
            Found::AlreadyLoaded { identity: RecognisedBy::Soname } => "already loaded, by soname",
            Found::AlreadyLoaded { identity: RecognisedBy::Inode } => "already loaded, same inode",
            Found::AlreadyLoaded { identity: RecognisedBy::Libc } => "the loader's own libc",
            Found::Reserved => "the loader itself",
        })
    }
}

/// One path that the search considered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Try {
    /// The path, exactly as the loader would pass it to open(2).
    pub path: BString,
    /// Why the loader looked there.
    pub source: Found,
    /// What it found.
    pub result: TryResult,
}

/// What a search found at one path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case", tag = "result")]
pub enum TryResult {
    /// The file that is taken.
    Taken,
    /// ENOENT or ENOTDIR.
    NotFound,
    /// The directory is already known not to exist: no call is made.
    DirectoryMissing,
    /// An ELF file of the other class: skipped, the search goes on.
    OtherClass,
    /// An ELF file of another machine: skipped, the search goes on.
    OtherMachine,
    /// Not readable: skipped, the search goes on.
    PermissionDenied,
    /// Not under a trusted directory in secure-execution mode, or DF_1_NODEFLIB rejects it.
    Rejected {
        /// By which rule.
        rule: RejectRule,
    },
    /// Another error of open(2).
    Failed {
        /// The error's name, such as `ELOOP`.
        error: String,
    },
    /// The loader stops here.
    Fatal {
        /// Why.
        reason: FatalReason,
    },
}

/// A rule that keeps the loader from using a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectRule {
    /// DF_1_NODEFLIB: the cache points into a system directory.
    NoDefaultLib,
    /// Secure-execution mode requires set-user-ID preloads.
    NotSetUserId,
    /// glibc up to 2.35: the ABI note is for another system or a newer kernel.
    AbiNote,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The program does not start.
    Error,
    /// It starts here and now, but may fail on another machine or after a change.
    Warning,
    /// Worth knowing.
    Note,
}

/// Something that the user should know about the closure.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Which object it is about.
    pub object: Option<ObjectId>,
    /// What it is.
    #[serde(flatten)]
    pub kind: FindingKind,
}

/// The kinds of finding.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
#[non_exhaustive]
pub enum FindingKind {
    /// A needed object is not found anywhere.
    Missing {
        /// The name asked for.
        name: BString,
    },
    /// A file of the right name stops the loader.
    FatalFile {
        /// The name asked for.
        name: BString,
        /// The file.
        path: BString,
        /// What is wrong with it.
        reason: FatalReason,
    },
    /// The interpreter named in PT_INTERP does not exist under this root.
    MissingInterpreter {
        /// The path.
        path: BString,
    },
    /// A symbol version that an object needs is not defined by the object that was found.
    MissingVersion {
        /// The file that should define it.
        file: BString,
        /// The version.
        version: BString,
    },
    /// A version is needed from a file whose name no loaded object has: the loader aborts (glibc elf/dl-version.c).
    VersionFileUnknown {
        /// `vn_file`.
        file: BString,
    },
    /// Another file of the same name was passed over further down the search path of the same request.
    Shadowed {
        /// The name asked for.
        name: BString,
        /// The file taken.
        taken: BString,
        /// The file passed over.
        shadowed: BString,
    },
    /// Two objects with one soname are mapped.
    DuplicateSoname {
        /// The soname.
        soname: BString,
        /// The other object.
        other: ObjectId,
    },
    /// Found only because an object loaded earlier had already brought it in; on its own the request would fail.
    Accidental {
        /// The name asked for.
        name: BString,
        /// The object that brought it in.
        thanks_to: ObjectId,
    },
    /// A directory of a search path does not exist.
    DeadDirectory {
        /// The directory as expanded.
        directory: BString,
        /// Which path names it.
        source: Found,
    },
    /// A path depends on the current directory.
    CurrentDirectory {
        /// The entry or name as written.
        entry: BString,
    },
    /// The object imports dlopen(3): it may load more at run time.
    ImportsDlopen,
    /// The object declares what it loads at run time (`.note.dlopen`).
    DlopenNote {
        /// The feature's name, if given.
        feature: Option<String>,
        /// `required`, `recommended` or `suggested`.
        priority: String,
        /// The sonames, any of which serves.
        sonames: Vec<String>,
    },
    /// A path goes through a glibc-hwcaps directory: another CPU gets another file.
    HwcapsVariant {
        /// The path taken.
        path: BString,
    },
    /// `$ORIGIN` is taken from a symbolic link's directory, not from the file's.
    OriginThroughSymlink {
        /// The link.
        path: BString,
    },
    /// A library is not found, although it is in a directory of ld.so.conf: ldconfig has not run.
    NotInCache {
        /// The name looked up.
        name: BString,
        /// Where it is.
        path: BString,
    },
    /// The cache names a file that is gone.
    StaleCache {
        /// The name looked up.
        name: BString,
        /// The path that the cache gives.
        path: BString,
    },
}
