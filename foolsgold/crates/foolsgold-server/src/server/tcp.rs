//! TCP connections that are registered with epoll only when they have to be.
//!
//! A client has usually sent a request by the time its connection is accepted, and a connection for one request ends
//! with its answer: registering it with the event queue only to remove it again takes two system calls. So bytes are
//! first read and written without the queue, and a connection is registered when there are none to read, or no room to
//! write, for the first time.

use super::peer::Peer;
use rustix::net::{SocketFlags, acceptfrom_with};
use std::io::{self, Read, Write};
use std::net;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// How many bytes are read at once before a connection is registered: most heads are smaller, and the buffer is zeroed
/// each time.
const FIRST: usize = 2048;

/// A listening socket.
#[derive(Debug)]
pub(super) struct Listener(AsyncFd<net::TcpListener>);

impl Listener {
    /// `listener` must be non-blocking.
    pub(super) fn new(listener: net::TcpListener) -> io::Result<Listener> {
        #[expect(deprecated, reason = "the other is unsafe, for owners whose descriptor changes: this one's stays")]
        AsyncFd::with_interest(listener, Interest::READABLE).map(Listener)
    }

    pub(super) fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(Tcp, Peer)>> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        loop {
            let mut readable = ready!(self.0.poll_read_ready(cx))?;
            let accepted = readable.try_io(|listener| Ok(acceptfrom_with(listener, flags)?));
            let Ok(accepted) = accepted else { continue };
            let (socket, address) = accepted?;
            let address = address.and_then(|address| net::SocketAddr::try_from(address).ok());
            // The kernel gives an address for every TCP client.
            let address = address.ok_or(io::ErrorKind::ConnectionAborted)?;
            return Poll::Ready(Ok((Tcp::Fresh(socket.into()), Peer::Address(address.ip().to_canonical()))));
        }
    }
}

/// A connection.
#[derive(Debug)]
pub(super) enum Tcp {
    /// Not registered with the event queue.
    Fresh(net::TcpStream),
    /// Registered.
    Watched(TcpStream),
    /// It could not be registered.
    Lost,
}

impl Tcp {
    /// Registers it.
    pub(super) fn watch(&mut self) -> io::Result<&mut TcpStream> {
        if let Tcp::Fresh(_) = self {
            *self = Tcp::Watched(std::mem::replace(self, Tcp::Lost).into_watched()?);
        }
        match self {
            Tcp::Watched(stream) => Ok(stream),
            Tcp::Fresh(_) | Tcp::Lost => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// The same, but consumes it.
    pub(super) fn into_watched(self) -> io::Result<TcpStream> {
        match self {
            Tcp::Fresh(stream) => TcpStream::from_std(stream),
            Tcp::Watched(stream) => Ok(stream),
            Tcp::Lost => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Tries without the event queue. `None` if the call would block, or the connection is registered already.
    fn at_once<T>(&self, mut what: impl FnMut(&net::TcpStream) -> io::Result<T>) -> Option<io::Result<T>> {
        let Tcp::Fresh(stream) = self else { return None };
        loop {
            match what(stream) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                done => return Some(done),
            }
        }
    }
}

impl AsyncRead for Tcp {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let room = buf.remaining().min(FIRST);
        match self.at_once(|mut stream| stream.read(buf.initialize_unfilled_to(room))) {
            Some(read) => {
                buf.advance(read?);
                Poll::Ready(Ok(()))
            }
            None => Pin::new(self.watch()?).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Tcp {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.at_once(|mut stream| stream.write(buf)) {
            Some(written) => Poll::Ready(written),
            None => Pin::new(self.watch()?).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.at_once(|mut stream| stream.write_vectored(bufs)) {
            Some(written) => Poll::Ready(written),
            None => Pin::new(self.watch()?).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// The kernel flushes by itself.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.at_once(|stream| stream.shutdown(net::Shutdown::Write)) {
            Some(done) => Poll::Ready(done),
            None => Pin::new(self.watch()?).poll_shutdown(cx),
        }
    }
}
