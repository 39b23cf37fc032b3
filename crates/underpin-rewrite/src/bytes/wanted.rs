//! Edits become entries of the dynamic section and `vn_file` fields, before any string has a place.

use super::image::{Image, VersionNeed};
use super::{Edits, Refusal, SearchPathEdit, tags};
use bstr::BString;
use std::collections::BTreeSet;

/// What an entry of the new dynamic section holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// Unchanged.
    Number(u64),
    /// The offset of a string that may have to be placed.
    Text(BString),
}

/// The file as requested.
pub(super) struct Wanted {
    /// The dynamic section up to DT_NULL.
    pub entries: Vec<(u64, Value)>,
    /// The `vn_file` fields that change.
    pub needs: Vec<(VersionNeed, BString)>,
    /// The new loader in PT_INTERP, if it changes.
    pub interpreter: Option<BString>,
    /// The distinct strings that entries and fields need, ascending; the loader's name last.
    pub texts: Vec<BString>,
}

impl Wanted {
    pub fn new(image: &Image<'_>, edits: &Edits) -> Result<Wanted, Refusal> {
        let renamed = |offset: u64| {
            let found = edits.renames.iter().find(|rename| image.strings.is(offset, &rename.from));
            found.filter(|rename| rename.to != rename.from).map(|rename| rename.to.clone())
        };
        let mut entries: Vec<(u64, Value)> = image
            .dynamic
            .entries
            .iter()
            .map(|entry| {
                let to = if entry.tag == tags::DT_NEEDED { renamed(entry.value) } else { None };
                (entry.tag, to.map_or(Value::Number(entry.value), Value::Text))
            })
            .collect();
        if let Some(needed) = &edits.needed {
            set_needed(image, &mut entries, needed);
        }
        set_search_path(image, &mut entries, &edits.search_path);
        let needs: Vec<(VersionNeed, BString)> =
            image.needs.iter().filter_map(|need| Some((*need, renamed(u64::from(need.file))?))).collect();
        let now = image.elf.interpreter.as_ref();
        let interpreter = edits.interpreter.clone().filter(|wanted| now.is_some_and(|now| now != wanted));
        let texts: BTreeSet<&BString> = entries
            .iter()
            .filter_map(|(_, value)| match value {
                Value::Text(text) => Some(text),
                Value::Number(_) => None,
            })
            .chain(needs.iter().map(|(_, text)| text))
            .collect();
        if let Some(text) = texts.iter().copied().chain(&interpreter).find(|text| text.contains(&0)) {
            return Err(Refusal::BadName { name: text.clone() });
        }
        // The loader's name comes last, since it is not a string of the table.
        let last = interpreter.as_ref().filter(|text| !texts.contains(text));
        let texts = texts.iter().copied().chain(last).cloned().collect();
        Ok(Wanted { entries, needs, interpreter, texts })
    }

    /// Whether the file already is as requested.
    pub fn is_met(&self, image: &Image<'_>) -> bool {
        let same = |(tag, value): &(u64, Value), entry: &underpin_elf::raw::RawEntry| {
            *tag == entry.tag
                && match value {
                    Value::Number(number) => *number == entry.value,
                    Value::Text(text) => image.strings.is(entry.value, text),
                }
        };
        self.needs.is_empty()
            && self.interpreter.is_none()
            && self.entries.len() == image.dynamic.entries.len()
            && self.entries.iter().zip(&image.dynamic.entries).all(|(wanted, now)| same(wanted, now))
    }
}

/// The new list is where the first DT_NEEDED was, or at the start: loaders follow the order of the entries.
fn set_needed(image: &Image<'_>, entries: &mut Vec<(u64, Value)>, needed: &[BString]) {
    let at = entries.iter().position(|(tag, _)| *tag == tags::DT_NEEDED).unwrap_or(0);
    let had = || image.dynamic.entries.iter().filter(|entry| entry.tag == tags::DT_NEEDED);
    entries.retain(|(tag, _)| *tag != tags::DT_NEEDED);
    let new = needed.iter().map(|text| {
        // An unchanged name keeps its bytes.
        let kept = had().find(|entry| image.strings.is(entry.value, text)).map(|entry| Value::Number(entry.value));
        (tags::DT_NEEDED, kept.unwrap_or_else(|| Value::Text(text.clone())))
    });
    entries.splice(at..at, new);
}

fn set_search_path(image: &Image<'_>, entries: &mut Vec<(u64, Value)>, edit: &SearchPathEdit) {
    let is_path = |tag: u64| tag == tags::DT_RPATH || tag == tags::DT_RUNPATH;
    let (tag, text) = match edit {
        SearchPathEdit::Keep | SearchPathEdit::Dead => return,
        SearchPathEdit::Remove => return entries.retain(|(tag, _)| !is_path(*tag)),
        SearchPathEdit::Runpath(text) => (tags::DT_RUNPATH, text),
        SearchPathEdit::Rpath(text) => (tags::DT_RPATH, text),
    };
    let at = entries.iter().position(|(tag, _)| is_path(*tag)).unwrap_or(entries.len());
    let same = |entry: &underpin_elf::raw::RawEntry| is_path(entry.tag) && image.strings.is(entry.value, text);
    let kept = image.dynamic.entries.iter().find(|entry| same(entry)).map(|entry| Value::Number(entry.value));
    entries.retain(|(tag, _)| !is_path(*tag));
    entries.insert(at, (tag, kept.unwrap_or_else(|| Value::Text(text.clone()))));
}
