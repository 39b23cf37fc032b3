//! After CoreMark 1.0, under names of our own: lists, matrices, a state machine and a CRC that tells whether all went right.

use super::{Measure, Row, Suite, time};

const GROUP: &str = "Processor";
const ITERATIONS: Measure = Measure::Rate { seconds: 1.0, unit: "iterations/s" };

const fn row(name: &'static str, label: &'static str) -> Row {
    time(Suite::Cpu, GROUP, name, label).shown_as(ITERATIONS)
}

pub const ROWS: &[Row] = &[
    row("core-1", "lists, matrices, states; one thread").with("CoreMark, one thread", 3_263.707_572, 3_243.330_901),
    row("core-n", "the same, a thread for each processor").with(
        "CoreMark, four threads",
        13_025.073_266,
        13_028.255_028,
    ),
];
