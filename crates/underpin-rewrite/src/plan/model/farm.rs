//! Directories of links (farms), as data.

use serde::{Deserialize, Serialize};

/// The directory at the top of a tree that holds the farms of its files.
pub const FARMS: &str = ".underpin";
/// What the folder of a program whose libraries were merged begins with, in [`FARMS`].
pub const FUSED: &str = "fused-";

/// A directory of links.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Farm {
    /// The directory, absolute.
    pub directory: String,
    /// The files whose search path names it: absolute, or relative to the directory if the tree may be moved.
    pub users: Vec<String>,
    /// Whether links and users are relative, so that the tree may be moved.
    #[serde(default)]
    pub relative: bool,
    /// Its links.
    pub links: Vec<FarmLink>,
}

/// One link of a farm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FarmLink {
    /// File name in the directory.
    pub name: String,
    /// The link's target: absolute, or relative to the directory.
    pub target: String,
}

impl Farm {
    /// Whether this farm is already the same as another one.
    pub(crate) fn serves(&self, other: &Farm) -> bool {
        (&self.directory, &self.links, self.relative) == (&other.directory, &other.links, other.relative)
            && other.users.iter().all(|user| self.users.contains(user))
    }
}

/// Adds a farm to others; files with the same list share one.
pub(in crate::plan) fn add(farms: &mut Vec<Farm>, farm: Farm) {
    match farms.iter_mut().find(|known| known.directory == farm.directory) {
        Some(known) => {
            let new: Vec<String> = farm.users.into_iter().filter(|user| !known.users.contains(user)).collect();
            known.users.extend(new);
        }
        None => farms.push(farm),
    }
}
