//! Regexp and MatchData.
//!
//! A Regexp is an object with its source and options; its compiled form is in the thread's cache. A MatchData is an
//! object with one array: the text, the Regexp, and the byte offsets of each group.

use super::search::{BEFORE_SPANS, byte_of, characters, compiled, position, search_error, to_int};
use super::{Core, raise};
use crate::stdlib::regexp::{Options, Spans, escape, slashes_escaped, source_of_union};
use mruby::{Args, Kind, Outcome, Ruby, Value};

/// How many literals are kept as objects. Beyond that, dynamic sources are not kept.
const LITERALS: usize = 500;

pub fn define(ruby: Ruby<'_>, core: Core) -> Outcome<'_, ()> {
    let regexp = ruby.kept(core.regexp);
    let literals = ruby.keep(ruby.hash()?)?;
    ruby.define_singleton_method(regexp, "compile", move |ruby, args| {
        // A literal with the same options is the same object each time, as in CRuby.
        let (source, letters) = (args.required(0)?, args.get(1));
        if source.kind() != Kind::String || !matches!(letters.kind(), Kind::Nil | Kind::String) {
            return ruby.send(args.self_value(), core.new, &[source, letters]);
        }
        // `/re/n`: mruby passes the letter of an encoding separately.
        let letters = match (letters.kind(), args.get(2).kind()) {
            (_, Kind::Nil) => letters,
            (Kind::Nil, _) => args.get(2),
            _ => ruby.str([&*ruby.bytes(letters)?, &*ruby.bytes(args.get(2))?].concat())?,
        };
        let literals = ruby.kept(literals);
        let mut known = ruby.hash_get(literals, letters)?;
        if known.is_nil() {
            known = ruby.hash()?;
            ruby.hash_set(literals, letters, known)?;
        }
        let found = ruby.hash_get(known, source)?;
        if found.truthy() {
            return Ok(found);
        }
        let made = ruby.send(args.self_value(), core.new, &[source, letters])?;
        ruby.freeze(made);
        if ruby.hash_len(known) < LITERALS && ruby.hash_len(literals) < 32 {
            ruby.hash_set(known, source, made)?;
        }
        Ok(made)
    })?;
    for name in ["escape", "quote"] {
        ruby.define_singleton_method(regexp, name, |ruby: Ruby<'_>, args: Args<'_>| {
            let given = ruby.to_s(args.required(0)?)?;
            let escaped = escape(&ruby.bytes(given)?);
            ruby.str(escaped)
        })?;
    }
    ruby.define_method(regexp, "initialize", move |ruby, args| initialize(core, ruby, &args))?;
    ruby.define_method(regexp, "=~", move |ruby, args| match_operator(core, ruby, args.self_value(), args.get(0)))?;
    ruby.define_method(regexp, "===", move |ruby, args| {
        let subject = args.get(0);
        if !matches!(subject.kind(), Kind::String | Kind::Symbol) {
            core.set_last(ruby, Value::NIL, Value::NIL, None)?;
            return Ok(Value::from_bool(false));
        }
        Ok(Value::from_bool(!match_operator(core, ruby, args.self_value(), subject)?.is_nil()))
    })?;
    ruby.define_method(regexp, "match", move |ruby, args| {
        let found = find(core, ruby, args.self_value(), args.required(0)?, args.get(1))?;
        match args.block() {
            Some(block) if !found.is_nil() => ruby.yield_block(block, &[found]),
            _ => Ok(found),
        }
    })?;
    ruby.define_method(regexp, "match?", move |ruby, args| {
        is_match(core, ruby, args.self_value(), args.required(0)?, args.get(1))
    })?;
    define_views(ruby, core)?;
    define_match_data(ruby, core)
}

fn define_views(ruby: Ruby<'_>, core: Core) -> Outcome<'_, ()> {
    let regexp = ruby.kept(core.regexp);
    ruby.define_method(regexp, "to_s", move |ruby, args| {
        let (source, options) = core.source_and_options(ruby, args.self_value())?;
        ruby.str(source_of_union(&ruby.bytes(source)?, options))
    })?;
    ruby.define_method(regexp, "inspect", move |ruby, args| {
        let (source, options) = core.source_and_options(ruby, args.self_value())?;
        let mut out = b"/".to_vec();
        out.extend(slashes_escaped(&ruby.bytes(source)?));
        out.push(b'/');
        out.extend(options.letters().bytes());
        ruby.str(out)
    })?;
    ruby.define_method(regexp, "named_captures", move |ruby, args| {
        let names = ruby.hash()?;
        for (name, groups) in core.pattern(ruby, args.self_value())?.names() {
            let numbers = ruby.array(&[])?;
            for group in groups {
                ruby.array_push(numbers, ruby.int(to_int(*group))?)?;
            }
            ruby.hash_set(names, ruby.str(name)?, numbers)?;
        }
        Ok(names)
    })
}

fn initialize<'r>(core: Core, ruby: Ruby<'r>, args: &Args<'r>) -> Outcome<'r> {
    let (given, second) = (args.required(0)?, args.get(1));
    let (source, options) = if core.is_regexp(ruby, given)? {
        core.source_and_options(ruby, given)?
    } else {
        let options = match second.kind() {
            Kind::Integer => Options(u8::try_from(second.as_int().unwrap_or(0) & 0x37).unwrap_or(0)),
            Kind::String => Options::from_letters(&ruby.bytes(second)?),
            _ if second.truthy() => Options(Options::IGNORE_CASE),
            _ => Options(0),
        };
        // The letter of an encoding comes from a literal: `/re/n`.
        let letters = args.get(2);
        let more =
            if letters.kind() == Kind::String { Options::from_letters(&ruby.bytes(letters)?) } else { Options(0) };
        (given, Options(options.0 | more.0))
    };
    compiled(ruby, &ruby.bytes(source)?, options)?;
    let object = args.self_value();
    ruby.ivar_set(object, core.source, core.frozen(ruby, source)?)?;
    ruby.ivar_set(object, core.options, ruby.int(i64::from(options.0))?)?;
    Ok(object)
}

/// The text to search: a String, or a Symbol's name.
fn subject<'r>(core: Core, ruby: Ruby<'r>, value: Value<'r>) -> Outcome<'r> {
    match value.kind() {
        Kind::String => Ok(value),
        Kind::Symbol => ruby.send(value, core.to_s, &[]),
        _ => Err(raise("TypeError", format!("no implicit conversion of {} into String", ruby.class_name(value)))),
    }
}

/// `regexp.match(subject, position)`.
pub fn find<'r>(core: Core, ruby: Ruby<'r>, regexp: Value<'r>, value: Value<'r>, at: Value<'r>) -> Outcome<'r> {
    if value.is_nil() {
        return core.set_last(ruby, value, regexp, None);
    }
    let text = subject(core, ruby, value)?;
    let spans = search_from(core, ruby, regexp, text, at)?;
    let text = if spans.is_some() { core.frozen(ruby, text)? } else { text };
    core.set_last(ruby, text, regexp, spans.as_ref())
}

fn search_from<'r>(
    core: Core,
    ruby: Ruby<'r>,
    regexp: Value<'r>,
    text: Value<'r>,
    at: Value<'r>,
) -> Outcome<'r, Option<Spans>> {
    let pattern = core.pattern(ruby, regexp)?;
    let bytes = ruby.bytes(text)?;
    match position(&bytes, at.as_int().unwrap_or(0)) {
        Some(from) => pattern.search(&bytes, from).map_err(search_error),
        None => Ok(None),
    }
}

/// `regexp =~ subject`: where the match begins, in characters.
pub fn match_operator<'r>(core: Core, ruby: Ruby<'r>, regexp: Value<'r>, value: Value<'r>) -> Outcome<'r> {
    if value.is_nil() {
        return core.set_last(ruby, value, regexp, None);
    }
    let text = subject(core, ruby, value)?;
    let spans = core.pattern(ruby, regexp)?.search(&ruby.bytes(text)?, 0).map_err(search_error)?;
    core.place(ruby, text, regexp, spans.as_ref())
}

/// `regexp.match?(subject, position)`: leaves `$~` alone.
pub fn is_match<'r>(core: Core, ruby: Ruby<'r>, regexp: Value<'r>, value: Value<'r>, at: Value<'r>) -> Outcome<'r> {
    if value.is_nil() {
        return Ok(Value::from_bool(false));
    }
    let text = subject(core, ruby, value)?;
    let pattern = core.pattern(ruby, regexp)?;
    let bytes = ruby.bytes(text)?;
    let found = match position(&bytes, at.as_int().unwrap_or(0)) {
        Some(from) => pattern.is_match(&bytes, from).map_err(search_error)?,
        None => false,
    };
    Ok(Value::from_bool(found))
}

/// The contents of a MatchData.
struct Found<'r> {
    ruby: Ruby<'r>,
    data: Value<'r>,
}

impl<'r> Found<'r> {
    fn of(core: Core, ruby: Ruby<'r>, found: Value<'r>) -> Outcome<'r, Self> {
        let data = ruby.ivar_get(found, core.data)?;
        if data.kind() == Kind::Array {
            Ok(Self { ruby, data })
        } else {
            Err(raise("TypeError", "uninitialized MatchData"))
        }
    }

    fn text(&self) -> Outcome<'r> {
        self.ruby.array_get(self.data, 0)
    }

    /// The pattern; if a plain text was searched for, its pattern is made now.
    fn regexp(&self, core: Core) -> Outcome<'r> {
        let regexp = self.ruby.array_get(self.data, 1)?;
        if !regexp.is_nil() {
            return Ok(regexp);
        }
        let source = escape(&self.ruby.bytes(self.group(0)?)?);
        self.ruby.send(self.ruby.kept(core.regexp), core.new, &[self.ruby.str(source)?])
    }

    fn groups(&self) -> usize {
        (self.ruby.array_len(self.data) - BEFORE_SPANS) / 2
    }

    fn span(&self, group: usize) -> Option<(usize, usize)> {
        let offset = |index| self.ruby.array_get(self.data, BEFORE_SPANS + group * 2 + index).ok()?.as_int();
        Some((usize::try_from(offset(0)?).ok()?, usize::try_from(offset(1)?).ok()?))
    }

    fn piece(&self, start: usize, end: usize) -> Outcome<'r> {
        let bytes = self.ruby.bytes(self.text()?)?;
        self.ruby.str(bytes.get(start..end).unwrap_or_default())
    }

    fn group(&self, group: usize) -> Outcome<'r> {
        match self.span(group) {
            Some((start, end)) if group < self.groups() => self.piece(start, end),
            _ => Ok(Value::NIL),
        }
    }

    fn list(&self, from: usize) -> Outcome<'r> {
        let list = self.ruby.array_with_capacity(self.groups())?;
        for group in from..self.groups() {
            self.ruby.array_push(list, self.group(group)?)?;
        }
        Ok(list)
    }

    /// The group with a number (from the end if negative) or a name; `None` for a number out of range.
    fn number(&self, core: Core, name: Value<'r>) -> Outcome<'r, Option<usize>> {
        if let Some(number) = name.as_int() {
            let number = if number < 0 { number + to_int(self.groups()) } else { number };
            return Ok(usize::try_from(number).ok().filter(|group| *group < self.groups()));
        }
        let text = subject(core, self.ruby, name)?;
        let name = self.ruby.string(text)?;
        let pattern = core.pattern(self.ruby, self.regexp(core)?)?;
        let groups = pattern.names().iter().find(|(known, _)| *known == name).map(|(_, groups)| groups.clone());
        let groups = groups.ok_or_else(|| raise("IndexError", format!("undefined group name reference: {name}")))?;
        Ok(groups.iter().rev().find(|group| self.span(**group).is_some()).or(groups.last()).copied())
    }
}

/// The group of a match with a number or name, as text.
pub fn group_of<'r>(core: Core, ruby: Ruby<'r>, found: Value<'r>, name: Value<'r>) -> Outcome<'r> {
    let found = Found::of(core, ruby, found)?;
    match found.number(core, name)? {
        Some(group) => found.group(group),
        None => Ok(Value::NIL),
    }
}

fn define_match_data(ruby: Ruby<'_>, core: Core) -> Outcome<'_, ()> {
    let class = ruby.kept(core.match_data);
    ruby.define_method(class, "__group", move |ruby, args| group_of(core, ruby, args.self_value(), args.required(0)?))?;
    ruby.define_method(class, "__span", move |ruby, args| {
        let found = Found::of(core, ruby, args.self_value())?;
        let group = found.number(core, args.required(0)?)?;
        let Some(group) = group else {
            let index = ruby.inspect(args.get(0))?;
            return Err(raise("IndexError", format!("index {index} out of matches")));
        };
        let Some((start, end)) = found.span(group) else { return ruby.array(&[Value::NIL, Value::NIL]) };
        let bytes = ruby.bytes(found.text()?)?;
        let first = characters(&bytes[..start]);
        let last = first + characters(&bytes[start..end]);
        ruby.array(&[ruby.int(to_int(first))?, ruby.int(to_int(last))?])
    })?;
    ruby.define_method(class, "byteoffset", move |ruby, args| {
        let found = Found::of(core, ruby, args.self_value())?;
        let span = found.number(core, args.required(0)?)?.and_then(|group| found.span(group));
        let Some((start, end)) = span else { return ruby.array(&[Value::NIL, Value::NIL]) };
        ruby.array(&[ruby.int(to_int(start))?, ruby.int(to_int(end))?])
    })?;
    ruby.define_method(class, "to_a", move |ruby, args| Found::of(core, ruby, args.self_value())?.list(0))?;
    ruby.define_method(class, "captures", move |ruby, args| Found::of(core, ruby, args.self_value())?.list(1))?;
    ruby.define_method(class, "to_s", move |ruby, args| Found::of(core, ruby, args.self_value())?.group(0))?;
    ruby.define_method(class, "string", move |ruby, args| Found::of(core, ruby, args.self_value())?.text())?;
    ruby.define_method(class, "regexp", move |ruby, args| Found::of(core, ruby, args.self_value())?.regexp(core))?;
    for name in ["size", "length"] {
        ruby.define_method(class, name, move |ruby, args| {
            ruby.int(to_int(Found::of(core, ruby, args.self_value())?.groups()))
        })?;
    }
    ruby.define_method(class, "pre_match", move |ruby, args| {
        let found = Found::of(core, ruby, args.self_value())?;
        found.piece(0, found.span(0).map_or(0, |(start, _)| start))
    })?;
    ruby.define_method(class, "post_match", move |ruby, args| {
        let found = Found::of(core, ruby, args.self_value())?;
        let length = ruby.bytes(found.text()?)?.len();
        found.piece(found.span(0).map_or(0, |(_, end)| end), length)
    })
}

/// An argument's position in bytes, for callers that have the text's bytes.
pub fn byte_position(bytes: &[u8], at: i64) -> Option<usize> {
    if at >= 0 { byte_of(bytes, usize::try_from(at).ok()?) } else { position(bytes, at) }
}
