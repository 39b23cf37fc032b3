//! Rack's environment of a request (Rack 3 SPEC, "The Environment"), with the keys that Rack 2 applications use.
//!
//! Most of it is the same for every request and is in one Hash that is copied; keys are frozen Strings made once.
//! Header values are bytes as received. Several fields with one name are joined according to RFC 9110 5.2, cookies with
//! `; `.

use super::input::Incoming;
use super::settings::Settings;
use super::state::State;
use foolsgold_core::work::{Mode, Request, RequestBody};
use http::header::{self, HeaderName};
use http::{HeaderMap, Method, Version};
use mruby::{Field, Kept, Outcome, Ruby, Value};
use std::cell::{Ref, RefCell};
use std::collections::HashMap;
use std::net::IpAddr;

/// The keys whose values differ from request to request, in the order of [`EnvTemplate::fixed`].
const FIXED: [&str; 9] = [
    "REQUEST_METHOD",
    "PATH_INFO",
    "QUERY_STRING",
    "SERVER_NAME",
    "SERVER_PORT",
    "SERVER_PROTOCOL",
    "REMOTE_ADDR",
    "rack.url_scheme",
    "rack.input",
];

/// The number of pairs an environment has room for before its table has to grow: those of a browser's request, and some
/// from middlewares.
const PAIRS: usize = 48;

/// Fields whose keys are made in advance. Others work too, at the cost of a String each.
const COMMON: [HeaderName; 36] = [
    header::ACCEPT,
    header::ACCEPT_CHARSET,
    header::ACCEPT_ENCODING,
    header::ACCEPT_LANGUAGE,
    header::AUTHORIZATION,
    header::CACHE_CONTROL,
    header::CONNECTION,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::COOKIE,
    header::DATE,
    header::DNT,
    header::EXPECT,
    header::FORWARDED,
    header::FROM,
    header::HOST,
    header::IF_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_NONE_MATCH,
    header::IF_RANGE,
    header::IF_UNMODIFIED_SINCE,
    header::ORIGIN,
    header::PRAGMA,
    header::RANGE,
    header::REFERER,
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::UPGRADE_INSECURE_REQUESTS,
    header::USER_AGENT,
    header::VIA,
    header::SEC_WEBSOCKET_KEY,
    header::SEC_WEBSOCKET_PROTOCOL,
    header::SEC_WEBSOCKET_VERSION,
    header::TRAILER,
];

/// Methods whose Strings are made in advance.
const METHODS: [Method; 8] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
    Method::TRACE,
];

/// Everything made once for each interpreter.
pub(super) struct EnvTemplate {
    constants: Kept,
    fixed: [Kept; FIXED.len()],
    common: HashMap<HeaderName, Kept>,
    methods: Vec<(Method, Kept)>,
    /// `HTTP/1.0`, `HTTP/1.1`, `HTTP/2`.
    protocols: [Kept; 3],
    /// `http`, `https`.
    schemes: [Kept; 2],
    /// The input of a request without a body. Reading it changes nothing.
    no_input: Kept,
    input_class: Kept,
    stream_input: Kept,
    response_finished: Kept,
    port: Last<u16>,
    peer: Last<Option<IpAddr>>,
}

/// The text of the last value: the next value is usually the same.
struct Last<T>(RefCell<(Option<T>, String)>);

impl<T> Default for Last<T> {
    fn default() -> Last<T> {
        Last(RefCell::new((None, String::new())))
    }
}

impl<T: Copy + PartialEq> Last<T> {
    fn text(&self, value: T, show: impl FnOnce(T) -> String) -> Ref<'_, str> {
        if self.0.borrow().0 != Some(value) {
            *self.0.borrow_mut() = (Some(value), show(value));
        }
        Ref::map(self.0.borrow(), |last| last.1.as_str())
    }
}

impl EnvTemplate {
    pub(super) fn new<'r>(ruby: Ruby<'r>, settings: &Settings, mode: Mode) -> Outcome<'r, EnvTemplate> {
        let constants = constants(ruby, settings, mode)?;
        let frozen = |text: &str| -> Outcome<'r, Kept> { ruby.keep(ruby.freeze(ruby.str(text)?)) };
        let mut fixed = Vec::with_capacity(FIXED.len());
        for name in FIXED {
            fixed.push(frozen(name)?);
        }
        let mut common = HashMap::new();
        for name in COMMON {
            let key = frozen(&cgi_name(&name))?;
            common.insert(name, key);
        }
        let mut methods = Vec::with_capacity(METHODS.len());
        for method in METHODS {
            let name = frozen(method.as_str())?;
            methods.push((method, name));
        }
        let input_class = ruby.class("FoolsGold::Input")?;
        let no_input = ruby.send(input_class, "new", &[ruby.str("")?])?;
        let fixed: [Kept; FIXED.len()] = fixed.try_into().unwrap_or_else(|_| unreachable!("one for each name"));
        Ok(EnvTemplate {
            constants: ruby.keep(constants)?,
            fixed,
            common,
            methods,
            protocols: [frozen("HTTP/1.0")?, frozen("HTTP/1.1")?, frozen("HTTP/2")?],
            schemes: [frozen("http")?, frozen("https")?],
            no_input: ruby.keep(no_input)?,
            input_class: ruby.keep(input_class)?,
            stream_input: ruby.keep(ruby.class("FoolsGold::StreamInput")?)?,
            response_finished: frozen("rack.response_finished")?,
            port: Last::default(),
            peer: Last::default(),
        })
    }

    /// The environment of one request. Takes the body out of the request.
    pub(super) fn build<'r>(&self, ruby: Ruby<'r>, state: &State, request: &mut Request) -> Outcome<'r> {
        let input = self.input(ruby, state, request)?;
        let port = self.port.text(request.server.1, |port| port.to_string());
        let peer = self.peer.text(request.peer, |peer| peer.map_or_else(String::new, |peer| peer.to_string()));
        let joined = joined(&request.headers);
        let method = self.methods.iter().find(|(method, _)| *method == request.method);
        let protocol = self.protocols[match request.version {
            Version::HTTP_10 => 0,
            Version::HTTP_2 => 2,
            _ => 1,
        }];
        let scheme = self.schemes[usize::from(request.scheme == "https")];
        let [key_method, key_path, key_query, key_name, key_port, key_protocol, key_peer, key_scheme, key_input] =
            self.fixed.map(|key| ruby.kept(key));
        let mut pairs = Vec::with_capacity(FIXED.len() + 1 + request.headers.len());
        pairs.extend([
            method.map_or_else(
                || Field::bytes(key_method, request.method.as_str().as_bytes()),
                |(_, name)| Field::value(key_method, ruby.kept(*name)),
            ),
            Field::bytes(key_path, request.uri.path().as_bytes()),
            Field::bytes(key_query, request.uri.query().unwrap_or_default().as_bytes()),
            Field::bytes(key_name, request.server.0.as_bytes()),
            Field::bytes(key_port, port.as_bytes()),
            Field::value(key_protocol, ruby.kept(protocol)),
            Field::bytes(key_peer, peer.as_bytes()),
            Field::value(key_scheme, ruby.kept(scheme)),
            Field::value(key_input, input),
            Field::value(ruby.kept(self.response_finished), ruby.array(&[])?),
        ]);
        for name in request.headers.keys() {
            let key = match self.common.get(name) {
                Some(key) => ruby.kept(*key),
                None => ruby.str(cgi_name(name))?,
            };
            let value = match joined.get(name) {
                Some(value) => Some(value.as_slice()),
                None => request.headers.get(name).map(http::HeaderValue::as_bytes),
            };
            pairs.push(Field::bytes(key, value.unwrap_or_default()));
        }
        ruby.hash_dup_with(ruby.kept(self.constants), &pairs)
    }

    /// The callables that the application has registered for after the answer.
    pub(super) fn finished<'r>(&self, ruby: Ruby<'r>, env: Value<'r>) -> Outcome<'r> {
        ruby.hash_get(env, ruby.kept(self.response_finished))
    }

    fn input<'r>(&self, ruby: Ruby<'r>, state: &State, request: &mut Request) -> Outcome<'r> {
        let body = std::mem::replace(&mut request.body, RequestBody::Whole(bytes::Bytes::new()));
        match body {
            RequestBody::Whole(bytes) if bytes.is_empty() => Ok(ruby.kept(self.no_input)),
            RequestBody::Whole(bytes) => ruby.send(ruby.kept(self.input_class), "new", &[ruby.str(&bytes)?]),
            coming @ RequestBody::Coming(_) => {
                *state.input.borrow_mut() = Incoming::new(coming);
                ruby.send(ruby.kept(self.stream_input), "new", &[])
            }
        }
    }
}

/// The pairs that are the same for every request of an interpreter.
fn constants<'r>(ruby: Ruby<'r>, settings: &Settings, mode: Mode) -> Outcome<'r> {
    let env = ruby.hash_for(PAIRS)?;
    let set = |key: &str, value: Value<'r>| ruby.hash_set(env, ruby.freeze(ruby.str(key)?), value);
    let version = ruby.array(&[Value::from_small_int(3), Value::from_small_int(2)])?;
    set("SCRIPT_NAME", ruby.freeze(ruby.str("")?))?;
    set("SERVER_SOFTWARE", ruby.freeze(ruby.str(concat!("foolsgold/", env!("CARGO_PKG_VERSION")))?))?;
    set("rack.version", ruby.freeze(version))?;
    set("rack.errors", ruby.send(ruby.class("FoolsGold::Errors")?, "new", &[])?)?;
    set("rack.logger", ruby.send(ruby.class("FoolsGold::NativeLogger")?, "new", &[])?)?;
    // One interpreter serves one request at a time, in parallel with others in the same process; and one that is
    // restored never sees a second request.
    set("rack.multithread", Value::from_bool(false))?;
    set("rack.multiprocess", Value::from_bool(true))?;
    set("rack.run_once", Value::from_bool(mode != Mode::Prefork))?;
    set("rack.hijack?", Value::from_bool(false))?;
    let environment = if settings.development { "development" } else { "production" };
    set("foolsgold.environment", ruby.freeze(ruby.str(environment)?))?;
    set("foolsgold.mode", ruby.freeze(ruby.str(mode.name())?))?;
    Ok(env)
}

/// The name that CGI gives to a field such as `user-agent` (RFC 3875 4.1.18); type and length of the body have no
/// prefix.
fn cgi_name(name: &HeaderName) -> String {
    let upper: String = name.as_str().chars().map(|c| if c == '-' { '_' } else { c.to_ascii_uppercase() }).collect();
    match *name {
        header::CONTENT_TYPE | header::CONTENT_LENGTH => upper,
        _ => format!("HTTP_{upper}"),
    }
}

/// The joined values of names that occur several times.
fn joined(headers: &HeaderMap) -> HashMap<&HeaderName, Vec<u8>> {
    if headers.len() == headers.keys_len() {
        return HashMap::new();
    }
    let several = headers.keys().filter(|name| headers.get_all(*name).iter().count() > 1);
    several
        .map(|name| {
            let separator: &[u8] = if *name == header::COOKIE { b"; " } else { b", " };
            let values: Vec<&[u8]> = headers.get_all(name).iter().map(http::HeaderValue::as_bytes).collect();
            (name, values.join(separator))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn names_are_those_of_cgi() {
        assert_eq!(cgi_name(&header::USER_AGENT), "HTTP_USER_AGENT");
        assert_eq!(cgi_name(&header::CONTENT_TYPE), "CONTENT_TYPE");
        assert_eq!(cgi_name(&HeaderName::from_static("x-b3-id")), "HTTP_X_B3_ID");
    }

    #[test]
    fn several_fields_of_a_name_are_joined_and_cookies_by_a_semicolon() {
        let mut headers = HeaderMap::new();
        for (name, value) in [("accept", "a"), ("cookie", "x=1"), ("accept", "b"), ("cookie", "y=2"), ("host", "h")] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let joined = joined(&headers);
        assert_eq!(joined[&header::ACCEPT], b"a, b");
        assert_eq!(joined[&header::COOKIE], b"x=1; y=2");
        assert!(!joined.contains_key(&header::HOST));
    }
}
