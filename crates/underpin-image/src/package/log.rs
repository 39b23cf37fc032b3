//! Commands of a build, with everything they print in one log.

use crate::ImageError;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use underpin_build::{STEP_LIMIT, telling};
use underpin_sys::end_requests;

/// This much of a log is shown if a command fails.
const LAST_LINES: usize = 15;
/// Between two looks whether a command has ended.
const LONGEST_LOOK: Duration = Duration::from_millis(20);

/// Of the user's variables, those that lead to tools, caches and servers. No other one reaches a recipe's commands: `CPPFLAGS`,
/// `LIBS`, `CROSS_COMPILE`, a `V` that a makefile mentions would make another package of the same key.
const KEPT: [&str; 18] = [
    "CARGO_HOME",
    "CURL_CA_BUNDLE",
    "HOME",
    "LD_LIBRARY_PATH",
    "PATH",
    "PERL5LIB",
    "PYTHONPATH",
    "RUSTUP_DIST_SERVER",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];
const KEPT_BEGINNINGS: [&str; 6] =
    ["CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTR", "CARGO_SOURCE_", "CCACHE_", "SCCACHE_"];

/// The log of one package's build.
pub(super) struct Log<'a> {
    pub(super) recipe: &'a str,
    pub(super) path: PathBuf,
}

impl Log<'_> {
    /// Runs a command in a folder, in a process group of its own, which ends with us.
    pub(super) fn run(
        &self,
        program: &str,
        arguments: &[String],
        folder: &Path,
        environment: &[(String, String)],
    ) -> Result<(), ImageError> {
        let mut log = File::options().create(true).append(true).open(&self.path).map_err(ImageError::io(&self.path))?;
        let command =
            std::iter::once(program).chain(arguments.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
        writeln!(log, "$ cd {} && {command}", folder.display()).map_err(ImageError::io(&self.path))?;
        let output = log.try_clone().map_err(ImageError::io(&self.path))?;
        let started = Command::new(program)
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_kept)))
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(log)
            .process_group(0)
            .spawn();
        let mut child = match started {
            Ok(child) => child,
            Err(error) => return Err(self.failed(command, format!("cannot be started ({error})"))),
        };
        let (begun, mut look) = (Instant::now(), Duration::from_millis(1));
        loop {
            if let Some(status) = child.try_wait().map_err(ImageError::io(program))? {
                if end_requests() > 0 {
                    return Err(ImageError::Interrupted);
                }
                return if status.success() {
                    Ok(())
                } else {
                    Err(self.failed(command, format!("ended with {status}")))
                };
            }
            let is_late = begun.elapsed() >= STEP_LIMIT;
            if end_requests() > 0 || is_late {
                let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
                if let Some(group) = group {
                    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
                }
                let _ = child.wait();
                return Err(if is_late {
                    self.failed(command, format!("took longer than {} s, and was ended", STEP_LIMIT.as_secs()))
                } else {
                    ImageError::Interrupted
                });
            }
            std::thread::sleep(look);
            look = (look * 2).min(LONGEST_LOOK);
        }
    }

    fn failed(&self, command: String, how: String) -> ImageError {
        let text = fs::read(&self.path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let last = telling(&lines, LAST_LINES).into_iter().map(str::to_owned).collect();
        ImageError::Build { recipe: self.recipe.to_owned(), command, how, log: self.path.clone(), last }
    }
}

/// Whether a recipe's commands get a variable of the user's. Proxies are named in either case (curl(1), "ENVIRONMENT").
fn is_kept(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_proxy = lower.ends_with("_proxy") && KEPT.contains(&lower.as_str());
    is_proxy || KEPT.contains(&name) || KEPT_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_users_variables_only_what_leads_to_tools_and_servers_is_kept() {
        for name in ["PATH", "HOME", "HTTPS_PROXY", "no_proxy", "CARGO_REGISTRIES_MINE_INDEX", "CARGO_NET_OFFLINE"] {
            assert!(is_kept(name), "{name}");
        }
        for name in
            ["CFLAGS", "CPATH", "CROSS_COMPILE", "ARCH", "V", "MAKEFLAGS", "CARGO_BUILD_TARGET", "path", "LD_PRELOAD"]
        {
            assert!(!is_kept(name), "{name}");
        }
    }
}
