//! How the executable is linked.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    if target("ENV") == "musl" && target("ARCH") == "x86_64" {
        // A static file that may lie at any address relocates itself when it starts. In this form the list of what to
        // relocate takes 9 kB in place of 500 kB, all of which a start has to read.
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
