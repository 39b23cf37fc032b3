//! The plan of `underpin storm`.

use super::{Format, Target, survey_options};
use crate::cli::{ModelledBinding, ParameterArgs, StormArgs, UntilPhase};
use anyhow::{Context, bail};
use bstr::BString;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use underpin_resolve::storm::{FileSystem, FileSystemTable, Mountpoints};
use underpin_trace::TraceOptions;

/// Which programs start, and where.
#[derive(Debug)]
pub struct StormPlan {
    /// The program, and those compared with it.
    pub programs: Vec<PathBuf>,
    /// Bindings of the first program to predict.
    pub after: Vec<ModelledBinding>,
    /// The run that the user asked for, if any.
    pub run: Option<TraceOptions>,
    /// How they are resolved.
    pub target: Target,
    /// Nodes of the job.
    pub nodes: u32,
    /// Processes on each.
    pub per_node: u32,
    /// Processors of each.
    pub cores: u32,
    /// Processor time of one start, if given.
    pub processor: Option<Duration>,
    /// The file system, with the flags applied.
    pub file_system: FileSystem,
    /// The table it came from.
    pub table: FileSystemTable,
    /// Where it is mounted.
    pub scope: Mountpoints,
    /// The mount points as shown to the user.
    pub mounted_at: Vec<BString>,
    /// Flags that replaced a parameter.
    pub given: Vec<String>,
    /// Output files and their formats.
    pub exports: Vec<(Format, PathBuf)>,
    /// JSON instead of a screen.
    pub json: bool,
    /// How detailed the screen is.
    pub verbosity: u8,
}

impl StormPlan {
    /// `asked_to_run`: the command line has a `--`, even with nothing after it.
    ///
    /// # Errors
    /// If a program cannot be read, a file system is not known, or a figure makes no sense.
    pub fn new(args: StormArgs, asked_to_run: bool) -> anyhow::Result<StormPlan> {
        let target = Target::new(&args.target)?;
        let mut programs = vec![target.program(&args.program.unwrap_or_default(), "storm")?];
        for other in &args.compare {
            programs.push(target.program(other, "storm --compare")?);
        }
        let table = table(args.fs_file.as_deref())?;
        let Some(mut file_system) = table.get(&args.fs).cloned() else {
            let names: Vec<&str> = table.systems.iter().map(|system| system.name.as_str()).collect();
            bail!("--fs {}: not known; there are {}", args.fs, names.join(", "));
        };
        let given = apply(&mut file_system, &args.parameters)?;
        let mounted_at = args.on.iter().map(|folder| mountpoint(folder, &target)).collect::<Result<Vec<_>, _>>()?;
        let (scope, mounted_at) = if mounted_at.is_empty() {
            (Mountpoints::everything(), vec!["/".into()])
        } else {
            (Mountpoints::at(mounted_at.iter().map(|path| path.as_ref())), mounted_at)
        };
        let run = if asked_to_run { Some(run(&programs, &target, args.arguments)?) } else { None };
        let exports = [(Format::Json, args.exports.export_json), (Format::Markdown, args.exports.export_markdown)];
        Ok(StormPlan {
            programs,
            after: after(args.after),
            run,
            target,
            nodes: args.nodes,
            per_node: args.ppn,
            cores: args.parameters.cores.unwrap_or(args.ppn),
            processor: args.parameters.cpu_time,
            file_system,
            table,
            scope,
            mounted_at,
            given,
            exports: exports.into_iter().filter_map(|(format, path)| Some((format, path?))).collect(),
            json: args.display.json,
            verbosity: args.display.verbose,
        })
    }
}

/// The first program, watched to its end.
fn run(programs: &[PathBuf], target: &Target, arguments: Vec<OsString>) -> anyhow::Result<TraceOptions> {
    if target.sysroot.is_some() {
        bail!("a program of another root is not run: leave out --sysroot or `-- ARGS`");
    }
    let program = programs.first().context("no program to run")?;
    // A bare name would be searched for in PATH, but the file here is meant.
    let program = program.canonicalize().with_context(|| program.display().to_string())?;
    Ok(survey_options(program.into_os_string(), arguments, UntilPhase::Exit)?)
}

fn after(named: Vec<ModelledBinding>) -> Vec<ModelledBinding> {
    let mut after = if named.is_empty() { vec![ModelledBinding::Bind, ModelledBinding::Flatten] } else { named };
    after.retain(|binding| *binding != ModelledBinding::None);
    after
}

/// The user's own table, which takes precedence over the compiled-in one.
fn table(file: Option<&Path>) -> anyhow::Result<FileSystemTable> {
    let mut table = FileSystemTable::embedded().clone();
    if let Some(file) = file {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let own = FileSystemTable::parse(&text).with_context(|| file.display().to_string())?;
        table.systems.retain(|system| own.get(&system.name).is_none());
        table.systems.splice(0..0, own.systems);
        table.sources.extend(own.sources);
    }
    Ok(table)
}

/// Replaces parameters, and their uncertainty, by flags.
fn apply(fs: &mut FileSystem, flags: &ParameterArgs) -> anyhow::Result<Vec<String>> {
    let mut given = Vec::new();
    let mut note = |flag: &str| given.push(format!("--{flag}"));
    let (client, server) = (&mut fs.client, &mut fs.server);
    if let Some(latency) = flags.latency {
        (server.latency, server.latency_doubt) = (latency, 1.0);
        note("latency");
    }
    if let Some(rate) = flags.rate {
        (server.rate, server.rate_doubt) = (limit(rate, "--rate")?, 1.0);
        note("rate");
    }
    if let Some(rate) = flags.bandwidth {
        (server.bandwidth, server.bandwidth_doubt) = (limit(rate * 1_048_576.0, "--bandwidth")?, 1.0);
        note("bandwidth");
    }
    if let Some(size) = flags.read_size {
        server.read_size = size * 1024;
        note("read-size");
    }
    if let Some(share) = flags.touched {
        if !(0.0..=1.0).contains(&share) {
            bail!("--touched {share}: a share lies between 0 and 1");
        }
        fs.touched = share;
        note("touched");
    }
    for (memory, place, flag) in [
        (flags.entry_cache, &mut client.found, "entry-cache"),
        (flags.negative_cache, &mut client.absent, "negative-cache"),
        (flags.attribute_cache, &mut client.attributes, "attribute-cache"),
    ] {
        if let Some(memory) = memory {
            *place = memory;
            note(flag);
        }
    }
    if let Some(shared) = flags.clients_share_page_cache {
        client.pages = shared;
        note("clients-share-page-cache");
    }
    if let Some(time) = flags.cpu_per_operation {
        server.client_processor = time;
        note("cpu-per-operation");
    }
    if let Some(time) = flags.wait_per_operation {
        server.client_wait = time;
        note("wait-per-operation");
    }
    Ok(given)
}

fn limit(rate: f64, flag: &str) -> anyhow::Result<Option<f64>> {
    if !rate.is_finite() || rate < 0.0 {
        bail!("{flag}: a figure of at least 0, 0 for no limit");
    }
    Ok((rate > 0.0).then_some(rate))
}

/// A mount point as the kernel sees it; in another root, as the user wrote it.
fn mountpoint(folder: &Path, target: &Target) -> anyhow::Result<BString> {
    if target.sysroot.is_some() {
        return Ok(folder.as_os_str().as_bytes().into());
    }
    let path = folder.canonicalize().with_context(|| format!("--on {}", folder.display()))?;
    Ok(path.into_os_string().into_vec().into())
}
