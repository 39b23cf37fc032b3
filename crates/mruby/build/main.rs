//! Compiles mruby from the sources that the crate `mruby3-sys` carries: no Ruby, rake, bison or bindgen is needed.
#![allow(clippy::print_stdout, reason = "a build script talks to cargo on standard output")]

fn main() {
    println!("cargo::rerun-if-changed=build");
}
