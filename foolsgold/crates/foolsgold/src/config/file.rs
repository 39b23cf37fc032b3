//! `foolsgold.toml`: the same settings as the command line, and those too large for a command line.

use super::{Config, Environment, Route};
use foolsgold_core::work::Mode;
use foolsgold_server::config::{
    AccessFormat, Bind, LogTarget, Network, ServerConfig, Size, Span, StaticMount, TlsFiles,
};
use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};

/// The file as written. Settings that it omits keep their values.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// The rackup file, relative to this file's folder.
    pub rackup: Option<PathBuf>,
    /// Where to listen.
    #[serde(default)]
    pub bind: Vec<Bind>,
    /// The mode of every path without a route.
    pub mode: Option<Mode>,
    /// Development or production.
    pub env: Option<Environment>,
    /// Interpreter threads.
    pub threads: Option<usize>,
    /// The most of them, counting those made while others wait for clients or sleep.
    pub max_threads: Option<usize>,
    /// Threads for connections.
    pub io_threads: Option<usize>,
    /// Requests that may wait.
    pub queue: Option<usize>,
    /// How long a request may wait.
    pub queue_time: Option<Span>,
    /// Memory of one interpreter.
    pub memory: Option<Size>,
    /// Time of one request in Ruby.
    pub budget: Option<Span>,
    /// Time for requests in progress at shutdown.
    pub drain: Option<Span>,
    /// Path of the metrics.
    pub metrics: Option<String>,
    /// Path of the information about the server.
    pub info: Option<String>,
    /// Path of the readiness check.
    pub ready: Option<String>,
    /// Peers whose `X-Forwarded-*` fields are trusted.
    pub trusted: Option<Vec<Network>>,
    /// Modes by path.
    #[serde(default, rename = "route")]
    pub routes: Vec<Route>,
    /// Folders by path.
    #[serde(default, rename = "static")]
    pub statics: Vec<StaticMount>,
    /// Limits on clients.
    #[serde(default)]
    pub limits: LimitSettings,
    /// Certificate and key.
    pub tls: Option<TlsFiles>,
    /// The access log.
    #[serde(default)]
    pub log: LogSettings,
}

/// `[limits]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LimitSettings {
    /// Bytes of a head.
    pub head: Option<Size>,
    /// Fields of a head.
    pub fields: Option<usize>,
    /// Time for a head.
    pub head_time: Option<Span>,
    /// Bytes of a body.
    pub body: Option<Size>,
    /// Bytes a second of a body.
    pub body_rate: Option<Size>,
    /// Grace period before that counts.
    pub body_grace: Option<Span>,
    /// Time between requests.
    pub idle: Option<Span>,
    /// Time in which a client accepts no byte.
    pub write_time: Option<Span>,
    /// Time from a request to its answer.
    pub whole: Option<Span>,
    /// Connections at the same time.
    pub connections: Option<usize>,
    /// Requests of one connection.
    pub requests: Option<u64>,
}

/// `[log]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LogSettings {
    /// The format of a line.
    pub access: Option<AccessFormat>,
    /// Where lines go.
    pub target: Option<LogTarget>,
}

/// Why a configuration file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("{}: the configuration cannot be read: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        error: io::Error,
    },
    /// It is not TOML, or has an unknown setting.
    #[error("{}:{line}: {message}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong, in one sentence.
        message: String,
    },
}

impl Settings {
    /// Reads a file. Relative paths in it start from its folder.
    ///
    /// # Errors
    /// If it cannot be read or parsed; the error has the line.
    pub fn read(path: &Path) -> Result<Settings, FileError> {
        let text = std::fs::read_to_string(path).map_err(|error| FileError::Read { path: path.to_owned(), error })?;
        let mut settings = Settings::parse(&text, path)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let paths = settings.rackup.iter_mut().chain(settings.statics.iter_mut().map(|mount| &mut mount.folder));
        let tls = settings.tls.iter_mut().flat_map(|tls| [&mut tls.cert, &mut tls.key]);
        for path in paths.chain(tls) {
            *path = folder.join(&*path);
        }
        if let Some(LogTarget::File(path)) = &mut settings.log.target {
            *path = folder.join(&*path);
        }
        Ok(settings)
    }

    /// The settings of a packed application, from the text of its `foolsgold.toml`. Relative paths in it start from the
    /// pack, which can only hold folders to serve.
    ///
    /// # Errors
    /// If the text cannot be parsed, or names a file that a pack cannot hold; the error has the line.
    pub fn of_pack(text: &str, path: &Path) -> Result<Settings, FileError> {
        let settings = Settings::parse(text, path)?;
        let line_of = |word: &str| 1 + text.lines().position(|line| line.trim_start().starts_with(word)).unwrap_or(0);
        let refuse = |word: &str, message: &str| {
            Err(FileError::Content { path: path.to_owned(), line: line_of(word), message: message.to_owned() })
        };
        if settings.rackup.as_deref().is_some_and(|rackup| rackup != Path::new("config.ru")) {
            return refuse("rackup", "a packed application starts with its config.ru: leave `rackup` out");
        }
        let keys = settings.tls.iter().flat_map(|tls| [("cert", &tls.cert), ("key", &tls.key)]);
        if let Some((name, _)) = keys.into_iter().find(|(_, path)| path.is_relative()) {
            return refuse(name, "certificates and keys stay outside of a pack: write an absolute path");
        }
        if matches!(&settings.log.target, Some(LogTarget::File(path)) if path.is_relative()) {
            return refuse("target", "a packed application has no folder to write to: write an absolute path");
        }
        Ok(Settings { rackup: None, ..settings })
    }

    fn parse(text: &str, path: &Path) -> Result<Settings, FileError> {
        let content = |line: usize, message: String| FileError::Content { path: path.to_owned(), line, message };
        let settings: Settings = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = 1 + text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count();
            content(line, error.message().lines().collect::<Vec<_>>().join("; "))
        })?;
        let line_of = |word: &str| 1 + text.lines().position(|line| line.contains(word)).unwrap_or(0);
        if let Some(wrong) = settings.paths().find(|path| !path.starts_with('/')) {
            return Err(content(line_of(&format!("\"{wrong}\"")), format!("the path `{wrong}` must start with `/`")));
        }
        let requests = settings.limits.requests.map(|number| number.try_into().unwrap_or(usize::MAX));
        let numbers = [
            ("threads", settings.threads),
            ("max-threads", settings.max_threads),
            ("io-threads", settings.io_threads),
            ("requests", requests),
        ];
        for (name, number) in numbers {
            if number == Some(0) {
                return Err(content(line_of(name), format!("`{name}` must be at least 1")));
            }
        }
        Ok(settings)
    }

    /// Every URL path.
    fn paths(&self) -> impl Iterator<Item = &str> {
        let pages = [&self.metrics, &self.info, &self.ready].into_iter().flatten();
        let routes = self.routes.iter().map(|route| &route.path);
        routes.chain(self.statics.iter().map(|mount| &mount.path)).chain(pages).map(String::as_str)
    }

    /// Applies these settings over others.
    pub fn apply(self, config: &mut Config) {
        fn set<T>(place: &mut T, value: Option<impl Into<T>>) {
            if let Some(value) = value {
                *place = value.into();
            }
        }
        config.rackup = self.rackup.or(config.rackup.take());
        set(&mut config.mode, self.mode);
        set(&mut config.environment, self.env);
        set(&mut config.memory, self.memory);
        set(&mut config.budget, self.budget);
        config.routes = self.routes;
        let server = &mut config.server;
        if !self.bind.is_empty() {
            server.binds = self.bind;
        }
        set(&mut server.threads, self.threads);
        server.max_threads = match (self.max_threads, self.threads) {
            (Some(most), _) => most,
            // A single thread is asked for to have its state shared by all requests.
            (None, Some(1)) => 1,
            (None, Some(_)) => server.max_threads.max(ServerConfig::default().max_threads),
            (None, None) => server.max_threads,
        };
        set(&mut server.io_threads, self.io_threads);
        set(&mut server.queue, self.queue);
        set(&mut server.queue_time, self.queue_time);
        set(&mut server.drain, self.drain);
        set(&mut server.trusted, self.trusted);
        server.statics = self.statics;
        server.tls = self.tls.or(server.tls.take());
        set(&mut server.access.format, self.log.access);
        set(&mut server.access.target, self.log.target);
        server.pages.metrics = self.metrics.or(server.pages.metrics.take());
        server.pages.info = self.info.or(server.pages.info.take());
        server.pages.ready = self.ready.or(server.pages.ready.take());
        let limits = &mut server.limits;
        set(&mut limits.head, self.limits.head.map(|size| size.0 as usize));
        set(&mut limits.fields, self.limits.fields);
        set(&mut limits.head_time, self.limits.head_time);
        set(&mut limits.body, self.limits.body.map(|size| size.0));
        set(&mut limits.body_rate, self.limits.body_rate.map(|size| size.0));
        set(&mut limits.body_grace, self.limits.body_grace);
        set(&mut limits.idle, self.limits.idle);
        set(&mut limits.write_time, self.limits.write_time);
        set(&mut limits.whole, self.limits.whole);
        set(&mut limits.connections, self.limits.connections);
        limits.requests = self.limits.requests.or(limits.requests);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Settings, String> {
        Settings::parse(text, Path::new("foolsgold.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn every_table_is_read() {
        let settings = parse(
            "bind = [\"127.0.0.1:80\", \"unix:/run/a\"]\nmode = \"prefork\"\nmemory = \"32MiB\"\n\
             [[route]]\npath = \"/x\"\nmode = \"shared-nothing\"\n[[static]]\npath = \"/assets\"\nfolder = \"public\"\n\
             [limits]\nbody = 1024\nrequests = 9\nidle = \"5s\"\n[tls]\ncert = \"a.pem\"\nkey = \"b.pem\"\n\
             [log]\naccess = \"json\"\ntarget = \"stderr\"\n",
        )
        .unwrap();
        assert_eq!(settings.bind.len(), 2);
        assert_eq!(settings.mode, Some(Mode::Prefork));
        assert_eq!(settings.memory, Some(Size(32 << 20)));
        assert_eq!(settings.routes[0], Route { path: "/x".into(), mode: Mode::SharedNothing });
        assert_eq!(settings.statics[0].path, "/assets");
        assert_eq!((settings.limits.body, settings.limits.requests), (Some(Size(1024)), Some(9)));
        assert_eq!(settings.log, LogSettings { access: Some(AccessFormat::Json), target: Some(LogTarget::Stderr) });
        assert!(settings.tls.is_some());
    }

    #[test]
    fn an_error_names_the_file_and_the_line() {
        let error = parse("mode = \"prefork\"\nthread = 3\n").unwrap_err();
        assert!(error.starts_with("foolsgold.toml:2: unknown field `thread`"), "{error}");
        let error = parse("\n\nmemory = \"lots\"\n").unwrap_err();
        assert!(error.starts_with("foolsgold.toml:3: invalid size `lots`"), "{error}");
        let error = parse("[[route]]\npath = \"x\"\nmode = \"prefork\"\n").unwrap_err();
        assert_eq!(error, "foolsgold.toml:2: the path `x` must start with `/`");
        let error = parse("a = [\n").unwrap_err();
        assert!(error.starts_with("foolsgold.toml:"), "{error}");
        assert_eq!(parse("threads = 0").unwrap_err(), "foolsgold.toml:1: `threads` must be at least 1");
        let error = parse("[limits]\nrequests = 0\n").unwrap_err();
        assert_eq!(error, "foolsgold.toml:2: `requests` must be at least 1");
    }

    #[test]
    fn paths_in_a_file_start_from_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("foolsgold.toml");
        std::fs::write(&path, "rackup = \"app/config.ru\"\n").unwrap();
        assert_eq!(Settings::read(&path).unwrap().rackup, Some(folder.path().join("app/config.ru")));
    }
}
