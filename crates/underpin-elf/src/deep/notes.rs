//! Reads notes from segments and sections, and decodes those that have a use.

use crate::raw::Encoding;
use crate::window::Window;
use crate::{
    AbiOs, AbiTag, BuildId, BuildNote, CachedName, CachedPlace, DlopenNote, DlopenPriority, Elf, ElfError, Fault,
};
use crate::{FileOffset, IsaLevels, Machine, NoteHead, Notes, PackageNote, Probe, Properties, ResolutionCache};
use crate::{Section, SectionKind, SegmentKind, Source, Vaddr};
use bstr::{BString, ByteSlice};
use serde::Deserialize;

/// All notes; a malformed note ends its own list and goes to `defects`.
pub(crate) fn read<S: Source + ?Sized>(
    window: &Window<'_, S>,
    encoding: Encoding,
    elf: &Elf,
    sections: &[Section],
    defects: &mut Vec<ElfError>,
) -> Notes {
    let mut notes = Notes::default();
    for (offset, size, align) in ranges(elf, sections, window.len()) {
        match window.range(offset, size, "the notes") {
            Ok(bytes) => {
                let list = List { encoding, machine: elf.ident.machine, offset, align };
                if let Err(error) = list.read(&bytes, &mut notes) {
                    defects.push(error);
                }
            }
            Err(error) => defects.push(error),
        }
    }
    notes
}

/// Offset, size and alignment of every list of notes: segments first, then the sections that no segment covers.
fn ranges(elf: &Elf, sections: &[Section], len: u64) -> Vec<(u64, u64, u64)> {
    let is_note = |kind| matches!(kind, SegmentKind::Note | SegmentKind::Property);
    let segments = elf.segments.iter().filter(|segment| is_note(segment.kind));
    let mut ranges: Vec<(u64, u64, u64)> = Vec::new();
    let sections = sections.iter().filter(|section| section.kind == SectionKind::Note);
    // Lists that overlap without one covering the other are read twice, but not without limit.
    let mut left = len.saturating_mul(2);
    let candidates = segments
        .map(|segment| (segment.offset.0, segment.file_size, segment.align))
        .chain(sections.map(|section| (section.offset.0, section.size, section.align)));
    for (offset, size, align) in candidates {
        let end = offset.saturating_add(size);
        let covered = ranges.iter().any(|(start, size, _)| *start <= offset && end <= start.saturating_add(*size));
        if size > 0
            && !covered
            && ranges.len() < 256
            && let Some(rest) = left.checked_sub(size)
        {
            left = rest;
            ranges.push((offset, size, align));
        }
    }
    ranges
}

/// One list of notes. Fields are padded to 4 bytes, or to 8 if the list has that alignment (gABI, `elf(5)`).
struct List {
    encoding: Encoding,
    machine: Machine,
    offset: u64,
    align: u64,
}

/// One note.
struct Note<'b> {
    owner: &'b [u8],
    kind: u32,
    content: &'b [u8],
}

impl List {
    fn read(&self, bytes: &[u8], notes: &mut Notes) -> Result<(), ElfError> {
        let mut at = 0;
        // Fewer than 12 bytes are padding after the last note.
        while bytes.len().saturating_sub(at) >= 12 {
            let malformed = || ElfError {
                fault: Fault::BadTable { what: "a note" },
                offset: FileOffset(self.offset.saturating_add(at as u64)),
            };
            let (note, next) = self.note(bytes, at).ok_or_else(malformed)?;
            let owner = BString::from(note.owner);
            notes.all.push(NoteHead { owner, kind: note.kind, size: note.content.len() as u64 });
            self.decode(&note, notes).ok_or_else(malformed)?;
            at = next;
        }
        Ok(())
    }

    /// The note at `at`, and where the next one starts.
    fn note<'b>(&self, bytes: &'b [u8], at: usize) -> Option<(Note<'b>, usize)> {
        let align = if self.align == 8 { 8 } else { 4 };
        let head = bytes.get(at..)?;
        let size = |field| self.encoding.u32(head, field).and_then(|size| usize::try_from(size).ok());
        let (owner_size, content_size) = (size(0)?, size(4)?);
        let kind = self.encoding.u32(head, 8)?;
        let owner_at = at.checked_add(12)?;
        let content_at = owner_at.checked_add(owner_size)?.checked_next_multiple_of(align)?;
        let owner = bytes.get(owner_at..)?.get(..owner_size)?.trim_end_with(|last| last == '\0');
        let content = bytes.get(content_at.min(bytes.len())..)?.get(..content_size)?;
        let next = content_at.checked_add(content_size)?.checked_next_multiple_of(align)?;
        Some((Note { owner, kind, content }, next))
    }

    /// Stores the content of the note; `None` if it is malformed.
    fn decode(&self, note: &Note<'_>, notes: &mut Notes) -> Option<()> {
        match (note.owner, note.kind) {
            (b"GNU", 1) => notes.abi = Some(self.abi_tag(note.content)?),
            (b"GNU", 3) => notes.build_id = Some(BuildId(note.content.to_vec())),
            (b"GNU", 5) => self.properties(note.content, &mut notes.properties)?,
            (b"Go", 4) => notes.go_build_id = Some(note.content.trim_end_with(|last| last == '\0').into()),
            (b"stapsdt", 3) => notes.probes.push(self.probe(note.content)?),
            (b"FDO", 0x407c_0c0a) => notes.dlopen.extend(dlopen_entries(note.content)?),
            (b"FDO", 0xcafe_1a7e) => notes.package = Some(package(note.content)?),
            (b"underpin", crate::BUILD_NOTE_TYPE) => notes.build = Some(build_note(note.content)),
            (b"NixOS", 0x63a8_6cb6) => notes.resolution_cache = Some(resolution_cache(note.content)),
            _ => {}
        }
        Some(())
    }

    fn abi_tag(&self, content: &[u8]) -> Option<AbiTag> {
        let word = |at: usize| self.encoding.u32(content, at);
        let os = match word(0)? {
            0 => AbiOs::Linux,
            1 => AbiOs::Hurd,
            2 => AbiOs::Solaris,
            3 => AbiOs::FreeBsd,
            other => AbiOs::Other(other),
        };
        Some(AbiTag { os, kernel: (word(4)?, word(8)?, word(12)?) })
    }

    /// NT_GNU_PROPERTY_TYPE_0: a list of type, size, data, padded to the size of an address. The numbers mean different
    /// things on each machine (Linux gABI extensions, x86-64 psABI, AArch64 sysvabi).
    fn properties(&self, mut content: &[u8], properties: &mut Properties) -> Option<()> {
        while content.len() >= 8 {
            let (kind, size) = (self.encoding.u32(content, 0)?, self.encoding.u32(content, 4)?);
            let size = usize::try_from(size).ok()?;
            let data = content.get(8..)?.get(..size)?;
            let bits = self.encoding.u32(data, 0);
            match (self.machine, kind, bits) {
                (Machine::X86_64 | Machine::I386, 0xc000_8002, Some(bits)) => {
                    properties.x86_isa_needed = Some(IsaLevels(bits));
                }
                (Machine::X86_64 | Machine::I386, 0xc001_0002, Some(bits)) => {
                    properties.x86_isa_used = Some(IsaLevels(bits));
                }
                (Machine::X86_64 | Machine::I386, 0xc000_0002, Some(bits)) => {
                    properties.ibt = bits & 1 != 0;
                    properties.shadow_stack = bits & 2 != 0;
                }
                (Machine::AARCH64, 0xc000_0000, Some(bits)) => {
                    properties.bti = bits & 1 != 0;
                    properties.pac = bits & 2 != 0;
                }
                _ => {}
            }
            let next = size.checked_add(8)?.checked_next_multiple_of(self.encoding.word_size())?;
            content = content.get(next.min(content.len())..)?;
        }
        Some(())
    }

    /// Three addresses, then three strings (SystemTap, `UserSpaceProbeImplementation`).
    fn probe(&self, content: &[u8]) -> Option<Probe> {
        let size = self.encoding.word_size();
        let mut words = content.chunks_exact(size);
        let mut address = || self.encoding.word(words.next()?, 0).map(Vaddr);
        let (pc, base, semaphore) = (address()?, address()?, address()?);
        let mut strings = content.get(size.checked_mul(3)?..)?.split_str("\0").map(BString::from);
        let [provider, name, arguments] = [strings.next()?, strings.next()?, strings.next().unwrap_or_default()];
        Some(Probe { provider, name, arguments, pc, base, semaphore })
    }
}

/// `.note.dlopen`: a JSON array, followed by NUL.
fn dlopen_entries(content: &[u8]) -> Option<Vec<DlopenNote>> {
    #[derive(Deserialize)]
    struct Raw {
        soname: Vec<String>,
        feature: Option<String>,
        description: Option<String>,
        priority: Option<String>,
    }
    let raw: Vec<Raw> = serde_json::from_slice(content.trim_end_with(|last| last == '\0')).ok()?;
    let entry = |raw: Raw| DlopenNote {
        sonames: raw.soname,
        feature: raw.feature,
        description: raw.description,
        priority: match raw.priority.as_deref() {
            Some("required") => DlopenPriority::Required,
            Some("suggested") => DlopenPriority::Suggested,
            _ => DlopenPriority::Recommended,
        },
    };
    Some(raw.into_iter().map(entry).collect())
}

/// `.note.package`: a JSON object of strings.
fn package(content: &[u8]) -> Option<PackageNote> {
    #[derive(Deserialize)]
    struct Raw {
        #[serde(rename = "type")]
        kind: Option<String>,
        name: Option<String>,
        version: Option<String>,
        architecture: Option<String>,
        os: Option<String>,
        #[serde(rename = "osCpe")]
        os_cpe: Option<String>,
    }
    let raw: Raw = serde_json::from_slice(content.trim_end_with(|last| last == '\0')).ok()?;
    let Raw { kind, name, version, architecture, os, os_cpe } = raw;
    Some(PackageNote { kind, name, version, architecture, os, os_cpe })
}

/// `key=value`, a line each; a line without a key is left out.
fn build_note(content: &[u8]) -> BuildNote {
    let text = content.trim_end_with(|last| last == '\0');
    let claims = text.lines().filter_map(|line| line.split_once_str("=")).filter(|(key, _)| !key.is_empty());
    BuildNote { claims: claims.map(|(key, value)| (key.into(), value.into())).collect() }
}

/// Pairs of NUL-terminated strings, needed name and colon-separated places, until an empty name.
fn resolution_cache(content: &[u8]) -> ResolutionCache {
    let mut cache = ResolutionCache::default();
    let mut strings = content.split_str("\0");
    while let (Some(needed), Some(places)) = (strings.next().filter(|name| !name.is_empty()), strings.next()) {
        let place = |text: &[u8]| match text.split_first() {
            Some((b'=', path)) => CachedPlace::File(path.into()),
            Some((b'?', directory)) => CachedPlace::Directory(directory.into()),
            _ => CachedPlace::Unknown(text.into()),
        };
        cache.entries.push(CachedName { needed: needed.into(), places: places.split_str(":").map(place).collect() });
    }
    cache
}
