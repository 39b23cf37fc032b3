//! The order of constructors, judged by the loaders: their debug output for real programs, constructors that print for
//! generated graphs with cycles.

#![allow(clippy::print_stdout, reason = "a test says what it compared")]

mod common;

use std::path::Path;
use std::process::Command;
use underpin_resolve::{Closure, Environment, InitialiserSort, ObjectId};
use underpin_test_support::{Fixture, Output, missing, need, skip};

fn paths(closure: &Closure, order: &[ObjectId]) -> Vec<String> {
    order.iter().filter(|id| id.0 != 0).map(|id| closure.objects[id.0].path.to_string()).collect()
}

/// Paths after `calling init: ` up to the point where the program takes over.
fn called(program: &Path, arguments: &[&str], tunables: &str) -> Vec<String> {
    let mut command = Command::new(program);
    command.args(arguments).env("LD_DEBUG", "files").env("GLIBC_TUNABLES", tunables);
    command.env_remove("LD_LIBRARY_PATH").env_remove("LD_PRELOAD");
    let output = Output::of(&mut command);
    let before_main = output.stderr.lines().take_while(|line| !line.contains("initialize program: "));
    before_main.filter_map(|line| Some(line.split_once("calling init: ")?.1.to_owned())).collect()
}

fn agrees(program: &str, arguments: &[&str]) {
    if let Some(lack) = missing(&[program]) {
        return skip(&lack);
    }
    let program = Path::new(program).canonicalize().expect("the program");
    let closure = common::modelled(&program, Environment::empty()).expect("a closure");
    let settings = [("", InitialiserSort::DepthFirst), ("glibc.rtld.dynamic_sort=1", InitialiserSort::Moving)];
    for (tunables, sort) in settings {
        let expected = called(&program, arguments, tunables);
        assert!(!expected.is_empty(), "{}: no constructor is called", program.display());
        let model = paths(&closure, &closure.initialisation_order_by(sort));
        assert_eq!(model, expected, "{} {tunables}", program.display());
    }
    if closure.loader.version.is_some_and(|version| version.minor >= 35) {
        let order = closure.initialisation_order();
        assert_eq!(order, closure.initialisation_order_by(InitialiserSort::DepthFirst));
        assert_eq!(order.last(), Some(&ObjectId(0)), "the program comes last");
    }
}

#[test]
fn git_runs_its_constructors_as_modelled() {
    agrees("/usr/bin/git", &["--version"]);
}

#[test]
fn python_runs_its_constructors_as_modelled() {
    agrees("/usr/bin/python3", &["--version"]);
}

#[test]
fn ffmpeg_runs_its_constructors_as_modelled() {
    agrees("/usr/bin/ffmpeg", &["-version"]);
}

#[test]
fn emacs_runs_its_constructors_as_modelled() {
    agrees("/usr/bin/emacs-gtk", &["--version"]);
}

const LIBRARIES: usize = 9;

/// A small generator with a fixed seed (Knuth's MMIX constants), so that a failure can be reproduced.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % limit
    }
}

/// Libraries that need each other at random, cycles included, in `graphN/`; their constructors print their number.
fn graph(fixture: &Fixture, compiler: &str, seed: u64) -> std::path::PathBuf {
    let mut numbers = Numbers(seed);
    let folder = fixture.mkdir(format!("graph{seed}"));
    let folder = folder.to_str().expect("a UTF-8 path");
    let stubs = fixture.join("stubs");
    let stubs = format!("-L{}", stubs.display());
    for library in 0..LIBRARIES {
        let mut arguments: Vec<String> = ["-shared", "-fPIC", "-Wl,--no-as-needed", "-xc"].map(str::to_owned).into();
        arguments.extend([format!("-DNUMBER={library}"), fixture.join("lib.c").display().to_string(), "-xnone".into()]);
        arguments.extend([stubs.clone(), "-o".into(), format!("{folder}/libg{library}.so")]);
        arguments.extend([format!("-Wl,-soname,libg{library}.so"), format!("-Wl,-rpath,{folder}")]);
        for _ in 0..numbers.below(4) {
            arguments.push(format!("-lg{}", numbers.below(LIBRARIES)));
        }
        fixture.must(compiler, arguments);
    }
    let mut arguments: Vec<String> = vec![fixture.join("main.c").display().to_string(), "-o".into()];
    arguments.extend([format!("{folder}/prog"), stubs, "-Wl,--no-as-needed".into()]);
    arguments.extend(["-Wl,--allow-shlib-undefined".into(), format!("-Wl,-rpath,{folder}")]);
    for _ in 0..3 {
        arguments.push(format!("-lg{}", numbers.below(LIBRARIES)));
    }
    fixture.must(compiler, arguments);
    Path::new(folder).join("prog")
}

fn sources(compiler: &str) -> Fixture {
    let fixture = Fixture::new();
    fixture.write("main.c", "int main(void){return 0;}");
    let print = "#include <unistd.h>\n__attribute__((constructor)) static void c(void){\
                 char t[2]={'0'+NUMBER,'\\n'}; write(1,t,2);}\n";
    fixture.write("lib.c", print);
    fixture.write("empty.c", "");
    fixture.mkdir("stubs");
    for library in 0..LIBRARIES {
        let (out, soname) = (format!("stubs/libg{library}.so"), format!("-Wl,-soname,libg{library}.so"));
        fixture.must(compiler, ["-shared", "-fPIC", "-o", &out, &soname, "empty.c"]);
    }
    fixture
}

fn numbers_of(paths: &[String]) -> Vec<String> {
    let number = |path: &String| Some(path.rsplit_once("/libg")?.1.strip_suffix(".so")?.to_owned());
    paths.iter().filter_map(number).collect()
}

fn printed(program: &Path, tunables: &str) -> Vec<String> {
    let output = Output::of(Command::new(program).env("GLIBC_TUNABLES", tunables));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn graphs_with_cycles_are_sorted_as_glibc_sorts_them_in_both_settings() {
    need!("cc");
    let fixture = sources("cc");
    let mut differing = 0;
    for seed in 0..8 {
        let program = graph(&fixture, "cc", seed);
        let closure = common::modelled(&program, Environment::empty()).expect("a closure");
        let by = |sort| numbers_of(&paths(&closure, &closure.initialisation_order_by(sort)));
        let (walk, moving) = (by(InitialiserSort::DepthFirst), by(InitialiserSort::Moving));
        assert_eq!(walk, printed(&program, ""), "graph {seed}");
        assert_eq!(moving, printed(&program, "glibc.rtld.dynamic_sort=1"), "graph {seed}, the older way");
        differing += usize::from(walk != moving);
    }
    assert!(differing > 0, "no graph tells the two ways apart");
}

#[test]
fn graphs_with_cycles_are_sorted_as_musl_queues_them() {
    need!("musl-gcc");
    let fixture = sources("musl-gcc");
    for seed in 0..4 {
        let program = graph(&fixture, "musl-gcc", seed);
        let closure = common::modelled(&program, Environment::empty()).expect("a closure");
        let order = numbers_of(&paths(&closure, &closure.initialisation_order()));
        assert_eq!(order, printed(&program, ""), "graph {seed}");
    }
}

#[test]
fn initfirst_runs_before_everything_else() {
    need!("cc");
    let fixture = sources("cc");
    for (library, extra) in [("0", ""), ("1", "-Wl,-z,initfirst"), ("2", "")] {
        let (out, number) = (format!("libg{library}.so"), format!("-DNUMBER={library}"));
        let soname = format!("-Wl,-soname,{out}");
        let mut arguments = vec!["-shared", "-fPIC", &number, "-o", &out, &soname, "lib.c"];
        arguments.extend(Some(extra).filter(|extra| !extra.is_empty()));
        fixture.cc(arguments);
    }
    let rpath = format!("-Wl,-rpath,{}", fixture.text());
    fixture.cc(["main.c", "-o", "prog", "-Wl,--no-as-needed", "-L.", "-lg0", "-lg1", "-lg2", &rpath]);
    let program = fixture.join("prog");
    let closure = common::modelled(&program, Environment::empty()).expect("a closure");
    let order = numbers_of(&paths(&closure, &closure.initialisation_order()));
    assert_eq!(order, printed(&program, ""));
    assert_eq!(order[0], "1");
}
