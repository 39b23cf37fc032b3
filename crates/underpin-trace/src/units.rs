//! Newtypes for what a trace counts in: processes, calls, errors, path bytes.
//! Each serialises the way a reader of the JSON expects it: names as text, times as integers.

use bstr::{BStr, ByteSlice};
use serde::{Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// A process or thread id as the tracer's pid namespace numbers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Pid(pub i32);

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A system call of this machine's native table, by number. Displays and serialises as its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Syscall(pub u32);

impl Syscall {
    /// The call of that name on this architecture, `None` if it has no such call.
    #[must_use]
    pub fn named(name: &str) -> Option<Syscall> {
        name.parse::<syscalls::Sysno>().ok().map(|sysno| Syscall(sysno.id() as u32))
    }

    /// The kernel's name, `None` for a number that the table does not hold.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        syscalls::Sysno::new(self.0 as usize).map(|sysno| sysno.name())
    }
}

/// Unknown numbers read as strace writes them: `syscall_0x1f4`.
impl fmt::Display for Syscall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "syscall_{:#x}", self.0),
        }
    }
}

impl Serialize for Syscall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// An error number. Displays and serialises as its symbolic name (`ENOENT`).
///
/// Includes the kernel's internal restart codes (512 and up), which a tracer sees and a program does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Errno(pub i32);

impl Errno {
    /// `ENOENT`.
    pub const NOENT: Errno = Errno(2);
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match syscalls::Errno::new(self.0).name() {
            Some(name) => f.pad(name),
            None => write!(f, "errno {}", self.0),
        }
    }
}

impl Serialize for Errno {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The bytes of a path as the program passed them; shared, since the calls on one descriptor all carry its path.
///
/// Serialises as text; bytes that are not UTF-8 become U+FFFD there, and are kept in [`PathText::bytes`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathText(Arc<[u8]>);

impl PathText {
    /// Takes over the bytes of a path.
    #[must_use]
    pub fn new(bytes: &[u8]) -> PathText {
        PathText(Arc::from(bytes))
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &BStr {
        self.0.as_bstr()
    }

    /// What follows the last slash.
    #[must_use]
    pub fn file_name(&self) -> &BStr {
        match self.0.rfind_byte(b'/') {
            Some(slash) => self.0[slash + 1..].as_bstr(),
            None => self.bytes(),
        }
    }

    /// What precedes the last slash: empty for a name without one, `/` for a name in the root.
    #[must_use]
    pub fn directory(&self) -> &BStr {
        match self.0.rfind_byte(b'/') {
            Some(0) => self.0[..1].as_bstr(),
            Some(slash) => self.0[..slash].as_bstr(),
            None => b"".as_bstr(),
        }
    }
}

impl fmt::Display for PathText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().fmt(f)
    }
}

impl fmt::Debug for PathText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.bytes(), f)
    }
}

impl Serialize for PathText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
