//! Every recipe of the layers, built for each C library, processor and compiler, started in a guest, and made to show that it
//! works there. Each row of the page is written when it is known: a run that ends early leaves those before it.

mod layer;
mod page;
mod proofs;

use crate::build::zig;
use crate::{emulator, run};
use anyhow::{Context, bail};
use page::{Outcome, Row};
use proofs::{PROOFS, Proof};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// In the guest, which is emulated.
const SECONDS: &str = "300";

/// What a recipe is built for, and by what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The C library.
    pub libc: &'static str,
    /// The machine.
    pub target: &'static str,
    /// The compiler.
    pub toolchain: &'static str,
}

/// C libraries.
pub const LIBCS: [&str; 2] = ["musl", "glibc"];
const TARGETS: [&str; 2] = ["qemu-x86_64", "qemu-aarch64"];
const TOOLCHAINS: [&str; 3] = ["gcc", "clang", "zig"];

/// What of all combinations is wanted; an empty list is all.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Wanted {
    /// Only this recipe (may be repeated)
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Only for this machine (may be repeated)
    #[arg(long, value_name = "NAME", value_parser = TARGETS)]
    target: Vec<String>,
    /// Only with this C library (may be repeated)
    #[arg(long, value_name = "NAME", value_parser = LIBCS)]
    libc: Vec<String>,
    /// Only by this compiler (may be repeated)
    #[arg(long, value_name = "NAME", value_parser = TOOLCHAINS)]
    toolchain: Vec<String>,
}

impl Wanted {
    fn has(list: &[String], value: &str) -> bool {
        list.is_empty() || list.iter().any(|item| item == value)
    }

    fn trials(&self) -> impl Iterator<Item = (&'static Proof, Choice)> + '_ {
        combinations().filter(|(proof, choice)| {
            Wanted::has(&self.only, proof.name)
                && Wanted::has(&self.libc, choice.libc)
                && Wanted::has(&self.target, choice.target)
                && Wanted::has(&self.toolchain, choice.toolchain)
        })
    }
}

/// Every C library on every machine by every compiler.
pub fn choices() -> Vec<Choice> {
    let choices = LIBCS.iter().flat_map(|libc| {
        TARGETS
            .iter()
            .flat_map(move |target| TOOLCHAINS.iter().map(move |toolchain| Choice { libc, target, toolchain }))
    });
    choices.collect()
}

/// Every recipe for everything that it is for.
fn combinations() -> impl Iterator<Item = (&'static Proof, Choice)> {
    let choices = choices();
    PROOFS.iter().flat_map(move |proof| {
        let fits = |choice: &Choice| proof.libc.is_none_or(|libc| libc == choice.libc);
        choices.clone().into_iter().filter(fits).map(move |choice| (proof, choice))
    })
}

/// Builds, starts and asks what is wanted, and puts its rows into the page.
///
/// # Errors
/// If a name is unknown, underpin itself does not build, or a recipe does not build or show what it has to.
pub fn run(wanted: &Wanted) -> anyhow::Result<()> {
    if let Some(name) = wanted.only.iter().find(|name| !PROOFS.iter().any(|proof| proof.name == **name)) {
        let names: Vec<&str> = PROOFS.iter().map(|proof| proof.name).collect();
        bail!("unknown recipe `{name}`: expected one of {}", names.join(", "));
    }
    let packages = Packages::new()?;
    let mut failed = Vec::new();
    for (proof, choice) in wanted.trials() {
        let row = Row { name: proof.name, choice, date: page::today(), outcome: packages.trial(proof, choice)? };
        println!("{}", row.line());
        if matches!(row.outcome, Outcome::Failed(_)) {
            failed.push(format!("{} for {} on {} by {}", proof.name, choice.libc, choice.target, choice.toolchain));
        }
        page::put(&row)?;
    }
    println!("wrote {}", page::FILE);
    if failed.is_empty() { Ok(()) } else { bail!("failed: {}", failed.join(", ")) }
}

/// underpin, with a cache of these trials' own: a package that was built once is not built again.
pub struct Packages {
    program: PathBuf,
    folder: PathBuf,
    path: OsString,
}

impl Packages {
    /// Builds underpin, and finds zig and an emulator that has the boards.
    ///
    /// # Errors
    /// If one of them fails.
    pub fn new() -> anyhow::Result<Packages> {
        let folder = run::target().join("image-recipes");
        fs::create_dir_all(&folder)?;
        let mut path = vec![zig()?];
        path.extend(emulator::add()?);
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        Ok(Packages { program: run::debug_binary()?, folder, path: std::env::join_paths(path)? })
    }

    /// Runs `underpin image` to its end.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn image(&self, words: &[&str]) -> anyhow::Result<Output> {
        let mut command = Command::new(&self.program);
        command.arg("image").args(words).env("PATH", &self.path).env("XDG_CACHE_HOME", self.folder.join("cache"));
        // Cargo sets them for what it runs.
        for name in ["CARGO", "CARGO_MANIFEST_DIR", "LD_LIBRARY_PATH", "RUSTUP_TOOLCHAIN"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).output().context("cannot start underpin")
    }

    fn trial(&self, proof: &Proof, choice: Choice) -> anyhow::Result<Outcome> {
        let Choice { libc, target, toolchain } = choice;
        println!("{} for {libc} on {target} by {toolchain}", proof.name);
        let image = self.folder.join("image");
        if image.exists() {
            fs::remove_dir_all(&image)?;
        }
        let place = image.display().to_string();
        let asking = layer::write(&self.folder, libc)?.display().to_string();
        let mut words =
            vec!["build", "--libc", libc, "--target", target, "--toolchain", toolchain, "-o", &place, "--json"];
        words.extend(["--layer", &asking]);
        if proof.own {
            words.extend(["--layer", "layers/own"]);
        }
        words.extend(proof.packages);
        let output = self.image(&words)?;
        if !output.status.success() {
            return Ok(Outcome::Failed(format!("not built: {}", last(&output))));
        }
        let built: Value = serde_json::from_slice(&output.stdout).context("what `image build --json` prints")?;
        let words = [&["run", "--timeout", SECONDS, &place, "--"], proof.command].concat();
        let output = self.image(&words)?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let outcome = shown(proof, output.status.code(), &printed).map_or_else(
            |reason| Outcome::Failed(format!("in the guest: {reason}: {}", last(&output))),
            |()| self.works(proof, &built),
        );
        fs::remove_dir_all(&image)?;
        Ok(outcome)
    }

    /// What `image build --json` said of an image that then showed that it works, and what its package's record says.
    fn works(&self, proof: &Proof, built: &Value) -> Outcome {
        let packages = built["packages"].as_array().into_iter().flatten();
        let package = packages.into_iter().find(|package| package["name"] == proof.name);
        let text = |key: &str| package.and_then(|package| package[key].as_str()).unwrap_or_default().to_owned();
        let record = self.folder.join("cache/underpin/image/built").join(text("key")).join("package.json");
        let record: Value =
            fs::read(record).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        let steps = record["seconds"].as_array().into_iter().flatten();
        let steps = steps.filter_map(|step| Some((step[0].as_str()?, step[1].as_f64()?)));
        let (configured, rest): (Vec<_>, Vec<_>) = steps.partition(|(name, _)| *name == "configure");
        // The sum of nothing would be -0.
        let sum = |steps: Vec<(&str, f64)>| steps.iter().fold(0.0, |sum, (_, seconds)| sum + seconds);
        Outcome::Shown {
            version: text("version"),
            bytes: built["initramfs_bytes"].as_u64().unwrap_or_default(),
            seconds: (sum(configured), sum(rest)),
        }
    }
}

/// The line that says why.
pub fn last(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = said.lines().find(|line| line.starts_with("underpin: ")).or(said.lines().last());
    line.unwrap_or_default().trim_start_matches("underpin: ").to_owned()
}

/// Whether a command printed what it has to.
fn shown(proof: &Proof, code: Option<i32>, printed: &str) -> Result<(), String> {
    if code != Some(0) {
        return Err(format!("ended with {}", code.map_or_else(|| "a signal".to_owned(), |code| code.to_string())));
    }
    let missing = proof.prints.iter().find(|text| !printed.contains(**text));
    missing.map_or(Ok(()), |text| Err(format!("it did not print `{}`", text.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_ended_with_0_and_printed_everything_is_shown() {
        let proof = PROOFS.iter().find(|proof| proof.name == "lua").expect("a proof");
        assert_eq!(shown(proof, Some(0), "42\tLua 5.4\n"), Ok(()));
        assert_eq!(shown(proof, Some(0), "42\n").unwrap_err(), "it did not print `42\tLua 5.4`");
        assert_eq!(shown(proof, Some(1), "42\tLua 5.4\n").unwrap_err(), "ended with 1");
        assert_eq!(shown(proof, None, "").unwrap_err(), "ended with a signal");
        assert!(PROOFS.iter().all(|proof| !proof.prints.is_empty()), "what prints anything is shown by nothing");
    }

    #[test]
    fn every_choice_is_a_trial_unless_the_recipe_is_for_one_library() {
        let count = |name: &str| combinations().filter(|(proof, _)| proof.name == name).count();
        assert_eq!((count("dash"), count("libxcrypt")), (12, 6));
        let wanted = Wanted { only: vec!["dash".to_owned()], toolchain: vec!["zig".to_owned()], ..Wanted::default() };
        assert_eq!(wanted.trials().count(), 4);
    }
}
