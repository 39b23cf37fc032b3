//! A crate of the registry, which cargo fetches, checks and builds as `cargo install` does: with the crate's own
//! `Cargo.lock`, in a folder of results of ours. The registry's folder of sources is not written to.

use super::{Context, Planned, cargo};
use crate::toolchain::RustChoice;
use crate::{BuildError, Step};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A crate by its name.
#[derive(Clone, Debug)]
pub struct Published {
    name: String,
    version: Option<String>,
    folder: PathBuf,
}

impl Published {
    /// `NAME` or `NAME@VERSION`.
    pub(super) fn new(text: &str) -> Result<Published, BuildError> {
        let (name, version) = text.split_once('@').map_or((text, None), |(name, version)| (name, Some(version)));
        let of_name = |char: char| char.is_ascii_alphanumeric() || "-_".contains(char);
        let of_version = |char: char| char.is_ascii_alphanumeric() || ".-+".contains(char);
        let starts = name.starts_with(|char: char| char.is_ascii_alphabetic());
        let versioned = version.is_none_or(|version| {
            version.starts_with(|char: char| char.is_ascii_digit()) && version.chars().all(of_version)
        });
        if !starts || !name.chars().all(of_name) || !versioned {
            return Err(BuildError::CrateName(text.to_owned()));
        }
        Ok(Published { name: name.to_owned(), version: version.map(str::to_owned), folder: text.into() })
    }

    /// No folder of this machine: what it is called.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn plan(&self, context: &Context<'_>) -> Result<Planned, BuildError> {
        let Some(choice) = &context.toolchain.rust else {
            return Ok(Planned::default());
        };
        let text = |path: PathBuf| path.display().to_string();
        let mut arguments: Vec<String> = ["install", "--locked", "--no-track", "--force"].map(str::to_owned).to_vec();
        if self.is_at_hand(context, choice) {
            arguments.push("--offline".to_owned());
        }
        arguments.extend(["--root".to_owned(), text(context.work.join("installed"))]);
        arguments.extend(["--target".to_owned(), context.spec.rust_triple()]);
        arguments.extend(["--target-dir".to_owned(), text(context.work.join("target"))]);
        arguments.push("--message-format=json-render-diagnostics".to_owned());
        if choice.from_source {
            arguments.push("-Zbuild-std=std,panic_abort".to_owned());
        }
        arguments.extend(context.words.iter().cloned());
        arguments.push(self.folder.display().to_string());
        let step = Step::new("build", choice.rust.cargo.clone(), arguments, context.work);
        let step = step.with(cargo::environment(context, choice)).captured();
        Ok(Planned { steps: vec![step], inside: PathBuf::from("."), ..Planned::default() })
    }

    /// Whether this version and all that its `Cargo.lock` names is in the registry's cache: then no network is asked.
    fn is_at_hand(&self, context: &Context<'_>, choice: &RustChoice) -> bool {
        let Some(version) = &self.version else { return false };
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")));
        let sources = home.unwrap_or_default().join("registry/src");
        let of_registry = std::fs::read_dir(sources).into_iter().flatten().flatten();
        let mut manifests = of_registry
            .map(|registry| registry.path().join(format!("{}-{version}/Cargo.toml", self.name)))
            .filter(|manifest| manifest.is_file() && manifest.with_file_name("Cargo.lock").is_file());
        let Some(manifest) = manifests.next() else { return false };
        let mut command = Command::new(&choice.rust.cargo);
        command.args(["metadata", "--format-version", "1", "--offline", "--locked", "--filter-platform"]);
        command.arg(context.spec.rust_triple()).arg("--manifest-path").arg(manifest);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_is_a_name_and_perhaps_a_version() {
        for good in ["ripgrep", "fd-find@10.2.0", "a_b@1.0.0-rc.1+x"] {
            assert!(Published::new(good).is_ok(), "{good}");
        }
        for bad in ["", "@1.0", "rip grep", "ripgrep@", "--git", "ripgrep@--git", "../x", "ripgrep@^1"] {
            let refused = Published::new(bad).unwrap_err().to_string();
            assert!(refused.contains("expected NAME"), "{refused}");
        }
    }
}
