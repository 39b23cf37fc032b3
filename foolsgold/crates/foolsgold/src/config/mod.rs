//! The configuration of foolsgold: the command line over `foolsgold.toml` over the defaults.
//!
//! Everything here is checked as far as possible without touching the system: no file but the configuration file itself
//! is opened, no address is bound.

mod file;

pub use file::{FileError, LimitSettings, LogSettings, Settings};

use foolsgold_core::work::Mode;
use foolsgold_server::config::{ServerConfig, Size};
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;

/// The default address.
pub const DEFAULT_BIND: &str = "127.0.0.1:8000";

/// The configuration file that is read if it is in the current folder, or was packed.
pub const CONFIG_FILE: &str = "foolsgold.toml";

/// The whole configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The rackup file; `None` for the built-in demonstration.
    pub rackup: Option<PathBuf>,
    /// Development or production.
    pub environment: Environment,
    /// How requests share an interpreter unless a route sets another mode.
    pub mode: Mode,
    /// Modes of some paths. The longest matching prefix wins.
    pub routes: Vec<Route>,
    /// Memory of one interpreter, in bytes.
    pub memory: Size,
    /// Time that Ruby may run for one request.
    pub budget: Duration,
    /// What the server itself needs.
    pub server: ServerConfig,
}

/// Development or production.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Environment {
    /// Errors are shown to the client.
    Development,
    /// Errors are shown in the log only.
    #[default]
    Production,
}

/// The mode of the requests below a path.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The path: itself and everything below it.
    pub path: String,
    /// The mode.
    pub mode: Mode,
}
