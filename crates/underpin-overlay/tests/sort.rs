//! qsort and qsort_r of the overlay against glibc's, by `sort.c`: on x86-64, on aarch64 in an emulator, under the sanitizers, and
//! in a static musl program.
#![cfg(target_arch = "x86_64")]

use underpin_test_support::{Fixture, Output, need};

const OVERLAY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/native/overlay.c");
const CHECK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sort.c");
const FLAGS: [&str; 6] = ["-std=c11", "-O2", "-ffreestanding", "-fno-builtin", "-fPIC", "-fno-stack-protector"];

/// Compiles the overlay and the check, and runs the program with a command in front; what it says.
fn sorted(compiler: &str, overlay: &[&str], check: &[&str], runner: &[&str]) -> String {
    let fixture = Fixture::new();
    fixture.must(compiler, [&FLAGS[..], overlay, &["-c", OVERLAY, "-o", "overlay.o"]].concat());
    fixture.must(compiler, [&["-O1", "-w", "-fno-builtin"][..], check, &["-o", "check", "overlay.o", CHECK]].concat());
    assert!(fixture.must("nm", ["check"]).contains(" t sort_sized"), "the program has another qsort");
    let program = fixture.join("check").display().to_string();
    let command = [runner, &[&program]].concat();
    let output = Output::of(fixture.command(command[0]).args(&command[1..]));
    assert!(output.code == Some(0), "ended with {:?}:\n{}{}", output.code, output.stdout, output.stderr);
    assert!(!output.stderr.contains("runtime error"), "{}", output.stderr);
    output.stdout
}

#[test]
fn it_sorts_what_glibc_sorts_within_a_bound_of_comparisons() {
    assert_eq!(sorted("cc", &[], &[], &[]), "sorted\n");
}

#[test]
fn it_does_so_on_aarch64() {
    need!("aarch64-linux-gnu-gcc", "qemu-aarch64");
    assert_eq!(sorted("aarch64-linux-gnu-gcc", &[], &["-static", "-DTRIES=200"], &["qemu-aarch64"]), "sorted\n");
}

#[test]
fn the_sanitizers_find_nothing_in_it() {
    let watch = "-fsanitize=address,undefined";
    assert_eq!(sorted("cc", &[watch, "-g"], &[watch], &[]), "sorted\n");
}

#[test]
fn a_static_program_sorts_with_it() {
    need!("musl-gcc");
    assert_eq!(sorted("musl-gcc", &["-DOVERLAY_REPLACES"], &["-static", "-DPLAIN"], &[]), "sorted\n");
}
