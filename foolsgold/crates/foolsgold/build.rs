//! Linker options of the executable.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    if target("ENV") == "musl" && target("ARCH") == "x86_64" {
        // A static-pie executable relocates itself at start-up. In this form its relocation table takes 9 kB instead of
        // 500 kB, all of which is read at start-up.
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
