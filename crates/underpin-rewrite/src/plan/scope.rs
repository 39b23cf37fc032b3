//! Which files may be edited: named ones, and everything below named directories.
//!
//! Real files only, each once however many names it has. Below a directory symbolic links are not followed, so nothing
//! outside it is touched; a link that the user names denotes the file it leads to.

use super::model::FARMS;
use bstr::{BStr, BString, ByteSlice};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use underpin_elf::{Elf, FileType};
use underpin_resolve::root::FileKind;
use underpin_resolve::{FileId, Root};

/// Directories nested deeper than this are not searched: no program is installed that way, but a loop of mounts looks
/// like it.
const DEPTH: usize = 64;

/// The files of one run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Scope {
    /// Files that a loader loads and that name libraries, by path.
    pub files: Vec<ScopeFile>,
    /// What was named or found and is not such a file, with the reason.
    pub skipped: Vec<Skipped>,
    /// Real paths of what the user named.
    pub tops: Vec<BString>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScopeFile {
    /// Its real path.
    pub path: BString,
    /// Its other names in the scope.
    pub hard_links: Vec<BString>,
    /// Device and inode.
    pub id: FileId,
}

/// A path that was skipped, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// The path.
    pub path: BString,
    /// Why.
    pub why: SkippedBecause,
}

/// Why a path was skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SkippedBecause {
    /// Cannot be opened or listed.
    Unreadable(String),
    /// Named by the user, and not an ELF file.
    NotElf,
    /// Named by the user, and an ELF file that no loader loads or that names no library.
    NotDynamic,
}

impl fmt::Display for SkippedBecause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SkippedBecause::Unreadable(error) => write!(f, "cannot be read: {error}"),
            SkippedBecause::NotElf => f.write_str("not an ELF file"),
            SkippedBecause::NotDynamic => {
                f.write_str("statically linked, or no program or library: it names no library")
            }
        }
    }
}

/// A regular file that was found.
struct Candidate {
    path: BString,
    named: bool,
}

impl Scope {
    /// Examines what the user named: files, links to files, directories.
    #[must_use]
    pub fn find(root: &dyn Root, named: &[BString]) -> Scope {
        let mut scope = Scope::default();
        let mut candidates = Vec::new();
        for path in named {
            match root.real_path(path.as_ref()).and_then(|real| Ok((root.stat(real.as_ref())?.kind, real))) {
                Ok((FileKind::Directory, real)) => {
                    walk(root, real.clone(), &mut candidates, &mut scope.skipped);
                    scope.tops.push(real);
                }
                Ok((FileKind::Regular, real)) => {
                    candidates.push(Candidate { path: real.clone(), named: true });
                    scope.tops.push(real);
                }
                Ok(_) => scope.skip(path.clone(), SkippedBecause::NotElf),
                Err(error) => scope.skip(path.clone(), SkippedBecause::Unreadable(error.to_string())),
            }
        }
        scope.take(root, candidates);
        scope
    }

    fn skip(&mut self, path: BString, why: SkippedBecause) {
        self.skipped.push(Skipped { path, why });
    }

    fn take(&mut self, root: &dyn Root, mut candidates: Vec<Candidate>) {
        candidates.sort_by(|one, other| (&one.path, !one.named).cmp(&(&other.path, !other.named)));
        candidates.dedup_by(|later, first| later.path == first.path);
        let looks: Vec<Result<FileId, SkippedBecause>> =
            candidates.par_iter().map(|candidate| look(root, candidate.path.as_ref())).collect();
        let mut files: BTreeMap<FileId, ScopeFile> = BTreeMap::new();
        for (candidate, look) in candidates.into_iter().zip(looks) {
            let Candidate { path, named } = candidate;
            match look {
                Ok(id) => {
                    let new = || ScopeFile { path: path.clone(), hard_links: Vec::new(), id };
                    let file = files.entry(id).or_insert_with(new);
                    if file.path != path {
                        file.hard_links.push(path);
                    }
                }
                Err(why) if named || matches!(why, SkippedBecause::Unreadable(_)) => self.skip(path, why),
                Err(_) => {}
            }
        }
        self.files = files.into_values().collect();
        self.files.sort_by(|one, other| one.path.cmp(&other.path));
    }
}

fn walk(root: &dyn Root, top: BString, candidates: &mut Vec<Candidate>, skipped: &mut Vec<Skipped>) {
    let mut ahead = vec![(top, 0)];
    while let Some((directory, depth)) = ahead.pop() {
        let names = match root.list(directory.as_ref()) {
            Ok(names) => names,
            Err(error) => {
                skipped.push(Skipped { path: directory, why: SkippedBecause::Unreadable(error.to_string()) });
                continue;
            }
        };
        for name in names {
            let path: BString = [directory.trim_end_with(|letter| letter == '/'), b"/", &name].concat().into();
            if root.read_link(path.as_ref()).is_some() {
                continue;
            }
            match root.stat(path.as_ref()).map(|meta| meta.kind) {
                // What is there was made by underpin, and is changed with the programs that use it.
                Ok(FileKind::Directory) if name == FARMS => {}
                Ok(FileKind::Directory) if depth < DEPTH => ahead.push((path, depth + 1)),
                Ok(FileKind::Regular) => candidates.push(Candidate { path, named: false }),
                Ok(_) => {}
                Err(error) => skipped.push(Skipped { path, why: SkippedBecause::Unreadable(error.to_string()) }),
            }
        }
    }
}

/// Whether a loader loads the file and it has a dynamic section.
fn look(root: &dyn Root, path: &BStr) -> Result<FileId, SkippedBecause> {
    let opened = root.open(path).map_err(|error| SkippedBecause::Unreadable(error.to_string()))?;
    let mut magic = [0; 4];
    if opened.source.len() < 52 || opened.source.read_exact_at(0, &mut magic).is_err() || &magic != b"\x7fELF" {
        return Err(SkippedBecause::NotElf);
    }
    let elf = Elf::read(&*opened.source).map_err(|_| SkippedBecause::NotDynamic)?;
    let loadable = matches!(elf.ident.file_type, FileType::Executable | FileType::Dynamic);
    match elf.dynamic {
        Some(dynamic) if loadable && (!dynamic.dependencies.is_empty() || dynamic.verneed.is_some()) => {
            Ok(opened.meta.id)
        }
        _ => Err(SkippedBecause::NotDynamic),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use underpin_resolve::MemoryRoot;

    #[test]
    fn what_is_named_and_cannot_be_edited_is_said_and_what_is_only_found_is_not() {
        let mut root = MemoryRoot::new();
        root.file("/t/readme", "x".repeat(99)).file("/named", "x".repeat(99));
        let scope = Scope::find(&root, &["/t".into(), "/named".into(), "/gone".into()]);
        let skipped: Vec<String> = scope.skipped.iter().map(|one| format!("{} {}", one.path, one.why)).collect();
        assert_eq!(skipped, ["/gone cannot be read: ENOENT", "/named not an ELF file"]);
        assert_eq!((scope.files.len(), scope.tops), (0, vec!["/t".into(), "/named".into()]));
    }
}
