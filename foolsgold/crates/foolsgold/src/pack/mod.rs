//! An application packed into the executable: `foolsgold pack app/ -o app-server`.
//!
//! The packed executable is this executable's own bytes, then the files, then an index, then a trailer ([`foolsgold_pack`]).
//! Nothing is compressed: bytecode and templates are small compared with the executable, and unpacking them would cost
//! time and memory at every start. The same folder and the same foolsgold give the same bytes. Only [`compile`] uses an
//! interpreter; [`pack`] receives it as a parameter.

mod collect;
mod compile;
mod elf;
mod read;
mod write;

pub use collect::{MAX_BYTES, MAX_FILES};
pub use compile::compile;
pub use read::{PACKED, Packed};
pub use write::{Options, Report, pack};

use foolsgold_core::files::VPath;
use std::path::PathBuf;

/// Compiles one file, given its path as Ruby will see it and its source. The error is Ruby's own, with the line.
pub type Compile<'a> = dyn Fn(&VPath, &[u8]) -> Result<Vec<u8>, String> + 'a;

/// Why nothing was packed, or a pack cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The operating system's reason.
    #[error("cannot {doing} {}: {error}", path.display())]
    System {
        /// What was attempted, as a verb.
        doing: &'static str,
        /// The path.
        path: PathBuf,
        /// The reason.
        error: std::io::Error,
    },
    /// There is no application.
    #[error("{} has no config.ru; name the folder of a Rack application", .0.display())]
    NoConfig(PathBuf),
    /// A name that is not valid in a pack.
    #[error("the name {} is not UTF-8 or is too long; rename the file or leave it out with --exclude", .0.display())]
    Name(PathBuf),
    /// A link that leads out of the application.
    #[error("the link {} leads out of {}; copy what it names into the folder or leave it out with --exclude", link.display(), folder.display())]
    Outside {
        /// The link.
        link: PathBuf,
        /// The application's folder.
        folder: PathBuf,
    },
    /// A link to a folder that contains it.
    #[error("the link {} leads to a folder that it lies in; leave it out with --exclude", .0.display())]
    Loop(PathBuf),
    /// A device, a socket or a FIFO.
    #[error("{} is not a file, folder or link; leave it out with --exclude", .0.display())]
    Special(PathBuf),
    /// More than [`MAX_BYTES`] or [`MAX_FILES`].
    #[error("{} is too large to pack: more than {what}", folder.display())]
    TooMuch {
        /// The application's folder.
        folder: PathBuf,
        /// Which limit is exceeded.
        what: String,
    },
    /// Ruby cannot compile it.
    #[error("{0}")]
    Syntax(String),
    /// The output would replace the running executable.
    #[error("{} is the foolsgold that is running; name another output", .0.display())]
    Itself(PathBuf),
    /// The output exists and is not a file.
    #[error("{} exists and is not a file; choose another output", .0.display())]
    Output(PathBuf),
    /// The running executable cannot be packed.
    #[error("{} is not an ELF executable that an application can be appended to", .0.display())]
    Executable(PathBuf),
    /// Its `foolsgold.toml` cannot be used.
    #[error(transparent)]
    Settings(#[from] crate::config::FileError),
    /// A folder that the settings serve and that is not packed.
    #[error("foolsgold.toml serves the folder {}, which holds no file that is packed", .0.display())]
    NothingToServe(PathBuf),
    /// A pack that is damaged.
    #[error("the application packed into {} cannot be used: {error}; pack it again or copy the file again", path.display())]
    Damaged {
        /// The executable.
        path: PathBuf,
        /// What is wrong.
        error: foolsgold_pack::FormatError,
    },
}

impl PackError {
    fn system(doing: &'static str, path: &std::path::Path) -> impl FnOnce(std::io::Error) -> PackError {
        let path = path.to_owned();
        move |error| PackError::System { doing, path, error }
    }
}
