//! Another release of Debian, unpacked once into the build directory: its C library and its shell.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_test_support::{Output, skip};

/// Where libc.so.6 of the release is. `None`, with the reason printed, if it cannot be fetched here.
pub fn release(suite: &str) -> Option<PathBuf> {
    if !cfg!(target_arch = "x86_64") {
        skip("packages of another release are taken for x86-64 only");
        return None;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let directory = folder.join(format!("root-of-{suite}"));
    // Test programs are processes: a file lock is needed, which is released when it is dropped.
    let lock = File::create(folder.join(format!("root-of-{suite}.lock"))).expect("a lock file");
    lock.lock().expect("the lock");
    if !directory.is_dir() {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../underpin-resolve/tests/common/other-glibc.sh");
        let mut command = Command::new("sh");
        let output = Output::of(command.arg(script).arg(suite).arg(&directory).args(["libc6", "dash"]));
        if output.code != Some(0) {
            skip(&format!("packages of {suite} cannot be fetched: {}", output.stderr.trim()));
            return None;
        }
    }
    let candidates = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"].map(|path| directory.join(path));
    let libraries = candidates.into_iter().find(|path| path.join("libc.so.6").exists());
    Some(libraries.expect("libc.so.6 in the package libc6"))
}

/// A copy of a release with `/lib`, `/lib64` and `/bin` as on an installed machine.
#[allow(dead_code, reason = "each test file uses its own part")]
pub fn merged(release: &Path, below: &Path) -> PathBuf {
    let root = below.join("sysroot");
    let mut copy = Command::new("cp");
    copy.arg("-a").arg(release).arg(&root);
    assert_eq!(Output::of(&mut copy).code, Some(0));
    for name in ["lib", "lib64", "bin"] {
        let path = root.join(name);
        if std::fs::symlink_metadata(&path).is_err() && root.join("usr").join(name).is_dir() {
            symlink(Path::new("usr").join(name), &path).expect("a link");
        }
    }
    root
}
