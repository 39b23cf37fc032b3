//! What is in an image without need: shells, package databases, files that run as another user, documentation.

use super::{Diagnosis, LackKind};
use crate::oci::{FileKind, Image};
use bstr::{BStr, BString, ByteSlice};

/// What it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExtraKind {
    /// Runs with the rights of its owner or group.
    SetUser,
    /// A shell that no program looked at is.
    Shell,
    /// The database or cache of a package manager.
    PackageDatabase,
    /// Manuals and the like.
    Documentation,
}

/// Files of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extra {
    /// What they are.
    pub kind: ExtraKind,
    /// Some of them, or the folders that they are in.
    pub paths: Vec<BString>,
    /// How many files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

const SHELLS: [&str; 8] = ["sh", "bash", "dash", "ash", "zsh", "ksh", "busybox", "fish"];
const PACKAGES: [&str; 8] = [
    "var/lib/dpkg/",
    "var/lib/apt/",
    "var/cache/apt/",
    "var/cache/debconf/",
    "lib/apk/db/",
    "var/lib/rpm/",
    "usr/lib/sysimage/rpm/",
    "var/cache/dnf/",
];
const DOCUMENTS: [&str; 4] = ["usr/share/doc/", "usr/share/man/", "usr/share/info/", "usr/share/lintian/"];

pub(super) fn find(image: &Image, diagnosis: &Diagnosis) -> Vec<Extra> {
    let scripted = diagnosis.programs.iter().any(|program| program.script)
        || diagnosis.findings.iter().any(|finding| finding.kind == LackKind::ScriptInterpreter);
    let mut out: Vec<Extra> = Vec::new();
    for (path, node) in image.files.iter() {
        let FileKind::Regular(bytes) = &node.kind else { continue };
        let Some((kind, shown)) = kind_of(path, node.mode) else { continue };
        let absolute: BString = [b"/", shown.as_bytes()].concat().into();
        let started = diagnosis.configured && diagnosis.programs.iter().any(|program| program.path == absolute);
        if kind == ExtraKind::Shell && (scripted || started) {
            continue;
        }
        let entry = match out.iter_mut().position(|extra| extra.kind == kind) {
            Some(known) => &mut out[known],
            None => {
                out.push(Extra { kind, paths: Vec::new(), files: 0, bytes: 0 });
                let last = out.len() - 1;
                &mut out[last]
            }
        };
        entry.files += 1;
        entry.bytes += bytes.size();
        if !entry.paths.contains(&absolute) {
            entry.paths.push(absolute);
        }
    }
    out.sort_by_key(|extra| extra.kind);
    out
}

/// What a file is, and the file or the folder to be named.
fn kind_of(path: &BStr, mode: u32) -> Option<(ExtraKind, &BStr)> {
    if mode & 0o6000 != 0 && mode & 0o111 != 0 {
        return Some((ExtraKind::SetUser, path));
    }
    let below = |folders: &[&'static str]| folders.iter().find(|folder| path.starts_with(folder.as_bytes())).copied();
    if let Some(folder) = below(&PACKAGES) {
        return Some((ExtraKind::PackageDatabase, folder.as_bytes().as_bstr()));
    }
    if let Some(folder) = below(&DOCUMENTS) {
        return Some((ExtraKind::Documentation, folder.as_bytes().as_bstr()));
    }
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let folder = &path[..path.len() - name.len()];
    let is_program = mode & 0o111 != 0 && (folder.ends_with(b"bin/") || folder.is_empty());
    (is_program && SHELLS.iter().any(|shell| shell.as_bytes() == name)).then_some((ExtraKind::Shell, path))
}
