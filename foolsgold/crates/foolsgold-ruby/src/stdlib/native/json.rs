//! JSON.parse and JSON.generate, directly over Ruby's values.

use super::raise;
use crate::stdlib::json::{self, Builder, Limits, Unwritable};
use mruby::{Args, Kind, Outcome, Raise, Ruby, Value};

/// The deepest nesting that is written, whatever limit a program sets: the writer is recursive.
const DEEPEST: usize = 500;

pub fn define(ruby: Ruby<'_>) -> Outcome<'_, ()> {
    let json = ruby.define_module("JSON")?;
    let error = ruby.define_class_under(json, "JSONError", ruby.class("StandardError")?)?;
    let parser = ruby.define_class_under(json, "ParserError", error)?;
    ruby.define_class_under(json, "NestingError", parser)?;
    ruby.define_class_under(json, "GeneratorError", error)?;
    // __parse(text, max_nesting, allow_nan, symbolize_names)
    ruby.define_singleton_method(json, "__parse", |ruby, args: Args<'_>| {
        let text = ruby.to_vec(args.required(0)?)?;
        let nesting = args.get(1).as_int().map_or(0, |nesting| usize::try_from(nesting).unwrap_or(0));
        let limits = Limits { nesting, nan: args.get(2).truthy() };
        let mut values = Values { ruby, symbols: args.get(3).truthy() };
        json::parse(&text, limits, &mut values).map_err(|Failed(raise)| raise)
    })?;
    // __generate(value, state or nil)
    ruby.define_singleton_method(json, "__generate", |ruby, args: Args<'_>| {
        let state = args.get(1);
        let style = if state.is_nil() { Style::default() } else { Style::of(ruby, state)? };
        let mut writer = Writer { ruby, depth: style.depth, style, state, out: Vec::with_capacity(256) };
        writer.value(args.required(0)?)?;
        ruby.str(writer.out)
    })
}

struct Values<'r> {
    ruby: Ruby<'r>,
    symbols: bool,
}

/// A Ruby exception, as the error that ends the reader.
struct Failed<'r>(Raise<'r>);

impl From<json::Error> for Failed<'_> {
    fn from(error: json::Error) -> Self {
        let class = match error {
            json::Error::TooDeep(_) => "JSON::NestingError",
            _ => "JSON::ParserError",
        };
        Failed(raise(class, error))
    }
}

impl<'r> From<Raise<'r>> for Failed<'r> {
    fn from(raise: Raise<'r>) -> Self {
        Failed(raise)
    }
}

impl<'r> Builder for Values<'r> {
    type Value = Value<'r>;
    type Error = Failed<'r>;

    fn simple(&mut self, value: Option<bool>) -> Result<Value<'r>, Failed<'r>> {
        Ok(value.map_or(Value::NIL, Value::from_bool))
    }

    fn integer(&mut self, value: i64) -> Result<Value<'r>, Failed<'r>> {
        Ok(self.ruby.int(value)?)
    }

    fn big_integer(&mut self, digits: &str) -> Result<Value<'r>, Failed<'r>> {
        // Integers have at most 64 bits here; a larger one becomes the float that JavaScript would read.
        Ok(self.ruby.float(digits.parse().unwrap_or(f64::INFINITY))?)
    }

    fn float(&mut self, value: f64) -> Result<Value<'r>, Failed<'r>> {
        Ok(self.ruby.float(value)?)
    }

    fn string(&mut self, value: &[u8]) -> Result<Value<'r>, Failed<'r>> {
        Ok(self.ruby.str(value)?)
    }

    fn array(&mut self) -> Result<Value<'r>, Failed<'r>> {
        Ok(self.ruby.array(&[])?)
    }

    fn push(&mut self, array: Value<'r>, value: Value<'r>) -> Result<(), Failed<'r>> {
        Ok(self.ruby.array_push(array, value)?)
    }

    fn object(&mut self) -> Result<Value<'r>, Failed<'r>> {
        Ok(self.ruby.hash()?)
    }

    fn key(&mut self, key: &[u8]) -> Result<Value<'r>, Failed<'r>> {
        let key_text = self.ruby.str(key)?;
        if self.symbols {
            return Ok(self.ruby.send(key_text, "to_sym", &[])?);
        }
        Ok(self.ruby.freeze(key_text))
    }

    fn insert(&mut self, object: Value<'r>, key: Value<'r>, value: Value<'r>) -> Result<(), Failed<'r>> {
        Ok(self.ruby.hash_set(object, key, value)?)
    }
}

/// The layout of the output: a JSON::State in Rust.
#[derive(Default)]
struct Style {
    indent: Vec<u8>,
    space: Vec<u8>,
    space_before: Vec<u8>,
    object_line: Vec<u8>,
    array_line: Vec<u8>,
    script_safe: bool,
    allow_nan: bool,
    depth: usize,
    nesting: Option<usize>,
}

impl Style {
    fn of<'r>(ruby: Ruby<'r>, state: Value<'r>) -> Outcome<'r, Self> {
        let text = |name: &str| {
            let value = ruby.ivar_get(state, name)?;
            if value.is_nil() { Ok(Vec::new()) } else { ruby.to_vec(value) }
        };
        let number =
            |name: &str| Ok::<_, Raise<'r>>(ruby.ivar_get(state, name)?.as_int().and_then(|n| usize::try_from(n).ok()));
        Ok(Self {
            indent: text("@indent")?,
            space: text("@space")?,
            space_before: text("@space_before")?,
            object_line: text("@object_nl")?,
            array_line: text("@array_nl")?,
            script_safe: ruby.ivar_get(state, "@script_safe")?.truthy(),
            allow_nan: ruby.ivar_get(state, "@allow_nan")?.truthy(),
            depth: number("@depth")?.unwrap_or(0),
            nesting: number("@max_nesting")?,
        })
    }
}

struct Writer<'r> {
    ruby: Ruby<'r>,
    style: Style,
    /// The JSON::State passed to objects that define `to_json`; created for the first such object.
    state: Value<'r>,
    depth: usize,
    out: Vec<u8>,
}

fn unwritable<'r>(error: Unwritable) -> Raise<'r> {
    raise("JSON::GeneratorError", error)
}

impl<'r> Writer<'r> {
    fn value(&mut self, value: Value<'r>) -> Outcome<'r, ()> {
        match value.kind() {
            Kind::Nil => self.out.extend_from_slice(b"null"),
            Kind::False => self.out.extend_from_slice(b"false"),
            Kind::True => self.out.extend_from_slice(b"true"),
            Kind::Integer => match value.as_int() {
                Some(number) => self.out.extend_from_slice(number.to_string().as_bytes()),
                None => self.text_of(value)?,
            },
            Kind::Float => {
                let number = value.as_float().unwrap_or(f64::NAN);
                json::write_float(number, self.style.allow_nan, &mut self.out).map_err(unwritable)?;
            }
            Kind::String => self.string(value)?,
            Kind::Symbol => {
                let name = self.ruby.to_s(value)?;
                self.string(name)?;
            }
            Kind::Array => self.array(value)?,
            Kind::Hash => self.hash(value)?,
            _ => self.object(value)?,
        }
        Ok(())
    }

    fn string(&mut self, value: Value<'r>) -> Outcome<'r, ()> {
        let text = self.ruby.bytes(value)?;
        json::write_string(&text, self.style.script_safe, &mut self.out).map_err(unwritable)
    }

    /// Writes the result of `to_s` without quotes: integers of any size.
    fn text_of(&mut self, value: Value<'r>) -> Outcome<'r, ()> {
        let text = self.ruby.to_s(value)?;
        self.out.extend_from_slice(&self.ruby.bytes(text)?);
        Ok(())
    }

    fn deeper(&mut self) -> Outcome<'r, ()> {
        self.depth += 1;
        let most = self.style.nesting.map_or(100, |most| if most == 0 { DEEPEST } else { most.min(DEEPEST) });
        if self.depth > most {
            return Err(raise("JSON::NestingError", format!("nesting of {} is too deep", self.depth - 1)));
        }
        Ok(())
    }

    fn line(&mut self, line: fn(&Style) -> &[u8], depth: usize) {
        let line = line(&self.style);
        if line.is_empty() {
            return;
        }
        self.out.extend_from_slice(line);
        for _ in 0..depth {
            self.out.extend_from_slice(&self.style.indent);
        }
    }

    fn array(&mut self, array: Value<'r>) -> Outcome<'r, ()> {
        let line: fn(&Style) -> &[u8] = |style| &style.array_line;
        self.deeper()?;
        if self.ruby.array_len(array) == 0 {
            self.out.extend_from_slice(b"[]");
            self.depth -= 1;
            return Ok(());
        }
        self.out.push(b'[');
        let mut index = 0;
        // The length is read each time: a `to_json` may change the array.
        while index < self.ruby.array_len(array) {
            if index > 0 {
                self.out.push(b',');
            }
            self.line(line, self.depth);
            let item = self.ruby.array_get(array, index)?;
            self.value(item)?;
            index += 1;
        }
        self.depth -= 1;
        self.line(line, self.depth);
        self.out.push(b']');
        Ok(())
    }

    fn hash(&mut self, hash: Value<'r>) -> Outcome<'r, ()> {
        let line: fn(&Style) -> &[u8] = |style| &style.object_line;
        self.deeper()?;
        let pairs = self.ruby.hash_pairs(hash)?;
        if pairs.is_empty() {
            self.out.extend_from_slice(b"{}");
            self.depth -= 1;
            return Ok(());
        }
        self.out.push(b'{');
        for (n, (key, value)) in pairs.into_iter().enumerate() {
            if n > 0 {
                self.out.push(b',');
            }
            self.line(line, self.depth);
            let key = if key.kind() == Kind::String { key } else { self.ruby.to_s(key)? };
            self.string(key)?;
            self.out.extend_from_slice(&self.style.space_before);
            self.out.push(b':');
            self.out.extend_from_slice(&self.style.space);
            self.value(value)?;
        }
        self.depth -= 1;
        self.line(line, self.depth);
        self.out.push(b'}');
        Ok(())
    }

    /// Writes any other object with its own method, with a state that has the present depth.
    fn object(&mut self, value: Value<'r>) -> Outcome<'r, ()> {
        if self.state.is_nil() {
            let class = self.ruby.class("JSON::State")?;
            self.state = self.ruby.send(class, "new", &[])?;
        }
        self.deeper()?;
        self.ruby.ivar_set(self.state, "@depth", self.ruby.int(i64::try_from(self.depth - 1).unwrap_or(0))?)?;
        let text = self.ruby.send(value, "to_json", &[self.state])?;
        self.depth -= 1;
        let bytes = self.ruby.bytes(text)?;
        if std::str::from_utf8(&bytes).is_err() {
            return Err(unwritable(Unwritable::NotText));
        }
        self.out.extend_from_slice(&bytes);
        Ok(())
    }
}
