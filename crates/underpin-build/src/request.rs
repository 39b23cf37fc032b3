//! What the caller wants built, and what it supplies.

use crate::Spec;
use crate::toolchain::CompilerFamily;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The project: a folder or a source file.
    pub path: PathBuf,
    /// What is to be built.
    pub spec: Spec,
    /// The compiler that the user wants.
    pub compiler: Option<CompilerFamily>,
    /// Which of several programs are wanted; if empty, [`crate::project::choose`] decides.
    pub bins: Vec<String>,
    /// Arguments for the project's own build tool: profile, features and the like.
    pub words: Vec<String>,
    /// Objects to link in, in this order, before everything else.
    pub objects: Vec<LinkObject>,
    /// Headers that come before those of the C library that is linked in, if its version is known to fit.
    pub headers: Vec<Header>,
    /// A script for GNU ld beside its own, if that links musl into programs; it must consist of `INSERT` commands.
    pub layout: Option<String>,
    /// Where results go; if `None`, [`crate::place`] decides.
    pub output: Option<PathBuf>,
    /// Replaces files that underpin did not build.
    pub force: bool,
    /// underpin's own folders.
    pub places: Places,
}

/// Folders that belong to underpin.
#[derive(Clone, Debug)]
pub struct Places {
    /// For what later builds use again.
    pub cache: PathBuf,
    /// The running executable: what the names of tools lead to.
    pub executable: PathBuf,
    /// The caller's working directory.
    pub current: PathBuf,
}

/// An object that is linked in.
#[derive(Clone, Debug)]
pub struct LinkObject {
    /// What it is called: a file's name.
    pub name: String,
    /// The relocatable object.
    pub bytes: Vec<u8>,
    /// What the note says about it.
    pub claim: Option<Claim>,
    /// A program has it only if it calls its functions itself: those of the C library that call them may have others.
    pub is_optional: bool,
}

impl LinkObject {
    /// The file that it is written to, beside the names of tools.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{}.o", self.name)
    }

    /// Those that the note says something about, the allocator first: the link line may have another order.
    pub(crate) fn claimed(objects: &[LinkObject]) -> Vec<(&LinkObject, &Claim)> {
        let mut claimed: Vec<_> = objects.iter().filter_map(|object| Some((object, object.claim.as_ref()?))).collect();
        claimed.sort_by_key(|(_, claim)| claim.key != "allocator");
        claimed
    }
}

/// A header in front of the C library's own of the same name.
#[derive(Clone, Debug)]
pub struct Header {
    /// What it is called: a file's name.
    pub name: String,
    /// Its text, in which `@LIBC@` stands for the folder of the C library's headers.
    pub text: String,
    /// The versions of the C library that it was written for; with another, and with one that is not known, it is left out.
    pub versions: Vec<String>,
}

/// A line of the note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// What it is about.
    pub key: String,
    /// What it states.
    pub value: String,
}

impl Claim {
    /// A claim.
    #[must_use]
    pub fn new(key: &str, value: impl Into<String>) -> Claim {
        Claim { key: key.to_owned(), value: value.into() }
    }
}
