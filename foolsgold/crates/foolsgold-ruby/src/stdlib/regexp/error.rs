//! Why a pattern cannot be compiled, with Onigmo's messages, since programs and people know those.

use super::options::Options;
use thiserror::Error;

/// What is wrong with a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Reason {
    /// `(a`
    #[error("end pattern with unmatched parenthesis")]
    UnmatchedOpen,
    /// `a)`
    #[error("unmatched close parenthesis")]
    UnmatchedClose,
    /// `(?`
    #[error("end pattern in group")]
    EndInGroup,
    /// `(?q)`
    #[error("undefined group option")]
    UndefinedOption,
    /// `(?<>a)`
    #[error("group name is empty")]
    EmptyName,
    /// `(?<1a>a)`
    #[error("invalid group name <{0}>")]
    InvalidName(String),
    /// `[a`
    #[error("premature end of char-class")]
    EndInClass,
    /// `[]`
    #[error("empty char-class")]
    EmptyClass,
    /// `[b-a]`
    #[error("empty range in char class")]
    EmptyRange,
    /// A single backslash.
    #[error("too short escape sequence")]
    EndInEscape,
    /// `\c`
    #[error("too short control sequence")]
    TooShortControl,
    /// `\xg`
    #[error("invalid hex escape")]
    InvalidHex,
    /// `\u12`
    #[error("invalid Unicode escape")]
    InvalidUnicode,
    /// `\xFF` in a pattern of characters.
    #[error("invalid multibyte escape")]
    InvalidMultibyte,
    /// `\777`
    #[error("too big number")]
    TooBigNumber,
    /// `a{100001}`
    #[error("too big number for repeat range")]
    TooBigRepeat,
    /// `*a`
    #[error("target of repeat operator is not specified")]
    NothingToRepeat,
    /// `\k<9>`
    #[error("invalid backref number/name")]
    InvalidBackref,
    /// `\p{Nonsense}`
    #[error("invalid character property name {{{0}}}")]
    InvalidProperty(String),
    /// Nesting beyond the limit here.
    #[error("too deeply nested")]
    TooDeep,
    /// The pattern is not valid UTF-8.
    #[error("invalid multibyte character")]
    InvalidText,
    /// An error of the underlying crate.
    #[error("{0}")]
    Other(String),
}

/// A pattern that cannot be compiled: Ruby's `RegexpError`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{reason}: /{source_text}/{letters}")]
pub struct PatternError {
    /// What is wrong.
    pub reason: Reason,
    source_text: String,
    letters: String,
}

impl PatternError {
    /// An error for a pattern.
    #[must_use]
    pub fn new(reason: Reason, source: &str, options: Options) -> Self {
        Self { reason, source_text: source.to_owned(), letters: options.letters() }
    }
}

/// Why a search ended without a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SearchError {
    /// Backtracking beyond the limit: Ruby 3.2's `Regexp::TimeoutError`.
    #[error("regexp match timeout")]
    Timeout,
    /// Backtracking beyond the memory for it.
    #[error("Stack overflow in regexp matcher")]
    Stack,
}

/// Why a replacement cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TemplateError {
    /// `\k<name>` without a group of that name: IndexError.
    #[error("undefined group name reference: {0}")]
    Undefined(String),
    /// `\k<name`: RuntimeError.
    #[error("invalid group name reference format")]
    Format,
}
