//! What all shapes of a plan start from.

use super::facts::{Catalogue, Facts};
use super::view::View;
use crate::plan::scope::ScopeFile;
use bstr::BString;
use std::collections::HashSet;
use std::sync::Arc;
use underpin_resolve::{FileId, Root};

/// A file of the scope and what is known of it.
pub(in crate::plan) struct Target<'s> {
    pub file: &'s ScopeFile,
    pub facts: Arc<Facts>,
}

/// What all shapes of a plan start from.
pub(in crate::plan) struct Ground<'a> {
    /// The root with nothing of the scope bound.
    pub root: &'a dyn Root,
    pub catalogue: Catalogue<'a>,
    pub targets: Vec<Target<'a>>,
    pub views: Vec<View>,
    /// Files of the scope.
    pub ids: HashSet<FileId>,
    /// Those that are bound on the disk.
    pub bound: HashSet<FileId>,
    /// What was named, by real path.
    pub tops: &'a [BString],
}
