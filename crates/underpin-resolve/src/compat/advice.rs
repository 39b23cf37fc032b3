//! How to run in more places: the commands that lower a floor, and which symbols keep a program from a system.
//!
//! Only what follows from the file and the verdicts. A command that needs an unknown name is a template (`SOURCE.c`).

use super::floor::Floors;
use super::platform::{Arch, LibcFamily};
use super::subject::{BuiltWith, Subject};
use super::systems::System;
use super::verdict::{RuledOutBecause, SystemVerdict, Verdict};
use super::version::{Number, VersionName};
use bstr::BString;
use serde::Serialize;

/// What could be done.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Advice {
    /// Ways to a lower floor, the least invasive first. Empty when nothing needs lowering.
    pub lower: Vec<LowerFloor>,
    /// The glibc floor without the needs that only weak symbols have, if that is lower than now.
    pub glibc_without_weak: Option<Number>,
    /// For each system that rejects the program because of versions: what would have to go.
    pub reach: Vec<ReachSystem>,
}

/// One way to a lower floor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LowerFloor {
    /// The method.
    pub method: Method,
    /// The command to build with.
    pub command: String,
    /// The floor of glibc afterwards; `None` when no glibc is needed any more.
    pub glibc: Option<Number>,
}

/// The ways to a lower floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Link against stubs of an older glibc, which zig ships for every version.
    ZigGlibc,
    /// Link everything in, with musl.
    StaticMusl,
    /// Leave libc out: pure Go.
    GoWithoutCgo,
    /// Build on the oldest system that has to be supported.
    OlderSystem,
    /// Point the program at the interpreter that every system has.
    StandardInterpreter,
}

/// What keeps a program from running on a system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReachSystem {
    /// The system's identifier.
    pub system: String,
    /// The newest glibc version that may stay.
    pub glibc: Number,
    /// The symbols above it, with version and object.
    pub symbols: Vec<SymbolToDrop>,
    /// Other reasons remain besides these symbols.
    pub other_reasons: bool,
}

/// A symbol that must go, or be bound to an older version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SymbolToDrop {
    /// The name; `None` for a version that is required without a symbol.
    pub symbol: Option<BString>,
    /// The version.
    pub version: VersionName,
    /// The object.
    pub object: BString,
    /// The symbol is weak: the program already copes without it.
    pub weak: bool,
}

/// The oldest glibc that is easy to link against: Rust's own floor, and that of `manylinux2014`.
const OLDEST_GLIBC: [u32; 2] = [2, 17];

/// Works out the advice. `systems` are the ones asked about, with their verdicts.
pub(super) fn advise(
    subject: &Subject,
    floors: &Floors,
    systems: &[(&System, SystemVerdict)],
    max_glibc: Option<&Number>,
) -> Advice {
    let reach: Vec<_> = systems.iter().filter_map(|(system, verdict)| reach(system, verdict)).collect();
    let fails_gate = max_glibc.filter(|max| floors.glibc().is_some_and(|floor| floor > **max));
    let refused_libc = systems.iter().any(|(_, verdict)| refuses_for_libc(verdict));
    let target = reach.iter().map(|reach| reach.glibc.clone()).chain(fails_gate.cloned()).min();
    let lower =
        if target.is_some() || refused_libc { ways(subject, target.as_ref(), refused_libc) } else { Vec::new() };
    Advice { lower, glibc_without_weak: without_weak(floors), reach }
}

fn reach(system: &System, verdict: &SystemVerdict) -> Option<ReachSystem> {
    let Verdict::RefusesToStart { reasons } = &verdict.verdict else { return None };
    let glibc = |reason: &&RuledOutBecause| matches!(reason, RuledOutBecause::VersionMissing { version, .. } if version.family() == "GLIBC");
    let symbols: Vec<_> = reasons.iter().filter(glibc).flat_map(symbols_of).collect();
    let other_reasons = reasons.iter().any(|reason| !glibc(&reason));
    (!symbols.is_empty()).then(|| ReachSystem {
        system: system.id.clone(),
        glibc: system.libc.version.clone(),
        symbols,
        other_reasons,
    })
}

fn symbols_of(reason: &RuledOutBecause) -> Vec<SymbolToDrop> {
    let RuledOutBecause::VersionMissing { version, demands, .. } = reason else { return Vec::new() };
    let mut out = Vec::new();
    for demand in demands {
        let drop =
            |symbol, weak| SymbolToDrop { symbol, version: version.clone(), object: demand.object.clone(), weak };
        if demand.symbols.is_empty() {
            out.push(drop(None, false));
        }
        out.extend(demand.symbols.iter().map(|symbol| drop(Some(symbol.name.clone()), symbol.weak)));
    }
    out
}

/// Refusals that another glibc version would not fix but a static build would.
fn refuses_for_libc(verdict: &SystemVerdict) -> bool {
    let Verdict::RefusesToStart { reasons } = &verdict.verdict else { return false };
    reasons.iter().any(|reason| {
        matches!(
            reason,
            RuledOutBecause::InterpreterMissing { .. }
                | RuledOutBecause::LibraryAbsent { .. }
                | RuledOutBecause::RelrUnsupported { .. }
        ) || matches!(reason, RuledOutBecause::VersionMissing { version, .. } if version.family() != "GLIBC")
    })
}

fn without_weak(floors: &Floors) -> Option<Number> {
    let hidden = floors.hidden.iter().filter_map(|hidden| hidden.glibc.as_ref()).max();
    let family = floors.family("GLIBC")?;
    let strong = family.strong_floor.as_ref()?;
    let lower = strong.max(hidden.unwrap_or(strong));
    (floors.glibc().as_ref() > Some(lower)).then(|| lower.clone())
}

fn ways(subject: &Subject, target: Option<&Number>, whole_libc: bool) -> Vec<LowerFloor> {
    let program = &subject.program;
    let Some(arch) = program.arch.filter(|_| !program.linkage.is_static()) else { return Vec::new() };
    let floor = target.cloned().filter(|_| subject.libc() == Some(LibcFamily::Glibc)).map(|glibc| {
        // These tools have no stubs for older versions.
        glibc.max(Number::new(&OLDEST_GLIBC))
    });
    let mut ways = Vec::new();
    if program.toolchain == BuiltWith::Go {
        ways.push(LowerFloor {
            method: Method::GoWithoutCgo,
            command: "CGO_ENABLED=0 go build".to_owned(),
            glibc: None,
        });
    }
    if let Some(glibc) = &floor {
        ways.push(older_glibc(program.toolchain, arch, glibc));
    }
    // A shared library cannot be made static.
    if program.linkage.is_program() && (whole_libc || floor.is_some()) {
        ways.extend(static_musl(program.toolchain, arch));
    }
    if let Some(glibc) = floor {
        let command = older_system(&glibc);
        ways.push(LowerFloor { method: Method::OlderSystem, command, glibc: Some(glibc) });
    }
    ways.extend(standard_interpreter(subject, arch));
    ways
}

/// Links against an older glibc, whose stubs zig ships.
fn older_glibc(toolchain: BuiltWith, arch: Arch, glibc: &Number) -> LowerFloor {
    let triple = format!("{}-linux-gnu.{glibc}", arch.triple_name());
    let command = match (toolchain, target(arch)) {
        (BuiltWith::Go, _) => format!("CGO_ENABLED=1 CC='zig cc -target {triple}' go build"),
        (_, Some(target)) => format!("underpin build{} --libc glibc:{glibc}{target}", source(toolchain)),
        (BuiltWith::Cxx, None) => format!("zig c++ -target {triple} -o PROG SOURCE.cc"),
        (_, None) => format!("zig cc -target {triple} -o PROG SOURCE.c"),
    };
    LowerFloor { method: Method::ZigGlibc, command, glibc: Some(glibc.clone()) }
}

/// Links musl in.
fn static_musl(toolchain: BuiltWith, arch: Arch) -> Option<LowerFloor> {
    let triple = format!("{}-linux-musl", arch.triple_name());
    let command = match (toolchain, target(arch)) {
        (BuiltWith::Go, _) => return None,
        (_, Some(target)) => format!("underpin build{}{target}", source(toolchain)),
        (BuiltWith::Cxx, None) => format!("zig c++ -target {triple} -static -o PROG SOURCE.cc"),
        (_, None) => format!("zig cc -target {triple} -static -o PROG SOURCE.c"),
    };
    Some(LowerFloor { method: Method::StaticMusl, command, glibc: None })
}

/// What is built: a Rust program from the folder with its Cargo.toml, which is most often the current one.
fn source(toolchain: BuiltWith) -> &'static str {
    if toolchain == BuiltWith::Rust { "" } else { " PROJECT" }
}

/// The option of `underpin build` for a processor, empty for this machine's; `None` if it does not build for it.
fn target(arch: Arch) -> Option<String> {
    match arch {
        Arch::X86_64 | Arch::Aarch64 | Arch::Riscv64 if arch.triple_name() == std::env::consts::ARCH => {
            Some(String::new())
        }
        Arch::X86_64 | Arch::Aarch64 | Arch::Riscv64 => Some(format!(" --target {}", arch.triple_name())),
        _ => None,
    }
}

/// The newest public image whose glibc is not newer than the target.
fn older_system(glibc: &Number) -> String {
    const IMAGES: [([u32; 2], &str); 7] = [
        ([2, 39], "ubuntu:24.04"),
        ([2, 36], "debian:12"),
        ([2, 35], "ubuntu:22.04"),
        ([2, 34], "almalinux:9"),
        ([2, 31], "debian:11"),
        ([2, 28], "almalinux:8"),
        ([2, 17], "centos:7"),
    ];
    let image = IMAGES.iter().find(|(version, _)| Number::new(version) <= *glibc).map_or("centos:7", |(_, name)| name);
    format!("docker run --rm -v \"$PWD\":/src -w /src {image} BUILD-COMMAND")
}

/// A program whose interpreter is in a private store can be pointed at the standard one.
fn standard_interpreter(subject: &Subject, arch: Arch) -> Option<LowerFloor> {
    let path = subject.program.interpreter.as_ref()?;
    let kind = LibcFamily::of_interpreter(path)?;
    let standard = match kind {
        LibcFamily::Glibc => *arch.glibc_interpreters().first()?,
        LibcFamily::Musl => arch.musl_interpreter(),
    };
    (path != standard).then(|| LowerFloor {
        method: Method::StandardInterpreter,
        command: format!("patchelf --set-interpreter {standard} {}", subject.program.name),
        glibc: None,
    })
}
