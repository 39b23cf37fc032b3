//! Ruby as the interpreter of an application: where its library is and which gems it needs, as the interpreter itself says.

use super::container::{APP, OWN};
use anyhow::{Context, bail};
use serde::Deserialize;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use underpin_image::plan::{Because, Included, Source};
use underpin_sys::{Limits, RunEnd, Spawn, Streams};

const QUESTION: &str = include_str!("ruby.rb");
const START: &str = include_str!("ruby_start.rb");
/// Asks for the FIPS provider in effect; prints what it finds if it is the program, which it is after `-e` too.
const FIPS: &str = include_str!("ruby_fips.rb");
/// An interpreter that only looks at its own folders is done in a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whether a program is Ruby's interpreter, by its name: `ruby`, `ruby3.1`.
pub(super) fn is_ruby(program: &Path) -> bool {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let version = name.strip_prefix("ruby");
    version.is_some_and(|version| version.chars().all(|letter| letter.is_ascii_digit() || letter == '.'))
}

/// What the interpreter says.
#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    version: String,
    abi: String,
    platform: String,
    library: Vec<PathBuf>,
    gems: Vec<InstalledGem>,
    missing: Vec<String>,
    scripts: Vec<PathBuf>,
    /// The folder of gems that the application has itself, below it.
    vendored: Option<String>,
    /// The gem whose executable is started.
    #[serde(default)]
    server: Option<String>,
}

/// A gem that is installed on this machine.
#[derive(Debug, Deserialize)]
struct InstalledGem {
    name: String,
    version: String,
    paths: Vec<PathBuf>,
}

/// Runs the interpreter with nothing of the user's environment, so that it finds what it will find in the image.
pub(super) fn ask(interpreter: &Path, app: &Path, arguments: &[String]) -> anyhow::Result<Answer> {
    let asked = || format!("{}, asked for its library", interpreter.display());
    let (mut question, mut out, mut err) = (tempfile::tempfile()?, tempfile::tempfile()?, tempfile::tempfile()?);
    question.write_all(QUESTION.as_bytes()).and_then(|()| question.rewind())?;
    let streams = Streams {
        input: Some(question.into()),
        output: Some(out.try_clone()?.into()),
        error: Some(err.try_clone()?.into()),
    };
    let mut words: Vec<OsString> = vec![interpreter.into(), "-".into(), app.into()];
    words.extend(arguments.iter().map(OsString::from));
    let environment = [("PATH", super::PATH), ("HOME", "/"), ("LC_ALL", "C.UTF-8")];
    let environment = environment.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let spawn = Spawn::new(interpreter.to_owned(), &words, &environment, streams)?;
    let run = spawn.run(&[], Limits::time(PATIENCE)).with_context(asked)?;
    if run.end != RunEnd::Exited(0) {
        let said = text(&mut err)?;
        bail!("{} failed: {}", asked(), said.lines().next().unwrap_or("without a word"));
    }
    let answer: Answer = serde_json::from_str(&text(&mut out)?).with_context(asked)?;
    if !answer.missing.is_empty() {
        bail!(
            "--app {}: {} not installed: install it, or vendor the gems (bundle config set path vendor/bundle)",
            app.display(),
            match answer.missing.as_slice() {
                [one] => format!("{one}, is"),
                several => format!("{}, are", several.join("; ")),
            }
        );
    }
    Ok(answer)
}

fn text(file: &mut File) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Answer {
    /// The library, the gems, and what says at the start which these are.
    pub fn included(&self) -> Vec<Included> {
        let of = |path: &PathBuf, what: String| Included {
            from: Source::Host(path.clone()),
            to: path.clone(),
            because: Because::Included { what },
        };
        let library = self.library.iter().map(|path| of(path, format!("library of Ruby {}", self.version)));
        let gems = self
            .gems
            .iter()
            .flat_map(|gem| gem.paths.iter().map(move |path| of(path, format!("gem {} {}", gem.name, gem.version))));
        let scripts = self.scripts.iter().map(|path| of(path, "what `-S` starts".to_owned()));
        let start = Included {
            from: Source::Bytes(START.as_bytes().into()),
            to: start(),
            because: Because::Included { what: "tells at the start what serves".to_owned() },
        };
        library.chain(gems).chain(scripts).chain([start]).collect()
    }

    /// Words between the interpreter and the command's own arguments.
    pub fn arguments(&self) -> Vec<String> {
        vec![format!("-r{}", start().display())]
    }

    /// Where gems of the application itself are, and which serves.
    pub fn variables(&self) -> Vec<(String, String)> {
        let variable = |name: &str, value: String| (name.to_owned(), value);
        let server = self.server.iter().map(|server| variable("UNDERPIN_SERVER", server.clone()));
        let vendored = self.vendored.iter().flat_map(|folder| {
            let folder = format!("{APP}/{folder}");
            let bin = format!("{folder}/bin");
            [variable("GEM_HOME", folder.clone()), variable("GEM_PATH", folder), variable("PATH", bin)]
        });
        server.chain(vendored).collect()
    }

    /// For those who look at the image from outside.
    pub fn labels(&self) -> Vec<(String, String)> {
        let label = |name: &str, value: &str| (format!("underpin.{name}"), value.to_owned());
        let gems = self.gems.iter().map(|gem| label(&format!("gem.{}", gem.name), &gem.version));
        let ruby = [label("ruby", &self.version), label("ruby.abi", &self.abi), label("ruby.platform", &self.platform)];
        ruby.into_iter().chain(gems).collect()
    }
}

/// The file by which the start says which FIPS provider is in effect.
pub(super) fn fips() -> Included {
    Included {
        from: Source::Bytes(FIPS.as_bytes().into()),
        to: Path::new(OWN).join("fips.rb"),
        because: Because::Included { what: "tells at the start which FIPS provider is in effect".to_owned() },
    }
}

/// A program for the interpreter that prints all that it finds.
pub(super) fn fips_probe() -> &'static str {
    FIPS
}

fn start() -> PathBuf {
    Path::new(OWN).join("start.rb")
}
