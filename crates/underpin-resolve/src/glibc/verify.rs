//! `open_verify`: whether a file that bears the right name is taken, skipped, or stops the loader.

use super::{Engine, RTLD};
use crate::calls::CallName;
use crate::closure::{FatalReason, RejectRule, TryResult};
use crate::files::FileFacts;
use crate::root::{FileKind, PathError};
use bstr::BStr;
use std::sync::Arc;
use underpin_elf::{Class, Elf, Endian, FileType, Ident, Machine, SegmentKind};

/// Whether the file at one path is taken.
pub(super) enum Usability {
    Usable(Arc<FileFacts>),
    /// Not this one; the search may go on.
    Skip(TryResult),
    /// The loader gives up.
    Fatal(FatalReason),
}

/// The byte order as encoded in e_ident.
fn data_byte(endian: Endian) -> u8 {
    match endian {
        Endian::Little => 1,
        Endian::Big => 2,
    }
}

fn class_byte(class: Class) -> u8 {
    match class {
        Class::Elf32 => 1,
        Class::Elf64 => 2,
    }
}

impl Engine<'_> {
    pub(super) fn open_verify(&mut self, path: &BStr) -> Usability {
        let facts = match self.files.open(path) {
            Ok(facts) => facts,
            Err(error) => {
                self.call_open(path, true);
                return Usability::Skip(match error {
                    PathError::NotFound => TryResult::NotFound,
                    PathError::PermissionDenied => TryResult::PermissionDenied,
                    // glibc < 2.39 ends the list of directories here (BZ 31035).
                    PathError::NotDirectory if self.loader.at_least(39) => TryResult::NotFound,
                    other => TryResult::Failed { error: other.to_string() },
                });
            }
        };
        if facts.meta.kind == FileKind::Fifo {
            return Usability::Fatal(FatalReason::WouldBlock);
        }
        self.call_open(path, false);
        let usability = self.verify(path, &facts);
        if !matches!(usability, Usability::Usable(_)) {
            self.calls.push(CallName::Close, path, false);
        }
        usability
    }

    fn verify(&mut self, path: &BStr, facts: &Arc<FileFacts>) -> Usability {
        let failed = facts.meta.kind == FileKind::Directory;
        self.calls.push(CallName::Read, path, failed);
        if failed {
            return Usability::Fatal(FatalReason::Directory);
        }
        let header = if self.ident.class == Class::Elf64 { 64 } else { 52 };
        let Some(head) = facts.head.get(..header) else {
            if !facts.head.is_empty() {
                self.calls.push(CallName::Read, path, false);
            }
            return Usability::Fatal(FatalReason::TooShort);
        };
        if let Some(usability) = self.check_ident(head) {
            return usability;
        }
        match &facts.elf {
            Ok(elf) => self.check_header(path, elf, facts),
            Err(error) => Usability::Fatal(FatalReason::BadHeader { detail: error.to_string() }),
        }
    }

    /// e_ident and e_version, in the loader's order.
    fn check_ident(&self, head: &[u8]) -> Option<Usability> {
        let fatal = |detail: &str| Some(Usability::Fatal(FatalReason::BadHeader { detail: detail.into() }));
        if !head.starts_with(b"\x7fELF") {
            return Some(Usability::Fatal(FatalReason::NotElf));
        }
        if head[4] != class_byte(self.ident.class) {
            return Some(Usability::Skip(TryResult::OtherClass));
        }
        if head[5] != data_byte(self.ident.endian) {
            return Some(Usability::Fatal(FatalReason::WrongByteOrder));
        }
        if head[6] != 1 {
            return fatal("ELF file version ident does not match current one");
        }
        match (head[7], head[8]) {
            (0 | 3, 0) | (0, 1..4) | (3, 1..8) => {}
            (0 | 3, _) => return fatal("ELF file ABI version invalid"),
            // ARM has its own value for the old ABI.
            (97, 0) if self.ident.machine == Machine::ARM => {}
            _ => return fatal("ELF file OS ABI invalid"),
        }
        if head[9..16].iter().any(|&byte| byte != 0) {
            return fatal("nonzero padding in e_ident");
        }
        if self.ident.machine == Machine::ARM && self.is_other_float_abi(head) {
            // Debian's loaders skip it; in others it is the error that no check explains.
            let multiarch = self.loader.lib_token.contains(&b'/');
            return if multiarch { Some(Usability::Skip(TryResult::OtherMachine)) } else { fatal("internal error") };
        }
        None
    }

    /// Whether an ARM object is marked with the float ABI that is not the loader's
    /// (sysdeps/unix/sysv/linux/arm/ldsodefs.h `VALID_FLOAT_ABI`).
    fn is_other_float_abi(&self, head: &[u8]) -> bool {
        const EABI_5: u32 = 0x0500_0000;
        const SOFT: u32 = 0x200;
        const HARD: u32 = 0x400;
        let Some(raw) = head.get(36..).and_then(|rest| rest.first_chunk::<4>()) else { return false };
        let flags = match self.ident.endian {
            Endian::Little => u32::from_le_bytes(*raw),
            Endian::Big => u32::from_be_bytes(*raw),
        };
        let own = self.maps[RTLD].facts.as_ref().and_then(|facts| facts.elf.as_ref().ok());
        let is_hard = own.map_or(self.ident.flags, |elf| elf.ident.flags) & HARD != 0;
        flags & 0xff00_0000 == EABI_5 && flags & if is_hard { SOFT } else { HARD } != 0
    }

    fn check_header(&mut self, path: &BStr, elf: &Elf, facts: &Arc<FileFacts>) -> Usability {
        if !same_machine(&self.ident, &elf.ident) {
            return Usability::Skip(TryResult::OtherMachine);
        }
        if !matches!(elf.ident.file_type, FileType::Dynamic | FileType::Executable) {
            return Usability::Fatal(FatalReason::WrongType);
        }
        let expected = if self.ident.class == Class::Elf64 { 56 } else { 32 };
        if elf.segment_entry_size != expected {
            let detail = "ELF file's phentsize not the expected size".into();
            return Usability::Fatal(FatalReason::BadHeader { detail });
        }
        if segments_beyond_head(elf, self.head_size()) {
            self.calls.push(CallName::Pread64, path, false);
        }
        if !self.loader.at_least(36) && !self.accepts_notes(path, elf, facts) {
            return Usability::Skip(TryResult::Rejected { rule: RejectRule::AbiNote });
        }
        Usability::Usable(Arc::clone(facts))
    }

    /// Bytes of the first read (`struct filebuf`).
    pub(super) fn head_size(&self) -> u64 {
        if self.ident.class == Class::Elf64 { crate::files::HEAD as u64 } else { 512 }
    }

    /// Until 2.35 the ABI note is looked for in every PT_NOTE, with a read of its own if it is beyond the head; a file
    /// for another system or a newer kernel is skipped.
    fn accepts_notes(&mut self, path: &BStr, elf: &Elf, facts: &FileFacts) -> bool {
        for segment in elf.segments.iter().filter(|segment| segment.kind == SegmentKind::Note) {
            if segment.file_size < ABI_NOTE || !matches!(segment.align, 4 | 8) {
                continue;
            }
            if segment.offset.0.saturating_add(segment.file_size) > self.head_size() {
                self.calls.push(CallName::Pread64, path, false);
            }
            if let Some(tag) = abi_tag(facts, segment, self.ident.endian) {
                let kernel = self.files.root().kernel();
                return tag.system == LINUX && kernel.is_none_or(|kernel| tag.kernel <= kernel);
            }
        }
        true
    }
}

/// Bytes of an NT_GNU_ABI_TAG note.
const ABI_NOTE: u64 = 32;
/// `__ABI_TAG_OS` of Linux.
const LINUX: u32 = 0;

/// What an ABI note asks for.
struct AbiTag {
    system: u32,
    kernel: [u8; 3],
}

/// The first `GNU` note of type 1 (NT_GNU_ABI_TAG) of a segment.
fn abi_tag(facts: &FileFacts, segment: &underpin_elf::Segment, endian: Endian) -> Option<AbiTag> {
    const LIMIT: u64 = 1 << 16;
    let mut bytes = vec![0; usize::try_from(segment.file_size.min(LIMIT)).ok()?];
    facts.source.read_exact_at(segment.offset.0, &mut bytes).ok()?;
    let word = |at: usize| {
        let raw = *bytes.get(at..)?.first_chunk::<4>()?;
        Some(if endian == Endian::Little { u32::from_le_bytes(raw) } else { u32::from_be_bytes(raw) })
    };
    let align = |size: u64| size.next_multiple_of(segment.align);
    let mut at = 0;
    loop {
        let (name, content) = (word(at)?, word(at + 4)?);
        if (name, content, word(at + 8)?) == (4, 16, 1) && bytes.get(at + 12..at + 16)? == b"GNU\0" {
            let number = |index: usize| Some(word(at + 20 + 4 * index)?.to_le_bytes()[0]);
            return Some(AbiTag { system: word(at + 16)?, kernel: [number(0)?, number(1)?, number(2)?] });
        }
        at = at.checked_add(usize::try_from(align(12 + u64::from(name)) + align(u64::from(content))).ok()?)?;
    }
}

/// Whether the program headers reach past the first read.
pub(super) fn segments_beyond_head(elf: &Elf, head: u64) -> bool {
    let size = u64::from(elf.segment_entry_size) * elf.segments.len() as u64;
    elf.segments_offset.0.saturating_add(size) > head
}

/// `elf_machine_matches_host`.
fn same_machine(wanted: &Ident, found: &Ident) -> bool {
    if wanted.machine != found.machine {
        return false;
    }
    match wanted.machine {
        // The float ABI of RISC-V must be the same (sysdeps/riscv/dl-machine.h).
        Machine::RISCV => wanted.flags & 6 == found.flags & 6,
        // ELFv1 and ELFv2 of 64-bit PowerPC do not mix (sysdeps/powerpc/powerpc64/dl-machine.h).
        Machine::PPC64 => found.flags & 3 == 0 || wanted.flags & 3 == 0 || wanted.flags & 3 == found.flags & 3,
        _ => true,
    }
}
