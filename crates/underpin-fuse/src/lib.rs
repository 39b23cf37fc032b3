//! Many shared libraries to one: what a program's libraries become when they are merged into a single shared object.
//!
//! The price of a start with a hundred libraries is the look-up of symbols in a scope of a hundred objects. Here every
//! symbolic relocation between the libraries is resolved once, by glibc's rules, and becomes a relative one; what
//! refers to the program, to glibc or to a library that stays shared remains a look-up. The program's code is untouched,
//! and each old soname leads to the one file, because glibc recognises an object by device and inode and remembers every
//! name that led to it: through links in the file's DT_RPATH, at start where something needs the name then, and otherwise
//! when something is opened for the first time.
//!
//! Facts and bytes in ([`Member`]), a [`Plan`] out, and bytes ([`Fused`]) from that:
//!
//! | module | answers |
//! | --- | --- |
//! | `machine` | what differs between processors |
//! | `object` | what one library says: segments, symbols with versions, relocations, initialisers |
//! | `members` | which libraries go in, and why the others stay shared |
//! | `opened` | which of them may be opened by name for a symbol that another one defines too |
//! | `names` | which old names the loader must know at start, and which it is told when something is opened |
//! | `answers` | what members hear when they ask which file they are in, and open it |
//! | `bind` | which definition the loader would give each reference |
//! | `layout` | where each member and its thread-local block lies |
//! | `relocate` | what becomes of each relocation |
//! | `tables` | dynamic symbols, GNU hash, versions |
//! | `frames` | one sorted table of unwind information |
//! | `arrays`, `protect` | what runs before and after the program: constructors in order, pages that become read-only |
//! | `dynamic`, `segments` | the dynamic section with its tables, program headers |
//! | `sections` | section headers and a symbol table for debuggers |
//! | `property` | what holds for the whole file because it holds for each member: branch targets, shadow stacks |
//! | `strangers` | what would be different if libraries that modules bring were loaded at start |
//! | `meaning` | what the file does for its program, to tell whether another one can use it |
//! | `note` | the list of members, from which a stale one is found |
//! | `write` | the file |
//!
//! Invariants: no I/O, no unsafe code; a member's bytes are kept whole, so every distance inside it holds; no segment is
//! writable and executable; what cannot be expressed keeps the library out or is a [`Refusal`], never a guess.
//! Files of other processors than those of `machine` are refused.
#![forbid(unsafe_code)]

mod answers;
mod arrays;
mod bind;
mod dynamic;
mod frames;
mod layout;
mod machine;
mod meaning;
mod members;
mod names;
pub mod note;
mod object;
mod opened;
mod property;
mod protect;
mod relative;
mod relocate;
mod sections;
mod segments;
mod strangers;
mod tables;
mod write;

pub use bind::{Binding, Target};
pub use meaning::Meaning;
pub use members::{Kept, KeptBecause};
pub use object::Malformed;
pub use strangers::{Stranger, strangers};

use bstr::BString;
use underpin_resolve::{EdgeKind, Found, Outcome};

/// One object of a program's closure: what the resolver says of it, and its bytes.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    /// The path by which the loader opened it.
    pub path: BString,
    /// The same with symbolic links resolved, which `Depth::Paths` finds out.
    pub real_path: BString,
    /// The names under which others request it, its soname included.
    pub names: Vec<BString>,
    /// The whole file.
    pub bytes: &'a [u8],
    /// Its modification time in nanoseconds since 1970.
    pub modified: i64,
    /// The objects that its DT_NEEDED led to, as indices.
    pub needs: Vec<usize>,
    /// Whether a search path of a file led to it, and not the cache or a default directory.
    pub by_path: bool,
    /// Whether it is the program's loader, which is there already: opened by a second path, it would be mapped twice.
    pub is_loader: bool,
    /// Whether the caller keeps it shared (a policy, a file beside it), and why.
    pub keep: Option<String>,
}

/// The closure of a program: object 0 is the program, the others follow in the order of the global scope.
#[derive(Clone, Debug)]
pub struct Closure<'a> {
    /// The objects.
    pub objects: Vec<Member<'a>>,
    /// The order in which constructors run, as indices.
    pub initialisation: Vec<usize>,
    /// Whether the objects are at their paths where the fused file is used, so that a member can be told its own.
    pub in_place: bool,
    /// Names that glibc itself may request while the program runs, by functions that are not dlopen: modules of its name
    /// service and what those need.
    pub opened_by_glibc: Vec<BString>,
}

/// The bytes of an object of a resolved closure, and its modification time in nanoseconds since 1970.
#[derive(Clone, Debug)]
pub struct Content {
    /// The whole file.
    pub bytes: Vec<u8>,
    /// Its modification time.
    pub modified: i64,
}

impl<'a> Closure<'a> {
    /// What the resolver found, with the content of each object in the same order.
    #[must_use]
    pub fn new(resolved: &underpin_resolve::Closure, contents: impl IntoIterator<Item = &'a Content>) -> Closure<'a> {
        let needs = |from: usize| {
            let edges = resolved.edges.iter().filter(move |edge| edge.from.0 == from);
            edges.filter_map(|edge| match &edge.outcome {
                Outcome::Loaded { object, .. } if edge.kind == EdgeKind::Needed => Some(object.0),
                _ => None,
            })
        };
        let objects = resolved.objects.iter().zip(contents).enumerate();
        let objects = objects.map(|(index, (object, content))| {
            let mut names = object.names.clone();
            names.extend(object.soname.iter().filter(|soname| !object.names.contains(soname)).cloned());
            Member {
                path: object.path.clone(),
                real_path: object.real_path.clone().unwrap_or_else(|| object.path.clone()),
                names,
                bytes: &content.bytes,
                modified: content.modified,
                needs: needs(index).collect(),
                by_path: matches!(object.found, Found::Rpath { .. } | Found::Runpath { .. } | Found::LibraryPath),
                is_loader: matches!(object.found, Found::Interpreter),
                keep: None,
            }
        });
        let initialisation = resolved.initialisation_order().iter().map(|id| id.0).collect();
        Closure { objects: objects.collect(), initialisation, in_place: true, opened_by_glibc: Vec::new() }
    }
}

/// How the fused file is named and reached.
#[derive(Clone, Debug)]
pub struct Names {
    /// Its DT_SONAME.
    pub soname: BString,
    /// The folder of links from each old name to it, absolute; the first of its DT_RPATH.
    pub links: BString,
    /// Whether its DT_RPATH has no other folder: everything that its members search for is in that one, or is not to be
    /// found.
    pub only_links: bool,
}

/// What a fusion would do, before a byte is computed.
#[derive(Debug)]
pub struct Plan {
    /// The objects that go in, in scope order, as indices of the closure.
    pub members: Vec<usize>,
    /// The objects that stay shared, and why.
    pub kept: Vec<Kept>,
}

/// A fused library.
#[derive(Debug)]
pub struct Fused {
    /// The file.
    pub bytes: Vec<u8>,
    /// Every name that must be a link to it in [`Names::links`].
    pub links: Vec<BString>,
    /// The new DT_NEEDED of the program, the fused library left out: it comes first.
    pub program_needs: Vec<BString>,
    /// What [`Fused::renames`] gives, without the old names of members.
    renames: Vec<(BString, BString)>,
    /// What each symbolic relocation of a member was bound to.
    pub bindings: Vec<Binding>,
    /// What the file does, to tell whether another program can use it.
    pub meaning: Meaning,
}

impl Fused {
    /// The names that a program holds otherwise than before, in DT_NEEDED and in the `vn_file` of needed versions, if it names
    /// the file by this path: old and new. Those of members become the path, because the loader may not know them at start.
    #[must_use]
    pub fn renames(&self, file: &BString) -> Vec<(BString, BString)> {
        let inside = self.links.iter().map(|name| (name.clone(), file.clone()));
        inside.chain(self.renames.iter().cloned()).collect()
    }
}

/// Why a closure cannot be fused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A file cannot be read.
    #[error("{path}: {error}")]
    Malformed {
        /// The file.
        path: BString,
        /// What is wrong, and where.
        error: Malformed,
    },
    /// The machine is not known here.
    #[error("{path}: not for 64-bit x86 or little-endian 64-bit ARM; only those can be fused")]
    Machine {
        /// The file.
        path: BString,
    },
    /// A whole program is out of reach.
    #[error("{path}: {why}")]
    Program {
        /// The file.
        path: BString,
        /// The reason.
        why: String,
    },
    /// A relocation that cannot be expressed in the fused file.
    #[error("{path}: relocation of type {kind} at {at:#x}: {why}")]
    Relocation {
        /// The file.
        path: BString,
        /// `r_type`.
        kind: u32,
        /// `r_offset`.
        at: u64,
        /// The reason.
        why: &'static str,
    },
    /// Fewer than two libraries would go in.
    #[error("{members} of its libraries can be merged, and it takes two")]
    NothingToFuse {
        /// How many.
        members: usize,
    },
}

/// Decides which objects go in.
///
/// # Errors
/// [`Refusal`] if the closure as a whole is out of reach.
pub fn plan(closure: &Closure) -> Result<Plan, Refusal> {
    let objects = object::read_all(closure)?;
    members::choose(closure, &objects)
}

/// Computes the fused library of a plan.
///
/// # Errors
/// [`Refusal`] if a relocation of a member cannot be expressed.
pub fn fuse(closure: &Closure, plan: &Plan, names: &Names) -> Result<Fused, Refusal> {
    let objects = object::read_all(closure)?;
    write::write(closure, &objects, plan, names)
}
