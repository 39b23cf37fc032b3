//! From what the commands left to the files that the user gets.

use crate::has_note;
use crate::project::Program;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What the steps of a plan produced.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    text: String,
    made: Vec<PathBuf>,
    last_said: String,
    /// Why the build went on without an optional step: a sentence of each that failed.
    pub left_out: Vec<String>,
}

impl Outputs {
    /// Adds what a step printed, and the file that it made.
    pub fn add(&mut self, text: &str, made: Option<&Path>) {
        self.text.push_str(text);
        self.made.extend(made.map(Path::to_owned));
    }

    /// The standard output of the steps whose output was wanted.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Keeps what a step said, instead of what one before it did; a step that said nothing changes nothing.
    pub fn said(&mut self, lines: &str) {
        if !lines.is_empty() {
            lines.clone_into(&mut self.last_said);
        }
    }

    /// The last lines of the last step that said something.
    #[must_use]
    pub fn last_said(&self) -> &str {
        &self.last_said
    }

    /// The files that steps said they make.
    pub fn made(&self) -> impl Iterator<Item = &Path> {
        self.made.iter().map(PathBuf::as_path)
    }
}

/// A built program and its destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// What was built.
    pub program: Program,
    /// Where it goes.
    pub place: PathBuf,
}

/// Why a result cannot be put in its place.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// One file for several programs.
    #[error("{count} programs were built ({names}) and {} is one file: name a folder, or build one program", output.display())]
    Several {
        /// How many.
        count: usize,
        /// Which.
        names: String,
        /// The file.
        output: PathBuf,
    },
    /// A file that underpin did not build.
    #[error("{} is there and underpin did not build it: --force replaces it", .0.display())]
    Foreign(PathBuf),
    /// Not a file.
    #[error("{} is a device, a pipe or a socket, and a program is a file", .0.display())]
    Special(PathBuf),
    /// A folder where a file is to go.
    #[error("{} is a folder; name the file in it, or end the name with `/`", .0.display())]
    Folder(PathBuf),
    /// It cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Where programs go: the path that the user names, or else the current folder. If that is within the project, whose
/// sources must not be written to, or contains a folder of the program's name: `inside`.
///
/// # Errors
/// If one file is named for several programs.
pub fn place(
    programs: Vec<Program>,
    output: Option<&Path>,
    project: &Path,
    inside: &Path,
    current: &Path,
) -> Result<Vec<Artifact>, PlaceError> {
    let at = |folder: &Path, program: Program| Artifact { place: folder.join(&program.name), program };
    let Some(output) = output else {
        // A project's folder often has its program's name.
        let in_the_way = programs.iter().any(|program| current.join(&program.name).is_dir());
        let folder = if current.starts_with(project) || in_the_way { inside } else { current };
        return Ok(programs.into_iter().map(|program| at(folder, program)).collect());
    };
    let is_folder = is_folder(output, current);
    let output = current.join(output);
    if is_folder || (programs.len() > 1 && !output.exists()) {
        return Ok(programs.into_iter().map(|program| at(&output, program)).collect());
    }
    if programs.len() > 1 {
        let names: Vec<String> = programs.iter().map(|program| program.name.clone()).collect();
        return Err(PlaceError::Several { count: programs.len(), names: names.join(", "), output });
    }
    Ok(programs.into_iter().map(|program| Artifact { place: output.clone(), program }).collect())
}

/// Whether the path that the user names is a folder: one that is there, or one by the slash at its end.
#[must_use]
pub fn is_folder(output: &Path, current: &Path) -> bool {
    current.join(output).is_dir() || output.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// Refuses a place that holds what underpin did not build.
///
/// # Errors
/// [`PlaceError`].
pub fn may_replace(place: &Path, force: bool) -> Result<(), PlaceError> {
    match fs::symlink_metadata(place) {
        Ok(data) if data.is_dir() => Err(PlaceError::Folder(place.to_owned())),
        Ok(data) if !data.is_file() && !data.is_symlink() => Err(PlaceError::Special(place.to_owned())),
        Ok(_) if !force && !has_note(place) => Err(PlaceError::Foreign(place.to_owned())),
        _ => Ok(()),
    }
}

impl Artifact {
    /// Puts the program in its place: all of it or nothing, hence under another name first.
    ///
    /// # Errors
    /// [`PlaceError::Write`].
    pub fn deliver(&self) -> Result<(), PlaceError> {
        let failed = |source| PlaceError::Write { path: self.place.clone(), source };
        let folder = self.place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(failed)?;
        let prefix = format!(".{}.underpin-", self.program.name);
        remove_leftovers(folder, &prefix);
        let new = folder.join(format!("{prefix}{}", std::process::id()));
        let copied = || copy_locked(&self.program.path, &new).and_then(|_file| fs::rename(&new, &self.place));
        let gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        // Another run may have taken it for a leftover before it was locked; that does not happen twice by accident.
        let done = copied().or_else(|error| if gone(&error) { copied() } else { Err(error) });
        done.map_err(|error| {
            let _ = fs::remove_file(&new);
            failed(error)
        })
    }
}

/// Copies a program to a name that is locked as long as the returned file is open: that distinguishes a killed run from
/// one still at work.
fn copy_locked(from: &Path, to: &Path) -> io::Result<fs::File> {
    let mut source = fs::File::open(from)?;
    let mut file = fs::File::create(to)?;
    // On a file system without locks no run removes it either.
    let _ = file.try_lock();
    io::copy(&mut source, &mut file)?;
    file.set_permissions(source.metadata()?.permissions())?;
    file.sync_all()?;
    Ok(file)
}

/// Removes what killed runs left beside a place: files named like ours that no process has locked.
fn remove_leftovers(folder: &Path, prefix: &str) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(prefix));
        let is_ours =
            number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
        let is_left = || fs::File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
        if is_ours && is_left() {
            let _ = fs::remove_file(entry.path());
        }
    }
}
