//! When an answer is due: its turn in the queue of the server, and the delay after it.
//!
//! Threads sleep until shortly before that and spin for the rest, since a sleep ends some microseconds late.

use nix::sys::prctl::set_timerslack;
use std::cell::Cell;
use std::num::NonZeroU64;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A sleep with the smallest timer slack ends about this much late on an idle machine (measured: 13 to 18 us).
const WAKE_UP: Duration = Duration::from_micros(15);

thread_local! {
    static PRECISE: Cell<bool> = const { Cell::new(false) };
}

/// The queue of all clients.
#[derive(Debug)]
pub(crate) struct Pace {
    /// How long the server works on one request; `None` if it has no limit.
    service: Option<Duration>,
    free_at: Mutex<Instant>,
}

impl Pace {
    pub fn new(rate: Option<NonZeroU64>) -> Pace {
        let service = rate.map(|rate| Duration::from_secs_f64(1.0 / rate.get() as f64));
        Pace { service, free_at: Mutex::new(Instant::now()) }
    }

    /// Waits until a request that arrived at `arrival` may be answered.
    pub fn wait(&self, arrival: Instant, delay: Duration) {
        let due = self.turn(arrival) + delay;
        sleep_until(due);
    }

    /// When the server is done with a request: it takes them one by one, in the order of their arrival.
    fn turn(&self, arrival: Instant) -> Instant {
        let Some(service) = self.service else { return arrival };
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        *free_at = arrival.max(*free_at) + service;
        *free_at
    }
}

fn sleep_until(due: Instant) {
    PRECISE.with(|precise| {
        if !precise.replace(true) {
            // Threads start with 50 us of slack. If it cannot be set, answers are late by that much.
            let _ = set_timerslack(1);
        }
    });
    loop {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        if left > WAKE_UP {
            std::thread::sleep(left - WAKE_UP);
        } else {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_takes_requests_one_by_one() {
        let pace = Pace::new(NonZeroU64::new(1000));
        let start = Instant::now() + Duration::from_secs(1);
        let turns: Vec<Duration> = (0..3).map(|_| pace.turn(start) - start).collect();
        assert_eq!(turns, [1, 2, 3].map(Duration::from_millis));
    }

    #[test]
    fn an_idle_server_saves_nothing_up() {
        let pace = Pace::new(NonZeroU64::new(1000));
        let start = Instant::now() + Duration::from_secs(1);
        let _ = pace.turn(start);
        let later = start + Duration::from_secs(5);
        assert_eq!(pace.turn(later) - later, Duration::from_millis(1));
    }

    #[test]
    fn without_a_limit_nothing_queues() {
        let pace = Pace::new(None);
        let now = Instant::now();
        assert_eq!((pace.turn(now), pace.turn(now)), (now, now));
    }
}
