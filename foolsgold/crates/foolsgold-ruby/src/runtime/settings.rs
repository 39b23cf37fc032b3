//! The settings of an application, the same for all its interpreters.

use foolsgold_core::files::{Files, VPath};
use foolsgold_core::metrics::Registry;
use foolsgold_core::work::Mode;
use std::sync::Arc;
use std::time::Duration;

/// Receives lines for the error log. It must not block.
pub type ErrorLog = Arc<dyn Fn(&str) + Send + Sync>;

/// The settings of an application.
#[derive(Clone)]
pub struct Settings {
    /// The application's files and the built-in library.
    pub files: Arc<dyn Files>,
    /// The rackup file.
    pub rackup: VPath,
    /// `$LOAD_PATH`, in order; relative entries are resolved against the rackup file's folder.
    pub load_path: Vec<String>,
    /// How requests share an interpreter unless a route sets another mode.
    pub mode: Mode,
    /// Modes of some paths from the configuration. They take precedence over those of the rackup file.
    pub routes: Vec<(String, Mode)>,
    /// Whether a client sees the details of errors.
    pub development: bool,
    /// The most memory of one interpreter, in bytes.
    pub memory: usize,
    /// How long Ruby may run for one request.
    pub budget: Duration,
    /// The metrics that the server and all interpreters share.
    pub metrics: Arc<Registry>,
    /// The error log.
    pub error_log: ErrorLog,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("rackup", &self.rackup).field("mode", &self.mode).finish_non_exhaustive()
    }
}

impl Settings {
    /// The mode of a path: the longest prefix among the configuration's routes, then among those of the rackup file. If
    /// a new interpreter for each request is configured, it applies everywhere: the other modes are compared with it.
    pub(super) fn mode_of(&self, path: &str, own: &[(String, Mode)]) -> Mode {
        if self.mode == Mode::Fresh {
            return Mode::Fresh;
        }
        let longest = |routes: &[(String, Mode)]| {
            let matching = routes.iter().filter(|(prefix, _)| is_below(path, prefix));
            matching.max_by_key(|(prefix, _)| prefix.len()).map(|(_, mode)| *mode)
        };
        longest(&self.routes).or_else(|| longest(own)).unwrap_or(self.mode)
    }
}

/// Whether a path is a folder or below it: `/a` and `/a/b` are below `/a`, `/ab` is not.
fn is_below(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::is_below;

    #[test]
    fn a_route_holds_for_its_path_and_what_is_below_it() {
        assert!(is_below("/a", "/a") && is_below("/a/b", "/a") && is_below("/a/b", "/a/") && is_below("/", "/"));
        assert!(is_below("/anything", "/") && is_below("", ""));
        assert!(!is_below("/ab", "/a") && !is_below("/", "/a"));
    }
}
