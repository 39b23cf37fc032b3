//! In which form an image is there, without reading it.

use super::read::clean;
use super::spool::Slice;
use super::tape::Tape;
use super::{Form, OciError};
use bstr::ByteSlice;
use std::fs::{self, File};
use std::path::Path;

/// In which form an image is there, by names alone: no layer is read. `None` if it is no image.
///
/// # Errors
/// If it cannot be read, or is damaged.
pub fn form(path: &Path) -> Result<Option<Form>, OciError> {
    let kind = fs::metadata(path).map_err(OciError::io(path))?.file_type();
    if kind.is_dir() {
        return Ok((path.join("index.json").is_file() && path.join("oci-layout").is_file()).then_some(Form::Layout));
    }
    if !kind.is_file() {
        return Ok(None);
    }
    let slice = File::open(path).and_then(Slice::of).map_err(OciError::io(path))?;
    let mut tape = Tape::new(&slice, path, "the tar");
    // What is no tar at all is no image either.
    while let Ok(Some(member)) = tape.member() {
        match clean(member.name.as_bstr()).as_slice() {
            b"oci-layout" => return Ok(Some(Form::OciArchive)),
            b"manifest.json" => return Ok(Some(Form::DockerArchive)),
            _ => {}
        }
    }
    Ok(None)
}
