//! Compiling what may take long on a thread of its own, so that the caller can be stopped meanwhile.
//!
//! Compiling has no steps at which it could be left, and a pattern of 64 KiB takes a second or two. Whoever is stopped leaves the
//! thread behind; it ends by itself, since source and result are bounded, and there are [`AT_ONCE`] of them at most.

use super::{Options, Pattern, PatternError};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Sources of less than this without a count compile in a few milliseconds.
const SHORT: usize = 200;

/// Threads that compile at the same time, including those whose result is no longer wanted.
const AT_ONCE: usize = 4;

/// How often a stop is looked for.
const STEP: Duration = Duration::from_millis(2);

/// Of such a thread: patterns are nested, and so is their compiler.
const STACK: usize = 16 << 20;

static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// One of the threads, until it ends.
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

/// Whether a source may take long: it is long, or says how often something is repeated.
pub(super) fn is_heavy(source: &[u8]) -> bool {
    let repeats = source.windows(2).any(|two| two[0] == b'{' && (two[1].is_ascii_digit() || two[1] == b','));
    source.len() >= SHORT || repeats
}

/// Compiles it, for as long as `goes_on` says so; then none.
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
        // Without another thread it is done here, and cannot be left.
        return Some(Pattern::compile(source, options));
    }
    loop {
        match result.recv_timeout(STEP) {
            Ok(compiled) => return Some(compiled),
            Err(mpsc::RecvTimeoutError::Timeout) if goes_on() => {}
            Err(mpsc::RecvTimeoutError::Timeout) => return None,
            // It panicked; here the panic is seen.
            Err(mpsc::RecvTimeoutError::Disconnected) => return Some(Pattern::compile(source, options)),
        }
    }
}
