//! A plan as data: objects, their names and the outcome for each, programs, farms, differences.

mod decision;
mod difference;
mod farm;
mod plan;

pub use decision::{Choice, Decision, Exclusion, LeftAlone, Origin};
pub use difference::Difference;
pub(super) use farm::add as add_farm;
pub use farm::{FARMS, FUSED, Farm, FarmLink};
pub use plan::{
    BindPlan, CallSum, EdgeNote, EdgePlan, Late, LeftName, ObjectPlan, ProgramNote, ProgramPlan, RefusedBecause,
    RefusedObject, Reserve,
};
