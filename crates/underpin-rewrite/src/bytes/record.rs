//! The record that a rewritten file carries: what it was bound to, and how to restore every byte.

use serde::{Deserialize, Serialize};

/// What a bound name stands for, as it was when it was bound. Paths that are not UTF-8 are never bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundObject {
    /// The name as the file had it.
    pub name: String,
    /// The path that it became.
    pub path: String,
    /// The object's build-id in hexadecimal, where it has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub build_id: Option<String>,
    /// Its size in bytes.
    pub size: u64,
    /// Its modification time in nanoseconds since 1970.
    pub modified: i64,
}

/// Bytes to put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inverse {
    /// Where in the file.
    pub offset: u64,
    /// The original bytes in hexadecimal; zeros at the end are left out.
    pub bytes: String,
    /// How many bytes in all.
    pub len: u64,
}

/// The record of one rewrite. Lives in the section `.underpin.binding`, which no segment holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// `underpin.binding/1`.
    pub schema: String,
    /// Size of the original in bytes.
    pub original_size: u64,
    /// SHA-256 of the original in hexadecimal.
    pub original_sha256: String,
    /// What to put back.
    pub inverse: Vec<Inverse>,
    /// What was bound.
    pub bound: Vec<BoundObject>,
}
