//! A rewrite under construction: the tables as they will be written, and the bytes that change.
//!
//! A strategy places strings and moves tables in the builder; [`PatchBuilder::finish`] writes the dynamic section, the
//! versions, both header tables and the record. Every offset is one in the rewritten file, so bytes after the kept part
//! of the original go to the appended tail.

use super::cut::{self, Cut};
use super::image::{Image, fault, reach};
use super::note;
use super::record::{Inverse, MovedRange, UndoRecord};
use super::sections::Sections;
use super::sizes::{table_size, with_nul};
use super::wanted::{Value, Wanted};
use super::{Caution, LoadCost, Patch, PlacedString, Refusal, Rewrite, RewriteOptions, Strategy, tags};
use bstr::BString;
use std::collections::BTreeMap;
use std::ops::Range;
use underpin_elf::raw::{RawEntry, RawSection, RawSegment};
use underpin_elf::{Fault, FileOffset};

/// Addresses whose content has moved.
pub(super) struct Moved {
    pub from: Range<u64>,
    /// The new address of `from.start`.
    pub to: u64,
}

/// A place in the rewritten file that a segment covers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub vaddr: u64,
    pub offset: u64,
    pub size: u64,
}

/// A rewrite under construction.
pub(super) struct PatchBuilder<'i, 'a> {
    pub image: &'i Image<'a>,
    pub segments: Vec<RawSegment>,
    /// `None` if the file has no section table, or none is wanted.
    pub sections: Option<Sections<'a>>,
    /// Where the program headers are.
    pub phoff: u64,
    /// DT_STRTAB.
    pub strtab: u64,
    /// DT_STRSZ.
    pub strsz: u64,
    /// Address and number of entries of the dynamic section.
    pub dynamic: (u64, usize),
    /// String offsets by string.
    pub offsets: BTreeMap<BString, u64>,
    /// The loader's name, which is after the table: patchelf overwrites an old table from its start to its end.
    pub interpreter: Option<BString>,
    pub placed: Vec<PlacedString>,
    pub tail: Vec<u8>,
    pub cost: LoadCost,
    pub cautions: Vec<Caution>,
    /// Tables that have moved.
    pub moved: Vec<Moved>,
    /// Holes that are in use: first and last file offset.
    pub taken: Vec<(u64, u64)>,
    /// Where the record goes, if not at the end of the file.
    pub record: Option<Place>,
    /// How many bytes are reserved for it there.
    pub reserve: u64,
    cut: Cut,
    /// Parts of the original that have moved.
    spans: Vec<MovedRange>,
    writes: Vec<(u64, Vec<u8>)>,
}

impl<'i, 'a> PatchBuilder<'i, 'a> {
    pub fn new(image: &'i Image<'a>, options: &RewriteOptions, reserve: u64) -> PatchBuilder<'i, 'a> {
        let sections = image.sections.as_ref().filter(|_| !options.without_sections);
        PatchBuilder {
            image,
            segments: image.segments.clone(),
            sections: sections.map(Sections::new),
            phoff: image.header.phoff,
            strtab: image.strings.vaddr,
            strsz: image.dynamic.value(tags::DT_STRSZ).unwrap_or(0),
            dynamic: (image.dynamic.vaddr, image.dynamic.capacity),
            offsets: BTreeMap::new(),
            interpreter: None,
            placed: Vec::new(),
            tail: Vec::new(),
            cost: LoadCost::default(),
            cautions: Vec::new(),
            moved: Vec::new(),
            taken: Vec::new(),
            record: None,
            reserve,
            cut: if sections.is_some() { cut::before_sections(image) } else { Cut::none(image) },
            spans: Vec::new(),
            writes: Vec::new(),
        }
    }

    /// The end of the file as written so far.
    pub fn end(&self) -> u64 {
        self.cut.kept.saturating_add(self.tail.len() as u64)
    }

    /// Cuts the file somewhere else, before anything is written after that place.
    pub fn cut(&mut self, cut: Cut) {
        self.cut = cut;
    }

    /// Appends zeros until the end of the file is at least `offset`.
    pub fn pad_to(&mut self, offset: u64) {
        let missing = usize::try_from(offset.saturating_sub(self.end())).unwrap_or(0);
        self.tail.resize(self.tail.len().saturating_add(missing), 0);
    }

    /// Records that bytes of the original at `offset` are now at `to`.
    pub fn slid(&mut self, offset: u64, to: u64, len: u64) {
        self.spans.push(MovedRange { from: to, to: offset, len });
    }

    /// Whether bytes of the original change in some place.
    pub fn has_written(&self, place: Range<u64>) -> bool {
        let within = |(start, bytes): &(u64, Vec<u8>)| *start < place.end && end_of(*start, bytes) > place.start;
        self.writes.iter().any(within)
    }

    /// Replaces bytes of the rewritten file; those after the kept part must already be in the tail.
    pub fn write(&mut self, offset: u64, bytes: Vec<u8>) {
        if let Some(at) = offset.checked_sub(self.cut.kept).and_then(|at| usize::try_from(at).ok()) {
            return put(&mut self.tail, at, &bytes);
        }
        let mut bytes = bytes;
        if let Ok(inside) = usize::try_from(self.cut.kept.saturating_sub(offset))
            && self.cut.kept < end_of(self.image.bytes.len() as u64, &self.tail)
            && inside < bytes.len()
        {
            let behind = bytes.split_off(inside);
            put(&mut self.tail, 0, &behind);
        }
        // A field of a table that has moved.
        let within = |(start, old): &(u64, Vec<u8>)| offset >= *start && end_of(offset, &bytes) <= end_of(*start, old);
        match self.writes.iter_mut().find(|write| within(write)) {
            Some((start, old)) => put(old, index(offset.saturating_sub(*start)), &bytes),
            None => self.writes.push((offset, bytes)),
        }
    }

    /// Writes a string and its NUL at an address that a segment already covers.
    pub fn place(&mut self, text: &BString, vaddr: u64, offset: u64, strategy: Strategy) {
        self.write(offset, [text.as_slice(), &[0]].concat());
        self.offsets.insert(text.clone(), vaddr.wrapping_sub(self.strtab));
        self.placed.push(PlacedString { text: text.clone(), offset: FileOffset(offset), strategy });
        self.strsz = self.strsz.max(vaddr.wrapping_sub(self.strtab).saturating_add(with_nul(text)));
    }

    /// File offset of an address in the rewritten file.
    pub fn offset_of(&self, vaddr: u64) -> Option<u64> {
        let end = usize::try_from(self.end()).ok()?;
        reach(&self.segments, vaddr, end).map(|(start, _)| start as u64)
    }

    /// Writes everything that follows from the placed strings, and the record, whose size is the second result.
    /// `digest` is that of the original.
    pub fn finish(
        mut self,
        wanted: &Wanted,
        options: &RewriteOptions,
        digest: &[u8],
    ) -> Result<(Rewrite, u64), Refusal> {
        self.write_dynamic(wanted)?;
        self.write_needs(wanted)?;
        self.write_interpreter(wanted)?;
        if self.sections.is_none() && !self.placed.is_empty() {
            self.cautions.push(Caution::Unregistered);
        }
        self.write_segments();
        self.write_pieces();
        let at = self.write_sections(!options.without_record);
        let mut record = 0;
        if !options.without_record {
            record = self.write_record(options, at, digest).ok_or(Refusal::TooFar)?;
        }
        let mut patches = self.patches();
        patches.sort_by_key(|patch| patch.offset);
        // Tables of a hostile file may overlap.
        let next = patches.iter().skip(1);
        if let Some((first, _)) = patches.iter().zip(next).find(|(first, next)| first.end() > next.offset.0) {
            return Err(fault(Fault::BadTable { what: "a table that overlaps another" }, first.offset.0));
        }
        let original_size = self.image.bytes.len() as u64;
        if patches.last().is_some_and(|last| last.end() > self.cut.kept) {
            return Err(fault(Fault::BadTable { what: "a table that runs over the end" }, self.cut.kept));
        }
        self.cost.file_bytes = self.end().saturating_sub(original_size);
        self.placed.sort_by_key(|placed| placed.offset);
        let rewrite = Rewrite {
            original_size,
            kept: self.cut.kept,
            patches,
            appended: self.tail,
            placed: self.placed,
            cost: self.cost,
            cautions: self.cautions,
        };
        Ok((rewrite, record))
    }

    /// The current address of an address in the original.
    fn address(&self, vaddr: u64) -> u64 {
        let moved = self.moved.iter().find(|moved| moved.from.contains(&vaddr));
        moved.map_or(vaddr, |moved| moved.to.saturating_add(vaddr.saturating_sub(moved.from.start)))
    }

    fn text_offset(&self, text: &BString) -> Result<u64, Refusal> {
        self.offsets.get(text).copied().ok_or_else(|| Refusal::Unplaced { name: text.clone() })
    }

    fn write_dynamic(&mut self, wanted: &Wanted) -> Result<(), Refusal> {
        let (vaddr, capacity) = self.dynamic;
        let mut entries = Vec::with_capacity(wanted.entries.len());
        for (tag, value) in &wanted.entries {
            let value = match (value, *tag) {
                (Value::Text(text), _) => self.text_offset(text)?,
                (Value::Number(_), tags::DT_STRTAB) => self.strtab,
                (Value::Number(_), tags::DT_STRSZ) => self.strsz,
                (Value::Number(number), tag) if tags::MOVABLE_TAGS.contains(&tag) => self.address(*number),
                (Value::Number(number), _) => *number,
            };
            if value > self.image.encoding.highest() {
                return Err(Refusal::TooFar);
            }
            entries.push(RawEntry { tag: *tag, value });
        }
        if let Some(over) = entries.len().checked_sub(capacity) {
            return Err(Refusal::DynamicFull { missing: over.saturating_add(1) });
        }
        // Removed entries become DT_NULL.
        entries
            .resize(capacity.min(self.image.dynamic.entries.len().max(entries.len())), RawEntry { tag: 0, value: 0 });
        let bytes = entries.into_iter().flat_map(|entry| self.image.encoding.entry_bytes(entry)).collect();
        let offset = self.offset_of(vaddr).ok_or(Refusal::TooFar)?;
        self.write(offset, bytes);
        Ok(())
    }

    fn write_needs(&mut self, wanted: &Wanted) -> Result<(), Refusal> {
        for (need, text) in &wanted.needs {
            let value = u32::try_from(self.text_offset(text)?).map_err(|_| Refusal::TooFar)?;
            let offset = self.offset_of(self.address(need.field)).ok_or(Refusal::TooFar)?;
            self.write(offset, self.image.encoding.u32_bytes(value).to_vec());
        }
        Ok(())
    }

    /// PT_INTERP is read from the file by the kernel and from memory by glibc (`elf/rtld.c`, `rtld_setup_main_map`), so
    /// its string is among the others, which are mapped.
    fn write_interpreter(&mut self, wanted: &Wanted) -> Result<(), Refusal> {
        let Some(text) = &wanted.interpreter else { return Ok(()) };
        let vaddr = self.strtab.wrapping_add(self.text_offset(text)?);
        let offset = self.offset_of(vaddr).ok_or(Refusal::TooFar)?;
        let size = with_nul(text);
        let mut old = None;
        for segment in self.segments.iter_mut().filter(|segment| segment.kind == tags::PT_INTERP) {
            old = Some(segment.vaddr);
            (segment.vaddr, segment.paddr, segment.offset) = (vaddr, vaddr, offset);
            (segment.file_size, segment.memory_size) = (size, size);
        }
        for section in self.section_headers().filter(|section| Some(section.addr) == old) {
            // `.interp` is the only section that begins there.
            (section.addr, section.offset, section.size) = (vaddr, offset, size);
        }
        Ok(())
    }

    fn write_segments(&mut self) {
        let encoding = self.image.encoding;
        let bytes = self.segments.iter().flat_map(|segment| encoding.segment_bytes(segment)).collect();
        self.write(self.phoff, bytes);
    }

    /// The headers of all sections.
    pub fn section_headers(&mut self) -> impl Iterator<Item = &mut RawSection> {
        self.sections.iter_mut().flat_map(|sections| &mut sections.headers)
    }

    /// Writes the displaced sections again.
    fn write_pieces(&mut self) {
        for piece in std::mem::take(&mut self.cut.pieces) {
            self.pad_to(self.end().next_multiple_of(piece.align));
            let to = self.end();
            let start = usize::try_from(piece.offset).unwrap_or(usize::MAX);
            let content = self.image.bytes.get(start..).and_then(|rest| rest.get(..usize::try_from(piece.size).ok()?));
            self.tail.extend_from_slice(content.unwrap_or_default());
            self.spans.push(MovedRange { from: to, to: piece.offset, len: piece.size });
            if let Some(section) = self.sections.as_mut().and_then(|sections| sections.headers.get_mut(piece.index)) {
                section.offset = to;
            }
        }
    }

    /// Appends the section table and writes the file header. Returns the place of the record's section header.
    fn write_sections(&mut self, with_record: bool) -> Option<u64> {
        let encoding = self.image.encoding;
        let mut header = self.image.header;
        header.phoff = self.phoff;
        header.phnum = u16::try_from(self.segments.len()).unwrap_or(header.phnum);
        let end = self.end();
        let record = with_record.then(|| self.record_section());
        let encoded = self.sections.take().map(|sections| sections.encode(encoding, end, &mut header, record));
        for (offset, bytes) in encoding.header_writes(&header) {
            self.write(offset, bytes);
        }
        let encoded = encoded?;
        self.pad_to(encoded.offset);
        self.tail.extend(encoded.bytes);
        let table = self.image.sections.as_ref()?;
        let size = table_size(table.entries.len(), encoding.section_size());
        let names = table.entries.get(table.names).map(|(_, section)| (section.offset, section.size))?;
        for (from, (to, len)) in [(encoded.offset, names), (encoded.headers_at, (self.image.header.shoff, size))] {
            if to >= self.cut.kept {
                self.spans.push(MovedRange { from, to, len });
            }
        }
        encoded.record_at
    }

    /// If its place is the end of the file, it is not known yet: then it is a place that no section ever has.
    fn record_section(&self) -> RawSection {
        let section = RawSection { kind: tags::SHT_NOTE, align: 4, ..RawSection::default() };
        let unknown = self.image.encoding.highest();
        self.record.map_or(RawSection { offset: unknown, size: unknown, ..section }, |place| RawSection {
            flags: tags::SHF_ALLOC,
            addr: place.vaddr,
            offset: place.offset,
            size: place.size,
            ..section
        })
    }

    /// Writes the record and returns its size; `None` if it does not fit into its place.
    fn write_record(&mut self, options: &RewriteOptions, header_at: Option<u64>, digest: &[u8]) -> Option<u64> {
        let encoding = self.image.encoding;
        let original_size = self.image.bytes.len() as u64;
        let mut record = UndoRecord::new(original_size, digest, options.bound.clone());
        record.kept = self.cut.kept;
        record.inverse = self.inverse();
        record.spans = std::mem::take(&mut self.spans);
        if let Some(place) = self.record {
            let note = note::encode(&record, encoding, Some(place.size))?;
            self.write(place.offset, note);
            return Some(place.size);
        }
        self.pad_to(self.end().next_multiple_of(4));
        let (offset, note) = (self.end(), note::encode(&record, encoding, None)?);
        let size = note.len() as u64;
        if let Some(at) = header_at {
            // `sh_offset` and `sh_size` follow two words of 32 bits and two addresses.
            let place = at.checked_add(table_size(2, encoding.word_size()))?.checked_add(8)?;
            self.write(place, [encoding.word_bytes(offset), encoding.word_bytes(size)].concat());
        }
        self.tail.extend(note);
        Some(size)
    }

    /// What turns the rewritten file, as written so far, back into the original.
    fn inverse(&self) -> Vec<Inverse> {
        let original = |offset: u64, len: usize| {
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            self.image.bytes.get(start..).and_then(|rest| rest.get(..len)).unwrap_or_default()
        };
        let mut inverse: Vec<Inverse> = self
            .writes
            .iter()
            .flat_map(|(offset, new)| {
                Inverse::between(*offset, original(*offset, new.len()), &self.slid_back(*offset, new))
            })
            .collect();
        // Its bytes are not known yet, so every original byte there is recorded.
        if let Some(place) = self.record.filter(|place| place.offset < self.cut.kept) {
            let size = usize::try_from(place.size).unwrap_or(usize::MAX);
            inverse.push(Inverse::new(place.offset, original(place.offset, size)));
        }
        inverse.sort_by_key(|inverse| inverse.offset);
        let kept = usize::try_from(self.cut.kept).unwrap_or(usize::MAX);
        let behind = self.image.bytes.get(kept..).unwrap_or_default();
        inverse.extend(Inverse::between(self.cut.kept, behind, &self.moved_back(behind.len())));
        inverse
    }

    /// What the spans alone restore of bytes that are written at an offset.
    fn slid_back(&self, offset: u64, new: &[u8]) -> Vec<u8> {
        let mut bytes = new.to_vec();
        let end = end_of(offset, new);
        for span in &self.spans {
            let (from, to) = (span.to.max(offset), span.to.saturating_add(span.len).min(end));
            if from < to {
                let now_at = span.from.saturating_add(from.saturating_sub(span.to));
                put(&mut bytes, index(from.saturating_sub(offset)), &self.now(now_at, to.saturating_sub(from)));
            }
        }
        bytes
    }

    /// Bytes of the rewritten file as written so far.
    fn now(&self, offset: u64, len: u64) -> Vec<u8> {
        let mut bytes = vec![0; index(len)];
        let kept = self.image.bytes.get(..index(self.cut.kept)).unwrap_or_default();
        let writes = self.writes.iter().map(|(start, written)| (*start, written.as_slice()));
        for (start, source) in std::iter::once((0, kept)).chain(writes).chain([(self.cut.kept, self.tail.as_slice())]) {
            let (from, to) = (start.max(offset), end_of(start, source).min(offset.saturating_add(len)));
            if from < to {
                let part = index(from.saturating_sub(start))..index(to.saturating_sub(start));
                put(&mut bytes, index(from.saturating_sub(offset)), source.get(part).unwrap_or_default());
            }
        }
        bytes
    }

    /// What the spans alone restore of the bytes after the kept part.
    fn moved_back(&self, len: usize) -> Vec<u8> {
        let mut behind = vec![0; len];
        for span in &self.spans {
            let range = |offset: u64| {
                let start = usize::try_from(offset.checked_sub(self.cut.kept)?).ok()?;
                Some(start..start.checked_add(usize::try_from(span.len).ok()?)?)
            };
            let moved = range(span.from).and_then(|from| self.tail.get(from));
            if let (Some(moved), Some(to)) = (moved, range(span.to).and_then(|to| behind.get_mut(to))) {
                to.copy_from_slice(moved);
            }
        }
        behind
    }

    /// The writes, each reduced to the bytes that differ.
    fn patches(&self) -> Vec<Patch> {
        let mut patches = Vec::with_capacity(self.writes.len());
        for (offset, new) in &self.writes {
            let start = usize::try_from(*offset).unwrap_or(usize::MAX);
            let old = self.image.bytes.get(start..).and_then(|rest| rest.get(..new.len())).unwrap_or_default();
            let differs = |(old, new): (&u8, &u8)| old != new;
            let Some(first) = old.iter().zip(new).position(differs) else { continue };
            let last = old.iter().zip(new).rposition(differs).unwrap_or(first);
            let bytes = new.get(first..=last).unwrap_or_default().to_vec();
            patches.push(Patch { offset: FileOffset(offset.saturating_add(first as u64)), bytes });
        }
        patches
    }
}

/// The end offset of bytes that start at an offset.
fn end_of(start: u64, bytes: &[u8]) -> u64 {
    start.saturating_add(bytes.len() as u64)
}

/// An offset as an index; one that does not fit becomes an index beyond any file.
fn index(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

/// Replaces bytes at an index; does nothing if they do not fit.
fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
    if let Some(place) = bytes.get_mut(at..).and_then(|rest| rest.get_mut(..new.len())) {
        place.copy_from_slice(new);
    }
}
