//! The delay file system over a variant's tree, mounted where its files say that they are.

use super::variants::Variant;
use anyhow::{Context, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// What a client of the file system remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// What it found before, as an NFS client within its attribute times; what it did not find it asks for again.
    Warm,
    /// Nothing: it asks for each part of a path at each use (`lookupcache=none` of nfs(5)).
    Fresh,
    /// Nothing from before a start, and during it what it found: a node on which the program starts for the first time.
    First,
}

/// How long [`Client::First`] remembers. Its starts take less, and are further apart.
const REMEMBERED: Duration = Duration::from_secs(2);

impl Client {
    /// What the kernel may remember, as options of `underpin-slowfs`.
    fn options(self) -> &'static [&'static str] {
        match self {
            Client::Warm => &["--entry-ttl", "3600", "--attr-ttl", "3600"],
            Client::Fresh => &[],
            Client::First => &["--entry-ttl", "2", "--attr-ttl", "2"],
        }
    }

    /// How long to wait before a start so that nothing is remembered from the last one.
    pub fn pause(self) -> Duration {
        if self == Client::First { REMEMBERED + Duration::from_millis(100) } else { Duration::ZERO }
    }
}

/// Every request about a name or a file waits; contents, which are the same for all, come from the page cache.
const DELAY: [&str; 2] = ["--lookup-delay", "100"];

/// A tree moved aside, with the file system over the place where it was. Unmounted and put back when it is dropped.
pub struct Mounted {
    server: Child,
    aside: PathBuf,
    place: PathBuf,
}

impl Mounted {
    /// Mounts it.
    ///
    /// # Errors
    /// If FUSE is not available.
    pub fn over(slowfs: &Path, variant: &Variant, client: Client) -> anyhow::Result<Mounted> {
        let (aside, place) = (variant.folder.with_extension("aside"), variant.folder.clone());
        fs::rename(&place, &aside)?;
        fs::create_dir(&place)?;
        let mut command = Command::new(slowfs);
        command.arg(&aside).arg(&place).args(DELAY).args(client.options()).stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(Stdio::null());
        let mut server = command.spawn().with_context(|| format!("cannot start {}", slowfs.display()))?;
        let mut line = String::new();
        if let Some(output) = server.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let mounted = Mounted { server, aside, place };
        if line.trim() != "mounted" {
            bail!("{} did not mount {}", slowfs.display(), mounted.place.display());
        }
        Ok(mounted)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Ok(id) = i32::try_from(self.server.id()) {
            let _ = kill(Pid::from_raw(id), Signal::SIGTERM);
        }
        let _ = self.server.wait();
        // Only an empty folder can be removed: a mount that is still there is left alone.
        if fs::remove_dir(&self.place).is_ok() {
            let _ = fs::rename(&self.aside, &self.place);
        }
    }
}

/// Requests of one start by a client that knew nothing before it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Requests {
    /// Path components asked for.
    pub lookups: u64,
    /// Those of them that do not exist.
    pub absent: u64,
    /// Files opened.
    pub opens: u64,
}

impl Requests {
    /// Counts them on a mount of its own, without delay.
    ///
    /// # Errors
    /// If FUSE is not available or the program fails.
    pub fn of(slowfs: &Path, variant: &Variant, argument: &str, client: Client) -> anyhow::Result<Requests> {
        let (aside, counts) = (variant.folder.with_extension("aside"), variant.folder.with_extension("counts"));
        fs::rename(&variant.folder, &aside)?;
        fs::create_dir(&variant.folder)?;
        let mut command = Command::new(slowfs);
        command
            .arg(&aside)
            .arg(&variant.folder)
            .args(client.options())
            .arg("--counts")
            .arg(&counts)
            .arg("--")
            .arg(&variant.program)
            .arg(argument);
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
        fs::remove_dir(&variant.folder)?;
        fs::rename(&aside, &variant.folder)?;
        if !status.context("cannot start underpin-slowfs")?.success() {
            bail!("{} {argument} on the delay file system failed", variant.program.display());
        }
        let text = fs::read_to_string(&counts)?;
        let number = |name: &str| number(&text, name).with_context(|| format!("{name} in {text}"));
        Ok(Requests { lookups: number("lookups")?, absent: number("absent")?, opens: number("opens")? })
    }
}

/// The value of a number in a flat JSON object.
fn number(text: &str, name: &str) -> Option<u64> {
    let value = text.split_once(&format!("\"{name}\":"))?.1;
    value.split([',', '}']).next()?.trim().parse().ok()
}
