//! The generated man pages and completions match this command line.

#![allow(clippy::unwrap_used, reason = "an unwrap is a failing assertion here")]

#[path = "../examples/generate.rs"]
mod generate;

use std::path::Path;

#[test]
fn the_man_pages_and_completions_are_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for (path, text) in generate::documents().unwrap() {
        let kept = std::fs::read(folder.join(&path)).unwrap_or_default();
        assert!(kept == text, "{}: run `cargo xtask docs`", path.display());
    }
}
