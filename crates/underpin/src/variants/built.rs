//! A program of a project, built in several ways, in place of the one that a command names.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use underpin_bench::Proof;
use underpin_sys::RawPid;

/// One way to build, and its results. Exists only if what `check` reads in each file matches the request.
#[derive(Clone, Debug)]
pub struct Build {
    /// As the user wrote it: `musl+jemalloc`.
    pub text: String,
    /// The programs by their names.
    pub programs: BTreeMap<String, PathBuf>,
}

impl Build {
    /// The program that replaces a command's first word.
    #[must_use]
    pub fn program(&self, word: &Path) -> Option<&Path> {
        self.programs.get(word.file_name()?.to_str()?).map(PathBuf::as_path)
    }
}

/// Proves that a built file is what ran: its properties were confirmed when it was built.
#[derive(Debug)]
pub struct BuiltProgram(pub PathBuf);

impl Proof for BuiltProgram {
    fn took(&self, pid: RawPid) -> Result<(), String> {
        ran_as(pid, &self.0)
    }
}

/// Whether a process executes a file.
///
/// # Errors
/// What it executes instead, as a clause.
pub fn ran_as(pid: RawPid, program: &Path) -> Result<(), String> {
    let executed = fs::read_link(format!("/proc/{pid}/exe")).map_err(|error| format!("/proc/{pid}/exe: {error}"))?;
    if executed == program {
        return Ok(());
    }
    Err(format!("the process ended as {}, not as {}", executed.display(), program.display()))
}
