//! What can be set: delays, capacity, and how long the kernel may remember answers.

use std::num::NonZeroU64;
use std::time::Duration;

/// Delay per kind of request, from its arrival (or its turn in the queue) to the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// Of a name in a directory, found or not.
    pub lookup: Duration,
    /// Of a file or directory.
    pub open: Duration,
    /// Of a piece of a file, whatever its size.
    pub read: Duration,
    /// Of attributes.
    pub getattr: Duration,
    /// Of a symbolic link's target.
    pub readlink: Duration,
}

/// How the file system behaves. The default answers at once and lets the kernel remember nothing but file contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Delay per kind of request.
    pub delays: Delays,
    /// Requests answered per second, all clients together; `None` for no limit. A single queue enforces it, first come
    /// first served. RELEASE and FORGET bypass it: no client waits for them.
    pub rate: Option<NonZeroU64>,
    /// How long the kernel may take a name that was found for granted.
    pub entry_ttl: Duration,
    /// How long the kernel may take attributes for granted.
    pub attribute_ttl: Duration,
    /// How long the kernel may take a name that was not found for granted; `None` to be asked every time.
    pub negative_ttl: Option<Duration>,
    /// Whether contents stay in the page cache from one open to the next.
    pub keep_pages: bool,
    /// Largest piece that the kernel reads ahead, in bytes.
    pub read_ahead: u32,
    /// Threads, and so the largest number of requests that are delayed at the same time.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            delays: Delays::default(),
            rate: None,
            entry_ttl: Duration::ZERO,
            attribute_ttl: Duration::ZERO,
            negative_ttl: None,
            keep_pages: true,
            read_ahead: 128 << 10,
            threads: 96,
        }
    }
}

impl Options {
    /// The same delay for every kind of request.
    #[must_use]
    pub fn with_delay(self, delay: Duration) -> Options {
        let delays = Delays { lookup: delay, open: delay, read: delay, getattr: delay, readlink: delay };
        Options { delays, ..self }
    }
}
