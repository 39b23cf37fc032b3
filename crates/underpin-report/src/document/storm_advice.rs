//! What `storm` advises: the case that finishes first, together with those that finish at about the same time.

use super::check::AdviceRecord;
use super::storm::{StormBinding, StormCase};
use crate::bytes::Raw;
use crate::bytes::quoted;
use crate::units::{thousands, time};
use bstr::ByteSlice;
use underpin_resolve::storm::MODEL_DOUBT;

/// Fewer lookups of missing names than this are not mentioned.
const WORTH_LOOKUPS: u64 = 20;

/// A binding that saves a smaller share of the time than this is not mentioned either.
const WORTH_GAIN: f64 = 0.05;

/// Up to this many files are named one by one if no folder of their own contains them.
const FILES_NAMED: usize = 4;

/// Advises the binding that finishes first, if it beats the unchanged program; if none was predicted because none was
/// requested, advises to predict one. The first case is the unchanged program.
pub(super) fn advice(program: &Raw, cases: &[StormCase], some_left_out: bool) -> Vec<AdviceRecord> {
    let Some((now, others)) = cases.split_first() else { return Vec::new() };
    let record =
        |message: String, command: Option<String>| vec![AdviceRecord { rule: "bind".to_owned(), message, command }];
    if let Some((best, binding)) = first_to_end(others) {
        if best.seconds >= (1.0 - WORTH_GAIN) * now.seconds {
            return Vec::new();
        }
        return record(words(now, best, others), command(program, best, binding));
    }
    if !some_left_out && now.first.absent >= WORTH_LOOKUPS {
        let message = format!(
            "{} of {} lookups of a start find nothing. See what binding would change:",
            thousands(now.first.absent),
            thousands(now.first.lookups),
        );
        return record(message, quoted(program).map(|program| format!("underpin bind --dry-run --flatten {program}")));
    }
    Vec::new()
}

/// The binding with the smallest time; of equal ones the one that changes one file: it is done and undone at once.
fn first_to_end(others: &[StormCase]) -> Option<(&StormCase, StormBinding)> {
    let bindings = others.iter().filter_map(|case| Some((case, case.binding?)));
    let one_file = |binding: StormBinding| binding != StormBinding::Flatten;
    bindings.min_by(|(one, first), (two, second)| {
        one.seconds.total_cmp(&two.seconds).then(one_file(*first).cmp(&one_file(*second)))
    })
}

/// Whether the model cannot tell which of two finishes first.
fn is_close(one: &StormCase, two: &StormCase) -> bool {
    one.seconds.min(two.seconds) >= (1.0 - MODEL_DOUBT) * one.seconds.max(two.seconds)
}

fn words(now: &StormCase, best: &StormCase, others: &[StormCase]) -> String {
    let mut words = format!(
        "{}, all processes would have started after {} instead of {}, with {} operations at the server instead of {} \
         (following starts {} instead of {})",
        best.name,
        time(best.seconds),
        time(now.seconds),
        thousands(best.operations),
        thousands(now.operations),
        time(best.following.seconds),
        time(now.following.seconds),
    );
    let named = |cases: Vec<&StormCase>| {
        let each: Vec<String> = cases.iter().map(|case| format!("{} ({})", case.name, time(case.seconds))).collect();
        each.join(" and ")
    };
    let rest = || others.iter().filter(|case| !std::ptr::eq(*case, best));
    let close: Vec<&StormCase> = rest().filter(|case| is_close(case, best)).collect();
    let doubt = format!("{:.0} %", MODEL_DOUBT * 100.0);
    if !close.is_empty() {
        words += &format!(". Within {doubt} of it, the doubt of the model: {}", named(close));
    }
    // A program that the user put beside it is not something to bind, but may be the better answer.
    let earlier: Vec<&StormCase> = rest().filter(|case| case.seconds < best.seconds && !is_close(case, best)).collect();
    if !earlier.is_empty() {
        words += &format!(". Earlier still: {}", named(earlier));
    }
    if is_close(now, best) {
        words += &format!(". The gain too lies within {doubt}");
    }
    words
}

fn command(program: &Raw, best: &StormCase, binding: StormBinding) -> Option<String> {
    match binding {
        StormBinding::Flatten => Some(format!("underpin bind --flatten {}", quoted(program)?)),
        StormBinding::Farm => Some(format!("underpin bind --farm {}", quoted(program)?)),
        StormBinding::Bind => Some(format!("underpin bind {}", files(&best.changes)?)),
    }
}

/// The arguments with which `bind` binds these files: the folder of their own that contains all, or each of a few.
fn files(changes: &[Raw]) -> Option<String> {
    if let [file] = changes {
        return quoted(file);
    }
    if let Some(folder) = common_folder(changes).filter(|folder| is_of_its_own(folder)) {
        return quoted(&Raw::from(folder.as_bstr()));
    }
    let few = (!changes.is_empty() && changes.len() <= FILES_NAMED).then_some(changes)?;
    Some(few.iter().map(quoted).collect::<Option<Vec<_>>>()?.join(" "))
}

fn common_folder(files: &[Raw]) -> Option<&[u8]> {
    let (first, rest) = files.split_first()?;
    let mut folder: &[u8] = first.directory().trim_end_with(|letter| letter == '/');
    for file in rest {
        while !(file.bytes().starts_with(folder) && file.bytes().get(folder.len()) == Some(&b'/')) {
            folder = &folder[..folder.rfind_byte(b'/')?];
        }
    }
    Some(folder)
}

/// Folders of the system and those directly below `/` contain much that is unrelated to one program.
fn is_of_its_own(folder: &[u8]) -> bool {
    let parts: Vec<&[u8]> = folder.split_str("/").filter(|part| !part.is_empty()).collect();
    let of_the_system = parts.first().is_some_and(|first| {
        [&b"usr"[..], b"bin", b"sbin", b"lib", b"lib32", b"lib64", b"etc", b"home"].contains(first) && parts.len() < 3
            || *first == b"usr" && parts[1] != b"local"
    });
    folder.starts_with(b"/") && parts.len() >= 2 && !of_the_system
}

#[cfg(test)]
mod tests;
