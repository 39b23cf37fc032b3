//! Running other programs.

use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_owned()
}

/// Prints a command and runs it to its end.
///
/// # Errors
/// Where it cannot be started or fails.
pub fn must(program: &str, args: &[&str]) -> anyhow::Result<()> {
    println!("+ {program} {}", args.join(" "));
    let status = Command::new(program).args(args).status().with_context(|| format!("cannot start {program}"))?;
    if !status.success() {
        bail!("{program} {} failed: {status}", args.join(" "));
    }
    Ok(())
}

/// Builds the binary as a user would get it, and says where it is.
///
/// # Errors
/// Where it does not build.
pub fn release_binary() -> anyhow::Result<PathBuf> {
    release_tool("underpin")
}

/// Builds the binary of another package of the workspace, optimised, and says where it is.
///
/// # Errors
/// Where it does not build.
pub fn release_tool(package: &str) -> anyhow::Result<PathBuf> {
    build(package, &["--release"], "release")
}

/// Builds the binary as the tests run it, which takes less time, and says where it is.
///
/// # Errors
/// Where it does not build.
pub fn debug_binary() -> anyhow::Result<PathBuf> {
    build("underpin", &[], "debug")
}

fn build(package: &str, profile: &[&str], folder: &str) -> anyhow::Result<PathBuf> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    must(&cargo, &[&["build", "--quiet", "--package", package, "--bin", package], profile].concat())?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from);
    Ok(target.join(folder).join(package))
}
