//! The real loader asked what it would load for a file, without running the file.

use std::path::PathBuf;

/// One object of a loader's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedObject {
    /// The name that was asked for.
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

/// What a loader says of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// What it maps, in its order; without the file itself and without the kernel's vdso.
    pub objects: Vec<JudgedObject>,
    /// Names that it does not find.
    pub missing: Vec<String>,
    /// Everything else that it complains of (versions, damaged files), a line each.
    pub complaints: Vec<String>,
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
    /// Another machine's file, which this one cannot start.
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
    /// Not a file that a loader loads.
    #[error("{reason}")]
    NotLoadable {
        /// Why.
        reason: String,
    },
}

/// What came of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opinion {
    /// The loader's list.
    Heard(Judgement),
    /// Nobody was asked: the model's word is all there is.
    NotAsked(NotAsked),
}
