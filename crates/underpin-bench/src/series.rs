//! The memory of a tree of processes over time: a bounded number of samples, and the peaks of their sums.
//!
//! However long a run is, its samples are spread over all of it; a peak is kept even if its sample is dropped.

use crate::memory_point::MemoryPoint;
use crate::outcome::RunOutcome;
use crate::record::{MemoryRun, ProcessPeak};
use crate::units::{Bytes, Nanos};
use std::time::Duration;
use underpin_sys::{MemoryUse, RawPid};

/// The most samples of one run; beyond it every other one is dropped, and the time between them doubles.
const MOST: usize = 400;
/// The part of a run that is late, as a divisor: a fifth. Freeing everything at the end takes less, on a busy machine too.
const LATE: u64 = 5;

/// Memory at a moment of a run.
pub(crate) fn point(at: Duration, memory: MemoryUse, processes: usize) -> MemoryPoint {
    let MemoryUse { rss, pss, private_dirty, .. } = memory;
    let at_ns = Nanos::from(at);
    MemoryPoint { at_ns, rss: Bytes(rss), pss: Bytes(pss), private_dirty: Bytes(private_dirty), processes }
}

/// A process with its own peak, in bytes, under the name that the kernel has for it; empty if it is just gone.
pub(crate) fn process_peak(process: RawPid, peak: u64) -> ProcessPeak {
    let name = std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    ProcessPeak { name: name.trim_end().to_owned(), peak_rss: Bytes(peak) }
}

/// The samples of one run.
#[derive(Debug)]
pub(crate) struct Series {
    /// The time between two samples.
    pub every: Duration,
    points: Vec<MemoryPoint>,
    peak: MemoryUse,
    /// How many samples there were, and the time of the last.
    taken: u32,
    last: Duration,
}

impl Series {
    pub fn new(every: Duration) -> Series {
        Series { every, points: Vec::new(), peak: MemoryUse::default(), taken: 0, last: Duration::ZERO }
    }

    /// Adds the sum over the tree at a moment.
    pub fn add(&mut self, at: Duration, sum: MemoryUse, processes: usize) -> MemoryPoint {
        (self.taken, self.last) = (self.taken + 1, at);
        self.peak.rss = self.peak.rss.max(sum.rss);
        self.peak.pss = self.peak.pss.max(sum.pss);
        self.peak.private_dirty = self.peak.private_dirty.max(sum.private_dirty);
        let point = point(at, sum, processes);
        self.points.push(point);
        if self.points.len() > MOST {
            self.points = self.points.iter().copied().step_by(2).collect();
            self.every *= 2;
        }
        point
    }

    /// The time between two samples, on average.
    fn step(&self) -> Option<Nanos> {
        self.last.checked_div(self.taken).filter(|step| !step.is_zero()).map(Nanos::from)
    }

    /// The tree late in the run: what it held, or more, for a quarter of the last part of its time ([`LATE`]), so that
    /// a program that frees everything before it ends still has it. Each sample counts for as long as it is the latest:
    /// those of the end itself, of which every process has one, count for nothing.
    pub fn late(&self) -> Option<MemoryPoint> {
        let end = self.points.last()?.at_ns.0;
        let from = end - end / LATE;
        let until = self.points.iter().skip(1).map(|next| next.at_ns.0).chain([end]);
        let held = self.points.iter().zip(until).filter(|(_, until)| *until > from);
        let mut weighted: Vec<(u64, MemoryPoint)> =
            held.map(|(point, until)| (until - point.at_ns.0.max(from).min(until), *point)).collect();
        weighted.sort_by_key(|(_, point)| point.held());
        let three_quarters = weighted.iter().map(|(weight, _)| weight).sum::<u64>() / 4 * 3;
        let mut passed = 0;
        let level = weighted.iter().find(|(weight, _)| {
            passed += weight;
            passed > three_quarters
        });
        level.map(|(_, point)| *point).or(self.points.last().copied())
    }

    /// The run, from the samples and the processes' own peaks; the caller fills in when it started, when and how it
    /// ended, and what it left behind.
    pub fn run(&self, peaks: impl IntoIterator<Item = ProcessPeak>) -> MemoryRun {
        let mut processes: Vec<ProcessPeak> = peaks.into_iter().collect();
        processes.sort_by_key(|process| std::cmp::Reverse(process.peak_rss));
        let largest = processes.first().map_or(Bytes(0), |process| process.peak_rss);
        let process_count = processes.len();
        processes.truncate(MemoryRun::PROCESSES);
        MemoryRun {
            variant: 0,
            block: 0,
            peak_rss: largest.max(Bytes(self.peak.rss)),
            peak_bound: None,
            step_ns: self.step(),
            peak_pss: Bytes(self.peak.pss),
            peak_private_dirty: Bytes(self.peak.private_dirty),
            at_start: None,
            at_end: self.late(),
            at_exit: None,
            series: self.points.clone(),
            processes,
            process_count,
            left_behind: 0,
            outcome: RunOutcome::Exited(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_keeps_few_samples_from_all_of_it_and_every_peak() {
        let every = Duration::from_millis(5);
        let mut series = Series::new(every);
        for step in 0..10_000u32 {
            let rss = if step == 4_321 { 9_000 } else { 1_000 };
            series.add(every * step, MemoryUse { rss, ..MemoryUse::default() }, 1);
        }
        let peak = |peak_rss| ProcessPeak { name: "a".to_owned(), peak_rss: Bytes(peak_rss) };
        let run = series.run([peak(10), peak(20)]);
        assert!((MOST / 2..=MOST).contains(&run.series.len()), "{}", run.series.len());
        assert!(run.series[run.series.len() - 1].at_ns.seconds() > 40.0);
        assert_eq!((run.peak_rss, run.process_count, run.processes[0].peak_rss), (Bytes(9_000), 2, Bytes(20)));
        assert_eq!(series.run([peak(10_000)]).peak_rss, Bytes(10_000), "a process's own peak");
    }

    #[test]
    fn what_is_held_late_is_not_what_is_left_at_the_very_end() {
        let mut series = Series::new(Duration::from_millis(5));
        let mut add = |at, rss| {
            series.add(Duration::from_millis(at), MemoryUse { rss, ..MemoryUse::default() }, 1);
        };
        // It grows, holds 150 for a while, frees all of it and ends; each of ten processes is looked at as it ends.
        (0..100).for_each(|step| add(step * 10, 50 + step));
        add(1000, 150);
        (0..10).for_each(|one| add(1090 + one, 3));
        assert_eq!(series.late().unwrap().rss, Bytes(150));
        assert_eq!(Series::new(Duration::ZERO).late(), None);
    }
}
