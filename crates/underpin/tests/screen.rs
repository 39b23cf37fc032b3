//! Standard output: colours, pipes that close, JSON alone.

mod common;

use common::{says, underpin};
use std::io::Read;
use std::process::Stdio;
use underpin_test_support::{Fixture, Output};

const ESCAPE: char = '\u{1b}';

#[test]
fn colours_only_on_request_where_output_is_no_terminal() {
    assert!(!says(["doctor"]).stdout.contains(ESCAPE));
    assert!(says(["doctor", "--color", "always"]).stdout.contains(ESCAPE));
    assert!(says(["--color=always", "tree", "/bin/sh"]).stdout.contains(ESCAPE), "--color goes before the verb too");
}

#[test]
fn the_environment_may_force_and_forbid_colours_and_the_option_wins() {
    let with = |name: &str, args: &[&str]| Output::of(underpin(args).env(name, "1")).stdout;
    assert!(with("CLICOLOR_FORCE", &["doctor"]).contains(ESCAPE));
    assert!(!with("NO_COLOR", &["doctor"]).contains(ESCAPE));
    assert!(!with("CLICOLOR_FORCE", &["doctor", "--color", "never"]).contains(ESCAPE));
    assert!(with("NO_COLOR", &["doctor", "--color", "always"]).contains(ESCAPE));
}

#[test]
fn json_is_never_coloured() {
    assert!(!says(["doctor", "--json", "--color", "always"]).stdout.contains(ESCAPE));
    assert!(!says(["tree", "--json", "--color", "always", "/bin/sh"]).stdout.contains(ESCAPE));
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    for args in [&["tree", "-vv", "/bin/sh"][..], &["tree", "--json", "/usr/bin"], &["generate", "completions", "zsh"]]
    {
        let mut child = underpin(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let status = child.wait().unwrap();
        assert!(matches!(status.code(), Some(0 | 1)), "{args:?}: {status}");
        assert_eq!(stderr, "", "{args:?}");
    }
}

#[test]
fn a_full_disk_is_told() {
    let output = Output::of(underpin(["tree", "/bin/sh"]).stdout(std::fs::File::create("/dev/full").unwrap()));
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("cannot write to standard output"), "{}", output.stderr);
}

#[test]
fn a_path_with_an_emoji_and_its_selector_is_shown_whatever_the_width() {
    let dir = Fixture::new();
    let folder = format!("Musik ❤\u{fe0f} {}/{}", "x".repeat(60), "y".repeat(40));
    std::fs::create_dir_all(dir.join(&folder)).unwrap();
    let program = dir.join(&folder).join("true");
    std::fs::copy("/bin/true", &program).unwrap();
    let program = program.to_str().unwrap();
    for columns in ["1", "40", "57", "80", "200"] {
        let shown = Output::of(underpin(["bind", "--dry-run", program]).env("COLUMNS", columns));
        assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    }
    let bound = says(["bind", program]);
    assert!(bound.stdout.starts_with("Bound 1 file"), "{} {}", bound.stdout, bound.stderr);
    let again = says(["bind", program]);
    assert!(again.stdout.starts_with("Nothing to bind"), "{}", again.stdout);
}
