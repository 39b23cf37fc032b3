//! The search for `require`, `require_relative` and `load`, compared with CRuby on the same folder.

#![allow(clippy::unwrap_used, reason = "an unwrap is a failing assertion here")]

use foolsgold_core::files::{Disk, Files, VPath};
use foolsgold_ruby::require::{Features, Found, RequireError};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use underpin_test_support::need;

/// One step of a scenario.
#[derive(Clone, Copy)]
enum Step {
    /// `require NAME`
    Require(&'static str),
    /// `require` of a file below the folder, by its absolute path.
    RequireBelow(&'static str),
    /// `require_relative NAME`, called in a file that is loaded for this.
    Relative(&'static str, &'static str),
    /// `load NAME`
    Load(&'static str),
    /// `$LOAD_PATH.unshift FOLDER`, seen from the folder of the test.
    Path(&'static str),
}
use Step::{Load, Path as LoadPath, Relative, Require, RequireBelow};

const FILES: [&str; 9] = [
    "a/foo.rb",
    "b/foo.rb",
    "b/only.rb",
    "a/noext",
    "a/deep/x.rb",
    "a/deep/y.rb",
    "a/dot.name.rb",
    "c/raise.rb",
    "top.rb",
];
const LINKS: [(&str, &str); 3] = [("foo.rb", "a/same.rb"), ("a", "linked"), ("deep/x.rb", "a/outer.rb")];

const SCENARIOS: &[&[Step]] = &[
    &[LoadPath("a"), Require("foo"), Require("foo"), Require("foo.rb")],
    // A name found in one folder of the load path is not searched for in another that now precedes it.
    &[LoadPath("a"), Require("foo"), LoadPath("b"), Require("foo"), Require("only")],
    &[LoadPath("a"), LoadPath("b"), Require("foo"), Require("deep/x"), Require("deep/../foo")],
    // One file under several names.
    &[LoadPath("a"), Require("foo"), Require("same")],
    &[LoadPath("linked"), Require("foo"), LoadPath("a"), Require("foo"), Require("deep/x")],
    &[RequireBelow("a/foo"), RequireBelow("a/foo.rb"), RequireBelow("linked/foo"), Require("./a/../a/foo")],
    // Names without .rb.
    &[LoadPath("a"), Require("noext"), Require("./a/noext"), Require("dot.name"), Require("dot.name.rb")],
    &[Require("foo"), Require("./top"), Require("top"), Require("../nothing"), Require("")],
    &[LoadPath("a"), Require("deep"), Require("deep/"), Require("foo/"), Require("/")],
    &[Relative("a/deep/y.rb", "x"), Relative("a/deep/y.rb", "../foo"), Relative("a/deep/y.rb", "nothing")],
    &[Relative("a/outer.rb", "y"), Relative("linked/foo.rb", "deep/x"), RequireBelow("a/deep/x")],
    &[LoadPath("a"), Load("foo.rb"), Load("foo.rb"), Load("foo"), Require("foo"), Load("./a/foo.rb"), Load("a/foo.rb")],
    &[LoadPath("c"), Require("raise"), Require("raise"), LoadPath("a"), Require("foo")],
];

#[test]
fn a_file_is_found_loaded_once_or_refused_as_by_cruby() {
    need!("ruby");
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for file in FILES {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, if file == "c/raise.rb" { "$loaded = __FILE__; raise 'no'" } else { CALLED }).unwrap();
    }
    for (target, link) in LINKS {
        std::os::unix::fs::symlink(target, root.join(link)).unwrap();
    }
    for steps in SCENARIOS {
        assert_eq!(ours(&root, steps), cruby(&root, steps));
    }
}

/// Every file reports that it was loaded, and requires what the step specifies.
const CALLED: &str =
    "$loaded = __FILE__; if $relative; name, $relative = $relative, nil; $answer = require_relative(name); end";

/// CRuby's result; `load` of a relative name gives a relative `__FILE__` there, and an absolute one here.
fn cruby(root: &Path, steps: &[Step]) -> String {
    let mut script = format!("Dir.chdir({:?}); $LOAD_PATH.clear\n", root.display().to_string());
    script.push_str("def try; $loaded = nil; a = yield; puts $loaded ? File.expand_path($loaded) : a.inspect; rescue LoadError; puts $!.message; rescue; puts 'raised'; end\n");
    for step in steps {
        let _ = match step {
            Require(name) => writeln!(script, "try {{ require {name:?} }}"),
            RequireBelow(name) => writeln!(script, "try {{ require {:?} }}", root.join(name).display().to_string()),
            Relative(from, name) => {
                let from = root.join(from).display().to_string();
                writeln!(
                    script,
                    "try {{ $relative = {name:?}; load {from:?}; $loaded = nil if $loaded == {from:?}; $answer }}"
                )
            }
            Load(name) => writeln!(script, "try {{ load {name:?} }}"),
            LoadPath(name) => writeln!(script, "$LOAD_PATH.unshift {:?}", root.join(name).display().to_string()),
        };
    }
    let output = Command::new("ruby").args(["--disable-gems", "-e", &script]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn ours(root: &Path, steps: &[Step]) -> String {
    let disk = Disk::new(root).unwrap();
    let (mut features, mut load_path, mut text) = (Features::default(), Vec::new(), String::new());
    for step in steps {
        let found = match step {
            Require(name) => features.require(&disk, name, &load_path, disk.root()),
            RequireBelow(name) => {
                features.require(&disk, &root.join(name).display().to_string(), &load_path, disk.root())
            }
            Relative(from, name) => features.require_relative(&disk, name, &disk.root().join(from).unwrap()),
            Load(name) => {
                Features::load(&disk, name, &load_path, disk.root()).map(|(path, content)| Found::Load(path, content))
            }
            LoadPath(name) => {
                load_path.insert(0, root.join(name).display().to_string());
                continue;
            }
        };
        text.push_str(&answer(&mut features, &disk, found));
    }
    text
}

fn answer(features: &mut Features, files: &dyn Files, found: Result<Found, RequireError>) -> String {
    match found {
        Ok(Found::Load(path, _)) if path.as_str().ends_with("/raise.rb") => {
            features.failed(&path);
            "raised\n".to_owned()
        }
        Ok(Found::Load(path, content)) => {
            assert_eq!(files.read(&path).unwrap(), Some(content));
            format!("{path}\n")
        }
        Ok(Found::Already) => "false\n".to_owned(),
        Err(error) => format!("{error}\n"),
    }
}

#[test]
fn a_path_of_the_root_itself_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::new(folder.path()).unwrap();
    assert_eq!(disk.identity(&VPath::root()), None);
    assert_eq!(disk.identity(disk.root()), None);
}
