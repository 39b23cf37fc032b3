//! Phrases for libraries that are opened after the start.

use crate::document::storm::StormDocument;
use crate::units::time;

/// What a run opened after its start, or that this was not watched.
pub(crate) fn opened_later(document: &StormDocument) -> String {
    let Some(later) = &document.opened_later else {
        return "not counted; a run shows what dlopen looks for (-- ARGS)".to_owned();
    };
    if later.lookups.later.calls == 0 {
        return "nothing, in the run that was asked for".to_owned();
    }
    format!(
        "lookups for libraries in a run: {}; as it is, {} until the last process has opened them too (following starts \
         {}); the table counts the start",
        later.lookups.words(),
        time(later.seconds),
        time(later.following_seconds),
    )
}
