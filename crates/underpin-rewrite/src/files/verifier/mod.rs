//! Asks the real loader what it would load for a file, without running the file.
//!
//! A program is executed by its own path with `LD_TRACE_LOADED_OBJECTS=1`, so that the kernel's choice of loader and
//! `$ORIGIN` are the real ones; a library is given to the loader under the same variable. musl's loader does not know
//! the variable and gets every file with `--list`. An interpreter is only started if its bytes show that it lists: with
//! any other, starting the file would run it. Static files, files of other machines and files that change identity are
//! never started at all.

mod bindings;
mod listing;

pub use bindings::Bindings;

use super::attributes;
use bstr::ByteSlice;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use underpin_elf::Machine;
use underpin_resolve::{
    Closure, Depth, Edge, EdgeKind, Environment, HostRoot, LoaderKind, Outcome, ResolveError, Resolver,
};

/// How long a loader may take by default.
pub const TIME_LIMIT: Duration = Duration::from_secs(30);
/// A larger file is not taken for a loader.
const LOADER_LIMIT: u64 = 64 << 20;

/// One object of a loader's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedObject {
    /// The requested name.
    pub name: String,
    /// The path by which the loader opened it.
    pub path: PathBuf,
    /// The same, symbolic links resolved.
    pub real_path: PathBuf,
    /// `st_dev`.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
}

impl ListedObject {
    /// Whether both are one file. A file that is replaced between two questions keeps its path; a file with two names
    /// keeps its inode.
    #[must_use]
    pub fn same_file(&self, other: &ListedObject) -> bool {
        self.real_path == other.real_path || self.inode != 0 && (self.device, self.inode) == (other.device, other.inode)
    }
}

/// A loader's answer about a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// What it maps, in its order; without the file itself and without the kernel's vdso.
    pub objects: Vec<ListedObject>,
    /// Names that it does not find.
    pub missing: Vec<String>,
    /// Every other complaint (versions, damaged files), one line each.
    pub complaints: Vec<String>,
    /// It gave up with an error and listed nothing.
    pub stopped: bool,
}

/// Why no loader is asked about a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAsked {
    /// Starting it would run it.
    #[error("it is static: no loader is involved")]
    Static,
    /// The interpreter is not known to be a glibc or musl loader, so that starting the file could run it.
    #[error("its interpreter {interpreter} is not known as a loader that lists without running")]
    UnknownLoader {
        /// PT_INTERP.
        interpreter: String,
    },
    /// The interpreter does not exist.
    #[error("its interpreter {interpreter} is not there")]
    NoLoader {
        /// PT_INTERP.
        interpreter: String,
    },
    /// A file for another machine, which this one cannot start.
    #[error("it is for {machine}, which this machine does not run")]
    ForeignMachine {
        /// Its machine.
        machine: String,
    },
    /// Set-user-ID, set-group-ID or with file capabilities: the loader lists nothing in secure-execution mode.
    #[error("it changes identity when it is started, and the loader lists nothing then")]
    SetId,
    /// It could not be started, or took too long.
    #[error("{reason}")]
    NoAnswer {
        /// Why.
        reason: String,
    },
    /// Not a file that a loader accepts.
    #[error("{reason}")]
    NotLoadable {
        /// Why.
        reason: String,
    },
}

/// The outcome of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opinion {
    /// The loader's list.
    Heard(Listing),
    /// No loader was asked: only the model's answer is known.
    NotAsked(NotAsked),
}

/// Asks loaders, all in the same environment.
#[derive(Clone, Debug)]
pub struct Verifier {
    environment: Environment,
    time_limit: Duration,
    emulator: Option<PathBuf>,
}

impl Verifier {
    /// A verifier in this environment, with [`TIME_LIMIT`].
    #[must_use]
    pub fn new(environment: Environment) -> Verifier {
        Verifier { environment, time_limit: TIME_LIMIT, emulator: None }
    }

    /// The same with another time limit for one question.
    #[must_use]
    pub fn with_time_limit(self, time_limit: Duration) -> Verifier {
        Verifier { time_limit, ..self }
    }

    /// The same with QEMU's user emulator of another processor, which runs the loaders of files for that; those of other
    /// files run as they do without it.
    #[must_use]
    pub fn emulated(self, emulator: Option<PathBuf>) -> Verifier {
        Verifier { emulator, ..self }
    }

    /// The model's closure of a file, read anew from the disk.
    ///
    /// # Errors
    /// If no loader loads the file.
    pub fn model(&self, path: &Path) -> Result<Closure, ResolveError> {
        let root = HostRoot::new();
        Resolver::new(&root, self.environment.clone()).resolve(path.as_os_str().as_bytes().as_bstr(), Depth::Load)
    }

    /// The loader's list for a file.
    #[must_use]
    pub fn ask(&self, path: &Path) -> Opinion {
        match self.model(path) {
            Ok(closure) => self.ask_about(path, &closure),
            Err(error) => Opinion::NotAsked(NotAsked::NotLoadable { reason: error.to_string() }),
        }
    }

    /// The same, if the closure is already known.
    pub(super) fn ask_about(&self, path: &Path, closure: &Closure) -> Opinion {
        let heard = self.command(path, closure, Question::List).and_then(|mut command| {
            let ended = underpin_sys::answer(&mut command, self.time_limit).map_err(|error| no_answer(&error))?;
            let mut listing = listing::read(closure.loader.kind, &ended.stdout, &ended.stderr);
            listing.stopped = !ended.status.success() && listing.objects.is_empty();
            Ok(listing)
        });
        heard.map_or_else(Opinion::NotAsked, Opinion::Heard)
    }

    /// Which object every symbol reference of a program or library is bound to, for glibc: the loader relocates in
    /// trace mode, where it calls neither initialisers nor the resolvers of indirect functions (glibc elf/rtld.c:
    /// `LD_WARN`, `__RTLD_NOIFUNC`).
    ///
    /// # Errors
    /// If the loader cannot be asked; musl has no such mode.
    pub fn bindings(&self, path: &Path) -> Result<Bindings, NotAsked> {
        let closure = self.model(path).map_err(|error| NotAsked::NotLoadable { reason: error.to_string() })?;
        if closure.loader.kind == LoaderKind::Musl {
            return Err(NotAsked::NoAnswer { reason: "musl's loader does not tell symbol bindings".into() });
        }
        let mut command = self.command(path, &closure, Question::Bindings)?;
        let ended = underpin_sys::answer(&mut command, self.time_limit).map_err(|error| no_answer(&error))?;
        let called = std::path::absolute(path).map_err(|error| no_answer(&error))?;
        Ok(Bindings::read(&called, &ended.stdout, &ended.stderr).renamed(&called, path))
    }

    /// The command that makes the file's loader answer and stop.
    fn command(&self, path: &Path, closure: &Closure, question: Question) -> Result<Command, NotAsked> {
        let machine = closure.objects.first().map_or(Machine(0), |object| object.ident.machine);
        if closure.loader.kind == LoaderKind::None {
            return Err(NotAsked::Static);
        }
        let emulator = self.emulator.as_ref().filter(|_| !runs_here(machine));
        if !runs_here(machine) && emulator.is_none() {
            return Err(NotAsked::ForeignMachine { machine: machine.to_string() });
        }
        let loader = Path::new(OsStr::from_bytes(&closure.loader.path));
        check_loader(loader, closure.loader.kind)?;
        // A name without a slash would be looked for in PATH, and another file be started.
        let path = &std::path::absolute(path).map_err(|error| no_answer(&error))?;
        let started = match (closure.loader.kind, executable(path, closure.loader.assumed)?) {
            (LoaderKind::Glibc, true) => path.as_path(),
            _ => loader,
        };
        let mut command = Command::new(emulator.map_or(started, PathBuf::as_path));
        command.env_clear();
        let mut variables = self.variables();
        if closure.loader.kind == LoaderKind::Glibc {
            variables.push(("LD_TRACE_LOADED_OBJECTS", "1".into()));
        }
        if question == Question::Bindings {
            let asked = [("LD_WARN", "yes"), ("LD_BIND_NOW", "1"), ("LD_DEBUG", "bindings")];
            variables.extend(asked.map(|(name, value)| (name, value.into())));
        }
        match emulator {
            None => {
                command.envs(variables);
            }
            // The emulator is a program with a loader of its own, which must not take these for itself.
            Some(_) => {
                for (name, value) in variables {
                    let mut variable = OsString::from(name);
                    variable.push("=");
                    variable.push(value);
                    command.arg("-E").arg(variable);
                }
                command.arg(started);
            }
        }
        if started == loader {
            // glibc's own `--list` stops at the first name that it does not find, and does not support LD_WARN; musl
            // has nothing else (glibc elf/rtld.c: rtld_mode_list and rtld_mode_trace).
            if closure.loader.kind == LoaderKind::Musl {
                command.arg("--list");
            }
            command.arg(path);
        }
        Ok(command)
    }

    fn variables(&self) -> Vec<(&'static str, OsString)> {
        let environment = &self.environment;
        let known = [
            ("LD_LIBRARY_PATH", &environment.library_path),
            ("LD_PRELOAD", &environment.preload),
            ("GLIBC_TUNABLES", &environment.tunables),
        ];
        let set = known.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        set.map(|(name, value)| (name, OsStr::from_bytes(value).to_owned())).collect()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Question {
    List,
    Bindings,
}

fn no_answer(error: &io::Error) -> NotAsked {
    NotAsked::NoAnswer { reason: format!("the loader gave no answer: {error}") }
}

/// Whether this processor and kernel start files of a machine natively (not through binfmt_misc).
fn runs_here(machine: Machine) -> bool {
    let host = Machine::host();
    host == Some(machine) || host == Some(Machine::X86_64) && machine == Machine::I386
}

/// Whether the question is asked by executing the file; a file that changes identity is not asked about at all.
fn executable(path: &Path, is_library: bool) -> Result<bool, NotAsked> {
    let failed = |error: io::Error| NotAsked::NoAnswer { reason: format!("{}: {error}", path.display()) };
    if is_library {
        return Ok(false);
    }
    let file = File::open(path).map_err(failed)?;
    if attributes::is_privileged(&file).map_err(failed)? {
        return Err(NotAsked::SetId);
    }
    Ok(file.metadata().map_err(failed)?.permissions().mode() & 0o111 != 0)
}

/// Checks that the interpreter's own bytes show a loader that lists and does not run.
fn check_loader(loader: &Path, kind: LoaderKind) -> Result<(), NotAsked> {
    let interpreter = || loader.display().to_string();
    let status = fs::metadata(loader).map_err(|_| NotAsked::NoLoader { interpreter: interpreter() })?;
    let bytes = if status.is_file() && status.size() <= LOADER_LIMIT { fs::read(loader).ok() } else { None };
    let marks: &[&[u8]] = match kind {
        LoaderKind::Glibc => &[b"\0TRACE_LOADED_OBJECTS\0", b"\0GLIBC_PRIVATE\0"],
        LoaderKind::Musl => &[b"musl libc (", b"\0list\0"],
        LoaderKind::None => return Err(NotAsked::Static),
    };
    match bytes {
        Some(bytes) if marks.iter().all(|mark| bytes.find(mark).is_some()) => Ok(()),
        _ => Err(NotAsked::UnknownLoader { interpreter: interpreter() }),
    }
}

impl Listing {
    /// The model's answer, in the form of a loader's list.
    #[must_use]
    pub fn of_model(closure: &Closure) -> Listing {
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        let loaded = |outcome: &Outcome| matches!(outcome, Outcome::Loaded { .. });
        let objects = closure.objects.iter().skip(1).map(|object| ListedObject {
            name: object.names.first().unwrap_or(&object.path).to_string(),
            path: path(&object.path),
            real_path: fs::canonicalize(path(&object.path)).unwrap_or_else(|_| path(&object.path)),
            device: object.id.map_or(0, |id| id.device),
            inode: object.id.map_or(0, |id| id.inode),
        });
        // A missing auxiliary filtee does no harm, but a loader's list has it.
        let missing = closure.edges.iter().filter(|edge| {
            edge.outcome == Outcome::Missing || edge.kind == EdgeKind::Auxiliary && !loaded(&edge.outcome)
        });
        Listing {
            objects: objects.collect(),
            missing: missing.map(missed).collect(),
            complaints: Vec::new(),
            stopped: closure.edges.iter().any(|edge| matches!(edge.outcome, Outcome::Fatal { .. })),
        }
    }
}

/// A name that is not found, as loaders list it: `$ORIGIN` and the like expanded if it is a path.
fn missed(edge: &Edge) -> String {
    let tried = edge.tries.last().filter(|_| edge.name.contains(&b'/')).map(|tried| &tried.path);
    tried.unwrap_or(&edge.name).to_string()
}
