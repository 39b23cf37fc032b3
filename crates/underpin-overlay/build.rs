//! Compiles the C sources for the target. They define nothing but functions with names of their own where the C library is
//! glibc, and replace the C library's where it is musl.
#![allow(clippy::print_stdout, reason = "a build script talks to cargo on standard output")]

fn main() {
    println!("cargo::rerun-if-changed=native");
    let mut build = cc::Build::new();
    build.file("native/copy.c").std("c11").opt_level(3).warnings(true);
    if let Err(error) = build.try_compile("underpin_overlay") {
        println!("cargo::error=underpin-overlay: {}", error.to_string().replace('\n', "; "));
    }
}
