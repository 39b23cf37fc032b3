//! foolsgold as one static file: musl linked in, for x86-64 by musl-gcc, for aarch64 by zig from PyPI.
//!
//! zig is a whole C compiler with musl for every processor in one Python package; it is fetched into target/ and used for
//! the C sources only. What it compiles is linked by the linker that comes with Rust.

use crate::bench::{Running, free_port, get};
use crate::build::{Allocator, Linkage, Processor};
use crate::{run, setup};
use anyhow::{Context, bail};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The release of zig that was tried.
const ZIG: &str = "0.15.2";

/// Builds the static files, proves that they are static and serve, and says where they are. Without a processor named,
/// one whose core library rustup cannot fetch is left out, with a sentence.
///
/// # Errors
/// Where a compiler is missing, a build fails, or a file is not as it should be.
pub fn all(processors: &[Processor]) -> anyhow::Result<()> {
    let every = [Processor::X86_64, Processor::Aarch64];
    let wanted = if processors.is_empty() { &every } else { processors };
    // Before minutes of compiling end for want of one of them.
    let missing = missing(wanted, &std::env::var_os("PATH").unwrap_or_default());
    if !missing.is_empty() {
        let tools: Vec<String> = missing.iter().map(|(tool, package)| format!("{tool} ({package})")).collect();
        let packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
        bail!("the static files need {}: apt-get install {}", tools.join(", "), packages.join(" "));
    }
    for processor in wanted {
        let there = setup::add_target(processor.triple(), "no static foolsgold for it");
        if !there && processors.is_empty() {
            continue;
        }
        let file = foolsgold(Linkage::Musl(*processor), Allocator::Mimalloc)?;
        is_static(&file)?;
        serves(*processor, &file)?;
        let megabytes = fs::metadata(&file)?.len() as f64 / 1e6;
        println!("{}: {megabytes:.1} MB, static, serves the demonstration", file.display());
    }
    Ok(())
}

/// Programs that the builds and their checks start and that are not in `path`, each with its Debian package.
fn missing(processors: &[Processor], path: &OsStr) -> Vec<(&'static str, &'static str)> {
    let mut tools = vec![("readelf", "binutils")];
    if processors.contains(&Processor::X86_64) {
        tools.push(("x86_64-linux-musl-gcc", "musl-tools"));
    }
    if processors.contains(&Processor::Aarch64) {
        tools.push(("python3", "python3"));
        tools.push(("pip3", "python3-pip"));
        if std::env::consts::ARCH != "aarch64" {
            tools.push(("qemu-aarch64", "qemu-user"));
        }
    }
    tools.retain(|(tool, _)| !std::env::split_paths(path).any(|folder| folder.join(tool).exists()));
    tools
}

/// No loader is asked for and no library: all that a static file must not do.
fn is_static(file: &Path) -> anyhow::Result<()> {
    let output = Command::new("readelf").args(["-lWd"]).arg(file).output().context("cannot start readelf")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || !text.contains("LOAD") {
        bail!("readelf cannot read {}", file.display());
    }
    match text.lines().find(|line| line.contains("INTERP") || line.contains("(NEEDED)")) {
        Some(line) => bail!("{} is not static: {}", file.display(), line.trim()),
        None => Ok(()),
    }
}

/// It answers a request, on an emulated processor where it is for another one.
fn serves(processor: Processor, file: &Path) -> anyhow::Result<()> {
    let port = free_port()?;
    let mut command = match processor {
        Processor::Aarch64 if std::env::consts::ARCH != "aarch64" => {
            let mut command = Command::new("qemu-aarch64");
            command.arg(file);
            command
        }
        _ => Command::new(file),
    };
    command.args(["--bind", &format!("127.0.0.1:{port}")]);
    let folder = run::scratch("static")?;
    let running = Running::spawn(&file.display().to_string(), command, port, "/fools-gold", &folder)?;
    let again = get(running.port, "/fools-gold/prefork")?;
    drop(running);
    fs::remove_dir_all(&folder)?;
    if again == 200 { Ok(()) } else { bail!("{}: /fools-gold/prefork is answered with {again}", file.display()) }
}

/// Builds foolsgold as a user would get it, and says where it is: each kind has a place of its own.
///
/// # Errors
/// As [`all`].
pub fn foolsgold(linkage: Linkage, allocator: Allocator) -> anyhow::Result<PathBuf> {
    let mut command = Command::new(run::cargo());
    command.args([
        "build",
        "--quiet",
        "--release",
        "--package",
        "foolsgold",
        "--bin",
        "foolsgold",
        "--no-default-features",
    ]);
    if allocator != Allocator::System {
        command.args(["--features", allocator.name()]);
    }
    let target = run::target();
    let mut folder = target.clone();
    if let Linkage::Musl(processor) = linkage {
        let triple = processor.triple();
        command.args(["--target", triple]);
        folder.push(triple);
        with_c_compiler(&mut command, processor)?;
    }
    finish(command, "foolsgold")?;
    // The next build of another kind would replace it.
    let place = target.join("foolsgold").join(linkage.name()).join(allocator.name());
    fs::create_dir_all(&place)?;
    let file = place.join("foolsgold");
    // A running one cannot be written to.
    if file.exists() {
        fs::remove_file(&file)?;
    }
    fs::copy(folder.join("release/foolsgold"), &file).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}

/// Builds a product as it is released: static for a processor, without a path of this machine in it. `sources` is the
/// workspace, `target` where cargo builds.
///
/// # Errors
/// As [`all`].
pub fn program(sources: &Path, target: &Path, package: &str, processor: Processor) -> anyhow::Result<PathBuf> {
    let triple = processor.triple();
    let home = std::env::var_os("CARGO_HOME")
        .map_or_else(|| std::env::home_dir().unwrap_or_default().join(".cargo"), PathBuf::from);
    // The longest first: cargo may build below the sources.
    let places = [(target, "/target"), (sources, "/src"), (home.as_path(), "/cargo")];
    let flags = |option: &str| places.map(|(from, to)| format!("{option}={}={to}", from.display()));
    let mut command = Command::new(run::cargo());
    command.args(["build", "--quiet", "--release", "--locked", "--package", package, "--bin", package]);
    command.args(["--target", triple, "--target-dir"]).arg(target).current_dir(sources);
    // The last flag that fits wins, so that the longest comes last (rustc's --remap-path-prefix, gcc's -ffile-prefix-map).
    let mut rust = flags("--remap-path-prefix");
    rust.reverse();
    let mut c = flags("-ffile-prefix-map");
    c.reverse();
    command.env("CARGO_ENCODED_RUSTFLAGS", rust.join("\x1f"));
    command.env(format!("CFLAGS_{}", triple.replace('-', "_")), c.join(" "));
    with_c_compiler(&mut command, processor)?;
    finish(command, package)?;
    let file = target.join(triple).join("release").join(package);
    is_static(&file)?;
    Ok(file)
}

/// Shows a build and runs it to its end.
fn finish(mut command: Command, package: &str) -> anyhow::Result<()> {
    println!("+ {command:?}");
    let status = command.status().context("cannot start cargo")?;
    if status.success() { Ok(()) } else { bail!("{package} does not build ({status})") }
}

/// The C compiler of a static build: musl-gcc is found by its name, zig is brought.
fn with_c_compiler(command: &mut Command, processor: Processor) -> anyhow::Result<()> {
    match processor {
        Processor::X86_64 => Ok(()),
        Processor::Aarch64 => with_zig(command),
    }
}

/// Lets a build for aarch64 compile C with zig and link with Rust's own linker.
fn with_zig(command: &mut Command) -> anyhow::Result<()> {
    let folder = run::target().join("zig");
    let zig = folder.join("ziglang/zig");
    let version = Command::new(&zig).arg("version").output().map(|output| output.stdout).unwrap_or_default();
    if String::from_utf8_lossy(&version).trim() != ZIG {
        let (package, place) = (format!("ziglang=={ZIG}"), folder.display().to_string());
        let quiet = ["-m", "pip", "install", "--quiet", "--upgrade", "--no-deps", "--target", &place, &package];
        run::must("python3", &quiet).context("zig comes from PyPI by pip (package python3-pip)")?;
    }
    // cc passes clang's name of the target, which zig does not know.
    let compiler = "for word do shift; case $word in --target=*) ;; *) set -- \"$@\" \"$word\" ;; esac; done\n\
                    exec ZIG cc -target aarch64-linux-musl \"$@\"";
    for (name, variable, line) in [
        ("cc", "CC_aarch64_unknown_linux_musl", compiler),
        ("ar", "AR_aarch64_unknown_linux_musl", "exec ZIG ar \"$@\""),
    ] {
        let script = folder.join(name);
        let text = format!("#!/bin/sh\n{}\n", line.replace("ZIG", &format!("'{}'", zig.display())));
        fs::write(&script, text).with_context(|| format!("cannot write {}", script.display()))?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        command.env(variable, script);
    }
    command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER", "rust-lld");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Processor, missing};

    #[test]
    fn what_is_missing_is_known_before_anything_is_compiled() {
        let folder = crate::run::scratch("statics-test").unwrap();
        std::fs::write(folder.join("readelf"), "").unwrap();
        let of = |processors: &[Processor]| missing(processors, folder.as_os_str());
        assert_eq!(of(&[Processor::X86_64]), [("x86_64-linux-musl-gcc", "musl-tools")]);
        assert!(of(&[Processor::Aarch64]).contains(&("pip3", "python3-pip")));
        std::fs::write(folder.join("x86_64-linux-musl-gcc"), "").unwrap();
        assert!(of(&[Processor::X86_64]).is_empty());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
