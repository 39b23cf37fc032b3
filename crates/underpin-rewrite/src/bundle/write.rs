//! Writes a bundle beside its target, has its loader check it, and moves it there in one step: a bundle that exists is
//! complete.

use super::check::compare;
use super::model::{BundlePlan, IncludedBecause};
use super::{BundleCheck, BundleError, check, copies};
use bstr::ByteSlice;
use std::fs::{self, File, Permissions};
use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use underpin_resolve::Root;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// The plan of a bundle, in its directory: what is in it and why. It also distinguishes a bundle from any other
/// directory.
const MANIFEST: &str = "bundle.json";

/// What was written.
#[derive(Debug)]
pub struct Written {
    /// What to start: the program in the directory, or the file.
    pub entry: PathBuf,
    /// Bytes of all files.
    pub size: u64,
    /// What the bundle's loader reported.
    pub check: BundleCheck,
}

/// Writes a bundle to `target`, which must not exist, unless `replace` is set and it is a bundle.
///
/// # Errors
/// [`BundleError`]; nothing is left behind, and what was at the target is still there.
pub fn write(plan: &BundlePlan, root: &dyn Root, target: &Path, replace: bool) -> Result<Written, BundleError> {
    if fs::symlink_metadata(target).is_ok() {
        if !replace {
            return Err(BundleError::Exists(target.to_owned()));
        }
        if !is_bundle(target, plan) {
            return Err(BundleError::NoBundle(target.to_owned()));
        }
    }
    let temporary = Temporary::beside(target)?;
    let make = || {
        let (check, entry, size) = checked(plan, root, &temporary.path)?;
        if let Some(separate) = &plan.separate
            && matches!(check, BundleCheck::Agrees { .. })
        {
            let other = Temporary::beside(&target.with_added_extension("separate"))?;
            let (_, before, _) = checked(&separate.plan, root, &other.path)?;
            compare(separate, &before, &entry)?;
        }
        Ok((check, entry, size))
    };
    let (check, entry, size) = make().map_err(|error| temporary.hidden_in(error, target))?;
    let entry = target.join(entry.strip_prefix(&temporary.path).unwrap_or(Path::new("")));
    // Joining an empty path adds a slash.
    let entry = if copies::is_file(plan) { target.to_owned() } else { entry };
    temporary.sync()?;
    temporary.become_target(target)?;
    Ok(Written { entry, size, check })
}

fn is_bundle(target: &Path, plan: &BundlePlan) -> bool {
    if copies::is_file(plan) {
        fs::read(target).is_ok_and(|bytes| bytes.contains_str("underpin-bundle"))
    } else {
        target.join(MANIFEST).is_file()
    }
}

/// Writes a bundle and asks its loader.
fn checked(plan: &BundlePlan, root: &dyn Root, path: &Path) -> Result<(BundleCheck, PathBuf, u64), BundleError> {
    let write = if copies::is_file(plan) { file } else { directory };
    let (entry, size) = write(plan, root, path)?;
    Ok((check(plan, &entry)?, entry, size))
}

fn directory(plan: &BundlePlan, root: &dyn Root, top: &Path) -> Result<(PathBuf, u64), BundleError> {
    let mut size = 0;
    let mut entry = PathBuf::new();
    for item in &plan.items {
        let path = top.join(item.place.to_path_lossy());
        let is_program = item.reason == IncludedBecause::Program;
        let bytes = if is_program { copies::program_of_directory(plan, root)? } else { copies::bytes(root, item)? };
        let executable = is_program || item.reason == IncludedBecause::Loader || item.place.starts_with(b"bin/");
        put(&path, &bytes, if executable { 0o755 } else { 0o644 })?;
        size += bytes.len() as u64;
        if is_program {
            entry = path;
        }
    }
    for (place, bytes) in &plan.documents {
        put(&top.join(place.to_path_lossy()), bytes, 0o644)?;
        size += bytes.len() as u64;
    }
    for (link, target) in &plan.links {
        let path = top.join(link.to_path_lossy());
        let make = || -> io::Result<()> {
            fs::create_dir_all(path.parent().unwrap_or(top))?;
            std::os::unix::fs::symlink(target.to_path_lossy(), &path)
        };
        make().map_err(|error| failed(&path, error))?;
    }
    let manifest = serde_json::to_vec_pretty(plan).map_err(|error| failed(top, error.into()))?;
    put(&top.join(MANIFEST), &manifest, 0o644)?;
    Ok((entry, size))
}

fn file(plan: &BundlePlan, root: &dyn Root, path: &Path) -> Result<(PathBuf, u64), BundleError> {
    let bytes = archived(copies::program_of_file(plan, root)?, plan).map_err(|error| failed(path, error))?;
    put(path, &bytes, 0o755)?;
    Ok((path.to_owned(), bytes.len() as u64))
}

/// A file with the documents behind it; offsets of the archive count from the start of the file.
fn archived(file: Vec<u8>, plan: &BundlePlan) -> io::Result<Vec<u8>> {
    if plan.documents.is_empty() {
        return Ok(file);
    }
    let mut cursor = Cursor::new(file);
    cursor.seek(SeekFrom::End(0))?;
    let mut archive = ZipWriter::new(cursor);
    for (place, bytes) in &plan.documents {
        archive.start_file(place.to_str_lossy(), SimpleFileOptions::default())?;
        archive.write_all(bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}

fn put(path: &Path, bytes: &[u8], mode: u32) -> Result<(), BundleError> {
    let write = || -> io::Result<()> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut file = File::create_new(path)?;
        file.write_all(bytes)?;
        file.set_permissions(Permissions::from_mode(mode))
    };
    write().map_err(|error| failed(path, error))
}

fn failed(path: &Path, error: io::Error) -> BundleError {
    BundleError::Write { path: path.to_owned(), error }
}

/// What is being written; removed if it does not become the target.
struct Temporary {
    path: PathBuf,
}

impl Temporary {
    fn beside(target: &Path) -> Result<Temporary, BundleError> {
        let name = target.file_name().ok_or_else(|| failed(target, io::ErrorKind::InvalidInput.into()))?;
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let parent = parent.canonicalize().map_err(|error| failed(parent, error))?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}", std::process::id()));
        Ok(Temporary { path: parent.join(hidden) })
    }

    /// An error that names the target: the user did not ask for the temporary place, which is gone by then.
    fn hidden_in(&self, error: BundleError, target: &Path) -> BundleError {
        let shown = |said: &str| said.replace(&*self.path.to_string_lossy(), &target.to_string_lossy());
        match error {
            BundleError::Write { path, error } => {
                let path = match path.strip_prefix(&self.path) {
                    Ok(below) if below.as_os_str().is_empty() => target.to_owned(),
                    Ok(below) => target.join(below),
                    Err(_) => path,
                };
                BundleError::Write { path, error }
            }
            BundleError::Judge(said) => BundleError::Judge(shown(&said)),
            BundleError::NoAnswer(said) => BundleError::NoAnswer(shown(&said)),
            other => other,
        }
    }

    /// Waits until all of it is on disk: once for its whole file system, since a bundle may be thousands of small
    /// files.
    fn sync(&self) -> Result<(), BundleError> {
        let sync = || rustix::fs::syncfs(File::open(&self.path)?).map_err(io::Error::from);
        sync().map_err(|error| failed(&self.path, error))
    }

    fn become_target(self, target: &Path) -> Result<(), BundleError> {
        if target.is_dir() {
            fs::remove_dir_all(target).map_err(|error| failed(target, error))?;
        }
        fs::rename(&self.path, target).map_err(|error| failed(target, error))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.path.is_dir() {
            let _ = fs::remove_dir_all(&self.path);
        } else {
            let _ = fs::remove_file(&self.path);
        }
    }
}
