//! What a whole start costs, over the unchanged program's.

use super::copies::{self, Made};
use super::section::{Context, goal, head, missing, shown};
use crate::bench::measure::interleaved;
use std::fmt::Write as _;

/// The heading of the part.
pub const HEADING: &str = "## A start";
/// Programs, how they are called, what a start may cost, and Debian's package of those that the set-up does not install.
const TIMED: [(&str, &str, f64, &str); 8] = [
    ("ffmpeg", "-version", 0.30, "ffmpeg"),
    ("octave-cli", "--version", 0.43, "octave"),
    ("gimp-console", "--version", 0.47, "gimp"),
    ("qemu-system-x86_64", "--version", 0.65, "qemu-system-x86"),
    ("emacs", "--version", 0.66, "emacs-gtk"),
    ("gdb", "--version", NONE_ABOVE, "gdb"),
    ("curl", "--version", NONE_ABOVE, "curl"),
    ("git", "--version", NONE_ABOVE, "git"),
];
/// What no program may cost.
const NONE_ABOVE: f64 = 1.03;

/// Processor time of a start over that of the unchanged program.
///
/// # Errors
/// If a copy cannot be made, or does not run.
pub fn measure(context: &Context) -> anyhow::Result<String> {
    let mut text = head(HEADING, "starts", context.rounds);
    text += "Processor time of whole runs over the unchanged program's; runs interleave (ABBA). A goal is met by the upper end \
             of the interval.\n\n\
             | program | libraries merged | stay shared | unchanged, ms | fused, ms | ratio | goal | | runs |\n\
             | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
    let mut absent = Vec::new();
    for (name, argument, limit, package) in TIMED {
        let Some(program) = copies::installed(name) else {
            absent.push((name, package));
            continue;
        };
        let merged = match copies::fused(&context.underpin, &program, &context.folder("starts", name))? {
            Made::Merged(merged) => merged,
            Made::LeftAlone(members) => {
                writeln!(text, "| {name} | left alone: {members} | | | | 1 | {limit} | met | |")?;
                continue;
            }
            Made::Refused(reason) => {
                writeln!(text, "| {name} | refused: {reason} | | | | | {limit} | missed | |")?;
                continue;
            }
        };
        let call = |file: &str| copies::called(name, &program, file, argument);
        let contestants = [call(&program.display().to_string()), call(merged.path()?)];
        let samples = interleaved(&contestants, context.rounds)?;
        let (before, after) = (samples[0].processor(), samples[1].processor());
        let ratio = after.ratio(before);
        writeln!(
            text,
            "| {name} | {} | {} | {:.1} | {:.1} | {} | {limit} | {} | {} |",
            merged.members,
            merged.shared,
            before.median().value * 1e3,
            after.median().value * 1e3,
            shown(ratio),
            goal(ratio, limit),
            after.runs(),
        )?;
    }
    Ok(text + &missing(&absent))
}
