//! Why an allocator cannot be used, or was not.

use crate::StoreError;
use std::io;
use std::path::PathBuf;
use underpin_elf::ElfError;
use underpin_sys::{LaunchError, SysError};

/// An allocator that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MallocError {
    /// No such allocator.
    #[error("no allocator is called {name:?}; there are {}, and a path to a shared object", names())]
    Unknown {
        /// As typed.
        name: String,
    },
    /// It was left out when underpin was built.
    #[error("{name} is not on board: {reason}")]
    Absent {
        /// Which.
        name: &'static str,
        /// Why.
        reason: &'static str,
    },
    /// A setting without a value, or without a name.
    #[error("{allocator}: invalid setting {part:?}: expected NAME=VALUE or NAME:VALUE, separated by commas")]
    Setting {
        /// The whole allocator.
        allocator: String,
        /// The part in question.
        part: String,
    },
    /// The allocator has no setting of that name.
    #[error("{allocator} has no setting {name:?}{}", known_names(.name, .known))]
    UnknownSetting {
        /// Which allocator.
        allocator: String,
        /// The name.
        name: String,
        /// Those that it has.
        known: Vec<String>,
    },
    /// A value outside the allowed range, which glibc would silently ignore.
    #[error("{name} of glibc's malloc must be a number from {low} to {high}, not {value:?}")]
    OutOfRange {
        /// The setting.
        name: String,
        /// As typed.
        value: String,
        /// Smallest value.
        low: u64,
        /// Largest value.
        high: u64,
    },
    /// The user's object cannot be preloaded.
    #[error("{}: {reason}", path.display())]
    Object {
        /// Its path.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The program cannot run under this allocator.
    #[error("{allocator} cannot serve {}: {obstacle}", program.display())]
    Program {
        /// The allocator's label.
        allocator: String,
        /// The program.
        program: PathBuf,
        /// Why.
        obstacle: Obstacle,
    },
    /// The command cannot be started at all.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A file of the command that cannot be read.
    #[error("{}: {}", path.display(), unreadable(error))]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file of the command that is damaged.
    #[error("{}: {error}", path.display())]
    Damaged {
        /// Which.
        path: PathBuf,
        /// Where and how.
        error: ElfError,
    },
    /// No place for the allocator's object.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "this user may not read it, and the file tells which allocators can serve it; try with `sudo`, or have its mode changed"
                .to_owned()
        }
        _ => error.to_string(),
    }
}

fn names() -> String {
    let names: Vec<&str> = crate::on_board::on_board().iter().map(|allocator| allocator.kind.name()).collect();
    format!("system, {}", names.join(", "))
}

/// All names if they are few, or those most similar to the one that was typed.
fn known_names(typed: &str, names: &[String]) -> String {
    const FEW: usize = 16;
    const ALIKE: usize = 3;
    if names.is_empty() {
        return ": it has none".to_owned();
    }
    if names.len() <= FEW {
        return format!("; it has {}", names.join(", "));
    }
    let mut alike: Vec<&String> = names.iter().collect();
    alike.sort_by_key(|name| distance(typed.as_bytes(), name.as_bytes()));
    let alike: Vec<&str> = alike.into_iter().take(ALIKE).map(String::as_str).collect();
    format!("; most like it: {} (of {})", alike.join(", "), names.len())
}

/// Letters to insert, remove or replace on the way from one word to another (Levenshtein).
fn distance(from: &[u8], to: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (above, letter) in from.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], above + 1);
        for (column, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

/// What keeps a program from running on another allocator. Each is known before anything runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Obstacle {
    /// No loader: nothing can be preloaded.
    #[error("it is statically linked, so no loader preloads anything: link the allocator in when it is built")]
    Static,
    /// Go's runtime.
    #[error(
        "it is a Go program: its memory comes from Go's own runtime, not from malloc (GOGC and GOMEMLIMIT tune that)"
    )]
    Go,
    /// AT_SECURE: the loader ignores LD_PRELOAD and GLIBC_TUNABLES.
    #[error(
        "it gains privileges when it starts ({0}), and the loader ignores preloading then: run a copy without them"
    )]
    Privileged(String),
    /// Another machine.
    #[error(
        "it is for {theirs}, and the allocator's object is for {ours}: run underpin for {theirs} on such a machine"
    )]
    Machine {
        /// Of the program.
        theirs: String,
        /// Of the object.
        ours: String,
    },
    /// Its own allocator is linked in.
    #[error(
        "{name} is linked into it ({evidence}), and it never asks another for memory: change that when it is built"
    )]
    OwnAllocator {
        /// Which.
        name: String,
        /// The evidence.
        evidence: String,
    },
    /// It defines malloc for every object in the process.
    #[error("it defines malloc itself{}, and comes before anything preloaded", .0.as_ref().map_or_else(String::new, |name| format!(" ({name})")))]
    DefinesMalloc(Option<String>),
    /// glibc's settings for another C library.
    #[error("the settings of `system` are glibc's tunables, and it runs on {0}")]
    NotGlibc(String),
}

/// The proof that an allocator did not take effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotTaken {
    /// The loader skipped the object.
    #[error("the loader of {} did not load {}", program.display(), object.display())]
    NotLoaded {
        /// The program.
        program: PathBuf,
        /// The object.
        object: PathBuf,
    },
    /// Another object comes first.
    #[error("malloc of {} is that of {}, which comes before {wanted}", program.display(), by.display())]
    Another {
        /// The program.
        program: PathBuf,
        /// The object whose malloc serves it.
        by: PathBuf,
        /// What should have.
        wanted: String,
    },
    /// It ended before its entry point: a loader that gave up, an allocator that refused its settings.
    #[error("{} ended before its entry point ({how}): its loader or the allocator refused to go on", program.display())]
    Ended {
        /// The program.
        program: PathBuf,
        /// Exit code or signal.
        how: String,
    },
    /// AT_SECURE after all.
    #[error("{} gained privileges when it started, and its loader ignored the preloading", program.display())]
    Privileged {
        /// The program.
        program: PathBuf,
    },
    /// The process could not be looked at.
    #[error("the process could not be looked at: {0}")]
    Unseen(String),
}

impl From<SysError> for NotTaken {
    fn from(error: SysError) -> NotTaken {
        NotTaken::Unseen(error.to_string())
    }
}
