//! What can go wrong before a request is sent, and when none is answered.

use crate::endpoint::Endpoint;

/// A request that cannot be made of what was given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// Neither a method nor an address.
    #[error("invalid request {0:?}: expected 'GET http://127.0.0.1:8080/'")]
    Form(String),
    /// An encrypted connection.
    #[error(
        "{0}: https is not supported: the cost of encryption would be measured with the server; load its http port"
    )]
    Encrypted(String),
    /// Another protocol.
    #[error("{0}: only http:// is supported: expected 'GET http://127.0.0.1:8080/'")]
    Scheme(String),
    /// No host, or an invalid port.
    #[error("{0}: invalid host or port: expected http://HOST:PORT/PATH")]
    Authority(String),
    /// A name and a password in the address.
    #[error("{0}: a user name in the address is not supported; give --header 'Authorization: ...'")]
    User(String),
    /// A character that is not allowed in a request line.
    #[error(
        "{0:?} contains a blank or a control character, which is not allowed in a request line; write a blank as %20"
    )]
    Character(String),
    /// An invalid header.
    #[error("invalid header {0:?}: expected 'NAME: VALUE'")]
    Header(String),
}

/// A load that could not be applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Zero connections, or an invalid rate.
    #[error("{0}")]
    Plan(&'static str),
    /// Nothing accepts connections there.
    #[error("cannot connect to {endpoint}: {source}")]
    Unreachable {
        /// Where.
        endpoint: Endpoint,
        /// Why.
        source: std::io::Error,
    },
    /// This machine refused a thread, a timer or the like.
    #[error("cannot start the load generator: {0}")]
    Start(#[from] std::io::Error),
}
