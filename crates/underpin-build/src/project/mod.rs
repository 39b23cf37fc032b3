//! What is built, and by which tool: one module for each kind of project.
//!
//! A kind says what it has to be compiled with ([`Project::needs`]), which commands build it ([`Project::plan`]; they find the
//! plan's tools by the names in [`Context::tools`]) and, after they have run, where the programs are ([`Project::programs`]).

mod cargo;
mod copy;
pub(crate) use copy::copy;
mod single;

use crate::toolchain::{Needs, Toolchain};
use crate::{BuildError, Outputs, Places, Spec, Step};
use std::path::{Path, PathBuf};

/// A project of a known kind.
#[derive(Clone, Debug)]
pub enum Project {
    /// A folder with `Cargo.toml`.
    Cargo(cargo::Cargo),
    /// One file of C or C++.
    Single(single::Single),
}

/// What a kind of project needs for its plan.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// What it is to be.
    pub spec: &'a Spec,
    /// The tools.
    pub toolchain: &'a Toolchain,
    /// The user's words for the project's own build tool.
    pub words: &'a [String],
    /// The folder with the names of tools (`cc`, `c++`, `ar`, `ranlib`, `rustc`, `linker`).
    pub tools: &'a Path,
    /// A folder of this build's own: it stays for the next build of the same project and [`Spec`].
    pub work: &'a Path,
    /// Folders of underpin's.
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
    /// Copied before the first step, so that nothing is written to the sources: from, to.
    pub copy: Option<(PathBuf, PathBuf)>,
    /// What a person should know.
    pub remarks: Vec<String>,
    /// Where results go if the caller stands within the project.
    pub inside: PathBuf,
}

/// A program that a build made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// What it is to be called.
    pub name: String,
    /// Where it is now.
    pub path: PathBuf,
}

/// What a folder is looked through for, by kind.
const MARKS: [&str; 1] = [cargo::MARK];

impl Project {
    /// The project at a path: a folder, or one source file.
    ///
    /// # Errors
    /// If nothing there can be built; says what was looked for.
    pub fn find(path: &Path) -> Result<Project, BuildError> {
        let path = path.canonicalize().map_err(BuildError::io(path))?;
        if path.is_file() {
            if path.file_name().is_some_and(|name| name == cargo::MARK) {
                return Ok(Project::Cargo(cargo::Cargo::new(path.parent().unwrap_or(Path::new("/")))));
            }
            return single::Single::new(&path).map(Project::Single);
        }
        if path.join(cargo::MARK).is_file() {
            return Ok(Project::Cargo(cargo::Cargo::new(&path)));
        }
        let looked_for = format!("{}; a file of C or C++ is named itself", MARKS.join(", "));
        Err(BuildError::NoProject { folder: path, looked_for })
    }

    /// The folder of the project: nothing is written to it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        match self {
            Project::Cargo(cargo) => cargo.folder(),
            Project::Single(single) => single.folder(),
        }
    }

    /// Its kind, for people.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Project::Cargo(_) => "Cargo",
            Project::Single(single) => single.language(),
        }
    }

    /// What it is compiled with.
    #[must_use]
    pub const fn needs(&self) -> Needs {
        match self {
            Project::Cargo(_) => Needs { rust: true, c: false, cxx: false },
            Project::Single(single) => single.needs(),
        }
    }

    /// Its commands.
    ///
    /// # Errors
    /// If the project cannot be read.
    pub fn plan(&self, context: &Context<'_>) -> Result<Planned, BuildError> {
        match self {
            Project::Cargo(cargo) => cargo.plan(context),
            Project::Single(single) => Ok(single.plan(context)),
        }
    }

    /// The programs that its commands made.
    ///
    /// # Errors
    /// If there is none.
    pub fn programs(&self, outputs: &Outputs) -> Result<Vec<Program>, BuildError> {
        match self {
            Project::Cargo(cargo) => cargo.programs(outputs),
            Project::Single(single) => single.programs(outputs),
        }
    }
}
