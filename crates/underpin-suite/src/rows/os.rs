//! After lmbench 3, under our own names: the 39 rows of the published tables, and one that runs a shell of your choice.
//! The figures of the originals are microseconds, and MB/s for bandwidths.

use super::{Measure, Row, Suite, time};

const PROCESSES: &str = "Processes and system calls";
const SWITCHES: &str = "Context switches";
const LATENCY: &str = "Local communication: latency";
const FILES: &str = "Files and memory: latency";
const BANDWIDTHS: &str = "Bandwidths";

const fn row(group: &'static str, name: &'static str, label: &'static str) -> Row {
    time(Suite::Os, group, name, label)
}

const fn moved(name: &'static str, label: &'static str) -> Row {
    row(BANDWIDTHS, name, label).shown_as(Measure::Bandwidth)
}

pub const ROWS: &[Row] = &[
    row(PROCESSES, "null-call", "a system call that does nothing").with("null call", 4.19, 4.36),
    row(PROCESSES, "null-io", "a byte read and a byte written").with("null I/O", 4.43, 4.48),
    row(PROCESSES, "stat", "stat of a file").with("stat", 12.8, 13.1),
    row(PROCESSES, "open-close", "a file opened and closed").with("open clos", 29.6, 29.3),
    row(PROCESSES, "select-tcp-100", "select over 100 TCP sockets").with("slct TCP", 19.3, 19.4),
    row(PROCESSES, "signal-install", "a signal handler installed").with("sig inst", 6.2, 6.6),
    row(PROCESSES, "signal-handle", "a signal sent and handled").with("sig hndl", 24.8, 24.4),
    row(PROCESSES, "fork", "fork, exit and wait").with("fork proc", 645.0, 488.0),
    row(PROCESSES, "exec", "fork, exec of this program and wait").with("exec proc", 765.0, 580.0),
    row(PROCESSES, "sh-system", "the same through the system's /bin/sh").with("sh proc", 4899.0, 2212.0),
    row(PROCESSES, "sh-named", "the same through a small shell, built as the program is"),
    row(SWITCHES, "context-2p-0k", "2 processes").with("2p/0K ctxsw", 24.9, 23.3),
    row(SWITCHES, "context-2p-16k", "2 processes with 16 kB each").with("2p/16K ctxsw", 23.8, 24.2),
    row(SWITCHES, "context-2p-64k", "2 processes with 64 kB each").with("2p/64K ctxsw", 24.2, 20.7),
    row(SWITCHES, "context-8p-16k", "8 processes with 16 kB each").with("8p/16K ctxsw", 28.3, 24.3),
    row(SWITCHES, "context-8p-64k", "8 processes with 64 kB each").with("8p/64K ctxsw", 27.6, 26.6),
    row(SWITCHES, "context-16p-16k", "16 processes with 16 kB each").with("16p/16K ctxsw", 28.2, 26.6),
    row(SWITCHES, "context-16p-64k", "16 processes with 64 kB each").with("16p/64K ctxsw", 37.9, 36.0),
    row(LATENCY, "pipe-latency", "a byte there and back through pipes").with("Pipe", 84.3, 81.2),
    row(LATENCY, "af-unix-latency", "the same through Unix sockets").with("AF UNIX", 81.9, 71.7),
    row(LATENCY, "udp-latency", "the same over UDP").with("UDP", 144.6, 133.7),
    row(LATENCY, "tcp-latency", "the same over TCP").with("TCP", 199.1, 196.1),
    row(LATENCY, "tcp-connect", "a TCP connection made and closed").with("TCP conn", 556.0, 556.0),
    row(FILES, "create-0k", "an empty file created").with("0K File Create", 52.4, 52.6),
    row(FILES, "delete-0k", "an empty file deleted").with("0K File Delete", 37.1, 37.5),
    row(FILES, "create-10k", "a file of 10 kB created").with("10K File Create", 106.5, 104.1),
    row(FILES, "delete-10k", "a file of 10 kB deleted").with("10K File Delete", 59.8, 60.7),
    row(FILES, "mmap-latency", "a file mapped, touched and unmapped").with("Mmap Latency", 21_800.0, 21_800.0),
    row(FILES, "protection-fault", "a write to a page that may not be written").with("Prot Fault", 3.325, 3.342),
    row(FILES, "page-fault", "a page of a file brought in").with("Page Fault", 1.7151, 1.7067),
    row(FILES, "select-file-100", "select over 100 files").with("100fd selct", 10.5, 10.6),
    moved("pipe-bandwidth", "through a pipe").with("Pipe", 303.0, 306.0),
    moved("af-unix-bandwidth", "through a Unix socket").with("AF UNIX", 592.0, 746.0),
    moved("tcp-bandwidth", "over TCP").with("TCP", 373.0, 425.0),
    moved("file-reread", "a cached file read").with("File reread", 1028.7, 1020.9),
    moved("mmap-reread", "a cached file read through a mapping").with("Mmap reread", 2837.4, 2837.6),
    moved("copy-libc", "memory copied by memcpy").with("Bcopy (libc)", 1637.4, 1639.8),
    moved("copy-by-hand", "memory copied word by word").with("Bcopy(hand)", 1613.0, 1635.1),
    moved("memory-read", "memory read").with("Mem read", 2128.0, 2124.0),
    moved("memory-write", "memory written").with("Mem write", 1681.0, 1680.0),
];
