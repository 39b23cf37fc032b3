//! The limits of rows and what came of them.

use super::super::comparison::result_words;
use super::{NAME, build_names};
use crate::styled::Role;
use underpin_bench::GateResult;
use underpin_suite::{RowGate, RowLimit, Summary};

/// A mark, its role, and the text of each limit, and how many are left out since they are kept. The change is that of
/// the figure itself: of a time, `+` is more time.
pub(crate) fn row_limits(summary: &Summary, gate: &RowGate, all: bool) -> (Vec<(&'static str, Role, String)>, usize) {
    let names = build_names(summary, NAME);
    let shown = |limit: &&RowLimit| all || limit.result != GateResult::Kept;
    let words = |limit: &RowLimit| {
        let build = limit.build.and_then(|build| names.get(build));
        let subject = [limit.row.as_ref(), build].into_iter().flatten().map(|name| format!("{name}, "));
        let (mark, role, words) = result_words(limit.result, limit.ratio.as_ref());
        (mark, role, format!("{}{}:{words}", subject.collect::<String>(), limit.limit))
    };
    let limits: Vec<_> = gate.limits.iter().filter(shown).map(words).collect();
    let kept = gate.limits.len() - limits.len();
    (limits, kept)
}
