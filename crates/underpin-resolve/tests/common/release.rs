//! The C library of another Debian release, as a real loader to ask.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_test_support::{Fixture, Output, skip};

/// The unpacked C library of a Debian release.
pub struct Release {
    /// Where the loader and libc.so.6 are.
    pub libraries: PathBuf,
}

impl Release {
    /// Unpacks it once into the build folder. `None`, with the reason printed, if that cannot be done here.
    pub fn get(suite: &str) -> Option<Release> {
        if !cfg!(target_arch = "x86_64") {
            skip("the C library of another release is taken for x86-64 only");
            return None;
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let directory = folder.join(format!("glibc-of-{suite}"));
        // Test programs are separate processes, hence a file lock; it is released when dropped.
        let lock = File::create(folder.join(format!("glibc-of-{suite}.lock"))).expect("a lock file");
        lock.lock().expect("the lock");
        if !directory.is_dir() {
            let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/common/other-glibc.sh");
            let output = Output::of(Command::new("sh").arg(script).arg(suite).arg(&directory));
            if output.code != Some(0) {
                skip(&format!("the C library of {suite} cannot be fetched: {}", output.stderr.trim()));
                return None;
            }
        }
        // Since the merge of /usr the packages themselves have nothing in /lib.
        let candidates = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"].map(|path| directory.join(path));
        let libraries = candidates.into_iter().find(|path| path.join("libc.so.6").exists());
        Some(Release { libraries: libraries.expect("libc.so.6 in the package libc6") })
    }

    /// The loader.
    pub fn loader(&self) -> PathBuf {
        self.libraries.join("ld-linux-x86-64.so.2")
    }

    /// Runs a program under that loader and with those libraries.
    pub fn run(&self, dir: &Fixture, program: &Path) -> Output {
        let mut command = dir.command(self.loader());
        Output::of(command.arg("--library-path").arg(&self.libraries).arg(program))
    }
}
