//! Where cargo put the sources of the crate that carries them.

use crate::{Failure, run, variable};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const CARRIER: &str = "mruby3-sys";

/// The folder of mruby's source tree.
pub fn locate(manifest: &Path) -> Result<PathBuf, Failure> {
    println!("cargo::rerun-if-env-changed=MRUBY_SOURCES");
    let folder = match std::env::var_os("MRUBY_SOURCES").filter(|folder| !folder.is_empty()) {
        Some(folder) => {
            println!("cargo::rerun-if-changed={}", folder.display());
            PathBuf::from(folder)
        }
        None => carried(manifest)?,
    };
    if folder.join("src/vm.c").is_file() && folder.join("mrbgems/mruby-compiler/core/y.tab.c").is_file() {
        Ok(folder)
    } else {
        Err(Failure(format!("{}: not a source tree of mruby with its parser generated", folder.display())))
    }
}

/// Asks cargo, with the lock file as it is; what is not in its cache yet is fetched.
fn carried(manifest: &Path) -> Result<PathBuf, Failure> {
    let mut command = Command::new(variable("CARGO")?);
    command.args(["metadata", "--format-version", "1", "--manifest-path"]).arg(manifest.join("Cargo.toml"));
    let document: Value =
        serde_json::from_slice(&run(&mut command)?).map_err(|error| Failure(format!("cargo metadata: {error}")))?;
    let packages = document["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let found = packages.iter().find(|package| package["name"] == CARRIER);
    let path = found.and_then(|package| package["manifest_path"].as_str());
    let folder = path.and_then(|path| Path::new(path).parent());
    folder.map(|folder| folder.join("mruby")).ok_or_else(|| Failure(format!("cargo metadata does not list {CARRIER}")))
}
