//! What the kernel of a node remembers of a file system, and what it has to request.

use bstr::{BStr, BString, ByteSlice};
use serde::{Deserialize, Serialize, de};
use std::ops::Add;
use std::time::Duration;

/// For how long an answer is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// It is requested again every time.
    Never,
    /// For some time.
    For(Duration),
    /// Until the server revokes it, or the memory is needed.
    Always,
}

impl Retention {
    /// Whether an answer serves more than the request that fetched it.
    #[must_use]
    pub fn keeps(self) -> bool {
        match self {
            Retention::Never => false,
            Retention::For(time) => !time.is_zero(),
            Retention::Always => true,
        }
    }
}

impl std::str::FromStr for Retention {
    type Err = String;

    /// `never`, `always`, or seconds.
    fn from_str(text: &str) -> Result<Retention, String> {
        match text {
            "never" => return Ok(Retention::Never),
            "always" => return Ok(Retention::Always),
            _ => {}
        }
        let seconds: f64 = text
            .strip_suffix('s')
            .unwrap_or(text)
            .parse()
            .map_err(|_| format!("invalid time {text:?}: expected `never`, `always` or a number of seconds"))?;
        Duration::try_from_secs_f64(seconds).map(Retention::For).map_err(|error| format!("{text}: {error}"))
    }
}

impl std::fmt::Display for Retention {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Retention::Never => f.write_str("never"),
            Retention::For(time) => write!(f, "{}s", time.as_secs_f64()),
            Retention::Always => f.write_str("always"),
        }
    }
}

impl<'de> Deserialize<'de> for Retention {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Retention, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// How the kernel of a node uses a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// Names that were found.
    pub found: Retention,
    /// Names that were not found.
    pub absent: Retention,
    /// Attributes; the answer to a lookup includes them.
    pub attributes: Retention,
    /// Targets of symbolic links.
    pub links: Retention,
    /// Opened files: with [`Retention::Never`] the server hears of every open.
    pub opened: Retention,
    /// The open of a name that is not known is one operation with its lookup (NFS version 4, Lustre's intents).
    pub open_finds: bool,
    /// The right to search a directory is requested once per directory (NFS: ACCESS).
    pub access: bool,
    /// The server hears of the close. A mapped library is closed at the end of the process, so nothing waits for it.
    pub close: bool,
    /// Contents stay in the page cache for the next process of the node.
    pub pages: bool,
}

/// The requests that a server gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Operations {
    /// Names in a directory.
    pub lookups: u64,
    /// Those of them that are not there.
    pub absent: u64,
    /// Opens.
    pub opens: u64,
    /// Attributes of a file or directory.
    pub attributes: u64,
    /// Targets of symbolic links.
    pub links: u64,
    /// Rights to search a directory.
    pub access: u64,
    /// Pieces of files.
    pub reads: u64,
    /// Bytes of those pieces.
    pub bytes: u64,
    /// Closes, which no start waits for.
    pub closes: u64,
}

impl Operations {
    /// Operations that the start waits for, one after another.
    #[must_use]
    pub fn waited_for(&self) -> u64 {
        self.metadata() + self.reads
    }

    /// Those of them that read no contents.
    #[must_use]
    pub fn metadata(&self) -> u64 {
        self.lookups + self.opens + self.attributes + self.links + self.access
    }

    /// All that reaches the server.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.waited_for() + self.closes
    }
}

impl Add for Operations {
    type Output = Operations;

    fn add(self, other: Operations) -> Operations {
        Operations {
            lookups: self.lookups + other.lookups,
            absent: self.absent + other.absent,
            opens: self.opens + other.opens,
            attributes: self.attributes + other.attributes,
            links: self.links + other.links,
            access: self.access + other.access,
            reads: self.reads + other.reads,
            bytes: self.bytes + other.bytes,
            closes: self.closes + other.closes,
        }
    }
}

/// Where the file system is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mountpoints {
    /// Without trailing slashes; an empty one is `/`.
    mountpoints: Vec<BString>,
}

/// Always file systems of their own.
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

impl Mountpoints {
    /// At `/`: everything is on it except the kernel's own file systems.
    #[must_use]
    pub fn everything() -> Mountpoints {
        Mountpoints::at([b"/".as_bstr()])
    }

    /// At some directories, given absolute and without symbolic links.
    #[must_use]
    pub fn at<'a>(mountpoints: impl IntoIterator<Item = &'a BStr>) -> Mountpoints {
        let trimmed = |path: &'a BStr| path.trim_end_with(|letter| letter == '/').into();
        Mountpoints { mountpoints: mountpoints.into_iter().map(trimmed).collect() }
    }

    /// Whether a name in this directory (absolute, no trailing slash, empty for `/`) is looked up there.
    pub(super) fn holds(&self, directory: &BStr) -> bool {
        let below = |point: &[u8]| directory.strip_prefix(point).is_some_and(|rest| rest.is_empty() || rest[0] == b'/');
        !KERNEL.iter().any(|kernel| below(kernel.as_bytes())) && self.mountpoints.iter().any(|point| below(point))
    }
}
