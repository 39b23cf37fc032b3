//! An allocator for a program: the changes of the environment that put it into effect.
//!
//! The allocator's object comes first in LD_PRELOAD, before what the user preloads. Beside it goes the companion
//! (`crate::on_board::companion`), unless the allocator is to be passed on to every child and no statistics are
//! wanted.

use crate::on_board::{self, AllocatorKind, OnBoard, companion};
use crate::watch::Expected;
use crate::{CLibrary, Choice, Malloc, MallocError, Obstacle, Program, Stage, Store, Watch, settings};
use bstr::ByteSlice;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use underpin_elf::{Details, Elf, FileSource, LinkFacts, Linkage, Machine};
use underpin_sys::RawPid;

/// A variable to set (`Some`) or to remove (`None`).
pub type VariableChange = (OsString, Option<OsString>);

/// Which processes run under the allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inherit {
    /// The process itself, through every exec of its own; its children run as usual.
    Once,
    /// Every child too.
    Follow,
}

/// Where statistics at exit come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistics {
    /// `malloc_stats_print(3)` of jemalloc.
    Jemalloc,
    /// `mi_stats_print_out`.
    Mimalloc,
    /// `mallinfo2(3)`.
    Glibc,
    /// There are none.
    None,
}

/// An allocator that can be run.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// What the user called it.
    pub label: String,
    /// The allocator in words: name, version, settings chosen at build time.
    pub description: String,
    /// The object that must serve malloc; `None` for the C library's own.
    pub object: Option<PathBuf>,
    /// What it prints at exit.
    pub statistics: Statistics,
    preload: Vec<OsString>,
    companion: PathBuf,
    variables: Vec<(OsString, OsString)>,
    stages: Vec<Stage>,
}

/// Makes an allocator ready for a program. `variable` is the environment in which the program will run.
///
/// # Errors
/// [`MallocError::Program`] if the program cannot run under it, and every other [`MallocError`].
pub fn prepare(
    allocator: &Malloc,
    program: &Program,
    places: &[PathBuf],
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Prepared, MallocError> {
    let chosen = Chosen::new(&allocator.choice, allocator, places)?;
    for stage in &program.stages {
        if let Some(obstacle) = obstacle(allocator, &chosen, stage) {
            let program = stage.path.clone();
            return Err(MallocError::Program { allocator: allocator.label.clone(), program, obstacle });
        }
    }
    let variables = match chosen.family {
        Statistics::Jemalloc => settings::jemalloc(&allocator.settings, variable("MALLOC_CONF").as_deref()),
        Statistics::Mimalloc => settings::mimalloc(&allocator.settings),
        Statistics::Glibc => glibc_settings(allocator, program, variable("GLIBC_TUNABLES").as_deref())?,
        Statistics::None => Vec::new(),
    };
    let statistics = match (chosen.family, program.stages.last().map(|stage| stage.library)) {
        (Statistics::Glibc, Some(CLibrary::Musl | CLibrary::Other) | None) => Statistics::None,
        (family, _) => family,
    };
    let mut preload: Vec<OsString> = chosen.object.iter().map(|path| path.clone().into()).collect();
    if !preload.is_empty() && program.stages.iter().any(has_separate_libraries) {
        preload.extend(SEPARATE_LIBRARIES.map(OsString::from));
    }
    Ok(Prepared {
        label: allocator.label.clone(),
        description: chosen.description,
        object: chosen.object,
        statistics,
        preload,
        companion: Store::open(places)?.write(companion())?,
        variables,
        stages: program.stages.clone(),
    })
}

/// The object for a choice, found or written out.
struct Chosen {
    description: String,
    object: Option<PathBuf>,
    machine: Machine,
    family: Statistics,
}

impl Chosen {
    fn new(choice: &Choice, allocator: &Malloc, places: &[PathBuf]) -> Result<Chosen, MallocError> {
        match choice {
            Choice::System => Ok(Chosen {
                description: "the C library's own allocator".to_owned(),
                object: None,
                machine: NATIVE,
                family: Statistics::Glibc,
            }),
            Choice::OnBoard(kind) => Chosen::on_board(*kind, allocator, places),
            Choice::File(path) => Chosen::file(path, allocator),
        }
    }

    fn on_board(kind: AllocatorKind, allocator: &Malloc, places: &[PathBuf]) -> Result<Chosen, MallocError> {
        let absent = |reason| MallocError::Absent { name: kind.name(), reason };
        let carried: &OnBoard = on_board::allocator(kind).ok_or(absent("this build does not know it"))?;
        let object = carried.object.map_err(absent)?;
        settings::check_names(kind, &allocator.settings)?;
        let family = match kind {
            AllocatorKind::Jemalloc => Statistics::Jemalloc,
            AllocatorKind::Mimalloc => Statistics::Mimalloc,
            AllocatorKind::Snmalloc => Statistics::None,
        };
        Ok(Chosen {
            description: format!("{} {} ({})", kind.name(), carried.version, carried.settings),
            object: Some(Store::open(places)?.write(&object)?),
            machine: NATIVE,
            family,
        })
    }

    fn file(path: &Path, allocator: &Malloc) -> Result<Chosen, MallocError> {
        let refused = |reason: String| MallocError::Object { path: path.to_owned(), reason };
        let io = |error| MallocError::Read { path: path.to_owned(), error };
        let damaged = |error| MallocError::Damaged { path: path.to_owned(), error };
        let whole = fs::canonicalize(path).map_err(io)?;
        if whole.as_os_str().as_encoded_bytes().iter().any(|byte| b" \t\n:$".contains(byte)) {
            return Err(refused("LD_PRELOAD has no way to write a path with a space, a colon or a dollar sign".into()));
        }
        if !fs::metadata(&whole).map_err(io)?.is_file() {
            return Err(refused("not a file".into()));
        }
        let source = FileSource::new(File::open(&whole).map_err(io)?).map_err(io)?;
        let elf = Elf::read(&source).map_err(damaged)?;
        let details = Details::read(&source, &elf).map_err(damaged)?;
        if !matches!(details.identity.linkage, Linkage::SharedLibrary | Linkage::RunnableLibrary) {
            return Err(refused(format!("a {}, and only a shared library can be preloaded", details.identity.linkage)));
        }
        let has = |name: &str| details.export(name.as_bytes().as_bstr()).is_some();
        if !has("malloc") || !has("free") {
            return Err(refused("it does not define malloc and free, so it would change nothing".into()));
        }
        let family = match (has("mallctl"), has("mi_malloc")) {
            (true, _) => Statistics::Jemalloc,
            (_, true) => Statistics::Mimalloc,
            _ => Statistics::None,
        };
        if family == Statistics::None && !allocator.settings.is_empty() {
            return Err(refused("how it takes its settings is not known; set its variables yourself".into()));
        }
        let description = whole.display().to_string();
        Ok(Chosen { description, object: Some(whole), machine: elf.ident.machine, family })
    }
}

/// `e_machine` of this program, and of the objects in it.
#[cfg(target_arch = "x86_64")]
const NATIVE: Machine = Machine(62);
#[cfg(target_arch = "aarch64")]
const NATIVE: Machine = Machine(183);

fn obstacle(allocator: &Malloc, chosen: &Chosen, stage: &Stage) -> Option<Obstacle> {
    if chosen.object.is_none() {
        return if allocator.settings.is_empty() { None } else { stage.tunables_obstacle() };
    }
    if stage.loader.is_some() && stage.machine != chosen.machine {
        let name = |machine: Machine| machine.name().map_or_else(|| format!("machine {}", machine.0), str::to_owned);
        return Some(Obstacle::Machine { theirs: name(stage.machine), ours: name(chosen.machine) });
    }
    stage.obstacle()
}

fn glibc_settings(
    allocator: &Malloc,
    program: &Program,
    before: Option<&OsStr>,
) -> Result<Vec<(OsString, OsString)>, MallocError> {
    let loader = program.stages.iter().rev().find_map(|stage| stage.loader.clone()).unwrap_or_default();
    settings::glibc(&allocator.settings, &loader, before)
}

/// The libraries with the functions of threads and `dlsym` until glibc 2.33. The objects on board name neither, since
/// newer systems need not load them.
const SEPARATE_LIBRARIES: [&str; 2] = ["libpthread.so.0", "libdl.so.2"];

/// glibc before 2.34, as shown by the versions of the libc.so.6 beside the loader.
fn has_separate_libraries(stage: &Stage) -> bool {
    let versions = || {
        let loader = fs::canonicalize(stage.loader.as_ref()?).ok()?;
        let source = FileSource::new(File::open(loader.with_file_name("libc.so.6")).ok()?).ok()?;
        let elf = Elf::read(&source).ok()?;
        LinkFacts::read(&source, &elf, &[], |_| false).ok()
    };
    let merged = |facts: LinkFacts| facts.version_definitions.iter().any(|version| version.name == "GLIBC_2.34");
    stage.library == CLibrary::Glibc && versions().is_some_and(|facts| !merged(facts))
}

impl Prepared {
    /// The changes for a process. `pid` is the one that will run the program; `before` is the value of a variable in
    /// the environment that the changes are made to.
    #[must_use]
    pub fn changes(
        &self,
        pid: RawPid,
        inherit: Inherit,
        report: bool,
        before: impl Fn(&OsStr) -> Option<OsString>,
    ) -> Vec<VariableChange> {
        let mut changes: Vec<VariableChange> =
            self.variables.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
        let statistics = if report { self.statistics } else { Statistics::None };
        let mut preload = self.preload.clone();
        let companion = statistics != Statistics::None
            || (inherit == Inherit::Once && !(preload.is_empty() && self.variables.is_empty()));
        if companion {
            preload.push(self.companion.clone().into());
        }
        if !preload.is_empty() {
            let users = before(OsStr::new("LD_PRELOAD")).filter(|value| !value.is_empty());
            preload.extend(users);
            changes.push(("LD_PRELOAD".into(), Some(preload.join(OsStr::new(":")))));
        }
        if companion {
            changes.extend(instructions(&changes, pid, inherit, statistics, before));
        }
        changes
    }

    /// What it leaves to other allocators, in sentences: parts of the program that never call `malloc`.
    #[must_use]
    pub fn remainders(&self) -> Vec<String> {
        if self.object.is_none() { Vec::new() } else { self.stages.iter().filter_map(Stage::remainder).collect() }
    }

    /// The check of the process that shows whether the allocator took effect.
    #[must_use]
    pub fn watch(&self) -> Watch {
        let expected = match &self.object {
            Some(object) => Expected::Object { path: object.clone(), name: self.label.clone() },
            None => Expected::CLibrary { tunables: !self.variables.is_empty() },
        };
        Watch { stages: self.stages.clone(), expected }
    }
}

/// What the companion reads (native/companion.c has the other half).
fn instructions(
    changes: &[VariableChange],
    pid: RawPid,
    inherit: Inherit,
    statistics: Statistics,
    before: impl Fn(&OsStr) -> Option<OsString>,
) -> Vec<VariableChange> {
    let once = if inherit == Inherit::Once { "o" } else { "" };
    let source = match statistics {
        Statistics::Jemalloc => "j",
        Statistics::Mimalloc => "m",
        Statistics::Glibc => "g",
        Statistics::None => "",
    };
    let mut run = OsString::from(format!("{pid} {once}{source} "));
    let names: Vec<&OsStr> = changes.iter().map(|(name, _)| name.as_os_str()).collect();
    run.push(names.join(OsStr::new(",")));
    let mut more: Vec<VariableChange> = vec![("UNDERPIN_RUN".into(), Some(run))];
    for name in names {
        let mut was = OsString::from("UNDERPIN_WAS_");
        was.push(name);
        // One that an outer run left behind must not be restored as if it were the user's.
        more.push((was, before(name)));
    }
    more
}
