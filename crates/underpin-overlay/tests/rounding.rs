//! `floor` and its relatives and `fma` in static programs on musl: results and exceptions are glibc's, with the processor's instructions
//! and without.

mod both;

use both::Both;
use underpin_overlay::Part;
use underpin_test_support::{Fixture, Output, need, skip};

const PROGRAM: &str = include_str!("rounding.c");

fn both<'a>(tries: &'a [&'a str]) -> Both<'a> {
    Both { program: PROGRAM, parts: &[Part::Rounding], libraries: &["-lm"], arguments: tries, ..Both::default() }
}

#[test]
fn numbers_are_rounded_as_on_glibc() {
    need!("gcc", "musl-gcc");
    let both = both(&["40000"]);
    let compared = both.judged();
    let judge = &compared.judge;
    let (results, exceptions) = (judge.matches(" fma ").count(), judge.matches(" 20 float ").count());
    assert!(results == 40_000 && exceptions > 10_000, "{results} {exceptions}");
    compared.agrees();
    assert!(compared.alone() != compared.judge);
}

/// The first has roundsd and no FMA, the second neither.
#[test]
fn they_are_so_on_processors_without_the_instructions() {
    need!("gcc", "musl-gcc", "qemu-x86_64");
    let both = both(&["6000"]);
    let compared = both.judged();
    compared.agrees();
    assert!(compared.alone() != compared.judge);
    for processor in ["Nehalem", "Conroe"] {
        let words = ["-cpu", processor, "./on-musl", "6000"];
        compared.is(&Output::of(compared.dir.command("qemu-x86_64").args(words)).stdout);
    }
}

/// A program of glibc takes them in place of its own: those of the object are the same.
#[test]
fn they_are_so_on_aarch64() {
    need!("aarch64-linux-gnu-gcc", "qemu-aarch64");
    let dir = Fixture::new();
    let object = match Part::Rounding.object("aarch64") {
        Ok(object) => object,
        Err(reason) => return skip(reason),
    };
    dir.write("rounding.o", object.bytes);
    dir.write("program.c", PROGRAM);
    let says = |name: &str, objects: &[&str]| {
        let words = [&["-w", "-O1", "-static"], objects, &["program.c", "-o", name, "-lm"]].concat();
        dir.must("aarch64-linux-gnu-gcc", words);
        dir.must("qemu-aarch64", [&format!("./{name}"), "5000"])
    };
    assert_eq!(says("ours", &["rounding.o"]), says("glibcs", &[]));
    assert!(dir.must("aarch64-linux-gnu-nm", ["ours"]).contains(" W nearbyintf\n"));
}
