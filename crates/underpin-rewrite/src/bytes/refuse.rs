//! Files that are left unchanged, detected before anything is planned.

use super::image::Image;
use super::sizes::table_size;
use super::{RecordError, Refusal, note, tags};
use underpin_elf::{FileOffset, FileType, Machine};

const MIPS: Machine = Machine(8);
/// The last bytes of signed kernel modules (`scripts/sign-file.c` of Linux).
const MODULE_SIGNATURE: &[u8] = b"~Module signature appended~\n";
/// Sections in which signing tools keep a signature (`elfsign`, `bsign`, `signelf`).
const SIGNATURE_SECTIONS: [(&[u8], &str); 4] = [
    (b".signature", "section .signature"),
    (b".sig", "section .sig"),
    (b".elfsig", "section .elfsig"),
    (b"signature", "section signature"),
];

pub(super) fn refuse(image: &Image<'_>) -> Result<(), Refusal> {
    let elf = &image.elf;
    if elf.ident.machine == MIPS {
        return Err(Refusal::Mips);
    }
    let dynamic = elf.dynamic.as_ref().ok_or(Refusal::Static)?;
    if elf.interpreter.is_none() {
        if elf.ident.file_type == FileType::Executable {
            return Err(Refusal::Static);
        }
        if dynamic.needed.is_empty() && (dynamic.flags.pie() || (dynamic.soname.is_none() && elf.entry.0 != 0)) {
            return Err(Refusal::StaticPie);
        }
    }
    if image.dynamic.value(tags::DT_GNU_PRELINKED).is_some() {
        return Err(Refusal::Prelinked);
    }
    refuse_signed(image)?;
    match note::record(image.bytes) {
        Ok(Some(_)) if note::undo(image.bytes).is_ok() => return Err(Refusal::AlreadyBound),
        Err(error @ RecordError::Schema { .. }) => return Err(Refusal::Record(error)),
        // Changed since it was bound: its current content is the original of the next binding.
        _ => {}
    }
    refuse_payload(image)
}

fn refuse_signed(image: &Image<'_>) -> Result<(), Refusal> {
    if image.bytes.ends_with(MODULE_SIGNATURE) {
        return Err(Refusal::Signed { by: "a module signature at its end" });
    }
    let names = image.sections.iter().flat_map(|table| &table.entries).map(|(name, _)| *name);
    let signature = names.filter_map(|name| SIGNATURE_SECTIONS.iter().find(|(known, _)| *known == name)).next();
    signature.map_or(Ok(()), |(_, by)| Err(Refusal::Signed { by }))
}

/// Zeros at the end are alignment, not payload.
fn refuse_payload(image: &Image<'_>) -> Result<(), Refusal> {
    let encoding = image.encoding;
    let table = |offset: u64, count: usize, size: usize| offset.saturating_add(table_size(count, size));
    let segments = image.segments.iter().map(|segment| segment.offset.saturating_add(segment.file_size));
    let mut end = segments.max().unwrap_or(0).max(encoding.header_size() as u64);
    end = end.max(table(image.header.phoff, image.segments.len(), encoding.segment_size()));
    if let Some(sections) = &image.sections {
        end = end.max(table(image.header.shoff, sections.entries.len(), encoding.section_size()));
        let kept = sections.entries.iter().filter(|(_, section)| section.kind != tags::SHT_NOBITS);
        end = end.max(kept.map(|(_, section)| section.offset.saturating_add(section.size)).max().unwrap_or(0));
    }
    let rest = usize::try_from(end).ok().and_then(|end| image.bytes.get(end..)).unwrap_or_default();
    if rest.iter().all(|byte| *byte == 0) {
        return Ok(());
    }
    Err(Refusal::Payload { offset: FileOffset(end), size: rest.len() as u64 })
}
