//! The access log: a line for each request, written by a thread of its own.
//!
//! Lines are gathered in memory and written a few times a second. If the reader of the log is too slow, lines are
//! dropped and counted: no request ever waits for the log.

use super::{Outage, say};
use crate::config::{AccessFormat, AccessLog, LogTarget};
use foolsgold_core::work::{Mode, RequestOutcome};
use jiff::{Timestamp, tz::TimeZone};
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The most bytes that may wait to be written.
const WAITING: usize = 1 << 20;

/// How often gathered lines are written.
const GATHER: Duration = Duration::from_millis(100);

/// One request as it ended.
#[derive(Clone, Debug)]
pub struct Entry {
    /// When it arrived.
    pub at: Timestamp,
    /// The client; `None` on a UNIX socket.
    pub peer: Option<IpAddr>,
    /// The method.
    pub method: String,
    /// The target, percent-encoded as received.
    pub target: String,
    /// `HTTP/1.1` and the like.
    pub version: &'static str,
    /// The host that the client named.
    pub host: String,
    /// The referrer.
    pub referrer: Option<Vec<u8>>,
    /// The user agent.
    pub agent: Option<Vec<u8>>,
    /// The status.
    pub status: u16,
    /// Bytes of the body as sent.
    pub bytes: u64,
    /// From the head of the request to the end of the answer.
    pub duration: Duration,
    /// Time in the queue.
    pub queued: Duration,
    /// Time in Ruby.
    pub ruby: Duration,
    /// The mode it ran in; `None` if no interpreter was needed.
    pub mode: Option<Mode>,
    /// How it ended in the interpreter.
    pub outcome: RequestOutcome,
    /// The answer was broken off.
    pub broken: bool,
    /// The identifier of the request.
    pub id: String,
}

/// Takes entries, and never waits.
#[derive(Debug)]
pub struct AccessWriter {
    format: AccessFormat,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    lines: Mutex<Vec<u8>>,
    dropped: AtomicU64,
    /// The thread sleeps until it is woken.
    asleep: AtomicBool,
    reopen: AtomicBool,
    closed: AtomicBool,
}

impl AccessWriter {
    /// Opens the log. `None` if the configuration has none.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(log: &AccessLog) -> io::Result<Option<AccessWriter>> {
        if log.format == AccessFormat::None {
            return Ok(None);
        }
        let shared = Arc::new(Shared {
            lines: Mutex::default(),
            dropped: AtomicU64::new(0),
            asleep: AtomicBool::new(false),
            reopen: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        });
        let sink = Sink::open(&log.target)?;
        let (writer, target) = (Arc::clone(&shared), log.target.clone());
        let run = move || writer.write(sink, &target);
        let thread = thread::Builder::new().name("access-log".to_owned()).stack_size(256 << 10).spawn(run)?;
        Ok(Some(AccessWriter { format: log.format, shared, thread: Mutex::new(Some(thread)) }))
    }

    /// Adds a line.
    pub fn add(&self, entry: &Entry) {
        let mut lines = self.shared.lock();
        if lines.len() >= WAITING {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        format(self.format, entry, &mut lines);
        drop(lines);
        if self.shared.asleep.load(Ordering::Relaxed) && self.shared.asleep.swap(false, Ordering::AcqRel) {
            self.wake();
        }
    }

    /// Lines that were dropped.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    /// Reopens the file, after it was moved away.
    pub fn reopen(&self) {
        self.shared.reopen.store(true, Ordering::Release);
        self.wake();
    }

    fn wake(&self) {
        if let Some(thread) = &*self.thread.lock().unwrap_or_else(PoisonError::into_inner) {
            thread.thread().unpark();
        }
    }

    /// Writes what is left and ends.
    pub fn close(&self) {
        self.shared.closed.store(true, Ordering::Release);
        self.wake();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for AccessWriter {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread's main loop.
    fn write(&self, mut sink: Sink, target: &LogTarget) {
        let mut batch = Vec::new();
        let outage = Outage::default();
        loop {
            let closed = self.closed.load(Ordering::Acquire);
            if self.reopen.swap(false, Ordering::AcqRel)
                && let Ok(new) = Sink::open(target)
            {
                sink = new;
            }
            std::mem::swap(&mut *self.lock(), &mut batch);
            if !batch.is_empty() {
                // A log that cannot be written (a full disk) must not end the service.
                match sink.write(&batch) {
                    Ok(()) => {
                        if let Some(lines) = outage.went_well() {
                            say(&format!("the access log is written again; {lines} lines are lost"));
                        }
                    }
                    Err(error) => {
                        let lines = batch.iter().filter(|byte| **byte == b'\n').count() as u64;
                        self.dropped.fetch_add(lines, Ordering::Relaxed);
                        if outage.shows(lines) {
                            say(&format!(
                                "the access log cannot be written: {error}; its lines are dropped until it can"
                            ));
                        }
                    }
                }
                batch.clear();
                if !closed {
                    // A line added meanwhile need not wake the thread.
                    thread::park_timeout(GATHER);
                    continue;
                }
            }
            if closed {
                return;
            }
            self.asleep.store(true, Ordering::Release);
            if self.lock().is_empty() {
                thread::park();
            }
            self.asleep.store(false, Ordering::Release);
        }
    }
}

enum Sink {
    Stdout,
    Stderr,
    File(File),
}

impl Sink {
    fn open(target: &LogTarget) -> io::Result<Sink> {
        Ok(match target {
            LogTarget::Stdout => Sink::Stdout,
            LogTarget::Stderr => Sink::Stderr,
            LogTarget::File(path) => Sink::File(append(path)?),
        })
    }

    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        match self {
            Sink::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(lines)?;
                stdout.flush()
            }
            Sink::Stderr => io::stderr().lock().write_all(lines),
            Sink::File(file) => file.write_all(lines),
        }
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

fn format(format: AccessFormat, entry: &Entry, line: &mut Vec<u8>) {
    match format {
        AccessFormat::None => {}
        AccessFormat::Common => {
            common(entry, line);
            line.push(b'\n');
        }
        AccessFormat::Combined => {
            common(entry, line);
            for text in [&entry.referrer, &entry.agent] {
                line.extend_from_slice(b" \"");
                escape(text.as_deref().unwrap_or(b"-"), line);
                line.push(b'"');
            }
            line.push(b'\n');
        }
        AccessFormat::Json => {
            // Never fails: there is no map with odd keys, and the writer cannot fail.
            let _ = serde_json::to_writer(&mut *line, &JsonLine::from(entry));
            line.push(b'\n');
        }
    }
}

/// `host ident user [time] "request" status bytes`, as NCSA httpd wrote it.
fn common(entry: &Entry, line: &mut Vec<u8>) {
    let peer = entry.peer.map_or_else(|| "-".to_owned(), |peer| peer.to_string());
    let at = entry.at.to_zoned(TimeZone::UTC);
    let _ = write!(line, "{peer} - - [{}] \"", at.strftime("%d/%b/%Y:%H:%M:%S %z"));
    escape(entry.method.as_bytes(), line);
    line.push(b' ');
    escape(entry.target.as_bytes(), line);
    let _ = write!(line, " {}\" {} ", entry.version, entry.status);
    let _ = if entry.bytes == 0 { line.write_all(b"-") } else { write!(line, "{}", entry.bytes) };
}

/// Quotes, backslashes and anything but printable ASCII as escapes, as in Apache.
fn escape(text: &[u8], line: &mut Vec<u8>) {
    for byte in text {
        match byte {
            b'"' | b'\\' => line.extend_from_slice(&[b'\\', *byte]),
            b' '..=b'~' => line.push(*byte),
            _ => {
                let _ = write!(line, "\\x{byte:02x}");
            }
        }
    }
}

/// The same as JSON; durations are microseconds.
#[derive(Serialize)]
struct JsonLine<'e> {
    time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<IpAddr>,
    method: &'e str,
    target: &'e str,
    version: &'e str,
    host: &'e str,
    status: u16,
    bytes: u64,
    duration_us: u64,
    queued_us: u64,
    ruby_us: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    referrer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    id: &'e str,
}

impl<'e> From<&'e Entry> for JsonLine<'e> {
    fn from(entry: &'e Entry) -> JsonLine<'e> {
        let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        JsonLine {
            time: entry.at.to_string(),
            peer: entry.peer,
            method: &entry.method,
            target: &entry.target,
            version: entry.version,
            host: &entry.host,
            status: entry.status,
            bytes: entry.bytes,
            duration_us: micros(entry.duration),
            queued_us: micros(entry.queued),
            ruby_us: micros(entry.ruby),
            mode: entry.mode.map(Mode::name),
            trouble: match entry.outcome {
                RequestOutcome::Answered if entry.broken => Some("broken-off"),
                RequestOutcome::Answered => None,
                RequestOutcome::Raised => Some("raised"),
                RequestOutcome::OutOfTime => Some("out-of-time"),
                RequestOutcome::OutOfMemory => Some("out-of-memory"),
                RequestOutcome::Expired => Some("expired"),
            },
            referrer: entry.referrer.as_ref().map(text),
            agent: entry.agent.as_ref().map(text),
            id: &entry.id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry {
            at: "2026-11-22T01:02:03.5Z".parse().unwrap(),
            peer: Some([127, 0, 0, 1].into()),
            method: "GET".into(),
            target: "/a\"b?c=\u{1b}".into(),
            version: "HTTP/1.1",
            host: "example".into(),
            referrer: None,
            agent: Some(b"ab/2 \n\xff".to_vec()),
            status: 200,
            bytes: 12,
            duration: Duration::from_micros(1500),
            queued: Duration::from_micros(7),
            ruby: Duration::from_micros(30),
            mode: Some(Mode::SharedNothing),
            outcome: RequestOutcome::Answered,
            broken: false,
            id: "1-2".into(),
        }
    }

    fn line(form: AccessFormat, entry: &Entry) -> String {
        let mut line = Vec::new();
        format(form, entry, &mut line);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn the_common_and_combined_forms_are_those_of_apache() {
        let common = "127.0.0.1 - - [22/Nov/2026:01:02:03 +0000] \"GET /a\\\"b?c=\\x1b HTTP/1.1\" 200 12";
        assert_eq!(line(AccessFormat::Common, &entry()), format!("{common}\n"));
        assert_eq!(line(AccessFormat::Combined, &entry()), format!("{common} \"-\" \"ab/2 \\x0a\\xff\"\n"));
        let silent = Entry { bytes: 0, peer: None, ..entry() };
        assert!(line(AccessFormat::Common, &silent).starts_with("- - - ["));
        assert!(line(AccessFormat::Common, &silent).ends_with(" 200 -\n"));
    }

    #[test]
    fn a_json_line_has_everything_and_is_one_line() {
        let text = line(AccessFormat::Json, &entry());
        assert_eq!(text.matches('\n').count(), 1);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["target"], "/a\"b?c=\u{1b}");
        assert_eq!(value["duration_us"], 1500);
        assert_eq!((&value["queued_us"], &value["ruby_us"]), (&7.into(), &30.into()));
        assert_eq!(value["mode"], "shared-nothing");
        assert_eq!(value["id"], "1-2");
        assert!(value.get("trouble").is_none() && value.get("referrer").is_none());
    }

    #[test]
    fn a_file_is_written_and_opened_again_after_it_was_moved() {
        let folder = tempfile::tempdir().unwrap();
        let (path, moved) = (folder.path().join("log"), folder.path().join("log.1"));
        let log = AccessLog { format: AccessFormat::Common, target: LogTarget::File(path.clone()) };
        let writer = AccessWriter::open(&log).unwrap().unwrap();
        let lines = |path: &Path| std::fs::read_to_string(path).unwrap_or_default().lines().count();
        let wait = |path: &Path, count: usize| {
            while lines(path) < count {
                thread::sleep(Duration::from_millis(2))
            }
        };
        writer.add(&entry());
        wait(&path, 1);
        std::fs::rename(&path, &moved).unwrap();
        writer.reopen();
        while !path.exists() {
            thread::sleep(Duration::from_millis(2));
        }
        writer.add(&entry());
        writer.close();
        assert_eq!((lines(&moved), lines(&path), writer.dropped()), (1, 1, 0));
    }
}
