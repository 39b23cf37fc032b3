//! Why a row's difference in counted instructions is not its difference in time, from measurements of that row.

use super::image_here::{Here, How};
use super::stats::{Estimate, Sample};
use super::suite::ratio;
use serde_json::Value;
use std::fmt::Write;

/// A difference may be another by this factor.
const ALIKE: f64 = 1.15;
/// From this part of its processor time on, a row is the kernel's work.
const KERNELS: f64 = 0.5;

/// What was measured of a row. Ratios are of glibc's time over musl's, with their 95 % intervals.
#[derive(Clone, Debug)]
pub struct Measured {
    pub name: String,
    /// In instructions, in the guest.
    pub counted: f64,
    /// In time here.
    pub here: Estimate,
    /// In time here on one processor.
    pub one: Estimate,
    /// On one processor, with the functions that glibc has in the guest.
    pub functions: Estimate,
    /// From there to `here`, as steps whose product is that of `here` over `counted`.
    pub steps: [(Cause, Estimate); 3],
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

/// What is known of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The whole interval of the difference here is near the counted one.
    Alike,
    /// A part of it.
    Open,
    /// Nothing of it.
    Apart,
}

impl Cause {
    fn words(self) -> &'static str {
        match self {
            Cause::Processors => "two processors here",
            Cause::Functions => "other functions of glibc here",
            Cause::Kernel => "the kernel's work takes other time here",
            Cause::Instructions => "an instruction takes other time in one build than in the other",
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
    suites.flat_map(|suite: &Value| {
        suite["rows"].as_array().into_iter().flatten().map(move |row| (full_name(suite, row), row))
    })
}

/// Whether a difference here is the counted one.
pub fn standing(counted: f64, here: Estimate) -> Standing {
    let (low, high) = (counted / ALIKE, counted * ALIKE);
    match (here.low >= low && here.high <= high, here.high < low || here.low > high) {
        (true, _) => Standing::Alike,
        (_, true) => Standing::Apart,
        _ => Standing::Open,
    }
}

/// What was measured of these rows; without those of which something is missing.
pub fn measured(document: &Value, names: &[String], here: &Here) -> Vec<Measured> {
    let all = rows(document).filter(|(name, _)| names.contains(name));
    let measured = |(name, row): (String, &Value)| {
        let gains = |how| here.gains(how, &name);
        let (all, one, functions) = (gains(How::Here)?, gains(How::OneProcessor)?, gains(How::GuestsFunctions)?);
        let counted = 1.0 / ratio(row)?.value;
        let kernel = here.kernel(How::OneProcessor, &name)?;
        let rest = if kernel.iter().any(|part| *part >= KERNELS) { Cause::Kernel } else { Cause::Instructions };
        let step =
            |to: &[f64], from: &[f64]| Sample::new(to.iter().zip(from).map(|(to, from)| to / from).collect()).median();
        let counts = vec![counted; functions.len()];
        let seconds = here.seconds(How::OneProcessor, &name)?;
        let instructions = |build: usize| row["cells"][build]["seconds"]["estimate"].as_f64();
        Some(Measured {
            counted,
            here: here.gain(How::Here, &name)?,
            one: here.gain(How::OneProcessor, &name)?,
            functions: here.gain(How::GuestsFunctions, &name)?,
            steps: [
                (Cause::Processors, step(&all, &one)),
                (Cause::Functions, step(&one, &functions)),
                (rest, step(&functions, &counts)),
            ],
            each: [seconds[0] / instructions(0)?, seconds[1] / instructions(1)?],
            kernel,
            name,
        })
    };
    all.filter_map(measured).collect()
}

impl Measured {
    /// Whether its intervals leave open if there is another difference, or why.
    pub fn is_undecided(&self) -> bool {
        standing(self.counted, self.here) == Standing::Open || self.is_unexplained()
    }

    /// Whether the difference is another one for certain, and nothing measured tells why.
    pub fn is_unexplained(&self) -> bool {
        standing(self.counted, self.here) == Standing::Apart && self.causes().is_empty()
    }

    /// The steps that take the counted difference to the one here, the largest first, as far as it takes to come within
    /// [`ALIKE`]. A step whose interval has 1 in it is none. Empty if they do not lead there.
    pub fn causes(&self) -> Vec<Cause> {
        let whole = (self.here.value / self.counted).ln();
        let along = |estimate: Estimate| estimate.value.ln() * whole.signum();
        let certain = |estimate: Estimate| estimate.low > 1.0 || estimate.high < 1.0;
        let mut steps: Vec<(Cause, f64)> = self
            .steps
            .iter()
            .filter(|(_, step)| certain(*step) && along(*step) > 0.0)
            .map(|(cause, step)| (*cause, along(*step)))
            .collect();
        steps.sort_by(|a, b| b.1.total_cmp(&a.1));
        let (mut left, mut causes) = (whole.abs(), Vec::new());
        for (cause, part) in steps {
            if left <= ALIKE.ln() {
                break;
            }
            causes.push(cause);
            left -= part;
        }
        if left <= ALIKE.ln() { causes } else { Vec::new() }
    }
}

/// The table, and how it was made.
///
/// # Errors
/// Never: writing into a text cannot fail.
pub fn table(rows: &[Measured], [times, undecided, unexplained]: [usize; 3]) -> anyhow::Result<String> {
    let mut text = format!(
        "\n### Where counted instructions and time disagree\n\n\"Here\" are the same files as in the guests, as root of a \
         process on this machine itself. Rows whose difference was not within 15 % of the counted one were run again {times} \
         times in each build, in turn: as they are; on one processor, as the guest has; and there with glibc kept from what \
         this processor has and the guest's has not (GLIBC_TUNABLES), so that it chooses the guest's functions. Where that \
         decided nothing, it was done anew, {undecided} times, and {unexplained} times where no cause was found then. Intervals are those of 95 %. The time for a counted instruction and \
         the kernel's part of the processor time are those on one processor, for glibc and musl.\n\nThe causes are the steps that take the counted difference to within 15 % of the one \
         here, the largest first: those whose interval leaves no doubt that they change it. What remains after the first two is \
         the time that an instruction takes, or the kernel's work where that is half of the time in a build. Where the \
         interval here is partly within 15 %, nothing is claimed.\n\n\
         | row | counted | here | on one processor | guest's functions | ns for an instruction | kernel's part | causes |\n\
         | --- | ---: | --- | --- | --- | --- | --- | --- |\n"
    );
    let percent = |gain: f64| format!("{:+.0} %", (gain - 1.0) * 100.0);
    let interval =
        |gain: Estimate| format!("{} ({} to {})", percent(gain.value), percent(gain.low), percent(gain.high));
    for row in rows {
        let causes: Vec<&str> = row.causes().into_iter().map(Cause::words).collect();
        let causes = match standing(row.counted, row.here) {
            Standing::Alike => "measured again, it is within 15 %".to_owned(),
            Standing::Open => "not decided".to_owned(),
            Standing::Apart if causes.is_empty() => "**not known**".to_owned(),
            Standing::Apart => causes.join("; "),
        };
        writeln!(
            text,
            "| {} | {} | {} | {} | {} | {:.2}, {:.2} | {:.0} %, {:.0} % | {causes} |",
            row.name,
            percent(row.counted),
            interval(row.here),
            interval(row.one),
            interval(row.functions),
            row.each[0],
            row.each[1],
            100.0 * row.kernel[0],
            100.0 * row.kernel[1],
        )?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(value: f64) -> Estimate {
        Estimate { value, low: value / 1.02, high: value * 1.02 }
    }

    /// The kernel's part decides what the last step is called.
    fn row(counted: f64, here: f64, one: f64, functions: f64, last: Cause) -> Measured {
        let steps = [
            (Cause::Processors, about(here / one)),
            (Cause::Functions, about(one / functions)),
            (last, about(functions / counted)),
        ];
        let [here, one, functions] = [here, one, functions].map(about);
        Measured { name: String::new(), counted, here, one, functions, steps, each: [1.0; 2], kernel: [0.0; 2] }
    }

    #[test]
    fn the_causes_are_the_steps_that_lead_to_the_difference_here() {
        use Cause::{Functions, Instructions, Kernel, Processors};
        // On one processor nothing is left of it.
        assert_eq!(row(1.0, 2.0, 1.05, 1.05, Kernel).causes(), [Processors]);
        assert_eq!(row(1.0, 0.5, 0.5, 0.95, Kernel).causes(), [Functions]);
        assert_eq!(row(1.0, 2.0, 2.0, 2.0, Instructions).causes(), [Instructions]);
        // Both are needed; the larger is first.
        assert_eq!(row(1.0, 3.0, 2.0, 1.0, Kernel).causes(), [Functions, Processors]);
        // A step that leads away is none.
        assert_eq!(row(1.0, 2.0, 3.0, 3.0, Instructions).causes(), [Instructions]);
    }

    #[test]
    fn a_step_that_may_be_none_is_no_cause() {
        let mut row = row(1.0, 2.0, 1.0, 1.0, Cause::Kernel);
        assert!(!row.is_undecided());
        row.steps[0].1 = Estimate { value: 2.0, low: 0.9, high: 3.0 };
        assert_eq!(row.causes(), []);
        assert!(row.is_undecided() && row.is_unexplained());
        // Where the difference may be the counted one there is nothing to explain.
        row.here = Estimate { value: 1.3, low: 1.0, high: 1.7 };
        assert!(row.is_undecided() && !row.is_unexplained());
    }

    #[test]
    fn a_difference_is_another_one_if_its_whole_interval_is() {
        let here = |low, high| Estimate { value: f64::midpoint(low, high), low, high };
        assert_eq!(standing(1.0, here(0.9, 1.1)), Standing::Alike);
        assert_eq!(standing(1.0, here(1.1, 1.3)), Standing::Open);
        assert_eq!(standing(1.0, here(1.2, 1.3)), Standing::Apart);
    }
}
