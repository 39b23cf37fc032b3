//! Reading an answer as its bytes come in: where it ends, its status, whether the connection may be used again.
//!
//! No I/O and no copy of the body. Ends by RFC 9112, section 6.3: no body, chunks, a length, or the end of the
//! connection. Whatever breaks those rules is [`Malformed`], never guessed.

use httparse::{EMPTY_HEADER, Status, parse_chunk_size};

/// Headers that an answer may have.
const HEADERS: usize = 100;

/// A good answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Its status, below 400.
    pub status: u16,
    /// Its bytes.
    pub bytes: u64,
    /// It came on a second try.
    pub sent_again: bool,
}

/// Why an answer is malformed, a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub &'static str);

/// What is kept of a whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The status code.
    pub status: u16,
    /// Another request may follow on this connection.
    pub keep_alive: bool,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Before or in the status line and headers.
    Head,
    /// This many bytes of body are still to come.
    Fixed(u64),
    /// At a line with the size of a chunk.
    ChunkSize,
    /// In a chunk with this many bytes to come, and its line end.
    Chunk(u64),
    /// In the lines after the last chunk.
    Trailer,
    /// The body goes to the end of the connection.
    ToTheEnd,
    /// All of it is in.
    Done,
}

/// Reads one answer.
#[derive(Debug)]
pub(crate) struct AnswerReader {
    state: State,
    head: Head,
    /// The request was a `HEAD`.
    bodiless: bool,
}

impl AnswerReader {
    /// For the answer to the next request.
    pub(crate) fn new(bodiless: bool) -> AnswerReader {
        AnswerReader { state: State::Head, head: Head { status: 0, keep_alive: false }, bodiless }
    }

    /// Consumes what it can of `data`, which begins where the last call left off, and returns how many bytes that is.
    /// The rest must be given again, in front of what comes next.
    pub(crate) fn take(&mut self, data: &[u8]) -> Result<usize, Malformed> {
        let mut at = 0;
        loop {
            let rest = &data[at..];
            let before = at;
            at += match self.state {
                State::Head => self.head(rest)?,
                State::Fixed(left) => {
                    let (taken, left) = consume(rest, left);
                    self.state = if left == 0 { State::Done } else { State::Fixed(left) };
                    taken
                }
                State::ChunkSize => self.chunk_size(rest)?,
                State::Chunk(left) => {
                    let (taken, left) = consume(rest, left);
                    self.state = if left == 0 { State::ChunkSize } else { State::Chunk(left) };
                    taken
                }
                State::Trailer => self.trailer(rest),
                State::ToTheEnd => rest.len(),
                State::Done => return Ok(at),
            };
            if at == before && !matches!(self.state, State::Done) {
                return Ok(at);
            }
        }
    }

    /// The whole answer, once it is in.
    pub(crate) fn done(&self) -> Option<Head> {
        matches!(self.state, State::Done).then_some(self.head)
    }

    /// The connection has ended: the answer if that completes it, otherwise an error.
    pub(crate) fn end(&mut self) -> Result<Head, Malformed> {
        match self.state {
            State::ToTheEnd | State::Done => Ok(self.head),
            State::Head => Err(Malformed("the connection was closed before an answer")),
            _ => Err(Malformed("the connection was closed in the middle of an answer")),
        }
    }

    fn head(&mut self, data: &[u8]) -> Result<usize, Malformed> {
        let mut headers = [EMPTY_HEADER; HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        let length = match response.parse(data) {
            Ok(Status::Complete(length)) => length,
            Ok(Status::Partial) => return Ok(0),
            Err(httparse::Error::TooManyHeaders) => return Err(Malformed("the answer has more than 100 headers")),
            Err(_) => return Err(Malformed("the answer is not HTTP/1")),
        };
        let status = response.code.unwrap_or(0);
        if (100..200).contains(&status) {
            // An interim answer; the real one follows.
            return if status == 101 { Err(Malformed("the server switched protocols")) } else { Ok(length) };
        }
        let Framing { body_length, chunked, close, keep_alive } = framing(response.headers)?;
        let persistent = !close && (response.version == Some(1) || keep_alive);
        self.head = Head { status, keep_alive: persistent };
        self.state = match body_length {
            _ if self.bodiless || status == 204 || status == 304 => State::Done,
            _ if chunked => State::ChunkSize,
            Some(0) => State::Done,
            Some(bytes) => State::Fixed(bytes),
            None => {
                self.head.keep_alive = false;
                State::ToTheEnd
            }
        };
        Ok(length)
    }

    fn chunk_size(&mut self, data: &[u8]) -> Result<usize, Malformed> {
        match parse_chunk_size(data) {
            Ok(Status::Partial) => Ok(0),
            Ok(Status::Complete((length, 0))) => {
                self.state = State::Trailer;
                Ok(length)
            }
            Ok(Status::Complete((length, size))) => {
                let with_line_end = size.checked_add(2).ok_or(Malformed("a chunk is too large"))?;
                self.state = State::Chunk(with_line_end);
                Ok(length)
            }
            Err(_) => Err(Malformed("the size of a chunk cannot be read")),
        }
    }

    /// One line after the last chunk; an empty one is the end.
    fn trailer(&mut self, data: &[u8]) -> usize {
        let Some(end) = data.iter().position(|&byte| byte == b'\n') else { return 0 };
        if matches!(&data[..end], b"" | b"\r") {
            self.state = State::Done;
        }
        end + 1
    }
}

/// What the headers say about the body and the connection.
struct Framing {
    body_length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
}

fn framing(headers: &[httparse::Header]) -> Result<Framing, Malformed> {
    let mut framing = Framing { body_length: None, chunked: false, close: false, keep_alive: false };
    for header in headers {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        if is("content-length") {
            let length = std::str::from_utf8(header.value).ok().and_then(|text| text.trim().parse::<u64>().ok());
            if length.is_none() || framing.body_length.is_some_and(|other| Some(other) != length) {
                return Err(Malformed("the length of the answer cannot be read"));
            }
            framing.body_length = length;
        } else if is("transfer-encoding") {
            framing.chunked = tokens(header.value).any(|token| token.eq_ignore_ascii_case(b"chunked"));
        } else if is("connection") {
            framing.close |= tokens(header.value).any(|token| token.eq_ignore_ascii_case(b"close"));
            framing.keep_alive |= tokens(header.value).any(|token| token.eq_ignore_ascii_case(b"keep-alive"));
        }
    }
    Ok(framing)
}

fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}

/// How many of the bytes belong to what is `left`, and what is left then.
fn consume(data: &[u8], left: u64) -> (usize, u64) {
    let taken = usize::try_from(left).unwrap_or(usize::MAX).min(data.len());
    (taken, left - taken as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds a text in pieces of a size, as a socket may deliver it.
    fn read(text: &str, piece: usize, bodiless: bool) -> (Result<Option<Head>, Malformed>, String) {
        let mut reader = AnswerReader::new(bodiless);
        let mut pending = Vec::new();
        let mut left = text.as_bytes().to_vec();
        while !left.is_empty() && reader.done().is_none() {
            pending.extend(left.drain(..piece.min(left.len())));
            match reader.take(&pending) {
                Ok(taken) => drop(pending.drain(..taken)),
                Err(error) => return (Err(error), String::new()),
            }
        }
        pending.extend(left);
        (Ok(reader.done()), String::from_utf8(pending).unwrap())
    }

    fn ends(text: &str, status: u16, keep_alive: bool) {
        for piece in [1, 2, 3, 7, 1000] {
            let (head, rest) = read(&format!("{text}NEXT"), piece, false);
            assert_eq!(head, Ok(Some(Head { status, keep_alive })), "{text:?} by {piece}");
            assert_eq!(rest, "NEXT", "{text:?} by {piece}");
        }
    }

    #[test]
    fn an_answer_ends_where_its_framing_says() {
        ends("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, true);
        ends("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 404, false);
        ends("HTTP/1.1 204 No Content\r\n\r\n", 204, true);
        ends("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 304, true);
        ends("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, false);
        ends("HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: Keep-Alive\r\n\r\nx", 200, true);
        ends("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, true);
    }

    #[test]
    fn chunks_end_with_the_empty_one_and_its_trailers() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        ends(&format!("{head}5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n"), 200, true);
        ends(&format!("{head}0\r\nA: b\r\nC: d\r\n\r\n"), 200, true);
        // Chunks take precedence over a length.
        ends("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200, true);
    }

    #[test]
    fn a_body_without_a_length_goes_to_the_end_of_the_connection() {
        let mut reader = AnswerReader::new(false);
        let text = b"HTTP/1.1 200 OK\r\n\r\nwhatever";
        assert_eq!(reader.take(text), Ok(text.len()));
        assert_eq!(reader.done(), None);
        assert_eq!(reader.end(), Ok(Head { status: 200, keep_alive: false }));
        let mut reader = AnswerReader::new(false);
        reader.take(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf").unwrap();
        assert!(reader.end().unwrap_err().0.contains("in the middle"));
        assert!(AnswerReader::new(false).end().unwrap_err().0.contains("before an answer"));
    }

    #[test]
    fn the_answer_to_head_has_no_body() {
        let (head, rest) = read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nNEXT", 1000, true);
        assert_eq!((head.unwrap().map(|head| head.status), rest.as_str()), (Some(200), "NEXT"));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(101));
        for (text, words) in [
            ("SSH-2.0-OpenSSH\r\n", "not HTTP/1"),
            ("HTTP/1.1 101 Switching Protocols\r\n\r\n", "switched"),
            ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "length"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "length"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "chunk"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", "too large"),
            (&many, "100 headers"),
        ] {
            let (error, _) = read(text, 1000, false);
            assert!(error.is_err_and(|error| error.0.contains(words)), "{text:?}: {error:?}");
        }
    }
}
