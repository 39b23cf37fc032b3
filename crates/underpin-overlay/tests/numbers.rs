//! strtod, strtof and strtold of the overlay against glibc's, by `numbers.c`: on x86-64, on aarch64 in an emulator, under the
//! sanitizers, and in a static musl program against musl's scanf.
#![cfg(target_arch = "x86_64")]

mod checking;

use checking::Checking;
use underpin_test_support::need;

const NUMBERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/native/numbers.c");
const CHECK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/numbers.c");

/// Compiles the functions with one compiler and the check with another, and runs the program with a command in front; what it
/// says.
fn read(compilers: [&str; 2], flags: &[&str], check_flags: &[&str], runner: &[&str]) -> String {
    Checking { source: NUMBERS, check: CHECK, function: "judged", compilers, flags, check_flags, runner }.says()
}

#[test]
fn they_read_what_glibc_reads_in_each_direction_of_rounding() {
    assert_eq!(read(["cc"; 2], &[], &[], &[]), "read\n");
}

#[test]
fn what_clang_makes_of_them_does_so_too() {
    need!("clang");
    assert_eq!(read(["clang", "cc"], &[], &["-DTRIES=5000"], &[]), "read\n");
}

#[test]
fn they_do_so_on_aarch64() {
    need!("aarch64-linux-gnu-gcc", "qemu-aarch64");
    let flags = ["-mno-outline-atomics"];
    assert_eq!(read(["aarch64-linux-gnu-gcc"; 2], &flags, &["-static", "-DTRIES=400"], &["qemu-aarch64"]), "read\n");
}

#[test]
fn the_sanitizers_find_nothing_in_them() {
    let watch = "-fsanitize=address,undefined";
    assert_eq!(read(["cc"; 2], &[watch, "-g"], &[watch, "-DTRIES=5000"], &[]), "read\n");
}

#[test]
fn a_static_program_reads_with_them_what_musls_scanf_reads() {
    need!("musl-gcc");
    let (flags, check) = (["-DOVERLAY_REPLACES"], ["-static", "-DPLAIN", "-DTRIES=2000"]);
    assert_eq!(read(["musl-gcc"; 2], &flags, &check, &[]), "read\n");
}
