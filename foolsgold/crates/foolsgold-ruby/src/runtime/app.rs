//! The served application.

use super::settings::Settings;

/// A Rack application.
#[derive(Debug)]
pub struct App {
    settings: Settings,
}

impl App {
    /// Creates an application; nothing is loaded before a worker is made.
    #[must_use]
    pub fn new(settings: Settings) -> App {
        App { settings }
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }
}

/// The interpreter and its version, as `/info` shows them.
#[must_use]
pub fn interpreter_version() -> String {
    format!("mruby {}", mruby::MRUBY_VERSION)
}
