//! The names in a file that a rewrite could change: what a planner has to know in addition to the closure.

use super::image::{Image, fault};
use super::{Refusal, refuse, tags};
use bstr::BString;
use underpin_elf::Fault;

/// The names of libraries in one file that can be rewritten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// DT_NEEDED in file order.
    pub needed: Vec<BString>,
    /// The `vn_file` of DT_VERNEED in file order. Usually all of them are in `needed`; one that is not has to be
    /// renamed like the object that it belongs to, or glibc stops with an assertion (`elf/dl-version.c`,
    /// `find_needed`).
    pub version_files: Vec<BString>,
}

impl Names {
    /// Reads them.
    ///
    /// # Errors
    /// The [`Refusal`] that [`super::rewrite`] would return for any edits.
    pub fn read(bytes: &[u8]) -> Result<Names, Refusal> {
        let image = Image::read(bytes)?;
        refuse::refuse(&image)?;
        let broken = || fault(Fault::BadTable { what: "a name in the dynamic string table" }, 0);
        // Entries may share bytes: together they must not be longer than a small multiple of the file.
        let mut budget = bytes.len().saturating_mul(4);
        let mut string = |offset: u64| {
            let text = image.strings.at(offset).ok_or_else(broken)?;
            budget = budget.checked_sub(text.len()).ok_or_else(broken)?;
            Ok(BString::from(text))
        };
        let needed = image.dynamic.entries.iter().filter(|entry| entry.tag == tags::DT_NEEDED);
        Ok(Names {
            needed: needed.map(|entry| string(entry.value)).collect::<Result<_, Refusal>>()?,
            version_files: image.needs.iter().map(|need| string(need.file.into())).collect::<Result<_, Refusal>>()?,
        })
    }
}
