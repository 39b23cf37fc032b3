//! The section table of a rewritten file: the old one with sections added at its end, so that no index changes.

use super::image::SectionTable;
use super::sizes::table_size;
use super::{note, tags};
use underpin_elf::raw::{Encoding, RawHeader, RawSection};

/// From this number on, counts are stored in the first section header (`elf(5)`, SHN_LORESERVE).
const LORESERVE: usize = 0xff00;

/// The headers as they will be written, and the new names.
pub(super) struct Sections<'a> {
    pub headers: Vec<RawSection>,
    /// New names by index.
    names: Vec<(usize, &'static [u8])>,
    /// Index and bytes of the old table of names.
    old_names: (usize, &'a [u8]),
    shares_names: bool,
    /// The section of the record, if an older record has left its section.
    record: Option<usize>,
}

/// A table ready to be appended.
pub(super) struct Encoded {
    pub bytes: Vec<u8>,
    /// The file offset where `bytes` go.
    pub offset: u64,
    /// File offset of the header of the record's section.
    pub record_at: Option<u64>,
    /// File offset of the headers.
    pub headers_at: u64,
}

impl<'a> Sections<'a> {
    pub fn new(table: &SectionTable<'a>) -> Sections<'a> {
        Sections {
            headers: table.entries.iter().map(|(_, section)| *section).collect(),
            names: Vec::new(),
            old_names: (table.names, table.name_bytes),
            shares_names: table.shares_names(),
            record: table.entries.iter().rposition(|(name, _)| *name == note::SECTION),
        }
    }

    /// Adds a section at the end and returns its index.
    pub fn add(&mut self, name: &'static [u8], header: RawSection) -> usize {
        let index = self.headers.len();
        self.headers.push(header);
        self.rename(index, name);
        index
    }

    pub fn rename(&mut self, index: usize, name: &'static [u8]) {
        self.names.retain(|(renamed, _)| *renamed != index);
        self.names.push((index, name));
    }

    /// The names and the headers as bytes for the end of the file, and the file header that points to them. `record` is
    /// the section of the record, as far as it is known.
    pub fn encode(
        mut self,
        encoding: Encoding,
        at: u64,
        header: &mut RawHeader,
        record: Option<RawSection>,
    ) -> Encoded {
        let record = record.map(|section| self.set_record(section));
        let name_section = self.name_section();
        // Old names keep their offsets: the table is copied whole, so names that share bytes do not multiply its size.
        let mut bytes = self.old_names.1.to_vec();
        bytes.push(0);
        for (index, name) in &self.names {
            if let (Some(section), Ok(offset)) = (self.headers.get_mut(*index), u32::try_from(bytes.len())) {
                section.name = offset;
                bytes.extend_from_slice(name);
                bytes.push(0);
            }
        }
        if let Some(table) = self.headers.get_mut(name_section) {
            (table.offset, table.size) = (at, bytes.len() as u64);
        }
        let end = at.saturating_add(bytes.len() as u64);
        let headers_at = end.checked_next_multiple_of(8).unwrap_or(end);
        bytes.resize(usize::try_from(headers_at.saturating_sub(at)).unwrap_or(bytes.len()), 0);
        header.shoff = headers_at;
        header.shentsize = u16::try_from(encoding.section_size()).unwrap_or(0);
        self.set_counts(header, name_section);
        bytes.extend(self.headers.iter().flat_map(|section| encoding.section_bytes(section)));
        let record_at = record.map(|record| headers_at.saturating_add(table_size(record, encoding.section_size())));
        Encoded { bytes, offset: at, record_at, headers_at }
    }

    fn set_record(&mut self, section: RawSection) -> usize {
        let Some(index) = self.record else { return self.add(note::SECTION, section) };
        if let Some(old) = self.headers.get_mut(index) {
            *old = RawSection { name: old.name, ..section };
        }
        index
    }

    /// Index of the section for the names of all sections: a new one if symbols take their names from the old one.
    fn name_section(&mut self) -> usize {
        let old = self.old_names.0;
        if !self.shares_names {
            return old;
        }
        self.add(b".shstrtab", RawSection { kind: tags::SHT_STRTAB, align: 1, ..RawSection::default() })
    }

    fn set_counts(&mut self, header: &mut RawHeader, names: usize) {
        let count = self.headers.len();
        if let Some(first) = self.headers.first_mut() {
            first.size = if count >= LORESERVE { count as u64 } else { 0 };
            first.link = if names >= LORESERVE { u32::try_from(names).unwrap_or(0) } else { 0 };
        }
        header.shnum = u16::try_from(count).ok().filter(|_| count < LORESERVE).unwrap_or(0);
        header.shstrndx = u16::try_from(names).ok().filter(|_| names < LORESERVE).unwrap_or(u16::MAX);
    }
}
