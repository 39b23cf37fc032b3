//! One connection: connecting, sending the prepared bytes, reading the answer, within a time limit.
//!
//! A request on a kept connection that closes before a byte of an answer is sent again once, as RFC 9112, section 9.3.1,
//! allows if the server may have closed it while it was idle. It may also have dropped the request, which cannot be
//! told apart from here: so the answer says that it was the second try ([`Answer::sent_again`]), and the time of both
//! belongs to the request. Only idempotent methods (RFC 9110, section 9.2.2) are sent again.

use crate::answer::{Answer, AnswerReader, Malformed};
use crate::endpoint::Endpoint;
use crate::request::Request;
use crate::tally::{Broken, Failure};
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::Sleep;

/// Bytes that are read at once, and the longest head of an answer.
const BUFFER: usize = 32 << 10;

/// Where to connect, names resolved.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    Tcp(Vec<SocketAddr>),
    Unix(PathBuf),
}

impl Target {
    /// Looks the endpoint's name up.
    pub(crate) fn resolve(endpoint: &Endpoint) -> io::Result<Target> {
        Ok(match endpoint {
            Endpoint::Unix(path) => Target::Unix(path.clone()),
            Endpoint::Tcp { host, port } => {
                let addresses = std::net::ToSocketAddrs::to_socket_addrs(&(host.as_str(), *port))?;
                Target::Tcp(addresses.collect())
            }
        })
    }

    async fn connect(&self) -> io::Result<Stream> {
        match self {
            Target::Unix(path) => UnixStream::connect(path).await.map(Stream::Unix),
            Target::Tcp(addresses) => {
                let mut refusal = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
                for address in addresses {
                    match TcpStream::connect(address).await {
                        Ok(stream) => {
                            stream.set_nodelay(true)?;
                            return Ok(Stream::Tcp(stream));
                        }
                        Err(error) => refusal = error,
                    }
                }
                Err(refusal)
            }
        }
    }
}

#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Stream::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Stream::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self {
            Stream::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
            Stream::Unix(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

/// A moment that moves with each request. One timer serves them all: it is set anew only when it has gone off, which is
/// once in a time-out and not once in a request.
#[derive(Debug)]
struct Deadline {
    at: Instant,
    timer: Pin<Box<Sleep>>,
}

impl Deadline {
    fn new(at: Instant) -> Deadline {
        Deadline { at, timer: Box::pin(tokio::time::sleep_until(at.into())) }
    }

    fn poll_passed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.timer.as_mut().poll(cx).is_ready() {
            if Instant::now() >= self.at {
                return Poll::Ready(());
            }
            self.timer.as_mut().reset(self.at.into());
        }
        Poll::Pending
    }
}

/// A connection that is used for one request after the other.
#[derive(Debug)]
pub(crate) struct Connection {
    target: Target,
    timeout: Duration,
    stream: Option<Stream>,
    buffer: Box<[u8]>,
    deadline: Deadline,
}

/// How one try to send a request and read its answer ended.
enum Attempt {
    Failed(Failure),
    /// The server had closed the connection before, so the request never reached it.
    Stale,
}

impl Connection {
    /// One that is not connected yet.
    pub(crate) fn new(target: Target, timeout: Duration) -> Connection {
        let deadline = Deadline::new(Instant::now() + timeout);
        Connection { target, timeout, stream: None, buffer: vec![0; BUFFER].into_boxed_slice(), deadline }
    }

    /// Connects, if it is not connected.
    pub(crate) async fn open(&mut self) -> Result<(), Failure> {
        self.deadline.at = Instant::now() + self.timeout;
        self.connect().await
    }

    async fn connect(&mut self) -> Result<(), Failure> {
        if self.stream.is_none() {
            let mut connecting = std::pin::pin!(self.target.connect());
            let deadline = &mut self.deadline;
            let connected = poll_fn(|cx| match connecting.as_mut().poll(cx) {
                Poll::Ready(result) => Poll::Ready(result.map_err(Failure::Connect)),
                Poll::Pending => deadline.poll_passed(cx).map(|()| Err(Failure::TimedOut)),
            });
            let stream = connected.await?;
            self.stream = Some(stream);
        }
        Ok(())
    }

    /// Sends a request at `now` and reads its answer. A failure comes with whether it was the second try.
    pub(crate) async fn exchange(&mut self, request: &Request, now: Instant) -> Result<Answer, (Failure, bool)> {
        self.deadline.at = now + self.timeout;
        let reused = self.stream.is_some();
        self.connect().await.map_err(|failure| (failure, false))?;
        let mut attempt = self.attempt(request).await;
        let sent_again = reused && request.is_idempotent() && matches!(attempt, Err(Attempt::Stale));
        if sent_again {
            self.stream = None;
            self.connect().await.map_err(|failure| (failure, true))?;
            attempt = self.attempt(request).await;
        }
        let (status, bytes) = attempt.map_err(|attempt| {
            self.stream = None;
            let failure = match attempt {
                Attempt::Failed(failure) => failure,
                Attempt::Stale => {
                    Failure::Broken(Broken::Malformed(Malformed("the connection was closed before an answer")))
                }
            };
            (failure, sent_again)
        })?;
        if status >= 400 {
            Err((Failure::Status(status), sent_again))
        } else {
            Ok(Answer { status, bytes, sent_again })
        }
    }

    /// The status and the bytes of the answer; keeps the stream only if it can be used again.
    async fn attempt(&mut self, request: &Request) -> Result<(u16, u64), Attempt> {
        self.send(request.bytes()).await?;
        let mut reader = AnswerReader::new(request.is_head());
        let (mut filled, mut bytes) = (0, 0u64);
        loop {
            let read = self.receive(filled, bytes == 0).await?;
            let broken = |malformed| Attempt::Failed(Failure::Broken(Broken::Malformed(malformed)));
            if read == 0 {
                let head = reader.end().map_err(broken)?;
                self.stream = None;
                return Ok((head.status, bytes));
            }
            bytes += read as u64;
            filled += read;
            let taken = reader.take(&self.buffer[..filled]).map_err(broken)?;
            self.buffer.copy_within(taken..filled, 0);
            filled -= taken;
            if let Some(head) = reader.done() {
                if filled > 0 {
                    return Err(broken(Malformed("bytes follow the end of the answer")));
                }
                if !head.keep_alive {
                    self.stream = None;
                }
                return Ok((head.status, bytes));
            }
            if filled == self.buffer.len() {
                return Err(broken(Malformed("the head of the answer is longer than 32 KiB")));
            }
        }
    }

    async fn send(&mut self, mut bytes: &[u8]) -> Result<(), Attempt> {
        while !bytes.is_empty() {
            let (stream, deadline) = (&mut self.stream, &mut self.deadline);
            let written = poll_fn(|cx| within(deadline, cx, |cx| writable(stream)?.poll_write(cx, bytes)));
            match written.await {
                Some(Ok(written)) => bytes = &bytes[written..],
                Some(Err(error)) => return Err(io_attempt(error, true)),
                None => return Err(Attempt::Failed(Failure::TimedOut)),
            }
        }
        Ok(())
    }

    /// Reads to after the `filled` bytes; 0 at the end of the connection. `first`: no byte of the answer has come yet.
    async fn receive(&mut self, filled: usize, first: bool) -> Result<usize, Attempt> {
        let (stream, deadline) = (&mut self.stream, &mut self.deadline);
        let mut room = ReadBuf::new(&mut self.buffer[filled..]);
        let read = poll_fn(|cx| within(deadline, cx, |cx| writable(stream)?.poll_read(cx, &mut room)));
        match read.await {
            Some(Ok(())) if first && room.filled().is_empty() => Err(Attempt::Stale),
            Some(Ok(())) => Ok(room.filled().len()),
            Some(Err(error)) => Err(io_attempt(error, first)),
            None => Err(Attempt::Failed(Failure::TimedOut)),
        }
    }
}

fn writable(stream: &mut Option<Stream>) -> Result<&mut Stream, io::Error> {
    stream.as_mut().ok_or_else(|| io::ErrorKind::NotConnected.into())
}

/// Polls, and gives up with `None` if the deadline has passed.
fn within<T>(
    deadline: &mut Deadline,
    cx: &mut Context<'_>,
    poll: impl FnOnce(&mut Context<'_>) -> Poll<io::Result<T>>,
) -> Poll<Option<io::Result<T>>> {
    match poll(cx) {
        Poll::Ready(result) => Poll::Ready(Some(result)),
        Poll::Pending => deadline.poll_passed(cx).map(|()| None),
    }
}

/// What an error of the socket means; `first`: no byte of the answer has come yet.
fn io_attempt(error: io::Error, first: bool) -> Attempt {
    use io::ErrorKind::{BrokenPipe, ConnectionReset};
    if first && matches!(error.kind(), BrokenPipe | ConnectionReset) {
        return Attempt::Stale;
    }
    Attempt::Failed(Failure::Broken(Broken::Io(error)))
}
