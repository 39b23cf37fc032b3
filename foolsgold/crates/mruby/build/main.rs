//! Compiles mruby from the sources that the crate `mruby3-sys` carries: no Ruby, rake, bison or bindgen is needed.
//!
//! A compiler of Ruby (`mrbc`) is built for this machine first; it turns mruby's own Ruby files into C. Then the names
//! that all of it uses are collected (mruby numbers them ahead), and everything is compiled for the target, with our own
//! C beside it (native/). `MRUBY_SOURCES` names another source tree of the same version; `MRUBY_SANITIZE=address` builds
//! with AddressSanitizer and gives each block of memory its own allocation.
#![allow(clippy::print_stdout, reason = "a build script talks to cargo on standard output")]

mod gems;
mod library;
mod mrbc;
mod presym;
mod reach;
mod repairs;
mod sources;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

fn main() {
    for path in ["build", "native"] {
        println!("cargo::rerun-if-changed={path}");
    }
    if let Err(failure) = build() {
        println!("cargo::error=mruby: {}", failure.0.replace('\n', "; "));
    }
}

fn build() -> Result<(), Failure> {
    let place = Place::new()?;
    let gems = gems::all(&place)?;
    let compiler = mrbc::build(&place)?;
    let generated = library::generate(&place, &gems, &compiler)?;
    library::compile(&place, &gems, &generated)
}

/// Folders of this build.
pub struct Place {
    /// The source tree of mruby.
    pub mruby: PathBuf,
    /// Our own C.
    pub native: PathBuf,
    /// Where everything goes.
    pub out: PathBuf,
    /// What the sanitizer's switch says.
    pub sanitize: bool,
}

impl Place {
    fn new() -> Result<Place, Failure> {
        println!("cargo::rerun-if-env-changed=MRUBY_SANITIZE");
        println!("cargo::rustc-check-cfg=cfg(mruby_sanitize)");
        let sanitize = match std::env::var("MRUBY_SANITIZE").as_deref() {
            Err(_) | Ok("") => false,
            Ok("address") => true,
            Ok(other) => return Err(Failure(format!("MRUBY_SANITIZE={other}: only address is known"))),
        };
        let manifest = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
        let mruby = sources::locate(&manifest)?;
        Ok(Place { mruby, native: manifest.join("native"), out: PathBuf::from(variable("OUT_DIR")?), sanitize })
    }

    /// Writes a generated file; one that would not change keeps its time.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, Failure> {
        let path = self.out.join(name);
        if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
            return Ok(path);
        }
        let folder = path.parent().unwrap_or(&self.out);
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
        written.map_err(|error| Failure(format!("{}: {error}", path.display())))?;
        Ok(path)
    }
}

/// Why it could not be built, in words for the user.
#[derive(Debug)]
pub struct Failure(pub String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<cc::Error> for Failure {
    fn from(error: cc::Error) -> Failure {
        Failure(error.to_string())
    }
}

/// A variable that cargo sets for build scripts.
pub fn variable(name: &str) -> Result<String, Failure> {
    std::env::var(name).map_err(|_| Failure(format!("cargo did not set {name}")))
}

/// The files of a folder with an ending, sorted.
pub fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let matches = |path: &PathBuf| path.extension().is_some_and(|found| found == ending);
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(matches).collect();
    found.sort();
    found
}

/// Runs a tool and gives its output; its last words are the reason where it fails.
pub fn run(command: &mut Command) -> Result<Vec<u8>, Failure> {
    const LAST_LINES: usize = 12;
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| Failure(format!("cannot run {name}: {error}")))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines: Vec<&str> = said.lines().collect();
    let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
    Err(Failure(format!("{name} failed ({}):\n{last}", output.status)))
}

/// Does some work for each item, several at a time, and keeps their order.
pub fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, Failure> + Sync,
) -> Result<Vec<R>, Failure> {
    let jobs = std::env::var("NUM_JOBS").ok().and_then(|jobs| jobs.parse().ok()).unwrap_or(1_usize);
    let next = Mutex::new(items.iter().enumerate());
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, items.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let taken = next.lock().ok().and_then(|mut items| items.next());
                    let Some((index, item)) = taken else { return };
                    let result = work(item);
                    if let Ok(mut done) = done.lock() {
                        done.push((index, result));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().map_err(|_| Failure("a build thread panicked".to_owned()))?;
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
