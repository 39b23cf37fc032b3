//! Notices the first write to a file, pipe or terminal without touching the writer: inotify, read by a small thread.
//!
//! The time is that of the thread's wake-up, some ten microseconds after the write on an idle machine. Writes by
//! any process count, so a device that others write to (`/dev/null`) is unsuitable, and [`crate::bytes_written`] tells
//! whether it can have been the process in question. Kernels that do not report writes to pipes are found by a trial.

use crate::error::{SysError, check};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Instant;

/// What became of a watch on a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watchable {
    /// Writes to it can be noticed.
    Yes,
    /// `/dev/null` and the like: what is written there does not count as output.
    Discarded,
    /// A socket, or a kernel that does not report it.
    No,
}

/// A running watch; ends when dropped.
#[derive(Debug)]
pub struct OutputWatch {
    watched: Vec<OwnedFd>,
    seen: Arc<OnceLock<Instant>>,
    stop: Option<File>,
    thread: Option<JoinHandle<()>>,
}

impl OutputWatch {
    /// What a watch on an open descriptor of this process would see.
    #[must_use]
    pub fn watchable(descriptor: RawFd) -> Watchable {
        let Ok(file) = std::fs::metadata(link(descriptor)) else { return Watchable::Discarded };
        let kind = file.file_type();
        if kind.is_file() {
            Watchable::Yes
        } else if kind.is_char_device() {
            /// Memory devices: null, zero, full.
            const MEMORY: u32 = 1;
            if libc::major(file.rdev()) == MEMORY { Watchable::Discarded } else { Watchable::Yes }
        } else if kind.is_fifo() && pipes_report() {
            Watchable::Yes
        } else {
            Watchable::No
        }
    }

    /// Watches open descriptors of this process from now on.
    ///
    /// # Errors
    /// If a file may not be read, or the user's inotify instances are used up.
    pub fn new(descriptors: &[RawFd]) -> Result<OutputWatch, SysError> {
        let watched = descriptors.iter().map(|&descriptor| duplicate(descriptor)).collect::<Result<_, _>>()?;
        OutputWatch::start(watched)
    }

    /// Goes on watching if the write was another process's.
    ///
    /// # Errors
    /// As for [`OutputWatch::new`].
    pub fn again(mut self) -> Result<OutputWatch, SysError> {
        OutputWatch::start(std::mem::take(&mut self.watched))
    }

    fn start(watched: Vec<OwnedFd>) -> Result<OutputWatch, SysError> {
        let inotify = watch(&watched.iter().map(AsRawFd::as_raw_fd).collect::<Vec<_>>())?;
        let (stop_read, stop_write) = crate::launch::pipe()?;
        let seen = Arc::new(OnceLock::new());
        let shared = Arc::clone(&seen);
        let body = move || {
            if readable(&[inotify.as_raw_fd(), stop_read.as_raw_fd()], -1) == Some(0) {
                // Only the first counts, and there is no other.
                let _ = shared.set(Instant::now());
            }
        };
        let thread = std::thread::Builder::new().name("output".to_owned()).spawn(body);
        let thread = thread.map_err(|error| SysError::io("starting a thread", &error))?;
        Ok(OutputWatch { watched, seen, stop: Some(File::from(stop_write)), thread: Some(thread) })
    }

    /// When the first write was noticed, if there was one yet.
    #[must_use]
    pub fn seen(&self) -> Option<Instant> {
        self.seen.get().copied()
    }

    /// Ends the watch; a write that precedes this call is noticed.
    #[must_use]
    pub fn finish(mut self) -> Option<Instant> {
        self.end();
        self.seen()
    }

    fn end(&mut self) {
        if let Some(mut stop) = self.stop.take() {
            // A thread that has ended already does not read it: then there is nothing to stop.
            let _ = stop.write_all(b"e");
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for OutputWatch {
    fn drop(&mut self) {
        self.end();
    }
}

fn duplicate(descriptor: RawFd) -> Result<OwnedFd, SysError> {
    // SAFETY: takes integers only.
    let copy = check("F_DUPFD_CLOEXEC", unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 3) }.into())?;
    // SAFETY: the kernel has just made it, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy as RawFd) })
}

fn link(descriptor: RawFd) -> String {
    format!("/proc/self/fd/{descriptor}")
}

fn watch(descriptors: &[RawFd]) -> Result<OwnedFd, SysError> {
    // SAFETY: takes flags only.
    let inotify = unsafe { libc::inotify_init1(libc::IN_CLOEXEC | libc::IN_NONBLOCK) };
    check("inotify_init1", libc::c_long::from(inotify))?;
    // SAFETY: the kernel has just made it, and nothing else owns it.
    let inotify = unsafe { OwnedFd::from_raw_fd(inotify) };
    for &descriptor in descriptors {
        let path = std::ffi::CString::new(link(descriptor)).unwrap_or_default();
        // SAFETY: `path` is a C string that lives through the call.
        let added = unsafe { libc::inotify_add_watch(inotify.as_raw_fd(), path.as_ptr(), libc::IN_MODIFY) };
        check("inotify_add_watch", libc::c_long::from(added))?;
    }
    Ok(inotify)
}

/// The first of the descriptors that can be read; `None` if the time (milliseconds; -1: none) ran out.
fn readable(descriptors: &[RawFd], timeout: i32) -> Option<usize> {
    let mut polled: Vec<libc::pollfd> =
        descriptors.iter().map(|&fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
    loop {
        // SAFETY: `polled` is an array of the length given, and lives through the call.
        let ready = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, timeout) };
        match ready {
            0 => return None,
            -1 if SysError::last("poll").errno == libc::EINTR => {}
            -1 => return None,
            _ => return polled.iter().position(|one| one.revents != 0),
        }
    }
}

/// Whether this kernel reports writes to pipes.
fn pipes_report() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let Ok((reader, writer)) = crate::launch::pipe() else { return false };
        let Ok(inotify) = watch(&[writer.as_raw_fd()]) else { return false };
        let written = File::from(writer).write_all(b"?").is_ok();
        drop(reader);
        written && readable(&[inotify.as_raw_fd()], 0).is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_write_to_a_file_is_noticed() {
        let mut file = tempfile::tempfile().unwrap();
        assert_eq!(OutputWatch::watchable(file.as_raw_fd()), Watchable::Yes);
        let watch = OutputWatch::new(&[file.as_raw_fd()]).unwrap();
        assert_eq!(watch.seen(), None);
        let before = Instant::now();
        file.write_all(b"x").unwrap();
        while watch.seen().is_none() {
            std::thread::yield_now();
        }
        assert!(watch.seen().unwrap() >= before);
        let again = watch.again().unwrap();
        assert_eq!(again.seen(), None);
        file.write_all(b"y").unwrap();
        assert!(again.finish().is_some());
    }

    #[test]
    fn silence_is_not_noticed() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(OutputWatch::new(&[file.as_raw_fd()]).unwrap().finish(), None);
    }

    #[test]
    fn the_null_device_is_nobodys_output() {
        let null = File::options().write(true).open("/dev/null").unwrap();
        assert_eq!(OutputWatch::watchable(null.as_raw_fd()), Watchable::Discarded);
    }
}
