//! What is said of merging the libraries of a program.

/// From so many libraries on it is advised to measure what merging them gains.
pub const MANY_LIBRARIES: usize = 25;

/// Processor time of a start with the libraries merged, over that without: the extremes of docs/bench/fuse.md among the
/// programs of which so many were merged.
pub const GAINED: &str = "0.41 to 0.88";
