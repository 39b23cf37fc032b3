//! The phrases that every rendering shares: figures and changes, verdicts and their roles, the answer in sentences.
//!
//! A screen, a page and a piece of advice with the same statement take it from here, so that the wording is the same.

mod answer;
mod check;
mod comparison;
pub(crate) mod fuse;
pub(crate) mod image_compare;
mod load;
mod storm;
pub(crate) mod suite;
mod trace;

pub(crate) use answer::{answer, main_metrics, noun, pareto_words, place_words};
pub(crate) use check::{answer_role, reason_in_short, symbol_name};
pub(crate) use comparison::{
    baseline_words, capital, change_decimals, change_interval, change_words, common_command, comparison_word,
    confidence_title, figure_words, gate_words, interval_words, level_words, limit_words, method_words, missing,
    noise_words, runs_words, verdict_role, verdict_word,
};
pub(crate) use load::load_words;
pub(crate) use storm::opened_later;
pub(crate) use trace::{command_words, doubt_words};
