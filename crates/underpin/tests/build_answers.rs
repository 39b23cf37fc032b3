//! What a program that `build` makes for musl hears from its C library, beside what it hears from glibc.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod common;

use common::building::{build, must};
use std::path::PathBuf;
use underpin_test_support::{Fixture, Output, need, zigs};

const ANSWERS: &str = include_str!("answers/answers.c");

/// What is another answer than glibc's, as docs/musl.md says.
const OTHER: [&str; 7] = [
    "%La",
    "%p of nothing",
    "iconv of what the charset lacks",
    "iconv to ASCII//TRANSLIT",
    "iconv to GB18030",
    "iconv to UTF-16",
    "realloc to nothing",
];

fn answers(text: &str) -> Vec<(&str, &str)> {
    text.lines().map(|line| line.split_once(':').unwrap_or((line, ""))).collect()
}

/// The page of what differs has all of it, and nothing that does not.
#[test]
fn the_answers_that_differ_from_glibcs_are_those_on_the_page() {
    need!("gcc", "musl-gcc");
    let dir = Fixture::new();
    dir.write("answers.c", ANSWERS);
    dir.must("gcc", ["-w", "-O1", "-pthread", "answers.c", "-lm", "-o", "on-glibc"]);
    let judge = Output::of(&mut dir.command(dir.join("on-glibc")));
    assert!(judge.code == Some(0) && judge.stdout.lines().count() > 50, "{}{}", judge.stdout, judge.stderr);
    let zigs = zigs();
    let compilers = [("gcc", None)].into_iter().chain(zigs.iter().map(|zig| ("zig", Some(zig))));
    for (compiler, zig) in compilers {
        let words = ["answers.c", "--cc", compiler, "-o", "on-musl", "--force", "--", "-w", "-lm"];
        let told = must(build(&dir, zig.map(PathBuf::as_path), &words));
        assert!(told.contains("(iconv)"), "{compiler}: whose tables it has: {told}");
        let said = Output::of(&mut dir.command(dir.join("on-musl")));
        assert_eq!(said.code, Some(0), "{compiler}: {}", said.stderr);
        let (glibcs, musls) = (answers(&judge.stdout), answers(&said.stdout));
        assert_eq!(glibcs.len(), musls.len(), "{compiler}: {}", said.stdout);
        let other = glibcs.iter().zip(&musls).filter(|(glibcs, musls)| glibcs != musls);
        let mut names: Vec<&str> = other.map(|((name, _), _)| *name).collect();
        names.sort_unstable();
        assert_eq!(names, OTHER, "{compiler}: {}", said.stdout);
    }
    let page = include_str!("../../../docs/musl.md");
    for name in OTHER {
        assert!(page.contains(&format!("`{name}`")), "{name} is not on the page");
    }
}
