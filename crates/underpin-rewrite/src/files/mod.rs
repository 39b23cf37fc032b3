//! Replaces the bytes of one file or of thousands, so that at every instant the old or the new file is there.
//!
//! [`replace`] is the only way to write to a disk: a temporary file beside the target, with everything kept that the
//! target had, then the question to the real loader ([`Verifier`], [`verify_rewritten`]) and only then a rename.
//! [`run_all`] does that for a whole tree, each object once, and [`status_all`] reports what is there. Any failure
//! leaves the old file and no temporary. What is bound is not decided here: that is the plan's task.

mod attributes;
mod change;
mod driver;
mod error;
mod farm;
mod identity;
mod job;
mod keep;
mod leftovers;
mod own;
mod replace;
mod status;
mod temporary;
mod verifier;
mod verify;

pub use attributes::has_privileges;
pub use driver::run_all;
pub use error::{Disagreement, ReplaceError};
pub use farm::{FarmError, FarmMade, farm_at, farms_of, make_farm, remove_farm, remove_unused};
pub use identity::FileIdentity;
pub use job::{Job, JobKind, JobOutcome, JobPhase, Jobs, JobsSummary, NullProgress, ObjectResult, Progress};
pub use keep::{HardLinks, Keep, Replaced, Times};
pub use leftovers::{Leftovers, clean};
pub use replace::{HeldFile, replace};
pub use status::{StaleReason, Status, has_moved, place_of, stale_at, status, status_all, undoable};
pub use verifier::{Bindings, ListedObject, Listing, NotAsked, Opinion, TIME_LIMIT, Verifier};
pub use verify::{Baseline, BoundName, Verified, verify_rewritten};
