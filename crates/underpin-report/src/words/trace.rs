//! Phrases for a trace's command and its own cost.

use crate::bytes::quoted;
use crate::document::trace::TraceDocument;
use crate::units::{count, percent, time};

/// The command as a person would read it.
pub(crate) fn command_words(document: &TraceDocument) -> String {
    document.command.iter().map(|word| quoted(word).unwrap_or_else(|| word.to_string())).collect::<Vec<_>>().join(" ")
}

/// What the tracer added to the times, in a few sentences.
pub(crate) fn doubt_words(document: &TraceDocument) -> String {
    let doubt = &document.doubt;
    let (added, whole) = (document.added_seconds(), document.instants.end_seconds);
    let handling = if document.tasks.len() > 1 {
        format!("The tracer's own work, {}, is in them, since several tasks ran.", time(doubt.handling_seconds))
    } else {
        format!("The tracer's own work, {}, is left out of them.", time(doubt.handling_seconds))
    };
    let left_out = match document.not_returned.as_slice() {
        [] => String::new(),
        names => format!(" Calls that do not return ({}) are not among them, as with strace -c.", names.join(", ")),
    };
    if doubt.per_call_seconds * doubt.stops as f64 > whole {
        return format!(
            "Counts are exact.{left_out} How much of the {} was added by the watching is not known: {}, at {} each, \
             would be more than all of it. {handling}",
            time(whole),
            count(usize::try_from(doubt.stops).unwrap_or(usize::MAX), "stop", "stops"),
            time(doubt.per_call_seconds)
        );
    }
    format!(
        "Counts are exact.{left_out} Of the {} about {} ({}) was added by the watching: {}, {} each. {handling}",
        time(whole),
        time(added),
        percent(added, whole),
        count(usize::try_from(doubt.stops).unwrap_or(usize::MAX), "stop", "stops"),
        time(doubt.per_call_seconds)
    )
}
