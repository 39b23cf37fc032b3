//! Reading one ELF file in full: what `check` needs to know about a program and the objects shipped with it.

use crate::input::{self, InputError};
use anyhow::Context;
use bstr::ByteSlice;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use underpin_elf::{Details, Elf, FileSource};
use underpin_resolve::compat::ObjectFacts;

/// One file, read in full.
#[derive(Debug)]
pub struct Object {
    /// What a loader reads.
    pub elf: Elf,
    /// The rest.
    pub details: Details,
    /// What compatibility depends on.
    pub facts: ObjectFacts,
    /// Size in bytes.
    pub size: u64,
}

impl Object {
    /// Reads a file; `name` is its name in the output.
    ///
    /// # Errors
    /// If it cannot be read, is not an ELF file, or is damaged: with its path, and the offset if there is one.
    pub fn read(path: &Path, name: &[u8]) -> anyhow::Result<Object> {
        let of = || path.display().to_string();
        let file = File::open(path).with_context(of)?;
        let size = file.metadata().with_context(of)?.len();
        let source = FileSource::new(file).with_context(of)?;
        let elf = Elf::read(&source).with_context(of)?;
        let details = Details::read(&source, &elf).with_context(of)?;
        let facts = ObjectFacts::from_elf(name, &elf, &details)?;
        Ok(Object { elf, details, facts, size })
    }
}

/// Whether a file belongs to the distribution: links resolved, it is below `/usr` and not below `/usr/local`, which is
/// the administrator's (Filesystem Hierarchy Standard 3.0, 4.1 and 4.9).
#[must_use]
pub fn is_of_distribution(path: &Path) -> bool {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real.starts_with("/usr") && !real.starts_with("/usr/local") && !real.starts_with("/usr/src")
}

/// The shared libraries in and below a folder, by path: they are shipped with a program. Other files are skipped.
///
/// # Errors
/// If the folder cannot be listed, or a file in it may not be read. A damaged library is skipped: the verdict then says
/// that nothing is known about it.
pub fn companions(folder: &Path) -> anyhow::Result<Vec<ObjectFacts>> {
    let mut found = Vec::new();
    for path in elf_files_below(folder)? {
        let name = path.file_name().unwrap_or_default().as_bytes().as_bstr();
        // An object file or a core dump beside the libraries is not a reason to refuse them.
        if let Ok(object) = Object::read(&path, name) {
            found.push(object.facts);
        }
    }
    Ok(found)
}

/// The ELF files in and below a folder, by path; other files are skipped.
///
/// # Errors
/// If the folder cannot be listed, or a file in it may not be read, since it could be one.
pub fn elf_files_below(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in files_below(folder)? {
        match input::require_elf(&path, "check") {
            Ok(()) => found.push(path),
            Err(InputError::Denied(path)) => return Err(InputError::Denied(path).into()),
            Err(_) => {}
        }
    }
    Ok(found)
}

/// Every regular file in and below a folder, by name. Symbolic links in it are not followed: their targets are either
/// in the folder themselves or were not named.
///
/// # Errors
/// If a folder cannot be read.
pub fn files_below(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    walk(folder, &mut files)?;
    Ok(files)
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let read = || format!("cannot read the folder {}", folder.display());
    let mut entries = fs::read_dir(folder).with_context(read)?.collect::<Result<Vec<_>, _>>().with_context(read)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&entry.path(), files)?,
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
    Ok(())
}
