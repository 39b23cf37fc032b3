//! `underpin build` tried as a new user would: published projects are fetched, built for each processor and C library, and made
//! to do a piece of work in roots that have no C library, or one of 2012. What they print is compared with the build of the
//! distribution or of cargo, byte for byte.

mod page;
mod projects;
mod root;
mod sources;

pub use page::{FILE, HEADING};
pub use projects::{FD, Project, RIPGREP};
pub use sources::{count, reference};

use crate::build::{self, Processor};
use crate::run;
use anyhow::{Context, bail, ensure};
use page::Row;
use projects::PROJECTS;
use root::Roots;
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One choice of `underpin build`.
#[derive(Clone, Copy)]
struct Choice {
    processor: Processor,
    /// Options beside the target's; empty for what a user gets without options.
    options: &'static [&'static str],
}

/// The most valuable first: what most people build.
const CHOICES: [Choice; 3] = [
    Choice { processor: Processor::X86_64, options: &[] },
    Choice { processor: Processor::Aarch64, options: &[] },
    Choice { processor: Processor::X86_64, options: &["--libc", "glibc:2.17"] },
];

impl Choice {
    const fn is_static(self) -> bool {
        self.options.is_empty()
    }
}

/// Builds and runs every project, or those named, and puts their rows into the page.
///
/// # Errors
/// If something is missing that the trials need, or a project fails one.
pub fn run(old: Option<&Path>, only: &[String]) -> anyhow::Result<()> {
    let known = |name: &String| PROJECTS.iter().any(|project| project.name == name);
    if let Some(name) = only.iter().find(|name| !known(name)) {
        let names: Vec<&str> = PROJECTS.iter().map(|project| project.name).collect();
        bail!("unknown project `{name}`: expected one of {}", names.join(", "));
    }
    let old =
        old.map(|root| root.canonicalize().with_context(|| format!("no root at {}", root.display()))).transpose()?;
    let underpin = Underpin::new()?;
    let roots = Roots::new(old)?;
    let chosen: Vec<&Project> =
        PROJECTS.iter().filter(|project| only.is_empty() || only.iter().any(|name| name == project.name)).collect();
    let mut failed = Vec::new();
    for choice in CHOICES {
        // A dynamic program cannot start in an empty root, and the other one was not given.
        if !choice.is_static() && roots.old.is_none() {
            continue;
        }
        for project in &chosen {
            let row = trial(&underpin, &roots, project, choice)?;
            if !row.is_fine() {
                failed.push(format!("{} on {}", row.project, row.target));
            }
            page::put(&row)?;
            println!("{}", row.line());
        }
    }
    roots.remove()?;
    println!("wrote {FILE}");
    if failed.is_empty() { Ok(()) } else { bail!("failed: {}", failed.join(", ")) }
}

/// Builds, runs and judges.
fn trial(underpin: &Underpin, roots: &Roots, project: &Project, choice: Choice) -> anyhow::Result<Row> {
    println!("{} for {} {}", project.name, choice.processor.of_kernel(), choice.options.join(" "));
    let built = underpin.build(project, choice, true)?;
    // A refused build gets the name that it would have had.
    let build =
        built.as_ref().map_or(if choice.is_static() { "musl" } else { choice.options[1] }, |built| &built.build);
    let mut row = Row::new(project, choice.processor.of_kernel(), build, &built);
    let Ok(built) = built else { return Ok(row) };
    let expected = roots.expected(project, &sources::reference(project)?)?;
    let program = roots.take(project, choice.processor, &built.program)?;
    if choice.is_static() {
        row.empty = Some(roots.run(&roots.empty, project, &program)?.judged(project, &expected));
    }
    if let Some(old) = &roots.old {
        row.old = Some(roots.run(old, project, &program)?.judged(project, &expected));
    }
    Ok(row)
}

/// What `underpin build` says of a program that it built.
pub struct Built {
    /// Where it is.
    pub program: PathBuf,
    bytes: u64,
    took: Duration,
    build: String,
    toolchain: String,
    confirmed: Vec<String>,
}

/// The underpin of the workspace, with a cache of the trials' own.
pub struct Underpin {
    program: PathBuf,
    folder: PathBuf,
    path: std::ffi::OsString,
}

impl Underpin {
    /// Builds it, and fetches zig.
    ///
    /// # Errors
    /// If one of them fails.
    pub fn new() -> anyhow::Result<Underpin> {
        let folder = run::target().join("build-trials");
        fs::create_dir_all(&folder)?;
        let mut path = vec![build::zig()?];
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        Ok(Underpin { program: run::debug_binary()?, folder, path: std::env::join_paths(path)? })
    }

    /// The same with another build of the program.
    #[must_use]
    pub fn with(self, program: PathBuf) -> Underpin {
        Underpin { program, ..self }
    }

    /// `underpin build` with its cache; `arguments` follow the verb.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("build").args(arguments).env("PATH", &self.path).env("XDG_CACHE_HOME", self.folder.join("cache"));
        // Cargo sets them for what it runs.
        for name in ["CARGO", "CARGO_MANIFEST_DIR", "LD_LIBRARY_PATH", "RUSTUP_TOOLCHAIN"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null());
        command
    }

    /// The default build of a project for this machine, from what is compiled already if it is.
    ///
    /// # Errors
    /// If it fails.
    pub fn usual(&self, project: &Project) -> anyhow::Result<PathBuf> {
        let built = self.build(project, CHOICES[0], false)?;
        Ok(built.map_err(|said| anyhow::anyhow!(said))?.program)
    }

    /// Builds a project; the inner error is the last line of what a refused build said. `anew`: nothing of it is compiled yet.
    fn build(&self, project: &Project, choice: Choice, anew: bool) -> anyhow::Result<Result<Built, String>> {
        let processor = choice.processor.of_kernel();
        let kind = if choice.is_static() { "usual" } else { "old" };
        let folder = self.folder.join("out").join(processor).join(kind);
        fs::create_dir_all(&folder)?;
        let program = folder.join(project.program);
        let place = program.display().to_string();
        let mut arguments: Vec<String> =
            ["--json", "--force", "--target", processor, "-o", &place, "--bin"].map(str::to_owned).to_vec();
        arguments.push(project.program.to_owned());
        arguments.extend(choice.options.iter().map(|option| (*option).to_owned()));
        arguments.extend(sources::arguments(project)?);
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        if anew {
            self.warm(choice)?;
            self.forget(&words)?;
        }
        let log = folder.join(format!("{}.log", project.program));
        let began = Instant::now();
        let output = self.command(&words).stderr(File::create(&log)?).output().context("cannot start underpin")?;
        let took = began.elapsed();
        let Ok(document) = serde_json::from_slice::<Value>(&output.stdout) else {
            println!("the build failed; its output is in {}", log.display());
            return Ok(Err(reason(&fs::read_to_string(&log).unwrap_or_default())));
        };
        Ok(read(&document, program, took))
    }

    /// Removes what an earlier build of the same project and choice compiled.
    fn forget(&self, words: &[&str]) -> anyhow::Result<()> {
        let output = self.command(words).arg("--dry-run").output().context("cannot start underpin")?;
        let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        // A plan that is refused is refused again by the build itself.
        if let Some(folder) = document["tools"].as_str().and_then(|tools| Path::new(tools).parent()) {
            ensure!(folder.starts_with(&self.folder), "{} is outside the folder of the trials", folder.display());
            if folder.exists() {
                fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
            }
        }
        Ok(())
    }

    /// Has zig compile its C and C++ libraries for a choice: minutes, once for all projects.
    fn warm(&self, choice: Choice) -> anyhow::Result<()> {
        let source = self.folder.join("warm.cpp");
        fs::write(&source, "#include <iostream>\nint main() { std::cout << 1; }\n")?;
        let (file, place) = (source.display().to_string(), self.folder.join("warm").display().to_string());
        let words = [&file, "-o", &place, "--force", "--cc", "zig", "--target", choice.processor.of_kernel()];
        let words = [&words, choice.options].concat();
        let output = self.command(&words).output().context("cannot start underpin")?;
        ensure!(output.status.success(), "zig cannot build a program: {}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }
}

/// What the document says; an error if the program is not what was asked for.
fn read(document: &Value, program: PathBuf, took: Duration) -> Result<Built, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let one = document["programs"].as_array().and_then(|all| all.first()).ok_or("the build made no program")?;
    let facts = one["facts"].as_array().map_or(&[][..], Vec::as_slice);
    if one["confirmed"] != true {
        let missed = facts.iter().filter(|fact| fact["met"] != true);
        let missed: Vec<String> =
            missed.map(|fact| format!("{} instead of {}", text(&fact["found"]), text(&fact["asked"]))).collect();
        return Err(format!("not confirmed: {}", missed.join(", ")));
    }
    let told = facts.iter().filter(|fact| !matches!(fact["what"].as_str(), Some("processor" | "note")));
    Ok(Built {
        program,
        bytes: one["bytes"].as_u64().unwrap_or_default(),
        took,
        build: text(&document["build"]),
        toolchain: text(&document["toolchain"]),
        confirmed: told.map(|fact| text(&fact["found"])).collect(),
    })
}

/// The line of a log that says why: the first of an error, else the last.
fn reason(log: &str) -> String {
    let mut lines = log.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("to repeat it"));
    let told = ["error:", "CMake Error", "***"];
    let error = log.lines().find(|line| told.iter().any(|word| line.contains(word)));
    error.or_else(|| lines.next_back()).unwrap_or("no output").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_what_was_asked_for_is_no_result() {
        let document = serde_json::json!({"programs": [{"confirmed": false, "bytes": 1, "facts": [
            {"what": "linkage", "asked": "static-pie", "found": "dynamic", "met": false},
            {"what": "C library", "asked": "musl", "found": "musl", "met": true}]}]});
        let read = read(&document, PathBuf::new(), Duration::ZERO);
        assert_eq!(read.err().unwrap(), "not confirmed: dynamic instead of static-pie");
    }

    #[test]
    fn the_reason_of_a_failed_build_is_its_error_and_not_its_last_line() {
        let log = "cc -c a.c\na.c:1: error: unknown type\nmake: leaving\n\nto repeat it: cd x && make\n";
        assert_eq!(reason(log), "a.c:1: error: unknown type");
        assert_eq!(reason("one\ntwo\n\nto repeat it: x\n"), "two");
    }
}
