//! Listening sockets: bound by name, or inherited from the parent process (systemd's socket activation).

use crate::config::Bind;
use anyhow::{Context, bail};
use listenfd::ListenFd;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Connections that the kernel queues until they are accepted: bursts must not be dropped, since a client retries only
/// after a second.
const BACKLOG: i32 = 4096;

/// The first descriptor passed by systemd (sd_listen_fds(3)).
const FIRST_INHERITED: usize = 3;

/// More than any real configuration has.
const MOST_INHERITED: u32 = 1024;

/// A listening socket that is not served yet.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) kind: Kind,
    /// The socket file to remove at the end.
    remove: Option<PathBuf>,
}

#[derive(Debug)]
pub(super) enum Kind {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Socket {
    pub(super) fn bind(place: &Bind) -> anyhow::Result<Socket> {
        match place {
            Bind::Tcp(address) => {
                let listener = TcpListener::bind(address).map_err(|error| explain(address, &error))?;
                Socket::tcp(listener).with_context(|| format!("cannot listen at {address}"))
            }
            Bind::Unix(path) => Socket::unix(path),
        }
    }

    fn tcp(listener: TcpListener) -> anyhow::Result<Socket> {
        rustix::net::listen(&listener, BACKLOG)?;
        // Connections inherit this from the listener, so it need not be set for each: pieces of a streamed answer must
        // not wait for the client's delayed acknowledgement.
        rustix::net::sockopt::set_tcp_nodelay(&listener, true)?;
        listener.set_nonblocking(true)?;
        Ok(Socket { kind: Kind::Tcp(listener), remove: None })
    }

    fn unix(path: &Path) -> anyhow::Result<Socket> {
        let shown = path.display();
        match UnixListener::bind(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                remove_stale(path)?;
                let listener = UnixListener::bind(path).with_context(|| format!("cannot listen at unix:{shown}"))?;
                Socket::of_path(listener, path)
            }
            bound => Socket::of_path(bound.with_context(|| format!("cannot listen at unix:{shown}"))?, path),
        }
    }

    fn of_path(listener: UnixListener, path: &Path) -> anyhow::Result<Socket> {
        rustix::net::listen(&listener, BACKLOG)?;
        listener.set_nonblocking(true)?;
        Ok(Socket { kind: Kind::Unix(listener), remove: Some(path.to_owned()) })
    }

    /// Sockets passed by the parent, if `LISTEN_PID` names this process. Afterwards the variables are unset and the
    /// descriptors are not inherited further (sd_listen_fds(3)).
    pub(super) fn inherited() -> anyhow::Result<Vec<Socket>> {
        let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
        let (Some(pid), Some(count)) = (number("LISTEN_PID"), number("LISTEN_FDS")) else { return Ok(Vec::new()) };
        if pid != std::process::id() {
            return Ok(Vec::new());
        }
        if count > MOST_INHERITED {
            bail!("LISTEN_FDS says {count} sockets; at most {MOST_INHERITED} are taken");
        }
        let mut handed = ListenFd::from_env();
        (0..handed.len()).map(|at| Socket::inherit(&mut handed, at)).collect()
    }

    fn inherit(handed: &mut ListenFd, at: usize) -> anyhow::Result<Socket> {
        let named = || format!("the inherited descriptor {}", FIRST_INHERITED + at);
        // A socket of the wrong family is not consumed and can be taken as the other one.
        let descriptor = match handed.take_tcp_listener(at) {
            Ok(Some(listener)) => OwnedFd::from(listener),
            _ => handed.take_unix_listener(at).with_context(named)?.map(OwnedFd::from).with_context(named)?,
        };
        Socket::adopt(descriptor).with_context(named)
    }

    /// A socket that listens already.
    pub(super) fn adopt(descriptor: OwnedFd) -> anyhow::Result<Socket> {
        if !rustix::net::sockopt::socket_acceptconn(descriptor.as_fd())? {
            bail!("it is not a listening socket");
        }
        match rustix::net::sockopt::socket_domain(descriptor.as_fd())? {
            rustix::net::AddressFamily::UNIX => {
                let listener = UnixListener::from(descriptor);
                listener.set_nonblocking(true)?;
                Ok(Socket { kind: Kind::Unix(listener), remove: None })
            }
            _ => Socket::tcp(TcpListener::from(descriptor)),
        }
    }

    /// Duplicates it for another thread.
    pub(super) fn again(&self) -> io::Result<Kind> {
        match &self.kind {
            Kind::Tcp(listener) => listener.try_clone().map(Kind::Tcp),
            Kind::Unix(listener) => listener.try_clone().map(Kind::Unix),
        }
    }

    /// Where it listens, for messages.
    pub(super) fn name(&self) -> String {
        match &self.kind {
            Kind::Tcp(listener) => listener.local_addr().map_or_else(|_| "?".to_owned(), |address| address.to_string()),
            Kind::Unix(listener) => {
                let address = listener.local_addr().ok();
                let path = address.as_ref().and_then(|address| address.as_pathname());
                format!("unix:{}", path.unwrap_or(Path::new("?")).display())
            }
        }
    }

    /// Its address, if it has one.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        match &self.kind {
            Kind::Tcp(listener) => listener.local_addr().ok(),
            Kind::Unix(_) => None,
        }
    }

    /// Host and port for requests that name none.
    pub(super) fn host(&self) -> (Arc<str>, u16) {
        match self.address() {
            Some(address) if address.ip().is_unspecified() => ("localhost".into(), address.port()),
            Some(address) => match address.ip() {
                IpAddr::V4(ip) => (ip.to_string().into(), address.port()),
                IpAddr::V6(ip) => (format!("[{ip}]").into(), address.port()),
            },
            None => ("localhost".into(), 80),
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Some(path) = &self.remove {
            let _ = fs::remove_file(path);
        }
    }
}

fn explain(address: &str, error: &io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            anyhow::anyhow!("cannot listen at {address}: another program does; choose another port with --bind")
        }
        io::ErrorKind::PermissionDenied => {
            anyhow::anyhow!("cannot listen at {address}: ports below 1024 are for root; choose another with --bind")
        }
        _ => anyhow::anyhow!("cannot listen at {address}: {error}"),
    }
}

/// Removes a socket file on which nothing listens any more; anything else is kept.
fn remove_stale(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    let kind = fs::symlink_metadata(path).with_context(|| format!("cannot listen at unix:{shown}"))?.file_type();
    if !kind.is_socket() {
        bail!("cannot listen at unix:{shown}: a file that is not a socket is in the way");
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).with_context(|| format!("cannot remove the old socket {shown}"))
        }
        _ => bail!("cannot listen at unix:{shown}: another program does"),
    }
}

/// Reports the service's state to systemd, if it asked for that (sd_notify(3)).
pub(super) fn notify(state: &str) {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};
    let Ok(place) = std::env::var("NOTIFY_SOCKET") else { return };
    let address = match place.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(&place),
    };
    // The server serves even if the manager cannot be reached.
    let _ = address.and_then(|address| UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address));
}

/// Raises this process's limit on descriptors as far as it may.
pub(super) fn raise_descriptor_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}
