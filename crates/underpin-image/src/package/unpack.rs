//! Sources on the disk, with an append's files and patches in them.

use super::key::{files_below, local_folder};
use super::log::Log;
use crate::ImageError;
use crate::recipe::{Change, Given, Patch, RecipeError, Resolved, Source};
use crate::store::{Access, Store};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_sys::{CHORE_LIMIT, answer_to};

/// Fetches what a recipe is made from, if it is not there.
pub(super) fn fetch(
    recipe: &Resolved,
    debian: &str,
    store: &Store,
    access: Access,
) -> Result<Option<PathBuf>, ImageError> {
    let version = &recipe.version.value;
    let file = match &recipe.source.value {
        Source::Debian { name, sha256 } => {
            let suite = recipe.suite.as_ref().map(|suite| suite.value.as_str());
            store.source(name, version, sha256, suite, access)
        }
        Source::Deb { name, sha256 } => {
            let sum = sha256.get(debian).ok_or_else(|| {
                RecipeError::of(&recipe.source.origin, format!("[source.sha256] has none for {}", debian))
            })?;
            store.deb(name, version, debian, sum, access)
        }
        Source::Folder(_) => return local_folder(recipe).map(Some),
        Source::Crate(_) => return Ok(None),
    };
    // Which line of which recipe asks for it is what a person has to change.
    file.map(Some).map_err(|error| match error {
        ImageError::Checksum { what, expected, found } => RecipeError::of(
            &recipe.source.origin,
            format!("{what}: its SHA-256 is {found}, and the recipe says {expected}: it was not kept"),
        )
        .into(),
        gone @ ImageError::GoneSource { .. } => RecipeError::of(&recipe.version.origin, gone.to_string()).into(),
        other => other,
    })
}

/// Unpacks into a folder that does not exist yet.
pub(super) fn unpack(
    recipe: &Resolved,
    fetched: Option<&Path>,
    folder: &Path,
    log: &Log<'_>,
) -> Result<(), ImageError> {
    let above = folder.parent().unwrap_or(folder);
    let text = |path: &Path| path.display().to_string();
    match (&recipe.source.value, fetched) {
        (Source::Debian { .. }, Some(dsc)) => {
            let words =
                ["--no-copy", "--require-strong-checksums", "-q", "-x", &text(dsc), &text(folder)].map(str::to_owned);
            log.run("dpkg-source", &words, above, &[])
        }
        (Source::Deb { .. }, Some(deb)) => {
            fs::create_dir_all(folder).map_err(ImageError::io(folder))?;
            log.run("dpkg-deb", &["-x".to_owned(), text(deb), text(folder)], above, &[])
        }
        (Source::Folder(_), Some(from)) => files_below(from)?.into_iter().try_for_each(|(name, file)| {
            let to = folder.join(name);
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent).map_err(ImageError::io(parent))?;
            }
            fs::copy(&file, &to).map(|_| ()).map_err(ImageError::io(&to))
        }),
        _ => fs::create_dir_all(folder).map_err(ImageError::io(folder)),
    }
}

/// Puts an append's files and patches into unpacked sources.
pub(super) fn change(recipe: &Resolved, folder: &Path) -> Result<(), ImageError> {
    for (path, content) in &recipe.files {
        let clean = Path::new(path);
        let inside = clean.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        if !inside {
            return Err(RecipeError::of(&content.origin, format!("`{path}` leaves the sources")).into());
        }
        let to = folder.join(clean);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(ImageError::io(parent))?;
        }
        fs::write(&to, &content.value).map_err(ImageError::io(&to))?;
    }
    for patch in &recipe.patches {
        if let Err(hunk) = apply(&patch.value, folder, &[]) {
            return Err(RecipeError::of(&patch.origin, not_applied(patch, &hunk)).into());
        }
    }
    Ok(())
}

fn not_applied(patch: &Given<Patch>, hunk: &str) -> String {
    format!("{} does not apply to these sources: {hunk}", patch.value.file.display())
}

/// What patch(1) says of a patch; the first hunk that fails if there is one.
fn apply(patch: &Patch, folder: &Path, more: &[&str]) -> Result<(), String> {
    let mut input = tempfile::tempfile().map_err(|error| error.to_string())?;
    std::io::Write::write_all(&mut input, &patch.bytes).map_err(|error| error.to_string())?;
    std::io::Seek::rewind(&mut input).map_err(|error| error.to_string())?;
    let words = ["-p1", "--batch", "--fuzz=0", "--no-backup-if-mismatch", "--reject-file=-"];
    let mut command = Command::new("patch");
    command.args(words).args(more).current_dir(folder).env("LC_ALL", "C");
    let output = answer_to(input.into(), &mut command, CHORE_LIMIT).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "patch is not installed: `apt-get install patch`".to_owned(),
        _ => error.to_string(),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let file =
        said.lines().find_map(|line| line.strip_prefix("patching file ").or(line.strip_prefix("checking file ")));
    let hunk = said
        .lines()
        .find(|line| line.contains("FAILED") || line.contains("can't find file") || line.contains("malformed"));
    let hunk = hunk.unwrap_or_else(|| said.lines().last().unwrap_or("it failed")).trim_end_matches('.');
    Err(file.map_or_else(|| hunk.to_owned(), |file| format!("{file}: {hunk}")))
}

/// How a patch stands to unpacked sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatchCheck {
    /// It applies.
    Applies,
    /// The sources have the change already.
    Upstream,
    /// It does not, and the first hunk that fails.
    Fails(String),
}

/// How the patches of a change stand to the recipe's sources, and whether its cause is still seen there.
///
/// # Errors
/// If the sources cannot be fetched or unpacked.
pub fn check_change(
    recipe: &Resolved,
    change: &Change,
    store: &Store,
    access: Access,
    debian: &str,
) -> Result<(Vec<PatchCheck>, Option<bool>), ImageError> {
    let fetched = fetch(recipe, debian, store, access)?;
    let scratch = tempfile::tempdir().map_err(ImageError::io(std::env::temp_dir()))?;
    let folder = scratch.path().join("source");
    let log = Log { recipe: &recipe.name, path: scratch.path().join("log") };
    unpack(recipe, fetched.as_deref(), &folder, &log)?;
    let seen = change.evidence.as_ref().map(|evidence| {
        let text = fs::read(folder.join(&evidence.file)).unwrap_or_default();
        String::from_utf8_lossy(&text).contains(&evidence.text)
    });
    let mut all = Vec::new();
    for patch in &change.patches {
        all.push(match apply(&patch.value, &folder, &["--forward"]) {
            Ok(()) => PatchCheck::Applies,
            Err(_) if apply(&patch.value, &folder, &["--reverse", "--dry-run"]).is_ok() => PatchCheck::Upstream,
            Err(hunk) => PatchCheck::Fails(hunk),
        });
    }
    Ok((all, seen))
}
