//! The one part of cargo's configuration that underpin has to apply itself: the wrapper of rustc.
//!
//! Linkers and flags (`[target]`, `[build]`, `CARGO_TARGET_*`, `CARGO_ENCODED_RUSTFLAGS`) arrive on rustc's command line, where
//! [`crate::tool`] keeps them. A wrapper does not: `RUSTC_WRAPPER`, by which cargo calls underpin, hides the configured one.
//! Rules: "Configuration" in the Cargo book (hierarchical structure, environment variables, config-relative paths).

use serde::Deserialize;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

/// Files may include files; cargo refuses cycles.
const DEEPEST: u8 = 16;

/// What is read of a file.
#[derive(Debug, Default, Deserialize)]
struct File {
    build: Option<Build>,
    include: Option<Include>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Build {
    rustc_wrapper: Option<String>,
}

/// Files that a file includes: their values count less than its own, the later ones more than the earlier ones.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Include {
    One(String),
    Several(Vec<Included>),
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Included {
    Path(String),
    Table { path: String },
}

/// Where a configuration is looked for.
pub(crate) struct CargoConfig<'a> {
    /// The folder that cargo is started in.
    pub folder: &'a Path,
    /// The arguments for cargo, which may include `--config`.
    pub words: &'a [String],
    /// A variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
}

impl CargoConfig<'_> {
    /// The wrapper of rustc that cargo would call if underpin did not take its place.
    #[must_use]
    pub fn rustc_wrapper(&self) -> Option<PathBuf> {
        let set = |name: &str| (self.variable)(name);
        // An empty one means none, whatever is configured.
        let found = match set("RUSTC_WRAPPER") {
            Some(wrapper) => Some(self.of_environment(&wrapper)),
            None => self.on_command_line().or_else(|| {
                let of_build = set("CARGO_BUILD_RUSTC_WRAPPER").map(|wrapper| self.of_environment(&wrapper));
                of_build.or_else(|| self.files().iter().find_map(|file| in_file(file, DEEPEST)))
            }),
        };
        found.filter(|wrapper| !wrapper.as_os_str().is_empty())
    }

    fn of_environment(&self, wrapper: &OsStr) -> PathBuf {
        program(Path::new(wrapper), self.folder)
    }

    /// `--config KEY=VALUE` and `--config FILE`, the last one first.
    fn on_command_line(&self) -> Option<PathBuf> {
        let mut values = Vec::new();
        let mut words = self.words.iter();
        while let Some(word) = words.next() {
            match word.strip_prefix("--config=") {
                Some(value) => values.push(value),
                None if word == "--config" => values.extend(words.next().map(String::as_str)),
                None => {}
            }
        }
        values.into_iter().rev().find_map(|value| {
            let file = self.folder.join(value);
            if file.is_file() {
                return in_file(&file, DEEPEST);
            }
            let wrapper = toml::from_str::<File>(value).ok()?.build?.rustc_wrapper?;
            Some(program(Path::new(&wrapper), self.folder))
        })
    }

    /// Files, highest precedence first: those of the folder and of the folders above it, then the one of cargo's home.
    fn files(&self) -> Vec<PathBuf> {
        let home = (self.variable)("CARGO_HOME").filter(|home| !home.is_empty()).map(|home| self.folder.join(home));
        let home = home.or_else(|| Some(PathBuf::from((self.variable)("HOME")?).join(".cargo")));
        let folders = self.folder.ancestors().map(|folder| folder.join(".cargo")).chain(home);
        // If both exist, cargo takes the one without an extension.
        let of = |folder: PathBuf| {
            ["config", "config.toml"].map(|name| folder.join(name)).into_iter().find(|file| file.is_file())
        };
        folders.filter_map(of).collect()
    }
}

/// The wrapper that a file names, or one that it includes. cargo refuses what it cannot read, before it calls anything.
fn in_file(path: &Path, depth: u8) -> Option<PathBuf> {
    let file: File = toml::from_str(&fs::read_to_string(path).ok()?).ok()?;
    let folder = path.parent()?;
    if let Some(wrapper) = file.build.and_then(|build| build.rustc_wrapper) {
        return Some(program(Path::new(&wrapper), folder.parent()?));
    }
    let depth = depth.checked_sub(1)?;
    let included = match file.include? {
        Include::One(path) => vec![path],
        Include::Several(list) => list
            .into_iter()
            .map(|included| match included {
                Included::Path(path) | Included::Table { path } => path,
            })
            .collect(),
    };
    included.iter().rev().find_map(|path| in_file(&folder.join(path), depth))
}

/// A program as a configuration names it: looked for in PATH if there is no slash in it, else relative to a folder.
fn program(name: &Path, folder: &Path) -> PathBuf {
    if name.as_os_str().as_encoded_bytes().contains(&b'/') { folder.join(name) } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        folder: tempfile::TempDir,
        variables: Vec<(&'static str, String)>,
        words: Vec<String>,
    }

    impl Place {
        fn new(files: &[(&str, &str)]) -> Place {
            let folder = tempfile::tempdir().unwrap();
            for (name, text) in files {
                let path = folder.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            fs::create_dir_all(folder.path().join("a/project")).unwrap();
            let home = folder.path().join("home").display().to_string();
            Place { variables: vec![("HOME", home)], words: Vec::new(), folder }
        }

        fn with(mut self, name: &'static str, value: &str) -> Place {
            self.variables.push((name, value.to_owned()));
            self
        }

        fn words(mut self, words: &[&str]) -> Place {
            self.words = words.iter().map(|word| (*word).to_owned()).collect();
            self
        }

        /// The wrapper, the folder of this place left out.
        fn wrapper(&self) -> Option<String> {
            let project = self.folder.path().join("a/project");
            let of = |wanted: &str| {
                self.variables.iter().find(|(name, _)| *name == wanted).map(|(_, value)| OsString::from(value))
            };
            let config = CargoConfig { folder: &project, words: &self.words, variable: &of };
            let wrapper = config.rustc_wrapper()?;
            let inside = wrapper.strip_prefix(self.folder.path()).unwrap_or(&wrapper);
            Some(inside.display().to_string())
        }
    }

    const NAMES: &str = "[build]\nrustc-wrapper = \"sccache\"\n";
    const PATH: &str = "build.rustc-wrapper = \"tools/wrap\"\n";

    #[test]
    fn the_nearest_configuration_names_the_wrapper() {
        assert_eq!(Place::new(&[]).wrapper(), None);
        let of = |files: &[(&str, &str)]| Place::new(files).wrapper();
        let (near, far, home) = ("a/project/.cargo/config.toml", "a/.cargo/config.toml", "home/.cargo/config.toml");
        assert_eq!(of(&[(near, NAMES), (far, PATH)]).as_deref(), Some("sccache"));
        assert_eq!(of(&[(near, "[build]\njobs = 1\n"), (far, PATH), (home, NAMES)]).as_deref(), Some("a/tools/wrap"));
        assert_eq!(of(&[(home, PATH)]).as_deref(), Some("home/tools/wrap"));
        assert_eq!(of(&[(near, "[build]\nrustc-wrapper = \"\"\n"), (far, PATH)]), None);
        // The name without an extension is the older one, and wins.
        assert_eq!(of(&[(near, NAMES), ("a/project/.cargo/config", PATH)]).as_deref(), Some("a/project/tools/wrap"));
    }

    #[test]
    fn variables_and_words_count_more_than_files() {
        let near = [("a/project/.cargo/config.toml", NAMES), ("x.toml", PATH), ("a/y/.cargo/z.toml", PATH)];
        let place = || Place::new(&near);
        assert_eq!(place().with("CARGO_BUILD_RUSTC_WRAPPER", "two").wrapper().as_deref(), Some("two"));
        assert_eq!(place().with("RUSTC_WRAPPER", "bin/one").wrapper().as_deref(), Some("a/project/bin/one"));
        assert_eq!(place().with("RUSTC_WRAPPER", "").wrapper(), None);
        let value = ["--config", "build.rustc-wrapper=\"three\""];
        let both = place().words(&value).with("CARGO_BUILD_RUSTC_WRAPPER", "two");
        assert_eq!(both.wrapper().as_deref(), Some("three"));
        assert_eq!(
            place().words(&["--config=../y/.cargo/z.toml"]).wrapper().as_deref(),
            Some("a/project/../y/tools/wrap")
        );
        assert_eq!(place().words(&["--config", "net.offline=true"]).wrapper().as_deref(), Some("sccache"));
    }

    #[test]
    fn an_included_file_counts_less_than_the_one_that_includes_it() {
        let near = "a/project/.cargo/config.toml";
        let (one, two) = (("a/project/.cargo/one.toml", NAMES), ("a/project/.cargo/two.toml", PATH));
        let include = |text: &str| Place::new(&[(near, text), one, two]).wrapper();
        assert_eq!(include("include = \"one.toml\"\n").as_deref(), Some("sccache"));
        let wrap = Some("a/project/tools/wrap");
        assert_eq!(include("include = [\"one.toml\", { path = \"two.toml\", optional = true }]\n").as_deref(), wrap);
        assert_eq!(include("include = [\"two.toml\"]\nbuild.rustc-wrapper = \"own\"\n").as_deref(), Some("own"));
        // One that includes itself is cargo's to refuse.
        assert_eq!(include("include = \"config.toml\"\n"), None);
    }
}
