//! Tracks which pages were written: `PAGEMAP_SCAN` over userfaultfd's asynchronous write protection (Linux 6.7 and
//! later).
//!
//! Both need no privilege. Structures and numbers are those of `linux/fs.h` and `linux/userfaultfd.h`; the C libraries
//! do not have them yet. See `Documentation/admin-guide/mm/pagemap.rst`.

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const UFFD_USER_MODE_ONLY: libc::c_int = 1;
const UFFD_API: u64 = 0xAA;
const UFFD_FEATURE_WP_UNPOPULATED: u64 = 1 << 13;
const UFFD_FEATURE_WP_ASYNC: u64 = 1 << 15;
const UFFDIO_REGISTER_MODE_WP: u64 = 1 << 1;
const UFFDIO_WRITEPROTECT_MODE_WP: u64 = 1;
const PAGE_IS_WRITTEN: u64 = 1 << 1;

const UFFDIO_API: u32 = read_write(0xAA, 0x3F, size_of::<Api>());
const UFFDIO_REGISTER: u32 = read_write(0xAA, 0x00, size_of::<Register>());
const UFFDIO_WRITEPROTECT: u32 = read_write(0xAA, 0x06, size_of::<WriteProtect>());
const PAGEMAP_SCAN: u32 = read_write(b'f', 16, size_of::<Scan>());

/// `_IOWR`
const fn read_write(kind: u8, number: u8, size: usize) -> u32 {
    3 << 30 | (size as u32) << 16 | (kind as u32) << 8 | number as u32
}

#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct Register {
    start: u64,
    len: u64,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct WriteProtect {
    start: u64,
    len: u64,
    mode: u64,
}

#[repr(C)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// A run of pages, as addresses.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Run {
    pub start: u64,
    pub end: u64,
    categories: u64,
}

/// Watches a range of memory.
pub(crate) struct Tracker {
    faults: OwnedFd,
    pages: File,
    start: u64,
    len: u64,
    found: Vec<Run>,
}

/// How many runs one call can report.
const AT_ONCE: usize = 128;

impl Tracker {
    /// Begins to watch; every page counts as unwritten.
    pub fn new(start: *mut u8, len: usize) -> io::Result<Tracker> {
        let faults = open()?;
        let (start, len) = (start as u64, len as u64);
        watch(&faults, start, len)?;
        let pages = File::open("/proc/self/pagemap")?;
        let mut tracker = Tracker { faults, pages, start, len, found: vec![Run::default(); AT_ONCE] };
        tracker.forget()?;
        // A kernel without the call fails here, and not in the middle of a request.
        tracker.written(|_| {})?;
        Ok(tracker)
    }

    /// From now on, every page counts as unwritten.
    pub fn forget(&mut self) -> io::Result<()> {
        let mode = UFFDIO_WRITEPROTECT_MODE_WP;
        control(&self.faults, UFFDIO_WRITEPROTECT, &mut WriteProtect { start: self.start, len: self.len, mode })
    }

    /// Reports each run of pages that were written since [`Tracker::forget`].
    pub fn written(&mut self, mut tell: impl FnMut(Run)) -> io::Result<()> {
        let end = self.start + self.len;
        let mut from = self.start;
        while from < end {
            let mut scan = Scan {
                size: size_of::<Scan>() as u64,
                flags: 0,
                start: from,
                end,
                walk_end: 0,
                vec: self.found.as_mut_ptr() as u64,
                vec_len: self.found.len() as u64,
                max_pages: 0,
                category_inverted: 0,
                category_mask: PAGE_IS_WRITTEN,
                category_anyof_mask: 0,
                return_mask: PAGE_IS_WRITTEN,
            };
            let count = control_counted(&self.pages, PAGEMAP_SCAN, &mut scan)?;
            self.found.iter().take(count).for_each(|run| tell(*run));
            if scan.walk_end <= from {
                return Err(io::Error::other("the kernel does not go on over written pages"));
            }
            from = scan.walk_end;
        }
        Ok(())
    }
}

/// Opens a descriptor for watches, which end when it is closed.
pub(crate) fn open() -> io::Result<OwnedFd> {
    let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | UFFD_USER_MODE_ONLY;
    // SAFETY: a system call without memory arguments.
    let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: a descriptor that was just made.
    let faults = unsafe { OwnedFd::from_raw_fd(fd) };
    let features = UFFD_FEATURE_WP_UNPOPULATED | UFFD_FEATURE_WP_ASYNC;
    control(&faults, UFFDIO_API, &mut Api { api: UFFD_API, features, ioctls: 0 })?;
    Ok(faults)
}

/// Allows writes to mapped pages to be watched; none is until that is asked for.
pub(crate) fn watch(faults: &OwnedFd, start: u64, len: u64) -> io::Result<()> {
    control(faults, UFFDIO_REGISTER, &mut Register { start, len, mode: UFFDIO_REGISTER_MODE_WP, ioctls: 0 })
}

fn control<T>(fd: &impl AsRawFd, request: u32, argument: &mut T) -> io::Result<()> {
    control_counted(fd, request, argument).map(drop)
}

fn control_counted<T>(fd: &impl AsRawFd, request: u32, argument: &mut T) -> io::Result<usize> {
    let argument: *mut T = argument;
    // SAFETY: the structure is the one that the request expects.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), request as _, argument.cast::<c_void>()) };
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}
