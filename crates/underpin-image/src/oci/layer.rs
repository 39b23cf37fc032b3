//! A tree as a tar: sorted, with the modes, owners and time of the tree. Names that are too long for a header of tar are in
//! GNU's entries in front of it, which every reader of layers knows.

use super::ahead::Ahead;
use super::gzip::{self, Effort, Gzip};
use crate::tree::{Content, DeviceClass, Entry, Kind, Tree};
use crate::{ImageError, OciError};
use sha2::{Digest, Sha256};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use tar::{EntryType, Header};
use underpin_sys::end_requests;

const BLOCK: usize = 512;
/// For a small image somebody waits: of a program of 762 KB level 1 makes 357 KB in a quarter less processor time than level 2,
/// which makes 340 (gzip's 6: 329). It is also what ko compresses at (go-containerregistry's default).
/// A file that may be compressed ahead begins with a part of its own.
pub(super) const SMALL_EFFORT: Effort = Effort { level: 1, apart: gzip::PART as u64 };
/// What is larger is sent more often than built.
const EFFORT: Effort = Effort { level: 5, apart: u64::MAX };
/// Bytes of files in a small image.
pub(super) const SMALL: u64 = 4 << 20;
/// Names in a header (tar(5)).
const NAME: usize = 100;
/// The name that GNU's tar gives to entries that hold a long name.
const LONG: &str = "././@LongLink";

/// What was written.
pub(super) struct Layer {
    /// Of the tar, as a configuration names it.
    pub diff_id: String,
    /// Of the compressed bytes.
    pub digest: String,
    /// Compressed.
    pub size: u64,
}

/// For all layers of one image.
pub(super) fn gzip<'t>(layers: impl IntoIterator<Item = &'t Tree>, ahead: Ahead) -> Gzip {
    let size = |(_, entry): (&Path, &Entry)| if let Kind::File(content) = &entry.kind { content.size() } else { 0 };
    let size: u64 = layers.into_iter().flat_map(Tree::entries).map(size).sum();
    // Asking costs twenty system calls where there are control groups, and what was begun ahead has asked.
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let new = |effort| Gzip::new(effort, processors(), size);
    if size < SMALL { ahead.into_gzip().unwrap_or_else(|| new(SMALL_EFFORT)) } else { new(EFFORT) }
}

/// Writes a tree as a layer.
pub(super) fn write(tree: &Tree, gzip: &mut Gzip, out: &mut dyn Write, to: &Path) -> Result<Layer, OciError> {
    let io = |error| OciError::Tree(ImageError::Io { path: to.to_owned(), source: error });
    let mut tar = BufWriter::with_capacity(1 << 16, Hashing::new(gzip.to(Hashing::new(out))));
    for (path, entry) in tree.entries() {
        self::entry(path, entry, tree.time(), &mut tar, to)?;
    }
    tar.write_all(&[0; 2 * BLOCK]).map_err(io)?;
    let tar = tar.into_inner().map_err(|error| io(error.into_error()))?;
    let (compressed, diff_id, _) = tar.done();
    let (_, digest, size) = compressed.finish().map_err(io)?.done();
    Ok(Layer { diff_id, digest, size })
}

/// A tar on its way into a layer.
type Tar<'g, W> = BufWriter<Hashing<gzip::Layer<'g, W>>>;

fn entry<W: Write>(path: &Path, entry: &Entry, time: u32, tar: &mut Tar<'_, W>, to: &Path) -> Result<(), OciError> {
    let mut name = path.as_os_str().as_bytes().to_vec();
    if entry.kind == Kind::Directory {
        name.push(b'/');
    }
    let (header, target) = header_of(entry, time);
    member(header, &name, target, tar).map_err(ImageError::io(to))?;
    if let Kind::File(content) = &entry.kind {
        if tar.get_ref().to.is_apart(content.size()) {
            cut(tar).map_err(ImageError::io(to))?;
            apart(content, tar, to)?;
            cut(tar).map_err(ImageError::io(to))?;
        } else {
            content.copy(tar, to)?;
        }
        pad(content.size(), tar).map_err(ImageError::io(to))?;
    }
    Ok(())
}

/// Ends a part of the compression.
fn cut<W: Write>(tar: &mut Tar<'_, W>) -> io::Result<()> {
    tar.flush()?;
    tar.get_mut().to.cut();
    Ok(())
}

/// A file that is parts of its own: the same bytes whether they were compressed ahead or not.
fn apart<W: Write>(content: &Content, tar: &mut Tar<'_, W>, to: &Path) -> Result<(), OciError> {
    let out = tar.get_mut();
    let (path, program) = match content {
        Content::Host { path, size } => (path.as_path(), out.to.ahead(path, *size)),
        Content::Bytes(_) => (to, None),
    };
    let Some(program) = program else { return Ok(content.copy(tar, to)?) };
    let changed =
        || ImageError::Changed { path: path.to_owned(), expected: content.size(), found: program.size_now() }.into();
    for part in &program.parts {
        if end_requests() > 0 {
            return Err(ImageError::Interrupted.into());
        }
        let Hashing { to: layer, hash, size } = &mut *out;
        let see = |bytes: &[u8]| {
            hash.update(bytes);
            *size += bytes.len() as u64;
        };
        layer.put(part, see).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => changed(),
            _ => OciError::from(ImageError::io(to)(error)),
        })?;
    }
    if program.size_now() == content.size() { Ok(()) } else { Err(changed()) }
}

/// A file of its own, such as a part of an archive.
pub(super) fn file(name: &str, content: &Content, tar: &mut dyn Write, to: &Path) -> Result<(), OciError> {
    let (header, _) = header_of(&Entry::file(content.clone(), 0o644), 0);
    member(header, name.as_bytes(), b"", tar).map_err(ImageError::io(to))?;
    content.copy(tar, to)?;
    Ok(pad(content.size(), tar).map_err(ImageError::io(to))?)
}

fn header_of(entry: &Entry, time: u32) -> (Header, &[u8]) {
    let mut header = Header::new_gnu();
    header.set_mode(entry.mode);
    header.set_uid(u64::from(entry.uid));
    header.set_gid(u64::from(entry.gid));
    header.set_mtime(u64::from(time));
    header.set_size(0);
    let (kind, target) = match &entry.kind {
        Kind::File(content) => {
            header.set_size(content.size());
            (EntryType::Regular, &b""[..])
        }
        Kind::Directory => (EntryType::Directory, &b""[..]),
        Kind::Symlink(target) => (EntryType::Symlink, target.as_os_str().as_bytes()),
        Kind::Device { class, major, minor } => {
            if let Some(fields) = header.as_gnu_mut() {
                fields.set_device_major(*major);
                fields.set_device_minor(*minor);
            }
            (if *class == DeviceClass::Block { EntryType::Block } else { EntryType::Char }, &b""[..])
        }
    };
    header.set_entry_type(kind);
    (header, target)
}

/// A header, after GNU's entries for what does not fit into it.
fn member(mut header: Header, name: &[u8], target: &[u8], tar: &mut dyn Write) -> io::Result<()> {
    for (text, kind) in [(target, EntryType::GNULongLink), (name, EntryType::GNULongName)] {
        if text.len() > NAME {
            let mut before = Header::new_gnu();
            before.set_mode(0o644);
            before.set_uid(0);
            before.set_gid(0);
            before.set_mtime(0);
            before.set_size(text.len() as u64 + 1);
            before.set_entry_type(kind);
            put(&mut before.as_old_mut().name, LONG.as_bytes());
            before.set_cksum();
            tar.write_all(before.as_bytes())?;
            tar.write_all(text)?;
            tar.write_all(&[0])?;
            pad(text.len() as u64 + 1, tar)?;
        }
    }
    put(&mut header.as_old_mut().name, name);
    put(&mut header.as_old_mut().linkname, target);
    header.set_cksum();
    tar.write_all(header.as_bytes())
}

fn put(field: &mut [u8; NAME], text: &[u8]) {
    let fits = text.len().min(NAME);
    field[..fits].copy_from_slice(&text[..fits]);
}

/// To the next block.
pub(super) fn pad(size: u64, tar: &mut dyn Write) -> io::Result<()> {
    let over = usize::try_from(size % BLOCK as u64).unwrap_or(0);
    if over == 0 { Ok(()) } else { tar.write_all(&[0; BLOCK][over..]) }
}

/// A writer that knows the digest of what went through it.
pub(super) struct Hashing<W> {
    to: W,
    hash: Sha256,
    size: u64,
}

impl<W: Write> Hashing<W> {
    pub(super) fn new(to: W) -> Hashing<W> {
        Hashing { to, hash: Sha256::new(), size: 0 }
    }

    /// Where it wrote to, the digest, and how many bytes.
    pub(super) fn done(self) -> (W, String, u64) {
        (self.to, named(&self.hash.finalize()), self.size)
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// A digest as descriptors have it.
pub(super) fn digest_of(bytes: &[u8]) -> String {
    named(&Sha256::digest(bytes))
}

pub(super) fn named(hash: &[u8]) -> String {
    hash.iter().fold("sha256:".to_owned(), |text, byte| text + &format!("{byte:02x}"))
}
