//! What is installed: loaders with their versions, compilers, emulators.

use super::packages::Package;
use super::{Host, good, missing};
use std::fs;
use std::path::Path;
use underpin_elf::Elf;
use underpin_image::Target;
use underpin_image::boot::program;
use underpin_report::document::doctor::{DoctorItem, Topic};
use underpin_resolve::{Environment, Loader, LoaderKind};

/// Where a compiler comes from.
#[derive(Clone, Copy)]
enum Source {
    /// The distribution.
    Package(Package),
    /// A command of its own, on every distribution.
    Command(&'static str),
}

impl Source {
    /// The command that installs it; `None` if this distribution's package manager is not known.
    fn install(self, host: &Host) -> Option<String> {
        match self {
            Source::Package(package) => host.install(package),
            Source::Command(command) => Some(command.to_owned()),
        }
    }
}

/// Compilers that the verbs or their advice use: name, package, what is not possible without it.
const COMPILERS: [(&str, Source, &str); 5] = [
    ("cc", Source::Package(Package::CCompiler), "C programs cannot be built here"),
    ("clang", Source::Package(Package::Clang), "only gcc can build here"),
    ("musl-gcc", Source::Package(Package::Musl), "static musl programs in C cannot be built here"),
    (
        "rustc",
        Source::Command("curl --proto =https --tlsv1.2 -sSf https://sh.rustup.rs | sh"),
        "Rust programs cannot be built here",
    ),
    (
        "zig",
        Source::Command("python3 -m pip install ziglang"),
        "`zig cc -target ...-gnu.2.28` (pip's: `python3 -m ziglang cc`) cannot lower the glibc floor here",
    ),
];

/// Machines whose programs user-mode QEMU may run.
const EMULATED: [&str; 6] = ["aarch64", "arm", "i386", "ppc64le", "riscv64", "s390x"];

/// Directories of loaders (PT_INTERP names them by absolute path).
const LOADER_DIRS: [&str; 3] = ["/lib64", "/lib", "/lib32"];

/// Every loader in the usual places.
pub(super) fn loaders(host: &Host) -> Vec<DoctorItem> {
    let mut seen = Vec::new();
    let mut items = Vec::new();
    for dir in LOADER_DIRS {
        for name in loader_names(host, dir) {
            let here = host.path(dir).join(&name);
            let Ok(real) = here.canonicalize() else { continue };
            if !seen.contains(&real) {
                items.push(loader(format!("{dir}/{name}"), &real));
                seen.push(real);
            }
        }
    }
    if !items.iter().any(|item| item.name.contains("/ld-musl-")) {
        let effect = "musl programs are resolved by musl's defaults and cannot be run or traced here";
        items.push(missing(Topic::Loaders, "musl", "absent", effect, host.install(Package::Musl)));
    }
    items
}

fn loader_names(host: &Host, dir: &str) -> Vec<String> {
    let entries = fs::read_dir(host.path(dir)).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name.starts_with("ld-linux") || name.starts_with("ld-musl-") || name.starts_with("ld64.so"));
    names.sort();
    names
}

fn loader(name: String, real: &Path) -> DoctorItem {
    let loader = identify(&name, real);
    let libc = loader.as_ref().map_or("not recognised", |loader| match loader.kind {
        LoaderKind::Glibc => "glibc",
        LoaderKind::Musl => "musl",
        LoaderKind::None => "not recognised",
    });
    let version = loader.and_then(|loader| loader.version).map_or_else(String::new, |version| format!(" {version}"));
    good(Topic::Loaders, &name, format!("{libc}{version} ({})", real.display()))
}

/// Which C library's loader it is, from its own bytes.
fn identify(name: &str, real: &Path) -> Option<Loader> {
    let bytes = fs::read(real).ok()?;
    let ident = Elf::read(bytes.as_slice()).ok()?.ident;
    Some(Loader::identify(name.into(), name.into(), &bytes, &ident, &Environment::empty()))
}

/// Every compiler of the list.
pub(super) fn compilers(host: &Host) -> Vec<DoctorItem> {
    let item = |(name, source, effect): (&str, Source, &str)| match host.program(name) {
        Some(path) => good(Topic::Compilers, name, path.display().to_string()),
        None => missing(Topic::Compilers, name, "absent", effect, source.install(host)),
    };
    COMPILERS.into_iter().map(item).collect()
}

/// The machines that `underpin image run` starts.
pub(super) fn machines(host: &Host) -> Vec<DoctorItem> {
    let item = |target: Target| {
        let (name, _) = program(target);
        let package = match target {
            Target::QemuX86_64 => Package::QemuX86,
            Target::QemuAarch64 | Target::Rpi4 => Package::QemuArm,
        };
        match host.program(name) {
            Some(path) => good(Topic::Emulators, name, path.display().to_string()),
            None => {
                let effect = format!("`underpin image run` starts no image for {target}");
                missing(Topic::Emulators, name, "absent", &effect, host.install(package))
            }
        }
    };
    Target::VIRTUAL.into_iter().map(item).collect()
}

/// The emulators, as one fact: the foreign machines whose programs can be run here.
pub(super) fn emulators(host: &Host) -> Vec<DoctorItem> {
    let found = |machine: &&str| {
        host.program(&format!("qemu-{machine}")).or_else(|| host.program(&format!("qemu-{machine}-static"))).is_some()
    };
    let present: Vec<&str> = EMULATED.into_iter().filter(found).collect();
    let name = "QEMU user mode";
    vec![if present.is_empty() {
        let effect = "programs of other machines are read and resolved all the same, but cannot be run";
        missing(Topic::Emulators, name, "absent", effect, host.install(Package::Qemu))
    } else {
        good(Topic::Emulators, name, present.join(", "))
    }]
}
