//! A section of the page: what every part is given, and how figures and goals are written.

use crate::bench::stats::Estimate;
use crate::bench::table;
use std::path::PathBuf;

/// What a part measures with.
pub struct Context {
    /// The program that makes the copies; a debug build does it as well.
    pub underpin: PathBuf,
    /// A folder for copies, removed at the end.
    pub scratch: PathBuf,
    /// Rounds: two runs of each command in each.
    pub rounds: usize,
    /// A built `sold`, if there is one.
    pub sold: Option<PathBuf>,
}

impl Context {
    /// A folder of a program in a part.
    pub fn folder(&self, part: &str, program: &str) -> PathBuf {
        self.scratch.join(part).join(program)
    }
}

/// The heading of a part, when, where and by which command it was measured.
pub fn head(heading: &str, part: &str, rounds: usize) -> String {
    let machine = table::machine("", &format!("cargo xtask fuse-trials --part {part} --rounds {rounds}"));
    let measured = machine.lines().last().unwrap_or_default().trim_end_matches('.').to_owned();
    format!("{heading}\n\n{measured}, load average {}.\n", table::load())
}

/// A ratio with its interval.
pub fn shown(ratio: Estimate) -> String {
    format!("**{:.3}** [{:.3}, {:.3}]", ratio.value, ratio.low, ratio.high)
}

/// Whether the whole interval is within a goal.
pub fn goal(ratio: Estimate, limit: f64) -> &'static str {
    if ratio.high <= limit { "met" } else { "missed" }
}

/// The programs that were left out, and how to install them.
pub fn missing(absent: &[(&str, &str)]) -> String {
    if absent.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = absent.iter().map(|(name, _)| *name).collect();
    let packages: Vec<&str> = absent.iter().map(|(_, package)| *package).collect();
    format!("\nNot installed: {} (`apt-get install {}`).\n", names.join(", "), packages.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_judged_by_the_upper_end() {
        let ratio = Estimate { value: 0.28, low: 0.27, high: 0.305 };
        assert_eq!((goal(ratio, 0.30), goal(ratio, 0.31)), ("missed", "met"));
        assert_eq!(shown(ratio), "**0.280** [0.270, 0.305]");
    }

    #[test]
    fn what_is_not_installed_is_named_with_its_package() {
        assert_eq!(missing(&[]), "");
        let text = missing(&[("octave-cli", "octave"), ("gimp-console", "gimp")]);
        assert_eq!(text, "\nNot installed: octave-cli, gimp-console (`apt-get install octave gimp`).\n");
    }
}
