//! What reading any of the outputs needs.

use std::time::Duration;

/// What the steps of a run with [`Role::Measures`](super::Role::Measures) printed. The two streams are apart because a
/// program that prints to both mixes their lines in one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Printed<'t> {
    /// Standard output.
    pub stdout: &'t str,
    /// Standard error.
    pub stderr: &'t str,
    /// From the start of the command to its end: UnixBench's programs count, and its script takes the time.
    pub elapsed: Duration,
}

/// Output that is not as the program prints it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// There is no such run.
    #[error("there is no run `{0}`")]
    UnknownRun(String),
    /// It printed nothing.
    #[error("{run} printed nothing: expected {expected}")]
    Nothing {
        /// The run.
        run: &'static str,
        /// What it prints.
        expected: String,
    },
    /// A line is not as expected.
    #[error("{run} printed `{line}`: expected {expected}")]
    Line {
        /// The run.
        run: &'static str,
        /// The line, not more than 200 characters of it.
        line: String,
        /// What it prints.
        expected: String,
    },
}

/// The longest part of a line that is shown.
const SHOWN: usize = 200;

impl ParseError {
    /// A line that is wrong.
    pub(super) fn line(run: &'static str, line: &str, expected: impl Into<String>) -> ParseError {
        ParseError::Line { run, line: line.trim().chars().take(SHOWN).collect(), expected: expected.into() }
    }

    /// What is expected has not come: the last line is shown.
    pub(super) fn missing(run: &'static str, text: &str, expected: impl Into<String>) -> ParseError {
        match text.lines().rev().find(|line| !line.trim().is_empty()) {
            Some(line) => ParseError::line(run, line, expected),
            None => ParseError::Nothing { run, expected: expected.into() },
        }
    }
}

/// The lines of a text that ends with one: a last line without its end may have lost digits.
pub(super) fn whole_lines<'t>(
    run: &'static str,
    text: &'t str,
    expected: &str,
) -> Result<impl Iterator<Item = &'t str> + use<'t>, ParseError> {
    if text.trim().is_empty() || !text.ends_with('\n') {
        return Err(ParseError::missing(run, text, expected));
    }
    Ok(text.lines().filter(|line| !line.trim().is_empty()))
}

/// A decimal number as `printf` writes it with `%.Nf` or `%d`: digits, and behind a point as many as that format has.
/// No sign, no exponent, no `nan`.
pub(super) fn number(text: &str, places: &[usize]) -> Option<f64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let is_format = !whole.is_empty() && is_digits(whole) && is_digits(part) && !text.ends_with('.');
    let value: f64 = (is_format && places.contains(&part.len())).then(|| text.parse().ok()).flatten()?;
    value.is_finite().then_some(value)
}

/// The same above zero.
pub(super) fn positive(text: &str, places: &[usize]) -> Option<f64> {
    number(text, places).filter(|value| *value > 0.0)
}
