//! Decides on the strings: from closures and a [`Policy`] to a [`BindPlan`], pure data, before any byte is changed.
//!
//! `model` is the plan as data. `decide` determines which name becomes which path, from facts and closures; it knows
//! nothing of bytes. `preview` reads bound files as their originals, asks `bytes` what each file would become, and
//! resolves every closure again on that. The planner repeats both until no closure would change.
//!
//! Invariants: a name is bound to the object that served it in the closure of every program that loads the file, never
//! to what one search alone would find; one file has one spelling in a whole plan; the loader itself is never bound;
//! `vn_file` of needed versions follows DT_NEEDED. What is left alone is in the plan, with the reason. Nothing here
//! writes a file or runs a program.

mod decide;
mod model;
mod planner;
mod policy;
mod preview;
mod scope;

pub use decide::signature::equal;
pub use model::{
    BindPlan, CallSum, Choice, Decision, Difference, EdgeNote, EdgePlan, Exclusion, FARMS, FUSED, Farm, FarmLink, Late,
    LeftAlone, LeftName, ObjectPlan, Origin, ProgramNote, ProgramPlan, RefusedBecause, RefusedObject, Reserve,
};
pub use planner::Planner;
pub use policy::{BuiltIn, Pattern, Policy, PolicyError, Shape};
pub use preview::reserve::reserve;
pub use preview::stale::stale_search;
pub use preview::unbound::UnboundRoot;
pub use scope::{Scope, ScopeFile, Skipped, SkippedBecause};
