//! Programs that are chores of a repository: those that its own configuration makes subcommands of cargo.
//!
//! `[alias]` of `.cargo/config.toml` has `xtask = "run --package xtask --"`, so that `cargo xtask` runs the program of that
//! package. Nobody installs it. An alias of another name (`serve = "run -p server"`) says nothing: it may run the product.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[derive(Debug, Deserialize)]
struct File {
    #[serde(default)]
    alias: BTreeMap<String, Alias>,
}

/// "[alias]" in the Cargo book: words in one string, or a list.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Alias {
    Text(String),
    Words(Vec<String>),
}

/// The packages or programs that are subcommands of cargo in a folder, by its configuration and that of the folders above it.
pub fn packages(folder: &Path) -> Vec<String> {
    let files =
        folder.ancestors().flat_map(|folder| ["config.toml", "config"].map(|name| folder.join(".cargo").join(name)));
    // cargo itself refuses what it cannot read.
    let read = files.filter_map(|file| toml::from_str::<File>(&fs::read_to_string(file).ok()?).ok());
    read.flat_map(|file| file.alias).filter_map(|(name, alias)| subcommand(&name, &alias.words())).collect()
}

impl Alias {
    fn words(&self) -> Vec<&str> {
        match self {
            Alias::Text(text) => text.split_whitespace().collect(),
            Alias::Words(words) => words.iter().map(String::as_str).collect(),
        }
    }
}

/// The package or program that an alias runs, if it is called like the alias.
fn subcommand(name: &str, words: &[&str]) -> Option<String> {
    let (first, rest) = words.split_first()?;
    if !["run", "r"].contains(first) {
        return None;
    }
    let rest: Vec<&str> = rest.iter().copied().take_while(|word| *word != "--").collect();
    let option = |at: usize, option: &str| match rest[at].strip_prefix(option)? {
        "" => rest.get(at + 1).copied(),
        value => Some(value.strip_prefix('=').unwrap_or(value)),
    };
    let run = (0..rest.len()).flat_map(|at| ["--package", "-p", "--bin"].map(|name| option(at, name))).flatten();
    let plain = |name: &str| name.replace('_', "-");
    run.map(str::to_owned).find(|run| plain(run) == plain(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let member = folder.path().join("member");
        fs::create_dir_all(folder.path().join(".cargo")).unwrap();
        fs::create_dir_all(&member).unwrap();
        fs::write(folder.path().join(".cargo/config.toml"), text).unwrap();
        packages(&member)
    }

    #[test]
    fn an_alias_that_runs_the_program_of_its_name_makes_it_a_subcommand() {
        for words in [
            "\"run --package xtask --\"",
            "\"run -q -p xtask --bin xtask -- \"",
            "\"r --package=xtask\"",
            "[\"run\", \"--bin\", \"xtask\", \"--\"]",
        ] {
            assert_eq!(of(&format!("[alias]\nxtask = {words}\n")), ["xtask"], "{words}");
        }
        assert_eq!(of("[alias]\nrun-wasm = \"run --release --package run_wasm --\"\n"), ["run_wasm"]);
    }

    #[test]
    fn an_alias_of_another_name_or_another_command_says_nothing() {
        for alias in ["serve = \"run -p server\"", "t = \"test -p t\"", "x = \"run -- -p x\"", "x = \"\""] {
            assert_eq!(of(&format!("[alias]\n{alias}\n")), [""; 0], "{alias}");
        }
        assert_eq!(of("[build]\njobs = 1\n"), [""; 0]);
    }
}
