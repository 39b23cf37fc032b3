//! The statements in README.md are true.

#![allow(clippy::unwrap_used, reason = "an unwrap is a failing assertion here")]

use foolsgold::config::Settings;

const README: &str = include_str!("../../../README.md");

/// The text of the first code block of a language.
fn block(language: &str) -> &'static str {
    let start = README.find(&format!("```{language}\n")).unwrap() + language.len() + 4;
    &README[start..start + README[start..].find("```").unwrap()]
}

#[test]
fn its_configuration_file_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("foolsgold.toml");
    std::fs::write(&file, block("toml")).unwrap();
    let settings = Settings::read(&file).unwrap();
    assert_eq!((settings.threads, settings.routes.len(), settings.statics.len()), (Some(4), 1, 1));
}
