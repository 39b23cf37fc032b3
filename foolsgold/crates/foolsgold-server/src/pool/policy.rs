//! The thresholds by which the pool decides whom to wake and who runs the connections.

use std::time::Duration;

/// A wait that is not worth waking another thread for.
pub(super) const SHORT_WAIT: Duration = Duration::from_micros(400);

/// How long a job, or the connections, may wait for a thread that is busy while another one sleeps.
pub(super) const LATE: Duration = Duration::from_millis(2);

/// Jobs shorter than this are done by the thread that runs the connections: passing one to another thread costs as
/// much, and more if the two threads run on two processors.
pub(super) const INLINE_BELOW: Duration = Duration::from_micros(50);

/// How long jobs are done in a row before it is the connections' turn.
pub(super) const INLINE_TURN: Duration = Duration::from_micros(400);

/// How long no thread runs jobs and connections after one was saturated by both.
pub(super) const INLINE_PAUSE: Duration = Duration::from_secs(10);

/// How long a thread beyond the usual number stays without work.
pub(super) const SURPLUS_IDLE: Duration = Duration::from_secs(10);
