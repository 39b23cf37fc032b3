//! What came of the requests: latencies, errors by kind, bytes, and how busy the generator itself was.
//!
//! Every thread has a tally of its own; they are added up at the end, so nothing is shared while requests run.

use crate::answer::{Answer, Malformed};
use hdrhistogram::Histogram;
use std::io;
use std::time::{Duration, Instant};

/// The longest latency that is resolved.
const LONGEST: Duration = Duration::from_secs(60);
/// Decimal digits that are kept of a latency.
const DIGITS: u8 = 3;

/// Requests that failed, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorCounts {
    /// No connection could be made.
    pub connect: u64,
    /// Answered with a status of 400 or above.
    pub status: u64,
    /// The connection broke, or the answer was malformed.
    pub broken: u64,
    /// No answer in time.
    pub timed_out: u64,
}

impl ErrorCounts {
    /// All of them.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.connect + self.status + self.broken + self.timed_out
    }
}

/// Why one request has no good answer.
#[derive(Debug)]
pub(crate) enum Failure {
    Connect(io::Error),
    Status(u16),
    Broken(Broken),
    TimedOut,
}

#[derive(Debug)]
pub(crate) enum Broken {
    Io(io::Error),
    Malformed(Malformed),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Connect(error) => write!(f, "it cannot be reached: {error}"),
            Failure::Status(status) => write!(f, "it answers with status {status}"),
            Failure::Broken(Broken::Io(error)) => write!(f, "the connection broke: {error}"),
            Failure::Broken(Broken::Malformed(Malformed(reason))) => f.write_str(reason),
            Failure::TimedOut => f.write_str("it accepts connections and does not answer in time"),
        }
    }
}

/// Latencies, from a nanosecond to a minute, with three digits.
#[derive(Clone, Debug)]
pub struct Latencies(Histogram<u64>);

impl Latencies {
    pub(crate) fn new() -> Latencies {
        let longest = u64::try_from(LONGEST.as_nanos()).unwrap_or(u64::MAX);
        let histogram = Histogram::new_with_bounds(1, longest, DIGITS).or_else(|_| Histogram::new(DIGITS));
        // Both forms are within the bounds that the type documents, so neither can fail.
        Latencies(histogram.unwrap_or_else(|_| unreachable!("1 ns to 60 s with 3 digits are bounds of a histogram")))
    }

    fn note(&mut self, latency: Duration) {
        self.0.saturating_record(u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX).max(1));
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The latency that this share of the requests does not exceed; `None` without any.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        (!self.0.is_empty()).then(|| Duration::from_nanos(self.0.value_at_quantile(share)))
    }

    /// The longest; `None` without any.
    #[must_use]
    pub fn longest(&self) -> Option<Duration> {
        (!self.0.is_empty()).then(|| Duration::from_nanos(self.0.max()))
    }

    /// The mean; `None` without any.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        (!self.0.is_empty()).then(|| Duration::from_nanos(self.0.mean() as u64))
    }

    /// Shares of all latencies with the latency below which they lie, from the least to the longest: a curve.
    #[must_use]
    pub fn curve(&self, shares: impl IntoIterator<Item = f64>) -> Vec<(f64, Duration)> {
        shares.into_iter().filter_map(|share| Some((share, self.quantile(share)?))).collect()
    }
}

/// What came of a load.
#[derive(Clone, Debug)]
pub struct LoadResult {
    /// Requests that were due in the window and got a good answer; each is in `latencies`.
    pub requests: u64,
    /// Good answers that came in within the window, whenever their requests were due.
    pub answered: u64,
    /// How long the window was.
    pub window: Duration,
    /// Requests that were due in the window and sent a second time, whatever came of it.
    pub sent_again: u64,
    /// Good answers, among `requests`, with a status of 3xx.
    pub redirected: u64,
    /// Requests that were due in the window and failed.
    pub errors: ErrorCounts,
    /// Why the first of them failed, a clause with the server as its subject.
    pub first_failure: Option<String>,
    /// Open loop: requests whose turn never came before the window ended. They are in `latencies` with the time that
    /// they had waited by then, as are requests that timed out.
    pub unsent: u64,
    /// Bytes of answers within the window.
    pub bytes: u64,
    /// From the moment at which a request was due to the end of its answer.
    pub latencies: Latencies,
    /// The share of the window for which the busiest thread of the generator kept a processor.
    pub busy: f64,
    /// Open loop: how much later than due the generator's own timer woke it, on average.
    pub lag: Duration,
}

impl LoadResult {
    /// Good answers in a second.
    #[must_use]
    pub fn requests_per_second(&self) -> f64 {
        if self.window.is_zero() { 0.0 } else { self.answered as f64 / self.window.as_secs_f64() }
    }
}

/// One thread's figures.
#[derive(Debug)]
pub(crate) struct Tally {
    from: Instant,
    until: Instant,
    pub(crate) latencies: Latencies,
    pub(crate) requests: u64,
    pub(crate) answered: u64,
    pub(crate) sent_again: u64,
    pub(crate) redirected: u64,
    pub(crate) errors: ErrorCounts,
    pub(crate) first_failure: Option<String>,
    pub(crate) unsent: u64,
    pub(crate) bytes: u64,
    pub(crate) busy: Duration,
    pub(crate) lags: (Duration, u32),
}

impl Tally {
    /// An empty tally for a window.
    pub(crate) fn new(from: Instant, until: Instant) -> Tally {
        Tally {
            from,
            until,
            latencies: Latencies::new(),
            requests: 0,
            answered: 0,
            sent_again: 0,
            redirected: 0,
            errors: ErrorCounts::default(),
            first_failure: None,
            unsent: 0,
            bytes: 0,
            busy: Duration::ZERO,
            lags: (Duration::ZERO, 0),
        }
    }

    /// A request that was due at a moment has ended now.
    pub(crate) fn note(&mut self, due: Instant, now: Instant, outcome: Result<Answer, (Failure, bool)>) {
        let counts = due >= self.from && due < self.until;
        let again = outcome.as_ref().map_or_else(|(_, again)| *again, |answer| answer.sent_again);
        self.sent_again += u64::from(counts && again);
        match outcome {
            Ok(answer) => {
                if now >= self.from && now < self.until {
                    self.answered += 1;
                    self.bytes += answer.bytes;
                }
                if counts {
                    self.requests += 1;
                    self.redirected += u64::from(answer.status >= 300);
                    self.latencies.note(now - due);
                }
            }
            Err((failure, _)) if counts => {
                match failure {
                    Failure::Connect(_) => self.errors.connect += 1,
                    Failure::Status(_) => self.errors.status += 1,
                    Failure::Broken(_) => self.errors.broken += 1,
                    Failure::TimedOut => {
                        self.errors.timed_out += 1;
                        self.latencies.note(now - due);
                    }
                }
                self.first_failure.get_or_insert_with(|| failure.to_string());
            }
            Err(_) => {}
        }
    }

    /// A request that was due and was never sent.
    pub(crate) fn never_sent(&mut self, due: Instant) {
        if due >= self.from && due < self.until {
            self.unsent += 1;
            self.latencies.note(self.until - due);
        }
    }

    /// Adds the threads up.
    pub(crate) fn sum(tallies: Vec<Tally>, window: Duration) -> LoadResult {
        let mut sum = LoadResult {
            requests: 0,
            answered: 0,
            sent_again: 0,
            redirected: 0,
            window,
            errors: ErrorCounts::default(),
            first_failure: None,
            unsent: 0,
            bytes: 0,
            latencies: Latencies::new(),
            busy: 0.0,
            lag: Duration::ZERO,
        };
        let mut lags = (Duration::ZERO, 0);
        for tally in tallies {
            sum.requests += tally.requests;
            sum.answered += tally.answered;
            sum.sent_again += tally.sent_again;
            sum.redirected += tally.redirected;
            sum.errors.connect += tally.errors.connect;
            sum.errors.status += tally.errors.status;
            sum.errors.broken += tally.errors.broken;
            sum.errors.timed_out += tally.errors.timed_out;
            sum.first_failure = sum.first_failure.or(tally.first_failure);
            sum.unsent += tally.unsent;
            sum.bytes += tally.bytes;
            sum.busy = sum.busy.max(tally.busy.as_secs_f64() / window.as_secs_f64());
            lags = (lags.0 + tally.lags.0, lags.1 + tally.lags.1);
            // The bounds are the same, so nothing can be out of range.
            let _ = sum.latencies.0.add(&tally.latencies.0);
        }
        sum.lag = lags.0.checked_div(lags.1).unwrap_or_default();
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_right_to_three_digits() {
        let mut latencies = Latencies::new();
        assert_eq!((latencies.quantile(0.5), latencies.longest(), latencies.mean()), (None, None, None));
        (1..=10_000).for_each(|microseconds| latencies.note(Duration::from_micros(microseconds)));
        for (share, expected) in [(0.5, 5_000e-6), (0.9, 9_000e-6), (0.99, 9_900e-6), (0.999, 9_990e-6)] {
            let found = latencies.quantile(share).unwrap().as_secs_f64();
            assert!((found / expected - 1.0).abs() < 1e-3, "{share}: {found}");
        }
        latencies.note(Duration::from_secs(3600));
        assert!((latencies.longest().unwrap().as_secs_f64() / 60.0 - 1.0).abs() < 1e-3, "the most that it can tell");
    }

    #[test]
    fn only_requests_of_the_window_count_and_each_counts_once() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut tally = Tally::new(at(10), at(20));
        let ok = |bytes| Ok(Answer { status: 200, bytes, sent_again: false });
        tally.note(at(8), at(9), ok(1));
        tally.note(at(9), at(11), ok(10));
        tally.note(at(12), at(13), ok(100));
        tally.note(at(19), at(21), ok(1000));
        tally.note(at(20), at(21), ok(1));
        tally.note(at(9), at(10), Err((Failure::TimedOut, false)));
        tally.note(at(11), at(16), Err((Failure::TimedOut, false)));
        tally.note(at(12), at(13), Err((Failure::Status(503), false)));
        tally.note(at(9), at(11), Ok(Answer { status: 302, bytes: 0, sent_again: true }));
        tally.note(at(12), at(13), Ok(Answer { status: 302, bytes: 0, sent_again: true }));
        tally.note(at(12), at(13), Err((Failure::Status(500), true)));
        tally.never_sent(at(18));
        tally.never_sent(at(21));
        let sum = Tally::sum(vec![tally, Tally::new(at(10), at(20))], Duration::from_secs(10));
        assert_eq!((sum.requests, sum.answered, sum.bytes), (3, 4, 110));
        assert_eq!((sum.sent_again, sum.redirected), (2, 1));
        assert_eq!(sum.errors, ErrorCounts { timed_out: 1, status: 2, ..ErrorCounts::default() });
        assert_eq!(sum.unsent, 1);
        // Three answers, one that never came, one that was never sent.
        assert_eq!(sum.latencies.count(), 5);
        assert_eq!(sum.first_failure.unwrap(), "it accepts connections and does not answer in time");
    }
}
