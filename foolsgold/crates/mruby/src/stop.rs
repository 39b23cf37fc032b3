//! Stopping a run from another thread.
//!
//! mruby is left at once, whatever it does: running instructions, the parser, the collector or methods in C
//! (native/stop.c says how and why that is safe). Rust that Ruby called is not: it must return by itself, and code that
//! runs long has to call [`Ruby::check`](crate::Ruby::check) or be bounded.
//!
//! A stopper belongs to one run: once the interpreter has given out a newer one, or was restored or dropped, it does
//! nothing. So it cannot stop a run that it was not meant for, however late it is used.

use crate::sys;
use std::sync::{Arc, Mutex, PoisonError};

/// Stops one run. Ruby is left at once, past every `rescue` and `ensure`; a native in Rust that is running is not
/// interrupted, but its calls to Ruby end as stopped, and so does the run when it returns.
#[derive(Clone, Debug)]
pub struct Stopper {
    cell: Arc<Mutex<Target>>,
    run: u64,
}

/// The interpreter and its present run.
#[derive(Debug)]
pub(crate) struct Target {
    fg: *mut sys::Fg,
    run: u64,
}

// SAFETY: the pointer is used only under the lock, for two atomic stores and a signal to the interpreter's thread, and
// is null once the interpreter is gone.
unsafe impl Send for Target {}

impl Stopper {
    /// Stops the run at once, or as soon as a native in Rust returns. Returns whether that run was still the present
    /// one.
    pub fn stop(&self) -> bool {
        let target = self.cell.lock().unwrap_or_else(PoisonError::into_inner);
        if target.fg.is_null() || target.run != self.run {
            return false;
        }
        // SAFETY: the interpreter exists as long as the pointer is not null, and the lock is held.
        unsafe { sys::fg_stop(target.fg) };
        true
    }
}

/// The interpreter's side.
pub(crate) struct Stopping(Arc<Mutex<Target>>);

impl Stopping {
    pub fn new(fg: *mut sys::Fg) -> Stopping {
        Stopping(Arc::new(Mutex::new(Target { fg, run: 0 })))
    }

    /// From now on, earlier stoppers do nothing, and their requests are forgotten.
    pub fn next_run(&self) {
        let mut target = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        target.run += 1;
        // SAFETY: the interpreter exists: this is its own side.
        unsafe { sys::fg_clear_stop(target.fg) };
    }

    pub fn stopper(&self) -> Stopper {
        let run = self.0.lock().unwrap_or_else(PoisonError::into_inner).run;
        Stopper { cell: Arc::clone(&self.0), run }
    }
}

impl Stopping {
    /// No stopper does anything any more: the interpreter is about to be dropped.
    pub fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).fg = std::ptr::null_mut();
    }
}
