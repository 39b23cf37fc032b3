//! Help, man pages, completions and schemas: generated, complete and up to date.

mod common;

use common::says;
use std::path::{Path, PathBuf};

const VERBS: [&str; 14] = [
    "survey", "tree", "check", "trace", "bind", "unbind", "verify", "bundle", "image", "storm", "bench", "report",
    "run", "doctor",
];
/// Verbs with a document of their own: `report` shows that of `bench`.
const DOCUMENTS: [&str; 21] = [
    "survey",
    "tree",
    "check",
    "trace",
    "bind",
    "unbind",
    "verify",
    "bundle",
    "image-build",
    "image-run",
    "image-compare",
    "image-sdk",
    "image-size",
    "image-sources",
    "image-layer",
    "image-doctor",
    "image-fips",
    "storm",
    "bench",
    "run",
    "doctor",
];
/// Verbs of a verb.
const BELOW: [[&str; 2]; 9] = [
    ["image", "build"],
    ["image", "run"],
    ["image", "compare"],
    ["image", "sdk"],
    ["image", "size"],
    ["image", "sources"],
    ["image", "layer"],
    ["image", "doctor"],
    ["image", "fips"],
];

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

#[test]
fn the_help_of_every_verb_ends_with_examples_and_the_next_step() {
    let below = BELOW.into_iter().map(|words| words.to_vec());
    for words in VERBS.into_iter().map(|verb| vec![verb]).chain(below) {
        let verb = words.join(" ");
        let help = says([&words[..], &["--help"]].concat());
        assert_eq!(help.code, Some(0));
        let paragraphs: Vec<&str> = help.stdout.trim_end().split("\n\n").collect();
        let [.., examples, next] = paragraphs.as_slice() else { panic!("{}", help.stdout) };
        assert!(examples.starts_with(&format!("Examples:\n  underpin {verb}")), "{examples}");
        assert!(examples.lines().filter(|line| line.contains("underpin ")).count() >= 2, "{examples}");
        assert!(next.starts_with("Next: "), "{next}");
        assert!(help.stdout.lines().all(|line| line.chars().count() <= 80), "{}", help.stdout);
    }
}

#[test]
fn the_overview_lists_every_verb_and_the_exit_codes() {
    let help = says(["--help"]).stdout;
    for verb in VERBS {
        assert!(help.contains(&format!("\n  {verb} ")), "{help}");
    }
    assert!(help.contains("Exit codes") && !help.contains("generate"), "{help}");
}

#[test]
fn the_man_pages_are_up_to_date() {
    let stale = "run `cargo xtask docs`";
    let page = std::fs::read_to_string(docs().join("man/underpin.1")).expect(stale);
    assert!(page == says(["generate", "man"]).stdout, "{stale}");
    for verb in VERBS.into_iter().map(str::to_owned).chain(BELOW.map(|words| words.join("-"))) {
        let verb = verb.as_str();
        let page = std::fs::read_to_string(docs().join(format!("man/underpin-{verb}.1"))).expect(stale);
        assert!(page == says(["generate", "man", verb]).stdout, "{verb}: {stale}");
    }
}

#[test]
fn the_completions_are_up_to_date() {
    for (shell, file) in
        [("bash", "underpin.bash"), ("elvish", "underpin.elv"), ("fish", "underpin.fish"), ("zsh", "_underpin")]
    {
        let kept = std::fs::read_to_string(docs().join("completions").join(file)).unwrap_or_default();
        assert!(kept == says(["generate", "completions", shell]).stdout, "{shell}: run `cargo xtask docs`");
    }
}

#[test]
fn the_schemas_are_up_to_date() {
    for verb in DOCUMENTS {
        let kept = std::fs::read_to_string(docs().join(format!("schemas/underpin.{verb}.1.json"))).unwrap_or_default();
        assert!(kept == says(["generate", "schema", verb]).stdout, "{verb}: run `cargo xtask docs`");
    }
}
