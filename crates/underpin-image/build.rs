//! Compiles the guest's first process for each processor that a compiler is found for; the crate carries the files as bytes.
//! A processor without a compiler is no error: the reason is kept in the file's place.
#![allow(clippy::print_stdout, reason = "a build script talks to cargo on standard output")]

use std::env;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use underpin_build_support as support;

const SOURCE: &str = "guest/init.c";

/// The kernel's names of the processors that there are system calls for.
const PROCESSORS: [&str; 2] = ["x86_64", "aarch64"];

/// No C library, nothing to set up before, no loop that becomes a call of the function it is in; pages of 4 KiB, as the kernels of
/// the images have them.
const FLAGS: [&str; 19] = [
    "-std=gnu11",
    "-Os",
    "-ffreestanding",
    "-fno-builtin",
    "-fno-pic",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-fno-lto",
    "-fno-sanitize=all",
    "-Wall",
    "-Wextra",
    "-static",
    "-no-pie",
    "-nostdlib",
    "-Wl,--build-id=none",
    "-Wl,-z,noexecstack",
    "-Wl,-z,max-page-size=4096",
    "-Wl,-z,norelro",
    "-Wl,-s",
];

/// What not every compiler has.
const IF_KNOWN: [&str; 2] = ["-fno-tree-loop-distribute-patterns", "-fcf-protection=none"];

fn main() {
    println!("cargo::rerun-if-changed=guest");
    let mut code = format!("pub static INITS: [(&str, Result<&[u8], &str>); {}] = [\n", PROCESSORS.len());
    for processor in PROCESSORS {
        let _ = writeln!(code, "    (\"{processor}\", {}),", embedded(processor));
    }
    code.push_str("];\n");
    let out = env::var("OUT_DIR").unwrap_or_default();
    if let Err(error) = std::fs::write(Path::new(&out).join("inits.rs"), code) {
        println!("cargo::error=underpin-image: {error}");
    }
    if let Err(error) = layers(&Path::new(&out).join("layers.rs")) {
        println!("cargo::error=underpin-image: layers: {error}");
    }
}

/// The layer of the repository's own programs: its sources are beside it, and a carried layer has no folder.
const NOT_CARRIED: &str = "own";

/// The layers of the repository, as a table of paths and bytes.
fn layers(table: &Path) -> std::io::Result<()> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../layers");
    println!("cargo::rerun-if-changed={}", root.display());
    let (mut folders, mut files) = (vec![root.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.extend((path != root.join(NOT_CARRIED)).then_some(path));
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    let mut code = "static LAYERS: &[(&str, &[u8])] = &[\n".to_owned();
    for path in files {
        let name = path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().into_owned();
        let _ = writeln!(code, "    ({name:?}, include_bytes!({:?})),", path.to_string_lossy());
    }
    code.push_str("];\n");
    std::fs::write(table, code)
}

/// The code of one file: what it holds, or why there is none.
fn embedded(processor: &str) -> String {
    let out = env::var("OUT_DIR").unwrap_or_default();
    let file = Path::new(&out).join(format!("init-{processor}"));
    let compilers = support::compilers(processor, || None, "-fuse-ld=lld");
    match support::first(processor, &compilers, |compiler| compile(compiler, processor, &file)) {
        Ok(()) => format!("Ok(include_bytes!({file:?}))"),
        Err(reason) => format!("Err({reason:?})"),
    }
}

fn compile(compiler: &[String], processor: &str, file: &Path) -> Result<(), String> {
    let (program, args) = compiler.split_first().ok_or("an empty command")?;
    // GCC's out-of-line atomics of aarch64 are functions of its library.
    let more: &[&str] = if processor == "aarch64" { &["-mno-outline-atomics"] } else { &[] };
    let run = |extra: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).args(FLAGS).args(more).args(extra).arg(SOURCE).arg("-o").arg(file);
        command.output()
    };
    let mut output = run(&IF_KNOWN).map_err(|error| error.to_string())?;
    if !output.status.success() {
        output = run(&[]).map_err(|error| error.to_string())?;
    }
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.lines().find(|line| line.contains("error")).unwrap_or("it failed").to_owned())
}
