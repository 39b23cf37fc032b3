//! The released files: foolsgold for each processor, built, static and answering; for this machine's processor both products, and
//! every test that runs one of them is run once more on its released file.

use crate::bench::{Running, free_port, get};
use crate::build::{self, Allocator, Linkage, Processor};
use crate::{run, setup};
use anyhow::{Context, bail};
use std::fs;
use std::path::Path;
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
        if processor.of_kernel() == std::env::consts::ARCH {
            tests("foolsgold", "FOOLSGOLD_TEST_PROGRAM", &file)?;
            let underpin = build::program(&run::workspace(), &run::target(), "underpin", *processor)?;
            tests("underpin", "UNDERPIN_TEST_PROGRAM", &underpin)?;
        }
    }
    Ok(())
}

/// The tests that run a product as its users do, on its released file.
fn tests(package: &str, variable: &str, file: &Path) -> anyhow::Result<()> {
    let mut command = Command::new(run::cargo());
    command.args(["test", "--quiet", "--no-fail-fast", "--package", package, "--test", "*"]);
    // Binding every file of the system takes minutes, and does nothing that the other tests of `bind` do not.
    command.args(["--", "--skip", "every_file_of_this_system"]);
    let status = command.env(variable, file).current_dir(run::workspace()).status().context("cannot start cargo")?;
    if status.success() { Ok(()) } else { bail!("tests of {package} fail on {} ({status})", file.display()) }
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
