//! Files as they were before they were bound: a plan starts from these, so that binding twice gives the same plan.

use crate::bytes::{record_of, undo};
use crate::plan::model::{RefusedBecause, RefusedObject};
use crate::plan::scope::Scope;
use rayon::prelude::*;
use std::collections::HashSet;
use std::sync::Arc;
use underpin_elf::Source;
use underpin_resolve::{FileId, OverlayRoot, PathError, Root};

/// A file larger than this is not read whole.
pub(in crate::plan) const LIMIT: u64 = 4 << 30;
/// `EFBIG` of Linux, on every machine.
const EFBIG: i32 = 27;

/// A root on which nothing of the scope is bound.
pub(in crate::plan) struct Originals<'r> {
    pub root: OverlayRoot<'r>,
    /// Files that are bound on disk.
    pub bound: HashSet<FileId>,
    /// Files whose original cannot be restored.
    pub lost: HashSet<FileId>,
    pub refused: Vec<RefusedObject>,
}

impl<'r> Originals<'r> {
    pub fn of(root: &'r dyn Root, scope: &Scope) -> Originals<'r> {
        let mut originals = Originals {
            root: OverlayRoot::new(root),
            bound: HashSet::new(),
            lost: HashSet::new(),
            refused: Vec::new(),
        };
        let undone: Vec<Option<Result<Vec<u8>, String>>> =
            scope.files.par_iter().map(|file| original(root, file.path.as_ref())).collect();
        for (file, undone) in scope.files.iter().zip(undone) {
            match undone {
                None => {}
                Some(Ok(bytes)) => {
                    originals.bound.insert(file.id);
                    originals.root.change(file.id, Arc::new(bytes));
                }
                Some(Err(error)) => {
                    originals.lost.insert(file.id);
                    let because = RefusedBecause::Record { error };
                    originals.refused.push(RefusedObject { path: file.path.clone(), because });
                }
            }
        }
        originals
    }
}

/// The original of a bound file; `None` if the file is not bound.
fn original(root: &dyn Root, path: &bstr::BStr) -> Option<Result<Vec<u8>, String>> {
    undone(&*root.open(path).ok()?.source)
}

/// The original of what a source holds; `None` if that is not bound, the reason if it cannot be restored.
pub(in crate::plan) fn undone(source: &dyn Source) -> Option<Result<Vec<u8>, String>> {
    match record_of(source) {
        Ok(None) => None,
        Ok(Some(_)) => Some(whole(source).and_then(|bytes| undo(&bytes).map_err(|error| error.to_string()))),
        Err(error) => Some(Err(error.to_string())),
    }
}

fn whole(source: &dyn Source) -> Result<Vec<u8>, String> {
    if source.len() > LIMIT {
        return Err(PathError::Other(EFBIG).to_string());
    }
    let size = usize::try_from(source.len()).map_err(|error| error.to_string())?;
    let mut bytes = vec![0; size];
    source.read_exact_at(0, &mut bytes).map_err(|error| PathError::of(&error).to_string())?;
    Ok(bytes)
}
