//! What hyper accepts in HTTP/1 and this server does not: every form that another server on the way might parse
//! differently (request smuggling).
//!
//! A [`Strict`] reads along with hyper, byte by byte and ahead of it. It knows where each message ends, and refuses a
//! bare LF or CR, folded lines, more than one Content-Length, Transfer-Encoding beside Content-Length or other than
//! exactly `chunked`, a missing or second Host, a fragment in the target, and blanks in a chunk's size. It does not
//! parse requests: that is hyper's task, which refuses the rest (RFC 9112, sections 2.2, 3.2, 5.2, 6.1, 6.3, 7.1).

/// The most bytes after a chunk's size, which are ignored.
const MAX_EXTENSION: usize = 1024;

/// The state between two reads.
#[derive(Debug)]
pub(super) struct Strict {
    state: State,
    /// The beginning of an incomplete line.
    line: Vec<u8>,
    head: Head,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the request line; empty lines are skipped, as RFC 9112 requires.
    Start,
    /// In the fields.
    Fields,
    /// In a body of known length, with this many bytes to come.
    Body(u64),
    /// In a chunk's size: its number of digits so far and their value.
    Size(u8, u64),
    /// After it: the number of bytes so far, the size, and the position in a quoted string.
    Extension(usize, u64, Quote),
    /// At the LF after it.
    SizeEnd(u64),
    /// In a chunk.
    Chunk(u64),
    /// At the CR after a chunk.
    ChunkCr,
    /// At the LF after that.
    ChunkLf,
    /// In the fields after the last chunk.
    Trailers,
    /// An error was found; nothing more is read.
    Refused,
}

/// The position in a quoted string. A string not closed before the line ends is not an extension (RFC 9112, section
/// 7.1.1): a parser that reads on to the closing quote would see another message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quote {
    Outside,
    Inside,
    /// After a backslash inside.
    Escaped,
}

impl Quote {
    fn after(self, byte: u8) -> Quote {
        match (self, byte) {
            (Quote::Outside, b'"') => Quote::Inside,
            (Quote::Inside, b'"') => Quote::Outside,
            (Quote::Inside, b'\\') => Quote::Escaped,
            (Quote::Escaped, _) => Quote::Inside,
            (quote, _) => quote,
        }
    }
}

/// What the fields of a head say about its framing.
#[derive(Debug, Default)]
struct Head {
    is_1_1: bool,
    lengths: usize,
    length: u64,
    codings: usize,
    hosts: usize,
}

/// Input that must not reach the application. The first `good` bytes are valid, and `provoke` after those makes hyper
/// refuse the message by itself: with 400 if the head is wrong, otherwise with an error of the body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) good: usize,
    pub(super) provoke: &'static [u8],
}

/// Wrong anywhere: in a request line, a field or between them.
const BAD_LINE: &[u8] = b"\x01\r\n\r\n";

impl Strict {
    pub(super) fn new() -> Strict {
        Strict { state: State::Start, line: Vec::new(), head: Head::default() }
    }

    /// Whether the last message was read to its end, so that a close loses nothing.
    pub(super) fn is_between_messages(&self) -> bool {
        self.state == State::Start && self.line.is_empty()
    }

    /// Reads along.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<(), Wrong> {
        let mut at = 0;
        while at < bytes.len() {
            match self.step(&bytes[at..]) {
                Ok(used) => at += used,
                Err(provoke) => {
                    self.state = State::Refused;
                    return Err(Wrong { good: at, provoke });
                }
            }
        }
        Ok(())
    }

    /// One line, one run of body bytes or one byte of chunking. Returns how many bytes that were.
    fn step(&mut self, rest: &[u8]) -> Result<usize, &'static [u8]> {
        let first = rest[0];
        self.state = match self.state {
            State::Start | State::Fields | State::Trailers => return self.line(rest),
            State::Body(left) | State::Chunk(left) => {
                let used = left.min(rest.len() as u64);
                self.state = match (self.state, left - used) {
                    (State::Body(_), 0) => State::Start,
                    (State::Body(_), left) => State::Body(left),
                    (_, 0) => State::ChunkCr,
                    (_, left) => State::Chunk(left),
                };
                return Ok(used as usize);
            }
            State::Size(digits, value) => match (char::from(first).to_digit(16), first) {
                (Some(digit), _) if digits < 15 => State::Size(digits + 1, value * 16 + u64::from(digit)),
                (None, b';') if digits > 0 => State::Extension(0, value, Quote::Outside),
                (None, b'\r') if digits > 0 => State::SizeEnd(value),
                _ => return Err(b"\x01"),
            },
            State::Extension(length, value, quote) => match first {
                b'\r' if quote == Quote::Outside => State::SizeEnd(value),
                b'\t' | b' '..=b'~' | 0x80.. if length < MAX_EXTENSION => {
                    State::Extension(length + 1, value, quote.after(first))
                }
                _ => return Err(b"\n"),
            },
            State::SizeEnd(value) => match (first, value) {
                (b'\n', 0) => State::Trailers,
                (b'\n', value) => State::Chunk(value),
                _ => return Err(b"\x01"),
            },
            State::ChunkCr if first == b'\r' => State::ChunkLf,
            State::ChunkLf if first == b'\n' => State::Size(0, 0),
            State::ChunkCr | State::ChunkLf => return Err(b"\x01"),
            State::Refused => return Err(b""),
        };
        Ok(1)
    }

    fn line(&mut self, rest: &[u8]) -> Result<usize, &'static [u8]> {
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            // A CR other than the last byte so far cannot be followed by an LF; hyper's own limit bounds the line.
            if rest[..rest.len() - 1].contains(&b'\r') || rest.contains(&0) {
                return Err(BAD_LINE);
            }
            if self.line.last() == Some(&b'\r') {
                return Err(BAD_LINE);
            }
            self.line.extend_from_slice(rest);
            return Ok(rest.len());
        };
        let mut kept = std::mem::take(&mut self.line);
        let done = if kept.is_empty() {
            self.whole_line(&rest[..end])
        } else {
            kept.extend_from_slice(&rest[..end]);
            let done = self.whole_line(&kept);
            kept.clear();
            self.line = kept;
            done
        };
        if done { Ok(end + 1) } else { Err(BAD_LINE) }
    }

    /// A line without its LF. Returns whether it is valid.
    fn whole_line(&mut self, line: &[u8]) -> bool {
        let Some((b'\r', line)) = line.split_last() else { return false };
        if line.iter().any(|byte| matches!(byte, b'\r' | 0)) {
            return false;
        }
        match self.state {
            State::Start if line.is_empty() => true,
            State::Start => {
                self.head = Head { is_1_1: line.ends_with(b" HTTP/1.1"), ..Head::default() };
                self.state = State::Fields;
                let method = line.split(|byte| *byte == b' ').next().unwrap_or_default();
                method.iter().all(|byte| byte.is_ascii_graphic()) && !line.contains(&b'#')
            }
            State::Fields if line.is_empty() => self.head_ends(),
            State::Fields => self.head.field(line),
            _ if line.is_empty() => {
                self.state = State::Start;
                true
            }
            _ => !line.starts_with(b" ") && !line.starts_with(b"\t") && line.contains(&b':'),
        }
    }

    fn head_ends(&mut self) -> bool {
        let head = &self.head;
        let is_chunked = head.codings == 1;
        let framing = match (head.codings, head.lengths) {
            (0, 0 | 1) => true,
            (1, 0) => head.is_1_1,
            _ => false,
        };
        self.state = match (is_chunked, head.length) {
            (true, _) => State::Size(0, 0),
            (false, 0) => State::Start,
            (false, length) => State::Body(length),
        };
        framing && if head.is_1_1 { head.hosts == 1 } else { head.hosts <= 1 }
    }
}

impl Head {
    /// Records a field. Returns whether it is valid.
    fn field(&mut self, line: &[u8]) -> bool {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { return false };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        // Folded lines begin with a blank; a blank before the colon makes some parsers see another name.
        if name.is_empty() || name.iter().any(|byte| matches!(byte, b' ' | b'\t')) {
            return false;
        }
        if name.eq_ignore_ascii_case(b"host") {
            self.hosts += 1;
        } else if name.eq_ignore_ascii_case(b"content-length") {
            self.lengths += 1;
            let digits = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
            match digits.and_then(|digits| digits.parse().ok()) {
                Some(length) => self.length = length,
                None => return false,
            }
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.codings += 1;
            return value.eq_ignore_ascii_case(b"chunked");
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The verdict on these bytes, however they are split into reads.
    fn judge(bytes: &[u8]) -> Result<bool, usize> {
        let mut strict = Strict::new();
        strict.read(bytes).map(|()| strict.is_between_messages()).map_err(|wrong| wrong.good)
    }

    fn with(fields: &str) -> Vec<u8> {
        format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n").into_bytes()
    }

    #[test]
    fn messages_in_order_pass_and_their_ends_are_known() {
        assert_eq!(judge(&with("")), Ok(true));
        assert_eq!(judge(b"\r\nGET / HTTP/1.0\r\n\r\n"), Ok(true));
        assert_eq!(judge(b"GET / HTTP/1.1\r\nHost: a\r\n"), Ok(false));
        for (body, done) in [("", false), ("abcd", false), ("abcde", true), ("abcdeGET / HTTP/1.0\r\n\r\n", true)] {
            let message = [with("Content-Length: 5\r\n"), body.into()].concat();
            assert_eq!(judge(&message), Ok(done), "{body}");
        }
        for (body, done) in [
            ("0\r\n\r\n", true),
            ("5\r\nab\ncd\r\n0\r\n\r\n", true),
            ("5;a=\"x\\\"y;\\\\\"\r\nabcde\r\n0\r\n\r\n", true),
            ("05;name=\"value\"\r\nabcde\r\n0\r\nTrailer: x\r\n\r\n", true),
            ("5\r\nabcde", false),
            ("0\r\n", false),
        ] {
            let message = [with("Transfer-Encoding: Chunked\r\n"), body.into()].concat();
            assert_eq!(judge(&message), Ok(done), "{body}");
        }
    }

    #[test]
    fn ambiguous_heads_are_refused() {
        for fields in [
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
            "Content-Length: 5\r\nContent-Length: 5\r\n",
            "Content-Length: 5, 5\r\n",
            "Content-Length: +5\r\n",
            "Content-Length: -5\r\n",
            "Content-Length: 0x5\r\n",
            "Content-Length:\r\n",
            "Content-Length: 99999999999999999999999\r\n",
            "Content-Length : 5\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: identity\r\n",
            "Transfer-Encoding: xchunked\r\n",
            "Transfer-Encoding:\x0bchunked\r\n",
            "X: a\r\n b\r\n",
            "X: a\nY: b\r\n",
            "X: a\rb\r\n",
            "X: a\0b\r\n",
            "no colon\r\n",
            ": no name\r\n",
            "Host: b\r\n",
        ] {
            assert!(judge(&with(fields)).is_err(), "{fields:?}");
        }
        assert!(judge(b"GET / HTTP/1.1\r\n\r\n").is_err(), "no Host");
        assert!(judge(b"GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n").is_err(), "chunked in 1.0");
        assert!(judge("G\u{e9}T / HTTP/1.0\r\n\r\n".as_bytes()).is_err(), "a method that is none");
        assert!(judge(b"GET /#x HTTP/1.0\r\n\r\n").is_err(), "a fragment");
        assert!(judge(b"GET / HTTP/1.0\n\n").is_err(), "bare LF");
    }

    #[test]
    fn wrong_chunks_are_refused_where_they_are_wrong() {
        let head = with("Transfer-Encoding: chunked\r\n");
        for (body, good) in [
            ("x\r\n", 0),
            ("\r\n", 0),
            ("5 \r\n", 1),
            ("0x5\r\n", 1),
            ("5\n", 1),
            ("5;a\nb\r\n", 3),
            ("5\rx", 2),
            // RFC 9112, section 7.1.1: a quoted string ends before its line does.
            ("3;a=\"\r\nabc\r\n0\r\n\r\n", 5),
            ("3;a=\"x\\\"\r\nabc\r\n", 8),
            ("2\r\nabc\r\n", 5),
            ("2\r\nab\n", 5),
            ("ffffffffffffffff\r\n", 15),
            ("0\r\n folded\r\n\r\n", 3),
            ("0\r\nnone\r\n\r\n", 3),
        ] {
            assert_eq!(judge(&[head.clone(), body.into()].concat()), Err(head.len() + good), "{body:?}");
        }
    }

    proptest! {
        #[test]
        fn the_size_of_the_reads_does_not_matter(
            parts in prop::collection::vec(prop::sample::select(vec![
                "GET / HTTP/1.1\r\n", "Host: a\r\n", "Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n", "\r\n", "3\r\n", "abc",
                "0\r\n", "\n", "\r", ";x", " ", ":", "\0",
            ]), 0..12),
            cut in 1_usize..9,
        ) {
            let bytes = parts.concat().into_bytes();
            let mut strict = Strict::new();
            let mut pieces = Ok(());
            for piece in bytes.chunks(cut) {
                if let Err(wrong) = strict.read(piece) {
                    pieces = Err(wrong.provoke);
                    break;
                }
            }
            let mut whole = Strict::new();
            let at_once = whole.read(&bytes).map_err(|wrong| wrong.provoke);
            prop_assert_eq!(pieces.is_ok(), at_once.is_ok());
            if at_once.is_ok() {
                prop_assert_eq!(strict.is_between_messages(), whole.is_between_messages());
            }
        }
    }
}
