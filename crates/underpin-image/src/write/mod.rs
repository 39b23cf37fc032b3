//! A tree as bytes.

pub mod cpio;
