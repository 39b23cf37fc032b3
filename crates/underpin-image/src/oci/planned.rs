//! An image that is not written yet, as the files and the configuration that a reader would find.

use super::files::{Bytes, Place};
use super::read::{Config, Form, Image};
use super::{FileKind, Files, Node};
use crate::tree::{Content, Kind, Tree};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The image of these layers, the lowest first.
#[must_use]
pub fn planned<'a>(layers: impl IntoIterator<Item = &'a Tree>, config: &Config, target: &Path) -> Image {
    let mut files = Files::default();
    let mut count = 0;
    for (layer, tree) in layers.into_iter().enumerate() {
        count += 1;
        for (path, entry) in tree.entries() {
            let kind = match &entry.kind {
                Kind::File(Content::Bytes(bytes)) => FileKind::Regular(Bytes(Place::Memory(bytes.clone()))),
                Kind::File(Content::Host { path, size }) => {
                    FileKind::Regular(Bytes(Place::Host { path: path.clone(), size: *size }))
                }
                Kind::Directory => FileKind::Directory,
                Kind::Symlink(to) => FileKind::Symlink(to.as_os_str().as_bytes().into()),
                Kind::Device { .. } => FileKind::Device,
            };
            let inode = files.fresh_inode();
            let node = Node { kind, mode: entry.mode, uid: entry.uid.into(), gid: entry.gid.into(), inode, layer };
            // A tree has directories above everything, so nothing is in the way.
            let _ = files.put(path.as_os_str().as_bytes().into(), node);
        }
    }
    let config = Some(config.clone());
    Image { path: target.to_owned(), form: Form::Layout, chosen: None, config, layers: count, files }
}
