//! Which strings: from closures and a [`Policy`] to a [`BindPlan`], pure data, before a byte is changed.
//!
//! What always holds: a name is bound to the object that served it in the closure of each program (the global winner),
//! never to what one search alone would find; one file has one spelling in a whole plan; the loader itself is never
//! bound; `vn_file` of needed versions follows DT_NEEDED. What is left alone is in the plan, with the reason.
//! Nothing here writes a file or runs a program.

mod after;
mod ballot;
mod decide;
mod decision;
mod edits;
mod exclusions;
mod facts;
mod farm;
mod late;
mod links;
mod model;
mod originals;
mod outline;
mod planner;
mod policy;
mod reserve;
mod scope;
mod search;
mod shelves;
mod stale;
mod unbound;
mod view;
mod whole;

pub use decision::{Choice, Decision, Exclusion, LeftAlone, Origin};
pub use late::{Late, LeftName};
pub use links::{FARMS, Farm, FarmLink};
pub use model::{
    BindPlan, CallSum, Difference, EdgeNote, EdgePlan, ObjectPlan, ProgramNote, ProgramPlan, RefusedBecause,
    RefusedObject, Reserve,
};
pub use outline::equal;
pub use planner::Planner;
pub use policy::{BuiltIn, Pattern, Policy, PolicyError, Shape};
pub use reserve::reserve;
pub use scope::{Scope, ScopeFile, Skipped, SkippedBecause};
pub use stale::stale_search;
pub use unbound::UnboundRoot;
