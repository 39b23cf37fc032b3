//! Compiles patterns that may take long on a separate thread, so that the caller can be stopped meanwhile.
//!
//! Compiling has no point at which it could be interrupted, and a pattern of 64 KiB takes a second or two. A caller
//! that is stopped abandons the thread; it ends by itself, since source and result are bounded, and there are at most
//! [`AT_ONCE`] of them.

use super::{Options, Pattern, PatternError};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Shorter sources without a repeat count compile in a few milliseconds.
const SHORT: usize = 200;

/// The most threads that compile at once, including those whose result is no longer wanted.
const AT_ONCE: usize = 4;

/// How often the caller checks for a stop.
const STEP: Duration = Duration::from_millis(2);

/// Stack of such a thread: patterns are nested, and the compiler recurses.
const STACK: usize = 16 << 20;

static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// A slot for one of the threads, until it ends.
struct Place;

impl Place {
    fn take() -> Option<Place> {
        let more = |running: usize| (running < AT_ONCE).then_some(running + 1);
        RUNNING.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).ok().map(|_| Place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whether a source may take long: it is long, or contains a repeat count.
pub(super) fn is_heavy(source: &[u8]) -> bool {
    let repeats = source.windows(2).any(|two| two[0] == b'{' && (two[1].is_ascii_digit() || two[1] == b','));
    source.len() >= SHORT || repeats
}

/// Compiles a source for as long as `goes_on` returns true; `None` after that.
pub(super) fn compile(
    source: &[u8],
    options: Options,
    goes_on: &dyn Fn() -> bool,
) -> Option<Result<Pattern, PatternError>> {
    let place = loop {
        if let Some(place) = Place::take() {
            break place;
        }
        if !goes_on() {
            return None;
        }
        thread::sleep(STEP);
    };
    let (done, result) = mpsc::channel();
    let copy = source.to_vec();
    let builder = thread::Builder::new().name("regexp".to_owned()).stack_size(STACK);
    let begun = builder.spawn(move || {
        let compiled = Pattern::compile(&copy, options);
        drop(place);
        // The caller may have stopped waiting.
        let _ = done.send(compiled);
    });
    if begun.is_err() {
        // If no thread can be started, compile here, without interruption.
        return Some(Pattern::compile(source, options));
    }
    loop {
        match result.recv_timeout(STEP) {
            Ok(compiled) => return Some(compiled),
            Err(mpsc::RecvTimeoutError::Timeout) if goes_on() => {}
            Err(mpsc::RecvTimeoutError::Timeout) => return None,
            // The thread panicked; compiling here shows the panic.
            Err(mpsc::RecvTimeoutError::Disconnected) => return Some(Pattern::compile(source, options)),
        }
    }
}
