//! Methods of String that take a pattern.
//!
//! Each looks at its pattern first and passes anything that is not one to mruby's own method, kept under a name with
//! two underscores. If a block runs, the searched text is a frozen copy, so the block may change the receiver.

use super::regexp::{byte_position, find, group_of, is_match, match_operator};
use super::search::{position, search_error, template_error};
use super::{Core, raise};
use crate::stdlib::case::{Change, Letters};
use crate::stdlib::regexp::{Pattern, SearchError, Spans, template};
use bstr::ByteSlice as _;
use mruby::{Args, Kind, Outcome, Raise, Ruby, Value};
use std::sync::Arc;

pub fn define(ruby: Ruby<'_>, core: Core) -> Outcome<'_, ()> {
    let string = ruby.class("String")?;
    ruby.define_method(string, "=~", move |ruby, args| match args.get(0) {
        other if other.kind() == Kind::String => Err(raise("TypeError", "type mismatch: String given")),
        other if core.is_regexp(ruby, other)? => match_operator(core, ruby, other, args.self_value()),
        other => ruby.send(other, "=~", &[args.self_value()]),
    })?;
    ruby.define_method(string, "match", move |ruby, args| {
        let pattern = core.to_regexp(ruby, args.required(0)?)?;
        let found = find(core, ruby, pattern, args.self_value(), args.get(1))?;
        match args.block() {
            Some(block) if !found.is_nil() => ruby.yield_block(block, &[found]),
            _ => Ok(found),
        }
    })?;
    ruby.define_method(string, "match?", move |ruby, args| {
        let pattern = core.to_regexp(ruby, args.required(0)?)?;
        is_match(core, ruby, pattern, args.self_value(), args.get(1))
    })?;
    ruby.define_method(string, "scan", move |ruby, args| scan(core, ruby, &args))?;
    for name in ["sub", "gsub"] {
        let all = name == "gsub";
        ruby.define_method(string, name, move |ruby: Ruby<'_>, args: Args<'_>| {
            args.expect(1..=2)?;
            if all && args.len() == 1 && args.block().is_none() && keywords(ruby, &args).is_none() {
                return ruby.send(args.self_value(), "to_enum", &[ruby.symbol("gsub")?, args.get(0)]);
            }
            let changed = substitute(core, ruby, &args, all)?;
            if changed.is_nil() { ruby.send(args.self_value(), core.dup, &[]) } else { Ok(changed) }
        })?;
        ruby.define_method(string, if all { "gsub!" } else { "sub!" }, move |ruby: Ruby<'_>, args: Args<'_>| {
            let changed = substitute(core, ruby, &args, all)?;
            if changed.is_nil() { Ok(changed) } else { ruby.send(args.self_value(), "replace", &[changed]) }
        })?;
    }
    define_places(ruby, core, string)?;
    define_case(ruby, string)
}

/// Case conversion for all letters, not only ASCII.
fn define_case<'r>(ruby: Ruby<'r>, string: Value<'r>) -> Outcome<'r, ()> {
    for (name, bang, change) in [
        ("upcase", "upcase!", Change::Up),
        ("downcase", "downcase!", Change::Down),
        ("swapcase", "swapcase!", Change::Swap),
        ("capitalize", "capitalize!", Change::Capitalize),
    ] {
        ruby.define_method(string, name, move |ruby: Ruby<'_>, args: Args<'_>| {
            let letters = letters(ruby, &args, change)?;
            let changed = change.apply(&ruby.bytes(args.self_value())?, letters);
            ruby.str(changed)
        })?;
        ruby.define_method(string, bang, move |ruby: Ruby<'_>, args: Args<'_>| {
            let text = args.self_value();
            let letters = letters(ruby, &args, change)?;
            let changed = {
                let bytes = ruby.bytes(text)?;
                Some(change.apply(&bytes, letters)).filter(|changed| *changed != *bytes)
            };
            changed.map_or(Ok(Value::NIL), |changed| ruby.send(text, "replace", &[ruby.str(changed)?]))
        })?;
    }
    Ok(())
}

/// Parses options such as `:ascii`.
fn letters<'r>(ruby: Ruby<'r>, args: &Args<'r>, change: Change) -> Outcome<'r, Letters> {
    let mut options = Vec::with_capacity(args.len());
    for option in args.all() {
        options.push(if option.kind() == Kind::Symbol { ruby.string(ruby.to_s(*option)?)? } else { String::new() });
    }
    Letters::of(&options, change).map_err(|error| raise("ArgumentError", error))
}

/// Methods that mruby has only for texts and positions.
fn define_places<'r>(ruby: Ruby<'r>, core: Core, string: Value<'r>) -> Outcome<'r, ()> {
    let keep = |old: &str, new: &str| ruby.send(string, "alias_method", &[ruby.symbol(new)?, ruby.symbol(old)?]);
    for (old, new) in [("[]", "__core_part"), ("[]=", "__core_replace"), ("split", "__core_split")] {
        keep(old, new)?;
    }
    let (core_part, core_replace, core_split) =
        (ruby.intern("__core_part")?, ruby.intern("__core_replace")?, ruby.intern("__core_split")?);
    for name in ["[]", "slice"] {
        ruby.define_method(string, name, move |ruby: Ruby<'_>, args: Args<'_>| {
            if !core.is_regexp(ruby, args.get(0))? {
                return ruby.send(args.self_value(), core_part, args.all());
            }
            let found = find(core, ruby, args.get(0), args.self_value(), Value::NIL)?;
            if found.is_nil() {
                return Ok(found);
            }
            let group = if args.len() < 2 { ruby.int(0)? } else { args.get(1) };
            group_of(core, ruby, found, group)
        })?;
    }
    ruby.define_method(string, "[]=", move |ruby, args| {
        if core.is_regexp(ruby, args.get(0))? {
            replace_match(core, ruby, &args)
        } else {
            ruby.send(args.self_value(), core_replace, args.all())
        }
    })?;
    ruby.define_method(string, "split", move |ruby, args| {
        let pattern = args.get(0);
        let parts = if core.is_regexp(ruby, pattern)? {
            split(ruby, &args, &Needle::Pattern(pattern, core.pattern(ruby, pattern)?))?
        } else {
            // Splits at blanks, or into characters.
            let special = pattern.kind() != Kind::String || matches!(&*ruby.bytes(pattern)?, b"" | b" ");
            if special {
                ruby.send(args.self_value(), core_split, args.all())?
            } else {
                split(ruby, &args, &core.needle(ruby, pattern)?)?
            }
        };
        let Some(block) = args.block() else { return Ok(parts) };
        for part in ruby.array_values(parts)? {
            ruby.yield_block(block, &[part])?;
        }
        Ok(args.self_value())
    })?;
    for (name, kept, back) in [("index", "__core_index", false), ("rindex", "__core_rindex", true)] {
        keep(name, kept)?;
        let kept = ruby.intern(kept)?;
        ruby.define_method(string, name, move |ruby: Ruby<'_>, args: Args<'_>| {
            if core.is_regexp(ruby, args.get(0))? {
                index(core, ruby, &args, back)
            } else {
                ruby.send(args.self_value(), kept, args.all())
            }
        })?;
    }
    ruby.define_method(string, "start_with?", move |ruby, args| {
        let text = args.self_value();
        for prefix in args.all() {
            let starts = if core.is_regexp(ruby, *prefix)? {
                let spans = core.pattern(ruby, *prefix)?.search_at(&ruby.bytes(text)?, 0).map_err(search_error)?;
                let text = core.frozen(ruby, text)?;
                !core.set_last(ruby, text, *prefix, spans.as_ref())?.is_nil()
            } else {
                ruby.bytes(text)?.starts_with(&ruby.bytes(*prefix)?)
            };
            if starts {
                return Ok(Value::TRUE);
            }
        }
        Ok(Value::FALSE)
    })
}

/// `text[regexp] = new` and `text[regexp, group] = new`.
fn replace_match<'r>(core: Core, ruby: Ruby<'r>, args: &Args<'r>) -> Outcome<'r> {
    let text = args.self_value();
    let new = args.get(args.len() - 1);
    let found = find(core, ruby, args.get(0), text, Value::NIL)?;
    if found.is_nil() {
        return Err(raise("IndexError", "regexp not matched"));
    }
    let group = if args.len() > 2 { args.get(1) } else { ruby.int(0)? };
    let span = ruby.send(found, "byteoffset", &[group])?;
    let offset = |index| {
        Ok::<_, Raise<'r>>(ruby.array_get(span, index)?.as_int().and_then(|offset| usize::try_from(offset).ok()))
    };
    let (Some(start), Some(end)) = (offset(0)?, offset(1)?) else {
        return Err(raise("IndexError", "regexp group not matched"));
    };
    let whole = {
        let bytes = ruby.bytes(text)?;
        [&bytes[..start], &ruby.bytes(new)?, &bytes[end..]].concat()
    };
    ruby.send(text, "replace", &[ruby.str(whole)?])?;
    Ok(new)
}

/// What is searched for: a pattern, or a literal text.
enum Needle<'r> {
    Pattern(Value<'r>, Arc<Pattern>),
    Text(Vec<u8>),
}

impl Core {
    /// A Regexp, made from a String's text if it is one.
    fn to_regexp<'r>(self, ruby: Ruby<'r>, value: Value<'r>) -> Outcome<'r> {
        if self.is_regexp(ruby, value)? {
            return Ok(value);
        }
        ruby.bytes(value)?;
        ruby.send(ruby.kept(self.regexp), self.new, &[value])
    }

    fn needle<'r>(self, ruby: Ruby<'r>, value: Value<'r>) -> Outcome<'r, Needle<'r>> {
        if self.is_regexp(ruby, value)? {
            return Ok(Needle::Pattern(value, self.pattern(ruby, value)?));
        }
        if value.kind() != Kind::String {
            let class = ruby.class_name(value);
            return Err(raise("TypeError", format!("wrong argument type {class} (expected Regexp)")));
        }
        Ok(Needle::Text(ruby.to_vec(value)?))
    }
}

/// What ends a walk over matches: a Ruby exception, or a search that gives up.
struct Broken<'r>(Raise<'r>);

impl From<SearchError> for Broken<'_> {
    fn from(error: SearchError) -> Self {
        Broken(search_error(error))
    }
}

impl<'r> Needle<'r> {
    /// All non-overlapping matches from the left.
    fn each(&self, ruby: Ruby<'r>, text: &[u8], mut each: impl FnMut(Spans) -> Outcome<'r, bool>) -> Outcome<'r, ()> {
        let mut matches = 0u32;
        let mut each = |spans| {
            matches = matches.wrapping_add(1);
            // A stop takes effect in natives only when they call Ruby.
            if matches.is_multiple_of(64) {
                ruby.str("")?;
            }
            each(spans)
        };
        match self {
            Needle::Pattern(_, pattern) => {
                pattern.each(text, |spans| each(spans).map_err(Broken)).map_err(|Broken(raise)| raise)
            }
            Needle::Text(needle) if needle.is_empty() => {
                let boundaries = text.char_indices().map(|(at, ..)| at).chain([text.len()]);
                for at in boundaries {
                    if !each(vec![Some((at, at))])? {
                        break;
                    }
                }
                Ok(())
            }
            Needle::Text(needle) => {
                let mut from = 0;
                while let Some(at) = text[from..].find(needle) {
                    let start = from + at;
                    from = start + needle.len();
                    if !each(vec![Some((start, from))])? {
                        break;
                    }
                }
                Ok(())
            }
        }
    }

    /// Sets `$~`. If a plain text was searched for, its pattern is only made when the MatchData is asked for it.
    fn set_last(&self, core: Core, ruby: Ruby<'r>, text: Value<'r>, spans: Option<&Spans>) -> Outcome<'r> {
        let regexp = match self {
            Needle::Pattern(regexp, _) => *regexp,
            Needle::Text(_) => Value::NIL,
        };
        core.set_last(ruby, text, regexp, spans)
    }
}

fn scan<'r>(core: Core, ruby: Ruby<'r>, args: &Args<'r>) -> Outcome<'r> {
    let needle = core.needle(ruby, args.required(0)?)?;
    let block = args.block();
    let text = core.frozen(ruby, args.self_value())?;
    let bytes = ruby.bytes(text)?;
    let list = ruby.array(&[])?;
    let mut last = None;
    needle.each(ruby, &bytes, |spans| {
        let piece =
            |span: Option<(usize, usize)>| span.map_or(Ok(Value::NIL), |(start, end)| ruby.str(&bytes[start..end]));
        let item = if spans.len() == 1 {
            piece(spans[0])?
        } else {
            let groups = ruby.array_with_capacity(spans.len() - 1)?;
            for span in &spans[1..] {
                ruby.array_push(groups, piece(*span)?)?;
            }
            groups
        };
        if let Some(block) = block {
            needle.set_last(core, ruby, text, Some(&spans))?;
            ruby.yield_block(block, &[item])?;
        } else {
            ruby.array_push(list, item)?;
        }
        last = Some(spans);
        Ok(true)
    })?;
    needle.set_last(core, ruby, text, last.as_ref())?;
    Ok(if block.is_some() { args.self_value() } else { list })
}

/// Keywords, if there are any: an Enumerator passes an empty hash on.
fn keywords<'r>(ruby: Ruby<'r>, args: &Args<'r>) -> Option<Value<'r>> {
    args.keywords().filter(|keywords| ruby.hash_len(*keywords) > 0)
}

/// `sub` and `gsub`: the new text, or nil if nothing was found.
fn substitute<'r>(core: Core, ruby: Ruby<'r>, args: &Args<'r>, all: bool) -> Outcome<'r> {
    let needle = core.needle(ruby, args.required(0)?)?;
    // `gsub(/a/, "a" => "b")`: a hash without braces comes as keywords.
    let replacement = keywords(ruby, args).filter(|_| args.len() < 2).unwrap_or(args.get(1));
    let with = match replacement.kind() {
        Kind::String => With::Text(ruby.to_vec(replacement)?),
        Kind::Hash => With::Hash(replacement),
        Kind::Nil if args.len() < 2 => With::Block(args.required_block()?),
        _ => With::Text(ruby.to_vec(ruby.send(replacement, "to_str", &[])?)?),
    };
    let text = core.frozen(ruby, args.self_value())?;
    let bytes = ruby.bytes(text)?;
    let names = match &needle {
        Needle::Pattern(_, pattern) => pattern.names(),
        Needle::Text(_) => &[],
    };
    let (mut out, mut copied, mut last) = (Vec::with_capacity(bytes.len() + 16), 0, None);
    needle.each(ruby, &bytes, |spans| {
        let Some(&Some((start, end))) = spans.first() else { return Ok(false) };
        out.extend_from_slice(&bytes[copied..start]);
        copied = end;
        match &with {
            With::Text(with) => template(with, &bytes, &spans, names, &mut out).map_err(template_error)?,
            With::Hash(hash) => {
                let found = ruby.str(&bytes[start..end])?;
                let value = ruby.send(*hash, "[]", &[found])?;
                out.extend_from_slice(&ruby.bytes(ruby.to_s(value)?)?);
            }
            With::Block(block) => {
                needle.set_last(core, ruby, text, Some(&spans))?;
                let value = ruby.yield_block(*block, &[ruby.str(&bytes[start..end])?])?;
                out.extend_from_slice(&ruby.bytes(ruby.to_s(value)?)?);
            }
        }
        last = Some(spans);
        Ok(all)
    })?;
    needle.set_last(core, ruby, text, last.as_ref())?;
    if last.is_none() {
        return Ok(Value::NIL);
    }
    out.extend_from_slice(&bytes[copied..]);
    ruby.str(out)
}

/// The replacement of a match.
enum With<'r> {
    Text(Vec<u8>),
    Hash(Value<'r>),
    Block(Value<'r>),
}

fn split<'r>(ruby: Ruby<'r>, args: &Args<'r>, needle: &Needle<'r>) -> Outcome<'r> {
    let limit = args.get(1).as_int().unwrap_or(0);
    let text = ruby.bytes(args.self_value())?;
    let mut parts: Vec<(usize, usize)> = Vec::new();
    if text.is_empty() {
        return ruby.array(&[]);
    }
    let most = usize::try_from(limit).ok().filter(|limit| *limit > 0);
    let (mut begin, mut fields) = (0, 1);
    needle.each(ruby, &text, |spans| {
        if most.is_some_and(|most| fields >= most) {
            return Ok(false);
        }
        let Some(&Some((start, end))) = spans.first() else { return Ok(false) };
        // An empty match splits between characters, not before the first of a field.
        if start == end && start == begin {
            return Ok(true);
        }
        parts.push((begin, start));
        parts.extend(spans[1..].iter().flatten());
        begin = end;
        fields += 1;
        Ok(true)
    })?;
    parts.push((begin, text.len()));
    if limit == 0 {
        while parts.last().is_some_and(|(start, end)| start == end) {
            parts.pop();
        }
    }
    let list = ruby.array_with_capacity(parts.len())?;
    for (start, end) in parts {
        ruby.array_push(list, ruby.str(&text[start..end])?)?;
    }
    Ok(list)
}

/// `index` and `rindex` of a pattern.
fn index<'r>(core: Core, ruby: Ruby<'r>, args: &Args<'r>, back: bool) -> Outcome<'r> {
    let (text, regexp, at) = (args.self_value(), args.required(0)?, args.get(1).as_int());
    let pattern = core.pattern(ruby, regexp)?;
    let spans = {
        let bytes = ruby.bytes(text)?;
        let from = match at {
            None => Some(if back { bytes.len() } else { 0 }),
            // Backwards, a position beyond the end is the end.
            Some(at) if back && at >= 0 => Some(byte_position(&bytes, at).unwrap_or(bytes.len())),
            Some(at) => position(&bytes, at),
        };
        match from {
            None => None,
            Some(from) if back => pattern.search_back(&bytes, from).map_err(search_error)?,
            Some(from) => pattern.search(&bytes, from).map_err(search_error)?,
        }
    };
    core.place(ruby, text, regexp, spans.as_ref())
}
