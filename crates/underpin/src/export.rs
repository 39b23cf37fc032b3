//! Files that the user asked for.

use anyhow::Context;
use std::fs;
use std::path::Path;

/// Writes a file.
///
/// # Errors
/// If the folder does not exist or cannot be written.
pub fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
