//! Benchmarks of underpin against its peers: interleaved runs, medians with intervals, one table per benchmark.

mod measure;
mod stats;
mod storm;
mod storm_model;
mod table;
mod trace;
mod tree;

use anyhow::Context;
use std::fs;

/// The benchmarks.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Name {
    /// `tree` against libtree, ldd and the loader's own list
    Tree,
    /// `trace` against no tracer and strace
    Trace,
    /// `bind` and `bundle` against patchelf, shrinkwrap's method and nothing at all
    Storm,
    /// The prediction of `storm` against starts from the delay file system
    StormModel,
}

/// Runs one and writes `docs/bench/NAME.md`, or with `dry` prints it.
///
/// # Errors
/// Where a program of the comparison is missing or fails.
pub fn run(name: Name, rounds: usize, dry: bool) -> anyhow::Result<()> {
    let (file, text) = match name {
        Name::Tree => ("tree", tree::run(rounds)?),
        Name::Trace => ("trace", trace::run(rounds)?),
        Name::Storm => ("storm", storm::run(rounds)?),
        Name::StormModel => ("storm-model", storm_model::run(rounds)?),
    };
    println!("{text}");
    if !dry {
        fs::create_dir_all("docs/bench")?;
        let path = format!("docs/bench/{file}.md");
        fs::write(&path, text).with_context(|| format!("cannot write {path}"))?;
        println!("wrote {path}");
    }
    Ok(())
}
