//! What is compared: each server with its command line and the page that is requested.

use crate::build::{Allocator, Linkage, Processor};
use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The Ruby of the demonstration, and how other servers run it.
const RUBY: &str = "foolsgold/crates/foolsgold-ruby/ruby";
/// Answered without Ruby.
const READY: &str = "/ready";

/// A server process; several contenders may share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// Ours as it is shipped.
    Foolsgold(Linkage, Allocator),
    /// Ours with a new interpreter for each request.
    Fresh,
    /// Thin with a pool of 16 threads.
    Thin,
    /// Puma with 16 threads.
    Puma,
    /// h2o with the same application in its mruby handler, 2 threads.
    H2o,
    /// Ours with nothing but the page: no middleware, no map, a counter in Ruby.
    Alone,
    /// h2o with the same.
    H2oAlone,
}

/// The static file that is shipped.
pub const STATIC: Server = Server::Foolsgold(Linkage::Musl(Processor::X86_64), Allocator::Mimalloc);
/// The same with glibc.
pub const GLIBC: Server = Server::Foolsgold(Linkage::Glibc, Allocator::Mimalloc);

impl Server {
    /// Its name in the tables.
    pub fn name(self) -> String {
        match self {
            Server::Foolsgold(Linkage::Glibc, _) => "foolsgold, glibc".to_owned(),
            Server::Foolsgold(..) => "foolsgold, static musl".to_owned(),
            Server::Fresh => "foolsgold, static musl, --fresh".to_owned(),
            Server::Thin => "Thin".to_owned(),
            Server::Puma => "Puma".to_owned(),
            Server::H2o => "h2o with mruby".to_owned(),
            Server::Alone => "foolsgold, static musl, page alone".to_owned(),
            Server::H2oAlone => "h2o with mruby, page alone".to_owned(),
        }
    }

    /// What must be there before it can be started.
    ///
    /// # Errors
    /// If it does not build.
    pub fn prepare(self) -> anyhow::Result<Option<PathBuf>> {
        match self {
            Server::Foolsgold(linkage, allocator) => crate::build::foolsgold(linkage, allocator).map(Some),
            Server::Fresh => STATIC.prepare()?.as_deref().map(|program| copied(program, "fresh")).transpose(),
            Server::Alone => STATIC.prepare()?.as_deref().map(|program| copied(program, "alone")).transpose(),
            Server::Thin | Server::Puma | Server::H2o | Server::H2oAlone => Ok(None),
        }
    }

    /// The command that serves on a port of 127.0.0.1; `program` is what [`Server::prepare`] gave.
    ///
    /// # Errors
    /// If its configuration cannot be written.
    pub fn command(self, program: Option<&Path>, port: u16, folder: &Path) -> anyhow::Result<Command> {
        let address = format!("127.0.0.1:{port}");
        let mut command = Command::new(program.unwrap_or(Path::new(match self {
            Server::Puma => "/usr/bin/puma",
            Server::H2o | Server::H2oAlone => "/usr/bin/h2o",
            _ => "/usr/bin/thin",
        })));
        let rackup = Path::new(RUBY).join("bench/config.ru");
        match self {
            Server::Foolsgold(..) => command.args(["--bind", &address, "--ready", READY]),
            Server::Fresh => command.args(["--bind", &address, "--fresh"]),
            Server::Alone => command.args(["--bind", &address]).arg(Path::new(RUBY).join("bench/alone.ru")),
            Server::Thin => command
                .args(["-a", "127.0.0.1", "-p", &port.to_string(), "-e", "production"])
                .args(["--threaded", "--threadpool-size", "16", "-R"])
                .arg(rackup)
                .arg("start"),
            Server::Puma => command
                .args(["--quiet", "-e", "production", "-t", "16:16", "-b", &format!("tcp://{address}")])
                .arg(rackup),
            Server::H2o | Server::H2oAlone => {
                let file = folder.join(format!("h2o-{port}.conf"));
                fs::write(&file, self.h2o_configuration(port)?)?;
                command.arg("-c").arg(file)
            }
        };
        for name in ["LD_PRELOAD", "LD_LIBRARY_PATH", "MALLOC_CONF", "GLIBC_TUNABLES", "RUBYOPT", "RACK_ENV"] {
            command.env_remove(name);
        }
        Ok(command)
    }

    /// How h2o loads its application. Its counters are each thread's own, since interpreters of h2o share nothing.
    fn h2o_configuration(self, port: u16) -> anyhow::Result<String> {
        let ruby = fs::canonicalize(RUBY).with_context(|| format!("cannot find {RUBY}"))?;
        let application = match self {
            Server::H2oAlone => "DEMONSTRATION = RUBY + \"/demo\"\nrequire RUBY + \"/bench/alone\"\nALONE",
            _ => "require \"application\"\napplication(RUBY + \"/demo/config.ru\")",
        };
        let handler = format!(
            "RUBY = \"{}\"\n$LOAD_PATH.unshift(RUBY + \"/lib\").unshift(RUBY + \"/bench/h2o\")\n{application}",
            ruby.display()
        );
        let handler: String = handler.lines().map(|line| format!("          {line}\n")).collect();
        let user = Command::new("id").arg("-un").output().map(|output| output.stdout).unwrap_or_default();
        Ok(format!(
            "user: {}\nnum-threads: 2\nlisten:\n  host: 127.0.0.1\n  port: {port}\nhosts:\n  default:\n    paths:\n      /:\n\
             \x20       mruby.handler: |\n{handler}",
            String::from_utf8_lossy(&user).trim()
        ))
    }
}

/// A copy of a program: servers with one file share its pages, and each would be charged for a part of them only.
fn copied(program: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let copy = program.with_extension(name);
    // A running program cannot be written to.
    let _ = fs::remove_file(&copy);
    fs::copy(program, &copy).with_context(|| format!("cannot copy {}", program.display()))?;
    Ok(copy)
}

/// A page of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// An isolated interpreter for each request (or whatever else the server does).
    Gold,
    /// A warm interpreter for each thread.
    Prefork,
    /// No Ruby at all: what the load generator and the server's other parts can take.
    Ready,
}

/// One line of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contender {
    /// The server.
    pub server: Server,
    /// The page.
    pub page: Page,
}

impl Contender {
    /// Its name in the tables.
    pub fn name(self) -> String {
        let name = self.server.name();
        match (self.server, self.page) {
            (Server::Foolsgold(..), Page::Gold) => format!("{name}, shared nothing"),
            (Server::Foolsgold(..), Page::Prefork) => format!("{name}, prefork"),
            (Server::Foolsgold(..), Page::Ready) => format!("{name}, no Ruby"),
            _ => name,
        }
    }

    /// The path that is requested.
    pub fn path(self) -> &'static str {
        match self.page {
            Page::Gold => "/fools-gold",
            Page::Prefork => "/fools-gold/prefork",
            Page::Ready => READY,
        }
    }

    /// Requests of one run: fewer if each takes a hundred times as long.
    pub fn requests(self) -> u32 {
        if self.server == Server::Fresh { 1000 } else { 10_000 }
    }
}

/// All of the comparison.
pub const ALL: [Contender; 11] = [
    Contender { server: STATIC, page: Page::Prefork },
    Contender { server: STATIC, page: Page::Gold },
    Contender { server: GLIBC, page: Page::Prefork },
    Contender { server: GLIBC, page: Page::Gold },
    Contender { server: Server::Fresh, page: Page::Gold },
    Contender { server: STATIC, page: Page::Ready },
    Contender { server: Server::Thin, page: Page::Gold },
    Contender { server: Server::Puma, page: Page::Gold },
    Contender { server: Server::H2o, page: Page::Gold },
    Contender { server: Server::Alone, page: Page::Gold },
    Contender { server: Server::H2oAlone, page: Page::Gold },
];
