//! The tracer's own signals while a command runs.

use std::sync::Mutex;

static HELD: Mutex<(usize, [usize; 2])> = Mutex::new((0, [0; 2]));
const KEYS: [i32; 2] = [libc::SIGINT, libc::SIGQUIT];

/// While it lives, `SIGINT` and `SIGQUIT` are ignored here: Ctrl-C and Ctrl-\ go to the command, which shares the
/// terminal's process group, and the tracer outlives it to report. Make it after the fork, so that the command does
/// not inherit it.
#[derive(Debug)]
pub struct IgnoreInterrupts(());

impl IgnoreInterrupts {
    /// Ignores them from now on.
    #[must_use]
    pub fn new() -> IgnoreInterrupts {
        let mut held = HELD.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if held.0 == 0 {
            // SAFETY: sets the disposition of a signal to a constant.
            held.1 = KEYS.map(|signal| unsafe { libc::signal(signal, libc::SIG_IGN) });
        }
        held.0 += 1;
        IgnoreInterrupts(())
    }
}

impl Default for IgnoreInterrupts {
    fn default() -> Self {
        IgnoreInterrupts::new()
    }
}

impl Drop for IgnoreInterrupts {
    fn drop(&mut self) {
        let mut held = HELD.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        held.0 -= 1;
        if held.0 == 0 {
            for (signal, before) in KEYS.into_iter().zip(held.1) {
                // SAFETY: restores the disposition that `signal` returned before.
                unsafe { libc::signal(signal, before) };
            }
        }
    }
}
