//! Files of an image's folder, each under its name only when it is whole.

use super::ManifestFile;
use crate::ImageError;
use crate::store::{hex, settle, sha256_of};
use crate::write::Place;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// What a file is called until it is whole.
pub(super) const NEW: &str = ".underpin-new";

/// Takes everything that is written, and adds up size and checksum.
struct Summed<W> {
    out: W,
    sum: Sha256,
    bytes: u64,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.sum.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// The folder of an image on its way.
pub(super) struct Files<'a> {
    pub folder: &'a Path,
}

impl Files<'_> {
    /// Writes a file from its beginning to its end.
    pub fn write(
        &self,
        name: &str,
        content: impl FnOnce(&mut dyn Write, &Path) -> Result<(), ImageError>,
    ) -> Result<ManifestFile, ImageError> {
        let new = New(self.folder.join(format!("{name}{NEW}")));
        let file = File::create(&new.0).map_err(ImageError::io(&new.0))?;
        let mut out = Summed { out: BufWriter::with_capacity(1 << 16, file), sum: Sha256::new(), bytes: 0 };
        content(&mut out, &new.0)?;
        out.flush().map_err(ImageError::io(&new.0))?;
        let (bytes, sum) = (out.bytes, hex(&out.sum.finalize()));
        settle(&new.0, &self.folder.join(name))?;
        Ok(ManifestFile { file: name.to_owned(), bytes, sha256: sum })
    }

    /// Writes a file here and there.
    pub fn write_disk(
        &self,
        name: &str,
        content: impl FnOnce(&Place<'_>) -> Result<(), ImageError>,
    ) -> Result<ManifestFile, ImageError> {
        let new = New(self.folder.join(format!("{name}{NEW}")));
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&new.0);
        let file = file.map_err(ImageError::io(&new.0))?;
        content(&Place { file: &file, offset: 0, path: &new.0 })?;
        let bytes = file.metadata().map_err(ImageError::io(&new.0))?.len();
        let sum = sha256_of(&new.0)?;
        settle(&new.0, &self.folder.join(name))?;
        Ok(ManifestFile { file: name.to_owned(), bytes, sha256: sum })
    }

    /// Writes a value as JSON.
    pub fn json(&self, name: &str, value: &impl Serialize) -> Result<ManifestFile, ImageError> {
        let text = serde_json::to_vec_pretty(value)
            .map_err(|error| ImageError::Damaged { path: self.folder.join(name), reason: error.to_string() })?;
        let with_end = |out: &mut dyn Write, to: &Path| {
            out.write_all(&text).and_then(|()| out.write_all(b"\n")).map_err(ImageError::io(to))
        };
        self.write(name, with_end)
    }
}

/// A file that is not whole: it is gone unless it got its name.
struct New(PathBuf);

impl Drop for New {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
