//! A copy of a project's sources, for tools that would write into them.

use crate::BuildError;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Folders of results and of history: big, and no source. In a git worktree `.git` is a file.
const LEFT_OUT: [&str; 3] = ["target", ".git", "node_modules"];
/// What an earlier build in the sources left, for another target than ours: `make` would take it for done.
const RESULTS: [&str; 5] = ["o", "lo", "la", "a", "gch"];
/// What an earlier `configure` left.
const CONFIGURED: [&str; 3] = ["config.status", "config.cache", "config.log"];

/// A copy to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// The sources.
    pub from: PathBuf,
    /// The folder of the copy.
    pub to: PathBuf,
    /// Objects, archives and programs are sources too; else they are what an earlier build left.
    pub with_results: bool,
}

/// Copies files, folders and links; what is there already and has the same size and time is left as it is, so that the next
/// build finds nothing changed. What an earlier copy brought and the sources no longer have is removed; what a build made is
/// not. A second list beside the copy remembers which is which.
///
/// # Errors
/// If something cannot be read or written.
pub fn copy(copy: &Copy) -> Result<(), BuildError> {
    let (from, to) = (&copy.from, &copy.to);
    let list = to.with_extension("list");
    let before = fs::read(&list).unwrap_or_default();
    let mut copied = BTreeSet::new();
    folder(copy, from, to, Path::new(""), &mut copied)?;
    for name in before.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let name = Path::new(std::ffi::OsStr::from_bytes(name));
        if !copied.contains(name) {
            let _ = fs::remove_file(to.join(name));
        }
    }
    let mut text = Vec::new();
    for name in &copied {
        text.extend_from_slice(name.as_os_str().as_bytes());
        text.push(0);
    }
    fs::write(&list, text).map_err(BuildError::io(&list))
}

fn folder(copy: &Copy, from: &Path, to: &Path, below: &Path, copied: &mut BTreeSet<PathBuf>) -> Result<(), BuildError> {
    fs::create_dir_all(to).map_err(BuildError::io(to))?;
    for entry in fs::read_dir(from).map_err(BuildError::io(from))? {
        let entry = entry.map_err(BuildError::io(from))?;
        let (source, target, name) = (entry.path(), to.join(entry.file_name()), below.join(entry.file_name()));
        if LEFT_OUT.iter().any(|left_out| entry.file_name() == *left_out) {
            continue;
        }
        let kind = entry.file_type().map_err(BuildError::io(&source))?;
        if kind.is_dir() {
            folder(copy, &source, &target, &name, copied)?;
        } else if kind.is_symlink() {
            link(&source, &target)?;
            copied.insert(name);
        } else if kind.is_file() && (copy.with_results || !is_result(&source)) {
            file(&source, &target)?;
            copied.insert(name);
        }
    }
    Ok(())
}

fn link(source: &Path, target: &Path) -> Result<(), BuildError> {
    let to = fs::read_link(source).map_err(BuildError::io(source))?;
    if fs::read_link(target).is_ok_and(|there| there == to) {
        return Ok(());
    }
    let _ = fs::remove_file(target);
    std::os::unix::fs::symlink(to, target).map_err(BuildError::io(target))
}

/// The whole file under another name first: a copy that was cut short is not taken for one.
fn file(source: &Path, target: &Path) -> Result<(), BuildError> {
    if is_same(source, target) {
        return Ok(());
    }
    let mut new = target.as_os_str().to_owned();
    new.push(".underpin-new");
    let new = PathBuf::from(new);
    let _ = fs::remove_file(&new);
    fs::copy(source, &new).map_err(BuildError::io(&new))?;
    let data = fs::metadata(source).map_err(BuildError::io(source))?;
    // Sources may be read-only; what builds here writes to some of them, and make compares times.
    let mode = data.permissions().mode() | 0o200;
    fs::set_permissions(&new, fs::Permissions::from_mode(mode)).map_err(BuildError::io(&new))?;
    let times = data.modified().map_err(BuildError::io(source))?;
    let opened = fs::File::options().write(true).open(&new).map_err(BuildError::io(&new))?;
    opened.set_modified(times).map_err(BuildError::io(&new))?;
    fs::rename(&new, target).map_err(BuildError::io(target))
}

fn is_same(source: &Path, target: &Path) -> bool {
    let facts = |path: &Path| fs::symlink_metadata(path).and_then(|data| Ok((data.len(), data.modified()?))).ok();
    facts(target).is_some_and(|there| Some(there) == facts(source))
}

/// Whether a file was made by an earlier build: by its name, or a program of this machine by its first bytes.
fn is_result(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let name = path.file_name().unwrap_or_default();
    RESULTS.contains(&ending) || CONFIGURED.iter().any(|configured| name == *configured) || is_elf(path)
}

fn is_elf(path: &Path) -> bool {
    let mut magic = [0; 4];
    fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == *b"\x7fELF"
}
