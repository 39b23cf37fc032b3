//! Links the unwinder into the program. Rust's own choice is libgcc_s.so.1: one more library that the loader searches,
//! maps and relocates at every start, for panics that hardly ever happen.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=CC");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|known| known.split(',').any(|one| one == value));
    // A static program has it already, and for another system this compiler is not asked.
    let native = env::var("HOST").is_ok() && env::var("HOST") == env::var("TARGET");
    if native && is("CARGO_CFG_TARGET_ENV", "gnu") && !is("CARGO_CFG_TARGET_FEATURE", "crt-static") && is_at_hand() {
        // Before the libraries of the standard library, so that its symbols come from here.
        println!("cargo:rustc-link-lib=gcc_eh");
    }
}

/// Whether the C compiler has the unwinder as an archive: it prints the path if it does, and the bare name otherwise.
fn is_at_hand() -> bool {
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let asked = Command::new(compiler).arg("-print-file-name=libgcc_eh.a").output();
    asked.is_ok_and(|answer| answer.stdout.starts_with(b"/"))
}
