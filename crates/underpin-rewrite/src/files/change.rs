//! One job from bytes to bytes: the new content of a file, the proof that it can be undone, and the replacement.

use super::{
    Baseline, BoundName, Disagreement, FileIdentity, HardLinks, HeldFile, Job, JobKind, JobOutcome, Keep, Opinion,
    ReplaceError, Replaced, Verified, Verifier, verify_rewritten,
};
use crate::bytes::{Rewrite, record, undo};
use std::path::{Path, PathBuf};

/// How often a file is tried if its copy is rejected. While others are replaced at the same time, a loader may see a
/// file with two names half replaced; a second attempt does not.
const ATTEMPTS: usize = 2;

/// The outcome of a job.
pub(super) struct Done {
    pub outcome: JobOutcome,
    /// What was written, if anything.
    pub written: Option<Written>,
}

/// What was written, and how to take it back.
pub(super) struct Written {
    pub replaced: Replaced,
    /// From the original to the bytes that were there before.
    previous: Way,
}

/// The new bytes of a file, or why there are none.
enum New {
    Bytes { bytes: Vec<u8>, previous: Way },
    Nothing(JobOutcome),
}

/// Does one job. `before` is what the loader said of the file before anything was changed, if that is known.
pub(super) fn change(
    job: &Job,
    planned: Option<&FileIdentity>,
    keep: &Keep,
    verifier: &Verifier,
    before: Option<&Baseline>,
) -> Done {
    let attempt = |before| {
        let target = HeldFile::open(&job.path, planned)?;
        attempt_change(job, &target, keep, verifier, before)
    };
    // The second time the loader is asked anew: its earlier answer may be about files that have been replaced since.
    let mut done = attempt(before.cloned());
    for _ in 1..ATTEMPTS {
        if !matches!(done, Err(ReplaceError::Rejected { .. })) {
            break;
        }
        done = attempt(None);
    }
    done.unwrap_or_else(|error| {
        let outcome = if error.is_refusal() { JobOutcome::Refused(error) } else { JobOutcome::Failed(error) };
        Done { outcome, written: None }
    })
}

fn attempt_change(
    job: &Job,
    target: &HeldFile,
    keep: &Keep,
    verifier: &Verifier,
    before: Option<Baseline>,
) -> Result<Done, ReplaceError> {
    let old = target.read()?;
    let (new, previous) = match new_bytes(job, target, &old)? {
        New::Bytes { bytes, previous } => (bytes, previous),
        New::Nothing(outcome) => return Ok(Done { outcome, written: None }),
    };
    let mut verified = None;
    let replaced = target.replace(&new, keep, |copy| {
        let found = match &job.task {
            JobKind::Bind { bound, .. } => verify_bound(verifier, copy, target.path(), bound, before)?,
            JobKind::Unbind => look(verifier, copy),
        };
        verified = Some(found);
        Ok(())
    })?;
    let verified = verified.unwrap_or_else(|| look(verifier, target.path()));
    let outcome = match &job.task {
        JobKind::Bind { .. } => JobOutcome::Bound(verified),
        JobKind::Unbind => JobOutcome::Unbound(verified),
    };
    Ok(Done { outcome, written: Some(Written { replaced, previous }) })
}

fn verify_bound(
    verifier: &Verifier,
    copy: &Path,
    target: &Path,
    bound: &[BoundName],
    before: Option<Baseline>,
) -> Result<Verified, Disagreement> {
    let before = before.unwrap_or_else(|| Baseline::of(verifier, target, Vec::new()));
    verify_rewritten(verifier, copy, target, &Baseline { bound: bound.to_vec(), ..before })
}

/// What is said of an original. It is the file that its user had: no complaint of a loader prevents its restoration.
fn look(verifier: &Verifier, copy: &Path) -> Verified {
    let said = Baseline::of(verifier, copy, Vec::new());
    let objects = |listing: Option<super::Listing>| listing.map_or(0, |listing| listing.objects.len());
    match said.before {
        Opinion::Heard(listing) => Verified::Loader { objects: listing.objects.len() },
        Opinion::NotAsked(because) => Verified::ModelOnly { because, objects: objects(said.model_before) },
    }
}

fn new_bytes(job: &Job, target: &HeldFile, old: &[u8]) -> Result<New, ReplaceError> {
    let unusable = |reason: String| ReplaceError::Bytes { path: target.path().into(), reason };
    let is_bound = record(old).map_err(|error| unusable(error.to_string()))?.is_some();
    let original = match is_bound {
        true => undo(old)
            .map_err(|error| ReplaceError::NotUndoable { path: target.path().into(), reason: error.to_string() })?,
        false => old.to_vec(),
    };
    let bytes = match &job.task {
        JobKind::Unbind if !is_bound => return Ok(New::Nothing(JobOutcome::NotBound)),
        JobKind::Unbind => original.clone(),
        JobKind::Bind { rewrite, .. } if rewrite.is_empty() && !is_bound => {
            return Ok(New::Nothing(JobOutcome::Unchanged));
        }
        JobKind::Bind { rewrite, .. } => {
            let bytes = rewrite.apply(&original);
            if bytes == old {
                return Ok(New::Nothing(JobOutcome::AlreadyBound));
            }
            prove(rewrite, &original, &bytes, target.path())?;
            bytes
        }
    };
    Ok(New::Bytes { previous: Way::between(&original, old), bytes })
}

/// Proves that the new bytes restore exactly the original that is there now: the rewrite was planned from it and from
/// no other, and no byte can be lost.
fn prove(rewrite: &Rewrite, original: &[u8], new: &[u8], path: &Path) -> Result<(), ReplaceError> {
    if rewrite.is_empty() {
        return Ok(());
    }
    let changed = |what: String| ReplaceError::Changed { path: path.into(), what };
    if rewrite.original_size != original.len() as u64 {
        return Err(changed("its size is another".into()));
    }
    match undo(new) {
        Ok(restored) if restored == original => Ok(()),
        Ok(_) => Err(changed("its bytes are others than those of the plan".into())),
        Err(error) => Err(changed(format!("the rewritten file could not be undone ({error})"))),
    }
}

/// The difference between two files that are mostly alike. Small, whereas keeping the bytes of a whole tree is not.
#[derive(Debug)]
struct Way {
    /// How many bytes the two have in common at the start, except for the patches.
    common: usize,
    /// Offsets and the bytes there.
    patches: Vec<(usize, Vec<u8>)>,
    appended: Vec<u8>,
}

impl Way {
    fn between(from: &[u8], to: &[u8]) -> Way {
        let common = from.len().min(to.len());
        let mut patches = Vec::new();
        let mut at = 0;
        while let Some(start) = (at..common).find(|&index| from[index] != to[index]) {
            at = (start..common).find(|&index| from[index] == to[index]).unwrap_or(common);
            patches.push((start, to[start..at].to_vec()));
        }
        Way { common, patches, appended: to[common..].to_vec() }
    }

    fn apply(&self, from: &[u8]) -> Vec<u8> {
        let mut bytes = from[..self.common].to_vec();
        for (start, patch) in &self.patches {
            bytes[*start..start + patch.len()].copy_from_slice(patch);
        }
        bytes.extend_from_slice(&self.appended);
        bytes
    }
}

/// Restores what was there before a job.
pub(super) fn take_back(job: &Job, written: &Written, keep: &Keep) -> Result<(), ReplaceError> {
    let target = HeldFile::open(&job.path, Some(&written.replaced.now))?;
    let bytes = target.read()?;
    let original = if matches!(record(&bytes), Ok(Some(_))) {
        undo(&bytes).map_err(|error| ReplaceError::Bytes { path: target.path().into(), reason: error.to_string() })?
    } else {
        bytes
    };
    target.replace(&written.previous.apply(&original), keep, |_| Ok(())).map(|_| ())
}

/// What is kept of one file: if it has more than one name, all that are known.
pub(super) fn keep_for(keep: &Keep, names: Vec<PathBuf>) -> Keep {
    let hard_links = match &keep.hard_links {
        HardLinks::Break => HardLinks::Break,
        HardLinks::Refuse => HardLinks::Relink(names),
        HardLinks::Relink(more) => HardLinks::Relink(names.into_iter().chain(more.iter().cloned()).collect()),
    };
    Keep { hard_links, ..keep.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_way_leads_from_one_to_the_other(from: Vec<u8>, changes: Vec<(usize, u8)>, keep in proptest::option::of(0..99_usize), tail: Vec<u8>) {
            let mut to = from.clone();
            for (at, byte) in changes {
                let length = to.len().max(1);
                if let Some(place) = to.get_mut(at % length) {
                    *place = byte;
                }
            }
            to.truncate(keep.unwrap_or(usize::MAX));
            to.extend(tail);
            prop_assert_eq!(Way::between(&from, &to).apply(&from), to);
        }
    }
}
