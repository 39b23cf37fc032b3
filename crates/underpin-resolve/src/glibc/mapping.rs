//! `_dl_map_segments` and the protections after relocation: which calls one object costs once it is found.

use super::search::Candidate;
use super::verify::segments_beyond_head;
use super::{Engine, MAIN, MapId, RTLD};
use crate::calls::CallName;
use crate::closure::FatalReason;
use crate::pages::{PAGE, page_down, page_up, protects_relro};
use bstr::BString;
use underpin_elf::{Elf, FileType, Segment, SegmentKind};

/// One PT_LOAD as the loader lays it out (`struct loadcmd`).
struct LoadCommand {
    map_start: u64,
    map_end: u64,
    data_end: u64,
    alloc_end: u64,
    writable: bool,
}

impl LoadCommand {
    fn new(segment: &Segment) -> LoadCommand {
        let data_end = segment.vaddr.0.saturating_add(segment.file_size);
        LoadCommand {
            map_start: page_down(segment.vaddr.0),
            map_end: page_up(data_end),
            data_end,
            alloc_end: segment.vaddr.0.saturating_add(segment.memory_size),
            writable: segment.flags.write,
        }
    }
}

impl Engine<'_> {
    /// Maps a found object: the calls from the program headers to close(2).
    pub(super) fn map_segments(&mut self, candidate: &Candidate) -> Result<(), FatalReason> {
        let path = &candidate.path;
        let Ok(elf) = &candidate.facts.elf else { return Err(FatalReason::NoDynamicSection) };
        if segments_beyond_head(elf, self.head_size()) {
            self.calls.push(CallName::Pread64, path, false);
        }
        if let Some(reason) = refusal(elf) {
            self.calls.push(CallName::Close, path, false);
            return Err(reason);
        }
        self.emit_mappings(path, elf);
        if self.needs_executable_stack(elf) {
            self.stack_executable = true;
            self.calls.push(CallName::Mprotect, path, false);
        }
        self.calls.push(CallName::Close, path, false);
        Ok(())
    }

    fn emit_mappings(&mut self, path: &BString, elf: &Elf) {
        let commands: Vec<LoadCommand> = elf.loads().map(LoadCommand::new).collect();
        let aligned = elf.loads().map(|load| load.align).filter(|align| align.is_power_of_two()).max().unwrap_or(0);
        if aligned > PAGE && self.loader.at_least(35) {
            // Reserve, map at the aligned place, give both ends back (BZ 28676).
            self.calls.push(CallName::Mmap, path, false);
            self.calls.push(CallName::Mmap, path, false);
            self.calls.push(CallName::Munmap, path, false);
            self.calls.push(CallName::Munmap, path, false);
        } else {
            self.calls.push(CallName::Mmap, path, false);
        }
        if commands.windows(2).any(|pair| pair[0].map_end != pair[1].map_start) {
            self.calls.push(CallName::Mprotect, path, false);
        }
        for (index, command) in commands.iter().enumerate() {
            if index > 0 && command.map_end > command.map_start {
                self.calls.push(CallName::Mmap, path, false);
            }
            self.emit_bss(path, command);
        }
    }

    /// Memory beyond the file's data: zeroed in place, mapped anonymously past the page.
    fn emit_bss(&mut self, path: &BString, command: &LoadCommand) {
        if command.alloc_end <= command.data_end {
            return;
        }
        let zero_page = page_up(command.data_end).min(command.alloc_end);
        if zero_page > command.data_end && !command.writable {
            self.calls.push(CallName::Mprotect, path, false);
            self.calls.push(CallName::Mprotect, path, false);
        }
        if command.alloc_end > page_up(command.data_end) {
            self.calls.push(CallName::Mmap, path, false);
        }
    }

    /// PT_GNU_STACK asks for, or (on machines whose default is so) does not forbid, an executable stack.
    fn needs_executable_stack(&self, elf: &Elf) -> bool {
        use underpin_elf::Machine;
        let default = !matches!(self.ident.machine, Machine::AARCH64 | Machine::RISCV | Machine::LOONGARCH);
        let wanted = elf.segment(SegmentKind::Stack).map_or(default, |stack| stack.flags.execute);
        wanted && !self.stack_executable
    }

    /// Relocation, last object first: text made writable and back, RELRO; then the cache is unmapped.
    pub(super) fn relocate(&mut self) {
        let order: Vec<MapId> = self.chain.iter().rev().copied().filter(|&map| map != RTLD).collect();
        for map in order {
            self.protect(map);
        }
        self.protect(RTLD);
        if matches!(self.cache, super::CacheState::Loaded(_)) {
            let path = self.loader.configuration.clone().unwrap_or_default();
            self.calls.push(CallName::Munmap, &path, false);
        }
    }

    fn protect(&mut self, map: MapId) {
        let path = self.maps[map].path.clone();
        let Some(facts) = self.maps[map].facts.clone() else { return };
        let Ok(elf) = &facts.elf else { return };
        if map != RTLD && elf.dynamic.as_ref().is_some_and(|dynamic| dynamic.text_relocations) {
            for _ in elf.loads().filter(|load| !load.flags.write) {
                self.calls.push(CallName::Mprotect, &path, false);
                self.calls.push(CallName::Mprotect, &path, false);
            }
        }
        if protects_relro(elf) {
            self.calls.push(CallName::Mprotect, &path, false);
        }
        debug_assert!(map == MAIN || map == RTLD || self.maps[map].id.is_some());
    }
}

/// Why an ELF file of the right machine cannot be mapped as a library (`_dl_map_object_from_fd`).
fn refusal(elf: &Elf) -> Option<FatalReason> {
    let detail = |text: &str| Some(FatalReason::BadHeader { detail: text.into() });
    let misaligned = |load: &Segment| load.vaddr.0.wrapping_sub(load.offset.0) & (PAGE - 1) != 0;
    if elf.loads().any(misaligned) {
        return detail("ELF load command address/offset not page-aligned");
    }
    if elf.loads().next().is_none() {
        return detail("object file has no loadable segments");
    }
    if elf.ident.file_type != FileType::Dynamic {
        return Some(FatalReason::Executable);
    }
    let dynamic = elf.segments.iter().rev().find(|segment| segment.kind == SegmentKind::Dynamic);
    if dynamic.is_none_or(|dynamic| dynamic.file_size == 0) {
        return Some(FatalReason::NoDynamicSection);
    }
    if elf.dynamic.as_ref().is_some_and(|dynamic| dynamic.flags.pie()) {
        return Some(FatalReason::Executable);
    }
    None
}
