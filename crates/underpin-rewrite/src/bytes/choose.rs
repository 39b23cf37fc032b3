//! The entry point: refuse, plan the strings, try the strategies, take the cheapest.

use super::draft::Draft;
use super::image::Image;
use super::wanted::Wanted;
use super::{Edits, LoadCost, Refusal, Rewrite, RewriteOptions, SearchPathEdit, Strategy};
use super::{dead, padding, refuse, segment, tail};
use bstr::{BString, ByteSlice};

/// Plans the rewrite of one file. Nothing is different until [`Rewrite::apply`].
///
/// # Errors
/// [`Refusal`]: the file is left as it is, and why.
pub fn rewrite(original: &[u8], edits: &Edits, options: &RewriteOptions) -> Result<Rewrite, Refusal> {
    let nothing = Rewrite { original_size: original.len() as u64, ..Rewrite::default() };
    if edits.is_empty() {
        return Ok(nothing);
    }
    let image = Image::read(original)?;
    refuse::refuse(&image)?;
    let wanted = Wanted::new(&image, edits)?;
    if wanted.is_met(&image) {
        return Ok(nothing);
    }
    // With the search path dead, its bytes may take a name, and its entry goes.
    let without_path = (edits.search_path == SearchPathEdit::Dead)
        .then(|| Wanted::new(&image, &Edits { search_path: SearchPathEdit::Remove, ..edits.clone() }))
        .transpose()?;
    let mut tiers = vec![(&wanted, vec![Place::Dead]), (&wanted, vec![Place::PaddingTable, Place::PaddingNames])];
    tiers.extend(without_path.as_ref().map(|wanted| (wanted, vec![Place::Dead])));
    tiers.push((&wanted, vec![Place::Tail, Place::Segment]));
    let mut refusal = Refusal::TooFar;
    for (wanted, places) in tiers {
        let allowed = |place: &Place| options.only.is_none_or(|only| only == place.strategy());
        let mut found: Vec<Rewrite> = Vec::new();
        for place in places.into_iter().filter(allowed) {
            match attempt(&image, wanted, place, options) {
                Ok(rewrite) => found.push(rewrite),
                Err(reason) => refusal = reason,
            }
        }
        if let Some(cheapest) = found.into_iter().min_by_key(|rewrite| price(&rewrite.cost)) {
            return Ok(cheapest);
        }
    }
    Err(refusal)
}

/// One way to place the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Dead,
    PaddingTable,
    PaddingNames,
    Tail,
    Segment,
}

impl Place {
    fn strategy(self) -> Strategy {
        match self {
            Place::Dead => Strategy::DeadStrings,
            Place::PaddingTable | Place::PaddingNames => Strategy::PagePadding,
            Place::Tail => Strategy::DataTail,
            Place::Segment => Strategy::NewSegment,
        }
    }
}

/// What is compared first to last: calls, segments, bytes of the file.
fn price(cost: &LoadCost) -> (i64, u32, u64) {
    (i64::from(cost.mmap_calls) + i64::from(cost.read_calls), cost.segments, cost.file_bytes)
}

fn attempt(image: &Image<'_>, wanted: &Wanted, place: Place, options: &RewriteOptions) -> Result<Rewrite, Refusal> {
    let mut draft = Draft::new(image, options);
    draft.interpreter.clone_from(&wanted.interpreter);
    let missing = reuse(&mut draft, &wanted.texts);
    // DT_NULL has to fit, too.
    let entries = Some(wanted.entries.len() + 1).filter(|count| *count > image.dynamic.capacity);
    if let (Some(count), Place::Dead | Place::PaddingTable | Place::PaddingNames) = (entries, place) {
        return Err(Refusal::DynamicFull { missing: count - image.dynamic.capacity });
    }
    let placed = match place {
        Place::Dead => dead::place(&mut draft, wanted, &missing),
        Place::PaddingTable => padding::place_table(&mut draft, &missing),
        Place::PaddingNames => padding::place_names(&mut draft, &missing),
        Place::Tail => tail::place(&mut draft, &missing, entries),
        Place::Segment => segment::place(&mut draft, &missing, entries),
    };
    placed.ok_or(Refusal::NoRoom { strategy: place.strategy() })?;
    draft.finish(wanted, options)
}

/// Takes strings that the table already has, also as the end of a longer one; gives those that it lacks.
fn reuse(draft: &mut Draft<'_, '_>, texts: &[BString]) -> Vec<BString> {
    let table = draft.image.strings.counted();
    let mut missing = Vec::new();
    for text in texts {
        match table.find([text.as_slice(), &[0]].concat()) {
            Some(at) => {
                draft.offsets.insert(text.clone(), at as u64);
            }
            None => missing.push(text.clone()),
        }
    }
    missing
}
