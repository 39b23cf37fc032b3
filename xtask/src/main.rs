//! The chores of the repository, as `cargo xtask CHORE`.
//!
//! A developer's tool: it prints and it runs other programs. It knows the binary only as a program to call.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is what a chore does")]

mod bench;
mod build;
#[cfg(test)]
mod dependencies;
mod dist;
mod docs;
mod emulator;
mod fuse_trials;
mod image_recipes;
#[cfg(test)]
mod layers;
mod licences;
mod numbers;
mod picture;
mod run;
mod sanitize;
mod setup;
mod silence;
mod statics;
mod systems;
mod test;
mod trials;
mod wheels;

use clap::{Parser, Subcommand};

/// The chores of the repository.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Chores {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Run all tests
    Test {
        /// Install what the tests need first (Debian and Ubuntu: apt-get)
        #[arg(long)]
        install: bool,
        /// Build the released files first, and run every test of a product on its released file instead of on cargo's
        #[arg(long)]
        released: bool,
    },
    /// Write the man pages and completions below docs/ from the command line's own definition
    Docs {
        /// Change nothing; fail if a page is out of date
        #[arg(long)]
        check: bool,
    },
    /// Run the tests of the Ruby binding under AddressSanitizer and LeakSanitizer and write their table to foolsgold/docs/
    Sanitize {
        /// Print the table; write no file
        #[arg(long)]
        dry: bool,
    },
    /// Compare foolsgold's numbers with CRuby's and write the table to foolsgold/docs/
    Numbers {
        /// How many random cases
        #[arg(long, default_value_t = 1_000_000)]
        values: usize,
        /// Print the table; write no file
        #[arg(long)]
        dry: bool,
    },
    /// Build foolsgold's released files with `underpin build`, below target/released/, and have each answer requests
    Static {
        /// Only for this processor; may be repeated
        #[arg(long, value_enum)]
        target: Vec<build::Processor>,
    },
    /// Build both products as tarballs, Debian packages and wheels into target/dist, and try each in a root of its own
    Dist {
        /// Only for this processor; may be repeated
        #[arg(long, value_enum)]
        target: Vec<build::Processor>,
        /// Build a second time, from a copy of the sources in another folder, and compare every byte
        #[arg(long)]
        twice: bool,
    },
    /// The second build of `dist --twice`
    #[command(hide = true)]
    DistAt {
        sources: std::path::PathBuf,
        build: std::path::PathBuf,
        #[arg(long, value_enum)]
        target: Vec<build::Processor>,
    },
    /// Read from Debian's packages which versions the libraries of each release define, for `underpin check`
    Systems,
    /// Compare the tags of `underpin check` with auditwheel's over wheels of the package index and write docs/wheels.md
    Wheels {
        /// Print the table; write no file
        #[arg(long)]
        dry: bool,
    },
    /// Draw the README's picture from a real run: docs/picture-light.svg and docs/picture-dark.svg
    Picture,
    /// Build published projects with `underpin build`, run each result in bare roots and write docs/bench/build.md
    BuildTrials {
        /// A root with glibc 2.17, such as an export of a CentOS 7 container; nothing is written to it
        #[arg(long = "root-2.17", value_name = "DIR")]
        old: Option<std::path::PathBuf>,
        /// Only this project; may be repeated
        #[arg(long, value_name = "NAME")]
        only: Vec<String>,
    },
    /// Fuse the libraries of the programs of /usr/bin into copies, compare them, and write docs/bench/fuse.md
    FuseTrials {
        /// Only so many programs
        #[arg(long)]
        limit: Option<usize>,
        /// Rounds of timed starts
        #[arg(long, default_value_t = 50)]
        rounds: usize,
        /// Only this part of the page; the others stay as they are (may be repeated)
        #[arg(long, value_enum)]
        part: Vec<fuse_trials::Part>,
        /// With the part `peers`: the built program of github.com/akawashiro/sold
        #[arg(long, value_name = "FILE")]
        sold: Option<std::path::PathBuf>,
        /// Print the page; write no file
        #[arg(long)]
        dry: bool,
    },
    /// Build each recipe of the layers for each C library, machine and compiler, start it in a guest, have it show that it works,
    /// and write docs/bench/recipes.md
    ImageRecipes {
        #[command(flatten)]
        wanted: image_recipes::Wanted,
    },
    /// Run a benchmark and write its table to docs/bench/
    Bench {
        /// Which
        #[arg(value_enum)]
        name: bench::Name,
        /// Rounds (pairs of runs unless the benchmark says otherwise); more rounds narrow the intervals; 40 for most
        #[arg(long)]
        rounds: Option<usize>,
        /// Of `overlay`: let both the overlay and glibc use no wider instructions than these, though the processor has them
        #[arg(long, value_enum)]
        level: Option<bench::Masked>,
        /// Print the table; write no file
        #[arg(long)]
        dry: bool,
    },
}

fn main() -> anyhow::Result<()> {
    run::without_library_path()?;
    std::env::set_current_dir(run::workspace())?;
    match Chores::parse().chore {
        Chore::Test { install, released } => {
            let installed = if install { Some(setup::install()?) } else { None };
            let released = if released { statics::released()? } else { Vec::new() };
            test::all(installed.as_ref(), &released)
        }
        Chore::Docs { check } => docs::generate(check),
        Chore::Sanitize { dry } => sanitize::run(dry),
        Chore::Numbers { values, dry } => numbers::run(values, dry),
        Chore::Static { target } => statics::all(&target),
        Chore::Dist { target, twice } => dist::run(&target, twice),
        Chore::DistAt { sources, build, target } => dist::at(&sources, &build, &target),
        Chore::Systems => systems::generate(),
        Chore::Wheels { dry } => wheels::run(dry),
        Chore::Picture => picture::run(),
        Chore::BuildTrials { old, only } => trials::run(old.as_deref(), &only),
        Chore::FuseTrials { limit, rounds, part, sold, dry } => {
            fuse_trials::run(fuse_trials::Wanted { limit, rounds, parts: &part, sold, dry })
        }
        Chore::ImageRecipes { wanted } => image_recipes::run(&wanted),
        Chore::Bench { name, rounds, level, dry } => bench::run(name, rounds, level, dry),
    }
}
