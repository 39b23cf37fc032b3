//! The programs of the suites, built before anything is measured.

use crate::cli::{BuildArgs, CompilerName, GoalName};
use crate::commands::build;
use crate::commands::builds::unconfirmed;
use crate::plan::{self, BuildPlan, SuitePlan};
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
use underpin_report::BuildDocument;
use underpin_suite::sources::{GUEST, SourceFile, program};
use underpin_suite::{Build, Suite};

/// The programs, removed when this is dropped.
pub struct Programs {
    /// The builds as they turned out; the first is the reference.
    pub builds: Vec<Build>,
    made: BTreeMap<(Suite, usize), Result<Made, String>>,
    emulators: Vec<Vec<String>>,
    folder: TempDir,
}

/// The program of a suite.
struct Made {
    path: PathBuf,
    /// The variable in which its rows look for a second program, and that program.
    started: Option<(&'static str, PathBuf)>,
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
        let kind = Kind { target: plan.target, goal: plan.goal, ..Kind::default() };
        let (mut made, mut builds, mut emulators) = (BTreeMap::new(), Vec::new(), Vec::new());
        for (index, (text, spec)) in plan.builds.iter().enumerate() {
            let (mut description, mut emulator) = (None, None);
            for &suite in &suites {
                progress.say(format!("building {suite} for {text}"));
                let to = place.join(index.to_string()).join(suite.name());
                let result = match of_suite(&kind, spec, suite, &sources, &to) {
                    Ok((one, document, run_by)) => {
                        emulator = run_by;
                        // A package in Rust may be built by another toolchain; it is described as the C programs are.
                        if description.is_none() || suite != Suite::Alloc {
                            description = Some(describe(&document));
                        }
                        Ok(one)
                    }
                    Err(error) if error.is::<BenchError>() => return Err(error),
                    Err(error) => Err(format!("not built: {error:#}")),
                };
                made.insert((suite, index), result);
            }
            // Without suites of ours it is the originals that are described.
            let described = if suites.is_empty() { Some(String::new()) } else { description };
            let Some(description) = described else {
                let reason = suites.iter().find_map(|suite| made.get(&(*suite, index))?.as_ref().err());
                bail!("--build {text}: {}", reason.map_or("", String::as_str));
            };
            let shown = emulator.as_ref().map(|words: &Vec<String>| words.join(" "));
            emulators.push(emulator.unwrap_or_default());
            builds.push(Build { name: text.clone(), description, emulator: shown });
        }
        progress.clear();
        Ok(Programs { builds, made, emulators, folder })
    }

    /// The program of a suite in a build, or why there is none.
    pub fn program(&self, suite: Suite, build: usize) -> Result<&Path, &str> {
        match self.made.get(&(suite, build)) {
            Some(Ok(made)) => Ok(&made.path),
            Some(Err(reason)) => Err(reason),
            None => Err("not built"),
        }
    }

    /// The words before a build's programs: those of an emulator, or none.
    pub fn emulator(&self, build: usize) -> &[String] {
        self.emulators.get(build).map_or(&[], Vec::as_slice)
    }

    /// Variables of a suite's rows: the program that they start, and what runs it.
    pub fn variables(&self, suite: Suite, build: usize) -> Vec<(OsString, Option<OsString>)> {
        let made = self.made.get(&(suite, build)).and_then(|made| made.as_ref().ok());
        let started = made.and_then(|made| made.started.as_ref());
        let started = started.map(|(name, path)| (OsString::from(name), Some(path.into())));
        let emulator = self.emulator(build).first().map(|word| (OsString::from("SUITE_EMULATOR"), Some(word.into())));
        started.into_iter().chain(emulator).collect()
    }

    /// Where the files are that a build's rows report into.
    pub fn report_of(&self, build: usize) -> PathBuf {
        self.folder.path().join(format!("{build}.report"))
    }
}

/// Builds what a suite needs, with what is known of its program.
fn of_suite(
    kind: &Kind,
    spec: &SpecText,
    suite: Suite,
    sources: &Path,
    to: &Path,
) -> anyhow::Result<(Made, BuildDocument, Option<Vec<String>>)> {
    let source = program(suite);
    let args = |project: &str, folder: &str| kind.args(sources.join(project), *spec, to.join(folder).join(""));
    let words = source.words.iter().map(|word| (*word).to_owned()).collect();
    let built = |args, name| if kind.in_guest { compiled(&BuildPlan::new(args)?, name) } else { built(args, name) };
    let (document, path, run_by) = built(BuildArgs { words, ..args(source.project, "program") }, source.name)?;
    let started = match source.started {
        None => None,
        Some((variable, project)) => {
            let name = Path::new(project).file_stem().and_then(OsStr::to_str).unwrap_or_default();
            Some((variable, built(args(project, "started"), name)?.1))
        }
    };
    Ok((Made { path, started }, document, run_by))
}

/// For what programs are built.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kind {
    /// The processor, if not this machine's.
    pub target: Option<Processor>,
    /// What they are made for.
    pub goal: GoalName,
    /// The compiler, if one was named.
    pub compiler: Option<CompilerName>,
    /// They run in a guest, and nothing here has to run them.
    pub in_guest: bool,
}

impl Kind {
    fn args(&self, project: PathBuf, spec: SpecText, output: PathBuf) -> BuildArgs {
        let usual = BuildArgs::of(project, spec, Vec::new(), output);
        BuildArgs { target: self.target, goal: self.goal, cc: self.compiler, ..usual }
    }
}

/// A suite's program in a guest: its name, and the variable with the name of a second one that it starts.
pub type Started = (String, Option<(&'static str, String)>);

/// The programs of one build for guests.
pub struct ForGuest {
    /// The files, each of another name.
    pub files: Vec<PathBuf>,
    /// For each suite that was built, its program.
    pub programs: BTreeMap<Suite, Started>,
    /// Why a suite was not built.
    pub failed: BTreeMap<Suite, String>,
    /// What the files are, in a few words.
    pub description: String,
}

/// Builds the programs of suites for guests, into a folder.
///
/// # Errors
/// If none can be built, or the user interrupted it.
pub fn for_guest(kind: &Kind, text: &str, spec: &SpecText, suites: &[Suite], to: &Path) -> anyhow::Result<ForGuest> {
    let sources = sources()?;
    let mut all =
        ForGuest { files: Vec::new(), programs: BTreeMap::new(), failed: BTreeMap::new(), description: String::new() };
    for &suite in suites {
        match of_suite(kind, spec, suite, &sources, &to.join(suite.name())) {
            Ok((made, document, _)) => {
                if all.description.is_empty() || suite != Suite::Alloc {
                    all.description = describe(&document);
                }
                let mut named = |path: &Path, name: String| -> anyhow::Result<String> {
                    let file = to.join(&name);
                    fs::rename(path, &file).with_context(|| format!("cannot write {}", file.display()))?;
                    all.files.push(file);
                    Ok(name)
                };
                let name = named(&made.path, format!("suite-{suite}"))?;
                let started = match made.started {
                    None => None,
                    Some((variable, path)) => Some((variable, named(&path, format!("suite-{suite}-started"))?)),
                };
                all.programs.insert(suite, (name, started));
            }
            Err(error) if error.is::<BenchError>() => return Err(error),
            Err(error) => drop(all.failed.insert(suite, format!("not built: {error:#}"))),
        }
    }
    if let (true, Some(reason)) = (all.programs.is_empty(), all.failed.values().next()) {
        bail!("--libc {text}: {reason}");
    }
    Ok(all)
}

/// Builds one of the files that every guest has, under a name of its own.
///
/// # Errors
/// If it cannot be built.
pub fn guest_file(kind: &Kind, spec: &SpecText, source: &SourceFile, to: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let plan = BuildPlan::new(BuildArgs {
        words: vec!["-O2".to_owned()],
        ..kind.args(sources()?.join(source.path), *spec, to.join(name).join(""))
    })?;
    let stem = Path::new(source.path).file_stem().and_then(OsStr::to_str).unwrap_or_default();
    let (_, path, _) = compiled(&plan, stem)?;
    let file = to.join(format!("underpin-{name}"));
    fs::rename(&path, &file).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}

/// What was built, where it is, and what runs it if this processor does not.
pub fn built(args: BuildArgs, name: &str) -> anyhow::Result<(BuildDocument, PathBuf, Option<Vec<String>>)> {
    let plan = BuildPlan::new(args)?;
    let spec = &plan.plan.spec;
    if emulator(spec).is_none() && Processor::host() != Some(spec.processor) {
        bail!("no qemu-{} to run it with: `apt-get install qemu-user`", spec.processor);
    }
    compiled(&plan, name)
}

/// The same, wherever it can run.
fn compiled(plan: &BuildPlan, name: &str) -> anyhow::Result<(BuildDocument, PathBuf, Option<Vec<String>>)> {
    let run_by = emulator(&plan.plan.spec);
    let document = build::make(plan)?.ok_or(BenchError::Interrupted)?;
    let program = document.programs.iter().find(|program| program.name == name);
    let Some(program) = program else { bail!("the build made no {name}") };
    if !program.confirmed {
        bail!(unconfirmed(program));
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
    for file in Suite::ALL.into_iter().flat_map(|suite| program(suite).files).chain(&GUEST) {
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
    Ok(plan::cache()?.join("suites").join(env!("CARGO_PKG_VERSION")))
}
