//! Merged files that a process still runs with. Such a process asks for the links beside its file when it opens something
//! for the first time (underpin-fuse, `names`): without them it would load the libraries a second time.

use super::place::Place;
use crate::screen;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use underpin_sys::{MapRange, RawPid, maps};

/// A process that has mapped a file, as far as this user may know; `None` if none has.
pub(super) fn process_with(file: &Path) -> Option<RawPid> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut numbers = processes.filter_map(|process| process.file_name().to_str()?.parse().ok());
    let has_mapped = |ranges: Vec<MapRange>| ranges.iter().any(|range| range.path.as_deref() == Some(file));
    numbers.find(|&process| maps(process).is_ok_and(has_mapped))
}

/// Removes what nothing names, or leaves it, with a mark, until the process has ended that runs with it.
pub(super) fn remove(place: &Place) {
    let Some(process) = process_with(place.file()) else { return place.remove() };
    let folder = place.file().parent().unwrap_or(place.file()).display();
    match fs::write(place.mark(), "") {
        Ok(()) => screen::note(&format!(
            "{folder}: left, because process {process} runs with it; the next `underpin bind --fuse` or `unbind` of the \
             program after its end removes it"
        )),
        Err(_) => place.remove(),
    }
}

/// Removes what was left in folders of fusions for processes that have ended.
pub(super) fn remove_left(folders: impl IntoIterator<Item = PathBuf>) {
    for folder in folders.into_iter().collect::<BTreeSet<_>>() {
        let numbers = fs::read_dir(&folder).into_iter().flatten().flatten();
        for place in numbers.filter_map(|number| Place::marked(&number.path())) {
            if process_with(place.file()).is_none() {
                place.remove_if_unused();
            }
        }
    }
}
