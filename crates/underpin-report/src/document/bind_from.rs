//! From a plan of bindings, and its results, to the document.

use super::SchemaTag;
use super::bind::{
    BindDocument, BindFile, BindName, BindOutcome, BindProgram, BindTotals, CallsTotal, CostRecord, FarmRecord,
    LateNames, PlaceName, PlacedRecord, SearchedName, Shape, UnbindDocument,
};
use crate::bytes::Raw;
use bstr::BString;
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use underpin_rewrite::files::{JobOutcome, JobsSummary, ObjectResult};
use underpin_rewrite::plan::{
    self, BindPlan, CallSum, Decision, EdgePlan, Farm, LeftName, ObjectPlan, ProgramPlan, RefusedObject,
};
use underpin_rewrite::{LoadCost, PlacedString, SearchPathEdit, Strategy};

impl BindDocument {
    /// The document of a plan, with the result for each file if it was carried out.
    #[must_use]
    pub fn new(plan: &BindPlan, summary: Option<&JobsSummary>) -> BindDocument {
        let files = files(plan, summary);
        BindDocument {
            schema: SchemaTag::new(),
            dry_run: summary.is_none(),
            shape: plan.shape.into(),
            farms: plan.farms.iter().map(FarmRecord::from).collect(),
            programs: plan.programs.iter().map(BindProgram::from).collect(),
            totals: BindTotals::of(&files),
            files,
        }
    }
}

impl UnbindDocument {
    /// The result for each file; those that cannot be restored have the reason.
    #[must_use]
    pub fn new(summary: &JobsSummary, hopeless: &[(PathBuf, Result<(), String>)], keeps_times: bool) -> UnbindDocument {
        let done = summary.results.iter().map(BindFile::from);
        UnbindDocument::of((false, keeps_times), done.chain(hopeless.iter().map(planned_unbind)).collect())
    }

    /// The bound files, none of which was changed, and why one cannot be restored.
    #[must_use]
    pub fn planned(files: &[(PathBuf, Result<(), String>)], keeps_times: bool) -> UnbindDocument {
        UnbindDocument::of((true, keeps_times), files.iter().map(planned_unbind).collect())
    }

    fn of((dry_run, keeps_times): (bool, bool), mut files: Vec<BindFile>) -> UnbindDocument {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let totals = BindTotals::of(&files);
        UnbindDocument { schema: SchemaTag::new(), dry_run, keeps_times, files, totals }
    }
}

/// One record per file of the plan, by path.
fn files(plan: &BindPlan, summary: Option<&JobsSummary>) -> Vec<BindFile> {
    let results: HashMap<&Path, &ObjectResult> =
        summary.iter().flat_map(|summary| &summary.results).map(|result| (result.path.as_path(), result)).collect();
    let objects = plan.objects.iter().map(|object| {
        let mut file = BindFile::from(object);
        let path = Path::new(std::ffi::OsStr::from_bytes(&object.path));
        if let Some(result) = results.get(path) {
            (file.outcome, file.reason) = came_of(&result.outcome);
        }
        file
    });
    let mut files: Vec<BindFile> = objects.chain(plan.refused.iter().map(BindFile::from)).collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// A bound file that was not changed, and why it cannot be restored.
fn planned_unbind((path, outlook): &(PathBuf, Result<(), String>)) -> BindFile {
    let (outcome, reason) = match outlook {
        Ok(()) => (BindOutcome::Unbound, None),
        Err(reason) => (BindOutcome::Refused, Some(reason.clone())),
    };
    empty(path.as_os_str().as_bytes().into(), outcome, reason)
}

fn empty(path: BString, outcome: BindOutcome, reason: Option<String>) -> BindFile {
    BindFile {
        path: path.into(),
        outcome,
        reason,
        names: Vec::new(),
        search_path: None,
        placed: Vec::new(),
        cost: CostRecord::default(),
    }
}

fn came_of(outcome: &JobOutcome) -> (BindOutcome, Option<String>) {
    match outcome {
        JobOutcome::Bound(_) => (BindOutcome::Bound, None),
        JobOutcome::AlreadyBound => (BindOutcome::AlreadyBound, None),
        JobOutcome::Unbound(_) => (BindOutcome::Unbound, None),
        JobOutcome::NotBound => (BindOutcome::NotBound, None),
        JobOutcome::Unchanged => (BindOutcome::Unchanged, None),
        JobOutcome::Refused(error) => (BindOutcome::Refused, Some(sentence(error))),
        JobOutcome::Failed(error) => (BindOutcome::Failed, Some(sentence(error))),
        JobOutcome::RolledBack { program, disagreement } => {
            let reason = format!("taken back: with it, {} loads something else: {disagreement}", program.display());
            (BindOutcome::Failed, Some(reason))
        }
    }
}

/// An error without the path at its start, which a list of files shows already.
fn sentence(error: &underpin_rewrite::files::ReplaceError) -> String {
    let text = error.to_string();
    text.split_once(": ").map_or_else(|| text.clone(), |(_, rest)| rest.to_owned())
}

impl From<&ObjectResult> for BindFile {
    fn from(result: &ObjectResult) -> BindFile {
        let (outcome, reason) = came_of(&result.outcome);
        empty(result.path.as_os_str().as_bytes().into(), outcome, reason)
    }
}

impl From<&ObjectPlan> for BindFile {
    fn from(object: &ObjectPlan) -> BindFile {
        let outcome = if object.edits.is_empty() { BindOutcome::Unchanged } else { BindOutcome::Planned };
        let rewrite = object.rewrite.as_ref();
        let search_path = match &object.edits.search_path {
            SearchPathEdit::Runpath(path) | SearchPathEdit::Rpath(path) => Some(Raw::from(path)),
            SearchPathEdit::Keep | SearchPathEdit::Dead | SearchPathEdit::Remove => None,
        };
        BindFile {
            path: Raw::from(&object.path),
            outcome,
            reason: None,
            names: object.edges.iter().map(BindName::from).collect(),
            search_path,
            placed: rewrite.iter().flat_map(|rewrite| &rewrite.placed).map(PlacedRecord::from).collect(),
            cost: rewrite.map(|rewrite| CostRecord::from(&rewrite.cost)).unwrap_or_default(),
        }
    }
}

impl From<&RefusedObject> for BindFile {
    fn from(refused: &RefusedObject) -> BindFile {
        empty(refused.path.clone(), BindOutcome::Refused, Some(refused.because.to_string()))
    }
}

impl From<&EdgePlan> for BindName {
    fn from(edge: &EdgePlan) -> BindName {
        let (becomes, left_alone) = match &edge.decision {
            Decision::Becomes { path, .. } | Decision::Already { path } => (Some(Raw::from(path.as_str())), None),
            Decision::LeftAlone { reason } => (None, Some(reason.to_string())),
        };
        let notes: Vec<String> = edge.notes.iter().map(ToString::to_string).collect();
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        BindName { name: Raw::from(&edge.name), becomes, left_alone, note }
    }
}

impl From<&PlacedString> for PlacedRecord {
    fn from(placed: &PlacedString) -> PlacedRecord {
        PlacedRecord { text: Raw::from(&placed.text), offset: placed.offset.0, place: placed.strategy.into() }
    }
}

impl From<Strategy> for PlaceName {
    fn from(strategy: Strategy) -> PlaceName {
        match strategy {
            Strategy::DeadStrings => PlaceName::DeadStrings,
            Strategy::PagePadding => PlaceName::PagePadding,
            Strategy::DataTail => PlaceName::DataTail,
            Strategy::NewSegment => PlaceName::NewSegment,
        }
    }
}

impl From<&LoadCost> for CostRecord {
    fn from(cost: &LoadCost) -> CostRecord {
        CostRecord {
            file_bytes: cost.file_bytes,
            mapped_bytes: cost.mapped_bytes,
            segments: cost.segments,
            mmap_calls: cost.mmap_calls,
            read_calls: cost.read_calls,
        }
    }
}

impl From<plan::Shape> for Shape {
    fn from(shape: plan::Shape) -> Shape {
        match shape {
            plan::Shape::PerObject => Shape::PerObject,
            plan::Shape::Flatten => Shape::Flatten,
            plan::Shape::Farm => Shape::Farm,
            plan::Shape::Relative => Shape::Relative,
        }
    }
}

impl From<&Farm> for FarmRecord {
    fn from(farm: &Farm) -> FarmRecord {
        FarmRecord {
            directory: Raw::from(farm.directory.as_str()),
            links: farm.links.len(),
            users: farm.users.iter().map(|user| Raw::from(user.as_str())).collect(),
        }
    }
}

impl From<&ProgramPlan> for BindProgram {
    fn from(program: &ProgramPlan) -> BindProgram {
        BindProgram {
            path: Raw::from(&program.path),
            before: CallsTotal::from(&program.before),
            after: program.after.as_ref().map(CallsTotal::from),
            late: LateNames {
                opened_by: program.late.opened_by.iter().map(Raw::from).collect(),
                directories_before: program.late.before,
                directories_after: program.late.after,
            },
            searched: program.left.iter().map(SearchedName::from).collect(),
        }
    }
}

impl From<&LeftName> for SearchedName {
    fn from(left: &LeftName) -> SearchedName {
        SearchedName { name: Raw::from(&left.name), lookups: left.lookups }
    }
}

impl From<&CallSum> for CallsTotal {
    fn from(sum: &CallSum) -> CallsTotal {
        CallsTotal { calls: sum.calls, errors: sum.failed }
    }
}
