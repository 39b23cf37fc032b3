//! How tools see names that are after the string table's section.
//!
//! Loaders use DT_STRTAB, tools use sections: with the section `.dynstr` unchanged, GNU ld, gold and lld refuse to link
//! against a library whose DT_NEEDED is beyond it ("invalid string offset", "DT_NEEDED value out of range", "invalid
//! DT_NEEDED entry"), objdump stops and readelf prints numbers. So the old section gets another name, and a new
//! `.dynstr` describes DT_STRTAB up to the last name. It is a copy at the end of the file that no segment maps.
//!
//! Measured with binutils 2.40, lld/LLVM 14, mold 1.10, elfutils 0.188 and patchelf 0.14.3, on a bound library:
//! - a section over the mapped bytes themselves (overlapping `.gnu.version` and others) is misread as soon as a tool
//!   moves it: strip and objcopy shift the sections after it, patchelf overwrites them, and the loader then crashes;
//! - a copy without SHF_ALLOC is rebuilt by llvm-strip and llvm-objcopy from the symbols alone, without the names;
//! - a copy with SHF_ALLOC at the address that it describes survives all of them, and all four linkers accept it.
//!   binutils warns that it is not in a segment; eu-elflint reports the same.

use super::builder::PatchBuilder;
use super::tags;
use underpin_elf::raw::RawSection;

/// The sections over names in padding: without them strip and objcopy fill that padding with zeros.
pub(super) const NAMES: &[u8] = b".underpin.names";
/// The new name of the section of the original string table.
const ORIGINAL: &[u8] = b".underpin.dynstr";

/// Most bytes that a view may add to the string table: beyond this, the file should grow somewhere else.
const LIMIT: u64 = 32 << 10;

/// Registers the view. `None` if it would be much larger than the table.
pub(super) fn register(builder: &mut PatchBuilder<'_, '_>) -> Option<()> {
    let Some(index) = builder.image.string_section().filter(|_| builder.sections.is_some()) else { return Some(()) };
    let most = (builder.image.strings.counted().len() as u64).saturating_add(LIMIT);
    let mut bytes = vec![0; usize::try_from(builder.strsz).ok().filter(|_| builder.strsz <= most)?];
    // The memory from DT_STRTAB on, as far as the file fills it.
    let end = builder.strtab.checked_add(builder.strsz)?;
    for load in builder.image.loads() {
        let from = load.vaddr.max(builder.strtab);
        let to = load.vaddr.saturating_add(load.file_size).min(end);
        if from < to {
            let size = usize::try_from(to.checked_sub(from)?).ok()?;
            let source = builder.image.bytes_at(from)?.get(..size)?;
            let at = usize::try_from(from.checked_sub(builder.strtab)?).ok()?;
            bytes.get_mut(at..)?.get_mut(..size)?.copy_from_slice(source);
        }
    }
    for placed in &builder.placed {
        let at = usize::try_from(*builder.offsets.get(&placed.text)?).ok()?;
        bytes.get_mut(at..)?.get_mut(..placed.text.len())?.copy_from_slice(&placed.text);
    }
    let (offset, size) = (builder.end(), bytes.len() as u64);
    builder.tail.extend(bytes);
    let addr = builder.strtab;
    let is_view = builder.offset_of(addr) != builder.image.section_offset(index);
    let sections = builder.sections.as_mut()?;
    if is_view {
        // A stripped file that was bound before: its view is updated.
        let view = sections.headers.get_mut(index)?;
        (view.offset, view.size) = (offset, size);
        return Some(());
    }
    let flags = tags::SHF_ALLOC;
    let view = RawSection { kind: tags::SHT_STRTAB, flags, addr, offset, size, align: 1, ..RawSection::default() };
    sections.rename(index, ORIGINAL);
    let at = u32::try_from(sections.add(b".dynstr", view)).ok()?;
    for section in sections.headers.iter_mut().filter(|section| section.link as usize == index) {
        section.link = at;
    }
    Some(())
}
