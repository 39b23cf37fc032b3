//! What musl does with a file that it opened: `map_library`, the inode check, the check for a second libc, RELRO.

use super::{APP, Answer, Dso, DsoId, Engine, LDSO, base_name};
use crate::calls::CallName;
use crate::closure::{FatalReason, Found, RecognisedBy};
use crate::files::FileFacts;
use crate::pages::{page_down, page_up, protects_relro};
use crate::root::FileKind;
use bstr::{BString, ByteSlice};
use std::sync::Arc;
use underpin_elf::{Details, Elf, SegmentKind};

/// Bytes of the first read of a file, and how many of them are for program headers.
const HEAD: u64 = 960;
const HEAD_TABLE: u64 = 896;

impl Engine<'_> {
    pub(super) fn map_library(
        &mut self,
        from: DsoId,
        direct: bool,
        path: BString,
        found: Found,
        facts: &Arc<FileFacts>,
    ) -> Answer {
        self.calls.push(CallName::Fstat, &path, false);
        let id = facts.meta.id;
        if let Some(&dso) = self.chain.iter().skip(1).find(|&&dso| self.dsos[dso].id == Some(id)) {
            self.calls.push(CallName::Close, &path, false);
            if self.dsos[dso].short_name.is_none() && !direct {
                self.dsos[dso].short_name = Some(base_name(&self.dsos[dso].path).into());
            }
            return Answer::Loaded(dso, Found::AlreadyLoaded { identity: RecognisedBy::Inode });
        }
        let verdict = self.map(&path, facts);
        self.calls.push(CallName::Close, &path, false);
        if let Err(reason) = verdict {
            return Answer::Fatal(path, reason);
        }
        if is_libc(facts) {
            self.calls.push(CallName::Munmap, &path, false);
            if !self.chain.contains(&LDSO) {
                self.chain.push(LDSO);
            }
            return Answer::Loaded(LDSO, Found::AlreadyLoaded { identity: RecognisedBy::Libc });
        }
        self.dsos.push(Dso {
            short_name: (!direct).then(|| base_name(&path).into()),
            names: Vec::new(),
            id: Some(id),
            needed_by: Some(from),
            facts: Some(facts.clone()),
            rpath: None,
            found: found.clone(),
            path,
        });
        self.chain.push(self.dsos.len() - 1);
        Answer::Loaded(self.dsos.len() - 1, found)
    }

    /// The calls of `map_library`, and whether it succeeds.
    fn map(&mut self, path: &BString, facts: &FileFacts) -> Result<(), FatalReason> {
        let directory = facts.meta.kind == FileKind::Directory;
        self.calls.push(CallName::Read, path, directory);
        if directory {
            return Err(FatalReason::Directory);
        }
        if facts.head.len() < 64 {
            return Err(FatalReason::TooShort);
        }
        let elf = facts.elf.as_ref().map_err(|error| FatalReason::BadHeader { detail: error.to_string() })?;
        if elf.ident.machine != self.ident.machine || elf.ident.class != self.ident.class {
            let detail = format!("made for {}; musl does not check and would crash", elf.ident.machine);
            return Err(FatalReason::BadHeader { detail });
        }
        let table = u64::from(elf.segment_entry_size) * elf.segments.len() as u64;
        if table > HEAD_TABLE || elf.segments_offset.0.saturating_add(table) > HEAD.min(facts.meta.size) {
            self.calls.push(CallName::Pread64, path, false);
        }
        if elf.segment(SegmentKind::Dynamic).is_none() {
            return Err(FatalReason::NoDynamicSection);
        }
        self.emit_mappings(path, elf);
        Ok(())
    }

    fn emit_mappings(&mut self, path: &BString, elf: &Elf) {
        let lowest = elf.loads().map(|load| load.vaddr.0).min().map(page_down);
        self.calls.push(CallName::Mmap, path, false);
        for load in elf.loads() {
            let end = page_up(load.vaddr.0.saturating_add(load.memory_size));
            if Some(page_down(load.vaddr.0)) != lowest {
                self.calls.push(CallName::Mmap, path, false);
            }
            let data_end = page_up(load.vaddr.0.saturating_add(load.file_size));
            if load.memory_size > load.file_size && load.flags.write && data_end < end {
                self.calls.push(CallName::Mmap, path, false);
            }
        }
        if elf.dynamic.as_ref().is_some_and(|dynamic| dynamic.text_relocations) {
            self.calls.push(CallName::Mprotect, path, false);
        }
    }

    /// RELRO of every library in load order, the loader's own (which is libc) among them, the program last: musl clears
    /// `ldso.relocated` after its first pass (ldso/dynlink.c, `__dls2`).
    pub(super) fn relocate(&mut self) {
        let order: Vec<DsoId> = self.chain[1..].iter().copied().chain([APP]).collect();
        for dso in order {
            let Some(facts) = self.dsos[dso].facts.clone() else { continue };
            let Ok(elf) = &facts.elf else { continue };
            let path = self.dsos[dso].path.clone();
            if protects_relro(elf) {
                self.calls.push(CallName::Mprotect, &path, false);
            }
        }
    }
}

/// Whether the file is a C library: it defines both `__libc_start_main` and `stdin`.
fn is_libc(facts: &FileFacts) -> bool {
    let Ok(elf) = &facts.elf else { return false };
    let soname = elf.dynamic.as_ref().and_then(|dynamic| dynamic.soname.as_ref());
    let named = soname.map_or(b"".as_slice(), |soname| base_name(soname));
    // Only a file with the symbols of a libc is worth a full read; every libc has one of these sonames or none.
    if !named.is_empty() && named.find(b"libc").is_none() && named.find(b"ld-").is_none() {
        return false;
    }
    Details::read(&*facts.source, elf).is_ok_and(|details| {
        details.export(b"__libc_start_main".into()).is_some() && details.export(b"stdin".into()).is_some()
    })
}
