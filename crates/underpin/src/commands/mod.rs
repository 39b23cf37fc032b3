//! One module per verb: takes a plan, calls the libraries, fills the screen, returns how it ended.

pub mod bench;
pub mod bind;
pub mod build;
mod builds;
pub mod bundle;
pub mod check;
pub mod doctor;
mod fuse;
pub mod generate;
pub mod image;
pub mod run;
pub mod storm;
pub mod suite;
pub mod survey;
pub mod tags;
pub mod trace;
pub mod tree;
pub mod unbind;
pub mod verify;
