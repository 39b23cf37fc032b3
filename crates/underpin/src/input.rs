//! Files named on the command line: what kind each is, determined before any reader opens it, and a clear refusal if it
//! is not something that can be examined.
//!
//! Never blocks: a FIFO or a device is refused by its type, unopened.

use bstr::{BString, ByteSlice};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use underpin_elf::ScriptLine;

/// Why a file cannot be examined: one sentence with the path and what to do.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// No such file, neither here nor in PATH.
    #[error("{0}: no such file{1}")]
    NotFound(PathBuf, &'static str),
    /// A loop of symbolic links.
    #[error("{0}: its symbolic links lead in a circle; `namei {0}` shows where")]
    LinkLoop(PathBuf),
    /// Not readable by this user.
    #[error("{0}: not readable by this user; try with `sudo`, or have its mode changed")]
    Denied(PathBuf),
    /// A directory above it is not searchable for this user.
    #[error("{0}: a directory above it is closed to this user; `namei -l {0}` shows which")]
    Closed(PathBuf),
    /// A directory, where a single file is needed.
    #[error("{0} is a directory; name a program in it{1}")]
    Directory(PathBuf, &'static str),
    /// A FIFO, socket or device.
    #[error("{0} is {1}, not a program; name a regular file")]
    Special(PathBuf, &'static str),
    /// An empty file.
    #[error("{0} is empty (0 bytes); it may be the rest of an interrupted copy: fetch or build it again")]
    Empty(PathBuf),
    /// A script: its interpreter is what loads libraries.
    #[error("{path} is a script for {interpreter}, which loads the libraries; try `underpin {verb} {interpreter}`")]
    Script {
        /// The script.
        path: PathBuf,
        /// The program that runs it.
        interpreter: BString,
        /// The verb to repeat.
        verb: &'static str,
    },
    /// A core dump.
    #[error("{0} is a core dump; name the program that left it, which `file {0}` shows")]
    Core(PathBuf),
    /// An object file, for the linker.
    #[error("{0} is an object file for the linker; link it, and name the program or shared library that comes of it")]
    Object(PathBuf),
    /// Some other file.
    #[error("{0} is not an ELF file (offset 0 holds {1}); name a program or a shared library")]
    NotElf(PathBuf, String),
    /// Anything else that went wrong on opening or reading.
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
}

/// A path of the resolver or of another program, which is bytes, as one of this system.
pub fn path<B: AsRef<[u8]> + ?Sized>(bytes: &B) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes.as_ref()))
}

/// Finds the file behind a name: as a path, or, if it has no slash and no such file is here, in PATH as a shell would.
///
/// # Errors
/// [`InputError::NotFound`].
pub fn locate(name: &Path) -> Result<PathBuf, InputError> {
    if name.as_os_str().is_empty() {
        return Err(InputError::NotFound(PathBuf::from("''"), ": the name is empty"));
    }
    let is_path = name.as_os_str().as_encoded_bytes().contains(&b'/');
    if is_path || fs::symlink_metadata(name).is_ok() {
        return Ok(name.to_owned());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| {
        InputError::NotFound(name.to_owned(), " here, and no program of that name in PATH; give its path")
    })
}

/// Ensures that a path leads to a readable ELF file. `verb` is the one that a refusal suggests to repeat.
///
/// # Errors
/// [`InputError`], depending on what is there instead.
pub fn require_elf(path: &Path, verb: &'static str) -> Result<(), InputError> {
    let metadata = fs::metadata(path).map_err(|error| io_error(path, error))?;
    let kind = metadata.file_type();
    if kind.is_dir() {
        let many = if verb == "tree" { ", or the directory alone to look at everything below it" } else { "" };
        return Err(InputError::Directory(path.to_owned(), many));
    }
    if let Some(kind) = special(kind) {
        return Err(InputError::Special(path.to_owned(), kind));
    }
    let mut head = Vec::with_capacity(HEAD);
    let file = File::open(path).map_err(|error| io_error(path, error))?;
    file.take(HEAD as u64).read_to_end(&mut head).map_err(|error| io_error(path, error))?;
    classify(path, &head, verb)
}

/// Bytes that identify a file: the kernel cuts a `#!` line at 256 bytes (`BINPRM_BUF_SIZE`).
const HEAD: usize = 256;

fn special(kind: fs::FileType) -> Option<&'static str> {
    [
        (kind.is_fifo(), "a FIFO"),
        (kind.is_socket(), "a socket"),
        (kind.is_char_device(), "a character device"),
        (kind.is_block_device(), "a block device"),
    ]
    .into_iter()
    .find_map(|(is, name)| is.then_some(name))
}

fn classify(path: &Path, head: &[u8], verb: &'static str) -> Result<(), InputError> {
    if head.starts_with(b"\x7fELF") {
        return match elf_type(head) {
            Some(ET_CORE) => Err(InputError::Core(path.to_owned())),
            Some(ET_REL) => Err(InputError::Object(path.to_owned())),
            // Anything else wrong with it is reported by the reader, with the offset.
            _ => Ok(()),
        };
    }
    if head.is_empty() {
        return Err(InputError::Empty(path.to_owned()));
    }
    if let Some(line) = ScriptLine::read(head).filter(|line| !line.interpreter.is_empty()) {
        let interpreter = line.through_env().unwrap_or(line.interpreter).into();
        return Err(InputError::Script { path: path.to_owned(), interpreter, verb });
    }
    Err(InputError::NotElf(path.to_owned(), describe(head)))
}

/// `e_type` of relocatable objects and of core dumps (elf(5)).
const ET_REL: u16 = 1;
const ET_CORE: u16 = 4;

/// `e_type`, in the byte order that `e_ident` names.
fn elf_type(head: &[u8]) -> Option<u16> {
    const EI_DATA: usize = 5;
    const BIG_ENDIAN: u8 = 2;
    let bytes = [*head.get(16)?, *head.get(17)?];
    Some(if head.get(EI_DATA) == Some(&BIG_ENDIAN) { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
}

/// A description of the first bytes: text as text, anything else in hexadecimal.
fn describe(head: &[u8]) -> String {
    let start = &head[..head.len().min(8)];
    if start.iter().all(|byte| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\n' | b'\r' | b'\t')) {
        return format!("the text {:?}", start.as_bstr());
    }
    let bytes: Vec<String> = start.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    bytes.join(" ")
}

fn io_error(path: &Path, error: io::Error) -> InputError {
    let path = path.to_owned();
    if error.raw_os_error() == Some(libc::ELOOP) {
        return InputError::LinkLoop(path);
    }
    match error.kind() {
        io::ErrorKind::NotFound => InputError::NotFound(path, "; check the path"),
        io::ErrorKind::PermissionDenied if fs::metadata(&path).is_err() => InputError::Closed(path),
        io::ErrorKind::PermissionDenied => InputError::Denied(path),
        io::ErrorKind::IsADirectory => InputError::Directory(path, ""),
        _ => InputError::Io(path, error),
    }
}
