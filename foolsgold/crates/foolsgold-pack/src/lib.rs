//! The bytes of a pack, an application within foolsgold's executable: pure, from bytes to an [`Index`] and back.
//!
//! ```text
//! executable | data of all files | index | trailer
//! ```
//!
//! Numbers are little-endian. The trailer, [`TRAILER`] bytes: start of the data (u64), its length (u64), length of the
//! index (u64), SHA-256 of the index, version (u32), 16 bytes of magic. The index: a count (u32), and for each file,
//! sorted by name: length of the name (u16), the name, kind (u8), two lengths (u64 each), SHA-256 of its data. Data is
//! in the order of the index without gaps, so a set of files has exactly one encoding, and every byte is covered by a
//! hash. A link has no data: its first length is the index position of its target.

#![forbid(unsafe_code)]

use sha2::{Digest, Sha256};

/// Length of the trailer in bytes.
pub const TRAILER: usize = 8 * 3 + 32 + 4 + MAGIC.len();
/// The version of the format that is read and written.
pub const VERSION: u32 = 1;
/// The longest index that is read; enough for 100,000 files with long names.
pub const MAX_INDEX: u64 = 64 * 1024 * 1024;
/// The longest name in bytes.
pub const MAX_NAME: usize = 1024;

const MAGIC: &[u8; 16] = b"\0foolsgold pack\n";

/// What is wrong with a pack.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// The executable has extra bytes that do not end in a trailer.
    #[error("it has {0} bytes behind its own end that do not end as a pack does (was it copied in part?)")]
    NoTrailer(u64),
    /// The file was truncated.
    #[error("{0} bytes are missing at its end")]
    Short(u64),
    /// Written by an incompatible foolsgold.
    #[error("its format is version {0}, and this foolsgold reads version {VERSION}")]
    Version(u32),
    /// Lengths that do not add up.
    #[error("its lengths do not add up to its size")]
    Lengths,
    /// The index's hash does not match.
    #[error("its index is not as it was written")]
    IndexSum,
    /// The index breaks a rule.
    #[error("its index is malformed at byte {at}: {rule}")]
    Index {
        /// Offset in the index.
        at: usize,
        /// The rule that is broken.
        rule: &'static str,
    },
    /// A file's hash does not match.
    #[error("its file {0} is not as it was written")]
    FileSum(String),
}

/// Where the parts of a pack are; offsets from the executable's first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trailer {
    /// First byte of the data, and length of the executable.
    pub start: u64,
    /// Length of the data.
    pub data: u64,
    /// Length of the index.
    pub index: u64,
    /// SHA-256 of the index.
    pub sum: [u8; 32],
}

impl Trailer {
    /// Reads the last bytes of a file of `size` bytes. `None` if they are not a trailer.
    ///
    /// # Errors
    /// If the trailer has another version, or its lengths do not match the file's.
    pub fn parse(last: &[u8; TRAILER], size: u64) -> Result<Option<Trailer>, FormatError> {
        let mut reader = Reader { bytes: last, at: 0 };
        let [start, data, index] = [reader.u64()?, reader.u64()?, reader.u64()?];
        let (sum, version) = (reader.sum()?, reader.u32()?);
        if reader.take(MAGIC.len())? != MAGIC {
            return Ok(None);
        }
        if version != VERSION {
            return Err(FormatError::Version(version));
        }
        let end = start.checked_add(data).and_then(|end| end.checked_add(index)?.checked_add(TRAILER as u64));
        if end != Some(size) || index > MAX_INDEX {
            return Err(FormatError::Lengths);
        }
        Ok(Some(Trailer { start, data, index, sum }))
    }

    fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(TRAILER);
        for number in [self.start, self.data, self.index] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.sum);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(MAGIC);
        bytes
    }
}

/// What a file in a pack is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes as in the file.
    Plain {
        /// Their number.
        length: u64,
    },
    /// Bytecode, followed by the source if that was kept.
    Ruby {
        /// Bytes of bytecode.
        bytecode: u64,
        /// Bytes of source.
        source: Option<u64>,
    },
    /// Another name of a file.
    Link {
        /// Its position in the index; never a link.
        target: usize,
    },
}

impl Kind {
    /// Length of its data.
    #[must_use]
    pub fn length(self) -> u64 {
        match self {
            Kind::Plain { length } => length,
            Kind::Ruby { bytecode, source } => bytecode.saturating_add(source.unwrap_or(0)),
            Kind::Link { .. } => 0,
        }
    }

    /// Code and the two lengths, as written.
    fn written(self) -> (u8, u64, u64) {
        match self {
            Kind::Plain { length } => (0, length, 0),
            Kind::Ruby { bytecode, source: None } => (1, bytecode, 0),
            Kind::Ruby { bytecode, source: Some(source) } => (2, bytecode, source),
            Kind::Link { target } => (3, target as u64, 0),
        }
    }

    fn read((code, first, second): (u8, u64, u64)) -> Option<Kind> {
        match (code, second) {
            (0, 0) => Some(Kind::Plain { length: first }),
            (1, 0) => Some(Kind::Ruby { bytecode: first, source: None }),
            (2, _) if first.checked_add(second).is_some() => Some(Kind::Ruby { bytecode: first, source: Some(second) }),
            (3, 0) => Some(Kind::Link { target: usize::try_from(first).ok()? }),
            _ => None,
        }
    }
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Relative to the application's folder, with `/` between its parts.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Where its data begins, from the start of all data.
    pub offset: u64,
    /// SHA-256 of its data.
    pub sum: [u8; 32],
}

/// Every file of a pack, sorted by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index(Vec<Entry>);

impl Index {
    /// Reads an index for `data` bytes of data.
    ///
    /// # Errors
    /// At the first rule that is broken.
    pub fn parse(bytes: &[u8], data: u64) -> Result<Index, FormatError> {
        let mut reader = Reader { bytes, at: 0 };
        let count = reader.u32()? as usize;
        // Reserves no more than the bytes can fill: an entry takes at least 51.
        let mut entries: Vec<Entry> = Vec::with_capacity(count.min(bytes.len() / 51));
        let mut offset = 0u64;
        for _ in 0..count {
            let at = reader.at;
            let broken = |rule| FormatError::Index { at, rule };
            let entry = reader.entry(offset)?;
            if entries.last().is_some_and(|last| last.name >= entry.name) {
                return Err(broken("the names are not sorted"));
            }
            let end = offset.checked_add(entry.kind.length()).filter(|end| *end <= data);
            offset = end.ok_or_else(|| broken("a file ends behind the data"))?;
            entries.push(entry);
        }
        let broken = |rule| Err(FormatError::Index { at: reader.at, rule });
        if reader.at != bytes.len() || offset != data {
            return broken("there is more than the files named");
        }
        let links =
            entries.iter().filter_map(|entry| if let Kind::Link { target } = entry.kind { Some(target) } else { None });
        if links
            .into_iter()
            .any(|target| !matches!(entries.get(target), Some(entry) if !matches!(entry.kind, Kind::Link { .. })))
        {
            return broken("a link names no file");
        }
        Ok(Index(entries))
    }

    /// All files.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// Finds a file by its name, following links.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Entry> {
        let entry = &self.0[self.0.binary_search_by(|entry| entry.name.as_str().cmp(name)).ok()?];
        if let Kind::Link { target } = entry.kind { self.0.get(target) } else { Some(entry) }
    }
}

/// The data of a file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// Bytes as in the file.
    Plain(Vec<u8>),
    /// Bytecode, and the source if it is kept.
    Ruby(Vec<u8>, Option<Vec<u8>>),
    /// The name of another file of the set, which is not a link.
    Link(String),
}

/// Everything that follows an executable of `start` bytes: data, index, trailer. Names must be valid in an index
/// ([`fit`]) and each link must name a file of the set, or the result cannot be read.
#[must_use]
pub fn write(start: u64, files: &std::collections::BTreeMap<String, Data>) -> Vec<u8> {
    let (mut data, mut index) = (Vec::new(), Vec::new());
    index.extend(u32::try_from(files.len()).unwrap_or(u32::MAX).to_le_bytes());
    for (name, file) in files {
        let from = data.len();
        let kind = match file {
            Data::Plain(bytes) => {
                data.extend(bytes);
                Kind::Plain { length: bytes.len() as u64 }
            }
            Data::Ruby(bytecode, source) => {
                data.extend(bytecode);
                data.extend(source.iter().flatten());
                let source = source.as_ref().map(|source| source.len() as u64);
                Kind::Ruby { bytecode: bytecode.len() as u64, source }
            }
            Data::Link(target) => Kind::Link { target: files.range(..target.clone()).count() },
        };
        let (code, first, second) = kind.written();
        index.extend(u16::try_from(name.len()).unwrap_or(u16::MAX).to_le_bytes());
        index.extend(name.as_bytes());
        index.push(code);
        index.extend(first.to_le_bytes());
        index.extend(second.to_le_bytes());
        index.extend(Sha256::digest(&data[from..]));
    }
    let trailer =
        Trailer { start, data: data.len() as u64, index: index.len() as u64, sum: Sha256::digest(&index).into() };
    data.extend(index);
    data.extend(trailer.write());
    data
}

/// Whether a name is valid in an index: relative, without `.`, `..`, empty parts or NUL, and not too long.
#[must_use]
pub fn fit(name: &str) -> bool {
    name.len() <= MAX_NAME && !name.contains('\0') && name.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// Reads numbers, never past the end.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], FormatError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some((taken, _)) = rest.split_at_checked(length) else {
            return Err(FormatError::Index { at: self.at, rule: "it ends too early" });
        };
        self.at += length;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn u16(&mut self) -> Result<u16, FormatError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    fn u32(&mut self) -> Result<u32, FormatError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, FormatError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn sum(&mut self) -> Result<[u8; 32], FormatError> {
        self.array()
    }

    fn entry(&mut self, offset: u64) -> Result<Entry, FormatError> {
        let at = self.at;
        let broken = |rule| FormatError::Index { at, rule };
        let length = usize::from(self.u16()?);
        let name = str::from_utf8(self.take(length)?).map_err(|_| broken("a name is not UTF-8"))?;
        if !fit(name) {
            return Err(broken("a name would lead out of the application"));
        }
        let written = (self.array::<1>()?[0], self.u64()?, self.u64()?);
        let kind = Kind::read(written).ok_or_else(|| broken("a file is of an unknown kind"))?;
        Ok(Entry { name: name.to_owned(), kind, offset, sum: self.sum()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn files() -> BTreeMap<String, Data> {
        let ruby = |source: Option<&[u8]>| Data::Ruby(b"RITE".to_vec(), source.map(<[u8]>::to_vec));
        BTreeMap::from([
            ("config.ru".to_owned(), ruby(None)),
            ("lib/a.rb".to_owned(), ruby(Some(b"p 1"))),
            ("lib/empty".to_owned(), Data::Plain(Vec::new())),
            ("lib/same.rb".to_owned(), Data::Link("lib/a.rb".to_owned())),
            ("views/page.erb".to_owned(), Data::Plain(b"<%= 1 %>".to_vec())),
        ])
    }

    /// Trailer and index of an archive after an executable of 100 bytes.
    fn parse(archive: &[u8]) -> Result<(Trailer, Index), FormatError> {
        let last = archive.last_chunk().ok_or(FormatError::Lengths)?;
        let trailer = Trailer::parse(last, 100 + archive.len() as u64)?.ok_or(FormatError::Lengths)?;
        let from = usize::try_from(trailer.data).unwrap();
        let bytes = &archive[from..archive.len() - TRAILER];
        if trailer.start != 100 || Sha256::digest(bytes)[..] != trailer.sum {
            return Err(FormatError::IndexSum);
        }
        Ok((trailer, Index::parse(bytes, trailer.data)?))
    }

    #[test]
    fn what_was_written_is_read_back() {
        let archive = write(100, &files());
        let (_, index) = parse(&archive).unwrap();
        let names: Vec<&str> = index.entries().iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, files().keys().map(String::as_str).collect::<Vec<_>>());
        let (link, target) = (index.find("lib/same.rb").unwrap(), index.find("lib/a.rb").unwrap());
        assert_eq!(link, target);
        assert_eq!(target.kind, Kind::Ruby { bytecode: 4, source: Some(3) });
        let from = usize::try_from(target.offset).unwrap();
        assert_eq!(&archive[from..from + 7], b"RITEp 1");
        assert_eq!(index.find("lib"), None);
    }

    #[test]
    fn every_flipped_bit_of_index_and_trailer_is_noticed() {
        let archive = write(100, &files());
        let data: u64 = parse(&archive).unwrap().0.data;
        for at in usize::try_from(data).unwrap()..archive.len() {
            for bit in 0..8 {
                let mut damaged = archive.clone();
                damaged[at] ^= 1 << bit;
                assert!(parse(&damaged).is_err(), "byte {at}, bit {bit}");
            }
        }
    }

    #[test]
    fn every_shortened_archive_is_refused() {
        let archive = write(100, &files());
        assert!((0..archive.len()).all(|length| parse(&archive[..length]).is_err()));
    }

    /// An index of one plain file of that name.
    fn index(name: &str) -> Vec<u8> {
        let length = u16::try_from(name.len()).unwrap().to_le_bytes();
        [&1u32.to_le_bytes()[..], &length, name.as_bytes(), &[0], &[0; 16], &[7; 32]].concat()
    }

    #[test]
    fn a_name_that_leads_out_of_the_application_is_refused() {
        assert!(Index::parse(&index("lib/a..b"), 0).is_ok());
        for name in ["", "/etc/passwd", "../a", "a/../b", "a//b", "a/", "./a", "a\0b"] {
            let refused = Index::parse(&index(name), 0).unwrap_err();
            assert_eq!(
                refused,
                FormatError::Index { at: 4, rule: "a name would lead out of the application" },
                "{name}"
            );
        }
    }

    #[test]
    fn a_link_to_a_link_or_to_nothing_is_refused() {
        for target in [0u64, 1, u64::MAX] {
            let mut bytes = index("a");
            bytes[7] = 3;
            bytes[8..16].copy_from_slice(&target.to_le_bytes());
            assert!(Index::parse(&bytes, 0).unwrap_err().to_string().contains("a link names no file"));
        }
    }

    #[test]
    fn lengths_whose_sum_overflows_are_refused() {
        let mut bytes = index("a");
        bytes[7] = 2;
        bytes[8..24].fill(0xff);
        assert!(Index::parse(&bytes, u64::MAX).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_error_or_an_index_of_all_the_data(bytes in proptest::collection::vec(any::<u8>(), 0..300), data in 0..9u64) {
            if let Ok(index) = Index::parse(&bytes, data) {
                prop_assert_eq!(index.entries().iter().map(|entry| entry.kind.length()).sum::<u64>(), data);
            }
        }
    }
}
