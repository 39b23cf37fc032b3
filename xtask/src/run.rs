//! Running other programs.

use anyhow::{Context, bail};
use std::env;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_owned()
}

/// Starts this program once more without `LD_LIBRARY_PATH`, which cargo sets for what it runs. Chores are to start programs as a
/// shell does: every search would go through cargo's folders first, and underpin, which leaves them out, would start itself
/// twice, which took a quarter of the time of an image for containers.
///
/// # Errors
/// If it cannot be started.
pub fn without_library_path() -> anyhow::Result<()> {
    const VARIABLE: &str = "LD_LIBRARY_PATH";
    if env::var_os(VARIABLE).is_none() {
        return Ok(());
    }
    let program = env::current_exe()?;
    let error = Command::new(&program).args(env::args_os().skip(1)).env_remove(VARIABLE).exec();
    Err(error).with_context(|| format!("cannot start {}", program.display()))
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
    env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

fn build(package: &str, profile: &[&str], folder: &str) -> anyhow::Result<PathBuf> {
    let cargo = cargo();
    must(&cargo, &[&["build", "--quiet", "--package", package, "--bin", package], profile].concat())?;
    Ok(target().join(folder).join(package))
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from)
}

/// An empty folder for one chore, below the temporary folder.
///
/// # Errors
/// If it cannot be made.
pub fn scratch(chore: &str) -> anyhow::Result<PathBuf> {
    let folder = env::temp_dir().join(format!("underpin-{chore}-{}", std::process::id()));
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
