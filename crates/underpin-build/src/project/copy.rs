//! A copy of a project's sources, for tools that would write into them.

use crate::BuildError;
use crate::work::{beside, remove};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;
use underpin_elf::Machine;
use underpin_resolve::root::lexical;

/// Folders of history and of other tools: big, and not sources. In a git worktree `.git` is a file.
const LEFT_OUT: [&str; 2] = [".git", "node_modules"];
/// The mark of a folder of results that can be made again (bford.info/cachedir): cargo's `target` and others.
const OF_CACHE: &str = "CACHEDIR.TAG";
/// Results of an earlier build in the sources, for another target than ours: `make` would take them as up to date.
const RESULTS: [&str; 5] = ["o", "lo", "la", "a", "gch"];
/// Machines of programs that an earlier build may have left.
const BUILT_FOR: [Machine; 5] = [Machine::I386, Machine::ARM, Machine::X86_64, Machine::AARCH64, Machine::RISCV];
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

/// Copies files, folders and links; a file with the same size and time is left alone, so that the next build finds
/// nothing changed. What an earlier copy brought and the sources no longer have is removed; what a build made is not. A
/// list beside the copy records which is which.
///
/// # Errors
/// If something cannot be read or written.
pub fn copy(copy: &Copy) -> Result<(), BuildError> {
    let to = &copy.to;
    let list = to.with_extension("list");
    let before = fs::read(&list).unwrap_or_default();
    let mut copied = BTreeSet::new();
    // One open folder at a time: a tree may be deeper than a process may have files open.
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        folder(copy, &below, &mut folders, &mut copied)?;
    }
    for name in before.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let name = Path::new(std::ffi::OsStr::from_bytes(name));
        // Not through a link that has replaced a folder: it may lead to the user's files.
        let is_ours = || {
            to.join(name).parent().and_then(|folder| folder.canonicalize().ok()).is_some_and(|folder| {
                to.canonicalize().is_ok_and(|to| folder == to.join(name.parent().unwrap_or(Path::new(""))))
            })
        };
        if !copied.contains(name) && is_ours() {
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

fn folder(
    copy: &Copy,
    below: &Path,
    folders: &mut Vec<PathBuf>,
    copied: &mut BTreeSet<PathBuf>,
) -> Result<(), BuildError> {
    let (from, to) = (copy.from.join(below), copy.to.join(below));
    // What was a file or a link may have become a folder: through a link the sources would be written to.
    if !fs::symlink_metadata(&to).is_ok_and(|data| data.is_dir()) {
        remove(&to)?;
        fs::create_dir_all(&to).map_err(BuildError::io(&to))?;
    }
    for entry in fs::read_dir(&from).map_err(BuildError::io(&from))? {
        let entry = entry.map_err(BuildError::io(&from))?;
        let (source, target, name) = (entry.path(), to.join(entry.file_name()), below.join(entry.file_name()));
        if LEFT_OUT.iter().any(|left_out| entry.file_name() == *left_out) {
            continue;
        }
        let kind = entry.file_type().map_err(BuildError::io(&source))?;
        if kind.is_dir() {
            if !source.join(OF_CACHE).is_file() {
                folders.push(name);
            }
        } else if kind.is_symlink() {
            link(copy, &name, &source, &target)?;
            copied.insert(name);
        } else if kind.is_file() && (copy.with_results || !is_result(&source)) {
            file(&source, &target)?;
            copied.insert(name);
        }
    }
    Ok(())
}

/// A link within the sources leads to the same file of the copy; a file elsewhere is copied, and a folder elsewhere is
/// linked to where it is.
fn link(copy: &Copy, name: &Path, source: &Path, target: &Path) -> Result<(), BuildError> {
    let to = fs::read_link(source).map_err(BuildError::io(source))?;
    let meant = normal(&source.parent().unwrap_or(Path::new("/")).join(&to));
    let to = if to.is_relative() && stays_within(name, &to) {
        to
    } else if let Ok(inside) = meant.strip_prefix(&copy.from) {
        copy.to.join(inside)
    } else {
        match fs::metadata(source) {
            Ok(data) if data.is_file() => return file(source, target),
            Ok(_) => source.canonicalize().map_err(BuildError::io(source))?,
            Err(_) => to,
        }
    };
    if fs::read_link(target).is_ok_and(|there| there == to) {
        return Ok(());
    }
    remove(target)?;
    std::os::unix::fs::symlink(to, target).map_err(BuildError::io(target))
}

/// Whether a relative link, on its way from the folder of its name, never leaves the tree.
fn stays_within(name: &Path, to: &Path) -> bool {
    let mut depth = name.components().count().saturating_sub(1);
    for component in to.components() {
        match component {
            Component::ParentDir if depth == 0 => return false,
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            _ => {}
        }
    }
    true
}

/// An absolute path without `.` and `..`, as text.
pub(super) fn normal(path: &Path) -> PathBuf {
    OsString::from_vec(lexical(path.as_os_str().as_bytes().into()).into()).into()
}

/// Written whole under another name first, so that an interrupted copy is not taken for the file.
fn file(source: &Path, target: &Path) -> Result<(), BuildError> {
    let data = fs::metadata(source).map_err(BuildError::io(source))?;
    let times = data.modified().map_err(BuildError::io(source))?;
    let now = SystemTime::now();
    match fs::symlink_metadata(target) {
        Ok(there) if there.is_file() && there.len() == data.len() => {
            let same_time = there.modified().is_ok_and(|there| there == times);
            if same_time || (times > now && has_same_bytes(source, target)) {
                return Ok(());
            }
        }
        Ok(there) if !there.is_file() => remove(target)?,
        _ => {}
    }
    let new = beside(target);
    let _ = fs::remove_file(&new);
    fs::copy(source, &new).map_err(BuildError::io(source))?;
    // Sources may be read-only; what builds here writes to some of them, and make compares times.
    let mode = data.permissions().mode() | 0o200;
    fs::set_permissions(&new, fs::Permissions::from_mode(mode)).map_err(BuildError::io(&new))?;
    let opened = fs::File::options().write(true).open(&new).map_err(BuildError::io(&new))?;
    // A time in the future would be newer than every result: make would never finish, and ninja gives up.
    opened.set_modified(times.min(now)).map_err(BuildError::io(&new))?;
    fs::rename(&new, target).map_err(BuildError::io(target))
}

fn has_same_bytes(one: &Path, other: &Path) -> bool {
    matches!((fs::read(one), fs::read(other)), (Ok(one), Ok(other)) if one == other)
}

/// Whether a file was made by an earlier build: by its name, or a program of a machine that one may have been for.
fn is_result(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let name = path.file_name().unwrap_or_default();
    RESULTS.contains(&ending) || CONFIGURED.iter().any(|configured| name == *configured) || is_program(path)
}

/// ELF of other machines is firmware, as among QEMU's sources (elf(5): `e_ident[EI_DATA]` is the order of `e_machine`'s bytes).
fn is_program(path: &Path) -> bool {
    let mut start = [0; 20];
    let is_read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok();
    let machine = [start[18], start[19]];
    let machine = if start[5] == 2 { u16::from_be_bytes(machine) } else { u16::from_le_bytes(machine) };
    is_read && start.starts_with(b"\x7fELF") && BUILT_FOR.contains(&Machine(machine))
}

#[cfg(test)]
mod tests;
