//! After the allocation benchmark of fossas/broker (`benches/allocations.rs`): `workloads/broker`, with the cases that it
//! leaves out. Its document gives musl's time over glibc's, not figures: 1.36 (one thread) and 1.28 with jemalloc.

use super::{Row, Suite, time};

const BROKER: &str = "Allocation benchmark";
const MORE: &str = "More allocation patterns";

const fn row(group: &'static str, name: &'static str, label: &'static str) -> Row {
    time(Suite::Alloc, group, name, label)
}

pub const ROWS: &[Row] = &[
    row(BROKER, "single", "10,000 strings into a table, 10,000 lookups").after("single thread"),
    row(BROKER, "multi", "the same, 100,000 lookups by four threads").after("multi thread"),
    row(BROKER, "single-own", "`single` without getrandom, half of its time"),
    row(BROKER, "multi-own", "`multi` without getrandom"),
    row(MORE, "churn", "200,000 blocks of 16 to 4,111 bytes in turn"),
    row(MORE, "churn-threads", "the same in four threads"),
    row(MORE, "handed-over", "three threads allocate, one frees"),
    row(MORE, "grown", "64 vectors grow side by side to 160 kB"),
    row(MORE, "big", "2,000 blocks of 16 to 80 kB, filled"),
    row(MORE, "small", "strings of 8 to 71 bytes copied and compared"),
    row(MORE, "burst", "four threads hold 16 MB each for a moment"),
];
