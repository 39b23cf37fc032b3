//! A request becomes a toolchain, a plan, a built file, and a confirmation that the file is what was asked for.
//!
//! What is asked for is a [`Spec`]: processor, C library, linkage, allocator, overlay. The plan is data: commands, and
//! a private folder of names (`cc`, `ld`, `rustc`, ...) that all lead to the caller's own executable. Started under one
//! of them it acts as that [`tool`]: a pure function turns its arguments into another command. No shell script is
//! involved, and no build system has to know about any of this.
//!
//! The objects that are linked in (allocator, overlay) come as bytes from the caller: this crate knows neither. It prints
//! nothing, and starts programs only to ask toolchains what they are ([`toolchain`]); a build's commands are run by the caller.
#![forbid(unsafe_code)]

mod absent;
mod advice;
mod archive;
mod built;
mod cargo_config;
mod confirm;
mod error;
mod evidence;
mod manual;
mod note;
mod plan;
pub mod project;
mod request;
mod sdk;
mod spec;
mod telling;
pub mod tool;
pub mod toolchain;
mod work;

pub use absent::MuslHeader;
pub use advice::advice;
pub use built::{Artifact, Outputs, PlaceError, is_folder, may_replace, place};
pub use confirm::{Confirmation, Fact, confirm};
pub use error::BuildError;
pub use note::{NoteObjectError, has_note, note_object};
pub use plan::{LOCK_WAIT, Plan, STEP_LIMIT, Step};
pub use request::{Claim, Header, LinkObject, Places, Request};
pub use sdk::{Kit, TOOLS};
pub use spec::{Allocator, CLibrary, GlibcVersion, Goal, Linkage, Processor, Spec, SpecError, SpecText};
pub use telling::{telling, unseen};
pub use work::{Holder, Waited, WorkLock};
