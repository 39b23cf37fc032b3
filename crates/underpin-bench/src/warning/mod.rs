//! Warnings about figures, each with the figure that raised it.

mod brief;
mod sentence;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// A reason to read figures with care.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Warning {
    /// The variant that it is about; absent if it is about all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The reason, a sentence.
    #[serde(rename = "message", serialize_with = "sentence")]
    #[schemars(with = "String")]
    pub kind: WarningKind,
}

fn sentence<S: Serializer>(kind: &WarningKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(kind)
}

/// One reason to read figures with care; shown as a sentence.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum WarningKind {
    /// Too few blocks to tell any difference.
    FewBlocks {
        /// How many there are.
        blocks: usize,
        /// How many it takes for that many variants.
        least: usize,
        /// How many runs of each variant that is.
        runs: usize,
    },
    /// The reference differs from itself.
    Unsound {
        /// By this factor.
        ratio: f64,
    },
    /// Claims that are smaller than what the reference shows against itself.
    BelowNoise {
        /// The noise floor, as a share.
        floor: f64,
    },
    /// Runs far outside the others.
    Outliers {
        /// How many.
        count: usize,
        /// Of how many.
        of: usize,
    },
    /// Requests that failed.
    FailedRequests {
        /// How many, in all runs.
        count: u64,
        /// Of how many.
        of: u64,
        /// Why the first of them failed, a clause about the server.
        reason: String,
    },
    /// Requests that were sent twice, since the connection was closed before a byte of an answer.
    SentAgain {
        /// How many, in all runs.
        count: u64,
        /// Of how many.
        of: u64,
    },
    /// Answers that send the client elsewhere.
    Redirected {
        /// How many, in all runs.
        count: u64,
        /// Of how many.
        of: u64,
    },
    /// Several processes existed, or may have existed, for less time than there is between two samples.
    SampledPeak {
        /// The time between two samples, in seconds.
        every: f64,
        /// The largest sum of resident memory that was seen, in bytes.
        seen: u64,
        /// The most that it can have been, in bytes.
        most: u64,
    },
    /// Much of the memory is given back right before the end.
    FreedAtEnd {
        /// Resident memory late in the run, in bytes.
        late: u64,
        /// Right before the end, in bytes.
        at_exit: u64,
    },
    /// Memory moved fast at the moment from which growth counts.
    Unsettled {
        /// The moment, in seconds.
        settle: f64,
        /// Memory at that moment, in bytes.
        from: u64,
        /// At twice that time.
        to: u64,
    },
    /// A fixed rate that the server did not keep up with.
    Behind {
        /// Requests that were never sent, in all runs.
        count: u64,
    },
    /// The load generator itself had little time to spare.
    BusyGenerator {
        /// The share of the time.
        share: f64,
    },
    /// Times grow or shrink with the order of the runs; reported for the variant in which it is strongest.
    Drift {
        /// Last third over first third.
        change: f64,
    },
    /// The first run was much slower than the rest.
    ColdStart {
        /// First run over the median.
        factor: f64,
    },
    /// A run so short that starting the process is most of it.
    Short {
        /// Its median, in seconds.
        seconds: f64,
    },
    /// Runs that failed are in the figures.
    Failures {
        /// How many.
        count: usize,
        /// Of how many.
        of: usize,
    },
    /// Other work on the machine.
    Load {
        /// Load average before the start, in hundredths.
        hundredths: u64,
        /// Processors.
        processors: usize,
    },
    /// The processor's frequency is not fixed.
    Governor(String),
    /// The budget ended it before the rules were met.
    Budget {
        /// Runs of each variant.
        runs: usize,
    },
    /// It was interrupted.
    Interrupted,
    /// Memory was sampled from outside.
    Sampled {
        /// The shortest time between two samples, in seconds.
        every: f64,
        /// Why, a clause.
        reason: String,
    },
    /// Processes that the command left running.
    LeftBehind {
        /// How many.
        count: usize,
    },
}
