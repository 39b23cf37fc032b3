//! Names in the padding of a page: zeros after a segment that is not writable, up to the next page or segment.
//!
//! Such bytes are mapped already, whatever the segment's size says, because pages are mapped whole; raising the size
//! makes them formally part of the segment. If a gap has room for the whole string table with the names, it moves
//! there; else only the names do, over several gaps if one does not suffice, and [`view`] shows them to the tools.

use super::block::{ALIGN, Block, displace};
use super::builder::{PatchBuilder, Place};
use super::gaps::{self, gaps, grow};
use super::sizes::{length, with_nul};
use super::{Strategy, shift, tags, view};
use bstr::BString;
use underpin_elf::raw::RawSection;

/// Moves the whole string table into one gap; `None` if there is no room.
pub(super) fn place_table(builder: &mut PatchBuilder<'_, '_>, texts: &[BString]) -> Option<()> {
    let block = Block { displaced: Vec::new(), entries: None, texts: Some(texts), reserve: 0 };
    let size = block.size(builder.image)?;
    let gap = gaps(builder.image).into_iter().find(|gap| gap.room >= size)?;
    grow(builder, &gap, size)?;
    block.write(builder, gap.vaddr, gap.offset, Strategy::PagePadding)
}

/// Makes room for the names at the end of the string table; what has to move goes to a gap.
pub(super) fn place_shifted(builder: &mut PatchBuilder<'_, '_>, texts: &[BString]) -> Option<()> {
    let way = shift::way(builder.image, texts).filter(|_| builder.interpreter.is_none())?;
    shift::extend(builder, &way, texts, Strategy::PagePadding)?;
    if !way.out.is_empty() {
        let size = length(&way.out);
        let ahead = |gap: &gaps::Gap| way.out.start.wrapping_sub(gap.vaddr) % ALIGN;
        let aligned = |gap: gaps::Gap| gap.after(ahead(&gap), 1);
        let gap = gaps::left(builder, 1).into_iter().filter_map(aligned).find(|gap| gap.room >= size)?;
        grow(builder, &gap, size)?;
        displace(builder, &way.out, gap.vaddr, gap.offset)?;
    }
    Some(())
}

/// Reserves room for the record in what the names have left of the gaps. Without such room it goes to the end of the
/// file.
pub(super) fn reserve(builder: &mut PatchBuilder<'_, '_>) {
    let size = builder.reserve;
    let found = gaps::left(builder, 4).into_iter().find(|gap| gap.room >= size && size > 0);
    if let Some(gap) = found
        && grow(builder, &gap, size).is_some()
    {
        builder.record = Some(Place { vaddr: gap.vaddr, offset: gap.offset, size });
    }
}

/// Places only the names; `None` if there is no room.
pub(super) fn place_names(builder: &mut PatchBuilder<'_, '_>, texts: &[BString]) -> Option<()> {
    let mut gaps = gaps(builder.image);
    gaps.retain(|gap| gap.vaddr > builder.strtab);
    // Names are never split: the longest first, each in the first gap that has room for it. The loader's name comes
    // last: `.interp` describes it, and strip pulls overlapping sections apart.
    let interpreter = builder.interpreter.clone();
    let is_interpreter = |text: &BString| interpreter.as_ref() == Some(text);
    let mut order: Vec<&BString> = texts.iter().collect();
    order.sort_by_key(|text| (is_interpreter(text), std::cmp::Reverse(text.len())));
    let mut used = vec![(0u64, 0u64); gaps.len()];
    for text in order {
        let size = with_nul(text);
        let (gap, (used, named)) =
            gaps.iter().zip(&mut used).find(|(gap, (used, _))| gap.room.saturating_sub(*used) >= size)?;
        let (vaddr, offset) = (gap.vaddr.checked_add(*used)?, gap.offset.checked_add(*used)?);
        builder.place(text, vaddr, offset, Strategy::PagePadding);
        *used = used.checked_add(size)?;
        if !is_interpreter(text) {
            *named = *used;
        }
    }
    for (gap, (used, named)) in gaps.iter().zip(used).filter(|(_, (used, _))| *used > 0) {
        grow(builder, gap, used)?;
        let registered = RawSection {
            kind: tags::SHT_PROGBITS,
            flags: tags::SHF_ALLOC,
            addr: gap.vaddr,
            offset: gap.offset,
            size: named,
            align: 1,
            ..RawSection::default()
        };
        if let Some(sections) = builder.sections.as_mut().filter(|_| named > 0) {
            sections.add(view::NAMES, registered);
        }
    }
    view::register(builder)
}
