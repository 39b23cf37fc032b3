//! `underpin check` on a folder or a wheel: the platform tag that the whole set meets.

use crate::exit::Exit;
use crate::plan::TagsPlan;
use crate::screen::Screen;
use anyhow::Context;
use bstr::ByteSlice;
use std::os::unix::ffi::OsStrExt;
use underpin_report::document::tags::TagClaim;
use underpin_report::{TagsDocument, TagsInput, text};
use underpin_resolve::compat::{self, LibcFamily, TagVerdict};

/// Judges and shows.
///
/// # Errors
/// If the set can have no tag, or the result cannot be written.
pub fn run(plan: &TagsPlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let verdict = compat::platform_tag(&plan.set.objects).with_context(|| plan.path.display().to_string())?;
    let document = TagsDocument::new(TagsInput {
        set: plan.path.as_os_str().as_bytes().as_bstr().into(),
        objects: plan.set.objects.len(),
        claims: plan.set.claims.iter().map(|claim| judged(claim, &verdict)).collect(),
        notes: notes(plan, &verdict),
        source: compat::tags_source(),
        verdict: &verdict,
    });
    if plan.json {
        screen.json(&document)?;
    } else {
        screen.show(&text::tags(&document, &screen.view(plan.verbosity)));
    }
    Ok(if document.passed { Exit::Fine } else { Exit::Finding })
}

/// A tag that the file name claims, and whether the set meets it.
fn judged(claim: &str, verdict: &TagVerdict) -> TagClaim {
    let tag = claim.strip_suffix(verdict.platform).and_then(|tag| tag.strip_suffix('_'));
    // `any`, and tags of other processors, make promises that a set of objects cannot keep.
    let earned = match tag {
        // A set that needs no C library runs on every one of them.
        Some(tag) if verdict.libc.is_none() && verdict.tag.is_some() && tag.starts_with("musllinux_") => Some(true),
        Some(tag) => compat::tag_is_earned(tag, verdict.tag.as_ref()),
        None => Some(false),
    };
    TagClaim { tag: claim.to_owned(), earned }
}

fn notes(plan: &TagsPlan, verdict: &TagVerdict) -> Vec<String> {
    if verdict.libc != Some(LibcFamily::Musl) {
        return Vec::new();
    }
    let older = "which functions musl 1.1 has is not on record, so nothing is said of musllinux_1_1".to_owned();
    let young = compat::youngest_of_musl(&plan.set.objects).map(|(since, object, symbol)| {
        format!("{object} imports {symbol}, which musl has since {since}: no tag says so")
    });
    young.into_iter().chain([older]).collect()
}
