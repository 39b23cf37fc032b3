//! Between hyper and a client's connection: notes times, runs [`Strict`] over the input, detects the protocol and ends
//! connections that are to be ended.

use super::stream::Stream;
use super::strict::Strict;
use super::tcp::Tcp;
use super::timers::{ConnectionTimers, Cut};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

/// What a client that speaks HTTP/2 sends first (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How long, and for how many bytes, input is still read from a client that was refused while it was sending. Otherwise
/// the kernel would answer those bytes with a reset, and the client might never see why it was refused.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 1 << 20;

/// A connection as hyper sees it.
#[derive(Debug)]
pub(super) struct Wire {
    stream: Stream,
    timers: Arc<ConnectionTimers>,
    reading: Reading,
    /// Whether bytes were sent.
    wrote: bool,
    /// hyper expects a wake-up when the client sends something, and will not get it.
    deaf: bool,
    /// Bytes of an HTTP/2 preface, which the next owner reads first.
    again: Vec<u8>,
}

#[derive(Debug)]
enum Reading {
    /// Nothing has arrived yet: HTTP/1, unless it begins like the preface.
    First,
    /// HTTP/1.
    Http1(Strict),
    /// HTTP/2, now or after the handover.
    Http2,
    /// An error was found: hyper reads these bytes next, and then the end.
    Refused(&'static [u8]),
}

impl Wire {
    pub(super) fn new(stream: Stream, timers: Arc<ConnectionTimers>, is_http2: bool) -> Wire {
        let reading = if is_http2 { Reading::Http2 } else { Reading::First };
        if is_http2 {
            timers.rest();
        }
        Wire { stream, timers, reading, wrote: false, deaf: false, again: Vec::new() }
    }

    /// Whether the client turned out to speak HTTP/2 while hyper waited for an HTTP/1 request.
    pub(super) fn is_http2(&self) -> bool {
        matches!(self.reading, Reading::Http2)
    }

    /// Reads before the protocol is known.
    fn poll_first(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let before = buf.filled().len();
            ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
            let came = &buf.filled()[before..];
            if came.is_empty() {
                return Poll::Ready(Ok(()));
            }
            self.timers.read();
            if !self.again.is_empty() || PREFACE.starts_with(&came[..came.len().min(PREFACE.len())]) {
                self.again.extend_from_slice(came);
                let seen = self.again.len().min(PREFACE.len());
                buf.set_filled(before);
                if self.again.starts_with(PREFACE) {
                    self.reading = Reading::Http2;
                    self.timers.rest();
                    return Poll::Ready(Err(io::Error::other("the client speaks HTTP/2")));
                }
                if PREFACE.starts_with(&self.again[..seen]) {
                    continue;
                }
                // It only began like the preface: at most 23 bytes and what came with the last of them.
                let again = std::mem::take(&mut self.again);
                if buf.remaining() < again.len() {
                    return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
                }
                buf.put_slice(&again);
            }
            self.reading = Reading::Http1(Strict::new());
            self.check(buf, before);
            return Poll::Ready(Ok(()));
        }
    }

    /// Checks what arrived against the rules.
    fn check(&mut self, buf: &mut ReadBuf<'_>, before: usize) {
        let Reading::Http1(strict) = &mut self.reading else { return };
        if let Err(wrong) = strict.read(&buf.filled()[before..]) {
            buf.set_filled(before + wrong.good);
            self.reading = Reading::Refused(wrong.provoke);
            self.refuse(buf);
        }
    }

    /// Until the first answer, hyper only wants to know whether the client goes away. Most answers are out before that
    /// matters, and then the connection need never be registered; otherwise the next sweep makes hyper ask again. hyper
    /// does not ask by itself after it was told to wait, so it is woken once the answer is out ([`Wire::poll_flush`]).
    fn may_be_deaf(&self) -> bool {
        let complete = matches!(&self.reading, Reading::Http1(strict) if strict.is_between_messages());
        complete && !self.wrote && matches!(self.stream, Stream::Tcp(Tcp::Fresh(_))) && self.timers.may_be_deaf()
    }

    fn refuse(&mut self, buf: &mut ReadBuf<'_>) {
        if let Reading::Refused(provoke) = &mut self.reading {
            let (now, later) = provoke.split_at(provoke.len().min(buf.remaining()));
            buf.put_slice(now);
            *provoke = later;
        }
    }

    /// Sends the reason, if the client can still be told, and closes.
    pub(super) async fn close(mut self, why: Option<Cut>) {
        let unread = match &self.reading {
            Reading::Http1(strict) => !strict.is_between_messages(),
            Reading::Refused(_) => true,
            Reading::First | Reading::Http2 => false,
        };
        match why {
            None if unread => self.linger().await,
            Some(Cut::SlowHead) if unread => {
                let answer = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
                // The kernel's buffer has room for this unless the client is long stuck.
                let _ = tokio::time::timeout(Duration::from_millis(100), self.stream.write_all(answer)).await;
                let _ = tokio::time::timeout(Duration::from_millis(100), self.stream.shutdown()).await;
            }
            _ => {}
        }
    }

    async fn linger(&mut self) {
        let listen = async {
            self.stream.shutdown().await?;
            let mut scrap = vec![0; 16 << 10];
            let mut seen = 0;
            while seen < LINGER_BYTES {
                match self.stream.read(&mut scrap).await? {
                    0 => break,
                    n => seen += n,
                }
            }
            io::Result::Ok(())
        };
        let _ = tokio::time::timeout(LINGER, listen).await;
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        match &this.reading {
            Reading::Refused(_) => {
                this.refuse(buf);
                Poll::Ready(Ok(()))
            }
            Reading::First => this.poll_first(cx, buf),
            Reading::Http2 if !this.again.is_empty() => {
                let now = this.again.len().min(buf.remaining());
                buf.put_slice(&this.again[..now]);
                this.again.drain(..now);
                Poll::Ready(Ok(()))
            }
            _ => {
                this.deaf = this.may_be_deaf();
                if this.deaf {
                    return Poll::Pending;
                }
                let before = buf.filled().len();
                ready!(Pin::new(&mut this.stream).poll_read(cx, buf))?;
                if buf.filled().len() > before && !this.is_http2() {
                    this.timers.read();
                    this.check(buf, before);
                }
                Poll::Ready(Ok(()))
            }
        }
    }
}

impl Wire {
    fn note<T>(&self, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match &written {
            Poll::Pending => self.timers.write_waits(),
            Poll::Ready(_) => self.timers.wrote(),
        }
        written
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.wrote = true;
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.note(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.wrote = true;
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.wrote && std::mem::take(&mut self.deaf) {
            cx.waker().wake_by_ref();
        }
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.note(flushed)
    }

    /// A plain connection ends when its descriptor is closed, which needs no call here; TLS sends a message.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &self.stream {
            Stream::Tls(_) => Pin::new(&mut self.stream).poll_shutdown(cx),
            Stream::Tcp(_) | Stream::Unix(_) => Poll::Ready(Ok(())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::timers::ConnectionRegistry;
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// A client, and its connection as it was accepted.
    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        accepted.set_nonblocking(true).unwrap();
        (client, accepted)
    }

    #[test]
    fn what_comes_after_the_first_answer_is_heard() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        let (mut client, accepted) = pair();
        client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let registry = Arc::new(ConnectionRegistry::new());
        let registration = registry.register();
        let mut wire = Wire::new(Stream::Tcp(Tcp::Fresh(accepted)), Arc::clone(registration.timers()), false);
        let woken = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&woken));
        let (mut bytes, mut cx) = ([0; 1024], Context::from_waker(&waker));
        let mut read = |wire: &mut Wire| {
            let mut buf = ReadBuf::new(&mut bytes);
            let read = Pin::new(wire).poll_read(&mut cx, &mut buf);
            read.map(|done| done.map(|()| buf.filled().len()).unwrap())
        };
        let _inside = runtime.enter();
        assert_eq!(read(&mut wire), Poll::Ready(27));
        assert_eq!(read(&mut wire), Poll::Pending);
        assert!(matches!(wire.stream, Stream::Tcp(Tcp::Fresh(_))), "nothing to listen for yet");
        let mut cx = Context::from_waker(&waker);
        assert!(Pin::new(&mut wire).poll_flush(&mut cx).is_ready());
        assert_eq!(woken.0.load(Ordering::SeqCst), 0);
        assert!(matches!(Pin::new(&mut wire).poll_write(&mut cx, b"an answer"), Poll::Ready(Ok(9))));
        assert!(Pin::new(&mut wire).poll_flush(&mut cx).is_ready());
        assert_eq!(woken.0.load(Ordering::SeqCst), 1, "whoever waits is to ask again");
        assert_eq!(read(&mut wire), Poll::Pending);
        assert!(matches!(wire.stream, Stream::Tcp(Tcp::Watched(_))));
        assert_eq!(client.read(&mut [0; 9]).unwrap(), 9);
    }
}
