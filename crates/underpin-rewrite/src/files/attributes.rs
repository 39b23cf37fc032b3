//! Mode, owner, extended attributes and times of a file, carried over to the file that replaces it.
//!
//! The order is the kernel's: chown(2) clears set-ID bits and file capabilities, a write clears them too, so the bytes
//! come first, then the owner, the mode, the attributes (POSIX ACLs and `security.capability` are attributes), and the
//! times last. What was set is read back: some file systems and user namespaces drop bits without an error.

use super::ReplaceError;
use rustix::fs::{Gid, Mode, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Permission, set-ID and sticky bits of `st_mode`.
const MODE_BITS: u32 = 0o7777;
/// `FS_VERITY_FL` (linux/fs.h), which rustix does not define.
const FS_VERITY: u32 = 0x0010_0000;
/// The largest value that the kernel allows (`XATTR_SIZE_MAX`, xattr(7)), and the largest list.
const XATTR_LIMIT: usize = 65_536;

/// A file's metadata that is kept.
#[derive(Clone, Debug)]
pub(super) struct Attributes {
    mode: u32,
    user: u32,
    group: u32,
    extended: Extended,
    times: Timestamps,
}

/// Extended attributes by name.
type Extended = BTreeMap<Vec<u8>, Vec<u8>>;

impl Attributes {
    /// Reads them, and refuses a file whose attributes forbid replacing it.
    pub(super) fn read(file: &File, metadata: &Metadata, path: &Path) -> Result<Attributes, ReplaceError> {
        refuse_flags(file, path)?;
        let extended = extended(file).map_err(ReplaceError::io(path, "reading its extended attributes"))?;
        for (name, by) in [(&b"security.ima"[..], "IMA"), (b"security.evm", "EVM")] {
            if extended.contains_key(name) {
                return Err(ReplaceError::Signed { path: path.into(), by });
            }
        }
        let time = |seconds, nanoseconds| Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
        Ok(Attributes {
            mode: metadata.mode() & MODE_BITS,
            user: metadata.uid(),
            group: metadata.gid(),
            extended,
            times: Timestamps {
                last_access: time(metadata.atime(), metadata.atime_nsec()),
                last_modification: time(metadata.mtime(), metadata.mtime_nsec()),
            },
        })
    }

    /// Sets them on a file that has all its bytes already. `path` is the file that they come from, for the errors.
    pub(super) fn apply(&self, to: &File, path: &Path) -> Result<(), ReplaceError> {
        let status = ReplaceError::io(path, "reading the attributes of its copy");
        let metadata = to.metadata().map_err(status)?;
        if (metadata.uid(), metadata.gid()) != (self.user, self.group) {
            rustix::fs::fchown(to, Some(Uid::from_raw(self.user)), Some(Gid::from_raw(self.group)))
                .map_err(|_| ReplaceError::OwnerNotKept { path: path.into(), user: self.user, group: self.group })?;
        }
        rustix::fs::fchmod(to, Mode::from_raw_mode(self.mode)).map_err(|error| lost("mode", &error, path))?;
        self.apply_extended(to, path)?;
        self.check(to, path)
    }

    /// Sets the old times on the copy.
    pub(super) fn apply_times(&self, to: &File, path: &Path) -> Result<(), ReplaceError> {
        rustix::fs::futimens(to, &self.times).map_err(|error| lost("times", &error, path))
    }

    fn apply_extended(&self, to: &File, path: &Path) -> Result<(), ReplaceError> {
        let there = extended(to).map_err(ReplaceError::io(path, "reading the extended attributes of its copy"))?;
        // A default ACL of the directory or a security module may have given the copy attributes that the file does not
        // have.
        for name in there.keys().filter(|name| !self.extended.contains_key(*name)) {
            rustix::fs::fremovexattr(to, name.as_slice()).map_err(|error| lost(&text(name), &error, path))?;
        }
        for (name, value) in &self.extended {
            if there.get(name) != Some(value) {
                rustix::fs::fsetxattr(to, name.as_slice(), value, XattrFlags::empty())
                    .map_err(|error| lost(&text(name), &error, path))?;
            }
        }
        Ok(())
    }

    fn check(&self, to: &File, path: &Path) -> Result<(), ReplaceError> {
        let metadata = to.metadata().map_err(ReplaceError::io(path, "reading the attributes of its copy"))?;
        let not_kept = |attribute: String, reason: &str| {
            Err(ReplaceError::AttributeNotKept { path: path.into(), attribute, reason: reason.into() })
        };
        if metadata.mode() & MODE_BITS != self.mode {
            let now = metadata.mode() & MODE_BITS;
            return not_kept(format!("mode {:04o}", self.mode), &format!("the copy has {now:04o}"));
        }
        let there = extended(to).map_err(ReplaceError::io(path, "reading the extended attributes of its copy"))?;
        match self.extended.iter().find(|(name, value)| there.get(*name) != Some(value)) {
            Some((name, _)) => not_kept(text(name), "the copy has another value"),
            None => Ok(()),
        }
    }
}

/// Whether a program starts with another identity or more rights than its caller has: set-ID bits (set-group-ID counts
/// if the group may execute it, inode(7)) or file capabilities (capabilities(7)).
pub(super) fn is_privileged(file: &File) -> std::io::Result<bool> {
    let mode = file.metadata()?.mode();
    let set_id = mode & 0o4000 != 0 || mode & 0o2010 == 0o2010;
    Ok(set_id || extended(file)?.contains_key(&b"security.capability"[..]))
}

/// The same for a file by its path.
///
/// # Errors
/// If it cannot be opened or its attributes cannot be read.
pub fn has_privileges(path: &Path) -> std::io::Result<bool> {
    is_privileged(&File::open(path)?)
}

fn lost(attribute: &str, error: &Errno, path: &Path) -> ReplaceError {
    if matches!(*error, Errno::NOSPC | Errno::DQUOT) {
        return ReplaceError::NoSpace { path: path.into(), size: 0 };
    }
    ReplaceError::AttributeNotKept { path: path.into(), attribute: attribute.into(), reason: error.to_string() }
}

fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

fn refuse_flags(file: &File, path: &Path) -> Result<(), ReplaceError> {
    use rustix::fs::IFlags;
    // Not every file system has flags; without flags nothing is forbidden.
    let Ok(flags) = rustix::fs::ioctl_getflags(file) else { return Ok(()) };
    let immutable = |flag, letter| Err(ReplaceError::Immutable { path: path.into(), flag, letter });
    if flags.contains(IFlags::IMMUTABLE) {
        immutable("immutable", 'i')
    } else if flags.contains(IFlags::APPEND) {
        immutable("append-only", 'a')
    } else if flags.bits() & FS_VERITY != 0 {
        Err(ReplaceError::Signed { path: path.into(), by: "fs-verity" })
    } else {
        Ok(())
    }
}

fn extended(file: &File) -> std::io::Result<Extended> {
    let mut names = vec![0; XATTR_LIMIT];
    let length = match rustix::fs::flistxattr(file, &mut names[..]) {
        Ok(length) => length,
        Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(Extended::new()),
        Err(error) => return Err(error.into()),
    };
    names.truncate(length);
    let mut all = Extended::new();
    let mut value = Vec::new();
    for name in names.split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
        value.resize(XATTR_LIMIT, 0);
        let length = rustix::fs::fgetxattr(file, name, &mut value[..])?;
        all.insert(name.to_vec(), value[..length].to_vec());
    }
    Ok(all)
}
