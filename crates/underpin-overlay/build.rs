//! Compiles the C sources twice: for the target of this build, which links them, and as one relocatable object for each
//! processor that a compiler is found for, which the crate carries as bytes. A processor without a compiler is no error: the
//! reason is kept in the object's place.
#![allow(clippy::print_stdout, reason = "a build script talks to cargo on standard output")]

#[path = "src/flags.rs"]
mod flags;

use flags::{ALWAYS, DIRECT, IF_KNOWN, of_processor, of_strings};
use sha2::{Digest, Sha256};
use std::env;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use underpin_build_support as support;

/// The objects: the constant that holds them, and the source.
const OBJECTS: [(&str, &str); 16] = [
    ("STRINGS", "native/overlay.c"),
    ("NUMBERS", "native/numbers.c"),
    ("RANDOM", "native/random.c"),
    ("STACKS", "native/stacks.c"),
    ("STREAMS", "native/streams.c"),
    ("OPTIONS", "native/options.c"),
    ("DATES", "native/dates.c"),
    ("REGEX", "native/regex.c"),
    ("SEQUENCES", "native/sequences.c"),
    ("UNIVERSAL", "native/universal.c"),
    ("ZONES", "native/zones.c"),
    ("BREAK", "native/break.c"),
    ("ROUNDING", "native/rounding.c"),
    ("SYSLOG", "native/syslog.c"),
    ("OPEN", "native/open.c"),
    ("MESSAGES", "native/messages.c"),
];

/// Those that are in the archive, too. The others replace functions that the C library itself calls, and an archive comes too late
/// for those; or programs in Rust have no use for them.
const IN_ARCHIVE: [&str; 3] = ["STRINGS", "NUMBERS", "RANDOM"];

/// The kernel's names of the processors that there are sources for.
const PROCESSORS: [&str; 2] = ["x86_64", "aarch64"];

fn main() {
    println!("cargo::rerun-if-changed=native");
    let target = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    if PROCESSORS.contains(&target.as_str())
        && let Err(error) = linked()
    {
        println!("cargo::error=underpin-overlay: {}", error.replace('\n', "; "));
    }
    let mut code = String::new();
    for (constant, source) in OBJECTS {
        let _ = writeln!(
            code,
            "pub static {constant}: [(&str, Result<crate::OverlayObject, &str>); {}] = [",
            PROCESSORS.len()
        );
        for processor in PROCESSORS {
            let _ = writeln!(code, "    (\"{processor}\", {}),", embedded(constant, source, processor));
        }
        code.push_str("];\n");
    }
    let out = env::var("OUT_DIR").unwrap_or_default();
    if let Err(error) = std::fs::write(Path::new(&out).join("objects.rs"), code) {
        println!("cargo::error=underpin-overlay: {error}");
    }
}

/// The archive that this build links: with musl's names if the C library is musl, else with names of its own.
fn linked() -> Result<(), String> {
    archive(Some(DIRECT)).or_else(|_| archive(None))
}

fn archive(more: Option<&str>) -> Result<(), String> {
    let mut build = cc::Build::new();
    let processor = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    build.std("c11").opt_level(2).debug(false).warnings(true);
    for flag in ALWAYS {
        build.flag(flag);
    }
    for flag in IF_KNOWN.into_iter().chain(of_strings(&processor)) {
        build.flag_if_supported(flag);
    }
    for flag in of_processor(&processor).iter().copied().chain(more) {
        build.flag(flag);
    }
    if env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|name| name == "musl") {
        build.define("OVERLAY_REPLACES", None);
    }
    build.files(OBJECTS.iter().filter(|(constant, _)| IN_ARCHIVE.contains(constant)).map(|(_, source)| source));
    build.try_compile("underpin_overlay").map_err(|error| error.to_string())
}

/// The code of one object for one processor: what it holds, or why there is none.
fn embedded(constant: &str, source: &str, processor: &str) -> String {
    let out = env::var("OUT_DIR").unwrap_or_default();
    let file = Path::new(&out).join(format!("{}-{processor}.o", constant.to_lowercase()));
    let compilers = support::compilers(processor, || own(processor), "");
    match support::first(processor, &compilers, |compiler| compile(compiler, processor, source, &file)) {
        Ok(mut bytes) => {
            weaken(&mut bytes);
            if let Err(error) = std::fs::write(&file, &bytes) {
                return format!("Err({:?})", error.to_string());
            }
            let sum = Sha256::digest(&bytes).iter().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            });
            let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
            format!(
                "Ok(crate::OverlayObject {{ bytes: include_bytes!({file:?}), sha256: {sum:?}, version: {version:?} }})"
            )
        }
        Err(reason) => format!("Err({reason:?})"),
    }
}

/// Makes the global names of an object weak. It stands on the link line before the program's own objects, and a program may have
/// a function of that name itself, as it may beside a C library in an archive. The sources cannot say so: what is assembled
/// measures from names, which must not be weak then. (gABI, "Symbol Table": binding in the upper half of `st_info`.)
fn weaken(object: &mut [u8]) {
    const SHT_SYMTAB: usize = 2;
    let number = |bytes: &[u8], at: usize, size: usize| {
        let field = bytes.get(at..at + size).unwrap_or_default();
        field.iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte))
    };
    let (sections, count) = (number(object, 0x28, 8), number(object, 0x3c, 2));
    for header in (0..count).map(|index| sections + index * 64) {
        if number(object, header + 4, 4) != SHT_SYMTAB {
            continue;
        }
        let (start, size) = (number(object, header + 24, 8), number(object, header + 32, 8));
        for symbol in object.get_mut(start..start + size).unwrap_or_default().chunks_exact_mut(24) {
            let is_defined = symbol[6..8] != [0, 0];
            if is_defined && symbol[4] >> 4 == 1 {
                symbol[4] = 2 << 4 | symbol[4] & 15;
            }
        }
    }
}

/// The compiler that cargo was told to use, if it is for this processor.
fn own(processor: &str) -> Option<support::Compiler> {
    if !env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == processor) {
        return None;
    }
    let tool = cc::Build::new().try_get_compiler().ok()?;
    let args = tool.args().iter().map(|word| word.to_string_lossy().into_owned());
    let path = tool.path().to_string_lossy().into_owned();
    // Of what cc adds, only what says for which machine; the rest depends on the build's profile.
    Some(std::iter::once(path).chain(args.filter(|word| word.starts_with("--target"))).collect())
}

fn compile(compiler: &[String], processor: &str, source: &str, file: &Path) -> Result<Vec<u8>, String> {
    let (program, args) = compiler.split_first().ok_or("an empty command")?;
    let run = |extra: &[&str]| {
        let mut command = Command::new(program);
        command
            .args(args)
            .args(ALWAYS)
            .args(of_processor(processor))
            .args(extra)
            .args(["-DOVERLAY_REPLACES", "-c", source, "-o"])
            .arg(file);
        command.output()
    };
    let own = if source == OBJECTS[0].1 { of_strings(processor) } else { None };
    let known: Vec<&str> = IF_KNOWN.into_iter().chain(own).collect();
    let mut output = run(&[&known[..], &[DIRECT]].concat()).map_err(|error| error.to_string())?;
    for extra in [&known[..], &[]] {
        if !output.status.success() {
            output = run(extra).map_err(|error| error.to_string())?;
        }
    }
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(said.lines().find(|line| line.contains("error")).unwrap_or("it failed").to_owned());
    }
    std::fs::read(file).map_err(|error| error.to_string())
}
