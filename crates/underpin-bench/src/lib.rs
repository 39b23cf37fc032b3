//! Measures workloads under variants, interleaved, and says how sure each difference is.
#![forbid(unsafe_code)]

pub mod stats;
