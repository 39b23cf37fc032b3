//! Adds a launcher to a program: one segment of code, one of data, a program header table and a dynamic section of
//! their own, all after the program's own bytes, which stay unchanged except for the ELF header.
//!
//! The kernel sees a program without PT_INTERP and starts it at the launcher. The loader is shown a second header table
//! that has one. On disk the new dynamic section is an ordinary one, with sonames and a DT_RPATH relative to `$ORIGIN`,
//! so that every tool reads the bundle correctly; the launcher makes it name absolute paths, in memory.

use super::head::{Head, Launcher, as_usize};
use super::{BundleError, hooks};
use bstr::BString;
use underpin_elf::{Elf, Machine, Segment, SegmentKind};

/// Entries of the dynamic section (`<elf.h>`).
mod tag {
    pub const NULL: u64 = 0;
    pub const NEEDED: u64 = 1;
    pub const STRTAB: u64 = 5;
    pub const STRSZ: u64 = 10;
    pub const RPATH: u64 = 15;
    pub const RUNPATH: u64 = 29;
    pub const PREINIT_ARRAY: u64 = 32;
    pub const PREINIT_SIZE: u64 = 33;
}

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_INTERP: u32 = 3;
const PT_PHDR: u32 = 6;
const HEADER_SIZE: u64 = 56;
/// The maximum length of a path, in bytes (`PATH_MAX`).
const PATH_MAX: u64 = 4096;
/// The size of an object's record, in bytes.
const RECORD: u64 = 64;
/// In place of a slot: the program itself does not name that library.
const NO_SLOT: u64 = u64::MAX;

/// A library that the program will name.
#[derive(Clone, Debug)]
pub(super) struct Named {
    /// The name that objects use for it.
    pub name: BString,
    /// Its path below the top (directory form), its path for `hooks`, or its name (file form).
    pub place: BString,
    /// File form: where it is, how many bytes its segments need, how many are copied at start.
    pub stored: Stored,
    /// Whether the name is its soname.
    pub is_soname: bool,
    /// File form: names in it that refer to other libraries, as the offset in it and the index of the other one.
    pub fixups: Vec<(u64, usize)>,
}

/// Where a library is in the file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stored {
    /// From the start of the file.
    pub offset: u64,
    /// Up to the end of its last segment.
    pub needed_size: u64,
    /// From its start, what the loader reads before any code of it runs; the same as `needed_size` if it is copied
    /// whole.
    pub eager_size: u64,
    /// Whether relocation writes to its code (DT_TEXTREL).
    pub writes_code: bool,
}

/// Charset modules of the bundle.
#[derive(Clone, Debug)]
pub(super) struct Charsets {
    /// Index of the C library among the named ones.
    pub library: usize,
    /// Their directory below the top.
    pub place: BString,
    /// Addresses of setenv, unsetenv, iconv_open, iconv_close in the C library.
    pub functions: [u64; 4],
}

/// Where libraries come from.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// From files below a directory.
    Directory {
        /// How many directories below it the program is.
        up: u64,
        /// The loader's path below it.
        loader: BString,
        /// The directory of libraries below it.
        libraries: BString,
        /// Further entries of DT_RPATH, each preceded by a colon.
        more: BString,
    },
    /// From the program's own file.
    File {
        /// The loader's name, for PT_INTERP.
        loader: BString,
        /// Where it is in the file.
        stored: Stored,
        /// Offset and size of the code that its system calls jump to (`hooks`); `None` if libraries are copied for it.
        hooks: Option<(u64, u64)>,
    },
}

/// Everything that a graft needs.
pub(super) struct Graft<'a> {
    pub program: &'a [u8],
    pub elf: &'a Elf,
    pub launcher: &'a Launcher,
    /// In load order.
    pub named: Vec<Named>,
    /// Whether each library gets a DT_NEEDED of its own (glibc), or only those that the program has one for (musl).
    pub flatten: bool,
    pub source: Source,
    pub charsets: Option<Charsets>,
}

/// Tag and value of an entry of a dynamic section.
type Entry = (u64, u64);

/// Alignment of what is appended, in bytes: the largest page of the machine.
pub(super) fn alignment(machine: Machine) -> u64 {
    if machine == Machine::AARCH64 { 0x1_0000 } else { 0x1000 }
}

/// Bytes under construction; the offset of each piece is known as soon as it is added.
#[derive(Default)]
struct Data(Vec<u8>);

impl Data {
    fn put(&mut self, bytes: &[u8]) -> u64 {
        let offset = self.0.len() as u64;
        self.0.extend_from_slice(bytes);
        offset
    }

    fn text(&mut self, text: &[u8]) -> u64 {
        let offset = self.put(text);
        self.0.push(0);
        offset
    }

    fn align(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
    }
}

/// The data segment.
struct DataSegment {
    data: Vec<u8>,
    head: Head,
    /// Its size in memory, which includes room for composed names after its bytes.
    memory_size: u64,
}

/// Where the two segments are.
struct Places {
    code: (u64, u64),
    data: (u64, u64),
}

impl Graft<'_> {
    /// The program with its launcher. In the file form the payload follows it, at a multiple of [`alignment`].
    ///
    /// # Errors
    /// [`BundleError::Program`] if its headers are invalid.
    pub fn bytes(&self) -> Result<Vec<u8>, BundleError> {
        let places = self.places();
        let DataSegment { data, head, memory_size } = self.data(&places)?;
        let mut bytes = self.program.to_vec();
        bytes.resize(as_usize(places.code.0), 0);
        bytes.extend(self.launcher.pointed_at(places.data.1 - places.code.1));
        bytes.resize(as_usize(places.data.0), 0);
        let tables = self.tables(&places, &head, data.len() as u64, memory_size)?;
        bytes.extend_from_slice(&data);
        for (address, table) in tables {
            let start = as_usize(places.data.0 + (address - places.data.1));
            bytes[start..start + table.len()].copy_from_slice(&table);
        }
        self.file_header(&mut bytes, places.code.1 + self.launcher.entry(), places.data.0 + Head::SIZE)?;
        Ok(bytes)
    }

    fn places(&self) -> Places {
        let align = alignment(self.elf.ident.machine);
        let end = self.elf.loads().map(|load| load.vaddr.0.saturating_add(load.memory_size)).max().unwrap_or(0);
        let offset = (self.program.len() as u64).next_multiple_of(align);
        let address = end.next_multiple_of(align);
        let step = self.launcher.size().next_multiple_of(align);
        Places { code: (offset, address), data: (offset + step, address + step) }
    }

    fn header_count(&self) -> u64 {
        let has_phdr = self.elf.segment(SegmentKind::ProgramHeaders).is_some();
        // One for the code, one for the data, PT_INTERP only in the loader's table.
        self.elf.segments.len() as u64 + 2 + u64::from(!has_phdr)
    }

    /// The data segment.
    fn data(&self, places: &Places) -> Result<DataSegment, BundleError> {
        let address = |offset: u64| places.data.1 + offset;
        let mut head = Head { own_address: address(0), entry: self.elf.entry.0, ..Head::default() };
        let mut data = Data::default();
        data.put(&vec![0; as_usize(Head::SIZE)]);
        let table_size = self.header_count() * HEADER_SIZE;
        data.put(&vec![0; as_usize(table_size)]);
        head.headers = address(data.put(&vec![0; as_usize(table_size)]));
        head.header_count = self.header_count();
        let (mut strings, end_of_old) = self.old_strings()?;
        let names: Vec<u64> = self.named.iter().map(|named| strings.text(&named.name)).collect();
        let search_text = strings.text(&self.search_on_disk());
        debug_assert!(end_of_old <= search_text);
        let (mut entries, slots) = self.entries(&names, search_text)?;
        head.strings = address(Head::SIZE + 2 * table_size + entries.len() as u64 * 16);
        for entry in &mut entries {
            match entry.0 {
                tag::STRTAB => entry.1 = head.strings,
                tag::PREINIT_ARRAY if self.is_partial() => entry.1 = address(Head::PREINIT),
                tag::STRSZ => entry.1 = strings.0.len() as u64,
                _ => {}
            }
        }
        let dynamic: Vec<u8> =
            entries.iter().flat_map(|(tag, value)| [*tag, *value]).flat_map(u64::to_le_bytes).collect();
        head.dynamic = address(data.put(&dynamic));
        data.put(&strings.0);
        data.align();
        self.fill(&mut head, &mut data, &slots);
        let search = entries.iter().position(|entry| entry.0 == tag::RPATH);
        head.preinit = if self.is_partial() { Head::PREINIT } else { 0 };
        head.search_slot = search.map_or(0, |index| index as u64 + 1);
        data.align();
        head.interpreter = data.0.len() as u64;
        head.room = head.interpreter + PATH_MAX;
        head.room_size = self.room();
        data.0[..as_usize(Head::SIZE)].copy_from_slice(&head.bytes());
        let memory_size = head.room + head.room_size;
        Ok(DataSegment { data: data.0, head, memory_size })
    }

    /// Room for every absolute path at its maximum length: pages that are never written cost nothing.
    fn room(&self) -> u64 {
        let texts: u64 = self.named.iter().map(|named| named.place.len() as u64 + 1).sum();
        (self.named.len() as u64 + 4) * PATH_MAX + texts
    }

    /// Whether the launcher copies only parts of libraries and maps the rest before the first initialiser.
    fn is_partial(&self) -> bool {
        self.named.iter().any(|named| named.stored.eager_size < named.stored.needed_size)
    }

    /// A copy of the program's string table, to be extended, and its size.
    fn old_strings(&self) -> Result<(Data, u64), BundleError> {
        let table = self.elf.dynamic.as_ref().and_then(|dynamic| dynamic.string_table);
        let (start, size) = table.ok_or_else(|| BundleError::program("it has no DT_STRTAB"))?;
        let offset = self.elf.offset_of(start).ok_or_else(|| BundleError::program("DT_STRTAB points outside"))?;
        let bytes = self.program.get(as_usize(offset.0)..).and_then(|rest| rest.get(..as_usize(size)));
        let bytes = bytes.ok_or_else(|| BundleError::program("its string table is cut short"))?;
        let mut data = Data(bytes.to_vec());
        data.0.push(0);
        Ok((data, size))
    }

    /// DT_RPATH as tools see it.
    fn search_on_disk(&self) -> BString {
        match &self.source {
            Source::Directory { up, libraries, more, .. } => {
                let back = "../".repeat(as_usize(*up).saturating_sub(1));
                [b"$ORIGIN/", back.as_bytes(), libraries, more].concat().into()
            }
            Source::File { hooks: Some(_), .. } => hooks::FOLDER.into(),
            Source::File { .. } => BString::default(),
        }
    }

    /// The new dynamic section, and the index of the DT_NEEDED of each named library.
    fn entries(&self, names: &[u64], search: u64) -> Result<(Vec<Entry>, Vec<Option<u64>>), BundleError> {
        let old = self.old_entries()?;
        let mut entries = Vec::new();
        let mut slots = vec![None; names.len()];
        if self.flatten {
            for (slot, name) in slots.iter_mut().zip(names) {
                *slot = Some(entries.len() as u64);
                entries.push((tag::NEEDED, *name));
            }
        }
        let in_memory = matches!(self.source, Source::File { hooks: None, .. });
        let mut needed = self.elf.dynamic.iter().flat_map(|dynamic| &dynamic.needed);
        for (kind, value) in old {
            if kind == tag::RPATH || kind == tag::RUNPATH {
                continue;
            }
            if kind == tag::NEEDED
                && let Some(name) = needed.next()
                && let Some(index) = self.named.iter().position(|named| named.name == *name)
            {
                match self.flatten {
                    // The name stays in addition to the path, because versions are looked up by it; but no
                    // library in memory would match a name that is not a soname.
                    true if in_memory && !self.named[index].is_soname => continue,
                    true => {}
                    false => slots[index] = Some(entries.len() as u64),
                }
            }
            entries.push((kind, value));
        }
        if !in_memory {
            entries.push((tag::RPATH, search));
        }
        if self.is_partial() {
            entries.extend([(tag::PREINIT_ARRAY, 0), (tag::PREINIT_SIZE, 8)]);
        }
        entries.push((tag::NULL, 0));
        Ok((entries, slots))
    }

    fn old_entries(&self) -> Result<Vec<Entry>, BundleError> {
        let segment = self.elf.segment(SegmentKind::Dynamic).ok_or_else(|| BundleError::program("no PT_DYNAMIC"))?;
        let start = as_usize(segment.offset.0);
        let bytes = self.program.get(start..).and_then(|rest| rest.get(..as_usize(segment.file_size)));
        let bytes = bytes.ok_or_else(|| BundleError::program("its dynamic section is cut short"))?;
        let (words, _) = bytes.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let (pairs, _) = words.as_chunks::<2>();
        Ok(pairs.iter().map(|&[tag, value]| (tag, value)).take_while(|&(tag, _)| tag != tag::NULL).collect())
    }

    /// Records and texts.
    fn fill(&self, head: &mut Head, data: &mut Data, slots: &[Option<u64>]) {
        // In a directory a library finds the others by itself; in a file only the launcher can provide it.
        let all = matches!(self.source, Source::File { .. });
        let slots = slots.iter().map(|slot| slot.or(all.then_some(NO_SLOT)));
        let records: Vec<(&Named, u64)> =
            self.named.iter().zip(slots).filter_map(|(named, slot)| Some((named, slot?))).collect();
        head.objects = data.0.len() as u64;
        head.object_count = records.len() as u64;
        let mut text = head.objects + head.object_count * RECORD;
        for (named, slot) in &records {
            let stored = named.stored;
            let sizes = [stored.offset, stored.needed_size, stored.eager_size, u64::from(stored.writes_code)];
            let [offset, needed, eager, writes_code] = sizes;
            let record = [*slot, text, offset, needed, eager, writes_code, 0, 0];
            data.put(&record.map(u64::to_le_bytes).concat());
            text += named.place.len() as u64 + 1;
        }
        for (named, _) in &records {
            data.text(&named.place);
        }
        data.align();
        head.fixups = data.0.len() as u64;
        for (holder, (named, _)) in records.iter().enumerate() {
            for (offset, target) in &named.fixups {
                data.put(&[holder as u64, *offset, *target as u64].map(u64::to_le_bytes).concat());
                head.fixup_count += 1;
            }
        }
        match &self.source {
            Source::Directory { up, loader, libraries, more } => {
                head.up = *up;
                head.loader = data.text(loader);
                head.search = data.text(libraries);
                data.text(more);
            }
            Source::File { loader, stored, hooks } => {
                head.form = 1;
                (head.hooks, head.hooks_size) = hooks.unwrap_or_default();
                head.loader = stored.offset;
                head.loader_size = stored.needed_size;
                head.search = data.text(loader);
            }
        }
        if let Some(charsets) = &self.charsets {
            // Only glibc has charset modules, and there every library has a record.
            head.charsets_of = charsets.library as u64 + 1;
            head.charsets = data.text(&charsets.place);
            head.functions = charsets.functions;
        }
    }

    /// The two program header tables: the kernel's, and the loader's with a PT_INTERP.
    fn tables(&self, places: &Places, head: &Head, size: u64, memory: u64) -> Result<[(u64, Vec<u8>); 2], BundleError> {
        let kernel = places.data.1 + Head::SIZE;
        let code_size = self.launcher.size();
        let code = program_header(PT_LOAD, 5, places.code, (code_size, code_size), alignment(self.elf.ident.machine));
        let data = program_header(PT_LOAD, 6, places.data, (size, memory), alignment(self.elf.ident.machine));
        let dynamic_offset = places.data.0 + (head.dynamic - places.data.1);
        let dynamic_size = head.strings - head.dynamic;
        let interpreter = (places.data.0, places.data.1 + head.interpreter);
        let table = |address: u64, with_interpreter: bool| -> Result<Vec<u8>, BundleError> {
            let offset = places.data.0 + (address - places.data.1);
            let table_size = self.header_count() * HEADER_SIZE;
            let mut headers = vec![program_header(PT_PHDR, 4, (offset, address), (table_size, table_size), 8)];
            let interp = program_header(PT_INTERP, 4, interpreter, (1, PATH_MAX), 1);
            headers.push(if with_interpreter { interp } else { [0; 56] });
            let last = self.elf.segments.iter().rposition(|segment| segment.kind == SegmentKind::Load);
            for (index, segment) in self.elf.segments.iter().enumerate() {
                match segment.kind {
                    SegmentKind::ProgramHeaders | SegmentKind::Interpreter => {}
                    SegmentKind::Dynamic => {
                        let place = (dynamic_offset, head.dynamic);
                        headers.push(program_header(PT_DYNAMIC, 6, place, (dynamic_size, dynamic_size), 8));
                    }
                    _ => headers.push(self.raw_header(index)?),
                }
                if Some(index) == last {
                    headers.extend([code, data]);
                }
            }
            headers.resize(as_usize(self.header_count()), [0; 56]);
            Ok(headers.concat())
        };
        Ok([(kernel, table(kernel, false)?), (head.headers, table(head.headers, true)?)])
    }

    fn raw_header(&self, index: usize) -> Result<[u8; 56], BundleError> {
        let start = as_usize(self.elf.segments_offset.0) + index * as_usize(HEADER_SIZE);
        let bytes = self.program.get(start..).and_then(|rest| rest.first_chunk::<56>());
        bytes.copied().ok_or_else(|| BundleError::program("its program headers are cut short"))
    }

    fn file_header(&self, bytes: &mut [u8], entry: u64, headers: u64) -> Result<(), BundleError> {
        let count = u16::try_from(self.header_count()).map_err(|_| BundleError::program("too many program headers"))?;
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(24, &entry.to_le_bytes());
        put(32, &headers.to_le_bytes());
        put(56, &count.to_le_bytes());
        // No section headers (e_shoff, e_shnum, e_shstrndx): they would not describe the launcher, and strip would drop
        // it. Without them strip, eu-strip and objcopy refuse the file and leave it unchanged.
        put(40, &[0; 8]);
        put(60, &[0; 4]);
        Ok(())
    }
}

/// An ELF64 program header. `place` is offset and address, `sizes` those in the file and in memory.
fn program_header(kind: u32, flags: u32, place: (u64, u64), sizes: (u64, u64), align: u64) -> [u8; 56] {
    let mut header = [0; 56];
    header[0..4].copy_from_slice(&kind.to_le_bytes());
    header[4..8].copy_from_slice(&flags.to_le_bytes());
    let words = [place.0, place.1, place.1, sizes.0, sizes.1, align];
    for (target, word) in header[8..].chunks_exact_mut(8).zip(words) {
        target.copy_from_slice(&word.to_le_bytes());
    }
    header
}

/// The end of an object's last segment in its file: the bytes after it are for tools, not for loaders.
pub(super) fn loaded_size(elf: &Elf) -> u64 {
    let end = |load: &Segment| load.offset.0.saturating_add(load.file_size);
    let headers = elf.segments_offset.0 + elf.segments.len() as u64 * HEADER_SIZE;
    elf.loads().map(end).max().unwrap_or(0).max(headers)
}
