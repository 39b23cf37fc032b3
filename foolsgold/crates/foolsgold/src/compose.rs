//! Puts the parts together: where an application's files come from, and the server that serves them.

use crate::config::Config;
use crate::pack::{PACKED, Packed};
use anyhow::Context;
use foolsgold_core::files::{Disk, Files, Layers, VPath};
use foolsgold_core::metrics::Registry;
use foolsgold_core::work::Application;
use foolsgold_ruby::library::{BUILTIN, Builtin, DEMONSTRATION};
use foolsgold_ruby::{App, Settings, interpreter_version};
use foolsgold_server::log::say;
use foolsgold_server::{Archive, Facts, Parts, Server};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most metrics, including the application's.
const METRICS: usize = 1000;

/// Where an application's files are.
#[derive(Debug)]
enum Source {
    /// On disk, with this rackup file.
    Disk(PathBuf),
    /// In this executable.
    Packed(Arc<Packed>),
    /// The demonstration, also in this executable.
    Demonstration,
}

impl Source {
    /// The named application, else the packed one, else the demonstration.
    fn find(rackup: Option<&Path>, packed: Option<Arc<Packed>>) -> Source {
        match (rackup, packed) {
            (Some(rackup), _) => Source::Disk(rackup.to_owned()),
            (None, Some(packed)) => Source::Packed(packed),
            (None, None) => Source::Demonstration,
        }
    }

    /// The files that contain served folders, if those are not on disk.
    fn archive(&self) -> Option<Archive> {
        match self {
            Source::Packed(packed) => Some((Arc::clone(packed) as Arc<dyn Files>, VPath::new(PACKED)?)),
            Source::Disk(_) | Source::Demonstration => None,
        }
    }

    /// Opens the files, and returns them with the path of the rackup file.
    fn open(&self) -> anyhow::Result<(Arc<dyn Files>, VPath)> {
        let over_library = |files: Arc<dyn Files>| Arc::new(Layers::new(vec![files, Arc::new(Builtin)]));
        Ok(match self {
            Source::Disk(rackup) => {
                let unreadable = || format!("{}: the application cannot be read", rackup.display());
                let whole = rackup.canonicalize().with_context(unreadable)?;
                let folder = whole.parent().unwrap_or(Path::new("/"));
                let disk = Disk::new(folder).with_context(unreadable)?;
                let name = whole.file_name().and_then(|name| name.to_str());
                let rackup = name.and_then(|name| disk.root().join(name)).with_context(unreadable)?;
                (over_library(Arc::new(disk)), rackup)
            }
            Source::Packed(packed) => {
                let rackup = VPath::new(PACKED).and_then(|folder| folder.join("config.ru"));
                let files: Arc<dyn Files> = Arc::clone(packed) as Arc<dyn Files>;
                (over_library(files), rackup.context("the packed application has no config.ru")?)
            }
            Source::Demonstration => {
                (Arc::new(Builtin), VPath::new(DEMONSTRATION).context("there is no demonstration")?)
            }
        })
    }
}

/// Starts the server for a configuration.
///
/// # Errors
/// If an address is taken, a file cannot be read or the application cannot be loaded.
pub fn start(mut config: Config, packed: Option<Arc<Packed>>, allocator: &str) -> anyhow::Result<Server> {
    let source = Source::find(config.rackup.as_deref(), packed);
    if matches!(source, Source::Demonstration) {
        config.server.pages.show();
    }
    let registry = Arc::new(Registry::new(METRICS));
    let facts = Facts {
        interpreter: interpreter_version(),
        mode: config.mode.name().to_owned(),
        allocator: allocator.to_owned(),
    };
    let server = config.server.clone();
    let metrics = Arc::clone(&registry);
    let archive = source.archive();
    let load = move || -> anyhow::Result<Arc<dyn Application>> {
        let (files, rackup) = source.open()?;
        Ok(Arc::new(App::new(settings(&config, files, rackup, &metrics))))
    };
    Server::start(server, Parts { load: Box::new(load), registry, facts, report: Arc::new(say), archive })
}

fn settings(config: &Config, files: Arc<dyn Files>, rackup: VPath, metrics: &Arc<Registry>) -> Settings {
    Settings {
        files,
        rackup,
        load_path: vec![BUILTIN.to_owned()],
        mode: config.mode,
        routes: config.routes.iter().map(|route| (route.path.clone(), route.mode)).collect(),
        development: config.environment == crate::config::Environment::Development,
        memory: usize::try_from(config.memory.0).unwrap_or(usize::MAX),
        budget: config.budget,
        metrics: Arc::clone(metrics),
        error_log: Arc::new(say),
    }
}
