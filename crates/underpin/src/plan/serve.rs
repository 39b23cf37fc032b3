//! Servers of `underpin bench`: turns `--serve` and `--load` into work.

use super::parameters::{ParameterSet, fill};
use crate::cli::{BenchArgs, ServeArgs};
use anyhow::{Context, bail};
use std::sync::Arc;
use underpin_bench::{CommandLine, Load, PORT, Pace, Server, Shell};

/// Connections of a closed loop.
const CONNECTIONS: usize = 16;
/// Most connections of an open loop: a request that has to wait for a connection waits for the server.
const OPEN_CONNECTIONS: usize = 64;
/// Most threads of the load generator, if their number is not given.
const THREADS: usize = 4;

/// The servers of a comparison.
#[derive(Debug)]
pub(super) struct Servers<'a> {
    args: &'a ServeArgs,
    body: Body,
    settle: std::time::Duration,
}

/// The body of each request.
#[derive(Debug)]
enum Body {
    /// The text as given, with parameters replaced.
    Text(String),
    /// The bytes of a file, unchanged.
    File(Vec<u8>),
}

impl Body {
    fn of(&self, set: &ParameterSet) -> Vec<u8> {
        match self {
            Body::Text(text) => fill(text, set).into_bytes(),
            Body::File(bytes) => bytes.clone(),
        }
    }
}

impl<'a> Servers<'a> {
    /// `None` if commands are measured.
    ///
    /// # Errors
    /// If options contradict each other, or the body cannot be read.
    pub(super) fn new(args: &'a BenchArgs) -> anyhow::Result<Option<Servers<'a>>> {
        let serve = &args.serve;
        if serve.load.is_empty() {
            return Ok(None);
        }
        if serve.serve.is_empty() {
            if !(args.variant.is_empty()
                && args.env.is_empty()
                && args.malloc.is_empty()
                && args.bind.is_empty()
                && args.build.is_none())
            {
                bail!("--load alone starts nothing that could run under a variant; give the server with --serve");
            }
            if let Some(line) = serve.load.iter().find(|line| line.contains(PORT)) {
                bail!("--load '{line}': {PORT} is the port of a server that is started here; give it with --serve");
            }
        } else if serve.load.len() > 1 {
            bail!("--load is given {} times; with --serve every server gets the same one", serve.load.len());
        }
        let body = match serve.body.as_deref().unwrap_or_default() {
            text if text.starts_with('@') => {
                Body::File(std::fs::read(&text[1..]).with_context(|| format!("--body {text}"))?)
            }
            text => Body::Text(text.to_owned()),
        };
        Ok(Some(Servers { args: serve, body, settle: args.rules.settle }))
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.args.serve.len().max(self.args.load.len())
    }

    /// One of them: the command to start (or the server to query, if nothing is started), and the load on it.
    ///
    /// # Errors
    /// If the command or the request cannot be read.
    pub(super) fn one(
        &self,
        index: usize,
        set: &ParameterSet,
        shell: &Shell,
    ) -> anyhow::Result<(CommandLine, Arc<Load>)> {
        let (server, line) = match self.args.serve.get(index) {
            Some(text) => (Some(CommandLine::parse(&fill(text, set), shell)?), &self.args.load[0]),
            None => (None, &self.args.load[index]),
        };
        let load = Load {
            server: if server.is_some() { Server::Started } else { Server::Running },
            line: fill(line, set).split_whitespace().collect::<Vec<_>>().join(" "),
            headers: self.args.header.iter().map(|header| fill(header, set)).collect(),
            body: self.body.of(set),
            pace: self.pace(),
            threads: self.threads(),
            warmup: self.args.warmup_load,
            window: self.args.duration,
            timeout: self.args.load_timeout,
            ready: self.args.ready_timeout,
            settle: self.settle,
        };
        // Any port will do to find out whether the request can be parsed.
        load.request(1).context("--load")?;
        let command = match server {
            Some(command) => command,
            None => CommandLine::of_words(load.line.split(' ').map(Into::into).collect())?,
        };
        Ok((command, Arc::new(load)))
    }

    fn pace(&self) -> Pace {
        let connections = self.args.connections.map(|connections| connections as usize);
        match self.args.rate {
            None => Pace::Closed { connections: connections.unwrap_or(CONNECTIONS) },
            Some(rate) => Pace::Open { rate, connections: connections.unwrap_or(OPEN_CONNECTIONS) },
        }
    }

    fn threads(&self) -> usize {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        self.args.load_threads.map_or((processors / 2).clamp(1, THREADS), |threads| threads as usize)
    }
}
