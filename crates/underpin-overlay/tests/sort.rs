//! qsort and qsort_r of the overlay against glibc's, by `sort.c`: on x86-64, on aarch64 in an emulator, under the sanitizers, and
//! in a static musl program.
#![cfg(target_arch = "x86_64")]

mod checking;

use checking::Checking;
use underpin_test_support::need;

const OVERLAY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/native/overlay.c");
const CHECK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sort.c");

/// Compiles the overlay and the check, and runs the program with a command in front; what it says.
fn sorted(compiler: &str, flags: &[&str], check_flags: &[&str], runner: &[&str]) -> String {
    let compilers = [compiler; 2];
    Checking { source: OVERLAY, check: CHECK, function: "sort_sized", compilers, flags, check_flags, runner }.says()
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
