//! What musl's headers lack of glibc's and needs no library: what programs take from them are macros. Whole headers come behind all
//! others, so that a project's own and those of its libraries are found first; what a header of musl's own leaves out comes
//! before that one.

use crate::BuildError;
use crate::work;
use std::fs;
use std::path::Path;

/// The folder of those that come behind, in that of the tools.
pub(crate) const BEHIND: &str = "bsd";
/// The folder of those that come before musl's.
pub(crate) const BEFORE: &str = "gnu";

/// Folder, name in it, and text.
pub(crate) const HEADERS: [(&str, &str, &str); 3] = [
    (BEHIND, "sys/cdefs.h", include_str!("../native/sys/cdefs.h")),
    (BEHIND, "sys/queue.h", include_str!("../native/sys/queue.h")),
    (BEFORE, "features.h", include_str!("../native/features.h")),
];

/// Writes them into their folders in that of the tools.
///
/// # Errors
/// If one cannot be written.
pub(crate) fn write(tools: &Path) -> Result<(), BuildError> {
    for (folder, name, text) in HEADERS {
        let folder = &tools.join(folder);
        let path = folder.join(name);
        let beside = path.parent().unwrap_or(folder);
        fs::create_dir_all(beside).map_err(BuildError::io(beside))?;
        work::write(&path, text.as_bytes())?;
    }
    Ok(())
}
