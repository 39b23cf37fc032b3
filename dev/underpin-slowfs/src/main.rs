//! `underpin-slowfs SOURCE MOUNTPOINT`: mounts in the foreground until a signal or an unmount.
//!
//! Says `mounted` on standard output once programs can use it. SIGUSR1 writes the counts so far, SIGINT and SIGTERM
//! unmount; the counts are written at the end too. With `-- COMMAND` it mounts, runs the command, and unmounts.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own")]

use anyhow::Context;
use clap::Parser;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;
use std::io::Write;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;
use underpin_slowfs::{Counts, Delays, Mounted, Options, SlowFs};

/// Mirror a folder read-only, slowly, and count the requests.
#[derive(Debug, Parser)]
#[command(name = "underpin-slowfs")]
struct Arguments {
    /// The folder to mirror
    source: PathBuf,
    /// An empty folder on which it appears
    mountpoint: PathBuf,
    /// Delay of every kind of request that has none of its own, in microseconds as all delays
    #[arg(long, value_parser = microseconds, value_name = "US")]
    delay: Option<Duration>,
    /// Delay of a lookup
    #[arg(long, value_parser = microseconds, value_name = "US")]
    lookup_delay: Option<Duration>,
    /// Delay of an open
    #[arg(long, value_parser = microseconds, value_name = "US")]
    open_delay: Option<Duration>,
    /// Delay of a read
    #[arg(long, value_parser = microseconds, value_name = "US")]
    read_delay: Option<Duration>,
    /// Delay of a getattr
    #[arg(long, value_parser = microseconds, value_name = "US")]
    getattr_delay: Option<Duration>,
    /// Delay of a readlink
    #[arg(long, value_parser = microseconds, value_name = "US")]
    readlink_delay: Option<Duration>,
    /// Requests answered per second, all clients together
    #[arg(long, value_name = "OPS")]
    rate: Option<NonZeroU64>,
    /// How long the kernel may remember a name that was found, in seconds
    #[arg(long, value_parser = seconds, value_name = "S", default_value = "0")]
    entry_ttl: Duration,
    /// How long the kernel may remember attributes, in seconds
    #[arg(long, value_parser = seconds, value_name = "S", default_value = "0")]
    attr_ttl: Duration,
    /// How long the kernel may remember that a name does not exist, in seconds; without it, it asks every time
    #[arg(long, value_parser = seconds, value_name = "S")]
    negative_ttl: Option<Duration>,
    /// Forget a file's contents at every open
    #[arg(long)]
    drop_pages: bool,
    /// Largest piece that the kernel reads ahead, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = Options::default().read_ahead)]
    read_ahead: u32,
    /// Threads: how many requests can be delayed at the same time
    #[arg(long, value_name = "N", default_value_t = Options::default().threads)]
    threads: usize,
    /// Write the counts to this file, as one JSON object, instead of to standard error
    #[arg(long, value_name = "FILE")]
    counts: Option<PathBuf>,
    /// Run this while it is mounted, and unmount when it ends
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Arguments {
    fn options(&self) -> Options {
        let or_all = |own: Option<Duration>| own.or(self.delay).unwrap_or_default();
        Options {
            delays: Delays {
                lookup: or_all(self.lookup_delay),
                open: or_all(self.open_delay),
                read: or_all(self.read_delay),
                getattr: or_all(self.getattr_delay),
                readlink: or_all(self.readlink_delay),
            },
            rate: self.rate,
            entry_ttl: self.entry_ttl,
            attribute_ttl: self.attr_ttl,
            negative_ttl: self.negative_ttl,
            keep_pages: !self.drop_pages,
            read_ahead: self.read_ahead,
            threads: self.threads,
        }
    }
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("underpin-slowfs: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let signals = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGUSR1]);
    if arguments.command.is_empty() {
        // Before any thread exists, so that all of them inherit it and the signals come to `wait` alone.
        signals.thread_block().context("cannot block signals")?;
    }
    let mounted = SlowFs::mount(&arguments.source, &arguments.mountpoint, &arguments.options())?;
    let counts = arguments.counts.as_deref();
    let code = match arguments.command.split_first() {
        Some((program, rest)) => {
            let status =
                Command::new(program).args(rest).status().with_context(|| format!("cannot start {program}"))?;
            status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
        }
        None => {
            println!("mounted");
            wait(&signals, &mounted, counts)?;
            ExitCode::SUCCESS
        }
    };
    write_counts(mounted.counts(), counts)?;
    Ok(code)
}

/// Until SIGINT, SIGTERM or an `umount` from outside.
fn wait(signals: &SigSet, mounted: &Mounted, counts: Option<&Path>) -> anyhow::Result<()> {
    std::thread::scope(|scope| {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || {
            // Nothing wakes this process when the mount goes away from outside, so it looks now and then.
            while stopped.recv_timeout(Duration::from_millis(200)) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                if mounted.is_gone() {
                    let _ = kill(Pid::this(), Signal::SIGTERM);
                    return;
                }
            }
        });
        let result = loop {
            match signals.wait() {
                Ok(Signal::SIGUSR1) => {
                    if let Err(error) = write_counts(mounted.counts(), counts) {
                        break Err(error);
                    }
                }
                Ok(_) => break Ok(()),
                Err(error) => break Err(error.into()),
            }
        };
        drop(stop);
        result
    })
}

/// Writes the counts; a file appears whole, so that a reader waiting for it never reads half of it.
fn write_counts(counts: Counts, file: Option<&Path>) -> anyhow::Result<()> {
    let text = serde_json::to_string(&counts)? + "\n";
    let Some(file) = file else {
        return std::io::stderr().write_all(text.as_bytes()).context("cannot write the counts");
    };
    let beside = file.with_extension("new");
    std::fs::write(&beside, text)
        .and_then(|()| std::fs::rename(&beside, file))
        .with_context(|| format!("cannot write {}", file.display()))
}

fn microseconds(text: &str) -> Result<Duration, std::num::ParseIntError> {
    text.parse().map(Duration::from_micros)
}

fn seconds(text: &str) -> Result<Duration, std::num::ParseIntError> {
    text.parse().map(Duration::from_secs)
}
