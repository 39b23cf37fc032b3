//! Asking the real loader and the model the same question.
#![allow(dead_code, reason = "each test file uses its own part")]

pub mod release;
pub mod spack;
pub mod strace;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_resolve::{Closure, Depth, EdgeKind, Environment, HostRoot, LoaderKind, Outcome, ResolveError, Resolver};

/// The answer of either side: the objects in order, and the names that were not found.
#[derive(Debug, PartialEq, Eq)]
pub struct Listing {
    pub objects: Vec<PathBuf>,
    pub missing: Vec<String>,
    /// The loader stopped with an error.
    pub stopped: bool,
}

/// The model's answer.
pub fn modelled(path: &Path, environment: Environment) -> Result<Closure, ResolveError> {
    let root = HostRoot::new();
    Resolver::new(&root, environment).with_sequence(true).resolve(path.as_os_str().as_bytes().into(), Depth::Load)
}

fn is_loaded(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Loaded { .. })
}

pub fn listing(closure: &Closure) -> Listing {
    let mut missing: Vec<String> = closure
        .edges
        .iter()
        // A missing auxiliary filtee does no harm, but the loader's trace lists it.
        .filter(|edge| {
            edge.outcome == Outcome::Missing || edge.kind == EdgeKind::Auxiliary && !is_loaded(&edge.outcome)
        })
        .map(|edge| edge.name.to_string())
        .collect();
    missing.sort();
    Listing {
        objects: closure.objects[1..].iter().map(|object| OsStr::from_bytes(&object.path).into()).collect(),
        missing,
        stopped: closure.edges.iter().any(|edge| matches!(edge.outcome, Outcome::Fatal { .. })),
    }
}

/// The real loader's answer. A program is executed by its canonical path, so that `$ORIGIN` is the real one; a library
/// is given to the loader; musl's loader is asked with `--list`.
pub fn judged(path: &Path, closure: &Closure, variables: &[(&str, &str)]) -> Listing {
    let canonical = path.canonicalize().expect("a fixture's real path");
    let loader = Path::new(OsStr::from_bytes(&closure.loader.path));
    let musl = closure.loader.kind == LoaderKind::Musl;
    // A set-ID program is in secure-execution mode, where the kernel and the loader refuse to be asked.
    let askable = canonical.metadata().is_ok_and(|metadata| {
        let mode = metadata.permissions().mode();
        mode & 0o111 != 0 && mode & 0o6000 == 0
    });
    let mut command = if musl {
        with(Command::new(loader), &["--list"], &canonical)
    } else if closure.loader.assumed {
        with(Command::new(loader), &[], path)
    } else if askable {
        Command::new(&canonical)
    } else {
        with(Command::new(loader), &[], &canonical)
    };
    if !musl {
        command.env("LD_TRACE_LOADED_OBJECTS", "1");
    }
    command.env_remove("LD_LIBRARY_PATH").env_remove("LD_PRELOAD").env("LC_ALL", "C").envs(variables.iter().copied());
    let output = command.output().expect("the loader starts");
    let text = String::from_utf8_lossy(&output.stdout);
    // musl prints itself first, whether anything needs it or not.
    let rest = if musl { text.split_once('\n').map_or("", |(_, rest)| rest) } else { &text };
    let mut result = read_trace(rest);
    let errors = String::from_utf8_lossy(&output.stderr);
    if musl {
        // It prints one line for each reserved name.
        let mut seen = std::collections::HashSet::new();
        result.objects.retain(|object| seen.insert(object.clone()));
        let names =
            errors.lines().filter_map(|line| line.strip_prefix("Error loading shared library ")?.split(':').next());
        result.missing.extend(names.map(str::to_owned));
    }
    result.missing.sort();
    result.stopped = !musl && !output.status.success() && errors.contains("error while loading");
    result
}

/// The lines of a loader's trace: `NAME => PATH (0xADDRESS)`, `PATH (0xADDRESS)` or `NAME => not found`.
pub fn read_trace(text: &str) -> Listing {
    let mut result = Listing { objects: Vec::new(), missing: Vec::new(), stopped: false };
    for line in text.lines().map(str::trim) {
        let body = line.rsplit_once("(0x").map_or(line, |(body, _)| body.trim());
        // The kernel's vdso is not a file; under qemu it has no name at all.
        if body.is_empty() || body.starts_with("linux-") || body == "statically linked" {
            continue;
        }
        match body.split_once(" => ") {
            Some((name, "not found")) => result.missing.push(name.to_owned()),
            Some((_, path)) => result.objects.push(path.into()),
            None => result.objects.push(body.into()),
        }
    }
    result.missing.sort();
    result
}

fn with(mut command: Command, arguments: &[&str], path: &Path) -> Command {
    command.args(arguments).arg(path);
    command
}
