//! The programs of the suites, built before anything is measured.

use crate::cli::BuildArgs;
use crate::commands::build;
use crate::plan::{BuildPlan, SuitePlan};
use crate::progress::Progress;
use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use underpin_bench::BenchError;
use underpin_build::project::emulator;
use underpin_build::{Processor, SpecText};
use underpin_malloc::Store;
use underpin_report::BuildDocument;
use underpin_suite::sources::{Program, program};
use underpin_suite::{Build, Suite};

/// The programs, removed when this is dropped.
pub struct Programs {
    /// The builds as they turned out; the first is the reference.
    pub builds: Vec<Build>,
    made: BTreeMap<(Suite, usize), Made>,
    emulators: Vec<Vec<String>>,
    started: BTreeMap<(Suite, usize), (&'static str, PathBuf)>,
    folder: TempDir,
}

/// A program, or why there is none.
enum Made {
    There(PathBuf),
    Not(String),
}

impl Programs {
    /// Builds the program of every suite in every way. One that cannot be built is a failure of each of its rows, unless
    /// a build gives none at all.
    ///
    /// # Errors
    /// If the sources cannot be written, one build makes nothing, or the user interrupted it.
    pub fn make(plan: &SuitePlan, progress: &Progress) -> anyhow::Result<Programs> {
        let sources = sources()?;
        let folder = tempfile::Builder::new().prefix("underpin-suites-").tempdir()?;
        let place = folder.path().canonicalize()?;
        let suites = plan.suites();
        let (mut made, mut builds, mut emulators) = (BTreeMap::new(), Vec::new(), Vec::new());
        let mut started = BTreeMap::new();
        for (index, (text, spec)) in plan.builds.iter().enumerate() {
            let (mut description, mut failure, mut emulator) = (None, None, None);
            for &suite in &suites {
                progress.say(format!("building {suite} for {text}"));
                let output = place.join(format!("{index}")).join(suite.name()).join("");
                let source = program(suite);
                let project = sources.join(source.project);
                let args = BuildArgs::of(project, *spec, Vec::new(), output);
                let words = source.words.iter().map(|word| (*word).to_owned()).collect();
                match built(BuildArgs { words, target: plan.target, ..args }, source.name) {
                    Ok((document, path, run_by)) => {
                        emulator = run_by;
                        // A package in Rust may be built by another toolchain; it is described as the C programs are.
                        if description.is_none() || suite != Suite::Alloc {
                            description = Some(describe(&document));
                        }
                        made.insert((suite, index), Made::There(path));
                        if let Some((variable, path)) =
                            beside(plan, spec, source, &sources, &place.join(format!("{index}")))?
                        {
                            started.insert((suite, index), (variable, path));
                        }
                    }
                    Err(error) if error.is::<BenchError>() => return Err(error),
                    Err(error) => {
                        let reason = format!("{error:#}");
                        failure.get_or_insert_with(|| reason.clone());
                        made.insert((suite, index), Made::Not(format!("not built: {reason}")));
                    }
                }
            }
            // Without suites of ours it is the originals that are described.
            let described = if suites.is_empty() { Some(String::new()) } else { description };
            let Some(description) = described else {
                bail!("--build {text}: {}", failure.unwrap_or_default());
            };
            let shown = emulator.as_ref().map(|words: &Vec<String>| words.join(" "));
            emulators.push(emulator.unwrap_or_default());
            builds.push(Build { name: text.clone(), description, emulator: shown });
        }
        progress.clear();
        Ok(Programs { builds, made, emulators, started, folder })
    }

    /// The program of a suite in a build, or why there is none.
    pub fn program(&self, suite: Suite, build: usize) -> Result<&Path, &str> {
        match self.made.get(&(suite, build)) {
            Some(Made::There(path)) => Ok(path),
            Some(Made::Not(reason)) => Err(reason),
            None => Err("not built"),
        }
    }

    /// The words before a build's programs: those of an emulator, or none.
    pub fn emulator(&self, build: usize) -> &[String] {
        self.emulators.get(build).map_or(&[], Vec::as_slice)
    }

    /// Variables of a suite's rows: the program that they start, and what runs it.
    pub fn variables(&self, suite: Suite, build: usize) -> Vec<(OsString, Option<OsString>)> {
        let started = self.started.get(&(suite, build)).map(|(name, path)| (OsString::from(name), Some(path.into())));
        let emulator = self.emulator(build).first().map(|word| (OsString::from("SUITE_EMULATOR"), Some(word.into())));
        started.into_iter().chain(emulator).collect()
    }

    /// Where the files are that a build's rows report into.
    pub fn report_of(&self, build: usize) -> PathBuf {
        self.folder.path().join(format!("{build}.report"))
    }
}

/// The second program of a suite, if it has one.
fn beside(
    plan: &SuitePlan,
    spec: &SpecText,
    source: Program,
    sources: &Path,
    place: &Path,
) -> anyhow::Result<Option<(&'static str, PathBuf)>> {
    let Some((variable, project)) = source.started else { return Ok(None) };
    let output = place.join("started").join("");
    let args = BuildArgs { target: plan.target, ..BuildArgs::of(sources.join(project), *spec, Vec::new(), output) };
    let name = Path::new(project).file_stem().and_then(OsStr::to_str).unwrap_or_default();
    let (_, path, _) = built(args, name)?;
    Ok(Some((variable, path)))
}

/// What was built, where it is, and what runs it if this processor does not.
pub fn built(args: BuildArgs, name: &str) -> anyhow::Result<(BuildDocument, PathBuf, Option<Vec<String>>)> {
    let plan = BuildPlan::new(args)?;
    let spec = &plan.plan.spec;
    let run_by = emulator(spec);
    if run_by.is_none() && Processor::host() != Some(spec.processor) {
        bail!("no qemu-{} to run it with: `apt-get install qemu-user`", spec.processor);
    }
    let document = build::make(&plan)?.ok_or(BenchError::Interrupted)?;
    let program = document.programs.iter().find(|program| program.name == name);
    let Some(program) = program else { bail!("the build made no {name}") };
    if !program.confirmed {
        let unmet = program.facts.iter().filter(|fact| !fact.met);
        let unmet: Vec<String> =
            unmet.map(|fact| format!("{}: asked for {}, found {}", fact.what, fact.asked, fact.found)).collect();
        bail!("the result is not what was asked for ({})", unmet.join("; "));
    }
    let path = PathBuf::from(OsStr::from_bytes(&program.path.0));
    Ok((document, path, run_by))
}

/// `static PIE, musl 1.2.5, mimalloc, overlay; by zig 0.15.2`.
pub fn describe(document: &BuildDocument) -> String {
    let facts = document.programs.iter().flat_map(|program| &program.facts).map(|fact| fact.found.as_str());
    format!("{}; by {}", facts.collect::<Vec<_>>().join(", "), document.toolchain)
}

/// The sources, written where a later run finds what it compiled before.
fn sources() -> anyhow::Result<PathBuf> {
    let folder = cache()?;
    for file in Suite::ALL.into_iter().flat_map(|suite| program(suite).files) {
        let path = folder.join(file.path);
        if fs::read_to_string(&path).is_ok_and(|text| text == file.text) {
            continue;
        }
        let parent = path.parent().unwrap_or(&folder);
        let written = fs::create_dir_all(parent).and_then(|()| {
            // Another run may be compiling: it sees the old file or the new one.
            let mut temporary = tempfile::NamedTempFile::new_in(parent)?;
            std::io::Write::write_all(&mut temporary, file.text.as_bytes())?;
            temporary.persist(&path).map_err(|error| error.error).map(drop)
        });
        written.with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(folder)
}

/// Our folder in the cache: this version's sources.
pub fn cache() -> anyhow::Result<PathBuf> {
    let usable = |place: &PathBuf| fs::create_dir_all(place).is_ok();
    let cache = Store::usual_places().into_iter().find(usable).context("no folder for a cache: set XDG_CACHE_HOME")?;
    Ok(cache.join("suites").join(env!("CARGO_PKG_VERSION")))
}
