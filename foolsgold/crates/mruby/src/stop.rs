//! Stopping a run from another thread.
//!
//! Whatever mruby does is left at once: Ruby's instructions, the parser, the collector and methods in C (native/stop.c says how
//! and why that is safe). Rust that Ruby called is not: it must come back by itself, and what runs long in it has to ask
//! [`Ruby::check`](crate::Ruby::check) or be bounded.
//!
//! A stopper belongs to one run: once the interpreter has given out a newer one, or was restored or dropped, it does
//! nothing. So it cannot hit a run that it was not meant for, however late it comes.

use crate::sys;
use std::sync::{Arc, Mutex, PoisonError};

/// Stops one run. Ruby is left at once, past every `rescue` and `ensure`; a native in Rust that runs meanwhile is not
/// interrupted, but what it asks of Ruby ends as stopped, and so does the run when it comes back.
#[derive(Clone, Debug)]
pub struct Stopper {
    cell: Arc<Mutex<Target>>,
    run: u64,
}

/// What there is to stop.
#[derive(Debug)]
pub(crate) struct Target {
    fg: *mut sys::Fg,
    run: u64,
}

// SAFETY: the pointer is used under the lock only, for two atomic stores and a signal to the interpreter's thread, and is null once
// the interpreter is gone.
unsafe impl Send for Target {}

impl Stopper {
    /// Stops it: at once, or as soon as a native in Rust comes back. Whether the run was still the present one.
    pub fn stop(&self) -> bool {
        let target = self.cell.lock().unwrap_or_else(PoisonError::into_inner);
        if target.fg.is_null() || target.run != self.run {
            return false;
        }
        // SAFETY: the interpreter is there as long as the pointer is not null, and the lock is held.
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

    /// From now on, earlier stoppers do nothing, and what they asked for is forgotten.
    pub fn next_run(&self) {
        let mut target = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        target.run += 1;
        // SAFETY: the interpreter is there: this is its own side.
        unsafe { sys::fg_clear_stop(target.fg) };
    }

    pub fn stopper(&self) -> Stopper {
        let run = self.0.lock().unwrap_or_else(PoisonError::into_inner).run;
        Stopper { cell: Arc::clone(&self.0), run }
    }
}

impl Stopping {
    /// No stopper does anything any more: the interpreter is about to go.
    pub fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).fg = std::ptr::null_mut();
    }
}
