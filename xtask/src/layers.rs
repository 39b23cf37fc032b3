//! What the packages of the workspace may never depend on, by cargo's own account.

use crate::run;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages that a package is built with: what `cargo tree` lists for normal and build dependencies of this machine.
fn built_with(package: &str) -> BTreeSet<String> {
    tree(package, &["--prefix", "none", "--format", "{p}"])
        .lines()
        .filter_map(|line| line.split(' ').next())
        .map(str::to_owned)
        .collect()
}

fn tree(package: &str, arguments: &[&str]) -> String {
    let cargo = run::cargo();
    let mut command = Command::new(cargo);
    command.args(["tree", "--offline", "--locked", "--edges", "normal,build", "--package", package]).args(arguments);
    let output = command.current_dir(run::workspace()).output().expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Package, and what must not be among the packages that it is built with.
const NEVER: &[(&str, &[&str])] = &[
    (
        "underpin",
        &[
            "foolsgold",
            "foolsgold-core",
            "foolsgold-pack",
            "foolsgold-server",
            "foolsgold-ruby",
            "mruby",
            "hyper",
            "rustls",
        ],
    ),
    ("underpin", &["underpin-slowfs", "underpin-spacktree", "underpin-test-support"]),
    ("foolsgold-server", &["mruby", "foolsgold-ruby", "foolsgold"]),
    ("foolsgold-ruby", &["mio", "socket2", "hyper", "hyper-util", "rustls", "tokio-rustls", "listenfd"]),
    ("foolsgold-ruby", &["foolsgold-server", "foolsgold"]),
    ("foolsgold-core", &["mruby", "foolsgold-ruby", "foolsgold-server", "mio", "socket2", "hyper"]),
    ("foolsgold-pack", &["foolsgold-core", "foolsgold-ruby", "foolsgold-server", "foolsgold"]),
    ("foolsgold", &["underpin", "underpin-slowfs", "underpin-spacktree", "underpin-test-support"]),
];

#[test]
fn no_package_is_built_with_what_it_must_not_know() {
    for (package, forbidden) in NEVER {
        let packages = built_with(package);
        assert!(packages.contains(*package), "{package}: {packages:?}");
        let found: Vec<_> = forbidden.iter().filter(|name| packages.contains(**name)).collect();
        assert!(found.is_empty(), "{package} is built with {found:?}");
    }
}

#[test]
fn the_ruby_runtime_names_no_tokio_and_its_channels_bring_no_sockets() {
    let direct = tree("foolsgold-ruby", &["--depth", "1", "--prefix", "none", "--format", "{p}"]);
    assert!(direct.contains("foolsgold-core v") && !direct.contains("tokio v"), "{direct}");
    let features = tree("foolsgold-ruby", &["--prefix", "none", "--format", "{p}: {f}"]);
    let tokio = features.lines().find(|line| line.starts_with("tokio v")).expect("the channels of foolsgold-core");
    let enabled: Vec<_> = tokio.rsplit(": ").next().unwrap_or_default().split(',').collect();
    assert_eq!(enabled, ["sync"], "{tokio}");
}

/// The rows of the table of ARCHITECTURE.md: a folder, or a file, and the paths that no file in it names.
fn never() -> Vec<(PathBuf, Vec<String>)> {
    let text = fs::read_to_string(run::workspace().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let section = text.split_once("## Never").and_then(|(_, rest)| rest.split_once("\n## ")).expect("the table").0;
    let quoted = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    section
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let cells: Vec<&str> = line.split('|').collect();
            (run::workspace().join(&quoted(cells[1])[0]), quoted(cells[2]))
        })
        .collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("an entry").path();
        let of_tests = |name: &str| matches!(name, "tests" | "tests.rs" | "testing" | "testing.rs" | "any.rs");
        match path.file_name().and_then(|name| name.to_str()) {
            Some(name) if of_tests(name) => {}
            _ if path.is_dir() => sources(&path, found),
            Some(name) if name.ends_with(".rs") => found.push(path),
            _ => {}
        }
    }
}

/// The lines of code without comments, a `use` of several paths as a line for each.
fn statements(code: &str) -> Vec<String> {
    let lines = code.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    let mut found = Vec::new();
    let mut open = String::new();
    for line in lines {
        let begins =
            ["use ", "pub use ", "pub(crate) use ", "pub(super) use "].iter().any(|word| line.starts_with(word));
        if !begins && open.is_empty() {
            found.push(line.to_owned());
            continue;
        }
        open.push_str(line);
        if line.ends_with(';') {
            let path = open.split_once("use ").map_or("", |(_, path)| path.trim_end_matches(';'));
            found.extend(expanded(path).into_iter().map(|path| format!("use {path};")));
            open.clear();
        }
    }
    found
}

/// `a::{b, c::{d, e}}` as `a::b`, `a::c::d`, `a::c::e`.
fn expanded(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else { return vec![path.trim().to_owned()] };
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, letter) in inner.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[start..]);
    let parts = parts.into_iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(expanded).map(|part| format!("{}{part}", before.trim())).collect()
}

/// Whether a line of code names a path, as a whole and not as the beginning of another name.
fn names(line: &str, path: &str) -> bool {
    let continues = |text: &str| text.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_');
    let begins =
        |text: &str| !text.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':');
    line.match_indices(path).any(|(at, _)| begins(&line[..at]) && !continues(&line[at + path.len()..]))
}

#[test]
fn what_architecture_forbids_is_named_nowhere() {
    let table = never();
    assert!(table.len() > 8, "{table:?}");
    let mut broken = Vec::new();
    for (folder, forbidden) in table {
        let mut files = Vec::new();
        if folder.is_file() {
            files.push(folder.clone());
        } else {
            sources(&folder, &mut files);
        }
        assert!(!files.is_empty(), "{}", folder.display());
        for file in files {
            let text = fs::read_to_string(&file).expect("a source");
            // Tests come last in a file, and may use what they test with.
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for line in statements(code) {
                let hit = forbidden.iter().find(|path| names(&line, path));
                broken.extend(hit.map(|path| format!("{}: {path}: {line}", file.display())));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn a_use_of_several_paths_is_several_lines() {
    let code = "use a::{\n    b,\n    c::{d, e},\n};\n// use x;\nlet f = g;";
    assert_eq!(statements(code), ["use a::b;", "use a::c::d;", "use a::c::e;", "let f = g;"]);
}

#[test]
fn a_path_is_not_the_beginning_of_another() {
    assert!(names("use std::fs::File;", "std::fs") && names("    mruby::open()", "mruby"));
    assert!(!names("use std::fsx;", "std::fs") && !names("use my_mruby;", "mruby") && !names("use a::mruby;", "mruby"));
}
