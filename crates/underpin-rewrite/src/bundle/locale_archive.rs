//! glibc's archive of locales (`locale-archive`), as localedef(1) writes it: the files of one locale.
//!
//! Layout: glibc `locale/locarchive.h`. A head, a hash table of names, a table of records; each record gives, for every
//! category, where in the archive the bytes of its file are.

use bstr::{BStr, BString, ByteSlice};

const MAGIC: u32 = 0xde02_0109;
/// Bytes of an entry in the table of names: hash, offset of the name, offset of the record.
const NAME: usize = 12;

/// Categories and their numbers, which are indices into a record (`<bits/locale.h>`; 6 is LC_ALL).
const CATEGORIES: [(usize, &str); 12] = [
    (0, "LC_CTYPE"),
    (1, "LC_NUMERIC"),
    (2, "LC_TIME"),
    (3, "LC_COLLATE"),
    (4, "LC_MONETARY"),
    (5, "LC_MESSAGES/SYS_LC_MESSAGES"),
    (7, "LC_PAPER"),
    (8, "LC_NAME"),
    (9, "LC_ADDRESS"),
    (10, "LC_TELEPHONE"),
    (11, "LC_MEASUREMENT"),
    (12, "LC_IDENTIFICATION"),
];

/// A locale in an archive.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Archived<'a> {
    /// Its name in the archive.
    pub name: BString,
    /// Its files, by the names that they have in a directory.
    pub files: Vec<(&'static str, &'a [u8])>,
}

/// The first locale whose name `is_meant` accepts. `None` if there is none, or if this is not an archive.
pub(super) fn find<'a>(archive: &'a [u8], is_meant: impl Fn(&BStr) -> bool) -> Option<Archived<'a>> {
    let word = |at: usize| Some(u32::from_ne_bytes(*archive.get(at..)?.first_chunk()?));
    let offset = |at: usize| usize::try_from(word(at)?).ok();
    if word(0)? != MAGIC {
        return None;
    }
    let (names, size) = (offset(8)?, offset(16)?);
    for index in 0..size.min(archive.len() / NAME) {
        let entry = names.checked_add(index * NAME)?;
        let (name, record) = (offset(entry + 4)?, offset(entry + 8)?);
        if record == 0 {
            continue;
        }
        let name = archive.get(name..)?;
        let name = name[..name.find_byte(0)?].as_bstr();
        if !is_meant(name) {
            continue;
        }
        let file = |&(category, file): &(usize, &'static str)| {
            let place = record.checked_add(4 + category * 8)?;
            let bytes = archive.get(offset(place)?..)?.get(..offset(place + 4)?)?;
            Some((file, bytes))
        };
        let files = CATEGORIES.iter().map(file).collect::<Option<_>>()?;
        return Some(Archived { name: name.into(), files });
    }
    None
}
