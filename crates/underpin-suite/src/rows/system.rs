//! After UnixBench 5.1.3: its twelve tests, and the baselines of its `index.base` (a SPARCstation 20-61).

use super::{Measure, Row, Suite, time};

const GROUP: &str = "System";
const LOOPS: Measure = Measure::Rate { seconds: 1.0, unit: "loops/s" };
const PER_MINUTE: Measure = Measure::Rate { seconds: 60.0, unit: "loops/min" };
const KILOBYTES: Measure = Measure::Rate { seconds: 1.0, unit: "kB/s" };
const WHETSTONES: Measure = Measure::Rate { seconds: 1.0, unit: "MWIPS" };

const fn row(name: &'static str, label: &'static str, measure: Measure, baseline: f64) -> Row {
    time(Suite::System, GROUP, name, label).shown_as(measure).against(baseline)
}

pub const ROWS: &[Row] = &[
    row("dhrystone", "Dhrystone 2, with register variables", LOOPS, 116_700.0).with(
        "Dhrystone 2 using register variables",
        6_244_531.8,
        4_981_154.2,
    ),
    row("whetstone", "Whetstone in double precision", WHETSTONES, 55.0).with(
        "Double-Precision Whetstone",
        1062.0,
        1059.1,
    ),
    row("execl", "a program replaces itself", LOOPS, 43.0).with("Execl Throughput", 653.9, 1215.8),
    row("file-copy-1024", "file copy, 1024 bytes at a time, 2000 blocks", KILOBYTES, 3960.0).with(
        "File Copy 1024 bufsize 2000 maxblocks",
        59_823.5,
        62_370.8,
    ),
    row("file-copy-256", "file copy, 256 bytes at a time, 500 blocks", KILOBYTES, 1655.0).with(
        "File Copy 256 bufsize 500 maxblocks",
        16_201.4,
        17_242.5,
    ),
    row("file-copy-4096", "file copy, 4096 bytes at a time, 8000 blocks", KILOBYTES, 5800.0).with(
        "File Copy 4096 bufsize 8000 maxblocks",
        191_638.2,
        195_350.9,
    ),
    row("pipe-throughput", "512 bytes through a pipe to itself", LOOPS, 12_440.0).with(
        "Pipe Throughput",
        58_878.8,
        58_289.1,
    ),
    row("context-switch", "two processes change by pipes", LOOPS, 4000.0).with(
        "Pipe-based Context Switching",
        12_742.8,
        12_190.6,
    ),
    row("process-creation", "fork and wait", LOOPS, 126.0).with("Process Creation", 1209.4, 1596.9),
    row("shell-1", "a shell script", PER_MINUTE, 42.4).with("Shell Scripts (1 concurrent)", 1516.3, 1894.0),
    row("shell-8", "eight shell scripts at once", PER_MINUTE, 6.0).with("Shell Scripts (8 concurrent)", 478.0, 594.4),
    row("syscall", "system calls, five kinds", LOOPS, 15_000.0).with("System Call Overhead", 46_279.8, 46_124.2),
];
