//! The archive that Linux unpacks as its first root file system: cpio in the form "newc".
//!
//! Same tree, same bytes: entries in the tree's order, inode numbers counted from 1, the tree's time. Archives may follow each
//! other in one file (the kernel's "initramfs buffer format"), so that a layer is appended without touching the one before;
//! [`write`] therefore ends at a multiple of 512 bytes, as cpio(1) does.

use crate::{DeviceClass, Entry, ImageError, Kind, Tree};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const FORMAT: &str = "an initramfs";
/// The name that ends an archive.
const TRAILER: &[u8] = b"TRAILER!!!";
/// cpio(1) fills its last block; the kernel needs a multiple of 4.
const BLOCK: u64 = 512;

/// Writes one archive and returns its size; `to` names the place in errors.
///
/// # Errors
/// If a file cannot be read, is too large for the format (4 GiB), or has the name that ends an archive.
pub fn write(tree: &Tree, out: &mut dyn Write, to: &Path) -> Result<u64, ImageError> {
    let mut archive = Archive { out, to, offset: 0 };
    for ((path, entry), inode) in tree.entries().zip(1..) {
        archive.entry(path, entry, inode, tree.time())?;
    }
    archive.header(TRAILER, &Fields { links: 1, ..Fields::default() })?;
    archive.pad(BLOCK)?;
    Ok(archive.offset)
}

/// The numbers of a header that are not always 0.
#[derive(Default)]
struct Fields {
    inode: u32,
    mode: u32,
    uid: u32,
    gid: u32,
    links: u32,
    time: u32,
    size: u32,
    device: (u32, u32),
}

struct Archive<'a> {
    out: &'a mut dyn Write,
    to: &'a Path,
    offset: u64,
}

impl Archive<'_> {
    fn entry(&mut self, path: &Path, entry: &Entry, inode: u32, time: u32) -> Result<(), ImageError> {
        let name = path.as_os_str().as_bytes();
        if name == TRAILER {
            let reason = "this name ends an archive, so what follows would be lost: rename the file";
            return Err(ImageError::Name { path: path.to_owned(), reason });
        }
        let (kind, size, device) = match &entry.kind {
            Kind::File(content) => (kind_bits::FILE, content.size(), (0, 0)),
            Kind::Directory => (kind_bits::DIRECTORY, 0, (0, 0)),
            Kind::Symlink(target) => (kind_bits::LINK, target.as_os_str().len() as u64, (0, 0)),
            Kind::Device { class: DeviceClass::Character, major, minor } => (kind_bits::CHARACTER, 0, (*major, *minor)),
            Kind::Device { class: DeviceClass::Block, major, minor } => (kind_bits::BLOCK, 0, (*major, *minor)),
        };
        let too_large = |_| ImageError::Limit {
            what: format!("the size of /{}", path.display()),
            value: size,
            format: FORMAT,
            limit: u32::MAX.into(),
        };
        let fields = Fields {
            inode,
            mode: kind | entry.mode,
            uid: entry.uid,
            gid: entry.gid,
            links: if kind == kind_bits::DIRECTORY { 2 } else { 1 },
            time,
            size: u32::try_from(size).map_err(too_large)?,
            device,
        };
        self.header(name, &fields)?;
        match &entry.kind {
            Kind::File(content) => {
                content.copy(self.out, self.to)?;
                self.offset += size;
            }
            Kind::Symlink(target) => self.bytes(target.as_os_str().as_bytes())?,
            Kind::Directory | Kind::Device { .. } => {}
        }
        self.pad(4)
    }

    fn header(&mut self, name: &[u8], fields: &Fields) -> Result<(), ImageError> {
        // A path has at most 4095 bytes.
        let name_size = name.len() as u32 + 1;
        let Fields { inode, mode, uid, gid, links, time, size, device } = *fields;
        let numbers = [inode, mode, uid, gid, links, time, size, 0, 0, device.0, device.1, name_size, 0];
        let mut header = b"070701".to_vec();
        for number in numbers {
            header.extend_from_slice(format!("{number:08X}").as_bytes());
        }
        header.extend_from_slice(name);
        header.push(0);
        self.bytes(&header)?;
        self.pad(4)
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), ImageError> {
        self.out.write_all(bytes).map_err(ImageError::io(self.to))?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// Zeroes up to a multiple of `unit`, which is at most [`BLOCK`].
    fn pad(&mut self, unit: u64) -> Result<(), ImageError> {
        let missing = self.offset.next_multiple_of(unit) - self.offset;
        self.bytes(&[0; BLOCK as usize][..missing as usize])
    }
}

/// The bits of `st_mode` that say what a file is (inode(7)).
mod kind_bits {
    pub const FILE: u32 = 0o100_000;
    pub const DIRECTORY: u32 = 0o040_000;
    pub const LINK: u32 = 0o120_000;
    pub const CHARACTER: u32 = 0o020_000;
    pub const BLOCK: u32 = 0o060_000;
}

/// One archive in memory.
///
/// # Errors
/// As for [`write`].
pub fn bytes(tree: &Tree) -> Result<Vec<u8>, ImageError> {
    let mut bytes: Vec<u8> = Vec::new();
    let out: &mut dyn io::Write = &mut bytes;
    write(tree, out, Path::new("memory"))?;
    Ok(bytes)
}
