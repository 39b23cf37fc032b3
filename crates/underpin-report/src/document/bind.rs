//! `underpin.bind/1` and `underpin.unbind/1`: what happens to each file and each name in it, and what it costs.

use super::{Document, SchemaTag, Verb};
use crate::bytes::Raw;
use schemars::JsonSchema;
use serde::Serialize;

/// The document of `underpin bind`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BindDocument {
    /// Always `underpin.bind/1`.
    pub schema: SchemaTag<BindDocument>,
    /// Whether this is a plan only: nothing was changed.
    pub dry_run: bool,
    /// How names are bound.
    pub shape: Shape,
    /// The files, in the order of their paths.
    pub files: Vec<BindFile>,
    /// Folders of symbolic links that are made.
    pub farms: Vec<FarmRecord>,
    /// The programs among them, with the loader's calls before and after.
    pub programs: Vec<BindProgram>,
    /// Sums over all files.
    pub totals: BindTotals,
}

impl Document for BindDocument {
    const VERB: Verb = Verb::Bind;
}

/// A folder of symbolic links.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FarmRecord {
    /// The folder.
    pub directory: Raw,
    /// How many links it holds.
    pub links: usize,
    /// The files that search in it.
    pub users: Vec<Raw>,
}

/// How names are bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Each file names its own libraries.
    PerObject,
    /// The program names the whole closure.
    Flatten,
    /// A folder of symbolic links beside each program.
    Farm,
    /// By `$ORIGIN`: the tree may be moved.
    Relative,
}

/// The plan or the result for one file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BindFile {
    /// Its path, with symbolic links resolved.
    pub path: Raw,
    /// The outcome, or what it would be.
    pub outcome: BindOutcome,
    /// Why it was refused or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its names in file order.
    pub names: Vec<BindName>,
    /// The search path that is written, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search_path: Option<Raw>,
    /// The places of the new strings.
    pub placed: Vec<PlacedRecord>,
    /// What the change costs.
    pub cost: CostRecord,
}

/// The outcome for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BindOutcome {
    /// It would be rewritten.
    Planned,
    /// It was rewritten.
    Bound,
    /// It is already as planned.
    AlreadyBound,
    /// There is nothing in it to bind.
    Unchanged,
    /// It is left unchanged, with the reason.
    Refused,
    /// Something went wrong; the file is unchanged.
    Failed,
    /// It was restored, or would be.
    Unbound,
    /// It was not bound.
    NotBound,
}

/// One name in a file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BindName {
    /// As the file has it.
    pub name: Raw,
    /// What it becomes; null if it is left alone.
    pub becomes: Option<Raw>,
    /// Why it is left alone: a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_alone: Option<String>,
    /// Something worth knowing about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Where a new string is placed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlacedRecord {
    /// The string.
    pub text: Raw,
    /// Offset in the rewritten file, in bytes.
    pub offset: u64,
    /// The kind of place.
    pub place: PlaceName,
}

/// Where new strings are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlaceName {
    /// Bytes of `.dynstr` that nothing refers to any more.
    DeadStrings,
    /// The padding behind a read-only segment.
    PagePadding,
    /// Behind the last writable segment.
    DataTail,
    /// A new read-only segment.
    NewSegment,
}

impl PlaceName {
    /// The place as text.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            PlaceName::DeadStrings => "dead strings",
            PlaceName::PagePadding => "page padding",
            PlaceName::DataTail => "data tail",
            PlaceName::NewSegment => "new segment",
        }
    }
}

/// What a change to a file costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CostRecord {
    /// Growth of the file in bytes.
    pub file_bytes: u64,
    /// Growth of the mapped memory in bytes.
    pub mapped_bytes: u64,
    /// Additional PT_LOAD segments.
    pub segments: u32,
    /// Additional mmap calls; negative if there are fewer.
    pub mmap_calls: i32,
    /// Additional pread64 calls.
    pub read_calls: u32,
}

/// The loader's calls for one program.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BindProgram {
    /// The program.
    pub path: Raw,
    /// The loader's calls predicted before the binding.
    pub before: CallsTotal,
    /// The loader's calls predicted after the binding; null if they could not be predicted.
    pub after: Option<CallsTotal>,
    /// What it costs to look for a name that is opened while the program runs.
    pub late: LateNames,
    /// Names that are not bound and are searched for at each start.
    pub searched: Vec<SearchedName>,
}

/// What it costs to look for a name that is opened while a program runs (dlopen, NSS, gconv) and is in none of the
/// directories, for the object whose search is the most expensive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LateNames {
    /// Objects that import dlopen, the program first.
    pub opened_by: Vec<Raw>,
    /// Directories of DT_RPATH and DT_RUNPATH that are searched before the binding.
    pub directories_before: usize,
    /// Directories that are searched after the binding.
    pub directories_after: usize,
}

/// A name that is searched for at each start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SearchedName {
    /// The name.
    pub name: Raw,
    /// Paths tried in vain after the binding.
    pub lookups: u64,
}

/// Calls and how many of them fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CallsTotal {
    /// All calls of the loader.
    pub calls: u64,
    /// Those that fail.
    pub errors: u64,
}

/// Sums over all files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BindTotals {
    /// Files looked at.
    pub files: usize,
    /// Files rewritten, restored, or planned to be.
    pub changed: usize,
    /// Files that are already as planned, or contain nothing to bind.
    pub unchanged: usize,
    /// Files left unchanged, with a reason.
    pub refused: usize,
    /// Files for which something went wrong.
    pub failed: usize,
    /// Names bound.
    pub names_bound: usize,
    /// Names left alone.
    pub names_left: usize,
    /// Sum of the costs.
    pub cost: CostRecord,
}

impl BindTotals {
    /// The sums of some files.
    #[must_use]
    pub fn of(files: &[BindFile]) -> BindTotals {
        let mut totals = BindTotals { files: files.len(), ..BindTotals::default() };
        for file in files {
            *match file.outcome {
                BindOutcome::Planned | BindOutcome::Bound | BindOutcome::Unbound => &mut totals.changed,
                BindOutcome::AlreadyBound | BindOutcome::Unchanged | BindOutcome::NotBound => &mut totals.unchanged,
                BindOutcome::Refused => &mut totals.refused,
                BindOutcome::Failed => &mut totals.failed,
            } += 1;
            if matches!(file.outcome, BindOutcome::Refused | BindOutcome::Failed) {
                totals.names_left += file.names.len();
                continue;
            }
            let left = file.names.iter().filter(|name| name.becomes.is_none()).count();
            totals.names_left += left;
            totals.names_bound += file.names.len() - left;
            let (sum, cost) = (&mut totals.cost, &file.cost);
            sum.file_bytes += cost.file_bytes;
            sum.mapped_bytes += cost.mapped_bytes;
            sum.segments += cost.segments;
            sum.mmap_calls += cost.mmap_calls;
            sum.read_calls += cost.read_calls;
        }
        totals
    }
}

/// The document of `underpin unbind`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UnbindDocument {
    /// Always `underpin.unbind/1`.
    pub schema: SchemaTag<UnbindDocument>,
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// Whether the files keep the modification times that they have; the time before the binding is not recorded.
    pub keeps_times: bool,
    /// The files, in the order of their paths; those that were never bound only if they were named.
    pub files: Vec<BindFile>,
    /// Sums over all files.
    pub totals: BindTotals,
}

impl Document for UnbindDocument {
    const VERB: Verb = Verb::Unbind;
}
