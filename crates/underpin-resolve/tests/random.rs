//! Random trees of libraries: rpaths and runpaths, copies, links, paths in DT_NEEDED, capability directories, misses.
//! The model and the real loaders of glibc and musl must agree on every one of them.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "in a test a panic is the failing assertion")]

mod common;

use common::{judged, listing, modelled};
use std::fmt::Write as _;
use std::path::PathBuf;
use underpin_resolve::Environment;
use underpin_test_support::{Fixture, need};

const TREES: u64 = 60;
const FOLDERS: usize = 4;
const LIBRARIES: usize = 8;

/// A small generator with a seed that a failure can name (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap() % limit
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// One tree in the making.
struct Tree<'f> {
    fixture: &'f Fixture,
    random: Random,
    musl: bool,
    /// What was built, for the message of a failure.
    story: String,
}

impl Tree<'_> {
    /// A search path of some folders, absolute or by `$ORIGIN`; now and then a folder that is not there.
    fn search_path(&mut self) -> String {
        let mut entries = Vec::new();
        for _ in 0..2 + self.random.below(3) {
            let folder = self.random.below(FOLDERS);
            entries.push(match self.random.below(5) {
                0 => format!("$ORIGIN/../d{folder}"),
                1 => "$ORIGIN".to_owned(),
                2 => format!("{}/missing", self.fixture.text()),
                3 => format!("{}/d{folder}/", self.fixture.text()),
                _ => format!("{}/d{folder}", self.fixture.text()),
            });
        }
        entries.join(":")
    }

    fn link(&mut self, output: &str, soname: Option<&str>, needed: &[String]) {
        let mut arguments: Vec<String> =
            ["-o", output, "--no-as-needed", "--allow-shlib-undefined"].map(String::from).into();
        arguments.push("x.o".into());
        if let Some(soname) = soname {
            arguments.extend(["-shared".into(), "-soname".into(), soname.into()]);
        } else {
            let loader = if self.musl { "/lib/ld-musl-x86_64.so.1" } else { "/lib64/ld-linux-x86-64.so.2" };
            arguments.extend(["-pie".into(), "-dynamic-linker".into(), loader.into()]);
        }
        if self.random.chance(70) {
            let tag = if self.random.chance(50) { "--enable-new-dtags" } else { "--disable-new-dtags" };
            arguments.extend([tag.into(), "-rpath".into(), self.search_path()]);
        }
        for name in needed {
            arguments.push(self.stub(name));
        }
        writeln!(self.story, "  ld {}", arguments.join(" ")).unwrap();
        self.fixture.must("ld", &arguments);
    }

    /// A library whose only purpose is its soname: the linker copies it into DT_NEEDED.
    fn stub(&self, name: &str) -> String {
        let file = format!("stubs/{}", name.replace('/', "_"));
        if !self.fixture.join(&file).exists() {
            self.fixture.must("ld", ["-shared", "-o", &file, "-soname", name, "x.o"]);
        }
        file
    }

    /// Names of some libraries with a higher number, so that most graphs have no cycle; cycles are wanted too.
    fn needed(&mut self, above: usize) -> Vec<String> {
        let mut names = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let from = if self.random.chance(10) { 0 } else { above };
            if from < LIBRARIES {
                let library = from + self.random.below(LIBRARIES - from);
                names.push(self.request(library));
            }
        }
        names
    }

    fn request(&mut self, library: usize) -> String {
        let folder = self.random.below(FOLDERS);
        match self.random.below(20) {
            0 => format!("{}/d{folder}/libl{library}.so", self.fixture.text()),
            1 => format!("alias{library}.so"),
            _ => format!("libl{library}.so"),
        }
    }

    fn library(&mut self, number: usize) {
        let name = format!("libl{number}.so");
        for _ in 0..1 + self.random.below(3) {
            let folder = self.random.below(FOLDERS);
            let path = format!("d{folder}/{name}");
            let soname = if self.random.chance(90) { name.clone() } else { format!("other{number}.so") };
            let needed = self.needed(number + 1);
            self.link(&path, Some(&soname), &needed);
            self.relatives(number, folder, &path);
        }
    }

    /// Links, hard links and capability variants beside a library.
    fn relatives(&mut self, number: usize, folder: usize, path: &str) {
        let other = self.random.below(FOLDERS);
        let alias = self.fixture.join(format!("d{other}/alias{number}.so"));
        if self.random.chance(30) && !alias.exists() {
            if self.random.chance(50) {
                self.fixture.symlink(format!("../{path}"), &alias);
                writeln!(self.story, "  ln -s ../{path} {}", alias.display()).unwrap();
            } else {
                std::fs::hard_link(self.fixture.join(path), &alias).unwrap();
                writeln!(self.story, "  ln {path} {}", alias.display()).unwrap();
            }
        }
        if self.random.chance(15) {
            let variant = format!("d{folder}/glibc-hwcaps/x86-64-v2");
            self.fixture.mkdir(&variant);
            std::fs::copy(self.fixture.join(path), self.fixture.join(format!("{variant}/libl{number}.so"))).unwrap();
            writeln!(self.story, "  cp {path} {variant}").unwrap();
        }
    }

    fn build(&mut self) -> (PathBuf, Option<String>) {
        self.fixture.write("x.s", ".globl _start\n_start: nop\n.section .note.GNU-stack,\"\",@progbits\n");
        self.fixture.must("as", ["-o", "x.o", "x.s"]);
        self.fixture.mkdir("stubs");
        self.fixture.mkdir("bin");
        for folder in 0..FOLDERS {
            self.fixture.mkdir(format!("d{folder}"));
        }
        for library in 0..LIBRARIES {
            self.library(library);
        }
        let mut needed = self.needed(0);
        needed.push(self.request(0));
        needed.push(if self.musl { "libc.so".into() } else { "libc.so.6".into() });
        self.link("bin/program", None, &needed);
        let variable = self.random.chance(40).then(|| self.search_path().replace("$ORIGIN", self.fixture.text()));
        (self.fixture.join("bin/program"), variable)
    }
}

fn trees(musl: bool) {
    let (mut objects, mut misses) = (0, 0);
    for seed in 1..=TREES {
        let fixture = Fixture::new();
        let random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut tree = Tree { fixture: &fixture, random, musl, story: String::new() };
        let (program, variable) = tree.build();
        let variables: Vec<(&str, &str)> = variable.iter().map(|value| ("LD_LIBRARY_PATH", value.as_str())).collect();
        let mut environment = Environment::empty();
        if let Some(value) = &variable {
            environment.set(b"LD_LIBRARY_PATH", value.as_str().into());
        }
        let closure = modelled(&program, environment).unwrap();
        let (model, judge) = (listing(&closure), judged(&program, &closure, &variables));
        assert!(
            model.stopped && judge.stopped || model == judge,
            "tree {seed} in {}\n{}  with {variables:?}\nmodel {model:?}\njudge {judge:?}",
            fixture.text(),
            tree.story
        );
        objects += judge.objects.len();
        misses += judge.missing.len();
    }
    // Trees in which nothing is found, or nothing is missed, would prove little.
    println!("{objects} objects, {misses} misses in {TREES} trees");
    let trees = usize::try_from(TREES).unwrap();
    assert!(objects > 3 * trees && misses > trees / 4, "{objects} objects, {misses} misses");
}

#[test]
fn glibc_agrees_on_random_trees() {
    trees(false);
}

#[test]
fn musl_agrees_on_random_trees() {
    need!("musl-gcc");
    trees(true);
}
