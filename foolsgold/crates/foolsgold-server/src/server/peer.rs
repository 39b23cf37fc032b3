//! Who is at the other end of a connection.

use std::net::IpAddr;

/// Who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    /// Somebody on the network.
    Address(IpAddr),
    /// Somebody on this machine, through a UNIX socket.
    Local,
}

impl Peer {
    pub(super) fn address(self) -> Option<IpAddr> {
        match self {
            Peer::Address(address) => Some(address),
            Peer::Local => None,
        }
    }
}
