//! The configuration of a server.
//!
//! Everything here is checked as far as possible without touching the system: no file is opened, no address is bound.

mod units;

pub use units::{Network, Size, Span, UnitError};

use serde::Deserialize;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// What the server and the pool need to know; nothing about Ruby.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerConfig {
    /// Where it listens. Inherited sockets (systemd) come before these.
    pub binds: Vec<Bind>,
    /// Interpreter threads.
    pub threads: usize,
    /// The most of them, counting those made while others wait for clients or sleep.
    pub max_threads: usize,
    /// Threads that serve connections.
    pub io_threads: usize,
    /// Requests that may wait for an interpreter.
    pub queue: usize,
    /// How long a request may wait.
    pub queue_time: Duration,
    /// How long requests may go on after the server was asked to end.
    pub drain: Duration,
    /// Limits on what clients do.
    pub limits: Limits,
    /// Certificate and key.
    pub tls: Option<TlsFiles>,
    /// Folders that the server itself serves.
    pub statics: Vec<StaticMount>,
    /// The access log.
    pub access: AccessLog,
    /// Peers whose `X-Forwarded-*` fields are trusted. The peer of a UNIX socket always is.
    pub trusted: Vec<Network>,
    /// Pages that the server answers itself.
    pub pages: Pages,
}

/// That many requests may wait for their clients or sleep beside those being worked on. An interpreter takes a few
/// megabytes, and is made only when needed.
fn default_max_threads(cores: usize) -> usize {
    const LEAST: usize = 32;
    const OF_EACH_CORE: usize = 8;
    LEAST.max(cores * OF_EACH_CORE)
}

impl Default for ServerConfig {
    fn default() -> ServerConfig {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        ServerConfig {
            binds: Vec::new(),
            threads: cores,
            max_threads: default_max_threads(cores),
            io_threads: (cores / 2).max(1),
            queue: 1024,
            queue_time: Duration::from_secs(5),
            drain: Duration::from_secs(30),
            limits: Limits::default(),
            tls: None,
            statics: Vec::new(),
            access: AccessLog::default(),
            trusted: ["127.0.0.0/8", "::1"].iter().filter_map(|text| text.parse().ok()).collect(),
            pages: Pages::default(),
        }
    }
}

/// Limits on what clients do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Bytes of a request's head: 431.
    pub head: usize,
    /// Fields of a request's head: 431.
    pub fields: usize,
    /// Time for a request's head: 408.
    pub head_time: Duration,
    /// Bytes of a request's body: 413.
    pub body: u64,
    /// The average rate of a body in bytes a second, after a grace period of [`Limits::body_grace`]: 408.
    pub body_rate: u64,
    /// How long a body may be slower than that.
    pub body_grace: Duration,
    /// How long a connection may be idle between requests.
    pub idle: Duration,
    /// How long a client may accept no byte of an answer.
    pub write_time: Duration,
    /// The longest time from the head of a request to the beginning of its answer.
    pub whole: Duration,
    /// Connections at the same time; more wait to be accepted.
    pub connections: usize,
    /// Requests of one connection, which is then closed: in HTTP/1 with `connection: close`, in HTTP/2 with GOAWAY. For
    /// balancers that choose a server for each connection, which would otherwise send nothing to a new one.
    pub requests: Option<u64>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            head: 64 << 10,
            fields: 100,
            head_time: Duration::from_secs(10),
            body: 16 << 20,
            body_rate: 500,
            body_grace: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            write_time: Duration::from_secs(30),
            whole: Duration::from_secs(300),
            connections: 16384,
            requests: None,
        }
    }
}

/// A folder under a path.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StaticMount {
    /// The path before the file's name, such as `/assets`.
    pub path: String,
    /// The folder.
    pub folder: PathBuf,
}

/// Certificate and key, both PEM.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsFiles {
    /// The certificate, followed by its chain.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// Pages that the server answers itself, if they have a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    /// Metrics in Prometheus's format.
    pub metrics: Option<String>,
    /// What runs here, as JSON.
    pub info: Option<String>,
    /// 200 while requests are accepted, 503 once the server drains.
    pub ready: Option<String>,
}

impl Pages {
    /// Metrics and facts at their usual paths, if they have none: for the demonstration.
    pub fn show(&mut self) {
        self.metrics.get_or_insert_with(|| "/metrics".to_owned());
        self.info.get_or_insert_with(|| "/info".to_owned());
    }
}

/// How requests are logged, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessLog {
    /// The format of a line.
    pub format: AccessFormat,
    /// Where lines go.
    pub target: LogTarget,
}

/// The format of a line of the access log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessFormat {
    /// No line at all.
    #[default]
    None,
    /// The common log format of NCSA httpd.
    Common,
    /// The same with referrer and user agent, as in Apache and nginx.
    Combined,
    /// One JSON object a line, with everything known about the request.
    Json,
}

/// Where a log goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LogTarget {
    /// Standard output.
    #[default]
    Stdout,
    /// Standard error.
    Stderr,
    /// A file, appended to; reopened on SIGUSR1.
    File(PathBuf),
}

impl FromStr for LogTarget {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<LogTarget, Self::Err> {
        Ok(match text {
            "-" | "stdout" => LogTarget::Stdout,
            "stderr" => LogTarget::Stderr,
            path => LogTarget::File(path.into()),
        })
    }
}

impl<'de> Deserialize<'de> for LogTarget {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<LogTarget, D::Error> {
        Ok(String::deserialize(from)?.parse().unwrap_or_default())
    }
}

/// Where the server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bind {
    /// Host and port.
    Tcp(String),
    /// A UNIX socket.
    Unix(PathBuf),
}

/// Text that is not an address to listen on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid address `{0}`: expected HOST:PORT or unix:PATH")]
pub struct BindError(String);

impl FromStr for Bind {
    type Err = BindError;

    fn from_str(text: &str) -> Result<Bind, BindError> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Bind::Unix(path.into()));
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(|| BindError(text.to_owned()))?;
        let bare_v6 = host.contains(':') && !(host.starts_with('[') && host.ends_with(']'));
        if port.parse::<u16>().is_err() || bare_v6 {
            return Err(BindError(text.to_owned()));
        }
        // `:8000` means every address, as in other servers.
        Ok(Bind::Tcp(if host.is_empty() { format!("0.0.0.0:{port}") } else { text.to_owned() }))
    }
}

impl fmt::Display for Bind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bind::Tcp(address) => f.write_str(address),
            Bind::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl<'de> Deserialize<'de> for Bind {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Bind, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_to_listen_at_are_host_and_port_or_a_path() {
        assert_eq!("127.0.0.1:8000".parse(), Ok(Bind::Tcp("127.0.0.1:8000".into())));
        assert_eq!(":80".parse(), Ok(Bind::Tcp("0.0.0.0:80".into())));
        assert_eq!("[::1]:80".parse(), Ok(Bind::Tcp("[::1]:80".into())));
        assert_eq!("unix:/run/a.sock".parse(), Ok(Bind::Unix("/run/a.sock".into())));
        for text in ["", "unix:", "8000", "localhost", "::1:80", "a:99999"] {
            assert!(text.parse::<Bind>().is_err(), "{text}");
        }
    }
}
