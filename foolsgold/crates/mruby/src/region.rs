//! The memory region of one interpreter.

use std::io;
use std::ptr::{self, NonNull};

/// The size of a page, as this file and the snapshots count it.
pub(crate) const PAGE: usize = 4096;

/// Our own address space, readable and writable; pages are allocated when touched.
pub(crate) struct Region {
    base: NonNull<u8>,
    size: usize,
}

impl Region {
    /// Reserves it, in whole pages.
    pub fn new(size: usize) -> io::Result<Region> {
        let size = size.next_multiple_of(PAGE);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let base = unsafe { libc::mmap(ptr::null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // With large pages, each byte that a request writes could cost two megabytes.
        // SAFETY: advice about the mapping that was just made.
        unsafe { libc::madvise(base, size, libc::MADV_NOHUGEPAGE) };
        match NonNull::new(base.cast()) {
            Some(base) => Ok(Region { base, size }),
            None => Err(io::Error::other("mapped at address 0")),
        }
    }

    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    pub fn size(&self) -> usize {
        self.size
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing uses it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.size) };
    }
}

/// The end of this thread's stack (its lowest address), and its size; `None` if the system does not say.
pub(crate) fn stack_of_thread() -> Option<(usize, usize)> {
    // SAFETY: the attributes are filled in before they are read, and destroyed once.
    unsafe {
        let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let (mut address, mut size) = (ptr::null_mut(), 0);
        let failed = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut address, &raw mut size);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        (failed == 0).then_some((address as usize, size))
    }
}
