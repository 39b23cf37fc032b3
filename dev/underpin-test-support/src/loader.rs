//! The real loader as judge: which objects it maps for a program, in its own order.
//!
//! glibc: the program is executed by its canonical path with `LD_TRACE_LOADED_OBJECTS=1`, so that `$ORIGIN`, the
//! kernel's choice of loader and the loader's own rules are the real ones; `ldd` and `ld.so --list` differ in known
//! cases. musl does not know that variable and would run the program, so its loader is called with `--list`. readelf
//! tells which of the two it is; a file without PT_INTERP is refused, since it would simply run.

use crate::Output;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One line of a loader's trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traced {
    /// The name asked for, if the loader prints one.
    pub name: String,
    /// Where it was found; `None` for "not found".
    pub path: Option<PathBuf>,
}

/// What the loader named in the program's PT_INTERP maps, in its order. The kernel's vdso is left out; the loader
/// itself is included if the loader lists it.
///
/// # Errors
/// The loader's own message, if it stops.
///
/// # Panics
/// If the program cannot be started at all.
pub fn traced_objects(program: &Path, env: &[(&str, &str)]) -> Result<Vec<Traced>, String> {
    let program = program.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let mut command = judge(&program);
    command.env_remove("LD_LIBRARY_PATH").env_remove("LD_PRELOAD").env("LC_ALL", "C").envs(env.iter().copied());
    let output = Output::of(&mut command);
    let objects: Vec<Traced> = output.stdout.lines().filter_map(line).collect();
    if output.code == Some(0) || !objects.is_empty() { Ok(objects) } else { Err(output.stderr) }
}

/// The command that makes the loader of `program` list what it maps, and stop.
fn judge(program: &Path) -> Command {
    let headers = Output::of(Command::new("readelf").args(["-lW"]).arg(program).env("LC_ALL", "C")).stdout;
    let interpreter = headers
        .lines()
        .find_map(|line| line.trim().strip_prefix("[Requesting program interpreter: ")?.strip_suffix(']'))
        .unwrap_or_else(|| panic!("{} names no interpreter: it would run", program.display()));
    if interpreter.contains("/ld-musl-") {
        let mut command = Command::new(interpreter);
        command.arg("--list").arg(program);
        command
    } else {
        let mut command = Command::new(program);
        command.env("LD_TRACE_LOADED_OBJECTS", "1");
        command
    }
}

/// Reads `name => path (0xaddress)`, `path (0xaddress)` or `name => not found`.
fn line(line: &str) -> Option<Traced> {
    let text = line.trim();
    let body = text.rsplit_once(" (0x").map_or(text, |(body, _)| body);
    match body.split_once(" => ") {
        Some((name, "not found")) => Some(Traced { name: name.to_owned(), path: None }),
        Some((name, path)) => Some(Traced { name: name.to_owned(), path: Some(path.into()) }),
        None if body.starts_with("linux-vdso") || body.starts_with("linux-gate") || body == "statically linked" => None,
        None if body.contains('/') => Some(Traced { name: body.to_owned(), path: Some(body.into()) }),
        None => None,
    }
}
