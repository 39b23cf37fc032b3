//! What binding adds on disk: this machine's own programs and libraries, laid out as Spack does, bound by underpin and by
//! each version of patchelf.

use super::table;
use crate::{run, setup};
use anyhow::{Context, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where programs and libraries are taken from.
const FOLDERS: [&str; 2] = ["/usr/bin", "/usr/lib/x86_64-linux-gnu"];
/// Files that the page names, the largest first.
const NAMED: usize = 12;
/// No file may grow by more than its own string table and this.
const ALLOWED: u64 = 64 << 10;

/// One file: its sizes in bytes.
struct File {
    path: PathBuf,
    before: u64,
    bound: u64,
    /// By version of patchelf; `None` if it failed.
    patched: Vec<Option<u64>>,
}

/// Measures and returns the page.
///
/// # Errors
/// If a tool is missing or fails.
pub fn run() -> anyhow::Result<String> {
    let scratch = run::scratch("growth")?;
    let page = measure(&scratch);
    fs::remove_dir_all(&scratch)?;
    page
}

fn measure(scratch: &Path) -> anyhow::Result<String> {
    // Sizes do not depend on how the tools were compiled.
    let (underpin, spacktree) = (run::debug_tool("underpin")?, run::debug_tool("underpin-spacktree")?);
    let patchelfs = setup::patchelfs()?;
    let (tree, originals) = (scratch.join("tree"), scratch.join("originals"));
    output(Command::new(&spacktree).arg("--folder").arg(&tree).args(own_files()?))?;
    output(Command::new("cp").args(["-a", "--reflink=auto"]).args([&tree, &originals]))?;
    let bound = Command::new(&underpin).args(["bind", "--json"]).arg(&tree).output()?;
    let document: Value = serde_json::from_slice(&bound.stdout).context("the document of bind")?;
    let mut files = Vec::new();
    let mut places = BTreeMap::<String, usize>::new();
    for record in document["files"].as_array().context("the files of bind")? {
        if record["outcome"] != "bound" {
            continue;
        }
        let path = PathBuf::from(record["path"].as_str().context("a path")?);
        let original = originals.join(path.strip_prefix(&tree)?);
        let size = |path: &Path| Ok::<u64, anyhow::Error>(fs::metadata(path)?.len());
        let patched = patchelfs.iter().map(|(_, tool)| patched(tool, &original, &scratch.join("patched"), record));
        let patched = patched.collect::<anyhow::Result<_>>()?;
        files.push(File { before: size(&original)?, bound: size(&path)?, path, patched });
        let place = record["placed"][0]["place"].as_str().unwrap_or("strings that were there").replace('_', " ");
        *places.entry(place).or_default() += 1;
    }
    if files.is_empty() {
        bail!("nothing was bound: {}", String::from_utf8_lossy(&bound.stderr));
    }
    let names: Vec<&str> = patchelfs.iter().map(|(name, _)| name.as_str()).collect();
    page(&mut files, &names, &places)
}

/// Programs and libraries of this machine that need others.
fn own_files() -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        let entries = fs::read_dir(folder)?.flatten();
        let regular = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        files.extend(regular.map(|entry| entry.path()));
    }
    files.sort();
    files.retain(|file| {
        let needed = Command::new("patchelf").arg("--print-needed").arg(file).output();
        needed.is_ok_and(|needed| needed.status.success() && !needed.stdout.is_empty())
    });
    Ok(files)
}

/// The size of a file once patchelf has written the same names.
fn patched(patchelf: &Path, original: &Path, copy: &Path, record: &Value) -> anyhow::Result<Option<u64>> {
    fs::copy(original, copy)?;
    let mut command = Command::new(patchelf);
    for name in record["names"].as_array().context("names")? {
        if let (Some(from), Some(to)) = (name["name"].as_str(), name["becomes"].as_str()) {
            command.args(["--replace-needed", from, to]);
        }
    }
    let done = command.arg(copy).output()?.status.success();
    let size = fs::metadata(copy)?.len();
    fs::remove_file(copy)?;
    Ok(done.then_some(size))
}

fn output(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    if !output.status.success() {
        bail!("{:?} failed: {}", command.get_program(), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The size of `.dynstr`, as readelf has it.
fn dynstr(file: &Path) -> anyhow::Result<u64> {
    let text = output(Command::new("readelf").args(["-SW"]).arg(file))?;
    let line = text.lines().find(|line| line.contains(" .dynstr ")).context("no .dynstr")?;
    let size = line.split_whitespace().skip_while(|word| *word != "STRTAB").nth(3).context("no size")?;
    Ok(u64::from_str_radix(size, 16)?)
}

fn page(files: &mut [File], patchelfs: &[&str], places: &BTreeMap<String, usize>) -> anyhow::Result<String> {
    let mut text = table::machine("What binding adds on disk", "cargo xtask bench growth");
    let before: u64 = files.iter().map(|file| file.before).sum();
    let _ = write!(
        text,
        "\nAll programs and libraries of /usr/bin and /usr/lib/x86_64-linux-gnu, with what they load, laid out as Spack does \
         it (`underpin-spacktree`): {} files that have something to bind, {} bytes. The same names written by `underpin bind` \
         and by `patchelf --replace-needed`, all of a file at once. underpin's files also carry the record for \
         `unbind`.\n\n\
         | tool | bytes more | of all | most for one file | files larger than with underpin | not smaller |\n\
         | --- | --- | --- | --- | --- | --- |\n",
        files.len(),
        table_number(before),
    );
    let grown: Vec<u64> = files.iter().map(|file| file.bound.saturating_sub(file.before)).collect();
    let row = |name: &str, grown: &[u64], compared: &str| {
        let (sum, most) = (grown.iter().sum::<u64>(), grown.iter().max().copied().unwrap_or(0));
        let share = sum as f64 * 100.0 / before as f64;
        format!("| {name} | {} | {share:.2} % | {} | {compared} |\n", table_number(sum), table_number(most))
    };
    text += &row("underpin bind", &grown, "- | -");
    for (at, name) in patchelfs.iter().enumerate() {
        let pairs: Vec<(u64, u64)> = files.iter().filter_map(|file| Some((file.patched[at]?, file.bound))).collect();
        let larger = pairs.iter().filter(|(patched, bound)| patched > bound).count();
        let by: Vec<u64> =
            files.iter().map(|file| file.patched[at].map_or(0, |size| size.saturating_sub(file.before))).collect();
        text += &row(name, &by, &format!("{larger} | {}", pairs.len() - larger));
    }
    text += "\nWhere underpin put the names: ";
    text += &places.iter().map(|(place, files)| format!("{place} in {files}")).collect::<Vec<_>>().join(", ");
    text += ".\n";
    text += &largest(files, patchelfs);
    text += &goals(files, before, grown.iter().sum())?;
    Ok(text)
}

fn largest(files: &mut [File], patchelfs: &[&str]) -> String {
    files.sort_by_key(|file| std::cmp::Reverse(file.before));
    let mut text = "\n## The largest files\n\n| file | bytes | underpin bind |".to_owned();
    patchelfs.iter().for_each(|name| text += &format!(" {name} |"));
    text += &format!("\n| --- | --- | --- |{}\n", " --- |".repeat(patchelfs.len()));
    for file in files.iter().take(NAMED) {
        let name = file.path.file_name().unwrap_or_default().to_string_lossy();
        let more = |size: u64| table_number(size.saturating_sub(file.before));
        let _ = write!(text, "| {name} | {} | {} |", table_number(file.before), more(file.bound));
        for size in &file.patched {
            text += &size.map_or_else(|| " fails |".to_owned(), |size| format!(" {} |", more(size)));
        }
        text += "\n";
    }
    text
}

fn goals(files: &[File], before: u64, grown: u64) -> anyhow::Result<String> {
    let mut over = Vec::new();
    for file in files.iter().filter(|file| file.bound > file.before + ALLOWED) {
        let allowed = dynstr(&file.path)? + ALLOWED;
        if file.bound > file.before + allowed {
            over.push(file.path.display().to_string());
        }
    }
    let beaten = |file: &&File| file.patched.iter().flatten().any(|patched| *patched <= file.bound);
    let larger: Vec<String> = files
        .iter()
        .filter(beaten)
        .map(|file| file.path.file_name().unwrap_or_default().to_string_lossy().into_owned())
        .collect();
    // What the record for `unbind` costs where patchelf, which keeps none, finds room without growing the file.
    let most = files
        .iter()
        .filter(beaten)
        .map(|file| file.bound - file.patched.iter().flatten().min().copied().unwrap_or(file.bound).min(file.bound));
    let most = most.max().unwrap_or(0);
    let verdict =
        |list: &[String]| if list.is_empty() { "met".to_owned() } else { format!("**missed** by {}", list.join(", ")) };
    let share = if grown * 100 <= before { "met" } else { "**missed**" };
    Ok(format!(
        "\n## Goals\n\n\
         - The prefix grows by at most 1 %: {share}.\n\
         - No file grows by more than its own string table and 64 kB: {}.\n\
         - Every file grows less than with any patchelf: {}{}.\n",
        verdict(&over),
        verdict(&larger),
        if larger.is_empty() { String::new() } else { format!(" (each by {most} bytes at most)") }
    ))
}

/// A number with commas.
fn table_number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
