//! An interpreter, from outside.

use crate::error::{Error, Outcome};
use crate::host::Host;
use crate::region::{Region, stack_of_thread};
use crate::ruby::Ruby;
use crate::snapshot::Snapshot;
use crate::stop::{Stopper, Stopping};
use crate::sys;
use std::any::{Any, TypeId};
use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::OnceLock;

/// The limits of an interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory in total; also the most that [`Interpreter::limit_memory`] can set later. It costs address space
    /// only.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { memory: 256 << 20 }
    }
}

/// Bytes of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// In use now, including garbage.
    pub used: usize,
    /// The most ever in use (since the snapshot, if one was restored).
    pub used_peak: usize,
    /// The extent of the interpreter's memory now.
    pub extent: usize,
    /// The largest extent since the last restore.
    pub extent_peak: usize,
    /// The limit on the extent.
    pub limit: usize,
}

/// One mruby interpreter. It stays on its thread.
pub struct Interpreter {
    stopping: Stopping,
    host: Box<Host>,
    pub(crate) kept: Option<Snapshot>,
    region: Region,
    not_send: PhantomData<*mut ()>,
}

/// Memory beyond the limit, for describing an exception.
const RESERVE: usize = 1 << 20;
/// Stack reserved for C and Rust below Ruby.
const STACK_RESERVE: usize = 1 << 20;

/// Installs the process's handler for stops, which reach a thread as signals (native/stop.c).
fn catch_stops() -> Result<(), Error> {
    static CAUGHT: OnceLock<bool> = OnceLock::new();
    // SAFETY: installs a handler that touches nothing but what its own thread runs.
    let caught = *CAUGHT.get_or_init(|| unsafe { sys::fg_catch_stops() } != 0);
    if caught { Ok(()) } else { Err(Error::Create("the system refuses a handler of SIGURG".to_owned())) }
}

impl Interpreter {
    /// Creates an interpreter.
    ///
    /// # Errors
    /// If there is no address space for it, or the limit is less than an empty interpreter needs (about 300 kB).
    pub fn new(limits: Limits) -> Result<Interpreter, Error> {
        catch_stops()?;
        let size = limits.memory.saturating_add(RESERVE);
        let region = Region::new(size).map_err(|error| Error::Create(error.to_string()))?;
        let host = Box::new(Host::new());
        let stack = stack_of_thread().map_or(0, |(end, size)| end + STACK_RESERVE.min(size / 4));
        let callbacks = Host::callbacks();
        let address: *const Host = &raw const *host;
        // SAFETY: the region is ours and outlives the interpreter; so does the host, whose address is fixed.
        let fg = unsafe {
            let host = address.cast_mut().cast();
            sys::fg_open(
                region.base().cast(),
                region.size(),
                limits.memory,
                stack as *const _,
                host,
                &raw const callbacks,
            )
        };
        if fg.is_null() {
            return Err(Error::Create(format!("{} bytes of memory are too few", limits.memory)));
        }
        host.fg.set(fg);
        host.arena.set(region.base().cast());
        let mut interpreter =
            Interpreter { stopping: Stopping::new(fg), host, kept: None, region, not_send: PhantomData };
        interpreter.limit_memory(limits.memory);
        Ok(interpreter)
    }

    pub(crate) fn fg(&self) -> *mut sys::Fg {
        self.host.fg.get()
    }

    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    pub(crate) fn region(&self) -> &Region {
        &self.region
    }

    pub(crate) fn stopping(&self) -> &Stopping {
        &self.stopping
    }

    /// Whether it can be used: false after a run was stopped midway or a native panicked, until it is restored.
    #[must_use]
    pub fn usable(&self) -> bool {
        // SAFETY: reads a flag.
        let interrupted = unsafe { sys::fg_was_interrupted(self.fg()) } != 0;
        !interrupted && self.host.panic.borrow().is_none()
    }

    /// The message of a native's panic since the last restore, if there was one.
    #[must_use]
    pub fn panic(&self) -> Option<String> {
        self.host.panic.borrow().clone()
    }

    /// Enters the interpreter: Ruby values exist only in here.
    ///
    /// # Errors
    /// What the body returns as an error, as text.
    pub fn enter<T>(&mut self, body: impl for<'r> FnOnce(Ruby<'r>) -> Outcome<'r, T>) -> Result<T, Error> {
        if !self.usable() {
            return Err(Error::Unusable);
        }
        let _frame = Frame::new(self.fg());
        let ruby = Ruby::new(&self.host);
        let result = body(ruby).map_err(|raise| ruby.error(raise));
        // SAFETY: clears two pointers.
        unsafe { sys::fg_forget_traces(self.fg()) };
        result
    }

    /// Sets how much memory it may use from now on. A snapshot keeps the limit with which it was taken.
    pub fn limit_memory(&mut self, bytes: usize) {
        let most = self.region.size() - RESERVE.min(self.region.size());
        let limit = self.region.base().wrapping_add(bytes.min(most));
        // SAFETY: the head of the arena; nothing runs.
        unsafe {
            let arena = self.host.arena.get();
            ((*arena).limit, (*arena).soft) = (limit, limit);
        }
    }

    /// How much memory it uses.
    #[must_use]
    pub fn memory(&self) -> Memory {
        // SAFETY: the head of the arena; nothing runs.
        let arena = unsafe { &*self.host.arena.get() };
        let extent = |end: *mut u8| end as usize - self.region.base() as usize;
        Memory {
            used: arena.used,
            used_peak: arena.used_peak,
            extent: extent(arena.top),
            extent_peak: extent(arena.peak),
            limit: extent(arena.limit),
        }
    }

    /// Switches the collector on or off. If memory runs short it is switched on again.
    pub fn enable_gc(&mut self, on: bool) {
        // SAFETY: sets a flag; nothing runs.
        unsafe { sys::fg_set_gc(self.fg(), on.into()) };
    }

    /// Collects garbage at every allocation, which is very slow: for tests, to find values that nothing keeps alive.
    pub fn stress_gc(&mut self, on: bool) {
        // SAFETY: the head of the arena; nothing runs.
        unsafe { (*self.host.arena.get()).stress = on.into() };
    }

    /// Collects all garbage, even if the collector is off.
    pub fn full_gc(&mut self) {
        // SAFETY: nothing runs; exceptions stay inside.
        unsafe {
            let on = sys::fg_gc_is_on(self.fg());
            sys::fg_set_gc(self.fg(), 1);
            sys::fg_full_gc(self.fg());
            sys::fg_set_gc(self.fg(), on);
        }
    }

    /// Reads memory after its end, to prove that the sanitizer works.
    #[cfg(mruby_sanitize)]
    pub fn misuse_memory(&mut self) -> i32 {
        // SAFETY: none; the sanitizer ends the process.
        unsafe { sys::fg_misuse((*self.host.arena.get()).mrb) }
    }

    /// A stopper for the next run (or, used from another thread, the present one). Earlier stoppers do nothing from now
    /// on.
    #[must_use]
    pub fn stopper(&mut self) -> Stopper {
        self.stopping.next_run();
        self.stopping.stopper()
    }

    /// Stores a value that natives find by its type: [`Ruby::data`]. There is one of each type; a later one replaces an
    /// earlier one.
    pub fn insert_data<T: 'static>(&mut self, item: T) {
        let item: Rc<dyn Any> = Rc::new(item);
        self.host.data.borrow_mut().insert(TypeId::of::<T>(), item);
    }
}

impl Drop for Interpreter {
    fn drop(&mut self) {
        self.stopping.close();
        // SAFETY: the last use.
        unsafe { sys::fg_close(self.fg()) };
    }
}

impl fmt::Debug for Interpreter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interpreter").field("memory", &self.memory()).finish_non_exhaustive()
    }
}

/// Values of an entry end with it, even if it panics.
struct Frame {
    fg: *mut sys::Fg,
    level: i32,
}

impl Frame {
    fn new(fg: *mut sys::Fg) -> Frame {
        // SAFETY: reads a count.
        Frame { fg, level: unsafe { sys::fg_arena_level(fg) } }
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        // SAFETY: the interpreter is alive; it is borrowed by the entry.
        unsafe { sys::fg_arena_back_to(self.fg, self.level) };
    }
}
