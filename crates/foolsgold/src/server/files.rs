//! Files: folders that the server serves itself, and files that an application names (Rack's `to_path`).
//!
//! A file of a folder is opened below that folder by the kernel's own rule (openat2(2), RESOLVE_BENEATH), so neither `..`
//! nor a link leads out of it. Files are opened and read on threads for what blocks, never on a thread of connections.

use super::outbound::{Answer, Source};
use crate::config::StaticMount;
use crate::work::Aborted;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use std::fs::{File, Metadata};
use std::future::Future;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::SystemTime;
use tokio::task::{JoinHandle, spawn_blocking};

/// Bytes that are read at once; a file that is no longer needs one visit to a thread that may block.
const PIECE: usize = 128 << 10;

/// A file on its way out.
#[derive(Debug)]
pub(super) struct FileBody {
    /// Bytes not yet handed over.
    left: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    Ready(File),
    Reading(JoinHandle<io::Result<(File, Bytes)>>),
    Broken,
}

impl FileBody {
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Aborted>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let read = match std::mem::replace(&mut self.state, State::Broken) {
            State::Broken => return Poll::Ready(Some(Err(Aborted))),
            State::Ready(file) => self.read(file),
            State::Reading(read) => read,
        };
        let mut read = read;
        match Pin::new(&mut read).poll(cx) {
            Poll::Pending => {
                self.state = State::Reading(read);
                Poll::Pending
            }
            // A file that became shorter cannot keep the promise of its length.
            Poll::Ready(Ok(Ok((file, bytes)))) if !bytes.is_empty() => {
                self.left -= bytes.len() as u64;
                if self.left > 0 {
                    self.state = State::Ready(file);
                }
                Poll::Ready(Some(Ok(bytes)))
            }
            Poll::Ready(_) => Poll::Ready(Some(Err(Aborted))),
        }
    }

    fn read(&self, mut file: File) -> JoinHandle<io::Result<(File, Bytes)>> {
        let most = self.left.min(PIECE as u64);
        spawn_blocking(move || {
            let bytes = read_up_to(&mut file, most)?;
            Ok((file, bytes))
        })
    }
}

fn read_up_to(file: &mut File, most: u64) -> io::Result<Bytes> {
    let mut bytes = vec![0; most as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes.into())
}

/// A folder that is served, held open: what is moved into its place later is not served.
#[derive(Debug)]
pub(super) struct Mounted {
    prefix: String,
    folder: Arc<OwnedFd>,
    path: PathBuf,
}

impl Mounted {
    /// Opens the folder.
    pub(super) fn open(mount: &StaticMount) -> anyhow::Result<Mounted> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, &mount.folder, flags, Mode::empty())
            .map_err(|error| anyhow::anyhow!("{}: the folder cannot be served: {error}", mount.folder.display()))?;
        let path = mount.folder.canonicalize().unwrap_or_else(|_| mount.folder.clone());
        let prefix = mount.path.trim_end_matches('/').to_owned();
        Ok(Mounted { prefix, folder: Arc::new(folder), path })
    }

    /// The file's name below the folder that a URL's path stands for.
    fn name(&self, path: &str) -> Option<PathBuf> {
        let below = path.strip_prefix(self.prefix.as_str())?.strip_prefix('/')?;
        let decoded = decode(below)?;
        let mut name = PathBuf::new();
        for part in decoded.split('/') {
            match part {
                "" | "." => {}
                // Neither a way up nor what a folder hides.
                hidden if hidden.starts_with('.') => return None,
                part if part.contains('\0') => return None,
                part => name.push(part),
            }
        }
        Some(name)
    }
}

/// The answer from one of the folders. None where no folder has such a file: then it is the application's turn.
pub(super) async fn mounted(mounts: &[Mounted], path: &str, headers: &HeaderMap) -> Option<Answer> {
    for mount in mounts {
        let Some(name) = mount.name(path) else { continue };
        let (folder, root) = (Arc::clone(&mount.folder), mount.path.clone());
        let opened = spawn_blocking(move || open_below(&folder, &root, &name)).await;
        if let Ok(Ok(found)) = opened {
            return Some(found.answer(headers).await);
        }
    }
    None
}

/// The answer of an application that named a file. A length or type that it gave stays.
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

/// Opens a regular file below a folder, or the index of a folder below it.
fn open_below(folder: &OwnedFd, root: &Path, name: &Path) -> io::Result<Found> {
    let name = if name.as_os_str().is_empty() { Path::new(".") } else { name };
    let file = beneath(folder, root, name)?;
    if file.metadata()?.is_dir() {
        let index = name.join("index.html");
        return Found::new(beneath(folder, root, &index)?, &index);
    }
    Found::new(file, name)
}

fn beneath(folder: &OwnedFd, root: &Path, name: &Path) -> io::Result<File> {
    // Opening a FIFO must not wait for its writer.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    match openat2(folder, name, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS) {
        Ok(descriptor) => Ok(File::from(descriptor)),
        Err(Errno::NOSYS | Errno::PERM) => {
            // A kernel before 5.6, or a sandbox without the call: the path is resolved and held against the folder instead.
            let path = root.join(name).canonicalize()?;
            if path.starts_with(root) { File::open(path) } else { Err(io::ErrorKind::NotFound.into()) }
        }
        Err(error) => Err(error.into()),
    }
}

/// A regular file that was opened.
#[derive(Debug)]
struct Found {
    file: File,
    length: u64,
    modified: Option<SystemTime>,
    kind: HeaderValue,
}

impl Found {
    fn new(file: File, name: &Path) -> io::Result<Found> {
        let metadata: Metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let kind = mime_guess::from_path(name).first_or_octet_stream();
        let text = matches!(kind.type_(), mime_guess::mime::TEXT) || kind.essence_str() == "application/javascript";
        let kind = if text { format!("{kind}; charset=utf-8") } else { kind.to_string() };
        let kind = HeaderValue::from_str(&kind).unwrap_or(HeaderValue::from_static("application/octet-stream"));
        Ok(Found { file, length: metadata.len(), modified: metadata.modified().ok(), kind })
    }

    /// Time of change and length: the same file never changes both ways at once within a clock's tick.
    fn tag(&self) -> Option<String> {
        let since = self.modified?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        Some(format!("\"{:x}-{:x}\"", since.as_nanos(), self.length))
    }

    async fn answer(self, request: &HeaderMap) -> Answer {
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(header::CONTENT_TYPE, self.kind.clone());
        headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        let tag = self.tag();
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

    /// Its bytes: at once where they are few.
    async fn source(self, start: u64, length: u64) -> Option<Source> {
        let mut file = self.file;
        if length > PIECE as u64 {
            file.seek(SeekFrom::Start(start)).ok()?;
            return Some(Source::File(Box::new(FileBody { left: length, state: State::Ready(file) })));
        }
        let read = spawn_blocking(move || {
            file.seek(SeekFrom::Start(start))?;
            read_up_to(&mut file, length)
        });
        let bytes = read.await.ok()?.ok()?;
        (bytes.len() as u64 == length).then_some(Source::Whole(bytes))
    }
}

fn header_value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""))
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Whether the client has the file as it is (RFC 9110, section 13.2.2): the tag counts before the date.
fn is_unchanged(request: &HeaderMap, tag: Option<&str>, modified: Option<SystemTime>) -> bool {
    if let Some(known) = text(request, &header::IF_NONE_MATCH) {
        let same = |known: &str| known == "*" || Some(known.trim_start_matches("W/")) == tag;
        return known.split(',').map(str::trim).any(same);
    }
    let since = text(request, &header::IF_MODIFIED_SINCE).and_then(|date| httpdate::parse_http_date(date).ok());
    let seconds = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    since.zip(modified).is_some_and(|(since, modified)| seconds(modified) <= seconds(since))
}

/// Whether a range counts: not where the client has a part of another version.
fn range_counts(request: &HeaderMap, tag: Option<&str>, modified: Option<&str>) -> bool {
    text(request, &header::IF_RANGE).is_none_or(|known| Some(known) == tag || Some(known) == modified)
}

#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    All,
    /// From a byte, so many.
    Part(u64, u64),
    /// None of the bytes that there are.
    Nothing,
}

/// One range of bytes (RFC 9110, section 14.1.2). More than one, or what is no range, is answered with all of the file.
fn wanted(range: &str, length: u64) -> Wanted {
    let Some((first, last)) = range.strip_prefix("bytes=").and_then(|range| range.trim().split_once('-')) else {
        return Wanted::All;
    };
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().unwrap_or(u64::MAX))
    };
    match (number(first), number(last)) {
        // A range that ends before it begins is none.
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

/// Percent-decoded; none where that is no UTF-8 or the escapes are wrong.
fn decode(path: &str) -> Option<String> {
    if !path.contains('%') {
        return Some(path.to_owned());
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'%' {
            let digits = rest.get(..2)?;
            let digit = |digit: u8| char::from(digit).to_digit(16);
            bytes.push((digit(digits[0])? * 16 + digit(digits[1])?) as u8);
            rest = &rest[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
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

    #[test]
    fn a_name_never_leads_up_nor_to_what_is_hidden() {
        let folder = tempfile::tempdir().unwrap();
        let mount = StaticMount { path: "/assets/".into(), folder: folder.path().into() };
        let mounted = Mounted::open(&mount).unwrap();
        for (path, name) in
            [("/assets/a.css", "a.css"), ("/assets/a//b", "a/b"), ("/assets/%61%20b", "a b"), ("/assets/", "")]
        {
            assert_eq!(mounted.name(path), Some(name.into()), "{path}");
        }
        for path in [
            "/assets",
            "/assetsx/a",
            "/assets/../a",
            "/assets/%2e%2e/a",
            "/assets/a/..%2fb",
            "/assets/.git/config",
            "/assets/a%00b",
            "/assets/%",
            "/assets/%zz",
            "/assets/%ff",
        ] {
            assert_eq!(mounted.name(path), None, "{path}");
        }
    }
}
