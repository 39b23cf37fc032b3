//! Programs of this machine with their libraries fused: what they print, what the loader binds, what a start costs.
//!
//! Each program of /usr/bin with four libraries or more is fused into a folder of its own, by the example of
//! `underpin-fuse`, as a copy beside which a plain copy is run. No file of the system changes.

use crate::bench::measure::{Contestant, interleaved};
use crate::bench::table;
use crate::{fuse_bundles, run};
use anyhow::{Context, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const FILE: &str = "docs/bench/fuse.md";
/// Programs whose start is timed, and how they are called.
const TIMED: [(&str, &str); 8] = [
    ("ffmpeg", "-version"),
    ("octave-cli", "--version"),
    ("emacs", "--version"),
    ("gimp-console", "--version"),
    ("qemu-system-x86_64", "--version"),
    ("gdb", "--version"),
    ("curl", "--version"),
    ("git", "--version"),
];
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
    /// Starts of some
    Starts,
    /// Starts of bundles in one file
    Bundles,
}

/// The heading of [`Part::Starts`].
const STARTS: &str = "## A start";

/// Tries programs, times some, and writes the page.
///
/// # Errors
/// If something cannot be built or written.
pub fn run(limit: Option<usize>, rounds: usize, parts: &[Part], dry: bool) -> anyhow::Result<()> {
    let cargo = run::cargo();
    run::must(&cargo, &["build", "--quiet", "--package", "underpin-fuse", "--example", "fuse"])?;
    let tool = run::target().join("debug/examples/fuse");
    let scratch = run::scratch("fuse")?;
    let renews = |part: Part| parts.is_empty() || parts.contains(&part);
    let old = fs::read_to_string(FILE).unwrap_or_default();
    let mut sum = Sum::default();
    let mut page = kept(&old, None);
    if renews(Part::Programs) {
        for program in programs()?.into_iter().take(limit.unwrap_or(usize::MAX)) {
            trial(&tool, &program, &scratch, &mut sum)?;
        }
        page = table::machine("Libraries fused into one", "cargo xtask fuse-trials");
        describe(&sum, &mut page)?;
    }
    let mut times = kept(&old, Some(STARTS));
    if renews(Part::Starts) {
        times = String::new();
        starts(&tool, &scratch, rounds, &mut times)?;
    }
    let bundles = match renews(Part::Bundles) {
        true => fuse_bundles::measure(&scratch, rounds)?,
        false => kept(&old, Some(fuse_bundles::HEADING)),
    };
    fs::remove_dir_all(&scratch)?;
    let parts = [page, times, bundles].map(|part| part.trim().to_owned());
    let text = parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join("\n\n") + "\n";
    println!("{text}");
    if !dry {
        fs::write(FILE, text)?;
    }
    ensure!(sum.differ.is_empty() && sum.bindings_differ.is_empty(), "{:?} {:?}", sum.differ, sum.bindings_differ);
    Ok(())
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
        let said = |folder: &Path| output(&folder.join(name), folder);
        let (first, again, now) = (said(&plain)?, said(&plain)?, said(&fused)?);
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

/// What `--version` prints and how it ends, the program's own folder left out.
fn output(program: &Path, folder: &Path) -> anyhow::Result<(Option<i32>, String, String)> {
    let mut command = Command::new("timeout");
    command.args([LIMIT, "env", "-u", "DISPLAY"]).arg(program).arg("--version").stdin(std::process::Stdio::null());
    let output = command.output()?;
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
        let right = if *from == fused {
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

fn describe(sum: &Sum, text: &mut String) -> anyhow::Result<()> {
    let refused: usize = sum.refused.values().sum();
    writeln!(
        text,
        "Programs of /usr/bin with four libraries or more, each fused into a copy (form B: the program stays as it is, its \
         libraries but glibc's own and those that must stay shared are one file).\n\n| programs | |\n| --- | --- |\n\
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

/// Processor time of a start over that of the unchanged program.
fn starts(tool: &Path, scratch: &Path, rounds: usize, text: &mut String) -> anyhow::Result<()> {
    writeln!(
        text,
        "{STARTS}\n\nProcessor time of whole runs over the unchanged program's; runs interleave (ABBA), load average {}.\n\n\
         | program | libraries merged | stay shared | unchanged, ms | fused, ms | ratio | runs |\n| --- | --- | --- | --- | --- | --- | --- |",
        table::load()
    )?;
    for (name, argument) in TIMED {
        let program = Path::new("/usr/bin").join(name);
        let folder = scratch.join(name);
        let Ok(program) = program.canonicalize() else { continue };
        let done = Command::new(tool).arg(&program).arg(&folder).output()?;
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        let Some(members) = said.lines().last().and_then(|line| line.split_once(" members")) else { continue };
        // Emacs looks for its own files beside itself: the name that it is called by is that of the original.
        let original = program.display().to_string();
        let copy = folder.join(program.file_name().context("a name")?).display().to_string();
        let called = |file: &str| {
            let script = format!("exec -a {original} {file} {argument}");
            match name {
                "emacs" => Contestant::new(name, &["bash", "-c", &script]),
                _ => Contestant::new(name, &[file, argument]),
            }
        };
        let Ok(samples) = interleaved(&[called(&original), called(&copy)], rounds) else {
            writeln!(text, "| {name} | {} | | | | does not run as a copy | |", members.0)?;
            continue;
        };
        let (before, after) = (samples[0].processor(), samples[1].processor());
        let ratio = after.ratio(before);
        writeln!(
            text,
            "| {name} | {} | {} | {:.1} | {:.1} | **{:.3}** [{:.3}, {:.3}] | {} |",
            members.0,
            said.lines().filter(|line| line.starts_with("kept ")).count(),
            before.median().value * 1e3,
            after.median().value * 1e3,
            ratio.value,
            ratio.low,
            ratio.high,
            after.runs(),
        )?;
    }
    Ok(())
}
