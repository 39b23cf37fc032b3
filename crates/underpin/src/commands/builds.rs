//! The builds of `bench --build`: one project, built in several ways before anything is measured.

use crate::cli::{BenchArgs, BuildArgs};
use crate::commands::build;
use crate::plan::BuildPlan;
use crate::variants::Build;
use anyhow::{Context, bail};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use underpin_bench::{BenchError, CommandLine, Shell};
use underpin_build::SpecText;
use underpin_report::document::build::BuildProgram;

/// The builds, removed when this is dropped.
#[derive(Debug, Default)]
pub struct Builds {
    /// In the order given.
    pub all: Vec<Build>,
    _folder: Option<TempDir>,
}

impl Builds {
    /// Makes each build; none if `--build` was not given.
    ///
    /// # Errors
    /// If one cannot be read or built, or the result does not match the request.
    pub fn make(args: &BenchArgs) -> anyhow::Result<Builds> {
        let Some(list) = args.build.as_ref().filter(|_| args.commits.is_empty()) else { return Ok(Builds::default()) };
        if !(args.bind.is_empty() && args.malloc.is_empty()) {
            bail!("--build with --bind or --malloc: name the allocator in the build, as in musl+jemalloc");
        }
        if args.around.shell.as_deref().is_some_and(|shell| shell != "none") {
            bail!("--build with -S: it replaces a command's program, which a shell would look for itself");
        }
        let texts = list.split(',').map(|text| Ok((text.trim(), spec(text.trim())?)));
        let texts: Vec<(&str, SpecText)> = texts.collect::<anyhow::Result<_>>()?;
        let project = args.project.clone().unwrap_or_else(|| PathBuf::from("."));
        let wanted: Vec<String> = programs(args)?.into_iter().collect();
        let folder = tempfile::Builder::new().prefix("underpin-builds-").tempdir()?;
        // As /proc/PID/exe will show it.
        let place = folder.path().canonicalize()?;
        let mut builds = Builds { all: Vec::new(), _folder: Some(folder) };
        for (index, (text, spec)) in texts.into_iter().enumerate() {
            // With a trailing slash it is a folder, however many programs go there.
            let output = place.join(index.to_string()).join("");
            let planned = BuildPlan::new(BuildArgs::of(project.clone(), spec, wanted.clone(), output));
            let document = planned.and_then(|plan| build::make(&plan)).with_context(|| format!("--build {text}"))?;
            let programs = document.ok_or(BenchError::Interrupted)?.programs;
            if let Some(program) = programs.iter().find(|program| !program.confirmed) {
                bail!("--build {text}: {}", unconfirmed(program));
            }
            let built = |program: BuildProgram| (program.name, PathBuf::from(OsStr::from_bytes(&program.path.0)));
            builds.all.push(Build { text: text.to_owned(), programs: programs.into_iter().map(built).collect() });
        }
        Ok(builds)
    }
}

fn spec(text: &str) -> anyhow::Result<SpecText> {
    let hint = "write builds with commas between them, as in glibc,musl,musl+jemalloc (a command to build with goes with --commits)";
    text.parse().with_context(|| format!("--build {text}: {hint}"))
}

/// The names of the programs that the commands run. Empty if a name comes from a parameter: then all programs are
/// meant.
fn programs(args: &BenchArgs) -> anyhow::Result<BTreeSet<String>> {
    let texts = args.commands.iter().chain(&args.serve.serve);
    let mut words =
        texts.map(|text| Ok(first(&CommandLine::parse(text, &Shell::None)?))).collect::<anyhow::Result<Vec<_>>>()?;
    words.extend(args.words.first().map(|word| word.to_string_lossy().into_owned()));
    let names = words.iter().filter_map(|word| Path::new(word).file_name()?.to_str().map(str::to_owned));
    let names: BTreeSet<String> = names.collect();
    Ok(if names.iter().any(|name| name.contains('{')) { BTreeSet::new() } else { names })
}

fn first(command: &CommandLine) -> String {
    command.words().first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default()
}

/// How a file differs from the request.
pub(super) fn unconfirmed(program: &BuildProgram) -> String {
    let unmet = program.facts.iter().filter(|fact| !fact.met);
    let unmet = unmet.map(|fact| format!("{}: asked for {}, found {}", fact.what, fact.asked, fact.found));
    format!("{} is not what was asked for ({})", program.name, unmet.collect::<Vec<_>>().join("; "))
}
