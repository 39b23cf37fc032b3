//! A crate of the registry, which cargo fetches, checks and builds as `cargo install` does: with the crate's own
//! `Cargo.lock`, in a folder of results of ours. The registry's folder of sources is not written to.

use super::{Context, Planned, Program, cargo};
use crate::toolchain::RustChoice;
use crate::{BuildError, Outputs, Step};
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_sys::{CHORE_LIMIT, answer};

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

    /// Not a folder of this machine but the crate's name.
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
        // cargo moves the programs of a registry's crate there: they are no longer where it reports them.
        let step = step.makes(context.work.join("installed/bin"));
        Ok(Planned { steps: vec![step], inside: PathBuf::from("."), ..Planned::default() })
    }

    pub(super) fn programs(outputs: &Outputs, words: &[String]) -> Result<Vec<Program>, BuildError> {
        let installed = outputs.made().next().map(Path::to_owned).unwrap_or_default();
        let moved = |program: Program| {
            let path = program.path.file_name().map(|name| installed.join(name)).filter(|path| path.is_file());
            Program { path: path.unwrap_or(program.path), ..program }
        };
        Ok(cargo::programs(outputs, words, &[])?.into_iter().map(moved).collect())
    }

    /// How to ask for a version that this compiler can build, if cargo refused another and names one: ``error: cannot install
    /// package `x 2.0.0`, it requires rustc 1.97.0 or newer``, and on the next line `` `x 1.20.0` supports rustc 1.88.0``.
    pub(super) fn advice(&self, said: &str) -> Option<String> {
        let fits = said.lines().find_map(|line| line.split_once("` supports rustc"))?.0;
        let (name, version) = fits.trim_start().strip_prefix('`')?.split_once(' ')?;
        (name == self.name)
            .then(|| format!("this compiler builds an older one: underpin build --crate {name}@{version}"))
    }

    /// Whether this version and all that its `Cargo.lock` names is in the registry's cache: then no network is needed.
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
        answer(&mut command, CHORE_LIMIT).is_ok_and(|output| output.status.success())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_the_compiler_builds_is_named_with_the_way_to_ask_for_it() {
        let said = "    Updating crates.io index\nerror: cannot install package `tool 2.0.0`, it requires rustc 1.97.0 or newer, while \
                    the currently active rustc version is 1.95.0\n`tool 1.20.0` supports rustc 1.88.0\n";
        let advice = Published::new("tool").unwrap().advice(said).unwrap();
        assert!(advice.ends_with("underpin build --crate tool@1.20.0"), "{advice}");
        assert_eq!(Published::new("other").unwrap().advice(said), None);
        assert_eq!(Published::new("tool").unwrap().advice("error: could not compile `tool` (bin)\n"), None);
    }

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
