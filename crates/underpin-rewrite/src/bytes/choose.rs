//! The entry point: refuse, plan the strings, try the strategies, take the cheapest.

use super::block::Block;
use super::builder::PatchBuilder;
use super::image::Image;
use super::wanted::Wanted;
use super::{Edits, Refusal, Rewrite, RewriteOptions, SearchPathEdit, Strategy};
use super::{dead, padding, refuse, segment, shift, table, tail};
use bstr::{BString, ByteSlice};
use sha2::{Digest, Sha256};

/// Plans the rewrite of one file. Nothing changes until [`Rewrite::apply`].
///
/// # Errors
/// [`Refusal`]: why the file is left unchanged.
pub fn rewrite(original: &[u8], edits: &Edits, options: &RewriteOptions) -> Result<Rewrite, Refusal> {
    let original_size = original.len() as u64;
    let nothing = Rewrite { original_size, kept: original_size, ..Rewrite::default() };
    if edits.is_empty() {
        return Ok(nothing);
    }
    let image = Image::read(original)?;
    refuse::refuse(&image)?;
    let wanted = Wanted::new(&image, edits)?;
    if wanted.is_met(&image) {
        return Ok(nothing);
    }
    // If the search path is dead, a name may use its bytes, and its entry is removed.
    let without_path = (edits.search_path == SearchPathEdit::Dead)
        .then(|| Wanted::new(&image, &Edits { search_path: SearchPathEdit::Remove, ..edits.clone() }))
        .transpose()?;
    let padding = vec![Place::PaddingTable, Place::PaddingShift, Place::PaddingNames];
    let mut tiers = vec![(&wanted, vec![Place::Dead]), (&wanted, padding)];
    tiers.extend(without_path.as_ref().map(|wanted| (wanted, vec![Place::Dead])));
    tiers.push((&wanted, vec![Place::Tail, Place::TailShift, Place::TailSlide, Place::Segment, Place::SegmentShift]));
    let target = Target { image: &image, options, digest: Sha256::digest(original).to_vec() };
    // The requested strategy may have no place at all that is allowed.
    let mut refusal = options.only.map_or(Refusal::TooFar, |strategy| Refusal::NoRoom { strategy });
    let mut found: Vec<Rewrite> = Vec::new();
    for (wanted, places) in tiers {
        let pinned = wanted.interpreter.is_none() && table::pins_strings(&image);
        let allowed = |place: &Place| {
            options.only.is_none_or(|only| only == place.strategy()) && !(pinned && place.moves_strings())
        };
        for place in places.into_iter().filter(allowed) {
            match target.attempt(wanted, place) {
                Ok(rewrite) => found.push(rewrite),
                Err(reason) => refusal = reason,
            }
        }
        // Later tiers are only tried if everything so far makes the file much larger.
        if found.iter().any(|rewrite| !is_large(rewrite)) {
            break;
        }
    }
    let no_room = options.only.is_none() && matches!(refusal, Refusal::NoRoom { .. });
    found.into_iter().min_by_key(price).ok_or(if no_room { Refusal::NoPlace } else { refusal })
}

/// One way to place the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Dead,
    /// The whole table in padding.
    PaddingTable,
    /// The names after the table, and what followed it shifted.
    PaddingShift,
    /// The names alone in padding.
    PaddingNames,
    /// The whole table after the data.
    Tail,
    TailShift,
    /// The names after the table, and what followed it shifted beyond the end of the data.
    TailSlide,
    /// The whole table in a new segment.
    Segment,
    SegmentShift,
}

impl Place {
    fn strategy(self) -> Strategy {
        match self {
            Place::Dead => Strategy::DeadStrings,
            Place::PaddingTable | Place::PaddingShift | Place::PaddingNames => Strategy::PagePadding,
            Place::Tail | Place::TailShift | Place::TailSlide => Strategy::DataTail,
            Place::Segment | Place::SegmentShift => Strategy::NewSegment,
        }
    }

    fn moves_strings(self) -> bool {
        matches!(self, Place::PaddingTable | Place::PaddingNames | Place::Tail | Place::Segment)
    }

    fn shifts(self) -> bool {
        matches!(self, Place::TailShift | Place::SegmentShift)
    }
}

/// Whether the file grows by more than a hundredth.
fn is_large(rewrite: &Rewrite) -> bool {
    rewrite.cost.file_bytes > rewrite.original_size / 100
}

/// The price, compared from first to last. Below a hundredth of the file, growth comes after calls and segments; above,
/// a call counts as much as a page.
/// counts as much as a page.
fn price(rewrite: &Rewrite) -> (bool, i64, i64) {
    let cost = &rewrite.cost;
    let calls = i64::from(cost.mmap_calls).saturating_add(i64::from(cost.read_calls));
    let bytes = i64::try_from(cost.file_bytes).unwrap_or(i64::MAX);
    let steps = calls.saturating_add(i64::from(cost.segments));
    if is_large(rewrite) {
        (true, bytes.saturating_add(steps.saturating_mul(PAGE)), calls)
    } else {
        (false, steps, bytes)
    }
}

/// One more call costs as much as this many more bytes.
const PAGE: i64 = 4096;

/// How much larger the record may get than at first: it has to store its own place.
const SLACK: [u64; 2] = [8, 64];

/// What is rewritten, and how.
struct Target<'i, 'a> {
    image: &'i Image<'a>,
    options: &'i RewriteOptions,
    digest: Vec<u8>,
}

impl Target<'_, '_> {
    /// Plans the file twice: the record's length is only known when everything else is done.
    fn attempt(&self, wanted: &Wanted, place: Place) -> Result<Rewrite, Refusal> {
        let (first, record) = self.builder(wanted, place, 0)?;
        if self.options.without_record || self.options.without_sections || self.image.sections.is_none() {
            return Ok(first);
        }
        let reserved = |slack: u64| {
            let reserve = record.checked_add(slack)?.checked_next_multiple_of(4)?;
            self.builder(wanted, place, reserve).ok()
        };
        Ok(SLACK.into_iter().find_map(reserved).map_or(first, |(rewrite, _)| rewrite))
    }

    fn builder(&self, wanted: &Wanted, place: Place, reserve: u64) -> Result<(Rewrite, u64), Refusal> {
        let image = self.image;
        let mut builder = PatchBuilder::new(image, self.options, reserve);
        builder.interpreter.clone_from(&wanted.interpreter);
        let missing = reuse(&mut builder, &wanted.texts);
        // DT_NULL has to fit, too.
        let entries = wanted.entries.len().checked_add(1).filter(|count| *count > image.dynamic.capacity);
        if let (Some(count), Strategy::DeadStrings | Strategy::PagePadding) = (entries, place.strategy()) {
            return Err(Refusal::DynamicFull { missing: count.saturating_sub(image.dynamic.capacity) });
        }
        self.place(&mut builder, wanted, place, &missing, entries)
            .ok_or(Refusal::NoRoom { strategy: place.strategy() })?;
        if matches!(place.strategy(), Strategy::DeadStrings | Strategy::PagePadding) {
            padding::reserve(&mut builder);
        }
        builder.finish(wanted, self.options, &self.digest)
    }

    fn place(
        &self,
        builder: &mut PatchBuilder<'_, '_>,
        wanted: &Wanted,
        place: Place,
        missing: &[BString],
        entries: Option<usize>,
    ) -> Option<()> {
        match place {
            Place::Dead => return dead::place(builder, wanted, missing),
            Place::PaddingTable => return padding::place_table(builder, missing),
            Place::PaddingShift => return padding::place_shifted(builder, missing),
            Place::PaddingNames => return padding::place_names(builder, missing),
            _ => {}
        }
        let mut block = Block { texts: Some(missing), entries, displaced: Vec::new(), reserve: builder.reserve };
        if place == Place::TailSlide {
            let way = shift::beyond_the_end(self.image, missing).filter(|_| builder.interpreter.is_none())?;
            block.texts = None;
            tail::place(builder, &block, way.beyond)?;
            return shift::extend(builder, &way, missing, Strategy::DataTail);
        }
        if place.shifts() {
            // If nothing is put there, the place is not needed.
            let way = shift::way(self.image, missing).filter(|_| builder.interpreter.is_none())?;
            if way.out.is_empty() && entries.is_none() {
                return None;
            }
            block.texts = None;
            block.displaced.extend(Some(way.out.clone()).filter(|out| !out.is_empty()));
            shift::extend(builder, &way, missing, place.strategy())?;
        }
        if place.strategy() == Strategy::DataTail {
            tail::place(builder, &block, 0)
        } else {
            segment::place(builder, block)
        }
    }
}

/// Uses strings that the table already has, also as the end of a longer one; returns those that are missing.
fn reuse(builder: &mut PatchBuilder<'_, '_>, texts: &[BString]) -> Vec<BString> {
    let table = builder.image.strings.counted();
    let mut missing = Vec::new();
    for text in texts {
        match table.find([text.as_slice(), &[0]].concat()) {
            Some(at) => {
                builder.offsets.insert(text.clone(), at as u64);
            }
            None => missing.push(text.clone()),
        }
    }
    missing
}
