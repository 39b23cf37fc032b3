//! One request over one connection, and its answer.

use crate::spec::Request;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// An answer as received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// Names in lower case, in the order received.
    pub fields: Vec<(String, String)>,
    /// With chunking removed.
    pub body: Vec<u8>,
    /// Whether it ended where its head said it would.
    pub whole: bool,
}

/// A hang is a failure; nothing here takes this long.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends a request to the application with that name.
pub fn ask(server: SocketAddr, application: &str, request: &Request) -> Result<Answer, String> {
    let failed = |error: std::io::Error| format!("{application}: {} {}: {error}", request.method, request.target);
    let mut stream = TcpStream::connect(server).map_err(failed)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    stream.write_all(&bytes(application, request)).map_err(failed)?;
    let mut answer = Vec::new();
    // A server that cuts an answer off may also reset the connection.
    if let Err(error) = stream.read_to_end(&mut answer)
        && answer.is_empty()
    {
        return Err(failed(error));
    }
    if answer.is_empty() {
        // Closed without an answer.
        return Ok(Answer { status: 0, fields: Vec::new(), body: Vec::new(), whole: false });
    }
    parse(&answer, request.method == "HEAD").ok_or_else(|| {
        format!("{application}: {} {}: no HTTP: {}", request.method, request.target, answer.escape_ascii())
    })
}

fn bytes(application: &str, request: &Request) -> Vec<u8> {
    let has = |name: &str| request.fields.iter().any(|(one, _)| one.eq_ignore_ascii_case(name));
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.target);
    if !has("host") {
        head.push_str("Host: localhost\r\n");
    }
    head.push_str("Connection: close\r\n");
    head.push_str(&format!("X-Corpus: {application}\r\n"));
    for (name, value) in &request.fields {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(body) = &request.body
        && !has("transfer-encoding")
    {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    let mut all = head.into_bytes();
    all.extend_from_slice(request.body.as_deref().unwrap_or_default());
    all
}

fn parse(bytes: &[u8], head_only: bool) -> Option<Answer> {
    let end = find(bytes, b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let status: u16 = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let fields: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let rest = &bytes[end + 4..];
    let field = |wanted: &str| fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    let (body, whole) = if head_only || status == 204 || status == 304 {
        (rest.to_vec(), true)
    } else if field("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
        unchunked(rest)
    } else if let Some(length) = field("content-length") {
        (rest.to_vec(), length.parse() == Ok(rest.len()))
    } else {
        (rest.to_vec(), true)
    };
    Some(Answer { status, fields, body, whole })
}

/// The bytes of all chunks, and whether the last chunk arrived.
pub fn unchunked(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        let Some(end) = find(rest, b"\r\n") else { return (body, false) };
        let digits = String::from_utf8_lossy(&rest[..end]).split(';').next().unwrap_or_default().trim().to_owned();
        let Ok(size) = usize::from_str_radix(&digits, 16) else { return (body, false) };
        if size == 0 {
            return (body, true);
        }
        let Some(chunk) = rest.get(end + 2..end + 2 + size) else { return (body, false) };
        body.extend_from_slice(chunk);
        rest = rest.get(end + 4 + size..).unwrap_or_default();
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
