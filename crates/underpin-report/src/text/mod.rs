//! The documents for a terminal: one function per screen, each a [`Text`](crate::styled::Text) of styled lines.
//!
//! No screen is wider than its [`View`](crate::layout::View) where the terminal has at least 40 columns, none knows a
//! colour, and none prints.

mod advice;
mod bench;
mod bench_answer;
mod bench_words;
mod bind;
mod bundle;
mod calls;
mod check;
mod doctor;
mod findings;
mod load;
mod paths;
mod storm;
mod survey;
mod trace;
mod tree;
mod tries;
mod verify;
mod why;

pub use advice::advice;
pub use bench::bench;
pub(crate) use bench::common_command;
pub(crate) use bench_answer::{answer, main_metrics, noun, pareto_words, place_words, rows};
pub(crate) use bench_words::{
    baseline_words, capital, change_decimals, change_interval, change_words, figure_words, interval_words, limit_words,
    method_words, missing, noise_words, runs_words, verdict_role, verdict_word,
};
pub use bind::{bind, reserve, unbind};
pub use bundle::bundle;
pub use calls::{calls_comparison, calls_line};
pub use check::check;
pub(crate) use check::{answer_role, reason_in_short, symbol_name};
pub use doctor::doctor;
pub use findings::findings;
pub(crate) use load::load_words;
pub use paths::tree_paths;
pub use storm::storm;
pub use survey::survey;
pub use trace::trace;
pub(crate) use trace::{by_cost, command_words, doubt_words};
pub use tree::{tree, tree_list};
pub use verify::verify;
pub use why::tree_why;

#[cfg(test)]
mod tests;
