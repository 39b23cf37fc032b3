//! Whether a thread is saturated (it works without a pause) while a processor is idle. Once a second the thread looks
//! at its own processor time and at the machine's idle time, which is one file in /proc.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// The interval between two looks.
const LOOK: Duration = Duration::from_secs(1);

/// The share above which a thread works without a pause: some time goes to others on the same processor.
const BUSY: f64 = 0.85;

/// The share of an idle processor that is worth a second thread.
const IDLE: f64 = 0.25;

/// The thread since its last look.
pub(super) struct Saturation {
    since: Instant,
    worked: Duration,
    /// Idle time of all processors, in ticks. `None` until the thread was once busy.
    idle: Option<u64>,
}

impl Saturation {
    /// Starts observing this thread.
    pub(super) fn new() -> Saturation {
        Saturation { since: Instant::now(), worked: worked(), idle: None }
    }

    /// Whether the thread was saturated over the last second.
    pub(super) fn is_reached(&mut self, now: Instant) -> bool {
        let time = now.saturating_duration_since(self.since);
        if time < LOOK {
            return false;
        }
        let (worked_before, idle_before) = (self.worked, self.idle);
        (self.since, self.worked, self.idle) = (now, worked(), None);
        let seconds = time.as_secs_f64();
        if self.worked.saturating_sub(worked_before).as_secs_f64() < BUSY * seconds {
            return false;
        }
        self.idle = idle();
        let ticks = self.idle.zip(idle_before).map_or(0, |(now, before)| now.saturating_sub(before));
        ticks as f64 >= IDLE * seconds * rustix::param::clock_ticks_per_second() as f64
    }
}

/// Processor time of this thread.
fn worked() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Idle time of all processors since boot, in ticks; `None` if the kernel does not report it.
fn idle() -> Option<u64> {
    idle_of(&std::fs::read_to_string("/proc/stat").ok()?)
}

/// The fourth figure (proc_stat(5)). Time spent waiting for a disk does not count: a thread will go on then.
fn idle_of(stat: &str) -> Option<u64> {
    stat.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace().nth(3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As if the last look was a second ago, at a thread that worked for `worked_for` while `idle_for` was idle.
    fn looked_at(worked_for: Duration, idle_for: Duration) -> bool {
        let ticks = idle_for.as_secs() * rustix::param::clock_ticks_per_second();
        let mut saturation = Saturation {
            since: Instant::now().checked_sub(LOOK).unwrap(),
            worked: worked().saturating_sub(worked_for),
            idle: idle().map(|now| now.saturating_sub(ticks)),
        };
        saturation.is_reached(Instant::now())
    }

    fn spin(time: Duration) {
        let begun = worked();
        while worked() - begun < time {}
    }

    #[test]
    fn only_a_thread_without_a_pause_beside_an_idle_processor_is_saturated() {
        spin(Duration::from_millis(1100));
        let (second, nothing) = (Duration::from_secs(1), Duration::ZERO);
        assert!(looked_at(second, second));
        assert!(!looked_at(second, nothing));
        assert!(!looked_at(nothing, second));
    }

    #[test]
    fn looks_are_a_second_apart_and_the_first_busy_one_only_begins() {
        let mut saturation = Saturation::new();
        assert!(!saturation.is_reached(Instant::now()));
        spin(LOOK);
        let mut saturation = Saturation {
            since: Instant::now().checked_sub(LOOK).unwrap(),
            worked: worked().saturating_sub(LOOK),
            idle: None,
        };
        assert!(!saturation.is_reached(Instant::now()));
        assert!(saturation.idle.is_some());
    }

    #[test]
    fn idle_time_is_the_fourth_figure() {
        assert_eq!(idle_of("cpu  10 20 30 4000 50 0 0 0 0 0\ncpu0 1 2 3 4 5\n"), Some(4000));
        assert_eq!(idle_of("intr 1"), None);
        assert!(idle().is_some());
    }
}
