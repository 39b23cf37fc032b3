//! Measures workloads under variants, interleaved, and says how sure each difference is.
//!
//! [`Experiment`] -> [`measure`] (through an [`Executor`]) -> [`BenchRecord`] -> [`analyse`] -> [`Analysis`]. A record holds
//! raw figures only and can be stored and analysed again, with the same answer to the bit. Figures of time come from a
//! pass in which nothing else happens; memory comes from a pass of its own. Nothing here prints.
#![forbid(unsafe_code)]

mod analysis;
mod candidate;
mod compare;
mod error;
mod executor;
mod gate;
mod launch;
mod load;
mod machine;
mod measure;
mod memory;
mod memory_point;
mod metric;
mod mock;
mod observer;
mod outcome;
mod outside;
mod real;
mod record;
mod reported;
mod rules;
mod schedule;
mod series;
mod serve;
mod shell_word;
pub mod stats;
mod store;
mod streams;
mod units;
mod warning;

pub use analysis::{
    Analysis, AnswerTime, Baseline, Beaten, Figures, GateReport, LimitReport, LoadFigures, LoadMethod, MachineSummary,
    MemoryAt, MemoryRunFigures, Method, MetricSummary, NoiseFloor, Pareto, ProcessFigures, RunFigures, VariantSummary,
    analyse,
};
pub use candidate::{Candidate, CommandLine, Followed, Hooks, Proof, Shell, Variant};
pub use compare::{
    BUSY_LEVEL, Change, Comparison, LEVEL, RankTest, Refused, compare_records, least_blocks, least_blocks_at,
    least_memory_runs, level, paired_ratio,
};
pub use error::{BenchError, ObserverError};
pub use executor::{Executor, Iteration};
pub use gate::{Gate, GateOutcome, GateResult, GateRule, RowRule};
pub use load::{Latency, Load, LoadErrors, LoadRecord, LoadSample, PORT, Server};
pub use machine::Machine;
pub use measure::{Experiment, measure};
pub use memory::MemoryWatch;
pub use memory_point::MemoryPoint;
pub use metric::{Direction, Metric, Pass, Unit};
pub use mock::MockExecutor;
pub use observer::{NullObserver, Observer};
pub use outcome::RunOutcome;
pub use real::RealExecutor;
pub use record::{
    BenchRecord, End, Header, MemoryRun, MissingMetric, ProcessPeak, RowName, Sample, Sampled, Stopped, TimedRun,
    VariantRecord,
};
pub use reported::Reported;
pub use rules::{Rules, StoppingRule, UntilError, parse_duration};
pub use schedule::{Order, Schedule};
pub use shell_word::shell_word;
pub use stats::Interval;
pub use store::{RunFile, Store, StoreError};
pub use streams::{OutputTo, StreamsPlan};
pub use underpin_load::{LoadError, Pace, RequestError};
pub use units::{Bytes, Nanos};
pub use warning::{Warning, WarningKind};
