//! Compiles the launcher of bundles (`launcher/`): a program without libc and without relocations, and the library by
//! which bundles find their locales (`locales/`); for this target and, if rustc has what it takes, for the other machine
//! that they are written for.
//!
//! rustc itself does it, with its own linker (`rust-lld`) or, for the target, that of the build. If none of that
//! works, the image is empty, and `underpin bundle` says so instead of bundling.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_build_support as support;

/// Machines that the launcher has entry code for.
const MACHINES: [&str; 2] = ["x86_64", "aarch64"];

fn main() {
    println!("cargo::rerun-if-changed=launcher");
    println!("cargo::rerun-if-changed=locales");
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let target = env::var("TARGET").unwrap_or_default();
    for machine in MACHINES {
        let image = out.join(format!("launcher-{machine}"));
        let own = target.starts_with(machine);
        let built = builds(machine, &target, own).any(|build| build.run(&image) && is_position_free(&image));
        if !built {
            // Empty means "not built"; the crate returns `None` for it.
            let _ = fs::write(&image, []);
            support::again_after_targets();
            if own {
                println!("cargo::warning=no launcher for {target}: `underpin bundle` will refuse its programs");
            }
        }
        let library = out.join(format!("locales-{machine}"));
        if !libraries(machine, &target, own).any(|build| build.run(&library)) {
            support::again_after_targets();
            let _ = fs::write(&library, []);
        }
    }
}

/// One attempt to compile it.
struct Build {
    source: &'static str,
    kind: &'static str,
    target: String,
    optimisation: &'static str,
    linker: Vec<String>,
}

/// The attempts, best first: what a compiler makes of the same source differs in whether it needs relocations.
fn builds(machine: &str, target: &str, own: bool) -> impl Iterator<Item = Build> {
    let triple = if own { target.to_owned() } else { format!("{machine}-unknown-linux-gnu") };
    let lld = [
        "-Clinker=rust-lld",
        "-Clinker-flavor=ld.lld",
        "-Clink-args=-pie --no-dynamic-linker -z norelro -z max-page-size=4096",
    ];
    let cc = [
        "-Clink-args=-nostartfiles -nostdlib -pie -Wl,--no-dynamic-linker,-z,norelro,-z,max-page-size=4096,--build-id=none",
    ];
    let mut linkers: Vec<Vec<String>> = vec![lld.map(str::to_owned).to_vec()];
    if own {
        let given = env::var("RUSTC_LINKER").ok().map(|linker| format!("-Clinker={linker}"));
        linkers.push(given.into_iter().chain(cc.map(str::to_owned)).collect());
    }
    linkers.into_iter().flat_map(move |linker| {
        let target = triple.clone();
        ["s", "3", "z"].into_iter().map(move |optimisation| Build {
            source: "launcher/main.rs",
            kind: "bin",
            target: target.clone(),
            optimisation,
            linker: linker.clone(),
        })
    })
}

/// The attempts at the library of locales: it is an ordinary one, so any linker's result will do.
fn libraries(machine: &str, target: &str, own: bool) -> impl Iterator<Item = Build> {
    let page = if machine == "aarch64" { 65536 } else { 4096 };
    let triple = if own { target.to_owned() } else { format!("{machine}-unknown-linux-gnu") };
    let flags = format!("-soname=libunderpin-locale.so --hash-style=gnu -z max-page-size={page}");
    let lld = ["-Clinker=rust-lld".to_owned(), "-Clinker-flavor=ld.lld".to_owned(), format!("-Clink-args={flags}")];
    let cc = format!("-Clink-args=-nostartfiles -nostdlib -Wl,{}", flags.replace(' ', ","));
    let given = env::var("RUSTC_LINKER").ok().map(|linker| format!("-Clinker={linker}"));
    let other = own.then(|| given.into_iter().chain([cc]).collect());
    // Built for musl, rustc knows no such library; the C library is not linked, so glibc's target does as well.
    let triple = triple.replace("-musl", "-gnu");
    [Some(lld.to_vec()), other].into_iter().flatten().map(move |linker| Build {
        source: "locales/main.rs",
        kind: "cdylib",
        target: triple.clone(),
        optimisation: "s",
        linker,
    })
}

impl Build {
    fn run(&self, image: &Path) -> bool {
        let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let mut command = Command::new(rustc);
        command.args([
            "--edition",
            "2024",
            "--crate-name",
            "part",
            "--crate-type",
            self.kind,
            "--target",
            &self.target,
        ]);
        command.arg(format!("-Copt-level={}", self.optimisation));
        command.arg(if self.kind == "bin" { "-Crelocation-model=pie" } else { "-Crelocation-model=pic" });
        command.args(["-Cpanic=abort", "-Ccodegen-units=1", "-Cstrip=symbols"]);
        command.args(["-Clink-self-contained=no", "-Cforce-unwind-tables=no", "-Crelro-level=off"]);
        command.args(&self.linker).arg("-o").arg(image).arg(self.source);
        command.output().is_ok_and(|output| output.status.success())
    }
}

/// Whether the image runs at any address as it is: no relocation in its dynamic section (DT_RELA, DT_REL, DT_RELR,
/// DT_JMPREL), so none has to be applied.
fn is_position_free(image: &Path) -> bool {
    let bytes = fs::read(image).unwrap_or_default();
    let word = |at: usize, size: usize| -> Option<u64> {
        let bytes = bytes.get(at..at.checked_add(size)?)?;
        Some(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    };
    let position = |value: u64| usize::try_from(value).ok();
    let dynamic = || {
        let (table, count) = (position(word(32, 8)?)?, word(56, 2)?);
        (0..position(count)?).map(|index| table + index * 56).find(|&at| word(at, 4) == Some(2))
    };
    let Some(header) = dynamic() else { return bytes.starts_with(b"\x7fELF") };
    let (Some(start), Some(size)) = (word(header + 8, 8).and_then(position), word(header + 32, 8).and_then(position))
    else {
        return false;
    };
    (start..start + size).step_by(16).all(|at| !matches!(word(at, 8), Some(7 | 17 | 23 | 36) | None))
}
