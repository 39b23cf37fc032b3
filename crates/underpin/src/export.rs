//! Files that the user asked for.

use crate::screen::Screen;
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

/// Writes a file, or puts the text on the screen if its name is `-`.
///
/// # Errors
/// As for [`write`].
pub fn write_or_show(path: &Path, text: String, screen: &mut Screen) -> anyhow::Result<()> {
    if path.as_os_str() == "-" {
        screen.text(text);
        return Ok(());
    }
    write(path, &text)
}
