//! What to pass to the linker so that a later binding fits without another segment.
//!
//! Two things run out: bytes for strings, and entries of the dynamic section. GNU ld leaves five spare entries
//! (`--spare-dynamic-tags`) and pads segments to pages; lld and mold leave neither. An unused search path reserves
//! bytes in every linker's string table, and its entry becomes free when they are used.

use super::originals::Originals;
use crate::edits::SearchPathEdit;
use crate::plan::decide::facts::{Catalogue, Facts};
use crate::plan::model::{BindPlan, ObjectPlan, Reserve};
use crate::plan::scope::{Scope, ScopeFile};
use bstr::BString;
use rayon::prelude::*;
use std::collections::BTreeSet;
use underpin_resolve::Root;

/// Entries that GNU ld leaves spare by default.
const GNU_LD_SPARES: u64 = 5;
/// The placeholder's prefix: no machine has such a directory.
const PLACEHOLDER: &str = "/underpin-reserved/";

/// For each object that the plan changes: what it needs, and flags for the compiler driver.
#[must_use]
pub fn reserve(root: &dyn Root, plan: &BindPlan) -> Vec<Reserve> {
    let changes: Vec<&ObjectPlan> = plan.changes().collect();
    let file = |object: &&ObjectPlan| ScopeFile { path: object.path.clone(), hard_links: Vec::new(), id: object.id };
    let scope = Scope { files: changes.iter().map(file).collect(), ..Scope::default() };
    let originals = Originals::of(root, &scope);
    let catalogue = Catalogue::new(&originals.root);
    changes.par_iter().filter_map(|object| Some(of(object, &*catalogue.of(object.id, object.path.as_ref())?))).collect()
}

fn of(object: &ObjectPlan, facts: &Facts) -> Reserve {
    let edits = &object.edits;
    let mut texts: BTreeSet<&BString> = edits.renames.iter().map(|rename| &rename.to).collect();
    texts.extend(edits.needed.iter().flatten().filter(|text| !facts.dynamic.needed.contains(text)));
    let dynamic = &facts.dynamic;
    let had_path = dynamic.rpath.is_some() || dynamic.runpath.is_some();
    let mut entries = edits.needed.as_ref().map_or(0, |needed| needed.len().saturating_sub(dynamic.needed.len()));
    if let SearchPathEdit::Runpath(path) | SearchPathEdit::Rpath(path) = &edits.search_path {
        texts.insert(path);
        entries += usize::from(!had_path);
    }
    let bytes = texts.iter().map(|text| text.len() as u64 + 1).sum();
    let dynamic_tags = entries as u64;
    let whole = edits.needed.is_some();
    let placeholder =
        !whole && (edits.search_path == SearchPathEdit::Dead || !had_path && !facts.searches_at_run_time());
    Reserve { path: object.path.clone(), bytes, dynamic_tags, flags: flags(bytes, dynamic_tags, placeholder) }
}

fn flags(bytes: u64, dynamic_tags: u64, placeholder: bool) -> Vec<String> {
    let mut flags = Vec::new();
    if dynamic_tags > 0 {
        flags.push(format!("-Wl,--spare-dynamic-tags={}", dynamic_tags + GNU_LD_SPARES));
    }
    if placeholder {
        let length = usize::try_from(bytes).unwrap_or(usize::MAX).saturating_sub(PLACEHOLDER.len()).clamp(1, 1 << 16);
        flags.push(format!("-Wl,--enable-new-dtags,-rpath,{PLACEHOLDER}{}", "x".repeat(length)));
    } else {
        // The linker's padding holds strings: GNU ld pads with the first flag (its default on x86-64), lld with the
        // second.
        flags.push("-Wl,-z,separate-code".to_owned());
        flags.push("-Wl,-z,separate-loadable-segments".to_owned());
    }
    flags
}
