//! The file system of this machine, whole or seen from a sysroot folder.
//!
//! In a sysroot, symbolic links are followed as a process whose root is that folder would follow them: an absolute
//! link stays inside, `..` stops at the top.

use super::{FileId, FileKind, Meta, Opened, PathError, Root};
use bstr::{BStr, BString, ByteSlice};
use std::collections::VecDeque;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use underpin_elf::Source;

/// As many symbolic links as the kernel follows (`MAXSYMLINKS`, path_resolution(7)).
const MAX_LINKS: usize = 40;

/// This machine's files.
#[derive(Clone, Debug, Default)]
pub struct HostRoot {
    sysroot: Option<PathBuf>,
}

impl HostRoot {
    /// The whole file system of this machine.
    #[must_use]
    pub fn new() -> HostRoot {
        HostRoot { sysroot: None }
    }

    /// The tree below a folder, as a process would see it that has the folder as its root.
    #[must_use]
    pub fn sysroot(directory: impl Into<PathBuf>) -> HostRoot {
        let directory: PathBuf = directory.into();
        HostRoot { sysroot: (directory != Path::new("/")).then_some(directory) }
    }

    /// The path on this machine behind a path inside the root, whether there is a file or not.
    ///
    /// # Errors
    /// If too many links follow each other.
    pub fn locate(&self, path: &BStr) -> Result<PathBuf, PathError> {
        let native = Path::new(std::ffi::OsStr::from_bytes(path));
        match &self.sysroot {
            None => Ok(native.to_path_buf()),
            Some(top) => walk(top, native).map(|inside| join(top, &inside)),
        }
    }
}

fn join(top: &Path, inside: &[Vec<u8>]) -> PathBuf {
    let mut path = top.to_path_buf();
    for name in inside {
        path.push(std::ffi::OsStr::from_bytes(name));
    }
    path
}

fn components(path: &[u8]) -> impl DoubleEndedIterator<Item = Vec<u8>> + '_ {
    path.split(|&byte| byte == b'/').filter(|part| !part.is_empty() && *part != b".").map(<[u8]>::to_vec)
}

/// Follows every symbolic link of `path` inside `top`; returns the components below `top`.
fn walk(top: &Path, path: &Path) -> Result<Vec<Vec<u8>>, PathError> {
    let mut ahead: VecDeque<Vec<u8>> = components(path.as_os_str().as_bytes()).collect();
    let mut inside: Vec<Vec<u8>> = Vec::new();
    let mut links = 0;
    while let Some(name) = ahead.pop_front() {
        if name == b".." {
            inside.pop();
            continue;
        }
        inside.push(name);
        let Ok(target) = fs::read_link(join(top, &inside)) else { continue };
        links += 1;
        if links > MAX_LINKS {
            return Err(PathError::Loop);
        }
        inside.pop();
        let target = target.into_os_string().into_vec();
        if target.first() == Some(&b'/') {
            inside.clear();
        }
        for name in components(&target).rev() {
            ahead.push_front(name);
        }
    }
    Ok(inside)
}

fn meta(metadata: &Metadata) -> Meta {
    let kind = metadata.file_type();
    let mode = metadata.permissions().mode();
    Meta {
        id: FileId { device: metadata.dev(), inode: metadata.ino() },
        kind: if kind.is_file() {
            FileKind::Regular
        } else if kind.is_dir() {
            FileKind::Directory
        } else if kind.is_fifo() {
            FileKind::Fifo
        } else {
            FileKind::Other
        },
        size: metadata.len(),
        modified: metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec()),
        set_user_id: mode & libc::S_ISUID != 0,
        secure_execution: mode & (libc::S_ISUID | libc::S_ISGID) != 0,
    }
}

struct OpenFile {
    file: File,
    size: u64,
}

impl Source for OpenFile {
    fn len(&self) -> u64 {
        self.size
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buf, offset)
    }
}

impl Root for HostRoot {
    fn open(&self, path: &BStr) -> Result<Opened, PathError> {
        let native = self.locate(path)?;
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(native)
            .map_err(|error| PathError::of(&error))?;
        let meta = meta(&file.metadata().map_err(|error| PathError::of(&error))?);
        let size = if meta.kind == FileKind::Regular { meta.size } else { 0 };
        Ok(Opened { meta, source: Arc::new(OpenFile { file, size }) })
    }

    fn stat(&self, path: &BStr) -> Result<Meta, PathError> {
        fs::metadata(self.locate(path)?).map(|metadata| meta(&metadata)).map_err(|error| PathError::of(&error))
    }

    fn real_path(&self, path: &BStr) -> Result<BString, PathError> {
        match &self.sysroot {
            None => fs::canonicalize(Path::new(std::ffi::OsStr::from_bytes(path)))
                .map(|real| real.into_os_string().into_vec().into())
                .map_err(|error| PathError::of(&error)),
            Some(top) => {
                let inside = walk(top, Path::new(std::ffi::OsStr::from_bytes(path)))?;
                fs::metadata(join(top, &inside)).map_err(|error| PathError::of(&error))?;
                let mut real = Vec::new();
                for name in inside {
                    real.push(b'/');
                    real.extend(name);
                }
                Ok(if real.is_empty() { "/".into() } else { real.into() })
            }
        }
    }

    fn read_link(&self, path: &BStr) -> Option<BString> {
        let native = match &self.sysroot {
            None => Path::new(std::ffi::OsStr::from_bytes(path)).to_path_buf(),
            Some(top) => {
                let slash = path.rfind_byte(b'/')?;
                let parent = walk(top, Path::new(std::ffi::OsStr::from_bytes(&path[..slash]))).ok()?;
                join(top, &parent).join(std::ffi::OsStr::from_bytes(&path[slash + 1..]))
            }
        };
        fs::read_link(native).ok().map(|target| target.into_os_string().into_vec().into())
    }

    fn list(&self, directory: &BStr) -> Result<Vec<BString>, PathError> {
        let entries = fs::read_dir(self.locate(directory)?).map_err(|error| PathError::of(&error))?;
        Ok(entries.filter_map(|entry| Some(entry.ok()?.file_name().into_vec().into())).collect())
    }

    fn kernel(&self) -> Option<[u8; 3]> {
        if self.sysroot.is_some() {
            return None;
        }
        kernel_version(&fs::read_to_string("/proc/sys/kernel/osrelease").ok()?)
    }

    fn current_directory(&self) -> BString {
        if self.sysroot.is_some() {
            return "/".into();
        }
        std::env::current_dir().map_or_else(|_| "/".into(), |path| path.into_os_string().as_bytes().as_bstr().into())
    }
}

/// The numbers of a release such as `6.1.0-18-amd64`; a number that does not fit into a byte becomes 255.
fn kernel_version(release: &str) -> Option<[u8; 3]> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(|digits| {
        let number: Option<u64> = digits.parse().ok();
        number.map(|number| u8::try_from(number).unwrap_or(u8::MAX))
    });
    Some([numbers.next()??, numbers.next()??, numbers.next().flatten().unwrap_or(0)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn the_version_of_a_kernel_is_three_bytes() {
        assert_eq!(kernel_version("6.1.0-18-amd64\n"), Some([6, 1, 0]));
        assert_eq!(kernel_version("4.9.337"), Some([4, 9, 255]));
        assert_eq!(kernel_version("5.10"), Some([5, 10, 0]));
        assert_eq!(kernel_version("unknown"), None);
    }

    #[test]
    fn an_absolute_link_stays_inside_the_sysroot() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("usr/lib")).unwrap();
        fs::write(top.path().join("usr/lib/libx.so"), "x").unwrap();
        symlink("/usr/lib", top.path().join("lib")).unwrap();
        let root = HostRoot::sysroot(top.path());
        assert_eq!(root.stat("/lib/libx.so".into()).unwrap().size, 1);
        assert_eq!(root.real_path("/lib/libx.so".into()).unwrap(), "/usr/lib/libx.so");
    }

    #[test]
    fn dot_dot_stops_at_the_top_of_the_sysroot() {
        let top = tempfile::tempdir().unwrap();
        fs::write(top.path().join("a"), "x").unwrap();
        let root = HostRoot::sysroot(top.path());
        assert!(root.stat("/../../a".into()).is_ok());
    }

    #[test]
    fn a_cycle_of_links_is_eloop() {
        let top = tempfile::tempdir().unwrap();
        symlink("b", top.path().join("a")).unwrap();
        symlink("a", top.path().join("b")).unwrap();
        assert_eq!(HostRoot::sysroot(top.path()).stat("/a".into()), Err(PathError::Loop));
        let direct = top.path().join("a");
        assert_eq!(HostRoot::new().stat(direct.as_os_str().as_bytes().as_bstr()), Err(PathError::Loop));
    }
}
