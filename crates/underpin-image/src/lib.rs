//! Images: some programs, what they need and a kernel, started in an emulator.
//!
//! ```text
//! Recipe + Layers -> Plan -> Tree -> Image -> Boot -> Record
//! ```
//!
//! | stage | is | module |
//! | --- | --- | --- |
//! | `Tree` | the files of a root file system as data: names, modes and owners are ours, never the host's | [`tree`] |
//!
//! A plan is data and can be shown before a byte is fetched. The same input gives the same bytes: no host time, owner, inode
//! number or order reaches an image. Nothing here prints.
#![forbid(unsafe_code)]

pub mod error;
pub mod tree;

pub use error::ImageError;
pub use tree::{Content, DeviceClass, Entry, Kind, Tree};
