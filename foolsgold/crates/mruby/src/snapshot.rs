//! Saving the state of an interpreter, and restoring it.
//!
//! A snapshot holds the bytes of the arena up to its top, which is everything that Ruby can change. Whatever is
//! allocated later is above and is forgotten by resetting the top, which needs no extra step: the arena's head is among
//! the bytes. If the kernel can tell which pages of the snapshot were written meanwhile, only those are copied back.
//!
//! Some things must not repeat after each restore: the default random generator is given new state whenever the old one
//! would come back, and object ids (`object_id`) given after the snapshot are never reused. Time goes on by itself.

use crate::error::Error;
use crate::interpreter::Interpreter;
use crate::region::PAGE;
use crate::sys;
use crate::track::{Run, Tracker};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::ptr::{self, NonNull};
use std::time::{Duration, Instant};

/// How an interpreter returns to its snapshot. All give the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// All bytes are copied: chosen below one megabyte if `Scan` is not available.
    Copy,
    /// The written pages are copied; the kernel reports which (Linux 6.7 and later). The best one at any size.
    Scan,
    /// The written pages are dropped and come back from a file in memory. Works on any kernel; each page costs a fault.
    Remap,
}

/// What a restore did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The method used.
    pub method: Method,
    /// Bytes that were copied, or dropped to be mapped again.
    pub bytes: usize,
    /// Time it took.
    pub time: Duration,
}

/// If the kernel cannot report which pages were written: below this size, a copy of everything is cheaper than faults.
const COPY_BELOW: usize = 1 << 20;
/// How much memory above the snapshot a request may leave resident for the next one.
const KEEP_RESIDENT: usize = 512 << 10;
/// With the collector off, how much a request may allocate before it is switched on.
const COLLECT_AFTER: usize = 8 << 20;
/// After this many restores, all pages count as unwritten again.
const FORGET_AFTER: u32 = 512;

/// The saved bytes.
pub(crate) struct Snapshot {
    way: Way,
    /// Whole pages from the base of the region.
    span: usize,
    /// A bit for each 16 bytes: whether an object begins there. Read by C.
    born: Box<[u64]>,
}

/// In the last two, the arena is a private mapping of a file in memory: a page that is not written exists once instead
/// of twice, and most are such pages. The image of `Scan` is the same file, for reading.
enum Way {
    Copy { image: Box<[u8]> },
    Scan { image: Image, tracker: Tracker, rounds: u32 },
    Remap { file: std::fs::File },
}

/// A file in memory, mapped for reading.
struct Image {
    base: NonNull<u8>,
    len: usize,
}

impl Image {
    fn new(file: &std::fs::File, len: usize) -> io::Result<Image> {
        // Populated at once: a restore does not wait for pages, and memory figures include all of it.
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let base = unsafe { libc::mmap(ptr::null_mut(), len, libc::PROT_READ, flags, file.as_raw_fd(), 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(Image { base, len })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: all of it is mapped, and nothing writes to the file any more.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

impl Way {
    fn method(&self) -> Method {
        match self {
            Way::Copy { .. } => Method::Copy,
            Way::Scan { .. } => Method::Scan,
            Way::Remap { .. } => Method::Remap,
        }
    }
}

impl Interpreter {
    /// Saves the present state, after collecting garbage; it replaces an earlier snapshot. The collector is off from
    /// now on, and switched on again if a request allocates more than eight megabytes. Without a method, the best
    /// available one for the size is taken.
    ///
    /// # Errors
    /// If a run was interrupted, or the method is not available on this system.
    pub fn snapshot(&mut self, method: Option<Method>) -> Result<(), Error> {
        if cfg!(mruby_sanitize) {
            return Err(Error::Snapshot("built for the sanitizer, without an arena".to_owned()));
        }
        if !self.usable() {
            return Err(Error::Unusable);
        }
        // SAFETY: reads whether anything runs.
        if unsafe { sys::fg_is_idle(self.fg()) } == 0 {
            return Err(Error::Busy);
        }
        self.drop_snapshot();
        self.stopping().next_run();
        self.enable_gc(true);
        self.full_gc();
        let span = self.set_apart()?;
        self.enable_gc(false);
        let born = self.born(span)?;
        self.host().kept();
        let failed = |error: io::Error| Error::Snapshot(error.to_string());
        let way = match method {
            Some(method) => self.way(method, span).map_err(failed)?,
            None => {
                let other = if span < COPY_BELOW { Method::Copy } else { Method::Remap };
                self.way(Method::Scan, span).or_else(|_| self.way(other, span)).map_err(failed)?
            }
        };
        // SAFETY: the bits stay where they are until the snapshot is dropped.
        unsafe { sys::fg_set_born(self.fg(), born.as_ptr(), born.len() * 64) };
        self.kept = Some(Snapshot { way, span, born });
        Ok(())
    }

    /// The method of the snapshot, if there is one.
    #[must_use]
    pub fn snapshot_method(&self) -> Option<Method> {
        self.kept.as_ref().map(|kept| kept.way.method())
    }

    /// The size of the snapshot in bytes.
    #[must_use]
    pub fn snapshot_size(&self) -> usize {
        self.kept.as_ref().map_or(0, |kept| kept.span)
    }

    fn drop_snapshot(&mut self) {
        // SAFETY: C forgets the bits before they go.
        unsafe { sys::fg_set_born(self.fg(), ptr::null(), 0) };
        self.kept = None;
    }

    /// Makes the memory of requests begin on a page of its own.
    fn set_apart(&mut self) -> Result<usize, Error> {
        // SAFETY: nothing runs.
        if unsafe { sys::fg_set_apart(self.fg()) } != sys::OK {
            return Err(Error::OutOfMemory);
        }
        let base = self.region().base();
        // SAFETY: the head of the arena; nothing runs. Blocks begin eight bytes before a multiple of sixteen.
        unsafe {
            let arena = self.host().arena.get();
            let span = ((*arena).top as usize - base as usize).next_multiple_of(PAGE);
            let top = base.wrapping_add(span + 8);
            if top > (*arena).limit {
                return Err(Error::OutOfMemory);
            }
            ((*arena).top, (*arena).peak, (*arena).keep) = (top, top, top);
            (*arena).used_peak = (*arena).used;
            (*arena).soft = top.wrapping_add(COLLECT_AFTER).min((*arena).limit);
            Ok(span)
        }
    }

    fn born(&mut self, span: usize) -> Result<Box<[u64]>, Error> {
        let mut born = vec![0_u64; span.div_ceil(16 * 64)].into_boxed_slice();
        // SAFETY: there is a bit for each place in the arena where an object can be.
        if unsafe { sys::fg_mark_born(self.fg(), born.as_mut_ptr()) } != sys::OK {
            return Err(Error::OutOfMemory);
        }
        Ok(born)
    }

    fn bytes(&self, span: usize) -> &[u8] {
        // SAFETY: the first pages of the region, all mapped; nothing runs.
        unsafe { std::slice::from_raw_parts(self.region().base(), span) }
    }

    fn way(&self, method: Method, span: usize) -> io::Result<Way> {
        let base = self.region().base();
        match method {
            Method::Copy => Ok(Way::Copy { image: self.bytes(span).into() }),
            Method::Scan => {
                let file = self.lay_over(span)?;
                let image = Image::new(&file, span)?;
                let tracker = Tracker::new(base, span)?;
                Ok(Way::Scan { image, tracker, rounds: 0 })
            }
            Method::Remap => Ok(Way::Remap { file: self.lay_over(span)? }),
        }
    }

    /// Copies the bytes of the arena into a file in memory, and maps that privately in their place.
    fn lay_over(&self, span: usize) -> io::Result<std::fs::File> {
        let file = file_in_memory(span)?;
        file.write_all_at(self.bytes(span), 0)?;
        let (flags, access) = (libc::MAP_PRIVATE | libc::MAP_FIXED, libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: replaces pages of ours that have the same bytes.
        let mapped = unsafe { libc::mmap(self.region().base().cast(), span, access, flags, file.as_raw_fd(), 0) };
        if mapped == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(file) }
    }

    /// Goes back to the snapshot, even after a stop or a panic. Values created meanwhile that Rust still holds are
    /// void; Rust values that their objects held are dropped. Earlier stoppers do nothing any more.
    ///
    /// # Errors
    /// If there is no snapshot, or a system call fails; then the interpreter must be dropped.
    pub fn restore(&mut self) -> Result<Restored, Error> {
        let begun = Instant::now();
        let Some(mut kept) = self.kept.take() else {
            return Err(Error::Snapshot("there is none".to_owned()));
        };
        self.stopping().next_run();
        let base = self.region().base();
        // SAFETY: the head of the arena; nothing runs.
        let peak = unsafe { (*self.host().arena.get()).peak } as usize - base as usize;
        // SAFETY: asks for an address.
        let random = unsafe { sys::fg_random_of(self.fg()) } as usize - base as usize;
        let restored = kept.write_back(base, random);
        if !matches!(restored, Ok((_, false))) {
            // SAFETY: the generator is an object of the snapshot.
            unsafe { sys::fg_randomise(self.fg()) };
        }
        let restored = restored.and_then(|(bytes, _)| kept.forget().map(|()| bytes));
        let method = kept.way.method();
        let span = kept.span;
        self.kept = Some(kept);
        // SAFETY: sets a flag.
        unsafe { sys::fg_forget_interruption(self.fg()) };
        let bytes = match restored {
            Ok(bytes) => bytes,
            Err(error) => {
                *self.host().panic.borrow_mut() = Some(error.to_string());
                return Err(Error::Snapshot(error.to_string()));
            }
        };
        if peak > span + KEEP_RESIDENT {
            let from = span + KEEP_RESIDENT;
            let len = peak.next_multiple_of(PAGE).min(self.region().size()) - from;
            // SAFETY: pages of ours above the snapshot, in which nothing is left.
            unsafe { libc::madvise(base.wrapping_add(from).cast(), len, libc::MADV_DONTNEED) };
        }
        self.host().restored();
        Ok(Restored { method, bytes, time: begun.elapsed() })
    }

    /// The offset at which the state differs from the snapshot, apart from the random generator's state, which is meant
    /// to differ. For tests.
    #[must_use]
    pub fn differs_from_snapshot(&self) -> Option<usize> {
        let kept = self.kept.as_ref()?;
        let mut image = match &kept.way {
            Way::Copy { image } => image.to_vec(),
            Way::Scan { image, .. } => image.bytes().to_vec(),
            Way::Remap { file } => {
                let mut image = vec![0; kept.span];
                file.read_exact_at(&mut image, 0).ok()?;
                image
            }
        };
        // SAFETY: asks for an address.
        let random = unsafe { sys::fg_random_of(self.fg()) } as usize - self.region().base() as usize;
        let now = self.bytes(kept.span);
        image[random..random + 16].copy_from_slice(&now[random..random + 16]);
        if *now == image[..] { None } else { now.iter().zip(&image).position(|(now, then)| now != then) }
    }
}

/// A file in memory of this size that no other process can open.
fn file_in_memory(span: usize) -> io::Result<std::fs::File> {
    let mut most = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: fills in the structure.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut most) } == 0;
    // Writing beyond the limit would end the program (SIGXFSZ).
    if !known || most.rlim_cur < span as libc::rlim_t {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    // Some systems (vm.memfd_noexec) require declaring that nothing in it is executed; Linux before 6.3 does not know
    // the flag.
    for flags in [libc::MFD_CLOEXEC | libc::MFD_NOEXEC_SEAL, libc::MFD_CLOEXEC] {
        // SAFETY: a call with a name.
        let fd = unsafe { libc::memfd_create(c"mruby".as_ptr(), flags) };
        if fd >= 0 {
            // SAFETY: a descriptor that was just made.
            return Ok(std::fs::File::from(unsafe { OwnedFd::from_raw_fd(fd) }));
        }
    }
    Err(io::Error::last_os_error())
}

impl Snapshot {
    /// Returns how many bytes were restored, and whether those at `place` were among them.
    fn write_back(&mut self, base: *mut u8, place: usize) -> io::Result<(usize, bool)> {
        let span = self.span;
        debug_assert!(self.born.len() * 1024 >= span);
        match &mut self.way {
            Way::Copy { image } => {
                // SAFETY: both have this length and do not overlap.
                unsafe { ptr::copy_nonoverlapping(image.as_ptr(), base, span) };
                Ok((span, true))
            }
            Way::Scan { image, tracker, .. } => {
                let (mut bytes, mut is_among) = (0, false);
                tracker.written(|Run { start, end, .. }| {
                    let (from, len) = (start as usize - base as usize, (end - start) as usize);
                    // SAFETY: pages within the span, which both have.
                    unsafe { ptr::copy_nonoverlapping(image.bytes().as_ptr().add(from), base.add(from), len) };
                    bytes += len;
                    is_among |= (from..from + len).contains(&place);
                })?;
                Ok((bytes, is_among))
            }
            Way::Remap { .. } => {
                // SAFETY: pages of a private mapping of ours, in which nothing is left.
                if unsafe { libc::madvise(base.cast(), span, libc::MADV_DONTNEED) } != 0 {
                    return Err(io::Error::last_os_error());
                }
                Ok((span, true))
            }
        }
    }

    /// From time to time, makes all pages count as unwritten. Those that each request writes are not reset until then:
    /// copying a page costs less than faulting on it.
    fn forget(&mut self) -> io::Result<()> {
        let Way::Scan { tracker, rounds, .. } = &mut self.way else { return Ok(()) };
        *rounds += 1;
        if *rounds >= FORGET_AFTER {
            *rounds = 0;
            tracker.forget()?;
        }
        Ok(())
    }
}
