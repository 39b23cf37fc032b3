//! `underpin.run/1`: the built-in allocators. Only the list has a document: the output of a run is the command's own.

use super::{Document, SchemaTag, Verb};
use schemars::JsonSchema;
use serde::Serialize;

/// The document of `underpin run --list`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunDocument {
    /// Always `underpin.run/1`.
    pub schema: SchemaTag<RunDocument>,
    /// Every allocator that a build of underpin can include.
    pub allocators: Vec<IncludedAllocator>,
}

impl Document for RunDocument {
    const VERB: Verb = Verb::Run;
}

/// One allocator.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct IncludedAllocator {
    /// Its name for `--malloc`.
    pub name: String,
    /// Its own version; for snmalloc, that of the crate it came in.
    pub version: String,
    /// What was chosen for it when it was built.
    pub settings: String,
    /// The names of the settings that may follow its name.
    pub options: Vec<String>,
    /// The object's size; null if this build does not include it.
    pub bytes: Option<u64>,
    /// SHA-256 of the object, in hexadecimal.
    pub sha256: Option<String>,
    /// Why this build of underpin does not include it.
    pub absent: Option<String>,
}

impl RunDocument {
    /// The document of a list.
    #[must_use]
    pub fn new(allocators: Vec<IncludedAllocator>) -> RunDocument {
        RunDocument { schema: SchemaTag::new(), allocators }
    }
}
