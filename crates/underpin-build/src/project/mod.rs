//! What is built, and by which tool: one module for each kind of project.
//!
//! A kind says what it has to be compiled with ([`Project::needs`]), which commands build it ([`Project::plan`]; they find the
//! plan's tools by the names in [`Context::tools`]) and, after they have run, where the programs are ([`Project::programs`]).

mod autoconf;
mod automake;
mod cargo;
mod cmake;
mod copy;
mod elsewhere;
mod found;
mod heard;
mod listed;
mod make;
mod meson;
mod native;
mod outside;
mod published;
mod shared;
mod single;
mod subcommands;

pub use copy::Copy;
pub(crate) use copy::copy;
pub use found::choose;
pub use native::BuildSystem;
pub use shared::emulator;
pub(crate) use shared::raw_linker;

use crate::toolchain::{Needs, Toolchain};
use crate::{BuildError, Outputs, Places, Spec, Step};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A project of a known kind.
#[derive(Clone, Debug)]
pub enum Project {
    /// A folder with `Cargo.toml`.
    Cargo(cargo::Cargo),
    /// A crate of the registry.
    Published(published::Published),
    /// CMake, autoconf, meson, make.
    Native(native::Native),
    /// One file of C or C++.
    Single(single::Single),
    /// Built by whatever the user starts, with variables from here.
    Elsewhere(elsewhere::Elsewhere),
}

/// What a kind of project needs for its plan.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// What is to be built.
    pub spec: &'a Spec,
    /// The tools.
    pub toolchain: &'a Toolchain,
    /// The user's arguments for the project's own build tool.
    pub words: &'a [String],
    /// The folder with the names of tools (`cc`, `c++`, `ar`, `ranlib`, `rustc`, `linker`).
    pub tools: &'a Path,
    /// This build's own folder: it is kept for the next build of the same project and [`Spec`].
    pub work: &'a Path,
    /// underpin's own folders.
    pub places: &'a Places,
}

impl Context<'_> {
    /// The path of a tool.
    #[must_use]
    pub fn tool(&self, tool: crate::tool::Tool) -> String {
        self.tools.join(tool.name()).display().to_string()
    }
}

/// The commands of a project.
#[derive(Clone, Debug, Default)]
pub struct Planned {
    /// In this order.
    pub steps: Vec<Step>,
    /// Copied before the first step, so that nothing is written to the sources.
    pub copy: Option<Copy>,
    /// Symbolic links that the steps expect: name and what it leads to.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// Files that the steps read, written before them.
    pub files: Vec<(PathBuf, String)>,
    /// Folders that the steps expect.
    pub folders: Vec<PathBuf>,
    /// Variables for a build that the user starts.
    pub exported: Vec<(String, String)>,
    /// What the user should know.
    pub remarks: Vec<String>,
    /// What the user should know, and above all if a step fails.
    pub doubt: Option<String>,
    /// Where results go if the caller is inside the project.
    pub inside: PathBuf,
}

/// A program that a build made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// What it is to be called.
    pub name: String,
    /// Where it is now.
    pub path: PathBuf,
    /// It was built and is not for the user: a tool of the build, a test, or what the project does not install.
    pub helper: bool,
}

/// Files that could be named instead of a folder, sorted: makefiles of other names in it, then what makes those just below it
/// projects (one of `marks`), as archives often have it.
fn would_do(folder: &Path, marks: &[&str]) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let is_makefile = |path: &&PathBuf| path.file_name().and_then(OsStr::to_str).is_some_and(make::is_makefile);
    let makefiles: Vec<PathBuf> = paths.iter().filter(is_makefile).cloned().collect();
    let mark = |folder: PathBuf| marks.iter().map(|name| folder.join(name)).find(|file| file.is_file());
    makefiles.into_iter().chain(paths.into_iter().filter_map(mark))
}

impl Project {
    /// The project at a path: a folder, a file of its build system, or one source file.
    ///
    /// # Errors
    /// If nothing there can be built; the error says what was looked for.
    pub fn find(path: &Path, system: Option<BuildSystem>) -> Result<Project, BuildError> {
        let path = path.canonicalize().map_err(BuildError::io(path))?;
        if path.is_file() {
            if path.file_name().is_some_and(|name| name == cargo::MARK) {
                return Ok(Project::Cargo(cargo::Cargo::new(path.parent().unwrap_or(Path::new("/")))));
            }
            return match native::Native::of(&path)? {
                Some(native) => Ok(Project::Native(native)),
                None => single::Single::new(&path).map(Project::Single),
            };
        }
        if system.is_none() && path.join(cargo::MARK).is_file() {
            return Ok(Project::Cargo(cargo::Cargo::new(&path)));
        }
        if let Some(native) = native::Native::find(&path, system)? {
            return Ok(Project::Native(native));
        }
        let marks = [&[cargo::MARK], native::MARKS.as_slice()].concat();
        let others: Vec<String> = would_do(&path, &marks).take(3).map(|file| file.display().to_string()).collect();
        let others = if others.is_empty() { String::new() } else { format!(" ({} would do)", others.join(" or ")) };
        let looked_for = format!(
            "{}{others}; a file of C or C++ or a makefile of another name is named itself, and any other build system gets its \
             compilers from `underpin build --print-env`",
            marks.join(", ")
        );
        Err(BuildError::NoProject { folder: path, looked_for })
    }

    /// A crate of the registry: `ripgrep`, `ripgrep@14.1.1`.
    ///
    /// # Errors
    /// If the text cannot be the name of a crate.
    pub fn published(text: &str) -> Result<Project, BuildError> {
        published::Published::new(text).map(Project::Published)
    }

    /// Whatever the user builds, in any folder. `rust`: with variables for cargo too.
    #[must_use]
    pub fn elsewhere(folder: &Path, rust: bool) -> Project {
        Project::Elsewhere(elsewhere::Elsewhere::new(folder, rust))
    }

    /// Names that identify the wanted one of several programs.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        match self {
            Project::Native(native) => native.names(),
            _ => Vec::new(),
        }
    }

    /// Whether every program that its tool made is wanted by the user, other than helpers.
    #[must_use]
    pub const fn wants_all(&self) -> bool {
        !matches!(self, Project::Native(_))
    }

    /// The folder of the project: nothing is written to it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        match self {
            Project::Cargo(cargo) => cargo.folder(),
            Project::Published(published) => published.folder(),
            Project::Native(native) => native.folder(),
            Project::Single(single) => single.folder(),
            Project::Elsewhere(elsewhere) => elsewhere.folder(),
        }
    }

    /// Its kind, for messages.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Project::Cargo(_) => "Cargo",
            Project::Published(_) => "crate",
            Project::Native(native) => native.kind(),
            Project::Single(single) => single.language(),
            Project::Elsewhere(_) => "any",
        }
    }

    /// What it is compiled with.
    #[must_use]
    pub const fn needs(&self) -> Needs {
        match self {
            Project::Cargo(_) | Project::Published(_) => Needs { rust: true, c: false, cxx: false },
            Project::Native(native) => native.needs(),
            Project::Single(single) => single.needs(),
            Project::Elsewhere(elsewhere) => elsewhere.needs(),
        }
    }

    /// The same project for a machine without a C++ compiler, if it may do without.
    #[must_use]
    pub fn without_cxx(&self) -> Option<Project> {
        match self {
            Project::Native(native) => native.without_cxx().map(Project::Native),
            _ => None,
        }
    }

    /// Its commands.
    ///
    /// # Errors
    /// If the project cannot be read.
    pub fn plan(&self, context: &Context<'_>) -> Result<Planned, BuildError> {
        match self {
            Project::Cargo(cargo) => cargo.plan(context),
            Project::Published(published) => published.plan(context),
            Project::Native(native) => native.plan(context),
            Project::Single(single) => Ok(single.plan(context)),
            Project::Elsewhere(_) => Ok(elsewhere::plan(context)),
        }
    }

    /// What to try instead, according to what a failed command printed.
    #[must_use]
    pub fn advice(&self, said: &str) -> Option<String> {
        match self {
            Project::Published(published) => published.advice(said),
            _ => None,
        }
    }

    /// The programs that its commands made. `words` and `tools`: as for [`Context`].
    ///
    /// # Errors
    /// If there is none.
    pub fn programs(&self, outputs: &Outputs, words: &[String], tools: &Path) -> Result<Vec<Program>, BuildError> {
        match self {
            Project::Cargo(cargo) => cargo.programs(outputs, words),
            Project::Published(_) => published::Published::programs(outputs, words),
            Project::Native(native) => native.programs(outputs, tools),
            Project::Single(single) => single.programs(outputs),
            Project::Elsewhere(_) => Ok(Vec::new()),
        }
    }
}
