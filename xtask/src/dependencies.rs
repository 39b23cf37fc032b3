//! Every dependency is named by the code that it is there for: an unused one still costs a download, a build and a
//! line in each list of parts.

use crate::run;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Dependencies that no line of code names: package, dependency, and why it stays.
const UNNAMED: &[(&str, &str, &str)] = &[
    ("mruby", "mruby3-sys", "only its C sources are used, by the build script"),
    ("underpin-malloc", "libmimalloc-sys", "only its C sources are used, by the build script"),
    ("underpin-malloc", "snmalloc-sys", "only its C++ sources are used, by the build script"),
    ("underpin-malloc", "tikv-jemalloc-sys", "only its C sources are used, by the build script"),
];

/// Packages whose library has another name.
const LIBRARIES: &[(&str, &str)] = &[("md-5", "md5")];

/// One package, by cargo's own account of its manifest.
struct Package {
    name: String,
    folder: PathBuf,
    dependencies: Vec<Dependency>,
}

struct Dependency {
    name: String,
    /// `None`, `dev` or `build`, as in the manifest.
    kind: Option<String>,
    features: Vec<String>,
}

/// The packages of the workspace to which a manifest belongs.
fn packages(manifest: &Path) -> Vec<Package> {
    let mut command = Command::new(run::cargo());
    command.args(["metadata", "--offline", "--no-deps", "--format-version", "1", "--manifest-path"]).arg(manifest);
    let output = command.output().expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let dependency = |found: &Value| Dependency {
        name: text(&found["name"]),
        kind: found["kind"].as_str().map(str::to_owned),
        features: list(&found["features"]).iter().map(text).collect(),
    };
    let package = |found: &Value| Package {
        name: text(&found["name"]),
        folder: Path::new(&text(&found["manifest_path"])).parent().expect("a folder").to_owned(),
        dependencies: list(&found["dependencies"]).iter().map(dependency).collect(),
    };
    list(&metadata["packages"]).iter().map(package).collect()
}

/// The workspace's packages, and those of the fuzz targets.
fn everything() -> Vec<Package> {
    let mut all = packages(&run::workspace().join("Cargo.toml"));
    assert!(all.len() > 15, "{} packages", all.len());
    all.extend(packages(&run::workspace().join("fuzz/Cargo.toml")));
    all
}

impl Package {
    /// The code that may use a dependency of some kind.
    fn code_for(&self, kind: Option<&str>) -> String {
        let (places, tests): (&[&str], bool) = match kind {
            Some("build") => (&["build.rs", "build"], true),
            Some("dev") => (&["src", "tests", "benches", "examples"], true),
            _ => (&["src", "fuzz_targets"], false),
        };
        let mut files = Vec::new();
        places.iter().for_each(|place| rust_files(&self.folder.join(place), tests, &mut files));
        let mut code = String::new();
        for file in files {
            let text = fs::read_to_string(&file).expect("a source");
            // Tests come last in a file.
            let text = if tests { &text } else { text.split("#[cfg(test)]\nmod ").next().unwrap_or_default() };
            text.lines().filter(|line| !line.trim_start().starts_with("//")).for_each(|line| {
                code.push_str(line);
                code.push('\n');
            });
        }
        code
    }
}

/// The Rust files at or below a place, with or without those of tests.
fn rust_files(place: &Path, tests: bool, found: &mut Vec<PathBuf>) {
    let name = place.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !tests && matches!(name, "tests" | "tests.rs" | "testing" | "testing.rs" | "any.rs") {
        return;
    }
    if place.is_dir() {
        let entries = fs::read_dir(place).expect("a folder");
        entries.for_each(|entry| rust_files(&entry.expect("an entry").path(), tests, found));
    } else if name.ends_with(".rs") && place.exists() {
        found.push(place.to_owned());
    }
}

/// Whether code names a library: in a path, or by itself in a `use`.
fn names(code: &str, library: &str) -> bool {
    let before = |text: &str| !text.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
    let after = |text: &str| ["::", ";", " as "].iter().any(|next| text.starts_with(next));
    code.match_indices(library).any(|(at, _)| before(&code[..at]) && after(&code[at + library.len()..]))
}

fn library(dependency: &str) -> String {
    let other = LIBRARIES.iter().find(|(package, _)| *package == dependency);
    other.map_or_else(|| dependency.replace('-', "_"), |(_, name)| (*name).to_owned())
}

#[test]
fn every_dependency_is_named_by_the_code_it_is_for() {
    let mut unused = Vec::new();
    let mut excused = BTreeSet::new();
    for package in everything() {
        for dependency in &package.dependencies {
            let kind = dependency.kind.as_deref();
            if names(&package.code_for(kind), &library(&dependency.name)) {
                continue;
            }
            match UNNAMED.iter().find(|known| (known.0, known.1) == (&*package.name, &*dependency.name)) {
                Some(known) => _ = excused.insert(known),
                None => unused.push(format!("{}: {} ({kind:?})", package.name, dependency.name)),
            }
        }
    }
    assert!(unused.is_empty(), "nothing uses {unused:#?}");
    assert_eq!(excused.len(), UNNAMED.len(), "UNNAMED lists packages that are used after all: {excused:?}");
}

#[test]
fn no_dependency_of_tests_repeats_one_of_the_product() {
    for package in everything() {
        for test in package.dependencies.iter().filter(|found| found.kind.as_deref() == Some("dev")) {
            let product = package.dependencies.iter().find(|found| found.name == test.name && found.kind.is_none());
            let adds = |product: &Dependency| test.features.iter().any(|feature| !product.features.contains(feature));
            assert!(product.is_none_or(adds), "{}: {} is listed twice", package.name, test.name);
        }
    }
}

#[test]
fn every_dependency_of_the_workspace_is_used_by_a_package() {
    let used: BTreeSet<String> =
        everything().into_iter().flat_map(|package| package.dependencies).map(|found| found.name).collect();
    let manifest = fs::read_to_string(run::workspace().join("Cargo.toml")).expect("Cargo.toml");
    let section =
        manifest.split_once("[workspace.dependencies]").and_then(|(_, rest)| rest.split_once("\n[")).expect("it").0;
    let listed = section.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(" = "));
    let unused: Vec<&str> = listed.map(|(name, _)| name).filter(|name| !used.contains(*name)).collect();
    assert!(unused.is_empty(), "no package takes {unused:?}");
}

#[test]
fn a_library_is_named_as_a_whole() {
    assert!(names("use serde::Serialize;", "serde") && names("use serde_json as json;", "serde_json"));
    assert!(names("#[derive(thiserror::Error)]", "thiserror"));
    assert!(!names("use serde_json::Value;", "serde") && !names("crate::object::Object", "object"));
    assert!(!names("the object; its", "object ") && !names("my_libc::x", "libc"));
}
