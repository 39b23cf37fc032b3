//! What CMake says, by its file API (cmake-file-api(7), since 3.14): a file in the folder of results asks, and configuring
//! answers.

use super::{Listing, Role};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The question, below the folder of results.
pub const QUERY: &str = ".cmake/api/v1/query/codemodel-v2";
const REPLY: &str = ".cmake/api/v1/reply";

#[derive(Deserialize)]
struct Index {
    objects: Vec<Object>,
}

#[derive(Deserialize)]
struct Object {
    kind: String,
    #[serde(rename = "jsonFile")]
    file: String,
}

#[derive(Deserialize)]
struct Model {
    paths: Paths,
    configurations: Vec<Configuration>,
}

#[derive(Deserialize)]
struct Paths {
    source: PathBuf,
    build: PathBuf,
}

#[derive(Deserialize)]
struct Configuration {
    #[serde(default)]
    directories: Vec<Listed>,
    #[serde(default)]
    targets: Vec<Listed>,
}

/// A directory (its file: since CMake 3.21) or a target.
#[derive(Deserialize)]
struct Listed {
    #[serde(rename = "jsonFile")]
    file: Option<String>,
}

#[derive(Deserialize)]
struct Directory {
    #[serde(default)]
    installers: Vec<Installer>,
}

#[derive(Deserialize)]
struct Installer {
    #[serde(default)]
    paths: Vec<Installed>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Installed {
    Path(PathBuf),
    Renamed { from: PathBuf },
}

#[derive(Deserialize)]
struct Target {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    artifacts: Vec<Artifact>,
    install: Option<serde_json::Value>,
    #[serde(default)]
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Artifact {
    path: PathBuf,
}

#[derive(Deserialize)]
struct Dependency {
    id: String,
}

/// The programs that are targets; empty if there is no answer.
pub fn listing(results: &Path) -> Listing {
    answer(results).unwrap_or_default()
}

fn answer(results: &Path) -> Option<Listing> {
    let reply = results.join(REPLY);
    let names = fs::read_dir(&reply).ok()?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    // Of several the last is the newest.
    let index = names.filter(|name| name.starts_with("index-")).max()?;
    let index: Index = read(&reply.join(index))?;
    let model = index.objects.into_iter().find(|object| object.kind == "codemodel")?;
    let model: Model = read(&reply.join(model.file))?;
    let (mut targets, mut installed) = (Vec::<Target>::new(), BTreeSet::new());
    for configuration in model.configurations {
        let files = |all: Vec<Listed>| all.into_iter().filter_map(|one| one.file).map(|file| reply.join(file));
        targets.extend(files(configuration.targets).filter_map(|file| read(&file)));
        for directory in files(configuration.directories).filter_map(|file| read::<Directory>(&file)) {
            installed.extend(directory.installers.into_iter().flat_map(|one| one.paths).map(|path| match path {
                Installed::Path(path) | Installed::Renamed { from: path } => model.paths.source.join(path),
            }));
        }
    }
    let used = used(&targets);
    let mut listing = Listing::default();
    for target in targets.iter().filter(|target| target.kind == "EXECUTABLE") {
        for artifact in &target.artifacts {
            let path = model.paths.build.join(&artifact.path);
            let role = if target.install.is_some() || installed.contains(&path) {
                Role::Installed
            } else if used.contains(target.id.as_str()) {
                Role::Tool
            } else {
                Role::Built
            };
            listing.add(path, role);
        }
    }
    Some(listing)
}

/// The targets that others need to be built: not those that a command of the user's would start (`UTILITY`), nor a program
/// with plugins.
fn used(targets: &[Target]) -> BTreeSet<&str> {
    let needs = |target: &&Target| target.kind != "UTILITY" && target.kind != "MODULE_LIBRARY";
    targets.iter().filter(needs).flat_map(|target| &target.dependencies).map(|one| one.id.as_str()).collect()
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}
