//! One table beside peers: what each of them leaves of a start.

use super::section::{Context, head, shown};
use crate::bench::measure::{Contestant, interleaved};
use crate::bench::storm::variants::{Kind, Subject, Tools, loaded, must};
use crate::bench::storm::{SUBJECTS, Scratch, contestants};
use anyhow::Context as _;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The heading of the part.
pub const HEADING: &str = "## Beside peers";
/// What is compared, besides the distribution's own and sold.
const KINDS: [Kind; 5] = [Kind::Unbound, Kind::Patchelf, Kind::Shrinkwrap, Kind::Bind, Kind::Fused];
/// How long sold may take, in seconds.
const LIMIT: &str = "120";
/// What nobody can measure here: it needs its own loader.
const MATR: &str = "| MatR (a loader of its own; arXiv 2501.06716) | | 0.46 (published: 2.19 times as fast, mean of three other \
                    workloads) | | |";

/// Processor time of starts, each tool's over the distribution's own.
///
/// # Errors
/// If a tool fails.
pub fn measure(context: &Context) -> anyhow::Result<String> {
    let tools = Tools::build_for_files()?;
    let mut text = head(HEADING, "peers", context.rounds);
    text += "Processor time of whole runs, on the local file system, over the distribution's own with its ld.so.cache; runs \
             interleave (ABBA). The trees are laid out as Spack does it (docs/bench/storm.md), and patchelf, shrinkwrap's method \
             and `bind` write every library's name, those of drivers included; `bind --fuse` leaves drivers shared.\n";
    for subject in SUBJECTS {
        if Path::new(subject.path).exists() {
            text += &table(context, &tools, subject)?;
        } else {
            write!(text, "\n{} is not installed.\n", subject.path)?;
        }
    }
    Ok(text)
}

fn table(context: &Context, tools: &Tools, subject: Subject) -> anyhow::Result<String> {
    let scratch = Scratch::new()?;
    let (variants, refused) = tools.variants(&scratch.path, subject, &KINDS)?;
    let mut all = vec![Contestant::new("the distribution's own", &[subject.path, subject.argument])];
    all.extend(contestants(&variants, subject)?);
    let mut notes = refused.iter().map(|(kind, reason)| format!("{}: {reason}", kind.name())).collect::<Vec<_>>();
    match sold(context, subject, &scratch.path.join("sold")) {
        Ok(program) => {
            let program = program.to_str().context("a path that is not UTF-8")?;
            all.push(Contestant::new("sold, the library with the most others", &[program, subject.argument]));
        }
        Err(error) => notes.push(format!("sold: {}", one_line(&format!("{error:#}")))),
    }
    let samples = interleaved(&all, context.rounds)?;
    let mut text = format!("\n{} {}:\n\n| | ms | ratio | over `bind` | runs |\n", subject.path, subject.argument);
    text += "| --- | --- | --- | --- | --- |\n";
    let bind = all.iter().position(|contestant| contestant.name == Kind::Bind.name());
    for (contestant, sample) in all.iter().zip(&samples) {
        let processor = sample.processor();
        let over = |other: usize| shown(processor.ratio(samples[other].processor()));
        writeln!(
            text,
            "| {} | {:.1} | {} | {} | {} |",
            contestant.name,
            processor.median().value * 1e3,
            over(0),
            bind.map(over).unwrap_or_default(),
            processor.runs(),
        )?;
    }
    text += &format!("{MATR}\n");
    for note in notes {
        write!(text, "\nNot possible: {note}.\n")?;
    }
    Ok(text)
}

/// A copy of the program that names what sold made of one of its libraries: it takes libraries only, so the one with the most
/// others is merged with them, and the program's other libraries stay.
fn sold(context: &Context, subject: Subject, folder: &Path) -> anyhow::Result<PathBuf> {
    let tool = context.sold.as_deref().context("give the built program by --sold (github.com/akawashiro/sold)")?;
    let program = Path::new(subject.path).canonicalize()?;
    let needed = must(Command::new("patchelf").arg("--print-needed").arg(&program))?;
    let mut largest: Option<(usize, String, String)> = None;
    for (name, path) in loaded(&program)?.into_iter().filter(|(name, _)| needed.lines().any(|line| line == name)) {
        let others = others(&path);
        if largest.as_ref().is_none_or(|(most, ..)| others > *most) {
            largest = Some((others, name, path));
        }
    }
    let (others, name, path) = largest.context("it needs no library")?;
    fs::create_dir_all(folder)?;
    let merged = folder.join(&name);
    let what = format!("{name} with its {others} others");
    let mut command = Command::new("timeout");
    // Of liblzma it refuses the symbols that have two versions.
    command.arg(LIMIT).arg(tool).args(["-i", &path, "--exclude-so", "liblzma.so.5", "-o"]).arg(&merged);
    must(&mut command).with_context(|| what.clone())?;
    let copy = folder.join(program.file_name().context("a name")?);
    fs::copy(&program, &copy)?;
    must(Command::new("patchelf").args(["--replace-needed", &name]).arg(&merged).arg(&copy))?;
    must(Command::new("timeout").arg(LIMIT).arg(&copy).arg(subject.argument))
        .with_context(|| format!("{what} was written, and the program does not start with it"))?;
    Ok(copy)
}

/// How many libraries one brings along.
fn others(library: &str) -> usize {
    let listed = Command::new("ldd").arg(library).output();
    listed.map_or(0, |listed| String::from_utf8_lossy(&listed.stdout).matches("=>").count())
}

/// A text of several lines in one: from the check on that failed, for a tool whose checks print a stack; else its end,
/// since tools say last why they end.
fn one_line(text: &str) -> String {
    const LONGEST: usize = 300;
    let checked = text.find("Check failed").map(|at| text[at..].lines().next().unwrap_or_default());
    let line = checked.unwrap_or(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let cut = line.chars().count().saturating_sub(LONGEST);
    match cut {
        0 => line,
        cut => format!("... {}", line.chars().skip(cut).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_keeps_its_end() {
        assert_eq!(one_line("a\n  b"), "a b");
        assert_eq!(one_line("F20 elf.cc:1] Check failed: unique\n  @ main"), "Check failed: unique");
        let long = one_line(&format!("{} the end", "x ".repeat(400)));
        assert!(long.starts_with("... ") && long.ends_with("the end") && long.len() < 310, "{long}");
    }
}
