//! Headers that musl has not and that need no library: what programs take from them are macros. They come behind all others,
//! so that a project's own and those of its libraries are found first.

use crate::BuildError;
use crate::work;
use std::fs;
use std::path::Path;

/// The folder of them, in that of the tools.
pub(crate) const FOLDER: &str = "bsd";

const HEADERS: [(&str, &str); 2] =
    [("sys/cdefs.h", include_str!("../native/sys/cdefs.h")), ("sys/queue.h", include_str!("../native/sys/queue.h"))];

/// Writes them into a folder.
///
/// # Errors
/// If one cannot be written.
pub(crate) fn write(folder: &Path) -> Result<(), BuildError> {
    for (name, text) in HEADERS {
        let path = folder.join(name);
        let beside = path.parent().unwrap_or(folder);
        fs::create_dir_all(beside).map_err(BuildError::io(beside))?;
        work::write(&path, text.as_bytes())?;
    }
    Ok(())
}
