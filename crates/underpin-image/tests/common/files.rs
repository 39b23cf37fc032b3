//! What is below a folder.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Mode, time, and content, target or device number of all below a folder, by the path in it.
pub fn found(folder: &Path) -> BTreeMap<PathBuf, (u32, i64, Vec<u8>)> {
    let (mut all, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let data = path.symlink_metadata().unwrap();
            let content = if data.is_dir() {
                folders.push(path.clone());
                Vec::new()
            } else if data.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if data.is_file() {
                fs::read(&path).unwrap()
            } else {
                data.rdev().to_le_bytes().to_vec()
            };
            all.insert(path.strip_prefix(folder).unwrap().to_owned(), (data.mode(), data.mtime(), content));
        }
    }
    all
}
