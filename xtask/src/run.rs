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
/// If it cannot be started or fails.
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
/// If it does not build.
pub fn release_binary() -> anyhow::Result<PathBuf> {
    release_tool("underpin")
}

/// Builds the binary of another package of the workspace, optimised, and says where it is.
///
/// # Errors
/// If it does not build.
pub fn release_tool(package: &str) -> anyhow::Result<PathBuf> {
    build(package, &["--release"], "release")
}

/// Builds the binary as the tests run it, which takes less time, and says where it is.
///
/// # Errors
/// If it does not build.
pub fn debug_binary() -> anyhow::Result<PathBuf> {
    debug_tool("underpin")
}

/// Builds the binary of a package of the workspace as the tests run it, and says where it is.
///
/// # Errors
/// If it does not build.
pub fn debug_tool(package: &str) -> anyhow::Result<PathBuf> {
    build(package, &[], "debug")
}

/// The cargo that runs this chore, else the one in PATH.
pub fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

fn build(package: &str, profile: &[&str], folder: &str) -> anyhow::Result<PathBuf> {
    let cargo = cargo();
    must(&cargo, &[&["build", "--quiet", "--package", package, "--bin", package], profile].concat())?;
    Ok(target().join(folder).join(package))
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from)
}

/// An empty folder for one chore, below the temporary folder.
///
/// # Errors
/// If it cannot be made.
pub fn scratch(chore: &str) -> anyhow::Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("underpin-{chore}-{}", std::process::id()));
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// Compiles a C program.
///
/// # Errors
/// If there is no compiler, or it refuses.
pub fn compile_c(folder: &Path, name: &str, source: &str, flags: &[&str]) -> anyhow::Result<PathBuf> {
    compile_with("cc", folder, name, source, flags)
}

/// Compiles a C program with a compiler of another name.
///
/// # Errors
/// If there is no such compiler, or it refuses.
pub fn compile_with(
    compiler: &str,
    folder: &Path,
    name: &str,
    source: &str,
    flags: &[&str],
) -> anyhow::Result<PathBuf> {
    let (file, program) = (folder.join(format!("{name}.c")), folder.join(name));
    std::fs::write(&file, source)?;
    let status = Command::new(compiler).args(flags).arg("-o").arg(&program).arg(&file).status();
    let status = status.with_context(|| format!("cannot start {compiler}"))?;
    if !status.success() {
        bail!("{compiler} failed for {}: {status}", file.display());
    }
    Ok(program)
}
