//! Programs of this machine with their libraries fused: what they print, what the loader binds, what a start costs.
//!
//! Each program of /usr/bin with four libraries or more is fused into a folder of its own, by the example of
//! `underpin-fuse`, as a copy beside which a plain copy is run. No file of the system changes.

mod bundles;
pub mod copies;
mod entry;
mod memory;
mod peers;
mod processes;
mod python;
mod section;
mod slow;
mod starts;
mod window;
mod work;

use crate::bench::table;
use crate::run;
use anyhow::{Context as _, ensure};
use section::Context;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const FILE: &str = "docs/bench/fuse.md";
/// How long a program may take to print its version, in seconds.
const LIMIT: &str = "10";

#[derive(Default)]
struct Sum {
    same: usize,
    unsteady: usize,
    refused: BTreeMap<String, usize>,
    differ: Vec<String>,
    references: usize,
    bindings_differ: Vec<String>,
    compared: usize,
}

/// A part of the page, which can be renewed by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// Outputs and bindings of many programs
    Programs,
    /// What some leave at work
    Work,
    /// Starts of some
    Starts,
    /// Starts up to the entry point
    Entry,
    /// Starts beside those that other tools leave
    Peers,
    /// Starts from a file system that answers slowly
    Slow,
    /// Starts of bundles in one file
    Bundles,
    /// Graphical programs to their first window
    Window,
    /// Python's import of many extension modules
    Python,
    /// Memory of several processes, and sizes of files
    Memory,
}

/// What measures a part and returns its text, which begins with its heading.
type Measure = fn(&Context) -> anyhow::Result<String>;

/// The parts behind the first, in the order of the page.
const SECTIONS: [(Part, &str, Measure); 9] = [
    (Part::Work, work::HEADING, work::measure),
    (Part::Starts, starts::HEADING, starts::measure),
    (Part::Entry, entry::HEADING, entry::measure),
    (Part::Peers, peers::HEADING, peers::measure),
    (Part::Slow, slow::HEADING, slow::measure),
    (Part::Bundles, bundles::HEADING, bundles::measure),
    (Part::Window, window::HEADING, window::measure),
    (Part::Python, python::HEADING, python::measure),
    (Part::Memory, memory::HEADING, memory::measure),
];

/// What is to be tried.
pub struct Wanted<'a> {
    /// Only so many programs.
    pub limit: Option<usize>,
    /// Rounds of timed starts.
    pub rounds: usize,
    /// These parts; all if there is none.
    pub parts: &'a [Part],
    /// The built program of a peer.
    pub sold: Option<PathBuf>,
    /// Write no file.
    pub dry: bool,
}

/// Tries programs, times some, and writes the page.
///
/// # Errors
/// If something cannot be built or written.
pub fn run(wanted: Wanted) -> anyhow::Result<()> {
    let scratch = run::scratch("fuse")?;
    let context = Context { underpin: run::debug_binary()?, scratch, rounds: wanted.rounds, sold: wanted.sold };
    let renews = |part: Part| wanted.parts.is_empty() || wanted.parts.contains(&part);
    let old = fs::read_to_string(FILE).unwrap_or_default();
    let mut sum = Sum::default();
    let mut parts = vec![kept(&old, None)];
    if renews(Part::Programs) {
        parts[0] = programs_part(&context.scratch, wanted.limit, &mut sum)?;
    }
    for (part, heading, measure) in SECTIONS {
        parts.push(if renews(part) { measure(&context)? } else { kept(&old, Some(heading)) });
    }
    fs::remove_dir_all(&context.scratch)?;
    let parts: Vec<&str> = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).collect();
    let text = parts.join("\n\n") + "\n";
    println!("{text}");
    if !wanted.dry {
        fs::write(FILE, text)?;
    }
    ensure!(sum.differ.is_empty() && sum.bindings_differ.is_empty(), "{:?} {:?}", sum.differ, sum.bindings_differ);
    Ok(())
}

/// Fuses many programs by the example of `underpin-fuse` and compares what they do.
fn programs_part(scratch: &Path, limit: Option<usize>, sum: &mut Sum) -> anyhow::Result<String> {
    run::must(&run::cargo(), &["build", "--quiet", "--package", "underpin-fuse", "--example", "fuse"])?;
    let tool = run::target().join("debug/examples/fuse");
    for program in programs()?.into_iter().take(limit.unwrap_or(usize::MAX)) {
        trial(&tool, &program, scratch, sum)?;
    }
    let mut page = table::machine("Libraries fused into one", "cargo xtask fuse-trials");
    describe(sum, &mut page)?;
    Ok(page)
}

/// A part of the page as it is: what a heading begins, or what is before the first one.
fn kept(page: &str, heading: Option<&str>) -> String {
    let start = match heading {
        None => Some(0),
        Some(heading) => page.find(heading),
    };
    let Some(rest) = start.map(|start| &page[start..]) else { return String::new() };
    let end = rest.get(1..).and_then(|after| after.find("\n## ")).map_or(rest.len(), |end| end + 1);
    rest[..end].to_owned()
}

/// Dynamic programs that keep their identity, with four libraries or more.
fn programs() -> anyhow::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in fs::read_dir("/usr/bin")? {
        let (path, status) = {
            let entry = entry?;
            (entry.path(), entry.metadata()?)
        };
        if !status.is_file() || status.permissions().mode() & 0o6000 != 0 || !is_elf(&path) {
            continue;
        }
        let listed = Command::new("ldd").arg(&path).output()?;
        if String::from_utf8_lossy(&listed.stdout).matches("=>").count() >= 4 {
            all.push(path);
        }
    }
    all.sort();
    Ok(all)
}

fn is_elf(path: &Path) -> bool {
    use std::io::Read;
    let mut start = [0; 4];
    fs::File::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok()) && start == *b"\x7fELF"
}

fn trial(tool: &Path, program: &Path, scratch: &Path, sum: &mut Sum) -> anyhow::Result<()> {
    let name = program.file_name().context("a name")?;
    let (fused, plain) = (scratch.join("trial"), scratch.join("plain"));
    fs::create_dir_all(&plain)?;
    fs::copy(program, plain.join(name))?;
    let done = Command::new(tool).arg(program).arg(&fused).output()?;
    if let Some(3) = done.status.code() {
        let text = String::from_utf8_lossy(&done.stdout).trim().lines().last().unwrap_or_default().to_owned();
        *sum.refused.entry(text).or_default() += 1;
    } else {
        ensure!(done.status.success(), "{}: {}", program.display(), String::from_utf8_lossy(&done.stderr));
        // A copy elsewhere has no libraries where its path has `$ORIGIN`: then the program itself is run.
        let copy = plain.join(name);
        let before = if starts(&copy)? { copy.as_path() } else { program };
        let said = |program: &Path| output(program, &scratch.join("empty"));
        let (first, again, now) = (said(before)?, said(before)?, said(&fused.join(name))?);
        match () {
            () if first != again => sum.unsteady += 1,
            () if first == now => sum.same += 1,
            () => sum.differ.push(program.display().to_string()),
        }
        bindings(program, &fused, sum)?;
    }
    let _ = fs::remove_dir_all(&fused);
    fs::remove_dir_all(&plain)?;
    Ok(())
}

/// Whether the loader finds all libraries of a program.
fn starts(program: &Path) -> anyhow::Result<bool> {
    let listed = Command::new("ldd").arg(program).output()?;
    Ok(!String::from_utf8_lossy(&listed.stdout).contains("not found"))
}

/// What `--version` prints and how it ends, the program's own folder left out. It runs in a folder of the trial: some programs
/// know no such option and write files.
fn output(program: &Path, current: &Path) -> anyhow::Result<(Option<i32>, String, String)> {
    fs::create_dir_all(current)?;
    let folder = program.parent().context("no folder")?;
    let mut command = Command::new("timeout");
    command.args([LIMIT, "env", "-u", "DISPLAY"]).arg(program).arg("--version").stdin(std::process::Stdio::null());
    let output = command.current_dir(current).output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&folder.display().to_string(), "");
    Ok((output.status.code(), text(&output.stdout), text(&output.stderr)))
}

type References = BTreeMap<(String, String), BTreeSet<String>>;

/// The references that the loader binds in trace mode, in which no code of the program runs.
fn loader(program: &Path) -> anyhow::Result<References> {
    let variables =
        [("LD_TRACE_LOADED_OBJECTS", "1"), ("LD_WARN", "yes"), ("LD_BIND_NOW", "1"), ("LD_DEBUG", "bindings")];
    let output = Command::new(program).envs(variables).output()?;
    let mut found = References::new();
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        let Some((from, rest)) = line.split_once("binding file ").and_then(|(_, rest)| rest.split_once(" [0] to "))
        else {
            continue;
        };
        let Some((to, symbol)) = rest.split_once(" [0]: ") else { continue };
        let Some((_, symbol)) = symbol.split_once('`') else { continue };
        found.entry((from.to_owned(), symbol.replacen('\'', "", 1))).or_default().insert(to.to_owned());
    }
    Ok(found)
}

/// Compares what was computed for each reference of a member, and what the loader gives every other object now, with
/// what it gives the original.
fn bindings(program: &Path, folder: &Path, sum: &mut Sum) -> anyhow::Result<()> {
    let (before, after) = (loader(program)?, loader(&folder.join(program.file_name().context("a name")?))?);
    let mut ours = References::new();
    let mut members = BTreeSet::new();
    for line in fs::read_to_string(folder.join("bindings"))?.lines() {
        let [from, to, name, version] = line.split('\t').collect::<Vec<_>>()[..] else { continue };
        let symbol = if version.is_empty() { name.to_owned() } else { format!("{name} [{version}]") };
        members.insert(from.to_owned());
        if !to.is_empty() {
            ours.entry((from.to_owned(), symbol)).or_default().insert(to.to_owned());
        }
    }
    let mut wrong = |reference: &(String, String)| {
        sum.bindings_differ.push(format!("{}: {} of {}", program.display(), reference.1, reference.0));
    };
    for (reference, to) in &ours {
        if before.get(reference) != Some(to) {
            wrong(reference);
        }
    }
    let copy = folder.join(program.file_name().context("a name")?).display().to_string();
    let fused = folder.join("fused.so").display().to_string();
    for ((from, symbol), to) in &after {
        let own = |path: &String| if *path == copy { program.display().to_string() } else { path.clone() };
        let wanted = |then: &BTreeSet<String>| {
            to.iter().all(|to| if *to == fused { !then.is_disjoint(&members) } else { then.contains(&own(to)) })
        };
        let right = if passes_on(symbol, to, &fused, &after) {
            true
        } else if *from == fused {
            // Of all members together: the address of a function may be the program's where a call of it is not (the
            // canonical PLT entries of programs at fixed addresses).
            let then = members.iter().filter_map(|member| before.get(&(member.clone(), symbol.clone())));
            wanted(&then.flatten().cloned().collect())
        } else {
            before.get(&(own(from), symbol.clone())).is_some_and(wanted)
        };
        if !right {
            wrong(&(from.clone(), symbol.clone()));
        }
    }
    sum.references += ours.len() + after.len();
    sum.compared += 1;
    Ok(())
}

/// Whether a reference is the file's dlopen, which passes on to glibc's dlmopen, or that one.
fn passes_on(symbol: &str, to: &BTreeSet<String>, fused: &str, after: &References) -> bool {
    let is_glibc = |to: &BTreeSet<String>| to.iter().all(|to| to.ends_with("/libc.so.6"));
    let next = after.get(&(fused.to_owned(), "dlmopen".to_owned())).filter(|to| is_glibc(to));
    match symbol.split(' ').next() {
        Some("dlopen") => next.is_some() && to.iter().all(|to| to == fused),
        Some("dlmopen") => next == Some(to),
        _ => false,
    }
}

fn describe(sum: &Sum, text: &mut String) -> anyhow::Result<()> {
    let refused: usize = sum.refused.values().sum();
    writeln!(
        text,
        "Programs of /usr/bin with four libraries or more, each fused into a copy (form B: the program stays as it is, its \
         libraries but glibc's own and those that must stay shared are one file). A reference to dlopen that leads to the file counts \
         as the same if the file passes it on to glibc's dlmopen.\n\n| programs | |\n| --- | --- |\n\
         | `--version` gives the same output, errors and exit code | {} |\n| something differs | {} |\n\
         | the original differs from run to run | {} |\n| refused | {refused} |\n\
         | programs whose bindings were compared with the loader's | {} |\n| references compared | {} |\n\
         | references bound to something else | {} |\n",
        sum.same,
        sum.differ.len(),
        sum.unsteady,
        sum.compared,
        sum.references,
        sum.bindings_differ.len(),
    )?;
    for (reason, count) in &sum.refused {
        writeln!(text, "Refused {count} times: {}.", reason.trim_start_matches("refused: "))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_is_not_renewed_stays_as_it_is() {
        let page = "# Title\n\nfirst\n\n## A start\n\nsecond\n\n## Memory and size\n\nlast\n";
        assert_eq!(kept(page, None), "# Title\n\nfirst\n");
        assert_eq!(kept(page, Some(starts::HEADING)), "## A start\n\nsecond\n");
        assert_eq!(kept(page, Some(memory::HEADING)), "## Memory and size\n\nlast\n");
        assert_eq!(kept(page, Some(slow::HEADING)), "");
    }

    #[test]
    fn no_heading_begins_another() {
        for (part, heading, _) in SECTIONS {
            let same = SECTIONS.iter().filter(|(_, other, _)| other.starts_with(heading)).count();
            assert_eq!(same, 1, "{part:?}");
        }
    }
}
