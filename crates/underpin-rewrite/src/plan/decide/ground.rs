//! The common input of all shapes of a plan.

use super::facts::{Catalogue, Facts};
use super::view::View;
use crate::plan::scope::ScopeFile;
use bstr::BString;
use std::collections::HashSet;
use std::sync::Arc;
use underpin_resolve::{FileId, Root};

/// A file of the scope and the facts about it.
pub(in crate::plan) struct Target<'s> {
    pub file: &'s ScopeFile,
    pub facts: Arc<Facts>,
}

/// The common input of all shapes of a plan.
pub(in crate::plan) struct Ground<'a> {
    /// The root with nothing of the scope bound.
    pub root: &'a dyn Root,
    pub catalogue: Catalogue<'a>,
    pub targets: Vec<Target<'a>>,
    pub views: Vec<View>,
    /// Files of the scope.
    pub ids: HashSet<FileId>,
    /// Those that are bound on disk.
    pub bound: HashSet<FileId>,
    /// The paths that the user named, resolved.
    pub tops: &'a [BString],
}
