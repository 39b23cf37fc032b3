//! The released files: foolsgold for each processor, built, static and answering; for this machine's processor both products,
//! for `cargo xtask test --released`.

use crate::bench::{Running, free_port, get};
use crate::build::{self, Allocator, Linkage, Processor};
use crate::{run, setup};
use anyhow::{Context, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the static files, proves that they are static and serve, and says where they are. Without a processor named,
/// one whose core library rustup cannot fetch is left out, with a message.
///
/// # Errors
/// If a compiler is missing, a build fails, or a file is not as it should be.
pub fn all(processors: &[Processor]) -> anyhow::Result<()> {
    let every = [Processor::X86_64, Processor::Aarch64];
    let wanted = if processors.is_empty() { &every } else { processors };
    build::has_tools(wanted, &[])?;
    for processor in wanted {
        let there = setup::add_target(processor.triple(), "no static foolsgold for it");
        if !there && processors.is_empty() {
            continue;
        }
        let file = build::foolsgold(Linkage::Musl(*processor), Allocator::Mimalloc)?;
        build::is_static(&file)?;
        serves(*processor, &file)?;
        let megabytes = fs::metadata(&file)?.len() as f64 / 1e6;
        println!("{}: {megabytes:.1} MB, static, serves the demonstration", file.display());
    }
    Ok(())
}

/// A product's released file for this machine.
pub struct Released {
    /// The variable that tells its tests.
    pub variable: &'static str,
    /// Where it is.
    pub path: PathBuf,
}

/// Builds both products for this machine as they are released.
///
/// # Errors
/// If there is no release for this processor, a compiler is missing, or a build fails.
pub fn released() -> anyhow::Result<Vec<Released>> {
    let processor = match std::env::consts::ARCH {
        "x86_64" => Processor::X86_64,
        "aarch64" => Processor::Aarch64,
        other => bail!("nothing is released for {other}: run the tests without --released"),
    };
    build::has_tools(&[processor], &[])?;
    if !setup::add_target(processor.triple(), "no released files to test") {
        // Then the tests run on cargo's files.
        return Ok(Vec::new());
    }
    builder()?;
    let foolsgold = build::foolsgold(Linkage::Musl(processor), Allocator::Mimalloc)?;
    let underpin = build::program(&run::workspace(), &run::target(), "underpin", processor)?;
    Ok(vec![
        Released { variable: "FOOLSGOLD_TEST_PROGRAM", path: foolsgold },
        Released { variable: "UNDERPIN_TEST_PROGRAM", path: underpin },
    ])
}

/// Builds all tests, and puts the underpin that they make where UNDERPIN_BUILDER says, if it says: cargo would compile most of
/// the workspace a second time for the same underpin by itself, with the features that it alone asks for.
fn builder() -> anyhow::Result<()> {
    let Some(place) = std::env::var_os(build::BUILDER).map(PathBuf::from) else { return Ok(()) };
    run::must(&run::cargo(), &["test", "--workspace", "--no-run", "--quiet"])?;
    let built = run::target().join("debug/underpin");
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder)?;
    }
    // Not a link: the next build of cargo replaces the file.
    fs::copy(&built, &place).with_context(|| format!("cannot copy {} to {}", built.display(), place.display()))?;
    Ok(())
}

/// Starts foolsgold, on an emulated processor if it is for another one, and requests a page.
fn serves(processor: Processor, file: &Path) -> anyhow::Result<()> {
    let command = match processor {
        Processor::Aarch64 if std::env::consts::ARCH != "aarch64" => {
            let mut command = Command::new("qemu-aarch64");
            command.arg(file);
            command
        }
        _ => Command::new(file),
    };
    answers(&file.display().to_string(), command)
}

/// Whether a command that starts foolsgold answers a request, both to a restored interpreter and to a warm one.
///
/// # Errors
/// If it does not.
pub fn answers(name: &str, mut command: Command) -> anyhow::Result<()> {
    let port = free_port()?;
    command.args(["--bind", &format!("127.0.0.1:{port}")]);
    let folder = run::scratch("static")?;
    let running = Running::spawn(name, command, port, "/fools-gold", &folder)?;
    let again = get(running.port, "/fools-gold/prefork")?;
    drop(running);
    fs::remove_dir_all(&folder)?;
    if again == 200 { Ok(()) } else { bail!("{name}: /fools-gold/prefork answers with status {again}") }
}
