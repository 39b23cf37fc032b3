//! The plan itself: objects with their names and edits, refused files, the predicted start of each program.

use super::decision::{Decision, Origin};
use super::difference::Difference;
use super::farm::Farm;
use crate::bytes::{LoadCost, PlacedString, Refusal, Rewrite};
use crate::edits::{BoundObject, Edits, RewriteOptions};
use crate::plan::policy::Shape;
use bstr::BString;
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};
use std::fmt;
use underpin_resolve::{CallName, Closure, FileId, LibcVersion};

/// What would be written, as data.
#[derive(Clone, Debug, Serialize)]
pub struct BindPlan {
    /// In which shape.
    pub shape: Shape,
    /// Files that would change, or that were examined and stay unchanged; each real file once, by path.
    pub objects: Vec<ObjectPlan>,
    /// Files that are not touched at all.
    pub refused: Vec<RefusedObject>,
    /// Programs of the scope, and what their start costs before and after.
    pub programs: Vec<ProgramPlan>,
    /// Directories of links to make.
    pub farms: Vec<Farm>,
}

/// One file.
#[derive(Clone, Debug, Serialize)]
pub struct ObjectPlan {
    /// The real file (no symbolic link in the path).
    pub path: BString,
    /// Other paths of the scope that are hard links to it.
    pub hard_links: Vec<BString>,
    /// Device and inode as planned.
    pub id: FileId,
    /// Its names, in file order.
    pub edges: Vec<EdgePlan>,
    /// The file carries a binding already; this plan is made from its original.
    pub bound_before: bool,
    /// The changes to the original.
    #[serde(skip)]
    pub edits: Edits,
    /// How to rewrite: the strategy of the policy, and the bound objects.
    #[serde(skip)]
    pub options: RewriteOptions,
    /// What the record will hold.
    pub bound: Vec<BoundObject>,
    /// The bytes, as patches to the original; `None` if nothing changes.
    #[serde(serialize_with = "placement")]
    pub rewrite: Option<Rewrite>,
}

/// One name of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EdgePlan {
    /// The name in the original file.
    pub name: BString,
    /// Where it is.
    pub origin: Origin,
    /// Whether `vn_file` of needed versions holds it too, and follows.
    pub has_versions: bool,
    /// The outcome.
    #[serde(flatten)]
    pub decision: Decision,
    /// How many programs of the scope load the file.
    pub programs: usize,
    /// Notes for the user.
    pub notes: Vec<EdgeNote>,
}

/// A note about a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "note")]
pub enum EdgeNote {
    /// The object's soname is not the requested name: dlopen(3) by the old name no longer finds the loaded object.
    SonameDiffers {
        /// Its DT_SONAME.
        soname: Option<BString>,
    },
    /// Another spelling of a path that the plan already uses for the same file.
    Respelled,
    /// The name stays: the search path leads to a link of that name.
    Linked,
}

/// A file that is not touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RefusedObject {
    /// Its path.
    pub path: BString,
    /// Why.
    #[serde(flatten)]
    pub because: RefusedBecause,
}

/// Why a file is not touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "because")]
#[non_exhaustive]
pub enum RefusedBecause {
    /// The loader's file.
    Loader,
    /// Its C library and its loader are not of the same release.
    LibcMismatch {
        /// The loader.
        loader: BString,
        /// Its version.
        loader_version: Option<LibcVersion>,
        /// The C library.
        libc: BString,
        /// Its version.
        libc_version: Option<LibcVersion>,
    },
    /// The bytes cannot be rewritten.
    Bytes {
        /// Why, as a sentence.
        #[serde(serialize_with = "sentence")]
        refusal: Refusal,
    },
    /// The record of an earlier binding cannot be undone.
    Record {
        /// Why, as a sentence.
        error: String,
    },
    /// The file cannot be opened or read.
    Unreadable {
        /// Why.
        error: String,
    },
    /// Flattening: musl knows an object that was opened by path by no other name.
    FlattenMusl,
    /// Flattening, farms: an object is requested by a name that is not its soname.
    OtherSoname {
        /// The object.
        object: BString,
        /// The requested name.
        name: BString,
        /// Its DT_SONAME.
        soname: Option<BString>,
    },
    /// Flattening, farms: a name of the closure is not found.
    MissingName {
        /// The name.
        name: BString,
    },
    /// Farms: a library may open more at run time by a search path relative to `$ORIGIN`, which is the farm if it was
    /// loaded through a link.
    OriginInFarm {
        /// The library.
        library: BString,
    },
    /// Relative: an object is outside the tree that may be moved.
    OutsideTree {
        /// The object.
        object: BString,
    },
    /// Relative: the loader is in the tree, and the kernel uses PT_INTERP unexpanded.
    LoaderInTree {
        /// The loader.
        loader: BString,
    },
    /// A directory of that name exists and is not a farm.
    FarmInTheWay {
        /// The directory.
        directory: BString,
    },
    /// Not a program of the scope, and this shape is for programs.
    NoProgram,
    /// After the binding the program would load something else: so nothing is bound.
    WouldChange {
        /// The differences.
        differences: Vec<Difference>,
    },
}

/// One program and its start.
#[derive(Clone, Debug, Serialize)]
pub struct ProgramPlan {
    /// The program's path, as passed to the loader.
    pub path: BString,
    /// Objects in its closure, the program included.
    pub objects: usize,
    /// Predicted calls of the loader now.
    pub before: CallSum,
    /// Predicted calls after; `None` if the closure after could not be predicted.
    pub after: Option<CallSum>,
    /// What it costs to look for a name that is opened while the program runs.
    pub late: Late,
    /// Names that are still searched for at the start, and the lookups that fail for each.
    pub left: Vec<LeftName>,
    /// Differences in what it loads: if there are any, the plan is not carried out for it.
    pub differences: Vec<Difference>,
    /// Notes for the user.
    pub notes: Vec<ProgramNote>,
}

/// A note about a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "note")]
pub enum ProgramNote {
    /// Relative: a file of the system, which stays where it is when the tree moves.
    OutsideTree {
        /// The file.
        object: BString,
    },
    /// Relative: a search path of a library contains the tree's current path.
    FixedSearchPath {
        /// The library.
        library: BString,
    },
}

/// Predicted calls of a loader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CallSum {
    /// All of them.
    pub calls: u64,
    /// Those that fail.
    pub failed: u64,
    /// mmap calls among them.
    pub mmap: u64,
    /// Whether the loader's version is one whose calls are modelled.
    pub modelled: bool,
}

/// What to pass to the linker so that a later binding fits without an additional segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reserve {
    /// The file.
    pub path: BString,
    /// Bytes of new strings that the plan needs.
    pub bytes: u64,
    /// Entries of the dynamic section that it adds.
    pub dynamic_tags: u64,
    /// Flags for the compiler driver.
    pub flags: Vec<String>,
}

/// The cost of a lookup for a name that is opened while a program runs (dlopen, NSS, gconv) and that no directory of
/// the search path holds: the highest of all objects that may request it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Late {
    /// Objects of the closure that import dlopen, the program first; without the C library itself.
    pub opened_by: Vec<BString>,
    /// Directories of DT_RPATH and DT_RUNPATH that are searched now.
    pub before: usize,
    /// Directories searched after the binding.
    pub after: usize,
}

/// A name that is left alone, and what it costs at each start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftName {
    /// The requested name.
    pub name: BString,
    /// Failing lookups: its share of those of a whole start, by the number of paths tried for it.
    pub lookups: u64,
}

impl CallSum {
    /// The predicted calls of a closure.
    #[must_use]
    pub fn of(closure: &Closure) -> CallSum {
        let total = closure.calls.total();
        let mmap = closure.calls.counts.get(&CallName::Mmap).map_or(0, |count| count.calls);
        CallSum { calls: total.calls, failed: total.errors, mmap, modelled: closure.calls.modelled }
    }
}

impl BindPlan {
    /// An empty plan.
    pub(in crate::plan) fn new(shape: Shape) -> BindPlan {
        BindPlan { shape, objects: Vec::new(), refused: Vec::new(), programs: Vec::new(), farms: Vec::new() }
    }

    /// Objects whose bytes change.
    pub fn changes(&self) -> impl Iterator<Item = &ObjectPlan> {
        self.objects.iter().filter(|object| !object.edits.is_empty())
    }

    /// The total cost at load and on disk.
    #[must_use]
    pub fn cost(&self) -> LoadCost {
        let costs = self.objects.iter().filter_map(|object| Some(object.rewrite.as_ref()?.cost));
        costs.fold(LoadCost::default(), |sum, cost| LoadCost {
            file_bytes: sum.file_bytes + cost.file_bytes,
            mapped_bytes: sum.mapped_bytes + cost.mapped_bytes,
            segments: sum.segments + cost.segments,
            mmap_calls: sum.mmap_calls + cost.mmap_calls,
            read_calls: sum.read_calls + cost.read_calls,
        })
    }
}

fn placement<S: Serializer>(rewrite: &Option<Rewrite>, serializer: S) -> Result<S::Ok, S::Error> {
    let Some(rewrite) = rewrite else { return serializer.serialize_none() };
    let mut shown = serializer.serialize_struct("Rewrite", 2)?;
    let placed: &[PlacedString] = &rewrite.placed;
    shown.serialize_field("placed", placed)?;
    shown.serialize_field("cost", &rewrite.cost)?;
    shown.end()
}

fn sentence<T: fmt::Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

impl fmt::Display for RefusedBecause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version =
            |version: &Option<LibcVersion>| version.map_or("unknown".to_owned(), |version| version.to_string());
        match self {
            RefusedBecause::Loader => f.write_str("the loader itself"),
            RefusedBecause::LibcMismatch { loader, loader_version, libc, libc_version } => write!(
                f,
                "its loader {loader} is of glibc {}, its C library {libc} of {}: binding would fix a pair that does not \
                 belong together",
                version(loader_version),
                version(libc_version)
            ),
            RefusedBecause::Bytes { refusal } => refusal.fmt(f),
            RefusedBecause::Record { error } => {
                write!(f, "bound before, and its original cannot be restored: {error}")
            }
            RefusedBecause::Unreadable { error } => write!(f, "cannot be read: {error}"),
            RefusedBecause::FlattenMusl => f.write_str(
                "musl knows an object that was opened by path by no other name, so its libraries would not find it \
                 (bind without --flatten)",
            ),
            RefusedBecause::OtherSoname { object, name, soname: Some(soname) } => write!(
                f,
                "{object} is asked for as {name} and calls itself {soname}: loaded by path, it would not answer to {name}"
            ),
            RefusedBecause::OtherSoname { object, name, soname: None } => {
                write!(f, "{object} has no soname: loaded by path, it would not answer to {name}")
            }
            RefusedBecause::MissingName { name } => write!(f, "{name} is not found, so the closure is not complete"),
            RefusedBecause::OriginInFarm { library } => write!(
                f,
                "{library} may open more at run time, and searches it from its own directory ($ORIGIN), which through \
                 the link of a farm is the farm (bind without --farm or --relative)"
            ),
            RefusedBecause::OutsideTree { object } => {
                write!(f, "{object} is outside the tree that is to be moved (add its prefix, or bind absolutely)")
            }
            RefusedBecause::LoaderInTree { loader } => write!(
                f,
                "its loader {loader} is in the tree that is to be moved, and the kernel takes that path as it is \
                 written (a bundle includes its loader)"
            ),
            RefusedBecause::FarmInTheWay { directory } => {
                write!(f, "{directory} exists and was not made here (remove it, or choose another with --farm-dir)")
            }
            RefusedBecause::NoProgram => f.write_str("not a program, and this shape is for programs"),
            RefusedBecause::WouldChange { differences } => {
                f.write_str("it would no longer load the same")?;
                for (index, difference) in differences.iter().take(3).enumerate() {
                    write!(f, "{} {difference}", if index == 0 { ":" } else { ";" })?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for ProgramNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProgramNote::OutsideTree { object } => write!(f, "{object} belongs to the system and stays where it is"),
            ProgramNote::FixedSearchPath { library } => write!(
                f,
                "{library} may open more at run time and searches it by the tree's present place: after a move that is \
                 not found"
            ),
        }
    }
}

impl fmt::Display for EdgeNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EdgeNote::SonameDiffers { soname: Some(soname) } => {
                write!(f, "its soname is {soname}: dlopen by the old name no longer meets it")
            }
            EdgeNote::SonameDiffers { soname: None } => {
                f.write_str("it has no soname: dlopen by the old name no longer meets it")
            }
            EdgeNote::Linked => f.write_str("the name stays, and a link of the farm leads there"),
            EdgeNote::Respelled => f.write_str("the same file under the one spelling that the plan uses"),
        }
    }
}
