//! A benchmark's page: the machine, the date, one table per comparison, and whether each goal was met.

use super::measure::Contestant;
use super::stats::{Estimate, Sample};
use std::fmt::Write;
use std::process::Command;

/// A goal: the ratio of two medians must stay below (or above) a limit.
pub struct Goal<'a> {
    /// In words.
    pub text: &'a str,
    /// Measured ratio.
    pub ratio: Estimate,
    /// Its limit.
    pub limit: Limit,
}

/// On which side of a figure the goal lies.
#[derive(Clone, Copy)]
pub enum Limit {
    /// The ratio is at most this.
    AtMost(f64),
    /// The ratio is at least this.
    AtLeast(f64),
}

impl Limit {
    /// In words: missed or met with the whole interval, or open.
    fn verdict(self, ratio: Estimate) -> &'static str {
        let (safely, surely_not) = match self {
            Limit::AtMost(limit) => (ratio.high <= limit, ratio.low > limit),
            Limit::AtLeast(limit) => (ratio.low >= limit, ratio.high < limit),
        };
        match (safely, surely_not) {
            (true, _) => "met",
            (_, true) => "**missed**",
            _ => "open: the limit lies within the interval",
        }
    }
}

/// Title, machine, date and how commands were timed.
pub fn head(title: &str, command: &str) -> String {
    machine(title, command)
        + "Whole processes, output to /dev/null, caches warm. Runs of all commands interleave (ABBA); medians, with 95 % \
           bootstrap intervals.\n"
}

/// What follows a key in the first line of a file that begins with it.
fn first(path: &str, key: &str) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    line.map_or_else(|| "unknown".to_owned(), |value| value.trim_matches(['\t', ' ', ':', '"']).to_owned())
}

/// The kind of this machine's processors.
pub fn processor() -> String {
    first("/proc/cpuinfo", "model name")
}

/// The processors' kind for a page that keeps tables of several: two families of one name differ a lot.
pub fn family() -> String {
    format!("{}, family {}", processor(), first("/proc/cpuinfo", "cpu family"))
}

/// The load average of the last minute (proc_loadavg(5)).
pub fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}

/// Title, machine and date.
pub fn machine(title: &str, command: &str) -> String {
    let date = Command::new("date").args(["-u", "+%Y-%m-%d"]).output().map(|output| output.stdout).unwrap_or_default();
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "# {title}\n\nMeasured on {} by `{command}`: {processors} processors ({}, model {}), {}, kernel {}.\n",
        String::from_utf8_lossy(&date).trim(),
        family(),
        first("/proc/cpuinfo", "model\t"),
        first("/etc/os-release", "PRETTY_NAME="),
        std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim(),
    )
}

/// One comparison; the first contestant is the one that the others are compared with.
pub fn comparison(title: &str, contestants: &[Contestant], samples: &[Sample]) -> String {
    let mut text = format!(
        "\n## {title}\n\n| command | median | interval | of the first | processor time | runs |\n\
         | --- | --- | --- | --- | --- | --- |\n"
    );
    for (contestant, sample) in contestants.iter().zip(samples) {
        let (median, ratio) = (sample.median(), sample.ratio(&samples[0]));
        let scale = |seconds: f64| seconds * 1e3;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {:.2} ms | {:.2} to {:.2} | {:.3} ({:.3} to {:.3}) | {:.2} ms | {} |",
            contestant.name,
            scale(median.value),
            scale(median.low),
            scale(median.high),
            ratio.value,
            ratio.low,
            ratio.high,
            scale(sample.processor().median().value),
            sample.runs(),
        );
    }
    text
}

/// The goals and whether they were met.
pub fn goals(goals: &[Goal]) -> String {
    let mut text = "\n| goal | measured | verdict |\n| --- | --- | --- |\n".to_owned();
    for goal in goals {
        let Estimate { value, low, high } = goal.ratio;
        let verdict = goal.limit.verdict(goal.ratio);
        let measured = if low == high && value.fract() == 0.0 {
            format!("{value}")
        } else if low == high {
            format!("{value:.4}")
        } else {
            format!("{value:.3} ({low:.3} to {high:.3})")
        };
        let _ = writeln!(text, "| {} | {measured} | {verdict} |", goal.text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_met_only_with_the_whole_interval() {
        let ratio = Estimate { value: 0.68, low: 0.65, high: 0.71 };
        assert_eq!(Limit::AtMost(0.72).verdict(ratio), "met");
        assert_eq!(Limit::AtMost(0.6).verdict(ratio), "**missed**");
        assert!(Limit::AtMost(0.7).verdict(ratio).starts_with("open"));
        assert_eq!(Limit::AtLeast(0.8).verdict(ratio), "**missed**");
    }
}
