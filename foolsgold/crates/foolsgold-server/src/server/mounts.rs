//! Folders that the server serves itself.
//!
//! A file is opened below its folder under the kernel's own rule (openat2(2), RESOLVE_BENEATH), so neither `..` nor a
//! link leads out of it. A packed application's folders are those in its pack.

use super::files::Found;
use super::reply::Answer;
use crate::config::StaticMount;
use anyhow::Context;
use foolsgold_core::files::{Files, VPath};
use http::HeaderMap;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// A set of files, and the folder in it against which relative names of folders are resolved.
pub type Archive = (Arc<dyn Files>, VPath);

/// A folder that is served.
#[derive(Debug)]
pub(super) struct Mounted {
    prefix: String,
    folder: Arc<Folder>,
}

#[derive(Debug)]
enum Folder {
    /// On disk, held open: a folder that is moved into its place later is not served.
    Disk { folder: OwnedFd, path: PathBuf },
    /// In an archive.
    Archive { files: Arc<dyn Files>, folder: VPath },
}

impl Mounted {
    /// Opens the folder; a relative name is looked up in the archive, if there is one.
    pub(super) fn open(mount: &StaticMount, archive: Option<&Archive>) -> anyhow::Result<Mounted> {
        let prefix = mount.path.trim_end_matches('/').to_owned();
        let folder = match archive.filter(|_| mount.folder.is_relative()) {
            Some((files, root)) => {
                let folder = mount.folder.to_str().and_then(|name| root.join(name));
                let folder = folder.with_context(|| format!("{}: the name is not UTF-8", mount.folder.display()))?;
                Folder::Archive { files: Arc::clone(files), folder }
            }
            None => Folder::open(&mount.folder)?,
        };
        Ok(Mounted { prefix, folder: Arc::new(folder) })
    }

    /// The file's name below the folder, from a URL's path.
    fn name(&self, path: &str) -> Option<PathBuf> {
        let below = path.strip_prefix(self.prefix.as_str())?.strip_prefix('/')?;
        let decoded = decode(below)?;
        let mut name = PathBuf::new();
        for part in decoded.split('/') {
            match part {
                "" | "." => {}
                // Neither `..` nor hidden files.
                hidden if hidden.starts_with('.') => return None,
                part if part.contains('\0') => return None,
                part => name.push(part),
            }
        }
        Some(name)
    }
}

/// The answer from one of the folders. `None` if no folder has such a file: then the application answers.
pub(super) async fn mounted(mounts: &[Mounted], path: &str, headers: &HeaderMap) -> Option<Answer> {
    for mount in mounts {
        let Some(name) = mount.name(path) else { continue };
        let folder = Arc::clone(&mount.folder);
        let opened = spawn_blocking(move || folder.file(&name)).await;
        if let Ok(Ok(found)) = opened {
            return Some(found.answer(headers).await);
        }
    }
    None
}

impl Folder {
    fn open(path: &Path) -> anyhow::Result<Folder> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, path, flags, Mode::empty())
            .map_err(|error| anyhow::anyhow!("{}: the folder cannot be served: {error}", path.display()))?;
        Ok(Folder::Disk { folder, path: path.canonicalize().unwrap_or_else(|_| path.to_owned()) })
    }

    /// A regular file below the folder, or the index of a folder below it.
    fn file(&self, name: &Path) -> io::Result<Found> {
        let index = name.join("index.html");
        match self {
            Folder::Disk { folder, path } => {
                let name = if name.as_os_str().is_empty() { Path::new(".") } else { name };
                let file = beneath(folder, path, name)?;
                if file.metadata()?.is_dir() {
                    return Found::new(beneath(folder, path, &index)?, &index);
                }
                Found::new(file, name)
            }
            Folder::Archive { files, folder } => {
                [name, &index].into_iter().find_map(|name| packed(&**files, folder, name)).ok_or_else(missing)
            }
        }
    }
}

/// A file of an archive; `None` if there is none, if a link in the archive leads out of the folder, or if it cannot be
/// read.
fn packed(files: &dyn Files, folder: &VPath, name: &Path) -> Option<Found> {
    let real = files.identity(&folder.join(name.to_str()?)?)?;
    real.below(folder)?;
    let content = files.read(&real).ok()??;
    Some(Found::packed(content.text()?.clone(), files.hash(&real), name))
}

fn missing() -> io::Error {
    io::ErrorKind::NotFound.into()
}

fn beneath(folder: &OwnedFd, root: &Path, name: &Path) -> io::Result<File> {
    // Opening a FIFO must not wait for its writer.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    match openat2(folder, name, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS) {
        Ok(descriptor) => Ok(File::from(descriptor)),
        Err(Errno::NOSYS | Errno::PERM) => {
            // A kernel before 5.6, or a sandbox without the call: the path is resolved and compared with the folder
            // instead.
            let path = root.join(name).canonicalize()?;
            if path.starts_with(root) { File::open(path) } else { Err(missing()) }
        }
        Err(error) => Err(error.into()),
    }
}

/// Percent-decodes a path; `None` if that is not UTF-8 or an escape is invalid.
fn decode(path: &str) -> Option<String> {
    if !path.contains('%') {
        return Some(path.to_owned());
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'%' {
            let digits = rest.get(..2)?;
            let digit = |digit: u8| char::from(digit).to_digit(16);
            bytes.push((digit(digits[0])? * 16 + digit(digits[1])?) as u8);
            rest = &rest[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_never_leads_up_nor_to_what_is_hidden() {
        let folder = tempfile::tempdir().unwrap();
        let mount = StaticMount { path: "/assets/".into(), folder: folder.path().into() };
        let mounted = Mounted::open(&mount, None).unwrap();
        for (path, name) in
            [("/assets/a.css", "a.css"), ("/assets/a//b", "a/b"), ("/assets/%61%20b", "a b"), ("/assets/", "")]
        {
            assert_eq!(mounted.name(path), Some(name.into()), "{path}");
        }
        for path in [
            "/assets",
            "/assetsx/a",
            "/assets/../a",
            "/assets/%2e%2e/a",
            "/assets/a/..%2fb",
            "/assets/.git/config",
            "/assets/a%00b",
            "/assets/%",
            "/assets/%zz",
            "/assets/%ff",
        ] {
            assert_eq!(mounted.name(path), None, "{path}");
        }
    }
}
