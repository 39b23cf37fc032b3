//! From arguments to plans: the one step that looks at the system before a verb starts.
//!
//! A plan holds what was found out (files that exist, systems that the table knows, calls that have a number), so that
//! nothing but the work itself can fail in a command.

mod bench;
mod bind;
mod build;
mod bundle;
mod check;
mod image;
mod parameters;
mod run;
mod serve;
mod storm;
mod suite;
mod survey;
mod tags;
mod target;
mod trace;
mod tree;
mod variants;
mod verify;

pub use bench::{BenchPlan, Form, ReportPlan, ResultPlan, now};
pub use bind::{Action, BindRequest, UnbindPlan};
pub use build::{BuildPlan, Printed, cache};
pub use bundle::BundleCommand;
pub use check::CheckPlan;
pub use image::{
    Built as BuiltPackages, ContainedRunPlan, Container, ImageBuildPlan, ImageComparePlan, ImageFipsPlan, ImageRunPlan,
    ImageSdkPlan, ImageSizePlan, ImageSourcesPlan, MachineFiles, MayFail, Means, guest_environment, guest_memory,
    libc_of, store as image_store, target as image_target,
};
pub use run::RunPlan;
pub use storm::StormPlan;
pub use suite::{Original, SuitePlan};
pub use survey::{Format, SurveyPlan};
pub use tags::TagsPlan;
pub use target::Target;
pub use trace::{TracePlan, survey_options};
pub use tree::{Output, Targets, TreePlan};
pub use verify::VerifyPlan;
