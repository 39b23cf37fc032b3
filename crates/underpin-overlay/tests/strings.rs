//! Every function of the overlay against the C library's own, by `check.c`: on each level that this processor has, on aarch64 in
//! an emulator, on processors without AVX, in valgrind and under the sanitizers.
#![cfg(target_arch = "x86_64")]

use std::io::Write;
use underpin_overlay::flags;
use underpin_test_support::{Fixture, Output, need, zigs};

const OVERLAY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/native/overlay.c");
const CHECK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/check.c");
const ASKED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/asked.c");

/// Those of the crate's flags that make jumps shorter, which only GCC has.
fn as_built() -> Vec<&'static str> {
    underpin_overlay::flags_of_strings("x86_64")
}

/// Compiles the overlay and the check with one compiler; the program.
fn built(fixture: &Fixture, compiler: &str, overlay: &[&str], check: &[&str]) -> String {
    let known = &flags::IF_KNOWN[..1];
    fixture.must(compiler, [&flags::ALWAYS[..], known, overlay, &["-c", OVERLAY, "-o", "overlay.o"]].concat());
    fixture.must(compiler, [&["-O1", "-w", "-fno-builtin"][..], check, &["-o", "check", "overlay.o", CHECK]].concat());
    fixture.join("check").display().to_string()
}

/// What the program says, which has found no difference.
fn well(fixture: &Fixture, command: &[&str]) -> String {
    let output = Output::of(fixture.command(command[0]).args(&command[1..]));
    assert!(output.code == Some(0), "{command:?} ended with {:?}:\n{}{}", output.code, output.stdout, output.stderr);
    assert!(!output.stderr.contains("ERROR") && !output.stderr.contains("runtime error"), "{}", output.stderr);
    output.stdout
}

/// The static musl program whose own functions are the overlay's, at every `step`th place of a line.
fn replaced(fixture: &Fixture, step: u32) -> String {
    let step = format!("-DSTEP={step}");
    built(fixture, "musl-gcc", &[&as_built()[..], &["-DOVERLAY_REPLACES"]].concat(), &["-static", "-DPLAIN", &step])
}

#[test]
fn every_level_does_what_glibc_does() {
    let fixture = Fixture::new();
    // As the crate compiles it, and as it does where the compiler puts something in front of the first jump.
    let program = built(&fixture, "cc", &[], &["-DSTEP=9"]);
    well(&fixture, &[&program]);
    let program = built(&fixture, "cc", &as_built(), &[]);
    let said = well(&fixture, &[&program]);
    assert!(said.starts_with("checked sse2\n") && said.ends_with("checked asking\n"), "{said}");
    for level in said.lines().filter_map(|line| line.strip_prefix("lacking ")) {
        let _ = writeln!(std::io::stderr(), "skipped {level}: this processor lacks it");
    }
}

#[test]
fn what_clang_makes_of_it_does_what_glibc_does() {
    need!("clang");
    let fixture = Fixture::new();
    fixture.must("clang", [&flags::ALWAYS[..], &["-c", OVERLAY, "-o", "overlay.o"]].concat());
    fixture.cc(["-O1", "-w", "-fno-builtin", "-DSTEP=9", "-o", "check", "overlay.o", CHECK]);
    well(&fixture, &["./check"]);
}

/// A clang of its own, newer than the distribution's: a recipe of ours is built by it.
#[test]
fn what_zig_makes_of_it_does_what_glibc_does() {
    let fixture = Fixture::new();
    for zig in zigs() {
        let words =
            [&["cc", "-target", "x86_64-linux-gnu"], &flags::ALWAYS[..], &["-c", OVERLAY, "-o", "overlay.o"]].concat();
        fixture.must(zig.to_str().unwrap(), words);
        fixture.cc(["-O1", "-w", "-fno-builtin", "-DSTEP=9", "-o", "check", "overlay.o", CHECK]);
        well(&fixture, &["./check"]);
    }
}

#[test]
fn neon_does_what_glibc_does() {
    need!("aarch64-linux-gnu-gcc", "qemu-aarch64");
    let fixture = Fixture::new();
    let program = built(&fixture, "aarch64-linux-gnu-gcc", &[], &["-static", "-DSTEP=9"]);
    assert_eq!(well(&fixture, &["qemu-aarch64", &program]), "checked neon\n");
}

#[test]
fn a_static_program_runs_on_processors_without_avx_and_without_avx512() {
    need!("musl-gcc", "qemu-x86_64");
    let fixture = Fixture::new();
    let program = replaced(&fixture, 17);
    for processor in ["Nehalem", "Haswell"] {
        assert_eq!(well(&fixture, &["qemu-x86_64", "-cpu", processor, &program]), "checked\n", "{processor}");
    }
    assert_eq!(well(&fixture, &[&program]), "checked\n");
}

#[test]
fn a_static_program_runs_in_valgrind_without_a_complaint() {
    need!("musl-gcc", "valgrind");
    let fixture = Fixture::new();
    let program = replaced(&fixture, 63);
    assert_eq!(well(&fixture, &["valgrind", "--quiet", "--error-exitcode=9", &program]), "checked\n");
}

#[test]
fn the_sanitizers_find_nothing() {
    let fixture = Fixture::new();
    let watch = "-fsanitize=address,undefined";
    let program = built(&fixture, "cc", &[watch, "-g"], &[watch, "-DSTEP=9"]);
    well(&fixture, &[&program]);
}

/// Each CPUID in a virtual machine costs what a thousand short calls do, and a small program ends before it has made those.
#[test]
fn the_processor_is_asked_no_sooner_than_at_the_sixty_fourth_call() {
    let fixture = Fixture::new();
    fixture.must("cc", [&flags::ALWAYS[..], &as_built(), &["-c", OVERLAY, "-o", "overlay.o"]].concat());
    fixture.cc(["-O1", "-w", "-fno-builtin", "-o", "asked", "overlay.o", ASKED]);
    let asked = |calls: &str| well(&fixture, &["./asked", calls]).trim().parse::<u32>().expect("a count");
    assert_eq!(asked("63"), 0);
    let times = asked("64");
    assert!((2..=3).contains(&times), "{times}");
    assert_eq!(asked("200"), times, "once in a process");
}
