//! The entry point: refuse, plan the strings, try the strategies, take the cheapest.

use super::draft::Draft;
use super::image::Image;
use super::wanted::Wanted;
use super::{Edits, Refusal, Rewrite, RewriteOptions, SearchPathEdit, Strategy, dead, padding, refuse, segment};
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
    let mut tries = vec![(Strategy::DeadStrings, &wanted), (Strategy::PagePadding, &wanted)];
    tries.extend(without_path.as_ref().map(|wanted| (Strategy::DeadStrings, wanted)));
    tries.push((Strategy::NewSegment, &wanted));
    tries.retain(|(strategy, _)| options.only.is_none_or(|only| only == *strategy));
    let mut refusal = Refusal::TooFar;
    for (strategy, wanted) in tries {
        match attempt(&image, wanted, strategy, options) {
            Ok(rewrite) => return Ok(rewrite),
            Err(reason) => refusal = reason,
        }
    }
    Err(refusal)
}

fn attempt(
    image: &Image<'_>,
    wanted: &Wanted,
    strategy: Strategy,
    options: &RewriteOptions,
) -> Result<Rewrite, Refusal> {
    let mut draft = Draft::new(image, options);
    let missing = reuse(&mut draft, &wanted.texts);
    let placed = match strategy {
        Strategy::DeadStrings => dead::place(&mut draft, wanted, &missing),
        Strategy::PagePadding => padding::place(&mut draft, &missing),
        _ => segment::place(&mut draft, &missing),
    };
    placed.ok_or(Refusal::NoRoom { strategy })?;
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
