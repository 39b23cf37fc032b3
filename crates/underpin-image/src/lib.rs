//! Images: some programs, what they need and a kernel, started in an emulator.
//!
//! ```text
//! Recipe + Layers -> Plan -> Tree -> Image -> Boot -> Record
//! ```
//!
//! | stage | is | module |
//! | --- | --- | --- |
//! | `Tree` | the files of a root file system as data: names, modes and owners are ours, never the host's | [`tree`] |
//! | kernel | fetched by version and checksum, kept by content | [`store`] |
//! | `Image` | a tree as bytes: an initramfs, with the guest's first process ([`init`]) in it | [`write`] |
//! | `Boot` | an image started under an emulator; the guest's side of the conversation is [`protocol`] | [`boot`] |
//!
//! A plan is data and can be shown before a byte is fetched. The same input gives the same bytes: no host time, owner, inode
//! number or order reaches an image. Nothing here prints.
#![forbid(unsafe_code)]

pub mod boot;
pub mod error;
pub mod init;
pub mod protocol;
pub mod store;
pub mod target;
pub mod tree;
pub mod write;

pub use error::ImageError;
pub use target::Target;
pub use tree::{Content, DeviceClass, Entry, Kind, Tree};
