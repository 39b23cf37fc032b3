//! A merged file that several programs use.

use super::{Place, list};
use std::path::PathBuf;
use underpin_fuse::{Fused, note};

/// A merged file, worked out for the first program of a group and not written yet.
pub struct GroupFile {
    pub(super) place: Place,
    pub(super) fused: Fused,
    pub(super) merged: Vec<note::Merged>,
}

impl GroupFile {
    /// Where it is or will be.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Whether it is there, whole.
    pub fn is_written(&self) -> bool {
        self.place.holds(&self.fused)
    }

    /// Writes it, and the list of the programs that are to use it.
    ///
    /// # Errors
    /// If it cannot be written; what was there before stays.
    pub fn write_for(&self, programs: &[PathBuf]) -> anyhow::Result<()> {
        let is_new = !self.is_written();
        if is_new {
            self.place.write(&self.fused, &list(self.place.file(), &self.merged, &self.fused.bytes)?, None)?;
        }
        let noted = self.place.write_users(programs);
        if is_new && noted.is_err() {
            self.place.remove();
        }
        noted
    }
}
