//! A copy of a project's sources, for tools that would write into them.

use crate::BuildError;
use std::fs;
use std::path::Path;

/// Folders of results and of history: big, and no source.
const LEFT_OUT: [&str; 3] = ["target", ".git", "node_modules"];

/// Copies files, folders and links; what is there already and has the same size and time is left as it is, so that the next
/// build finds nothing changed.
///
/// # Errors
/// If something cannot be read or written.
pub fn copy(from: &Path, to: &Path) -> Result<(), BuildError> {
    fs::create_dir_all(to).map_err(BuildError::io(to))?;
    for entry in fs::read_dir(from).map_err(BuildError::io(from))? {
        let entry = entry.map_err(BuildError::io(from))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if LEFT_OUT.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        let kind = entry.file_type().map_err(BuildError::io(&source))?;
        if kind.is_dir() {
            copy(&source, &target)?;
        } else if kind.is_symlink() {
            let link = fs::read_link(&source).map_err(BuildError::io(&source))?;
            let _ = fs::remove_file(&target);
            std::os::unix::fs::symlink(link, &target).map_err(BuildError::io(&target))?;
        } else if kind.is_file() && !is_same(&source, &target) {
            let _ = fs::remove_file(&target);
            fs::copy(&source, &target).map_err(BuildError::io(&target))?;
            let times = fs::metadata(&source).and_then(|data| data.modified()).map_err(BuildError::io(&source))?;
            let file = fs::File::options().write(true).open(&target);
            // A file without write permission keeps the time of its copy: it is then copied again.
            if let Ok(file) = file {
                file.set_modified(times).map_err(BuildError::io(&target))?;
            }
        }
    }
    Ok(())
}

fn is_same(source: &Path, target: &Path) -> bool {
    let facts = |path: &Path| fs::symlink_metadata(path).and_then(|data| Ok((data.len(), data.modified()?))).ok();
    facts(target).is_some_and(|there| Some(there) == facts(source))
}
