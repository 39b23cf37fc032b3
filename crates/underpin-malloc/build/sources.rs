//! Where cargo put the sources of the crates that carry them.

use crate::tools::Failure;
use crate::{Recipe, Source};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages of the workspace's resolution.
pub struct Sources(Vec<Value>);

/// Asks cargo, with the lock file as it is; what is not in its cache yet is fetched.
pub fn locate(manifest: &Path) -> Result<Sources, Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--manifest-path"]).arg(manifest.join("Cargo.toml"));
    let output = command.output().map_err(|error| Failure(format!("cannot run cargo metadata: {error}")))?;
    if !output.status.success() {
        return Err(Failure(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim())));
    }
    let mut document: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| Failure(format!("cargo metadata: {error}")))?;
    match document["packages"].take() {
        Value::Array(packages) => Ok(Sources(packages)),
        _ => Err(Failure("cargo metadata lists no packages".to_owned())),
    }
}

impl Sources {
    pub fn of(&self, recipe: Recipe) -> Result<Source, Failure> {
        let name = recipe.package();
        let text = |package: &Value, field: &str| package[field].as_str().map(str::to_owned);
        let found = self.0.iter().find(|package| package["name"] == name);
        let (version, manifest) = found
            .and_then(|package| Some((text(package, "version")?, text(package, "manifest_path")?)))
            .ok_or_else(|| Failure(format!("cargo metadata does not list {name}")))?;
        let folder = PathBuf::from(manifest).parent().map(Path::to_owned);
        let folder = folder.ok_or_else(|| Failure(format!("{name} has no folder")))?;
        let version = recipe.upstream_version(&folder, &version)?;
        Ok(Source { folder, version })
    }
}
