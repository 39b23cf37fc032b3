//! Images: some programs, what they need and a kernel, started in an emulator.
//!
//! ```text
//! Recipe + Layers -> Plan -> Tree -> Image -> Boot -> Record
//! ```
//!
//! | stage | is | module |
//! | --- | --- | --- |
//! | `Recipe`, `Layers` | how packages are built from source, and what layers change about it, with the line that gave each value | [`recipe`], [`layer`] |
//! | `Package` | a recipe as files, built once for each content of everything that it is made from | [`package`] |
//! | `Plan` | which files an image will hold and why: programs with their closures, what was added | [`plan`] |
//! | `Tree` | the files of a root file system as data: names, modes and owners are ours, never the host's | [`tree`] |
//! | packages | which of them a file is from, as dpkg's database on the disk has it ([`installed`]) or by the recipe; how many bytes of an image each is | [`image::size`] |
//! | kernel | fetched by version and checksum, kept by content | [`store`] |
//! | `Image` | a folder with kernel, initramfs, lock and manifest; trees become bytes in [`write`], with the guest's first process ([`init`]) | [`image`] |
//! | `Boot` | an image started under an emulator; the guest's side of the conversation is [`protocol`] | [`boot`] |
//! | container image | trees as an OCI image, and any image as files | [`oci`] |
//! | container | a container image that is run, by a runtime or in a guest | [`container`] |
//! | SDK | the tools that build for an image, and its C library, in a folder that may be moved | [`sdk`] |
//! | sources | what the packages of an image were built from, in a folder | [`sources`] |
//! | diagnosis | what the programs of an image need that is not in it | [`doctor`] |
//!
//! A plan is data and can be shown before a byte is fetched. The same input gives the same bytes: no host time, owner, inode
//! number or order reaches an image. Nothing here prints.
#![forbid(unsafe_code)]

pub mod boot;
pub mod container;
pub mod doctor;
pub mod error;
pub mod fips;
pub mod image;
pub mod init;
pub mod installed;
pub mod layer;
mod lock;
pub mod oci;
pub mod package;
pub mod plan;
pub mod protocol;
pub mod recipe;
mod root;
pub mod sdk;
pub mod sources;
pub mod spdx;
pub mod store;
pub mod target;
pub mod tree;
pub mod write;

pub use error::ImageError;
pub use image::Image;
pub use oci::OciError;
pub use target::{Format, Target};
pub use tree::{Content, DeviceClass, Entry, Kind, Tree};
