//! The files that the running underpin itself depends on.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Whether a file is the running program or an object that it has mapped (`/proc/self/exe`, `/proc/self/maps`,
/// proc(5)). Without `/proc` no file is recognised as its own.
pub(super) fn is_own(device: u64, inode: u64) -> bool {
    let is = |path: &Path| fs::metadata(path).is_ok_and(|meta| (meta.dev(), meta.ino()) == (device, inode));
    is(Path::new("/proc/self/exe")) || mapped().iter().any(|path| is(Path::new(OsStr::from_bytes(path))))
}

fn mapped() -> BTreeSet<Vec<u8>> {
    let maps = fs::read("/proc/self/maps").unwrap_or_default();
    let path = |line: &[u8]| line.iter().position(|&byte| byte == b'/').map(|at| line[at..].to_vec());
    maps.split(|&byte| byte == b'\n').filter_map(path).collect()
}
