//! One program on glibc, which is the judge, and on static musl with objects of the overlay.

use std::path::PathBuf;
use underpin_overlay::Part;
use underpin_test_support::{Fixture, Output};

/// A program of C, and what it is compiled and run with.
#[derive(Default)]
pub struct Both<'a> {
    /// Its source.
    pub program: &'a str,
    /// What is linked in front of it on musl.
    pub parts: &'a [Part],
    /// Flags for both compilers.
    pub flags: &'a [&'a str],
    /// Flags on musl.
    pub musl_flags: &'a [&'a str],
    /// Libraries for both.
    pub libraries: &'a [&'a str],
    /// The arguments it is run with.
    pub arguments: &'a [&'a str],
    /// The command in front of the program.
    pub runner: &'a [&'a str],
    /// Is this a line that says what those after it are about?
    pub heads: Option<fn(&str) -> bool>,
}

/// The programs made of it, and what the one on glibc said.
pub struct Compared<'a> {
    both: &'a Both<'a>,
    /// Where they are.
    pub dir: Fixture,
    /// What the program says on glibc.
    pub judge: String,
}

impl Both<'_> {
    /// Compiles and runs it on glibc.
    pub fn judged(&self) -> Compared<'_> {
        let dir = Fixture::new();
        dir.write("program.c", self.program);
        dir.must("gcc", [&["-w", "-O1", "program.c", "-o", "on-glibc"][..], self.flags, self.libraries].concat());
        for part in self.parts {
            write(&dir, *part);
        }
        let judge = self.says(&dir, "on-glibc", Some(0));
        Compared { both: self, dir, judge }
    }

    fn says(&self, dir: &Fixture, program: &str, code: Option<i32>) -> String {
        let path = dir.join(program).display().to_string();
        let words = [self.runner, &[path.as_str()], self.arguments].concat();
        let output = Output::of(dir.command(words[0]).args(&words[1..]));
        assert!(code.is_none() || output.code == code, "{program} ended with {:?}: {}", output.code, output.stderr);
        // Messages begin with the program's name.
        output.stdout.replace(&format!("{program}: "), "program: ")
    }
}

impl Compared<'_> {
    /// On musl with the objects it says the same.
    pub fn agrees(&self) {
        let objects: Vec<_> = self.both.parts.iter().map(|part| file(*part)).collect();
        let objects: Vec<_> = objects.iter().map(String::as_str).collect();
        self.is(&self.on_musl("on-musl", &objects, Some(0)));
    }

    /// What the program said is what it says on glibc, line by line.
    pub fn is(&self, said: &str) {
        let mut case = "";
        for (expected, line) in self.judge.lines().zip(said.lines()) {
            if self.both.heads.is_some_and(|heads| heads(expected)) {
                case = expected;
            }
            assert_eq!(line, expected, "{case}");
        }
        assert_eq!(said.lines().count(), self.judge.lines().count());
    }

    /// What it says on musl without the objects. If that is the same, nobody needs them.
    pub fn alone(&self) -> String {
        self.on_musl("musls-own", &[], None)
    }

    fn on_musl(&self, program: &str, objects: &[&str], code: Option<i32>) -> String {
        let words = ["-w", "-static", "-O1"];
        let file = ["program.c", "-o", program];
        self.dir
            .musl_cc([&words[..], objects, &file, self.both.flags, self.both.musl_flags, self.both.libraries].concat());
        self.both.says(&self.dir, program, code)
    }
}

/// Writes an object for this processor; where it is.
pub fn write(dir: &Fixture, part: Part) -> PathBuf {
    dir.write(file(part), part.object(std::env::consts::ARCH).expect("on board").bytes)
}

fn file(part: Part) -> String {
    format!("{}.o", part.name())
}
