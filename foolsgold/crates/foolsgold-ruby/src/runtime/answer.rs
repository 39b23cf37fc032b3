//! Turns what an application returned into an answer (Rack 3 SPEC, "The Response"; names in any case and values with
//! newlines are accepted from Rack 2 applications too).
//!
//! Nothing is sent that could be read as a second answer: a value with CR or NUL is refused, one with newlines becomes
//! several fields. Anything that is not an answer at all raises a TypeError that names it.

use super::state::State;
use foolsgold_core::files::VPath;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use mruby::{Kind, Outcome, Raise, Ruby, Value};
use std::path::PathBuf;

/// Status and fields, and the body still to be read.
pub(super) struct Answer<'r> {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// The body object from the application.
    pub(super) object: Value<'r>,
    pub(super) body: Body<'r>,
}

/// A body, by how it is read.
pub(super) enum Body<'r> {
    /// All of its bytes.
    Whole(Vec<u8>),
    /// The content of a file, which the server sends.
    File(PathBuf),
    /// Read with `each`.
    Each,
    /// Written to a stream by this callable: a body with `call`, or the value of the field `rack.hijack`.
    Call(Value<'r>),
}

impl<'r> Answer<'r> {
    /// Reads what `call` returned.
    pub(super) fn of(ruby: Ruby<'r>, returned: Value<'r>) -> Outcome<'r, Answer<'r>> {
        let triplet = array(ruby, returned)?.filter(|triplet| ruby.array_len(*triplet) == 3);
        let Some(triplet) = triplet else {
            let what = ruby.inspect(returned)?;
            return Err(wrong(format!("the application returned {what} in place of [status, headers, body]")));
        };
        let status = status(ruby, ruby.array_get(triplet, 0)?)?;
        let mut fields = Fields::default();
        fields.read(ruby, ruby.array_get(triplet, 1)?)?;
        let object = ruby.array_get(triplet, 2)?;
        let body = match fields.hijack {
            Some(callable) => Body::Call(callable),
            None => body(ruby, object)?,
        };
        Ok(Answer { status, headers: fields.headers, object, body })
    }
}

fn wrong<'r>(message: String) -> Raise<'r> {
    Raise::new("TypeError", message)
}

/// An Array, or the value's `to_ary`.
fn array<'r>(ruby: Ruby<'r>, value: Value<'r>) -> Outcome<'r, Option<Value<'r>>> {
    if value.kind() == Kind::Array {
        return Ok(Some(value));
    }
    if matches!(value.kind(), Kind::Nil | Kind::String | Kind::Hash) || !ruby.respond_to(value, "to_ary")? {
        return Ok(None);
    }
    let made = ruby.send(value, "to_ary", &[])?;
    Ok((made.kind() == Kind::Array).then_some(made))
}

fn status<'r>(ruby: Ruby<'r>, value: Value<'r>) -> Outcome<'r, StatusCode> {
    let number = match value.kind() {
        Kind::Integer => value.as_int(),
        Kind::String => ruby.string(value)?.trim().parse().ok(),
        _ => None,
    };
    let code = number.and_then(|number| u16::try_from(number).ok()).filter(|number| (200..=599).contains(number));
    match code.and_then(|code| StatusCode::from_u16(code).ok()) {
        Some(status) => Ok(status),
        None => Err(wrong(format!("invalid status {}: expected a number from 200 to 599", ruby.inspect(value)?))),
    }
}

/// The fields of an answer, and the callable among them.
#[derive(Default)]
struct Fields<'r> {
    headers: HeaderMap,
    hijack: Option<Value<'r>>,
}

impl<'r> Fields<'r> {
    fn read(&mut self, ruby: Ruby<'r>, headers: Value<'r>) -> Outcome<'r, ()> {
        let headers = match headers.kind() {
            Kind::Hash => headers,
            Kind::Nil => return Ok(()),
            _ if ruby.respond_to(headers, "to_hash")? => ruby.send(headers, "to_hash", &[])?,
            _ if ruby.respond_to(headers, "to_h")? => ruby.send(headers, "to_h", &[])?,
            _ => return Err(wrong(format!("headers must be a Hash, not {}", ruby.inspect(headers)?))),
        };
        let mut bad = None;
        let plain = ruby.hash_strings(headers, |name, value| {
            if let Err(reason) = self.add(name, value) {
                bad.get_or_insert(reason);
            }
        })?;
        if !plain {
            self.headers.clear();
            bad = None;
            ruby.hash_each(headers, |name, value| self.pair(ruby, name, value, &mut bad))?;
        }
        bad.map_or(Ok(()), |reason| Err(wrong(reason)))
    }

    /// A pair that is not two Strings: numbers, symbols, Arrays, callables.
    fn pair(&mut self, ruby: Ruby<'r>, name: Value<'r>, value: Value<'r>, bad: &mut Option<String>) -> Outcome<'r, ()> {
        let name = ruby.to_vec(ruby.to_s(name)?)?;
        if name.eq_ignore_ascii_case(b"rack.hijack") {
            self.hijack = Some(value);
            return Ok(());
        }
        let values = if value.kind() == Kind::Array { ruby.array_values(value)? } else { vec![value] };
        for one in values {
            if one.is_nil() {
                continue;
            }
            let text = ruby.to_vec(ruby.to_s(one)?)?;
            if let Err(reason) = self.add(&name, &text) {
                bad.get_or_insert(reason);
            }
        }
        Ok(())
    }

    /// Adds one field, or several if the value has several lines. Names reserved for the server are left out.
    fn add(&mut self, name: &[u8], value: &[u8]) -> Result<(), String> {
        let is_servers = name.get(..5).is_some_and(|start| start.eq_ignore_ascii_case(b"rack."));
        if is_servers || name.eq_ignore_ascii_case(b"status") {
            return Ok(());
        }
        let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let field = HeaderName::from_bytes(name).map_err(|_| format!("invalid header name `{}`", words(name)))?;
        for line in value.split(|byte| *byte == b'\n') {
            let line = HeaderValue::from_bytes(line.trim_ascii())
                .map_err(|_| format!("the header `{field}` has a value with control characters"))?;
            self.headers.append(field.clone(), line);
        }
        Ok(())
    }
}

fn body<'r>(ruby: Ruby<'r>, object: Value<'r>) -> Outcome<'r, Body<'r>> {
    if object.kind() == Kind::Array {
        return whole(ruby, object);
    }
    if matches!(object.kind(), Kind::Nil | Kind::String | Kind::Hash | Kind::Integer | Kind::Symbol) {
        return Err(not_a_body(ruby, object)?);
    }
    if ruby.respond_to(object, "to_path")?
        && let Some(path) = path(ruby, object)?
    {
        return Ok(Body::File(path));
    }
    if let Some(array) = array(ruby, object)? {
        return whole(ruby, array);
    }
    if ruby.respond_to(object, "each")? {
        return Ok(Body::Each);
    }
    if ruby.respond_to(object, "call")? {
        return Ok(Body::Call(object));
    }
    Err(not_a_body(ruby, object)?)
}

fn not_a_body<'r>(ruby: Ruby<'r>, object: Value<'r>) -> Outcome<'r, Raise<'r>> {
    let what = ruby.inspect(object)?;
    Ok(wrong(format!("{what} is not a body: it has neither `each` nor `call`; put a String into an Array")))
}

fn whole<'r>(ruby: Ruby<'r>, array: Value<'r>) -> Outcome<'r, Body<'r>> {
    let mut bytes = Vec::new();
    if ruby.array_strings(array, |chunk| bytes.extend_from_slice(chunk))? {
        return Ok(Body::Whole(bytes));
    }
    let other = ruby.array_values(array)?.into_iter().find(|value| value.kind() != Kind::String);
    let what = ruby.inspect(other.unwrap_or(Value::NIL))?;
    Err(wrong(format!("the body contains {what}; only Strings are allowed")))
}

/// The file of a body with `to_path`, if it is in the application's folder and can be sent from disk.
fn path<'r>(ruby: Ruby<'r>, object: Value<'r>) -> Outcome<'r, Option<PathBuf>> {
    let named = ruby.send(object, "to_path", &[])?;
    if named.kind() != Kind::String {
        return Ok(None);
    }
    let state = State::of(ruby)?;
    let named = state.folder.join(&ruby.string(named)?);
    let real = named.and_then(|path: VPath| state.files.identity(&path));
    let inside = real.filter(|path| path.below(&state.files.real_folder(&state.folder)).is_some());
    Ok(inside.and_then(|path| state.files.on_disk(&path)).filter(|path| path.is_file()))
}
