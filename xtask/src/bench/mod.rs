//! Benchmarks of underpin against its peers: interleaved runs, medians with intervals, one table per benchmark.

mod aa;
mod aa_soak;
mod ab;
mod broker;
mod build;
mod foolsgold;
mod generators;
mod growth;
mod hyperfine;
mod image;
mod image_causes;
mod image_compare;
mod image_container;
mod image_here;
mod image_mmdebstrap;
mod image_published;
mod image_starts;
mod load;
pub mod measure;
mod mimalloc;
mod overhead;
mod overlay;
mod overlay_kinds;
mod pages;
mod power;
mod small_memory;
pub mod stats;
pub mod storm;
mod storm_model;
mod suite;
mod suite_originals;
pub mod table;
mod threads;
mod trace;
mod tree;
mod underpin_bench;
mod workload;

pub use foolsgold::{Running, free_port, get};

use anyhow::Context;
pub use overlay_kinds::Masked;
use pages::page;
use std::fs;
use std::path::Path;

/// The benchmarks.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Name {
    /// `tree` against libtree, ldd and the loader's own list
    Tree,
    /// `trace` against no tracer and strace
    Trace,
    /// `bind` and `bundle` against patchelf, shrinkwrap's method and unchanged files
    Storm,
    /// What `bind` adds on disk, beside patchelf
    Growth,
    /// The prediction of `storm` against real starts from underpin-slowfs
    StormModel,
    /// `bench` of a command against itself on a loaded machine, beside hyperfine; rounds: comparisons
    Aa,
    /// `bench` of a command against itself, hundreds of times at a load of four times the processors; rounds: comparisons
    AaSoak,
    /// `bench` of a command against one that takes 3 % longer; rounds: tries, two minutes each
    Power,
    /// What a run costs with `bench`, with hyperfine and with nothing
    Overhead,
    /// The memory of five programs that do nothing, by `bench` and by hyperfine
    SmallMemory,
    /// The load generator of `bench --load` beside wrk and ab on nginx
    Load,
    /// underpin's mimalloc beside Debian's, on programs that do little but allocate
    Mimalloc,
    /// The allocation benchmark of fossas/broker on glibc and static musl with each allocator; rounds: pairs of processes
    Broker,
    /// Results of `underpin build` beside glibc builds, and `underpin build` beside cargo; rounds: pairs of searches
    Build,
    /// `underpin image run` beside a bare QEMU, the size of an image, and a build of one that is there; rounds: pairs of boots
    Image,
    /// `underpin image compare` of musl and glibc twins on aarch64 and x86-64, beside published figures; rounds: boots of each image
    ImageCompare,
    /// Images of twins by every compiler, and of the Raspberry Pi, each started 20 times; rounds: starts of each
    ImageStarts,
    /// Every function of the overlay beside glibc's, musl's and LLVM's; rounds: blocks of calls
    Overlay,
    /// Creating and joining threads on glibc, static musl and static musl with the overlay; rounds: processes of each
    Threads,
    /// The suites of `underpin bench --suite` in their short form, beside published figures; takes half an hour
    Suite,
    /// Our suites beside the original benchmarks' own programs, whose sources are in the folder $ORIGINALS
    SuiteOriginals,
    /// A Ruby service's memory and time on every allocator; rounds: blocks of two timed runs and a watched one
    Ruby,
    /// The same of Python
    Python,
    /// The same of Node
    Node,
    /// foolsgold beside Thin, Puma and h2o, as the original FoolsGold was compared
    Foolsgold,
    /// foolsgold on glibc and musl with each allocator
    FoolsgoldAllocators,
    /// foolsgold beside Thin and Puma on a page whose texts are escaped
    FoolsgoldEscapes,
    /// foolsgold over four million requests in each mode, and among hostile ones; rounds: of 25,000 requests
    FoolsgoldSoak,
}

impl Name {
    /// Rounds if none are given.
    fn usual_rounds(self) -> usize {
        match self {
            Name::Aa => 25,
            Name::Broker | Name::Build => 12,
            Name::AaSoak => 500,
            Name::Power | Name::Overhead | Name::SmallMemory | Name::Load => 10,
            Name::Foolsgold | Name::FoolsgoldAllocators | Name::FoolsgoldEscapes => 8,
            Name::Image => 10,
            Name::Overlay => 21,
            Name::SuiteOriginals | Name::ImageStarts => 20,
            // The goal is about five equal boots.
            Name::Ruby | Name::Python | Name::Node | Name::ImageCompare => 5,
            // Memory goes up and down by a tenth of a megabyte when connections change threads: over one million requests that
            // looks like growth, or hides it.
            Name::FoolsgoldSoak => 160,
            _ => 40,
        }
    }
}

/// What comes before a section of a page, and the section; both empty if they are not there.
fn kept(file: &str, heading: &str) -> (String, String) {
    let page = fs::read_to_string(page(file)).unwrap_or_default();
    match page.find(heading) {
        Some(at) => (page[..at].to_owned(), format!("\n{}", &page[at..])),
        None => (page + "\n", String::new()),
    }
}

/// Runs a benchmark and writes `docs/bench/NAME.md`, or with `dry` prints it.
///
/// # Errors
/// If a program of the comparison is missing or fails.
pub fn run(name: Name, rounds: Option<usize>, level: Option<Masked>, dry: bool) -> anyhow::Result<()> {
    if level.is_some() && !matches!(name, Name::Overlay) {
        anyhow::bail!("--level is an option of `bench overlay`");
    }
    let rounds = rounds.unwrap_or_else(|| name.usual_rounds());
    let kind;
    let (file, text) = match name {
        Name::Tree => ("tree", tree::run(rounds)?),
        Name::Trace => ("trace", trace::run(rounds)?),
        Name::Storm => ("storm", storm::run(rounds)?),
        Name::Growth => ("growth", growth::run()?),
        Name::StormModel => ("storm-model", storm_model::run(rounds)?),
        Name::Aa => ("aa", format!("{}{}", aa::run(rounds)?, kept("aa", aa_soak::HEADING).1)),
        Name::AaSoak => ("aa", format!("{}{}", kept("aa", aa_soak::HEADING).0, aa_soak::run(rounds)?)),
        Name::Power => ("power", power::run(rounds)?),
        Name::Overhead => ("overhead", overhead::run(rounds)?),
        Name::SmallMemory => ("small-memory", small_memory::run(rounds)?),
        Name::Load => ("load", generators::run(rounds)?),
        Name::Mimalloc => ("mimalloc", mimalloc::run(rounds)?),
        Name::Broker => ("broker", broker::run(rounds)?),
        Name::Build => ("build", build::run(rounds)?),
        Name::Image => ("image", image::run(rounds)?),
        Name::ImageCompare => ("image-compare", image_compare::run(rounds)?),
        Name::ImageStarts => ("image-starts", image_starts::run(rounds)?),
        Name::Overlay => {
            kind = overlay_kinds::file(level)?;
            (kind.as_str(), overlay::run(rounds, level)?)
        }
        Name::Threads => ("threads", threads::run(rounds)?),
        Name::Suite => ("suite", suite::run()?),
        Name::SuiteOriginals => ("suite-originals", suite_originals::run(rounds)?),
        Name::Ruby => ("ruby", workload::run(workload::RUBY, rounds)?),
        Name::Python => ("python", workload::run(workload::PYTHON, rounds)?),
        Name::Foolsgold => ("foolsgold", foolsgold::run(rounds)?),
        Name::FoolsgoldAllocators => ("foolsgold-allocators", foolsgold::allocators(rounds)?),
        Name::FoolsgoldEscapes => ("foolsgold-escapes", foolsgold::escapes(rounds)?),
        Name::FoolsgoldSoak => ("foolsgold-soak", foolsgold::soak(rounds)?),
        Name::Node => ("node", workload::run(workload::NODE, rounds)?),
    };
    println!("{text}");
    if !dry {
        fs::create_dir_all("docs/bench")?;
        let path = page(file);
        fs::write(&path, text).with_context(|| format!("cannot write {path}"))?;
        println!("wrote {path}");
        if matches!(name, Name::Overlay) {
            overlay_kinds::write_list(Path::new("docs/bench"))?;
        }
    }
    Ok(())
}
