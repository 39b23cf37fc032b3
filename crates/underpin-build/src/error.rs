//! Why a build cannot be planned, prepared or finished.

use crate::note::NoteObjectError;
use crate::toolchain::Missing;
use std::io;
use std::path::PathBuf;

/// Why there is no built file.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Nothing in the folder that this crate knows how to build.
    #[error("{} holds no project: looked for {looked_for}", folder.display())]
    NoProject {
        /// The folder.
        folder: PathBuf,
        /// Names of files.
        looked_for: String,
    },
    /// A file that is not a source.
    #[error("{}: not a source file that is built alone: expected a name that ends with {expected}, a makefile, or a folder", path.display())]
    NotSource {
        /// The file.
        path: PathBuf,
        /// The endings that are accepted.
        expected: String,
    },
    /// Nothing builds this here.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// cargo cannot read the project.
    #[error("cargo cannot read the project in {}:\n{said}", folder.display())]
    Metadata {
        /// The project.
        folder: PathBuf,
        /// The last lines of its output.
        said: String,
    },
    /// The package wants a newer compiler.
    #[error("{package} wants rustc {wanted} and this is {found}: {advice}")]
    RustVersion {
        /// The package.
        package: String,
        /// Its `rust-version`.
        wanted: String,
        /// The compiler's version.
        found: String,
        /// What to do.
        advice: String,
    },
    /// The tool ran and left nothing that can be started.
    #[error("{tool} built no program: {hint}")]
    NoProgram {
        /// Which tool.
        tool: &'static str,
        /// What may be wrong.
        hint: String,
    },
    /// The build system's own program is missing.
    #[error("{tool} is not installed: `apt-get install {package}`")]
    NoTool {
        /// Which.
        tool: &'static str,
        /// The package that has it.
        package: &'static str,
    },
    /// Sources without the script that configures them.
    #[error("{} has {found} and no configure: `cd {} && {command}` makes it", folder.display(), folder.display())]
    NotConfigurable {
        /// The project.
        folder: PathBuf,
        /// What it has instead.
        found: &'static str,
        /// The command.
        command: String,
    },
    /// A cache that make cannot work in.
    #[error(
        "{kind} cannot build in {}, whose name is not UTF-8, or has a space or a character that a shell takes for its own: \
         set XDG_CACHE_HOME to another folder", folder.display()
    )]
    CachePlace {
        /// The folder.
        folder: PathBuf,
        /// The build system.
        kind: &'static str,
    },
    /// Several programs, and one was wanted.
    #[error("several programs were built ({names}): choose with `--bin NAME`, or name a folder (`-o FOLDER/`) for all")]
    SeveralPrograms {
        /// Which.
        names: String,
    },
    /// None of this name.
    #[error("no program `{name}` was built: expected one of {names}")]
    NoSuchProgram {
        /// What was asked for.
        name: String,
        /// What there is.
        names: String,
    },
    /// A published crate by a name that none can have.
    #[error("invalid crate `{0}`: expected NAME or NAME@VERSION, such as ripgrep@14.1.1")]
    CrateName(String),
    /// The note cannot be written.
    #[error(transparent)]
    Note(#[from] NoteObjectError),
    /// A file of ours cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl BuildError {
    /// For `map_err`.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> BuildError {
        let path = path.into();
        move |source| BuildError::Io { path, source }
    }
}
