//! Ruby's regular expressions: compiled patterns, a bounded cache of them, searches with byte offsets.
//!
//! A literal in a method requests its pattern each time it runs, so [`Pattern::get`] keeps what a thread has compiled.
//! Patterns are immutable and independent of any interpreter; what a match leaves behind is only in Ruby's heap.
//! Patterns that need no backtracking run in linear time; the others stop at [`BACKTRACK_LIMIT`]. A text that is not
//! valid UTF-8 is searched byte by byte (`.` is any byte) if the pattern is ASCII, as CRuby does for binary strings.

mod apart;
mod class;
mod error;
mod options;
mod quantifier;
mod text;
mod translate;

pub use error::{PatternError, Reason, SearchError, TemplateError};
pub use options::Options;
pub use text::{escape, slashes_escaped, source_of_union, template};

use fancy_regex::{BytesMode, Regex, RegexBuilder, RegexInput};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use translate::Translated;

/// The most backtracking steps in one search, after which it ends with [`SearchError::Timeout`]: some tenths of a
/// second.
pub const BACKTRACK_LIMIT: usize = 1_000_000;
/// The most bytes that one compiled pattern may take, so that `(a{1000}){1000}` is refused.
const SIZE_LIMIT: usize = 8 << 20;
/// The longest source; far longer than any written by hand.
const LONGEST: usize = 64 << 10;
/// Patterns in each of the two generations of a thread's cache.
const GENERATION: usize = 256;

/// A match: byte offsets of the whole and of each group.
pub type Spans = Vec<Option<(usize, usize)>>;

/// A compiled pattern.
#[derive(Debug)]
pub struct Pattern {
    translated: Translated,
    options: Options,
    text: Regex,
    /// For texts that are not UTF-8; `None` if the pattern is not ASCII.
    bytes: OnceLock<Option<Regex>>,
}

#[derive(Default)]
struct Cache {
    young: HashMap<Box<[u8]>, Arc<Pattern>>,
    old: HashMap<Box<[u8]>, Arc<Pattern>>,
}

thread_local! {
    static CACHE: RefCell<Cache> = RefCell::default();
    static KEY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Cache {
    fn get(&mut self, key: &[u8]) -> Option<Arc<Pattern>> {
        if let Some(found) = self.young.get(key) {
            return Some(Arc::clone(found));
        }
        let (key, found) = self.old.remove_entry(key)?;
        self.insert(key, Arc::clone(&found));
        Some(found)
    }

    fn insert(&mut self, key: Box<[u8]>, pattern: Arc<Pattern>) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, pattern);
    }
}

impl Pattern {
    /// The pattern of a source, compiled now or earlier on this thread.
    ///
    /// # Errors
    /// If Ruby raises RegexpError, or the pattern takes too much memory.
    pub fn get(source: &[u8], options: Options) -> Result<Arc<Self>, PatternError> {
        Self::find(source, options, || Some(Self::compile(source, options))).unwrap_or_else(|| {
            let stopped = Reason::Other("compiling was stopped".to_owned());
            Err(PatternError::new(stopped, "...", options))
        })
    }

    /// The same while `goes_on` returns true, which is checked now and then if compiling takes long; `None` after that.
    ///
    /// # Errors
    /// As [`Pattern::get`].
    pub fn get_while(
        source: &[u8],
        options: Options,
        goes_on: &dyn Fn() -> bool,
    ) -> Option<Result<Arc<Self>, PatternError>> {
        Self::find(source, options, || {
            // A source that is refused at once needs no thread.
            if source.len() <= LONGEST && apart::is_heavy(source) {
                apart::compile(source, options, goes_on)
            } else {
                Some(Self::compile(source, options))
            }
        })
    }

    /// A pattern that was compiled earlier, or the result of `compile`.
    fn find(
        source: &[u8],
        options: Options,
        compile: impl FnOnce() -> Option<Result<Self, PatternError>>,
    ) -> Option<Result<Arc<Self>, PatternError>> {
        KEY.with_borrow_mut(|key| {
            key.clear();
            key.extend_from_slice(source);
            key.push(options.0);
            if let Some(found) = CACHE.with_borrow_mut(|cache| cache.get(key)) {
                return Some(Ok(found));
            }
            let made = compile()?.map(Arc::new);
            if let Ok(pattern) = &made {
                CACHE.with_borrow_mut(|cache| cache.insert(key.as_slice().into(), Arc::clone(pattern)));
            }
            Some(made)
        })
    }

    fn compile(source: &[u8], options: Options) -> Result<Self, PatternError> {
        if source.len() > LONGEST {
            return Err(PatternError::new(Reason::Other("too long a pattern".to_owned()), "...", options));
        }
        let source = std::str::from_utf8(source)
            .map_err(|_| PatternError::new(Reason::InvalidText, &String::from_utf8_lossy(source), options))?;
        let translated = translate::translate(source, options)?;
        let text = build(&translated, options, BytesMode::Unicode)
            .map_err(|error| PatternError::new(reason(&error), source, options))?;
        Ok(Self { translated, options, text, bytes: OnceLock::new() })
    }

    fn for_bytes(&self) -> &Regex {
        let pattern = &self.translated.pattern;
        self.bytes
            .get_or_init(|| {
                let ascii = pattern.is_ascii() && !pattern.contains("\\p{") && !pattern.contains("\\u{");
                ascii.then(|| build(&self.translated, self.options, BytesMode::Ascii).ok()).flatten()
            })
            .as_ref()
            .unwrap_or(&self.text)
    }

    /// The number of groups in a match, including the whole match.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.text.captures_len()
    }

    /// Names in the order of their first use, with the numbers of their groups.
    #[must_use]
    pub fn names(&self) -> &[(String, Vec<usize>)] {
        &self.translated.names
    }

    /// The first match at or after a byte offset; `None` if the offset is beyond the end.
    ///
    /// # Errors
    /// If backtracking reaches its limit.
    pub fn search(&self, text: &[u8], from: usize) -> Result<Option<Spans>, SearchError> {
        Haystack::new(text).search(self, from, false)
    }

    /// The match that begins exactly at a byte offset.
    ///
    /// # Errors
    /// If backtracking reaches its limit.
    pub fn search_at(&self, text: &[u8], at: usize) -> Result<Option<Spans>, SearchError> {
        Haystack::new(text).search(self, at, true)
    }

    /// The last match that begins at or before a byte offset.
    ///
    /// # Errors
    /// If backtracking reaches its limit.
    pub fn search_back(&self, text: &[u8], from: usize) -> Result<Option<Spans>, SearchError> {
        let haystack = Haystack::new(text);
        let mut at = from.min(text.len());
        loop {
            if haystack.boundary(at)
                && let Some(spans) = haystack.search(self, at, true)?
            {
                return Ok(Some(spans));
            }
            if at == 0 {
                return Ok(None);
            }
            at -= 1;
        }
    }

    /// Whether there is a match at or after a byte offset.
    ///
    /// # Errors
    /// If backtracking reaches its limit.
    pub fn is_match(&self, text: &[u8], from: usize) -> Result<bool, SearchError> {
        if from > text.len() {
            return Ok(false);
        }
        match Haystack::new(text) {
            Haystack::Text(text) => self.text.is_match_input(RegexInput::new(text).from_pos(from)),
            Haystack::Bytes(text) => self.for_bytes().is_match_input(RegexInput::new(text).from_pos(from)),
        }
        .map_err(search_error)
    }

    /// Calls `each` for all non-overlapping matches from the left, as `scan`, `gsub` and `split` need. `each` returns
    /// whether to go on.
    ///
    /// # Errors
    /// If backtracking reaches its limit, or whatever `each` returns.
    pub fn each<E: From<SearchError>>(
        &self,
        text: &[u8],
        mut each: impl FnMut(Spans) -> Result<bool, E>,
    ) -> Result<(), E> {
        let haystack = Haystack::new(text);
        let mut from = 0;
        while let Some(spans) = haystack.search(self, from, false)? {
            let Some(&Some((start, end))) = spans.first() else { break };
            from = if end > start { end } else { haystack.after(end) };
            if !each(spans)? {
                break;
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Haystack<'t> {
    Text(&'t str),
    Bytes(&'t [u8]),
}

impl<'t> Haystack<'t> {
    fn new(text: &'t [u8]) -> Self {
        std::str::from_utf8(text).map_or(Self::Bytes(text), Self::Text)
    }

    fn boundary(self, at: usize) -> bool {
        match self {
            Self::Text(text) => text.is_char_boundary(at),
            Self::Bytes(_) => true,
        }
    }

    /// Where the character after an offset ends; at the end of the text, one beyond it.
    fn after(self, at: usize) -> usize {
        match self {
            Self::Text(text) => at + text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8),
            Self::Bytes(_) => at + 1,
        }
    }

    fn search(self, pattern: &Pattern, from: usize, anchored: bool) -> Result<Option<Spans>, SearchError> {
        match self {
            Self::Text(text) => search(&pattern.text, text, from, anchored),
            Self::Bytes(text) => search(pattern.for_bytes(), text, from, anchored),
        }
    }
}

fn search<'t, S>(regex: &Regex, text: &'t S, from: usize, anchored: bool) -> Result<Option<Spans>, SearchError>
where
    S: fancy_regex::Input + ?Sized,
    S::Match<'t>: Span,
{
    if from > text.len() {
        return Ok(None);
    }
    let input = RegexInput::new(text).from_pos(from).anchored(anchored);
    if regex.captures_len() == 1 {
        let found = regex.find_input(input).map_err(search_error)?;
        return Ok(found.map(|found| vec![Some(found.span())]));
    }
    let found = regex.captures_input(input).map_err(search_error)?;
    Ok(found.map(|found| (0..found.len()).map(|group| found.get(group).map(|group| group.span())).collect()))
}

/// Where a match begins and ends, in bytes.
trait Span {
    fn span(&self) -> (usize, usize);
}

impl Span for fancy_regex::Match<'_> {
    fn span(&self) -> (usize, usize) {
        (self.start(), self.end())
    }
}

impl Span for fancy_regex::MatchBytes<'_> {
    fn span(&self) -> (usize, usize) {
        (self.start(), self.end())
    }
}

fn build(translated: &Translated, options: Options, mode: BytesMode) -> Result<Regex, fancy_regex::Error> {
    RegexBuilder::new(&translated.pattern)
        .case_insensitive(options.has(Options::IGNORE_CASE))
        .dot_matches_new_line(options.has(Options::MULTILINE))
        .ignore_numbered_groups_when_named_groups_exist(true)
        .backtrack_limit(BACKTRACK_LIMIT)
        .delegate_size_limit(SIZE_LIMIT)
        .bytes_mode(mode)
        .build()
}

fn search_error(error: fancy_regex::Error) -> SearchError {
    match error {
        fancy_regex::Error::RuntimeError(fancy_regex::RuntimeError::StackOverflow) => SearchError::Stack,
        _ => SearchError::Timeout,
    }
}

fn reason(error: &fancy_regex::Error) -> Reason {
    use fancy_regex::{CompileError, Error, ParseError};
    match error {
        Error::ParseError(_, ParseError::InvalidBackref | ParseError::InvalidGroupNameBackref(_)) => {
            Reason::InvalidBackref
        }
        Error::ParseError(_, ParseError::RecursionExceeded) => Reason::TooDeep,
        Error::CompileError(error) => match &**error {
            CompileError::InvalidBackref(_) => Reason::InvalidBackref,
            CompileError::NamedBackrefOnly => {
                Reason::Other("numbered backref/call is not allowed. (use name)".to_owned())
            }
            CompileError::LookBehindNotConst => Reason::Other("invalid pattern in look-behind".to_owned()),
            CompileError::NeverEndingRecursion => Reason::Other("never ending recursion".to_owned()),
            error => Reason::Other(error.to_string()),
        },
        error => Reason::Other(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
