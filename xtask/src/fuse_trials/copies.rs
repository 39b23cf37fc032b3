//! Copies of programs, as `underpin bind` and `underpin bind --fuse` leave them. No file of the system changes.

use crate::bench::measure::Contestant;
use anyhow::{Context as _, ensure};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folders of a prefix.
const BESIDE: [&str; 3] = ["lib", "libexec", "share"];

/// What `bind --fuse` makes of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Made {
    /// Its libraries are one file.
    Merged(Merged),
    /// It has too few libraries: so many could be merged.
    LeftAlone(u64),
    /// It was refused, with the reason.
    Refused(String),
}

/// A program whose libraries are merged.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    /// The program.
    pub program: PathBuf,
    /// The merged file.
    pub file: PathBuf,
    /// The paths of the libraries inside.
    pub names: Vec<String>,
    /// How many those are.
    pub members: usize,
    /// Libraries that stay shared.
    pub shared: usize,
    /// The size of the merged file.
    pub bytes: u64,
    /// That of the libraries inside.
    pub member_bytes: u64,
}

impl Merged {
    /// The path as text.
    ///
    /// # Errors
    /// If it is not UTF-8.
    pub fn path(&self) -> anyhow::Result<&str> {
        self.program.to_str().context("a path that is not UTF-8")
    }
}

/// The real path of a program, if it is installed.
pub fn installed(program: &str) -> Option<PathBuf> {
    let path = if program.contains('/') { PathBuf::from(program) } else { Path::new("/usr/bin").join(program) };
    path.canonicalize().ok()
}

/// A copy of a program in a folder that is made for it, with what is beside the program's folder beside the copy's: some
/// search for their libraries there (`$ORIGIN/../lib`).
///
/// # Errors
/// If it cannot be written.
pub fn copied(program: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let own = program.parent().context("a program without a folder")?;
    let bin = folder.join(own.file_name().unwrap_or(OsStr::new("bin")));
    fs::create_dir_all(&bin)?;
    let prefix = own.parent().unwrap_or(own);
    for beside in BESIDE.iter().map(|name| prefix.join(name)).filter(|beside| beside.is_dir() && beside != own) {
        let link = folder.join(beside.file_name().unwrap_or_default());
        if link.symlink_metadata().is_err() {
            symlink(&beside, &link)?;
        }
    }
    let copy = bin.join(program.file_name().context("a program without a name")?);
    fs::copy(program, &copy).with_context(|| format!("cannot copy {}", program.display()))?;
    Ok(copy)
}

/// A copy in that folder, fused.
///
/// # Errors
/// If underpin cannot be started, or says something that is not known here.
pub fn fused(underpin: &Path, program: &Path, folder: &Path) -> anyhow::Result<Made> {
    fused_with(underpin, program, folder, &[])
}

/// The same with the libraries of these modules, files or folders.
///
/// # Errors
/// As for [`fused`].
pub fn fused_with(underpin: &Path, program: &Path, folder: &Path, modules: &[PathBuf]) -> anyhow::Result<Made> {
    println!("fusing a copy of {}", program.display());
    fuse(underpin, &copied(program, folder)?, modules)
}

/// The program itself, fused in place, with the libraries of these modules.
///
/// # Errors
/// As for [`fused`].
pub fn fuse(underpin: &Path, program: &Path, modules: &[PathBuf]) -> anyhow::Result<Made> {
    let mut command = Command::new(underpin);
    command.args(["bind", "--fuse", "--json"]).arg(program);
    command.args(modules.iter().flat_map(|path| [OsStr::new("--modules"), path.as_os_str()]));
    let output = command.output().context("cannot start underpin")?;
    let document: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("bind --fuse {}: {}", program.display(), String::from_utf8_lossy(&output.stderr)))?;
    made(&document["programs"][0], program)
}

/// One program of the document `underpin.fuse/1`.
fn made(document: &Value, program: &Path) -> anyhow::Result<Made> {
    let number = |name: &str| document[name].as_u64().with_context(|| format!("{name} in {document}"));
    let count = |name: &str| document[name].as_array().map_or(0, Vec::len);
    Ok(match document["outcome"].as_str() {
        Some("merged") => Made::Merged(Merged {
            program: program.to_owned(),
            file: document["file"].as_str().context("the path of the merged file")?.into(),
            names: document["members"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            members: count("members"),
            shared: count("shared"),
            bytes: number("bytes")?,
            member_bytes: number("member_bytes")?,
        }),
        Some("left_alone") => Made::LeftAlone(number("members")?),
        Some("refused") => Made::Refused(document["reason"].as_str().unwrap_or_default().to_owned()),
        _ => anyhow::bail!("bind --fuse {}: an outcome that is not known here: {document}", program.display()),
    })
}

/// A copy in that folder, with absolute names by `underpin bind`.
///
/// # Errors
/// If it is refused.
pub fn bound(underpin: &Path, program: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let copy = copied(program, folder)?;
    let output = Command::new(underpin).arg("bind").arg(&copy).output()?;
    ensure!(output.status.success(), "bind {}: {}", copy.display(), String::from_utf8_lossy(&output.stderr));
    Ok(copy)
}

/// A file run under the name of the original: Emacs looks for its own files beside the name that it is called by.
pub fn called(name: &str, original: &Path, file: &str, argument: &str) -> Contestant {
    let plain = Contestant::new(name, &[file, argument]);
    if name == "emacs" { plain.called(original) } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_outcome_of_the_document_is_read() {
        let program = Path::new("/tmp/app");
        let merged = json!({"outcome": "merged", "bytes": 120, "member_bytes": 100, "members": ["a", "b"], "file": "f",
            "shared": [{"path": "c", "reason": "glibc"}]});
        let expected = Merged {
            program: program.into(),
            file: "f".into(),
            names: vec!["a".into(), "b".into()],
            members: 2,
            shared: 1,
            bytes: 120,
            member_bytes: 100,
        };
        assert_eq!(made(&merged, program).unwrap(), Made::Merged(expected));
        let alone = json!({"outcome": "left_alone", "members": 2, "worth": 10});
        assert_eq!(made(&alone, program).unwrap(), Made::LeftAlone(2));
        let refused = json!({"outcome": "refused", "reason": "set-user-ID"});
        assert_eq!(made(&refused, program).unwrap(), Made::Refused("set-user-ID".into()));
        assert!(made(&json!({"outcome": "merged"}), program).is_err());
    }

    #[test]
    fn a_copy_finds_what_is_beside_the_folder_of_the_program() {
        let folder = crate::run::scratch("copies").unwrap();
        let prefix = folder.join("prefix");
        for name in ["bin", "lib"] {
            fs::create_dir_all(prefix.join(name)).unwrap();
        }
        fs::write(prefix.join("bin/app"), "app").unwrap();
        fs::write(prefix.join("lib/libapp.so"), "library").unwrap();
        for _ in 0..2 {
            let copy = copied(&prefix.join("bin/app"), &folder.join("copy")).unwrap();
            assert_eq!(fs::read(copy.parent().unwrap().join("../lib/libapp.so")).unwrap(), b"library");
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn emacs_runs_under_the_name_of_the_original() {
        let emacs = called("emacs", Path::new("/usr/bin/emacs-gtk"), "/tmp/emacs-gtk", "--version");
        assert_eq!(emacs.command, ["/tmp/emacs-gtk", "--version"]);
        assert_eq!(emacs.called.as_deref(), Some(Path::new("/usr/bin/emacs-gtk")));
        assert_eq!(called("gdb", Path::new("/usr/bin/gdb"), "/tmp/gdb", "--version").called, None);
    }
}
