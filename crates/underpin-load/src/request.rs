//! The request: read from `METHOD URL`, made into bytes once.
//!
//! `http://HOST[:PORT]/PATH`, and `http://unix:/PATH/TO/SOCKET:/PATH` for a socket in the file system, as nginx writes
//! it. The path goes out as it was given: nothing is decoded or encoded.

use crate::endpoint::Endpoint;
use crate::error::RequestError;
use std::fmt;
use std::path::PathBuf;

/// One request, sent over and over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    endpoint: Endpoint,
    method: String,
    shown: String,
    bytes: Vec<u8>,
}

impl Request {
    /// Reads `METHOD URL` (or a URL alone: `GET`, or `POST` if there is a body) and lines of headers.
    ///
    /// `Host`, `User-Agent` and, with a body, `Content-Length` are added if they are not given.
    ///
    /// # Errors
    /// If the method, the address or a header cannot be read.
    pub fn new(line: &str, headers: &[String], body: &[u8]) -> Result<Request, RequestError> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (method, url) = match words.as_slice() {
            [url] => (if body.is_empty() { "GET" } else { "POST" }, *url),
            [method, url] => (*method, *url),
            _ => return Err(RequestError::Form(line.to_owned())),
        };
        if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-') {
            return Err(RequestError::Form(line.to_owned()));
        }
        let (endpoint, authority, path) = address(url)?;
        let mut bytes = format!("{method} {path} HTTP/1.1\r\n").into_bytes();
        let mut given = Vec::new();
        for text in headers {
            let (name, value) = header(text)?;
            given.push(name.to_ascii_lowercase());
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        let mut add = |name: &str, value: &str| {
            if !given.iter().any(|one| one.eq_ignore_ascii_case(name)) {
                bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
            }
        };
        add("Host", &authority);
        add("User-Agent", concat!("underpin/", env!("CARGO_PKG_VERSION")));
        if !body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH") {
            add("Content-Length", &body.len().to_string());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(body);
        Ok(Request { endpoint, method: method.to_owned(), shown: format!("{method} {url}"), bytes })
    }

    /// Where it goes.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The bytes that are sent.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether it may be sent twice (RFC 9110, section 9.2.2).
    pub(crate) fn is_idempotent(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD" | "PUT" | "DELETE" | "OPTIONS" | "TRACE")
    }

    /// Whether the answer has no body, whatever its headers say.
    pub(crate) fn is_head(&self) -> bool {
        self.method == "HEAD"
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// Endpoint, value of `Host`, and path of an address.
fn address(url: &str) -> Result<(Endpoint, String, String), RequestError> {
    let own = || url.to_owned();
    if url.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return Err(RequestError::Character(own()));
    }
    let rest = match url.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("https") => return Err(RequestError::Encrypted(own())),
        _ => return Err(RequestError::Scheme(own())),
    };
    let rest = rest.split('#').next().unwrap_or_default();
    if let Some(socket) = rest.strip_prefix("unix:") {
        let (socket, path) = socket.split_once(':').unwrap_or((socket, ""));
        if socket.is_empty() {
            return Err(RequestError::Authority(own()));
        }
        return Ok((Endpoint::Unix(PathBuf::from(socket)), "localhost".to_owned(), rooted(path)));
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.contains('@') {
        return Err(RequestError::User(own()));
    }
    let (host, port) = host_and_port(authority).ok_or_else(|| RequestError::Authority(own()))?;
    Ok((Endpoint::Tcp { host, port }, authority.to_owned(), rooted(path)))
}

/// A path with its slash in front, even if only a query was given.
fn rooted(path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("/{path}") }
}

fn host_and_port(authority: &str) -> Option<(String, u16)> {
    let (host, rest) = match authority.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port = match rest.strip_prefix(':') {
        Some(port) => port.parse().ok().filter(|&port| port > 0)?,
        None if rest.is_empty() => 80,
        None => return None,
    };
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

fn header(text: &str) -> Result<(&str, &str), RequestError> {
    let wrong = || RequestError::Header(text.to_owned());
    let (name, value) = text.split_once(':').ok_or_else(wrong)?;
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let plain = !value.bytes().any(|byte| byte == b'\r' || byte == b'\n' || byte == 0);
    (!name.is_empty() && name.bytes().all(token) && plain).then(|| (name, value.trim())).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: &str, headers: &[&str], body: &str) -> String {
        let headers: Vec<String> = headers.iter().map(|&text| text.to_owned()).collect();
        let request = Request::new(line, &headers, body.as_bytes()).unwrap();
        String::from_utf8(request.bytes().to_vec()).unwrap()
    }

    fn endpoint(url: &str) -> String {
        Request::new(url, &[], b"").unwrap().endpoint().to_string()
    }

    #[test]
    fn a_request_is_what_rfc_9112_asks_for() {
        let sent = text("GET http://localhost:8080/a?b=c#part", &[], "");
        assert!(sent.starts_with("GET /a?b=c HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: underpin/"), "{sent}");
        assert!(sent.ends_with("\r\n\r\n") && !sent.contains("Content-Length"), "{sent}");
        let sent = text("http://[::1]:3000?q", &["host: other", "X-A:  b "], "x=1");
        assert!(sent.starts_with("POST /?q HTTP/1.1\r\nhost: other\r\nX-A: b\r\nUser-Agent"), "{sent}");
        assert!(sent.ends_with("Content-Length: 3\r\n\r\nx=1") && !sent.contains("Host: ["), "{sent}");
        assert!(text("PUT http://h/", &[], "").contains("Content-Length: 0\r\n"));
    }

    #[test]
    fn addresses_are_hosts_with_ports_or_sockets() {
        assert_eq!(endpoint("http://example.org"), "example.org:80");
        assert_eq!(endpoint("HTTP://[::1]:81/x"), "[::1]:81");
        assert_eq!(endpoint("http://unix:/run/app.sock:/x"), "/run/app.sock");
        assert!(text("http://unix:/run/app.sock:/x", &[], "").starts_with("GET /x HTTP/1.1\r\nHost: localhost\r\n"));
        assert!(text("http://unix:/run/app.sock", &[], "").starts_with("GET / HTTP/1.1\r\n"));
    }

    #[test]
    fn what_cannot_be_sent_is_refused_with_what_to_write() {
        let refusal = |line: &str, header: &[String]| Request::new(line, header, b"").unwrap_err().to_string();
        for (line, words) in [
            ("", "expected 'GET http://"),
            ("get http://h/", "expected 'GET http://"),
            ("GET http://h/ HTTP/1.1", "expected 'GET http://"),
            ("GET https://h/", "https is not supported"),
            ("GET ftp://h/", "only http://"),
            ("GET h:80/", "only http://"),
            ("GET http:///x", "http://HOST:PORT/PATH"),
            ("GET http://h:x/", "http://HOST:PORT/PATH"),
            ("GET http://h:0/", "http://HOST:PORT/PATH"),
            ("GET http://h:65536/", "http://HOST:PORT/PATH"),
            ("GET http://[::1/", "http://HOST:PORT/PATH"),
            ("GET http://unix:", "http://HOST:PORT/PATH"),
            ("GET http://a:b@h/", "Authorization"),
            ("GET http://h/\u{7f}", "%20"),
        ] {
            assert!(refusal(line, &[]).contains(words), "{line}: {}", refusal(line, &[]));
        }
        for wrong in ["", "a", "a b: c", ": c", "a: b\r\nc: d"] {
            assert!(refusal("http://h/", &[wrong.to_owned()]).contains("NAME: VALUE"), "{wrong}");
        }
    }
}
