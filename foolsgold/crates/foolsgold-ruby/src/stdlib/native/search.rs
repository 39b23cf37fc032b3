//! What searching needs on Ruby's side: patterns of arguments, offsets in characters, `$~` and the variables derived
//! from it.

use super::{Core, raise};
use crate::stdlib::regexp::{Options, Pattern, PatternError, SearchError, Spans, TemplateError};
use mruby::{Kind, Outcome, Raise, Ruby, Value};
use std::sync::Arc;

/// How many elements of MatchData's array precede its offsets: the text and the pattern.
pub const BEFORE_SPANS: usize = 2;

impl Core {
    pub fn is_regexp<'r>(self, ruby: Ruby<'r>, value: Value<'r>) -> Outcome<'r, bool> {
        if value.kind() != Kind::Object {
            return Ok(false);
        }
        ruby.is_a(value, ruby.kept(self.regexp))
    }

    /// The compiled pattern of a Regexp.
    pub fn pattern<'r>(self, ruby: Ruby<'r>, regexp: Value<'r>) -> Outcome<'r, Arc<Pattern>> {
        let (source, options) = self.source_and_options(ruby, regexp)?;
        let source = ruby.bytes(source)?;
        compiled(ruby, &source, options)
    }

    pub fn source_and_options<'r>(self, ruby: Ruby<'r>, regexp: Value<'r>) -> Outcome<'r, (Value<'r>, Options)> {
        let source = ruby.ivar_get(regexp, self.source)?;
        if source.is_nil() {
            return Err(raise("TypeError", "uninitialized Regexp"));
        }
        let options = ruby.ivar_get(regexp, self.options)?.as_int().unwrap_or(0);
        Ok((source, Options(u8::try_from(options & 0xFF).unwrap_or(0))))
    }

    /// A frozen text, for MatchData and for searches that call blocks.
    pub fn frozen<'r>(self, ruby: Ruby<'r>, text: Value<'r>) -> Outcome<'r> {
        if ruby.is_frozen(text) {
            return Ok(text);
        }
        // For short texts a copy takes fewer steps than Ruby's dup, which shares the bytes of long ones.
        let short = {
            let bytes = ruby.bytes(text)?;
            if bytes.len() < 128 { Some(ruby.str(&*bytes)?) } else { None }
        };
        let copy = short.map_or_else(|| ruby.send(text, self.dup, &[]), Ok)?;
        Ok(ruby.freeze(copy))
    }

    /// Records a search as the last match; returns where it began, in characters, or nil.
    pub fn place<'r>(self, ruby: Ruby<'r>, text: Value<'r>, regexp: Value<'r>, spans: Option<&Spans>) -> Outcome<'r> {
        let Some(&Some((start, _))) = spans.and_then(|spans| spans.first()) else {
            return self.set_last(ruby, text, regexp, None);
        };
        let text = self.frozen(ruby, text)?;
        self.set_last(ruby, text, regexp, spans)?;
        let at = characters(&ruby.bytes(text)?[..start]);
        ruby.int(to_int(at))
    }

    /// Sets `$~` and `$1` to `$9` after a search, and returns the MatchData, or nil if nothing was found.
    pub fn set_last<'r>(
        self,
        ruby: Ruby<'r>,
        text: Value<'r>,
        regexp: Value<'r>,
        spans: Option<&Spans>,
    ) -> Outcome<'r> {
        let before = self.numbered(ruby)?;
        let Some(spans) = spans else {
            ruby.gvar_set(self.last_match, Value::NIL)?;
            set_numbered(ruby, before, text, &[])?;
            return Ok(Value::NIL);
        };
        let mut data = Vec::with_capacity(BEFORE_SPANS + spans.len() * 2);
        data.extend([text, regexp]);
        for span in spans {
            let (start, end) = span.map_or((-1, -1), |(start, end)| (to_int(start), to_int(end)));
            data.extend([ruby.int(start)?, ruby.int(end)?]);
        }
        let data = ruby.array(&data)?;
        let found = ruby.send(ruby.kept(self.match_data), self.new, &[])?;
        ruby.ivar_set(found, self.data, data)?;
        ruby.gvar_set(self.last_match, found)?;
        set_numbered(ruby, before, text, spans)?;
        Ok(found)
    }

    /// How many groups the previous match has, whose `$1`... must be cleared.
    fn numbered<'r>(self, ruby: Ruby<'r>) -> Outcome<'r, usize> {
        let last = ruby.gvar_get(self.last_match)?;
        if last.kind() != Kind::Object {
            return Ok(0);
        }
        let data = ruby.ivar_get(last, self.data)?;
        Ok(if data.kind() == Kind::Array { (ruby.array_len(data) - BEFORE_SPANS) / 2 } else { 0 })
    }
}

/// Sets `$1` to `$9`, `$&` and the like; those that no code mentions are left out.
fn set_numbered<'r>(
    ruby: Ruby<'r>,
    before: usize,
    text: Value<'r>,
    spans: &[Option<(usize, usize)>],
) -> Outcome<'r, ()> {
    const NAMES: [&str; 9] = ["$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$9"];
    if before == 0 && spans.is_empty() {
        return Ok(());
    }
    // Without a match the text may be anything.
    let bytes = if spans.is_empty() { Vec::new() } else { ruby.to_vec(text)? };
    let piece = |span: Option<(usize, usize)>| match span {
        Some((start, end)) => ruby.str(&bytes[start..end]),
        None => Ok(Value::NIL),
    };
    for (name, group) in NAMES.iter().zip(1..before.max(spans.len())) {
        if ruby.is_interned(name) {
            ruby.gvar_set(*name, piece(spans.get(group).copied().flatten())?)?;
        }
    }
    let whole = spans.first().copied().flatten();
    let around = [
        ("$&", whole),
        ("$`", whole.map(|(start, _)| (0, start))),
        ("$'", whole.map(|(_, end)| (end, bytes.len()))),
        ("$+", spans.iter().skip(1).rev().copied().flatten().next()),
    ];
    for (name, span) in around {
        if ruby.is_interned(name) {
            ruby.gvar_set(name, piece(span)?)?;
        }
    }
    Ok(())
}

pub fn to_int(offset: usize) -> i64 {
    i64::try_from(offset).unwrap_or(i64::MAX)
}

/// The number of characters in a text, as mruby counts them: a malformed byte counts as one.
pub fn characters(text: &[u8]) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.utf8_chunks().map(|chunk| chunk.valid().chars().count() + chunk.invalid().len()).sum()
}

/// The byte offset of a character, or of the end after the last one; `None` beyond.
pub fn byte_of(text: &[u8], character: usize) -> Option<usize> {
    if text.is_ascii() {
        return (character <= text.len()).then_some(character);
    }
    let (mut left, mut at) = (character, 0);
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            if left == 0 {
                return Some(at);
            }
            left -= 1;
            at += c.len_utf8();
        }
        if left < chunk.invalid().len() {
            return Some(at + left);
        }
        left -= chunk.invalid().len();
        at += chunk.invalid().len();
    }
    (left == 0).then_some(at)
}

/// The byte offset of a position in characters, from the end if negative; `None` outside the text.
pub fn position(text: &[u8], at: i64) -> Option<usize> {
    let at = if at < 0 { at + to_int(characters(text)) } else { at };
    byte_of(text, usize::try_from(at).ok()?)
}

/// The pattern of a source. Compiling can be stopped.
pub fn compiled<'r>(ruby: Ruby<'r>, source: &[u8], options: Options) -> Outcome<'r, Arc<Pattern>> {
    match Pattern::get_while(source, options, &|| ruby.check().is_ok()) {
        Some(pattern) => pattern.map_err(pattern_error),
        None => Err(ruby.check().err().unwrap_or_else(|| raise("RegexpError", "compiling was stopped"))),
    }
}

fn pattern_error<'r>(error: PatternError) -> Raise<'r> {
    raise("RegexpError", error)
}

pub fn search_error<'r>(error: SearchError) -> Raise<'r> {
    raise("Regexp::TimeoutError", error)
}

pub fn template_error<'r>(error: TemplateError) -> Raise<'r> {
    let class = match error {
        TemplateError::Undefined(_) => "IndexError",
        TemplateError::Format => "RuntimeError",
    };
    raise(class, error)
}
