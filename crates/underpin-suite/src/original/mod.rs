//! The original benchmarks, from a folder of sources that the user has: `bench --suite-source lmbench=FOLDER`.
//!
//! [`OriginalSuite::recognise`] tells whether the folder is what it is said to be, [`OriginalSuite::recipe`] how its
//! programs are built and run, and [`OriginalSuite::parse`] reads what they print into figures for our own rows. All of
//! it is data: nothing here touches a file or starts a process, and nothing of these suites is kept here.

mod coremark;
mod libc_bench;
mod lmbench;
mod parse;
mod recipe;
mod unixbench;

pub use parse::{ParseError, Printed};
pub use recipe::{Program, Recipe, Role, Run, Setting, SourceCopy, Step, WorkFile, Written};

use crate::row::Suite;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use underpin_bench::Reported;

/// A suite of benchmarks that is not ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OriginalSuite {
    /// libc-bench of Rich Felker: the rows of `libc`.
    LibcBench,
    /// lmbench 3: the rows of `os`.
    Lmbench,
    /// UnixBench 5.1.3 and 6: the rows of `system`.
    Unixbench,
    /// CoreMark 1.0: the rows of `cpu`.
    Coremark,
}

/// One of our rows, which a run of an original has a figure for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowName {
    /// Its suite.
    pub suite: Suite,
    /// Its name.
    pub name: &'static str,
}

/// What a program printed about one row, in base units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Time or speed.
    pub amount: Amount,
    /// The memory that the work left, if the program prints it.
    pub memory: Option<MemoryLeft>,
}

/// Time or speed, always finite and above zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// Seconds for one operation of our row.
    Seconds(f64),
    /// Bytes in a second.
    BytesPerSecond(f64),
    /// Operations of our row in a second.
    PerSecond(f64),
}

/// Memory after the work, in bytes, as libc-bench sums it: mappings of no file and no stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLeft {
    /// Addresses.
    pub virtual_bytes: u64,
    /// Of them in memory.
    pub resident_bytes: u64,
    /// Of them written to and not shared.
    pub dirty_bytes: u64,
}

/// What a run gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readings {
    /// The rows that have a figure.
    pub figures: Vec<(RowName, Figure)>,
    /// The other rows of the run, each with the reason, as a clause.
    pub refused: Vec<(RowName, String)>,
}

/// Bytes that one operation moves where only a speed is known; the ratio of two builds does not depend on it.
const ONE_MOVE: u64 = 1 << 20;

impl Figure {
    /// A figure without memory, if it is above zero.
    fn new(amount: Amount) -> Option<Figure> {
        let (Amount::Seconds(value) | Amount::BytesPerSecond(value) | Amount::PerSecond(value)) = amount;
        (value.is_finite() && value > 0.0).then_some(Figure { amount, memory: None })
    }

    /// The same as a program of our own suites reports it, so that it goes the same way into a record.
    #[must_use]
    pub fn reported(&self) -> Reported {
        let (seconds, bytes) = match self.amount {
            Amount::Seconds(seconds) => (seconds, 0),
            Amount::PerSecond(rate) => (rate.recip(), 0),
            Amount::BytesPerSecond(rate) => (ONE_MOVE as f64 / rate, ONE_MOVE),
        };
        let left = self.memory.unwrap_or(MemoryLeft { virtual_bytes: 0, resident_bytes: 0, dirty_bytes: 0 });
        Reported {
            ns: seconds * 1e9,
            operations: 1,
            repetitions: 1,
            bytes,
            virtual_memory: left.virtual_bytes,
            resident: left.resident_bytes,
            dirty: left.dirty_bytes,
            mhz: None,
        }
    }
}

impl Readings {
    /// The figure of a row, or why there is none.
    ///
    /// # Errors
    /// The reason, as a clause.
    pub fn of(&self, row: RowName) -> Result<Figure, &str> {
        let figure = self.figures.iter().find(|(name, _)| *name == row).map(|(_, figure)| *figure);
        let refused = || self.refused.iter().find(|(name, _)| *name == row).map(|(_, reason)| reason.as_str());
        figure.ok_or_else(|| refused().unwrap_or("it is not a row of this run"))
    }
}

/// A name that no original has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown suite `{0}`: originals are {names}", names = OriginalSuite::ALL.map(OriginalSuite::name).join(", "))]
pub struct UnknownOriginal(pub String);

/// A folder that is not the suite that it is said to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the sources of {suite}: expected the file `{expected}` in it", expected = expected.display())]
pub struct NotThatSuite {
    /// The suite.
    pub suite: OriginalSuite,
    /// The file that is missing, below the folder.
    pub expected: PathBuf,
}

impl OriginalSuite {
    /// All.
    pub const ALL: [OriginalSuite; 4] =
        [OriginalSuite::LibcBench, OriginalSuite::Lmbench, OriginalSuite::Unixbench, OriginalSuite::Coremark];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            OriginalSuite::LibcBench => "libc-bench",
            OriginalSuite::Lmbench => "lmbench",
            OriginalSuite::Unixbench => "unixbench",
            OriginalSuite::Coremark => "coremark",
        }
    }

    /// Our suite whose rows it has figures for.
    #[must_use]
    pub const fn suite(self) -> Suite {
        match self {
            OriginalSuite::LibcBench => Suite::Libc,
            OriginalSuite::Lmbench => Suite::Os,
            OriginalSuite::Unixbench => Suite::System,
            OriginalSuite::Coremark => Suite::Cpu,
        }
    }

    /// Folders below the user's in which the sources may lie; the first is the usual one.
    const fn places(self) -> &'static [&'static str] {
        match self {
            OriginalSuite::LibcBench | OriginalSuite::Coremark => &[""],
            OriginalSuite::Lmbench => &["src", ""],
            OriginalSuite::Unixbench => &["UnixBench", ""],
        }
    }

    /// Looks for the sources in a folder, of which it asks whether it has certain files, and says below which folder in
    /// it they lie: the one that [`Recipe`] speaks of. It may be the folder itself, which is empty.
    ///
    /// # Errors
    /// [`NotThatSuite`], with the first file that is missing.
    pub fn recognise(&self, exists: &dyn Fn(&Path) -> bool) -> Result<PathBuf, NotThatSuite> {
        let files = self.recipe(&Setting::default()).files();
        let missing = |place: &&str| files.iter().map(|file| Path::new(place).join(file)).find(|path| !exists(path));
        let found = |place: &&str| files.iter().filter(|file| exists(&Path::new(place).join(file))).count();
        if let Some(place) = self.places().iter().find(|place| missing(place).is_none()) {
            return Ok(PathBuf::from(place));
        }
        // Where most of it is; the usual place if nothing is anywhere.
        let nearest = self.places().iter().rev().max_by_key(|place| found(place));
        let expected = nearest.and_then(missing).unwrap_or_default();
        Err(NotThatSuite { suite: *self, expected })
    }

    /// How it is built and run.
    #[must_use]
    pub fn recipe(&self, setting: &Setting) -> Recipe {
        match self {
            OriginalSuite::LibcBench => libc_bench::recipe(),
            OriginalSuite::Lmbench => lmbench::recipe(setting),
            OriginalSuite::Unixbench => unixbench::recipe(setting),
            OriginalSuite::Coremark => coremark::recipe(setting),
        }
    }

    /// Reads what the programs of a run printed. Exit codes do not matter: several of these programs end with whatever
    /// lay in a register.
    ///
    /// # Errors
    /// [`ParseError`] with the line, if anything is not as the program prints it, or no row has a figure. A row that is
    /// missing among others is in [`Readings::refused`].
    pub fn parse(&self, run: &str, printed: &Printed<'_>) -> Result<Readings, ParseError> {
        match self {
            OriginalSuite::LibcBench => libc_bench::parse(run, printed),
            OriginalSuite::Lmbench => lmbench::parse(run, printed),
            OriginalSuite::Unixbench => unixbench::parse(run, printed),
            OriginalSuite::Coremark => coremark::parse(run, printed),
        }
    }
}

impl fmt::Display for OriginalSuite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for OriginalSuite {
    type Err = UnknownOriginal;

    fn from_str(name: &str) -> Result<OriginalSuite, UnknownOriginal> {
        let found = OriginalSuite::ALL.into_iter().find(|suite| suite.name() == name);
        found.ok_or_else(|| UnknownOriginal(name.to_owned()))
    }
}

#[cfg(test)]
mod real;
#[cfg(test)]
mod tests;
