//! The programs of the suites as text: they are built on the user's machine, once for each build.

use crate::row::{Row, Suite};

/// A file of a program's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path below the folder of the sources.
    pub path: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! files {
    ($($path:literal),+ $(,)?) => {
        &[$(SourceFile { path: $path, text: include_str!(concat!("../../../suites/", $path)) }),+]
    };
}

/// What is built for a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// The name of the file that comes out.
    pub name: &'static str,
    /// What is given to `underpin build`, below the folder of the sources: a file of C, or the folder of a package.
    pub project: &'static str,
    /// Words for the compiler, after `--`.
    pub words: &'static [&'static str],
    /// All files, those that it shares with others too.
    pub files: &'static [SourceFile],
    /// A second program, which rows start: the variable in which they look for its path, and its source.
    pub started: Option<(&'static str, &'static str)>,
}

/// What runs rows in a guest, and a program that does nothing: each is one file.
pub const GUEST: [SourceFile; 2] = [
    SourceFile { path: "guest/rows.c", text: include_str!("../../../suites/guest/rows.c") },
    SourceFile { path: "guest/empty.c", text: include_str!("../../../suites/guest/empty.c") },
];

/// The program of a suite.
#[must_use]
pub const fn program(suite: Suite) -> Program {
    const C: &[&str] = &["-O2", "-pthread", "-lm"];
    match suite {
        Suite::Alloc => Program {
            name: "broker-allocations",
            project: "alloc",
            words: &[],
            files: &[
                SourceFile { path: "alloc/Cargo.toml", text: include_str!("../../../workloads/broker/Cargo.toml") },
                SourceFile { path: "alloc/src/main.rs", text: include_str!("../../../workloads/broker/src/main.rs") },
            ],
            started: None,
        },
        Suite::Libc => Program {
            name: "suite",
            project: "libc/suite.c",
            words: C,
            files: files![
                "common/row.h",
                "libc/base.h",
                "libc/bytes.h",
                "libc/characters.h",
                "libc/heap.h",
                "libc/numbers.h",
                "libc/process.h",
                "libc/streams.h",
                "libc/suite.c",
                "libc/threads.h"
            ],
            started: None,
        },
        Suite::Os => Program {
            name: "suite",
            project: "os/suite.c",
            words: C,
            files: files![
                "common/row.h",
                "os/calls.h",
                "os/channels.h",
                "os/files.h",
                "os/helpers.h",
                "os/memory.h",
                "os/processes.h",
                "os/sh.c",
                "os/suite.c"
            ],
            started: Some(("SUITE_SHELL", "os/sh.c")),
        },
        Suite::System => Program {
            name: "suite",
            project: "system/suite.c",
            words: C,
            files: files![
                "common/row.h",
                "system/child.h",
                "system/copy.h",
                "system/dhrystone.h",
                "system/kernel.h",
                "system/process.h",
                "system/shell.h",
                "system/small.c",
                "system/suite.c",
                "system/whetstone.h"
            ],
            started: Some(("SUITE_SMALL", "system/small.c")),
        },
        Suite::Cpu => Program {
            name: "suite",
            project: "cpu/suite.c",
            words: C,
            files: files![
                "common/row.h",
                "cpu/core.h",
                "cpu/frequency.h",
                "cpu/list.h",
                "cpu/matrix.h",
                "cpu/state.h",
                "cpu/suite.c"
            ],
            started: None,
        },
    }
}

impl Row {
    /// How long it is repeated in a guest whose clock counts instructions, where others take so many milliseconds. Where
    /// processes switch in turn, a repetition has to be longer than the kernel's tick of 4 ms, or it has one tick or none (equal
    /// boots were 8 to 12 % apart with 2 ms). Not `tcp-connect`: the more connections were closed, the more another one costs.
    #[must_use]
    pub fn guest_milliseconds(&self, milliseconds: u32) -> u32 {
        const LONGER: u32 = 5;
        if self.takes_turns() { LONGER * milliseconds } else { milliseconds }
    }

    /// How many processes run it one after the other in one start of such a guest; the middle one's figure counts
    /// ([`guest_rows`](crate::guest_rows)). Where processes take turns, one process in twenty keeps to another way of doing so, from
    /// its first repetition to its last (`context-16p-16k`: 5.6 us instead of 6.25), of `tcp-bandwidth` one in twelve.
    #[must_use]
    pub fn guest_processes(&self) -> usize {
        if self.takes_turns() { 5 } else { 1 }
    }

    fn takes_turns(&self) -> bool {
        self.suite == Suite::Os && (self.name.starts_with("context-") || self.name == "tcp-bandwidth")
    }

    /// The words after the program that run this row for a time.
    #[must_use]
    pub fn words(&self, milliseconds: u32) -> Vec<String> {
        let words = [self.name.to_owned(), milliseconds.to_string()];
        match self.suite {
            Suite::Alloc => ["--row".to_owned()].into_iter().chain(words).collect(),
            Suite::Libc | Suite::Os | Suite::System | Suite::Cpu => words.to_vec(),
        }
    }
}
