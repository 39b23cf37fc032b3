//! Input and output of the loaders' policies: the program, and the objects, edges and directories of a resolution.

use crate::cache::CacheView;
use crate::calls::{Call, Calls};
use crate::closure::{Edge, Found, ObjectId, Outcome, SearchDirectory};
use crate::files::FileFacts;
use bstr::BString;
use std::sync::Arc;
use underpin_elf::Elf;

/// How much is examined beyond what the loader itself reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// Objects, order, edges, calls.
    Load,
    /// Also the findings that need a second look: shadowed copies, accidental finds, symbol versions, dlopen.
    #[default]
    Findings,
    /// Also the real path of every object.
    Paths,
}

/// The program in the middle of a resolution.
pub(crate) struct Program {
    pub path: BString,
    /// The path that `$ORIGIN` of the main program is derived from.
    pub executable: BString,
    pub facts: Arc<FileFacts>,
    pub elf: Elf,
    pub is_library: bool,
    /// An empty list if the calls are to be kept one by one.
    pub sequence: Option<Vec<Call>>,
}

/// One object as a policy leaves it.
pub(crate) struct Mapped {
    pub path: BString,
    pub names: Vec<BString>,
    pub requested_by: Option<ObjectId>,
    pub found: Found,
    pub facts: Option<Arc<FileFacts>>,
}

/// A directory of a search path that does not exist, or that depends on the current directory.
pub(crate) struct DeadDirectory {
    pub directory: BString,
    pub source: Found,
    pub depends_on_cwd: bool,
}

/// The result of a policy.
pub(crate) struct Resolution {
    pub objects: Vec<Mapped>,
    pub edges: Vec<Edge>,
    pub calls: Calls,
    pub dead_directories: Vec<DeadDirectory>,
    /// Per object, where its requests are searched, in order; empty if not asked for.
    pub search: Vec<Vec<SearchDirectory>>,
    /// The loader's cache, if it was read.
    pub cache: Option<CacheView>,
}

impl Mapped {
    pub(crate) fn dynamic(&self) -> Option<&underpin_elf::Dynamic> {
        self.facts.as_ref()?.elf.as_ref().ok()?.dynamic.as_ref()
    }
}

impl Found {
    /// The same, with another numbering of objects.
    pub(crate) fn renumbered(&self, renumber: &dyn Fn(ObjectId) -> ObjectId) -> Found {
        match self {
            Found::Rpath { of } => Found::Rpath { of: renumber(*of) },
            Found::Runpath { of } => Found::Runpath { of: renumber(*of) },
            other => other.clone(),
        }
    }
}

impl Edge {
    pub(crate) fn renumber(&mut self, renumber: &dyn Fn(ObjectId) -> ObjectId) {
        self.from = renumber(self.from);
        if let Outcome::Loaded { object, found } = &mut self.outcome {
            *object = renumber(*object);
            *found = found.renumbered(renumber);
        }
        for one in &mut self.tries {
            one.source = one.source.renumbered(renumber);
        }
    }
}
