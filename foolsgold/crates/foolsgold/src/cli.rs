//! The command line. It becomes a [`Config`] or [`pack::Options`]; what is done with those is not known here.

use crate::config::{CONFIG_FILE, Config, Environment, Settings};
use crate::pack;
use clap::{Args, Parser, Subcommand};
use foolsgold_core::work::Mode;
use foolsgold_server::config::{AccessFormat, Bind, LogTarget, ServerConfig, Size, Span, TlsFiles};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Default memory of one interpreter.
const MEMORY: Size = Size(64 << 20);

/// Default time of one request in Ruby.
const BUDGET: Duration = Duration::from_secs(10);

/// Serve Ruby Rack applications with an embedded mruby
///
/// `foolsgold config.ru` serves an application, `foolsgold` alone the built-in demonstration. SIGTERM shuts down after the
/// requests in progress, SIGHUP reloads the application, SIGUSR1 reopens the access log.
#[derive(Debug, Parser)]
#[command(name = "foolsgold", version, max_term_width = 100, args_conflicts_with_subcommands = true)]
pub struct Cli {
    /// Other commands than serving.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// How to serve.
    #[command(flatten)]
    pub serve: Serve,
}

/// Other commands than serving, described by their arguments.
#[derive(Debug, Subcommand)]
pub enum Command {
    #[expect(missing_docs, reason = "clap would show it in place of the description of the arguments")]
    Pack(pack::Options),
}

/// How to serve.
#[derive(Debug, Default, Args)]
pub struct Serve {
    /// The rackup file or its folder; if not given, the demonstration
    #[arg(value_name = "CONFIG.RU")]
    pub rackup: Option<PathBuf>,
    /// Listen on HOST:PORT or unix:PATH; may be repeated [default: 127.0.0.1:8000]
    #[arg(short, long, value_name = "ADDRESS")]
    pub bind: Vec<Bind>,
    /// Same as `--bind 127.0.0.1:PORT`
    #[arg(short, long, value_name = "PORT", conflicts_with = "bind")]
    pub port: Option<u16>,
    /// Configuration file [default: ./foolsgold.toml, or the packed one]
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Whether clients see the details of errors [default: production]
    #[arg(long, value_name = "ENV")]
    pub env: Option<Environment>,

    /// How requests share an interpreter [default: shared-nothing]
    #[arg(long, value_enum, help_heading = "Ruby")]
    pub mode: Option<ModeArg>,
    /// Load the application into a new interpreter for each request (slow; for comparison)
    #[arg(long, conflicts_with = "mode", help_heading = "Ruby")]
    pub fresh: bool,
    /// Number of interpreter threads [default: one per core]
    #[arg(short, long, value_name = "N", value_parser = at_least_one, help_heading = "Ruby")]
    pub threads: Option<usize>,
    /// Maximum number of interpreter threads while some wait for clients or sleep [default: 32 or 8 per core; 1 if
    /// --threads is 1]
    #[arg(long, value_name = "N", value_parser = at_least_one, help_heading = "Ruby")]
    pub max_threads: Option<usize>,
    /// Memory limit of one interpreter [default: 64MiB]
    #[arg(long, value_name = "SIZE", help_heading = "Ruby")]
    pub memory: Option<Size>,
    /// Time limit for Ruby in one request [default: 10s]
    #[arg(long, value_name = "TIME", help_heading = "Ruby")]
    pub budget: Option<Span>,

    /// Number of requests that may wait for an interpreter; more get 503 [default: 1024]
    #[arg(long, value_name = "N", help_heading = "Server")]
    pub queue: Option<usize>,
    /// How long a request may wait for an interpreter before it gets 503 [default: 5s]
    #[arg(long, value_name = "TIME", help_heading = "Server")]
    pub queue_time: Option<Span>,
    /// Number of threads for connections [default: one per two cores]
    #[arg(long, value_name = "N", value_parser = at_least_one, help_heading = "Server")]
    pub io_threads: Option<usize>,
    /// Maximum size of a request body; larger ones get 413 [default: 16MiB]
    #[arg(long, value_name = "SIZE", help_heading = "Server")]
    pub max_body: Option<Size>,
    /// Time for requests in progress to finish at shutdown [default: 30s]
    #[arg(long, value_name = "TIME", help_heading = "Server")]
    pub drain: Option<Span>,
    /// TLS certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = "Server")]
    pub tls_cert: Option<PathBuf>,
    /// TLS private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "Server")]
    pub tls_key: Option<PathBuf>,

    /// Format of the access log [default: none]
    #[arg(long, value_name = "FORMAT", help_heading = "Logging and monitoring")]
    pub access_log: Option<AccessArg>,
    /// Where the access log goes: stdout, stderr or a file [default: stdout]
    #[arg(long, value_name = "FILE", help_heading = "Logging and monitoring")]
    pub log_file: Option<LogTarget>,
    /// Serve Prometheus metrics at this path, for example /metrics
    #[arg(long, value_name = "PATH", value_parser = url_path, help_heading = "Logging and monitoring")]
    pub metrics: Option<String>,
    /// Serve information about the server as JSON at this path, for example /info
    #[arg(long, value_name = "PATH", value_parser = url_path, help_heading = "Logging and monitoring")]
    pub info: Option<String>,
    /// Serve a readiness check at this path: 200, or 503 if no interpreter is ready or the server shuts down
    #[arg(long, value_name = "PATH", value_parser = url_path, help_heading = "Logging and monitoring")]
    pub ready: Option<String>,
}

/// The modes that can be chosen for all requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ModeArg {
    /// The interpreter is restored after each request to its state after loading the application
    SharedNothing,
    /// One warm interpreter per thread, which keeps what requests leave behind
    Prefork,
}

/// The formats of the access log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum AccessArg {
    /// No access log
    None,
    /// Common Log Format
    Common,
    /// Common Log Format with referrer and user agent
    Combined,
    /// One JSON object per line
    Json,
}

impl From<AccessArg> for AccessFormat {
    fn from(form: AccessArg) -> AccessFormat {
        match form {
            AccessArg::None => AccessFormat::None,
            AccessArg::Common => AccessFormat::Common,
            AccessArg::Combined => AccessFormat::Combined,
            AccessArg::Json => AccessFormat::Json,
        }
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("a number is needed".to_owned()),
    }
}

fn url_path(text: &str) -> Result<String, String> {
    if text.starts_with('/') { Ok(text.to_owned()) } else { Err("a path starts with `/`".to_owned()) }
}

impl Serve {
    /// The whole configuration: the command line over the file over the defaults. The file is the one that `--config`
    /// names; otherwise the one packed with the application (`packed`) or, if none is packed, `foolsgold.toml` in the
    /// current folder.
    ///
    /// # Errors
    /// If the configuration file cannot be used, or the rackup file does not exist.
    pub fn into_config(self, packed: Option<Settings>) -> anyhow::Result<Config> {
        let mut config = Config {
            rackup: None,
            environment: Environment::default(),
            mode: Mode::SharedNothing,
            routes: Vec::new(),
            memory: MEMORY,
            budget: BUDGET,
            server: ServerConfig::default(),
        };
        let here = || Path::new(CONFIG_FILE).exists().then(|| PathBuf::from(CONFIG_FILE));
        match (self.config.clone(), packed) {
            (Some(file), _) => Settings::read(&file)?.apply(&mut config),
            // A configuration file in the current folder is not trusted.
            (None, Some(packed)) => packed.apply(&mut config),
            (None, None) => {
                here().map(|file| Settings::read(&file)).transpose()?.unwrap_or_default().apply(&mut config)
            }
        }
        self.apply(&mut config);
        if let Some(rackup) = config.rackup.as_deref().filter(|rackup| !rackup.is_file()) {
            anyhow::bail!("{}: there is no such rackup file", rackup.display());
        }
        if config.server.binds.is_empty() {
            config.server.binds = vec![Bind::Tcp(crate::config::DEFAULT_BIND.to_owned())];
        }
        Ok(config)
    }

    fn apply(self, config: &mut Config) {
        let mode = self.mode.map(|mode| match mode {
            ModeArg::SharedNothing => Mode::SharedNothing,
            ModeArg::Prefork => Mode::Prefork,
        });
        let settings = Settings {
            rackup: self.rackup.map(|path| if path.is_dir() { path.join("config.ru") } else { path }),
            bind: self.bind.into_iter().chain(self.port.map(|port| Bind::Tcp(format!("127.0.0.1:{port}")))).collect(),
            mode: if self.fresh { Some(Mode::Fresh) } else { mode },
            env: self.env,
            threads: self.threads,
            max_threads: self.max_threads,
            io_threads: self.io_threads,
            queue: self.queue,
            queue_time: self.queue_time,
            memory: self.memory,
            budget: self.budget,
            drain: self.drain,
            metrics: self.metrics,
            info: self.info,
            ready: self.ready,
            routes: std::mem::take(&mut config.routes),
            statics: std::mem::take(&mut config.server.statics),
            limits: crate::config::LimitSettings { body: self.max_body, ..Default::default() },
            tls: self.tls_cert.zip(self.tls_key).map(|(cert, key)| TlsFiles { cert, key }),
            log: crate::config::LogSettings { access: self.access_log.map(AccessFormat::from), target: self.log_file },
            trusted: None,
        };
        settings.apply(config);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(args: &[&str]) -> Cli {
        Cli::try_parse_from(std::iter::once(&"foolsgold").chain(args)).unwrap()
    }

    #[test]
    fn the_command_line_is_well_formed_and_its_help_fits_a_terminal() {
        Cli::command().debug_assert();
        let help = Cli::command().term_width(80).render_long_help().to_string();
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    }

    #[test]
    fn the_command_line_wins_over_the_file_and_the_file_over_the_defaults() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f.toml");
        std::fs::write(
            &file,
            "threads = 3\nqueue = 9\nmode = \"prefork\"\n[[route]]\npath = \"/a\"\nmode = \"fresh\"\n",
        )
        .unwrap();
        let cli = parse(&["--config", file.to_str().unwrap(), "--threads", "5", "--max-body", "1KiB"]);
        let config = cli.serve.into_config(None).unwrap();
        assert_eq!((config.server.threads, config.server.queue), (5, 9));
        assert_eq!((config.mode, config.memory, config.server.limits.body), (Mode::Prefork, MEMORY, 1024));
        assert_eq!(config.routes.len(), 1);
        assert_eq!(config.server.binds, [Bind::Tcp(crate::config::DEFAULT_BIND.into())]);
    }

    #[test]
    fn a_folder_and_a_port_are_enough_as_with_every_ruby_server() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("config.ru"), "").unwrap();
        let config = parse(&["-p", "8123", folder.path().to_str().unwrap()]).serve.into_config(None).unwrap();
        assert_eq!(config.server.binds, [Bind::Tcp("127.0.0.1:8123".into())]);
        assert_eq!(config.rackup, Some(folder.path().join("config.ru")));
    }

    #[test]
    fn pack_is_a_command_of_its_own() {
        let Some(Command::Pack(pack)) = parse(&["pack", "app/", "-o", "server", "--exclude", "spec"]).command else {
            panic!("no pack")
        };
        assert_eq!((pack.app, pack.output), ("app/".into(), "server".into()));
        assert_eq!((pack.with_source, pack.exclude), (false, vec!["spec".to_owned()]));
    }

    #[test]
    fn a_rackup_file_that_is_not_there_is_said() {
        let error = parse(&["/nowhere/config.ru"]).serve.into_config(None).unwrap_err().to_string();
        assert_eq!(error, "/nowhere/config.ru: there is no such rackup file");
    }
}
