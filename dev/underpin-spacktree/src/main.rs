//! `underpin-spacktree`: a Spack-like tree of programs of this system, from the command line.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program, and prints what it made")]

use anyhow::Context;
use clap::Parser;
use std::path::PathBuf;
use underpin_spacktree::{Layout, Site, Unwritten, build};

/// Lays programs of this system out as Spack does: each library in a hashed prefix, DT_RPATH of the closure.
///
/// Prints where the programs are, by the path under which the tree is used.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Where the tree is written
    #[arg(long, value_name = "DIR")]
    folder: PathBuf,
    /// The path that its files name, where the tree will be mounted elsewhere
    #[arg(long = "as", value_name = "PREFIX")]
    named: Option<PathBuf>,
    /// Leave the C library and its loader where they are
    #[arg(long)]
    system_glibc: bool,
    /// DT_RUNPATH of the direct dependencies, as Nix has it
    #[arg(long)]
    runpath: bool,
    /// Programs or libraries
    #[arg(required = true, value_name = "PROG")]
    programs: Vec<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let folder = std::path::absolute(&arguments.folder).context("the folder")?;
    let site = Site { named: arguments.named.unwrap_or_else(|| folder.clone()), folder };
    let layout = Layout { own_glibc: !arguments.system_glibc, direct_runpath: arguments.runpath };
    let tree = build(&site, &arguments.programs, layout)?;
    for program in &tree.programs {
        println!("{}", site.named.join(program.strip_prefix(&site.folder)?).display());
    }
    eprintln!("{} files", tree.origins.len());
    for file in &tree.with_segment {
        eprintln!("with a further segment: {}", file.display());
    }
    for (file, why) in &tree.as_they_are {
        if let Unwritten::Refused(reason) = why {
            eprintln!("copied as it is: {}: {reason}", file.display());
        }
    }
    for (file, name) in &tree.missing {
        eprintln!("not found on this system either: {name} for {}", file.display());
    }
    Ok(())
}
