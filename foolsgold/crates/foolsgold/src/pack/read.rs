//! The application packed into the running executable.
//!
//! Everything is verified once, at the start; after that files are read from the executable on demand, so that unused
//! ones cost no memory. An executable cannot be written to while it runs.

use super::{PackError, elf};
use crate::config::{CONFIG_FILE, Settings};
use bytes::Bytes;
use foolsgold_core::files::{Bytecode, Content, FileError, Files, MAX_FILE, VPath};
use foolsgold_pack::{FormatError, Index, Kind, TRAILER, Trailer};
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Where Ruby sees a packed application.
pub const PACKED: &str = "/foolsgold/app";

/// A packed application.
#[derive(Debug)]
pub struct Packed {
    file: File,
    /// First byte of the data.
    start: u64,
    index: Index,
}

impl Packed {
    /// The application in the running executable; `None` if none was packed.
    ///
    /// # Errors
    /// If the pack is damaged or truncated.
    pub fn own() -> Result<Option<Packed>, PackError> {
        Packed::open(&running())
    }

    /// The same for any executable.
    ///
    /// # Errors
    /// If it cannot be read, or its pack is damaged or truncated.
    pub fn open(path: &Path) -> Result<Option<Packed>, PackError> {
        let file = File::open(path).map_err(PackError::system("read", path))?;
        let Some(trailer) = trailer(&file, path)? else { return Ok(None) };
        let mut index = vec![0; usize::try_from(trailer.index).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut index, trailer.start + trailer.data).map_err(PackError::system("read", path))?;
        let damaged = |error| damaged(path, error);
        if Sha256::digest(&index)[..] != trailer.sum {
            return Err(damaged(FormatError::IndexSum));
        }
        let index = Index::parse(&index, trailer.data).map_err(damaged)?;
        let packed = Packed { file, start: trailer.start, index };
        match packed.first_damaged().map_err(PackError::system("read", path))? {
            Some(name) => Err(damaged(FormatError::FileSum(name))),
            None => Ok(Some(packed)),
        }
    }

    /// All files by their names relative to [`PACKED`].
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.index.entries().iter().map(|entry| entry.name.as_str())
    }

    /// The settings packed with the application; the defaults if there are none.
    ///
    /// # Errors
    /// If they cannot be read. [`pack`](super::pack) has checked them.
    pub fn settings(&self) -> Result<Settings, PackError> {
        let Some(entry) = self.index.find(CONFIG_FILE) else { return Ok(Settings::default()) };
        let failed = || PackError::system("read", Path::new(CONFIG_FILE));
        let content = self.content(entry.offset, entry.kind).map_err(failed())?;
        let text = content.as_ref().and_then(Content::text).map_or(&[][..], |text| &text[..]);
        let text = std::str::from_utf8(text).map_err(|error| failed()(io::Error::other(error)))?;
        Ok(Settings::of_pack(text, Path::new(CONFIG_FILE))?)
    }

    fn first_damaged(&self) -> io::Result<Option<String>> {
        let mut buffer = vec![0; 64 * 1024];
        for entry in self.index.entries() {
            let (mut hash, mut at, end) = (Sha256::new(), entry.offset, entry.offset + entry.kind.length());
            while at < end {
                let length = usize::try_from(end - at).unwrap_or(usize::MAX).min(buffer.len());
                self.file.read_exact_at(&mut buffer[..length], self.start + at)?;
                hash.update(&buffer[..length]);
                at += length as u64;
            }
            if hash.finalize()[..] != entry.sum {
                return Ok(Some(entry.name.clone()));
            }
        }
        Ok(None)
    }

    fn bytes(&self, offset: u64, length: u64) -> io::Result<Bytes> {
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        self.file.read_exact_at(&mut bytes, self.start + offset)?;
        Ok(Bytes::from(bytes))
    }

    fn content(&self, offset: u64, kind: Kind) -> io::Result<Option<Content>> {
        Ok(match kind {
            Kind::Plain { length } => Some(Content::Plain(self.bytes(offset, length)?)),
            Kind::Ruby { bytecode, source } => Some(Content::Compiled {
                bytecode: Bytecode::Read(self.bytes(offset, bytecode)?),
                source: source.map(|length| self.bytes(offset + bytecode, length)).transpose()?,
            }),
            Kind::Link { .. } => None,
        })
    }
}

impl Files for Packed {
    fn read(&self, path: &VPath) -> Result<Option<Content>, FileError> {
        let Some(entry) = name(path).and_then(|name| self.index.find(name)) else { return Ok(None) };
        let size = entry.kind.length();
        if size > MAX_FILE {
            return Err(FileError::TooLarge { path: path.clone(), size });
        }
        self.content(entry.offset, entry.kind).map_err(|error| FileError::Read { path: path.clone(), error })
    }

    fn identity(&self, path: &VPath) -> Option<VPath> {
        let entry = self.index.find(name(path)?)?;
        VPath::new(PACKED)?.join(&entry.name)
    }

    fn hash(&self, path: &VPath) -> Option<[u8; 32]> {
        Some(self.index.find(name(path)?)?.sum)
    }
}

/// A path's name in the index.
fn name(path: &VPath) -> Option<&str> {
    path.as_str().strip_prefix(PACKED)?.strip_prefix('/')
}

/// The trailer of an executable; `None` if nothing follows the executable's own end.
pub(super) fn trailer(file: &File, path: &Path) -> Result<Option<Trailer>, PackError> {
    let failed = || PackError::system("read", path);
    let size = file.metadata().map_err(failed())?.len();
    let mut header = [0; elf::HEADER];
    if size >= header.len() as u64 {
        file.read_exact_at(&mut header, 0).map_err(failed())?;
    }
    let end = elf::end(&header);
    if size >= TRAILER as u64 {
        let mut last = [0; TRAILER];
        file.read_exact_at(&mut last, size - TRAILER as u64).map_err(failed())?;
        if let Some(trailer) = Trailer::parse(&last, size).map_err(|error| damaged(path, error))? {
            return Ok(Some(trailer));
        }
    }
    match end {
        Some(end) if end < size => Err(damaged(path, FormatError::NoTrailer(size - end))),
        Some(end) if end > size => Err(damaged(path, FormatError::Short(end - size))),
        _ => Ok(None),
    }
}

/// The running executable, as the kernel names it.
const OWN: &str = "/proc/self/exe";

/// The running executable. Without /proc (in an otherwise empty root directory, for example), it is searched for as a
/// shell would search for the command.
pub(super) fn running() -> PathBuf {
    let found = || found(&std::env::args_os().next()?, std::env::var_os("PATH").as_deref());
    let own = PathBuf::from(OWN);
    if own.exists() { own } else { found().unwrap_or(own) }
}

/// The file that a command starts: its own path if it contains a slash, otherwise the first of that name in the folders
/// of `PATH`.
fn found(command: &OsStr, folders: Option<&OsStr>) -> Option<PathBuf> {
    if command.as_encoded_bytes().contains(&b'/') {
        return Some(PathBuf::from(command));
    }
    std::env::split_paths(folders?).map(|folder| folder.join(command)).find(|path| path.is_file())
}

fn damaged(path: &Path, error: FormatError) -> PackError {
    let path = if path == Path::new(OWN) { path.read_link().ok() } else { None }.unwrap_or_else(|| path.to_owned());
    PackError::Damaged { path, error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_found_as_a_shell_finds_it() {
        let of = |command: &str, folders: Option<&str>| found(command.as_ref(), folders.map(OsStr::new));
        assert_eq!(of("./app-server", None), Some("./app-server".into()));
        assert_eq!(of("/srv/app-server", Some("/bin")), Some("/srv/app-server".into()));
        assert_eq!(of("sh", Some("/nowhere:/bin:/usr/bin")), Some("/bin/sh".into()));
        assert_eq!((of("no-such-command", Some("/bin")), of("sh", None)), (None, None));
    }

    #[test]
    fn the_running_executable_is_the_one_that_the_kernel_names() {
        assert_eq!(running(), Path::new(OWN));
    }
}
