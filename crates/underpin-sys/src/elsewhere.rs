//! A thread that begins at once.

use std::mem::{MaybeUninit, size_of};
use std::os::unix::thread::JoinHandleExt;
use std::thread::JoinHandle;

/// Moves a thread that was just started to another processor than this one. It may use all of them, as before.
///
/// Linux may put a new thread in the queue of its maker's processor though another is idle, and looks again at a tick: on a virtual
/// machine of two processors it began 2.5 ms later in three cases of four, which is a quarter of what a small image takes. Who has
/// one processor, or may not choose, is left as he is.
pub fn elsewhere<T>(thread: &JoinHandle<T>) {
    // SAFETY: it takes nothing. A number below 0 is the only error.
    let here = unsafe { libc::sched_getcpu() };
    if let (Some(all), Ok(here)) = (allowed(), usize::try_from(here)) {
        leave(thread, here, all);
    }
}

/// Lets a thread use these processors without one of them, then all.
fn leave<T>(thread: &JoinHandle<T>, here: usize, all: libc::cpu_set_t) {
    if here >= 8 * size_of::<libc::cpu_set_t>() {
        return;
    }
    let mut others = all;
    // SAFETY: the number is below that of the set's bits.
    unsafe { libc::CPU_CLR(here, &mut others) };
    if count(&others) == 0 {
        return;
    }
    // An integer for std; a pointer for musl.
    let thread = thread.as_pthread_t() as libc::pthread_t;
    for set in [others, all] {
        // SAFETY: the handle is not joined yet, so its thread's id is one, and the set is as long as is said. A refusal changes nothing.
        unsafe { libc::pthread_setaffinity_np(thread, size_of::<libc::cpu_set_t>(), &raw const set) };
    }
}

/// The processors that this thread may use: none if there are more of them than a set has room for.
fn allowed() -> Option<libc::cpu_set_t> {
    let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: it fills a set that is as long as is said.
    let failed = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), set.as_mut_ptr()) } != 0;
    // SAFETY: all bits are zero, or the kernel's.
    (!failed).then(|| unsafe { set.assume_init() })
}

fn count(set: &libc::cpu_set_t) -> libc::c_int {
    // SAFETY: it reads a set.
    unsafe { libc::CPU_COUNT(set) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::{Duration, Instant};

    fn here() -> usize {
        // SAFETY: it takes nothing.
        usize::try_from(unsafe { libc::sched_getcpu() }).unwrap()
    }

    /// Lets this thread use nothing but the processor that it is on.
    fn stay() -> usize {
        let here = here();
        // SAFETY: no bit is set, and the number is one of a processor.
        let set = unsafe {
            let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed().assume_init();
            libc::CPU_SET(here, &mut set);
            set
        };
        // SAFETY: the set is as long as is said.
        assert_eq!(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) }, 0);
        here
    }

    #[test]
    fn a_thread_leaves_the_processor_and_may_use_all() {
        let all = allowed().unwrap();
        if count(&all) < 2 {
            return;
        }
        let (tell, told) = channel();
        let thread = thread::spawn(move || {
            let first = stay();
            tell.send(first).unwrap();
            let deadline = Instant::now() + Duration::from_secs(60);
            while here() == first {
                assert!(Instant::now() < deadline, "it was not moved");
            }
            while allowed().as_ref().map_or(0, count) < 2 {
                assert!(Instant::now() < deadline, "it may not use all");
            }
            allowed().unwrap()
        });
        leave(&thread, told.recv().unwrap(), all);
        let after = thread.join().unwrap();
        // SAFETY: it reads two sets.
        assert!(unsafe { libc::CPU_EQUAL(&all, &after) });
    }

    #[test]
    fn the_only_processor_is_not_left() {
        let thread = thread::spawn(|| {
            let here = stay();
            let thread = thread::spawn(move || (0..1000).all(|_| super::tests::here() == here));
            elsewhere(&thread);
            thread.join().unwrap()
        });
        assert!(thread.join().unwrap());
    }
}
