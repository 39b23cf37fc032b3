//! Where a guest's output and files go.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use underpin_image::boot::Receiver;

/// A file of the guest, on its way.
#[derive(Debug, Default)]
pub struct Fetched {
    /// How many bytes came.
    pub bytes: u64,
    /// Why it is missing or not whole; `None` once it is in its place.
    pub error: Option<String>,
}

/// Passes streams on, or keeps them; writes files.
pub struct Sink<'a> {
    /// Whether streams are kept for a document.
    keeps: bool,
    /// Standard output, if kept.
    pub output: Vec<u8>,
    /// Standard error, if kept.
    pub errors: Vec<u8>,
    places: &'a [PathBuf],
    /// For each place, as far as it came.
    pub files: Vec<Fetched>,
    open: Option<(usize, File, PathBuf, u32)>,
}

impl<'a> Sink<'a> {
    /// For these files; none has come.
    pub fn new(keeps: bool, places: &'a [PathBuf]) -> Sink<'a> {
        let missing = || Fetched { bytes: 0, error: Some("the guest did not send it".to_owned()) };
        let files = places.iter().map(|_| missing()).collect();
        Sink { keeps, output: Vec::new(), errors: Vec::new(), places, files, open: None }
    }

    fn pass(&mut self, bytes: &[u8], error: bool) -> io::Result<()> {
        match (self.keeps, error) {
            (true, true) => self.errors.extend_from_slice(bytes),
            (true, false) => self.output.extend_from_slice(bytes),
            (false, true) => io::stderr().write_all(bytes)?,
            (false, false) => {
                let mut out = io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush())?;
            }
        }
        Ok(())
    }
}

impl Receiver for Sink<'_> {
    fn out(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.pass(bytes, false)
    }

    fn err(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.pass(bytes, true)
    }

    fn file(&mut self, index: usize, mode: Result<u32, io::Error>) -> io::Result<()> {
        let Some(place) = self.places.get(index) else { return Ok(()) };
        match mode {
            Ok(mode) => {
                let new = beside(place);
                let file = File::create(&new)
                    .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", new.display())))?;
                self.open = Some((index, file, new, mode & 0o777));
            }
            Err(error) => self.files[index].error = Some(format!("the guest cannot send it: {error}")),
        }
        Ok(())
    }

    fn file_data(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some((index, file, ..)) = &mut self.open else { return Ok(()) };
        self.files[*index].bytes += bytes.len() as u64;
        file.write_all(bytes)
    }

    fn file_end(&mut self, whole: Result<(), io::Error>) -> io::Result<()> {
        let Some((index, file, new, mode)) = self.open.take() else { return Ok(()) };
        match whole {
            Ok(()) => {
                file.set_permissions(fs::Permissions::from_mode(mode | 0o600))?;
                fs::rename(&new, &self.places[index])?;
                self.files[index].error = None;
            }
            Err(error) => {
                let _ = fs::remove_file(&new);
                self.files[index].error = Some(format!("the guest could not read it to its end: {error}"));
            }
        }
        Ok(())
    }
}

impl Drop for Sink<'_> {
    fn drop(&mut self) {
        if let Some((_, _, new, _)) = self.open.take() {
            // Half of a file is worse than none.
            let _ = fs::remove_file(new);
        }
    }
}

/// The name of a file that is not whole yet.
fn beside(place: &Path) -> PathBuf {
    let mut name = place.as_os_str().to_owned();
    name.push(".underpin-new");
    name.into()
}
