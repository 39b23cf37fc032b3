//! Files as answers: validators, ranges and bytes, for files in served folders ([`mounts`](super::mounts)) and for
//! those that an application names (Rack's `to_path`).
//!
//! Files are opened and read on blocking threads, never on an I/O thread.

use super::file_body::{FileBody, PIECE, read_up_to};
use super::reply::{Answer, Source};
use bytes::Bytes;
use foolsgold_core::files::entity_tag;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use std::fs::{File, Metadata};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tokio::task::spawn_blocking;

/// The answer of an application that named a file. A length or type that it set is kept.
pub(super) async fn of_application(answer: Answer, path: PathBuf) -> Result<Answer, Answer> {
    let opened = spawn_blocking(move || Found::new(File::open(&path)?, &path)).await;
    let Ok(Ok(found)) = opened else {
        let sentence = "The application named a file that cannot be read.\n";
        return Err(Answer::text(StatusCode::INTERNAL_SERVER_ERROR, sentence));
    };
    let length = found.length;
    match found.source(0, length).await {
        Some(source) => Ok(Answer { source, ..answer }),
        None => Err(Answer::text(StatusCode::INTERNAL_SERVER_ERROR, "The application's file cannot be read.\n")),
    }
}

/// A regular file that was found.
#[derive(Debug)]
pub(super) struct Found {
    content: Content,
    length: u64,
    /// When it was changed; `None` for a packed file, which has a tag from its bytes instead.
    modified: Option<SystemTime>,
    tag: Option<String>,
    kind: HeaderValue,
}

#[derive(Debug)]
enum Content {
    /// Opened.
    File(File),
    /// Already read.
    Bytes(Bytes),
}

impl Found {
    pub(super) fn new(file: File, name: &Path) -> io::Result<Found> {
        let metadata: Metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let (length, modified) = (metadata.len(), metadata.modified().ok());
        let tag = modified.and_then(|modified| tag_of_time(modified, length));
        Ok(Found { content: Content::File(file), length, modified, tag, kind: Found::kind(name) })
    }

    /// A file from an archive.
    pub(super) fn packed(bytes: Bytes, hash: Option<[u8; 32]>, name: &Path) -> Found {
        let (length, tag) = (bytes.len() as u64, hash.as_ref().map(entity_tag));
        Found { content: Content::Bytes(bytes), length, modified: None, tag, kind: Found::kind(name) }
    }

    fn kind(name: &Path) -> HeaderValue {
        let kind = mime_guess::from_path(name).first_or_octet_stream();
        let text = matches!(kind.type_(), mime_guess::mime::TEXT) || kind.essence_str() == "application/javascript";
        let kind = if text { format!("{kind}; charset=utf-8") } else { kind.to_string() };
        HeaderValue::from_str(&kind).unwrap_or(HeaderValue::from_static("application/octet-stream"))
    }

    pub(super) async fn answer(self, request: &HeaderMap) -> Answer {
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(header::CONTENT_TYPE, self.kind.clone());
        headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        let tag = self.tag.clone();
        let modified = self.modified.map(httpdate::fmt_http_date);
        let optional = [(header::ETAG, &tag), (header::LAST_MODIFIED, &modified)];
        for (name, value) in optional {
            if let Some(value) = value.as_ref().and_then(|value| HeaderValue::from_str(value).ok()) {
                headers.insert(name, value);
            }
        }
        if is_unchanged(request, tag.as_deref(), self.modified) {
            return Answer { status: StatusCode::NOT_MODIFIED, headers, source: Source::Empty };
        }
        let range =
            text(request, &header::RANGE).filter(|_| range_counts(request, tag.as_deref(), modified.as_deref()));
        let (status, start, length) = match range.map_or(Wanted::All, |range| wanted(range, self.length)) {
            Wanted::All => (StatusCode::OK, 0, self.length),
            Wanted::Part(start, length) => {
                let part = format!("bytes {start}-{}/{}", start + length - 1, self.length);
                headers.insert(header::CONTENT_RANGE, header_value(&part));
                (StatusCode::PARTIAL_CONTENT, start, length)
            }
            Wanted::Nothing => {
                let mut answer = Answer::text(StatusCode::RANGE_NOT_SATISFIABLE, "The file is shorter than that.\n");
                answer.headers.insert(header::CONTENT_RANGE, header_value(&format!("bytes */{}", self.length)));
                return answer;
            }
        };
        match self.source(start, length).await {
            Some(source) => Answer { status, headers, source },
            None => Answer::text(StatusCode::INTERNAL_SERVER_ERROR, "The file cannot be read.\n"),
        }
    }

    /// Its bytes: read at once if they are few.
    async fn source(self, start: u64, length: u64) -> Option<Source> {
        let mut file = match self.content {
            Content::File(file) => file,
            Content::Bytes(bytes) => {
                let (from, to) = (usize::try_from(start).ok()?, usize::try_from(start + length).ok()?);
                return (to <= bytes.len()).then(|| Source::Whole(bytes.slice(from..to)));
            }
        };
        if length > PIECE as u64 {
            file.seek(SeekFrom::Start(start)).ok()?;
            return Some(Source::File(Box::new(FileBody::new(file, length))));
        }
        let read = spawn_blocking(move || {
            file.seek(SeekFrom::Start(start))?;
            read_up_to(&mut file, length)
        });
        let bytes = read.await.ok()?.ok()?;
        (bytes.len() as u64 == length).then_some(Source::Whole(bytes))
    }
}

/// Time of change and length: a change goes unnoticed only within one tick of the clock and with the same length.
fn tag_of_time(modified: SystemTime, length: u64) -> Option<String> {
    let since = modified.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(format!("\"{:x}-{length:x}\"", since.as_nanos()))
}

fn header_value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""))
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Whether the client already has this version (RFC 9110, section 13.2.2): the tag takes precedence over the date.
fn is_unchanged(request: &HeaderMap, tag: Option<&str>, modified: Option<SystemTime>) -> bool {
    if let Some(known) = text(request, &header::IF_NONE_MATCH) {
        let same = |known: &str| known == "*" || Some(known.trim_start_matches("W/")) == tag;
        return known.split(',').map(str::trim).any(same);
    }
    let since = text(request, &header::IF_MODIFIED_SINCE).and_then(|date| httpdate::parse_http_date(date).ok());
    let seconds = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    since.zip(modified).is_some_and(|(since, modified)| seconds(modified) <= seconds(since))
}

/// Whether a range is honoured: not if the client has a part of another version.
fn range_counts(request: &HeaderMap, tag: Option<&str>, modified: Option<&str>) -> bool {
    text(request, &header::IF_RANGE).is_none_or(|known| Some(known) == tag || Some(known) == modified)
}

#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    All,
    /// First byte and number of bytes.
    Part(u64, u64),
    /// No byte of the file.
    Nothing,
}

/// One range of bytes (RFC 9110, section 14.1.2). Several ranges, or an invalid one, are answered with the whole file.
fn wanted(range: &str, length: u64) -> Wanted {
    let Some((first, last)) = range.strip_prefix("bytes=").and_then(|range| range.trim().split_once('-')) else {
        return Wanted::All;
    };
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().unwrap_or(u64::MAX))
    };
    match (number(first), number(last)) {
        // A range that ends before it begins is invalid.
        (Some(first), Some(last)) if last < first => Wanted::All,
        (Some(_), None) if !last.is_empty() => Wanted::All,
        (Some(first), _) if first >= length => Wanted::Nothing,
        (Some(first), last) => Wanted::Part(first, last.unwrap_or(u64::MAX).min(length - 1) - first + 1),
        (None, Some(suffix)) if first.is_empty() => match suffix.min(length) {
            0 => Wanted::Nothing,
            suffix => Wanted::Part(length - suffix, suffix),
        },
        _ => Wanted::All,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_rfc_9110_has_them() {
        for (range, expected) in [
            ("bytes=0-4", Wanted::Part(0, 5)),
            ("bytes=5-", Wanted::Part(5, 5)),
            ("bytes=5-99", Wanted::Part(5, 5)),
            ("bytes=-3", Wanted::Part(7, 3)),
            ("bytes=-99", Wanted::Part(0, 10)),
            ("bytes=10-", Wanted::Nothing),
            ("bytes=99999999999999999999-", Wanted::Nothing),
            ("bytes=-0", Wanted::Nothing),
            ("bytes=4-2", Wanted::All),
            ("bytes=0-1,3-4", Wanted::All),
            ("bytes=a-b", Wanted::All),
            ("bytes=-", Wanted::All),
            ("lines=0-4", Wanted::All),
        ] {
            assert_eq!(wanted(range, 10), expected, "{range}");
        }
        assert_eq!(wanted("bytes=0-0", 0), Wanted::Nothing);
    }
}
