//! Natives of the module `FoolsGold::Native`: escapes, forms, URIs, digests, random numbers, encodings. Ruby's classes
//! call them, and so may applications in which every microsecond counts.

use super::{count, raise, text};
use crate::stdlib::digest::{self, Algorithm};
use crate::stdlib::encoding::{self, EncodeError, Encoding, Replace};
use crate::stdlib::escape::{self, Plain};
use crate::stdlib::{random, uri};
use mruby::{Args, Kind, Outcome, Raise, Ruby, Value};

type Bytes = Vec<u8>;

pub fn define<'r>(ruby: Ruby<'r>, native: Value<'r>) -> Outcome<'r, ()> {
    define_escapes(ruby, native)?;
    define_forms(ruby, native)?;
    define_digests(ruby, native)?;
    define_random(ruby, native)?;
    define_encodings(ruby, native)?;
    define_uri(ruby, native)
}

/// Defines a native that maps one text to another.
fn text_to_text<'r>(ruby: Ruby<'r>, on: Value<'r>, name: &str, change: fn(&[u8]) -> Bytes) -> Outcome<'r, ()> {
    ruby.define_singleton_method(on, name, move |ruby: Ruby<'_>, args: Args<'_>| {
        let given = args.required(0)?;
        let given = if given.kind() == Kind::String { given } else { ruby.to_s(given)? };
        let changed = change(&ruby.bytes(given)?);
        ruby.str(changed)
    })
}

fn define_escapes<'r>(ruby: Ruby<'r>, native: Value<'r>) -> Outcome<'r, ()> {
    text_to_text(ruby, native, "escape", |text| escape::escape(text, Plain::Form))?;
    text_to_text(ruby, native, "cgi_escape", |text| escape::escape(text, Plain::Cgi))?;
    text_to_text(ruby, native, "escape_component", |text| escape::escape(text, Plain::Component))?;
    text_to_text(ruby, native, "escape_path", |text| escape::escape(text, Plain::Path))?;
    text_to_text(ruby, native, "cgi_unescape", escape::unescape)?;
    text_to_text(ruby, native, "unescape_component", escape::unescape_component)?;
    text_to_text(ruby, native, "unescape_html", escape::unescape_html)?;
    ruby.define_singleton_method(native, "unescape", |ruby, args: Args<'_>| {
        let given = args.required(0)?;
        let decoded = escape::unescape_strict(&ruby.bytes(given)?);
        match decoded {
            Ok(decoded) => ruby.str(decoded),
            Err(error) => Err(raise("ArgumentError", format!("{error} ({})", ruby.string(given)?))),
        }
    })?;
    ruby.define_singleton_method(native, "escape_html", |ruby, args: Args<'_>| {
        let given = args.required(0)?;
        let given = if given.kind() == Kind::String { given } else { ruby.to_s(given)? };
        let bytes = ruby.bytes(given)?;
        // Most texts in a template need no escaping; a copy is still made, since the result may be changed.
        if escape::needs_html_escape(&bytes) { ruby.str(escape::escape_html(&bytes)) } else { ruby.str(&*bytes) }
    })
}

fn define_forms<'r>(ruby: Ruby<'r>, native: Value<'r>) -> Outcome<'r, ()> {
    // parse_pairs(query, separators): [[name, value or nil], ...]
    ruby.define_singleton_method(native, "parse_pairs", |ruby, args: Args<'_>| {
        let separators = if args.get(1).is_nil() { b"&".to_vec() } else { text(ruby, &args, 1)? };
        let pairs = escape::parse_pairs(&args.bytes(0)?, &separators);
        let pairs = pairs.map_err(|error| raise("ArgumentError", error))?;
        let list = ruby.array_with_capacity(pairs.len())?;
        for (name, value) in pairs {
            let value = value.map_or(Ok(Value::NIL), |value| ruby.str(value))?;
            ruby.array_push(list, ruby.array(&[ruby.str(name)?, value])?)?;
        }
        Ok(list)
    })?;
    ruby.define_singleton_method(native, "secure_compare", |_, args: Args<'_>| {
        Ok(Value::from_bool(escape::secure_compare(&args.bytes(0)?, &args.bytes(1)?)))
    })
}

fn algorithm<'r>(args: &Args<'r>) -> Outcome<'r, Algorithm> {
    let name = args.bytes(0)?;
    Algorithm::named(&name).ok_or_else(|| {
        raise("RuntimeError", format!("Unsupported digest algorithm ({})", String::from_utf8_lossy(&name)))
    })
}

fn define_digests<'r>(ruby: Ruby<'r>, native: Value<'r>) -> Outcome<'r, ()> {
    ruby.define_singleton_method(native, "digest", |ruby, args: Args<'_>| {
        ruby.str(algorithm(&args)?.digest(&[&*args.bytes(1)?]))
    })?;
    ruby.define_singleton_method(native, "hexdigest", |ruby, args: Args<'_>| {
        ruby.str(digest::hex(&algorithm(&args)?.digest(&[&*args.bytes(1)?])))
    })?;
    ruby.define_singleton_method(native, "hmac", |ruby, args: Args<'_>| {
        ruby.str(algorithm(&args)?.hmac(&args.bytes(1)?, &args.bytes(2)?))
    })?;
    text_to_text(ruby, native, "hex", |text| digest::hex(text).into_bytes())?;
    text_to_text(ruby, native, "base64", |text| digest::base64(text).into_bytes())?;
    text_to_text(ruby, native, "base64_lines", |text| digest::base64_lines(text).into_bytes())?;
    text_to_text(ruby, native, "base64_url", |text| digest::base64_url(text, true).into_bytes())?;
    text_to_text(ruby, native, "base64_decode", digest::base64_decode_lenient)?;
    for (name, decode) in [
        ("base64_decode_strict", digest::base64_decode_strict as fn(&[u8]) -> Option<Bytes>),
        ("base64_url_decode", digest::base64_url_decode),
    ] {
        ruby.define_singleton_method(native, name, move |ruby: Ruby<'_>, args: Args<'_>| {
            let decoded = decode(&args.bytes(0)?);
            ruby.str(decoded.ok_or_else(|| raise("ArgumentError", "invalid base64"))?)
        })?;
    }
    Ok(())
}

fn no_random<'r>(error: random::NoRandom) -> Raise<'r> {
    raise("RuntimeError", error)
}

fn define_random<'r>(ruby: Ruby<'r>, native: Value<'r>) -> Outcome<'r, ()> {
    ruby.define_singleton_method(native, "random_bytes", |ruby, args: Args<'_>| {
        ruby.str(random::bytes(count(&args, 0, 16)?).map_err(no_random)?)
    })?;
    ruby.define_singleton_method(native, "alphanumeric", |ruby, args: Args<'_>| {
        ruby.str(random::alphanumeric(count(&args, 0, 16)?).map_err(no_random)?)
    })?;
    ruby.define_singleton_method(native, "uuid", |ruby, _: Args<'_>| ruby.str(random::uuid().map_err(no_random)?))?;
    ruby.define_singleton_method(native, "random_float", |ruby, _: Args<'_>| {
        ruby.float(random::float().map_err(no_random)?)
    })?;
    ruby.define_singleton_method(native, "random_below", |ruby, args: Args<'_>| {
        let limit = u64::try_from(args.int(0)?).unwrap_or(0);
        let number = random::below(limit).map_err(no_random)?;
        ruby.int(i64::try_from(number).unwrap_or(0))
    })
}

fn encoding_named<'r>(args: &Args<'r>, index: usize) -> Outcome<'r, Encoding> {
    let name = args.bytes(index)?;
    Encoding::named(&name).ok_or_else(|| {
        raise(
            "Encoding::ConverterNotFoundError",
            format!("code converter not found ({})", String::from_utf8_lossy(&name)),
        )
    })
}

fn define_encodings<'r>(ruby: Ruby<'r>, native: Value<'r>) -> Outcome<'r, ()> {
    ruby.define_singleton_method(native, "encoding_name", |ruby, args: Args<'_>| {
        let name = args.bytes(0)?;
        Encoding::named(&name).map_or(Ok(Value::NIL), |encoding| ruby.str(encoding.name()))
    })?;
    ruby.define_singleton_method(native, "valid_utf8", |_, args: Args<'_>| {
        Ok(Value::from_bool(std::str::from_utf8(&args.bytes(0)?).is_ok()))
    })?;
    ruby.define_singleton_method(native, "ascii", |_, args: Args<'_>| Ok(Value::from_bool(args.bytes(0)?.is_ascii())))?;
    ruby.define_singleton_method(native, "scrub", |ruby, args: Args<'_>| {
        ruby.str(encoding::scrub(&args.bytes(0)?, &args.bytes(1)?))
    })?;
    // encode(text, from, to, invalid replacement or nil, undefined replacement or nil)
    ruby.define_singleton_method(native, "encode", |ruby, args: Args<'_>| {
        let (from, to) = (encoding_named(&args, 1)?, encoding_named(&args, 2)?);
        let optional = |index| if args.get(index).is_nil() { Ok(None) } else { args.string(index).map(Some) };
        let (invalid, undefined) = (optional(3)?, optional(4)?);
        let replace = Replace { invalid: invalid.as_deref(), undefined: undefined.as_deref() };
        let converted = encoding::convert(&args.bytes(0)?, from, to, replace).map_err(|error| {
            let class = match error {
                EncodeError::Invalid(_) => "Encoding::InvalidByteSequenceError",
                EncodeError::Undefined(..) => "Encoding::UndefinedConversionError",
            };
            raise(class, error)
        })?;
        ruby.str(converted)
    })
}

fn define_uri<'r>(ruby: Ruby<'r>, native: Value<'r>) -> Outcome<'r, ()> {
    // uri_split(text): [scheme, userinfo, host, port, path, query, fragment], or nil
    ruby.define_singleton_method(native, "uri_split", |ruby, args: Args<'_>| {
        match args.bytes(0)?.to_str().and_then(uri::Parts::of) {
            Some(parts) => uri_parts(ruby, parts),
            None => Ok(Value::NIL),
        }
    })?;
    // uri_join(base, reference): the same parts of the resolved URI
    ruby.define_singleton_method(native, "uri_join", |ruby, args: Args<'_>| {
        let base = args.bytes(0)?.to_str().and_then(uri::Parts::of);
        let reference = args.bytes(1)?.to_str().and_then(uri::Parts::of);
        match base.zip(reference) {
            Some((base, reference)) => uri_parts(ruby, reference.resolved(&base)),
            None => Ok(Value::NIL),
        }
    })
}

fn uri_parts(ruby: Ruby<'_>, parts: uri::Parts) -> Outcome<'_> {
    let text = |part: Option<String>| part.map_or(Ok(Value::NIL), |part| ruby.str(part));
    let port = parts.port.map_or(Ok(Value::NIL), |port| ruby.int(i64::from(port)))?;
    let values = [
        text(parts.scheme)?,
        text(parts.userinfo)?,
        text(parts.host)?,
        port,
        ruby.str(parts.path)?,
        text(parts.query)?,
        text(parts.fragment)?,
    ];
    ruby.array(&values)
}
