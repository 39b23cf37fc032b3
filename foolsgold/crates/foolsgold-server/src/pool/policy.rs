//! The thresholds by which the pool decides which worker to wake and which thread runs the connections.

use std::time::Duration;

/// A wait too short to be worth waking another thread.
pub(super) const SHORT_WAIT: Duration = Duration::from_micros(400);

/// How long a job, or the connections, may wait for a busy thread while another one sleeps.
pub(super) const LATE: Duration = Duration::from_millis(2);

/// Jobs shorter than this are done by the thread that runs the connections: passing one to another thread costs as
/// much, and more if the two threads run on two processors.
pub(super) const INLINE_BELOW: Duration = Duration::from_micros(50);

/// How long a worker runs jobs in a row before it serves the connections again.
pub(super) const INLINE_TURN: Duration = Duration::from_micros(400);

/// How long inline mode stays off after a thread was saturated by jobs and connections together.
pub(super) const INLINE_PAUSE: Duration = Duration::from_secs(10);

/// How long a surplus thread stays without work.
pub(super) const SURPLUS_IDLE: Duration = Duration::from_secs(10);
