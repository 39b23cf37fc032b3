//! The same files as a machine's image, to be booted where no runtime works.

use crate::oci::{FileKind, Image};
use crate::plan::{Layer, Plan, machine_base};
use crate::{Content, Entry, ImageError, Kind, Target, Tree};
use bstr::ByteSlice;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use underpin_resolve::Root;

/// No single file of an image that is started in memory is larger.
const LARGEST: u64 = 4 << 30;

/// A plan for the files of a container's image and a first process of ours.
///
/// # Errors
/// If a file cannot be read, or the processor has no first process.
pub fn plan(image: &Image, target: Target) -> Result<Plan, ImageError> {
    let mut tree = Tree::new(0);
    for (path, node) in image.files.iter() {
        let absolute = [b"/", path.as_bytes()].concat();
        let kind = match &node.kind {
            FileKind::Regular(_) => {
                let bytes = image.files.read(absolute.as_bstr(), LARGEST);
                let reason = |error: underpin_resolve::PathError| format!("/{path}: {error}");
                let bytes =
                    bytes.map_err(|error| ImageError::Container { path: image.path.clone(), reason: reason(error) })?;
                Kind::File(Content::from(bytes))
            }
            FileKind::Directory => Kind::Directory,
            FileKind::Symlink(target) => Kind::Symlink(PathBuf::from(OsStr::from_bytes(target))),
            FileKind::Fifo | FileKind::Device => continue,
        };
        let id = |id: u64| u32::try_from(id).unwrap_or(u32::MAX - 1);
        tree.add(OsStr::from_bytes(path), Entry { kind, mode: node.mode, uid: id(node.uid), gid: id(node.gid) })?;
    }
    let base = machine_base(target, 0)?;
    let layers = vec![Layer { name: "base", tree: base }, Layer { name: "container", tree }];
    Ok(Plan {
        target,
        layers,
        reasons: Vec::new(),
        command: PathBuf::new(),
        programs: Vec::new(),
        remarks: Vec::new(),
        packages: Vec::new(),
        installed: Vec::new(),
        owners: BTreeMap::new(),
        known: crate::doctor::Known::default(),
    })
}
