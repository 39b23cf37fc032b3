//! Why a row's difference in counted instructions is not its difference in time, from measurements of that row.

use super::image_here::{Here, How};
use super::stats::Estimate;
use super::suite::ratio;
use serde_json::Value;
use std::fmt::Write;

/// A difference may be another by this factor.
pub const ALIKE: f64 = 1.15;
/// From this part of its processor time on, a row is the kernel's work.
const KERNELS: f64 = 0.5;

/// What was measured of a row; times are glibc's over musl's.
#[derive(Clone, Debug)]
pub struct Measured {
    pub name: String,
    /// In instructions, in the guest.
    pub counted: f64,
    /// In time here.
    pub here: Estimate,
    /// In time here on one processor.
    pub one: f64,
    /// On one processor, with the functions that glibc has in the guest.
    pub functions: f64,
    /// For a counted instruction, here on one processor, in nanoseconds.
    pub each: [f64; 2],
    /// The kernel's part of the processor time, from 0 to 1.
    pub kernel: [f64; 2],
}

/// Why they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    Processors,
    Functions,
    Kernel,
    Instructions,
}

impl Cause {
    fn words(self) -> &'static str {
        match self {
            Cause::Processors => "its threads or processes run at the same time here, in turn there",
            Cause::Functions => "glibc has other functions for this processor",
            Cause::Kernel => "it is the kernel's work, which costs other time here",
            Cause::Instructions => "its own instructions take other time in one build than in the other",
        }
    }
}

/// The name of a row among those of all suites.
pub fn full_name(suite: &Value, row: &Value) -> String {
    let of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{}:{}", of(&suite["suite"]), of(&row["row"]))
}

/// glibc's time over musl's in the guest for each row that has it, by its name.
pub fn counted(document: &Value) -> Vec<(String, f64)> {
    rows(document).filter_map(|(name, row)| Some((name, 1.0 / ratio(row)?.value))).collect()
}

fn rows(document: &Value) -> impl Iterator<Item = (String, &Value)> {
    let suites = document["suite"]["suites"].as_array().into_iter().flatten();
    let rows = |suite| {
        let all: &Value = suite;
        all["rows"].as_array().into_iter().flatten().map(move |row| (full_name(suite, row), row))
    };
    suites.flat_map(rows)
}

/// The rows whose difference in the guest is not that here.
pub fn apart(counted: &[(String, f64)], here: &Here) -> Vec<String> {
    let is_apart = |(name, counted): &&(String, f64)| {
        here.gain(How::Here, name).is_some_and(|here| !(1.0 / ALIKE..=ALIKE).contains(&(counted / here.value)))
    };
    counted.iter().filter(is_apart).map(|(name, _)| name.clone()).collect()
}

/// What was measured of these rows; without those of which something is missing.
pub fn measured(document: &Value, apart: &[String], here: &Here) -> Vec<Measured> {
    let all = rows(document).filter(|(name, _)| apart.contains(name));
    let measured = |(name, row): (String, &Value)| {
        let seconds = here.seconds(How::OneProcessor, &name)?;
        let counted = |build: usize| row["cells"][build]["seconds"]["estimate"].as_f64();
        Some(Measured {
            counted: 1.0 / ratio(row)?.value,
            here: here.gain(How::Here, &name)?,
            one: here.gain(How::OneProcessor, &name)?.value,
            functions: here.gain_over(How::GuestsFunctions, How::OneProcessor, &name)?,
            each: [seconds[0] / counted(0)?, seconds[1] / counted(1)?],
            kernel: here.kernel(How::OneProcessor, &name)?,
            name,
        })
    };
    all.filter_map(measured).collect()
}

impl Measured {
    /// What takes the difference in time to the counted one, the largest part first, as far as it takes to come within
    /// [`ALIKE`]. On a logarithmic scale the parts sum up to the whole.
    pub fn causes(&self) -> Vec<Cause> {
        let rest = if self.kernel.iter().any(|part| *part >= KERNELS) { Cause::Kernel } else { Cause::Instructions };
        let whole = (self.here.value / self.counted).ln();
        let mut parts = [
            (Cause::Processors, (self.here.value / self.one).ln()),
            (Cause::Functions, (self.one / self.functions).ln()),
            (rest, (self.functions / self.counted).ln()),
        ];
        parts.sort_by(|a, b| (b.1 * whole.signum()).total_cmp(&(a.1 * whole.signum())));
        let (mut left, mut causes) = (whole, Vec::new());
        for (cause, part) in parts {
            if left * whole.signum() <= ALIKE.ln() || part * whole.signum() <= 0.0 {
                break;
            }
            causes.push(cause);
            left -= part;
        }
        causes
    }
}

/// The table, and how it was made.
///
/// # Errors
/// Never: writing into a text cannot fail.
pub fn table(rows: &[Measured], times: usize) -> anyhow::Result<String> {
    if rows.is_empty() {
        return Ok(String::new());
    }
    let mut text = format!(
        "\n### Where counted instructions and time disagree\n\nRows whose difference is not within 15 % of that in time here. \
         \"Here\" are the same files as in the guests, as root of a process on this machine itself, in turn, {times} times in \
         each build. They ran again on one processor, as the guest has, and there again with glibc kept from what this \
         processor has and the guest's has not (GLIBC_TUNABLES), so that it chooses the guest's functions. The time for a \
         counted instruction and the kernel's part of the processor time are those on one processor, for glibc and musl. The \
         causes are those of these steps that take the difference here to the counted one, the largest first; what remains \
         after them is the kernel's work if that is half of the time in a build.\n\n\
         | row | counted | here | on one processor | guest's functions | ns for an instruction | kernel's part | causes |\n\
         | --- | ---: | --- | ---: | ---: | --- | --- | --- |\n"
    );
    for row in rows {
        let percent = |gain: f64| format!("{:+.0} %", (gain - 1.0) * 100.0);
        let causes: Vec<&str> = row.causes().into_iter().map(Cause::words).collect();
        writeln!(
            text,
            "| {} | {} | {} ({} to {}) | {} | {} | {:.2}, {:.2} | {:.0} %, {:.0} % | {} |",
            row.name,
            percent(row.counted),
            percent(row.here.value),
            percent(row.here.low),
            percent(row.here.high),
            percent(row.one),
            percent(row.functions),
            row.each[0],
            row.each[1],
            100.0 * row.kernel[0],
            100.0 * row.kernel[1],
            if causes.is_empty() { "not known".to_owned() } else { causes.join("; ") }
        )?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(counted: f64, here: f64, one: f64, functions: f64, kernel: f64) -> Measured {
        let name = "libc:a".to_owned();
        Measured { name, counted, here: Estimate::exact(here), one, functions, each: [1.0; 2], kernel: [kernel, 0.0] }
    }

    #[test]
    fn the_causes_are_the_steps_that_lead_to_the_counted_difference() {
        use Cause::{Functions, Instructions, Kernel, Processors};
        // On one processor nothing is left of it.
        assert_eq!(row(1.0, 2.0, 1.05, 1.05, 0.0).causes(), [Processors]);
        assert_eq!(row(1.0, 0.5, 0.5, 0.95, 0.0).causes(), [Functions]);
        assert_eq!(row(1.0, 2.0, 2.0, 2.0, 0.2).causes(), [Instructions]);
        assert_eq!(row(1.0, 2.0, 2.0, 2.0, 0.7).causes(), [Kernel]);
        // Both are needed; the larger is first.
        assert_eq!(row(1.0, 3.0, 2.0, 1.0, 0.7).causes(), [Functions, Processors]);
        // A step that leads away is none.
        assert_eq!(row(1.0, 2.0, 3.0, 3.0, 0.0).causes(), [Instructions]);
    }
}
