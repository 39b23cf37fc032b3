//! The layers of an image for containers: what changes seldom lies below, so that a new version of the program shares the rest.

use super::{Because, Plan};
use crate::{ImageError, Kind, Tree};
use std::collections::BTreeMap;
use std::path::Path;

/// How files are divided into layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LayerPer {
    /// One for the files that programs expect, one for the libraries, one for the programs and the application.
    #[default]
    Closure,
    /// One for each package of this machine's or recipe.
    Package,
    /// One for all.
    One,
}

/// Engines mount at most 127 layers (overlayfs takes no more in one page of options); some room is left for those of others.
const MOST: usize = 100;

const BASE: &str = "base";
const LIBRARIES: &str = "libraries";
const PROGRAMS: &str = "programs";

/// All files of a plan in layers, the lowest first, each with its name. They are disjoint but for directories.
///
/// # Errors
/// If two layers of the plan have a file of one name.
pub fn layered(plan: &Plan, per: LayerPer) -> Result<Vec<(String, Tree)>, ImageError> {
    let root = plan.root()?;
    if per == LayerPer::One {
        return Ok(vec![("all files".to_owned(), root)]);
    }
    let kept = kept(plan, &root, per);
    let mut layers: BTreeMap<(u8, String), Tree> = BTreeMap::new();
    for (path, entry) in root.entries() {
        // A directory comes with what is in it.
        if entry.kind == Kind::Directory
            && plan.reasons.binary_search_by(|(known, _)| known.as_path().cmp(path)).is_err()
        {
            continue;
        }
        let key = match key(plan, path, per) {
            (1, name) if per == LayerPer::Package && !kept.contains(&name) => (1, "other packages".to_owned()),
            key => key,
        };
        layers.entry(key).or_insert_with(|| Tree::new(plan.time())).add(path, entry.clone())?;
    }
    let finished = layers.into_iter().map(|((_, name), mut tree)| {
        tree.lie_over(&root);
        (name, tree)
    });
    Ok(finished.collect())
}

/// The place of a layer among the others, and its name.
fn key(plan: &Plan, path: &Path, per: LayerPer) -> (u8, String) {
    let because = plan.reason(path);
    let is_base = matches!(because, Because::Usual | Because::Init | Because::Opened { .. });
    match (per, plan.package(path)) {
        (LayerPer::Package, Some(package)) => (1, package.to_owned()),
        _ if is_base => (0, BASE.to_owned()),
        (LayerPer::Package, None) => (2, PROGRAMS.to_owned()),
        _ => match because {
            Because::Loader | Because::Needed { .. } | Because::Search | Because::Included { .. } => {
                (1, LIBRARIES.to_owned())
            }
            _ => (2, PROGRAMS.to_owned()),
        },
    }
}

/// The packages with a layer of their own: the largest, if there are too many.
fn kept(plan: &Plan, root: &Tree, per: LayerPer) -> Vec<String> {
    let mut sizes: BTreeMap<String, u64> = BTreeMap::new();
    for (path, entry) in root.entries().filter(|_| per == LayerPer::Package) {
        if let (Kind::File(content), Some(package)) = (&entry.kind, plan.package(path)) {
            *sizes.entry(package.to_owned()).or_default() += content.size();
        }
    }
    let mut all: Vec<(String, u64)> = sizes.into_iter().collect();
    all.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    all.truncate(MOST);
    all.into_iter().map(|(name, _)| name).collect()
}
