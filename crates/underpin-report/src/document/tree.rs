//! `underpin.tree/1`: what a loader loads, from where, why, and every path tried on the way.
//!
//! Indices point into `objects`; object 0 is the program. The conversion from the resolver's model is in `tree_from`.

use super::{Document, SchemaTag, Verb};
use crate::bytes::Raw;
use schemars::JsonSchema;
use serde::Serialize;

/// The document of `underpin tree`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TreeDocument {
    /// Always `underpin.tree/1`.
    pub schema: SchemaTag<TreeDocument>,
    /// The program, as the user named it.
    pub program: Raw,
    /// The loader whose rules apply.
    pub loader: LoaderRecord,
    /// Objects in load order, the program first; objects that were not found are left out.
    pub objects: Vec<ObjectRecord>,
    /// Where requests are searched: each distinct list once; the `search` of an object names its list.
    pub searches: Vec<SearchRecord>,
    /// Every request for an object, in the order in which the loader makes them.
    pub edges: Vec<EdgeRecord>,
    /// What the user should know, worst first.
    pub findings: Vec<FindingRecord>,
    /// The predicted system calls of the loader.
    pub calls: CallsRecord,
    /// The prediction compared with a measurement, if the program was run (`--check`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<CallComparison>,
}

impl TreeDocument {
    /// Whether the loader stops before the program starts: something is missing or unusable.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.edges.iter().any(|edge| matches!(edge.result, EdgeResult::Missing | EdgeResult::Fatal))
    }
}

impl Document for TreeDocument {
    const VERB: Verb = Verb::Tree;
}

/// Whose rules apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoaderFamily {
    /// GNU C library.
    Glibc,
    /// musl.
    Musl,
    /// No loader: the file is static.
    None,
}

/// The loader and what is compiled into it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LoaderRecord {
    /// Whose rules apply.
    pub kind: LoaderFamily,
    /// Its path.
    pub path: Raw,
    /// Its version, if its bytes tell.
    pub version: Option<String>,
    /// Whether the path was guessed because the file names no interpreter.
    pub assumed: bool,
    /// Directories compiled in.
    pub system_directories: Vec<Raw>,
    /// Hardware-capability subdirectories in search order.
    pub subdirectories: Vec<Raw>,
    /// Value of `$LIB`.
    pub lib_token: Raw,
    /// Value of `$PLATFORM`.
    pub platform: Option<Raw>,
    /// The cache (glibc) or the path file (musl).
    pub configuration: Option<Raw>,
}

/// One mapped object.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ObjectRecord {
    /// The path by which the loader opened it.
    pub path: Raw,
    /// The path with symbolic links resolved, if that differs.
    pub real_path: Option<Raw>,
    /// DT_SONAME.
    pub soname: Option<Raw>,
    /// Names under which it was asked for.
    pub names: Vec<Raw>,
    /// How it was found the first time.
    pub found: Why,
    /// The object that asked for it first.
    pub requested_by: Option<usize>,
    /// Machine of the file.
    pub machine: String,
    /// Width of addresses: 32 or 64.
    pub class_bits: u32,
    /// File size.
    pub bytes: u64,
    /// DT_NEEDED, in file order.
    pub needed: Vec<Raw>,
    /// DT_RPATH as written.
    pub rpath: Option<Raw>,
    /// DT_RUNPATH as written.
    pub runpath: Option<Raw>,
    /// DF_1_NODEFLIB: system directories are left out of its searches.
    pub no_default_lib: bool,
    /// Index into `searches`: where its own requests are searched; null if it requests nothing by name.
    pub search: Option<usize>,
}

/// The directories of a search, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SearchRecord {
    /// The directories; the cache is among them at its position.
    pub directories: Vec<SearchDirectoryRecord>,
}

/// One directory of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SearchDirectoryRecord {
    /// The directory with tokens replaced; empty for the current directory; the cache's path for `cache`.
    pub path: Raw,
    /// What named it.
    pub source: Why,
    /// Whether it exists; null if it was not looked up.
    pub exists: Option<bool>,
}

impl ObjectRecord {
    /// The name that a person knows it by: the soname, or the file name.
    #[must_use]
    pub fn label(&self) -> &bstr::BStr {
        self.soname.as_ref().filter(|soname| !soname.0.is_empty()).map_or(self.path.file_name(), Raw::bytes)
    }
}

/// The rule by which a path came up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FoundBy {
    /// The program itself.
    Program,
    /// The kernel maps it because PT_INTERP names it.
    Interpreter,
    /// The name holds a slash.
    Direct,
    /// DT_RPATH of the object in `of`.
    Rpath,
    /// DT_RUNPATH of the object in `of`.
    Runpath,
    /// LD_LIBRARY_PATH.
    LibraryPath,
    /// ld.so.cache.
    Cache,
    /// A directory compiled into the loader.
    DefaultDirectory,
    /// musl's path file.
    PathFile,
    /// Loaded earlier.
    AlreadyLoaded,
    /// musl: the loader itself.
    Reserved,
    /// A rule that this document version does not know; see `text`.
    Other,
}

impl FoundBy {
    /// Whether the system's own configuration led there, rather than the program or the user.
    #[must_use]
    pub const fn is_system(self) -> bool {
        matches!(
            self,
            FoundBy::Interpreter | FoundBy::Cache | FoundBy::DefaultDirectory | FoundBy::PathFile | FoundBy::Reserved
        )
    }
}

/// Why a path was taken or considered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Why {
    /// The rule.
    pub by: FoundBy,
    /// The object whose RPATH or RUNPATH it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<usize>,
    /// The reason in words.
    pub text: String,
}

/// The kinds of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// DT_NEEDED.
    Needed,
    /// DT_FILTER.
    Filter,
    /// DT_AUXILIARY.
    Auxiliary,
    /// LD_PRELOAD.
    LdPreload,
    /// /etc/ld.so.preload.
    EtcPreload,
    /// PT_INTERP.
    Interpreter,
}

impl RequestKind {
    /// The request as text, between the requesting object and the name.
    #[must_use]
    pub const fn phrase(self) -> &'static str {
        match self {
            RequestKind::Needed => "needs",
            RequestKind::Filter => "filters for",
            RequestKind::Auxiliary => "is auxiliary to",
            RequestKind::LdPreload => "LD_PRELOAD brings",
            RequestKind::EtcPreload => "/etc/ld.so.preload brings",
            RequestKind::Interpreter => "is run by",
        }
    }
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EdgeResult {
    /// `object` serves it.
    Loaded,
    /// Nothing was found; the program does not start.
    Missing,
    /// Nothing was found, and the loader goes on.
    Ignored,
    /// The loader stops at `path`.
    Fatal,
}

/// One request for an object and its outcome.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EdgeRecord {
    /// The object that asked.
    pub from: usize,
    /// The kind of request.
    pub kind: RequestKind,
    /// The name as written in the file.
    pub name: Raw,
    /// What came of it.
    pub result: EdgeResult,
    /// The object that serves it.
    pub object: Option<usize>,
    /// Why that object.
    pub why: Option<Why>,
    /// The path at which the loader stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Raw>,
    /// Why nothing serves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Every path considered, in order.
    pub tries: Vec<TryRecord>,
}

/// What a search found at one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TryOutcome {
    /// The file that is taken.
    Taken,
    /// No such file or directory.
    NotFound,
    /// The directory is known not to exist; no call is made.
    DirectoryMissing,
    /// A file of the other ELF class.
    OtherClass,
    /// A file for another machine.
    OtherMachine,
    /// Not readable.
    PermissionDenied,
    /// A rule forbids it.
    Rejected,
    /// Another error of open(2).
    Failed,
    /// The loader stops here.
    Fatal,
    /// A result that this document version does not know; see `text`.
    Other,
}

/// One path that the search considered.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TryRecord {
    /// The path, as passed to open(2).
    pub path: Raw,
    /// The rule that sent the loader there.
    pub source: Why,
    /// What it found there.
    pub result: TryOutcome,
    /// The result in words.
    pub text: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The program does not start.
    Error,
    /// It starts here and now, but may fail elsewhere or later.
    Warning,
    /// Worth knowing.
    Note,
}

impl Level {
    /// The level as a word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
        }
    }
}

/// The kinds of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingSlug {
    /// A needed object was not found.
    Missing,
    /// A file of the right name stops the loader.
    FatalFile,
    /// PT_INTERP names a file that does not exist.
    MissingInterpreter,
    /// A needed symbol version is not defined.
    MissingVersion,
    /// A version is needed from a file, and no loaded object has its name.
    VersionFileUnknown,
    /// Another file of the same name was passed over.
    Shadowed,
    /// Two objects with one soname.
    DuplicateSoname,
    /// Found only because of an earlier object.
    Accidental,
    /// A search directory does not exist.
    DeadDirectory,
    /// A path depends on the current directory.
    CurrentDirectory,
    /// Imports dlopen(3).
    ImportsDlopen,
    /// Declares what it loads at run time.
    DlopenNote,
    /// On another CPU, another file is loaded.
    HwcapsVariant,
    /// `$ORIGIN` is a symbolic link's directory.
    OriginThroughSymlink,
    /// The cache names a file that is gone.
    StaleCache,
    /// A missing library is in a directory of ld.so.conf, but not in the cache.
    NotInCache,
    /// A kind that this document version does not know; see `message`.
    Other,
}

/// Something that a person should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FindingRecord {
    /// How bad it is.
    pub severity: Level,
    /// What it is.
    pub kind: FindingSlug,
    /// The object it is about.
    pub object: Option<usize>,
    /// The name it is about: soname, version, entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Raw>,
    /// The path it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Raw>,
    /// Another object that is involved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<usize>,
    /// The whole finding as one sentence.
    pub message: String,
}

/// The predicted system calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CallsRecord {
    /// Whether the loader's version is one whose calls are modelled. If it is not, the counts mean nothing.
    pub modelled: bool,
    /// The counts, by name.
    pub counts: Vec<CallCountRecord>,
}

/// Calls and failures of one name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CallCountRecord {
    /// The kernel's name of the call.
    pub name: String,
    /// How many are made.
    pub calls: u64,
    /// How many of them fail.
    pub errors: u64,
}

impl CallsRecord {
    /// Calls and errors of all names together.
    #[must_use]
    pub fn total(&self) -> (u64, u64) {
        self.counts.iter().fold((0, 0), |(calls, errors), count| (calls + count.calls, errors + count.errors))
    }
}

/// The predicted calls compared with the measured ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CallComparison {
    /// Whether every row is equal.
    pub equal: bool,
    /// One row per call that either side has.
    pub rows: Vec<CallComparisonRow>,
}

/// One call, predicted and measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CallComparisonRow {
    /// The kernel's name of the call.
    pub name: String,
    /// Calls predicted.
    pub predicted_calls: u64,
    /// Failures predicted.
    pub predicted_errors: u64,
    /// Calls measured.
    pub measured_calls: u64,
    /// Failures measured.
    pub measured_errors: u64,
    /// Whether both agree.
    pub equal: bool,
}

impl CallComparison {
    /// Compares a prediction with the counts of a tracer. If only one side has a call, the other gets zeroes.
    #[must_use]
    pub fn new(predicted: &CallsRecord, measured: impl IntoIterator<Item = CallCountRecord>) -> CallComparison {
        let mut rows: Vec<CallComparisonRow> = predicted
            .counts
            .iter()
            .map(|count| CallComparisonRow {
                name: count.name.clone(),
                predicted_calls: count.calls,
                predicted_errors: count.errors,
                measured_calls: 0,
                measured_errors: 0,
                equal: false,
            })
            .collect();
        for count in measured {
            let row = match rows.iter_mut().position(|row| row.name == count.name) {
                Some(index) => &mut rows[index],
                None => {
                    rows.push(CallComparisonRow {
                        name: count.name,
                        predicted_calls: 0,
                        predicted_errors: 0,
                        measured_calls: 0,
                        measured_errors: 0,
                        equal: false,
                    });
                    let last = rows.len() - 1;
                    &mut rows[last]
                }
            };
            row.measured_calls += count.calls;
            row.measured_errors += count.errors;
        }
        for row in &mut rows {
            row.equal = (row.predicted_calls, row.predicted_errors) == (row.measured_calls, row.measured_errors);
        }
        rows.sort_by(|a, b| a.name.cmp(&b.name));
        CallComparison { equal: rows.iter().all(|row| row.equal), rows }
    }
}
