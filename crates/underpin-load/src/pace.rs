//! The schedule of an open loop: request `k` of a thread is due at a moment that is known beforehand.
//!
//! A connection that comes for its next request takes the one that is due already, however long ago (the backlog), or
//! waits for the next. The waiting is done by one timer of the kernel for all of them, which is exact to some
//! microseconds, while the runtime's own timers are exact to a millisecond.

use crate::first::first;
use crate::tally::Tally;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

/// Below this the timer is not worth setting.
const AT_ONCE: Duration = Duration::from_micros(2);

/// The moments at which the requests of one thread are due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beat {
    /// The first request of all threads.
    pub(crate) begin: Instant,
    /// No request is due from here on.
    pub(crate) until: Instant,
    /// Requests in a second, over all threads.
    pub(crate) rate: f64,
    /// This thread, and how many there are.
    pub(crate) thread: (usize, usize),
}

impl Beat {
    /// When request `number` of this thread is due.
    fn due(&self, number: u64) -> Instant {
        let (thread, threads) = self.thread;
        let place = (number as f64).mul_add(threads as f64, thread as f64);
        self.begin + Duration::from_nanos((place * 1e9 / self.rate) as u64)
    }
}

/// Hands requests to connections.
#[derive(Debug)]
pub(crate) struct Pacer {
    beat: Beat,
    next: Cell<u64>,
    waiting: Cell<usize>,
    handed: RefCell<VecDeque<Instant>>,
    /// Connections wait here for a request.
    turn: Notify,
    /// The timer waits here for a connection.
    free: Notify,
    /// No task will be woken any more.
    over: Cell<bool>,
}

impl Pacer {
    pub(crate) fn new(beat: Beat) -> Pacer {
        Pacer {
            beat,
            next: Cell::new(0),
            waiting: Cell::new(0),
            handed: RefCell::default(),
            turn: Notify::new(),
            free: Notify::new(),
            over: Cell::new(false),
        }
    }

    /// Waits for the next request and returns when it was due; `None` at the end.
    pub(crate) async fn take(&self) -> Option<Instant> {
        let now = Instant::now();
        if now >= self.beat.until || self.over.get() {
            return None;
        }
        if let Some(due) = self.claim(now) {
            return Some(due);
        }
        self.waiting.set(self.waiting.get() + 1);
        self.free.notify_one();
        self.turn.notified().await;
        self.handed.borrow_mut().pop_front()
    }

    /// The next request, if it is due.
    fn claim(&self, now: Instant) -> Option<Instant> {
        let due = self.beat.due(self.next.get());
        (due <= now && due < self.beat.until).then(|| {
            self.next.set(self.next.get() + 1);
            due
        })
    }

    /// Wakes waiting connections when their requests are due, and all of them at the end.
    pub(crate) async fn run(&self, tally: &RefCell<Tally>) -> io::Result<()> {
        let result = self.beat(tally).await;
        // The timer may be early, or broken: a connection that comes now must not wait for it.
        self.over.set(true);
        self.turn.notify_waiters();
        result
    }

    async fn beat(&self, tally: &RefCell<Tally>) -> io::Result<()> {
        let timer = Timer::new()?;
        loop {
            let due = self.beat.due(self.next.get());
            if due.max(Instant::now()) >= self.beat.until {
                return timer.sleep_until(self.beat.until).await;
            }
            timer.sleep_until(due).await?;
            let now = Instant::now();
            while self.waiting.get() > 0 {
                let Some(due) = self.claim(now) else { break };
                self.waiting.set(self.waiting.get() - 1);
                self.handed.borrow_mut().push_back(due);
                self.turn.notify_one();
                let lags = &mut tally.borrow_mut().lags;
                *lags = (lags.0 + (now - due), lags.1.saturating_add(1));
            }
            if self.waiting.get() == 0 {
                first(
                    async {
                        self.free.notified().await;
                        Ok(())
                    },
                    timer.sleep_until(self.beat.until),
                )
                .await?;
            }
        }
    }

    /// Reports the requests that were due and never sent.
    pub(crate) fn left_over(&self, tally: &RefCell<Tally>) {
        let mut tally = tally.borrow_mut();
        self.handed.borrow_mut().drain(..).for_each(|due| tally.never_sent(due));
        while let Some(due) = self.claim(self.beat.until) {
            tally.never_sent(due);
        }
    }
}

/// A timer of the kernel.
struct Timer(AsyncFd<OwnedFd>);

impl Timer {
    #[allow(
        deprecated,
        reason = "its safe successor asks for a promise that every OwnedFd keeps: to stay the same file"
    )]
    fn new() -> io::Result<Timer> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        Ok(Timer(AsyncFd::new(timerfd_create(TimerfdClockId::Monotonic, flags)?)?))
    }

    async fn sleep_until(&self, at: Instant) -> io::Result<()> {
        let left = at.saturating_duration_since(Instant::now());
        if left <= AT_ONCE {
            tokio::task::yield_now().await;
            return Ok(());
        }
        let value = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        let setting = Itimerspec { it_interval: none, it_value: value };
        timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &setting)?;
        loop {
            let mut ready = self.0.readable().await?;
            let mut count = [0u8; 8];
            match ready.try_io(|timer| Ok(rustix::io::read(timer.get_ref(), &mut count)?)) {
                Ok(result) => return result.map(drop),
                Err(_would_block) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_share_a_rate_without_overlap() {
        let begin = Instant::now();
        let until = begin + Duration::from_secs(1);
        let beat = |thread| Beat { begin, until, rate: 1000.0, thread: (thread, 2) };
        let mut due: Vec<Duration> = (0..2)
            .flat_map(|thread| (0..500).map(move |number| (thread, number)))
            .map(|(thread, number)| beat(thread).due(number) - begin)
            .collect();
        due.sort_unstable();
        let expected: Vec<Duration> = (0..1000).map(Duration::from_millis).collect();
        assert_eq!(due, expected);
    }

    #[test]
    fn nobody_waits_for_a_pacer_that_has_ended() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let begin = Instant::now();
        // Long enough that a busy machine comes to the first request before the end.
        let until = begin + Duration::from_millis(500);
        let pacer = Pacer::new(Beat { begin, until, rate: 1.0, thread: (0, 1) });
        let tally = RefCell::new(Tally::new(begin, until));
        runtime.block_on(async {
            assert!(pacer.take().await.is_some());
            pacer.run(&tally).await.unwrap();
            // Even if a clock says that there is time left.
            let later = Pacer { beat: Beat { until: until + Duration::from_secs(3600), ..pacer.beat }, ..pacer };
            assert!(later.take().await.is_none());
        });
    }

    #[test]
    fn what_was_never_sent_is_told() {
        let begin = Instant::now();
        let until = begin + Duration::from_millis(100);
        let pacer = Pacer::new(Beat { begin, until, rate: 100.0, thread: (0, 1) });
        let tally = RefCell::new(Tally::new(begin, until));
        pacer.left_over(&tally);
        assert_eq!(tally.borrow().unsent, 10);
        assert_eq!(tally.borrow().latencies.longest(), tally.borrow().latencies.quantile(1.0));
    }
}
