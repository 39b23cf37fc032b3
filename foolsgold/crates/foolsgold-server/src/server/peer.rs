//! The other end of a connection.

use std::net::IpAddr;

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    /// An address on the network.
    Address(IpAddr),
    /// A process on this machine, through a UNIX socket.
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
