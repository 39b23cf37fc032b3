//! Does a program start on a system? The rules of the kernel and the loaders, applied to facts.
//!
//! The kernel must find PT_INTERP and know the machine; glibc's loader must find every needed file and in it every
//! version name that is not marked weak (`elf/dl-version.c`); musl's ignores versions. Whether the program then works
//! is not checked. If a fact that the loader would need is missing from the table, the verdict is unknown, never a yes.

use super::defined::Defined;
use super::floor::{Demand, FloorStep, Floors, HiddenFloor, HiddenKind};
use super::musl;
use super::platform::{Arch, LibcFamily};
use super::subject::Subject;
use super::systems::{LibraryState, System};
use super::verdict::{
    Caveat, Install, InterpreterCause, MOST_NAMED, RuledOutBecause, SystemNote, SystemVerdict, UnknownBecause, Verdict,
};
use super::version::{Number, VersionName};
use bstr::BString;
use std::collections::{BTreeMap, HashSet};
use underpin_elf::LibcKind;

/// A soname that is not shipped along, and the objects that need it.
type Outside<'a> = (&'a BString, Vec<&'a BString>);

/// Collects the results for one system.
struct Evaluation<'a> {
    subject: &'a Subject,
    outside: &'a [Outside<'a>],
    floors: &'a Floors,
    system: &'a System,
    reasons: Vec<RuledOutBecause>,
    lacks: Vec<UnknownBecause>,
    installs: Vec<Install>,
    /// Sonames about which nothing is known.
    unknown: Vec<BString>,
    doubts: Vec<Caveat>,
    notes: Vec<SystemNote>,
}

/// The verdict for one system. `outside` is [`Subject::outside`], which does not depend on the system.
#[must_use]
pub fn evaluate(subject: &Subject, outside: &[Outside<'_>], floors: &Floors, system: &System) -> SystemVerdict {
    let mut evaluation = Evaluation {
        subject,
        outside,
        floors,
        system,
        reasons: Vec::new(),
        lacks: Vec::new(),
        installs: Vec::new(),
        unknown: Vec::new(),
        doubts: Vec::new(),
        notes: Vec::new(),
    };
    evaluation.machine();
    evaluation.kernel();
    evaluation.cpu();
    evaluation.page_size();
    if subject.program.linkage.is_static() {
        evaluation.static_program();
    } else {
        evaluation.dynamic_program();
    }
    evaluation.finish()
}

impl Evaluation<'_> {
    fn finish(mut self) -> SystemVerdict {
        if !self.unknown.is_empty() {
            let more = self.unknown.len().saturating_sub(MOST_NAMED);
            self.unknown.truncate(MOST_NAMED);
            self.lacks.insert(0, UnknownBecause::Libraries { sonames: self.unknown, more });
        }
        let command = install_command(self.system, &self.installs);
        let verdict = if !self.reasons.is_empty() {
            Verdict::RefusesToStart { reasons: self.reasons }
        } else if !self.lacks.is_empty() {
            Verdict::Unknown { lacks: self.lacks, libraries: self.installs, command }
        } else if !self.installs.is_empty() {
            Verdict::RunsIfInstalled { libraries: self.installs, command }
        } else {
            Verdict::Runs
        };
        SystemVerdict {
            system: self.system.id.clone(),
            name: self.system.name.clone(),
            end_of_life: self.system.end_of_life.clone(),
            verdict,
            doubts: self.doubts,
            notes: self.notes,
        }
    }

    fn machine(&mut self) {
        let program = &self.subject.program;
        let runs = match program.arch {
            Some(Arch::I386) if !self.system.arches.contains(&Arch::I386) => {
                self.notes.push(SystemNote::ThirtyTwoBit);
                self.system.arches.contains(&Arch::X86_64)
            }
            Some(arch) => self.system.arches.contains(&arch),
            None => false,
        };
        if !runs {
            let program = program.arch.map_or_else(|| program.machine.to_string(), |arch| arch.to_string());
            self.notes.clear();
            self.reasons.push(RuledOutBecause::OtherMachine { program, system: self.system.arches.clone() });
        }
    }

    fn kernel(&mut self) {
        let Some(floor) = &self.floors.kernel else { return };
        match &self.system.kernel {
            Some(has) if *has < floor.floor => {
                self.reasons.push(RuledOutBecause::KernelTooOld { needs: floor.floor.clone(), has: has.clone() });
            }
            Some(_) => {}
            // The table omits the kernel only of recent and rolling systems: none of them is this old.
            None if floor.floor <= Number::new(&[4, 0]) => {}
            None => self.lacks.push(UnknownBecause::Kernel { needs: floor.floor.clone() }),
        }
    }

    fn cpu(&mut self) {
        let is_x86 = self.subject.program.arch == Some(Arch::X86_64);
        if let Some(cpu) = self.floors.cpu.as_ref().filter(|cpu| is_x86 && cpu.level > self.system.x86_level) {
            self.notes.push(SystemNote::CpuAboveBaseline { needs: cpu.level, guaranteed: self.system.x86_level });
        }
    }

    /// jemalloc's page size is fixed when it is built. 64 kB is the largest that any kernel for aarch64 has.
    fn page_size(&mut self) {
        const LARGEST: u64 = 65536;
        let program = &self.subject.program;
        let built_for = program.allocators.iter().filter_map(|allocator| allocator.page_size).min();
        if let Some(built_for) = built_for.filter(|size| program.arch == Some(Arch::Aarch64) && *size < LARGEST) {
            self.notes.push(SystemNote::JemallocPages { built_for });
        }
    }

    fn static_program(&mut self) {
        let hazards = &self.subject.program.static_hazards;
        if self.subject.program.libc_inside == Some(LibcKind::Glibc) && !hazards.is_empty() {
            self.notes.push(SystemNote::StaticGlibc { hazards: hazards.clone() });
        }
    }

    fn dynamic_program(&mut self) {
        if !self.system.libc_verified {
            self.doubts.push(Caveat::LibcNotVerified);
        }
        self.interpreter();
        let other_libc = |reason: &RuledOutBecause| {
            matches!(reason, RuledOutBecause::InterpreterMissing { cause: InterpreterCause::OtherLibc, .. })
        };
        if self.reasons.iter().any(other_libc) {
            // The libraries and versions for the system's own C library say nothing about this program.
            return;
        }
        self.libraries();
        // A program for the other C library fails before its versions are checked.
        if self.subject.libc().is_none_or(|kind| kind == self.system.libc.kind) {
            match self.system.libc.kind {
                LibcFamily::Glibc => self.glibc_needs(),
                LibcFamily::Musl => self.musl_needs(),
            }
        }
    }

    fn interpreter(&mut self) {
        let program = &self.subject.program;
        if !program.linkage.is_program() {
            self.foreign_library();
            return;
        }
        let (Some(path), Some(arch)) = (&program.interpreter, program.arch) else { return };
        if path.first() != Some(&b'/') || !self.standard_interpreters(arch).contains(&path.as_slice()) {
            let cause = match LibcFamily::of_interpreter(path) {
                Some(kind) if kind != self.system.libc.kind => InterpreterCause::OtherLibc,
                _ if is_private_path(path) => InterpreterCause::PrivatePath,
                _ => InterpreterCause::NotStandard,
            };
            self.missing_interpreter(path.clone(), cause);
        } else if arch == Arch::I386 && !self.system.arches.contains(&Arch::I386) {
            match &self.system.i386_libc {
                Some(package) => self.install(b"libc.so.6", package.clone(), &[&program.name]),
                None => self.lacks.push(UnknownBecause::ThirtyTwoBit),
            }
        }
    }

    /// The other C library's loader is available as a package on some systems.
    fn missing_interpreter(&mut self, interpreter: BString, cause: InterpreterCause) {
        let package = std::str::from_utf8(&interpreter).ok().and_then(|path| self.system.repo.get(path)).cloned();
        match package {
            Some(package) => {
                let subject = self.subject;
                self.install(&interpreter, package, &[&subject.program.name]);
            }
            None => self.reasons.push(RuledOutBecause::InterpreterMissing { interpreter, cause }),
        }
    }

    /// A library of the other libc cannot be loaded by this system's programs.
    fn foreign_library(&mut self) {
        let foreign = |name: &&BString| LibcFamily::of_soname(name).is_some_and(|kind| kind != self.system.libc.kind);
        if let Some(soname) = self.subject.program.needed.iter().find(foreign) {
            self.reasons.push(RuledOutBecause::LibraryAbsent {
                soname: soname.clone(),
                instead: None,
                needed_by: vec![self.subject.program.name.clone()],
            });
        }
    }

    fn standard_interpreters(&self, arch: Arch) -> Vec<&'static [u8]> {
        match self.system.libc.kind {
            LibcFamily::Glibc => arch.glibc_interpreters().iter().map(|path| path.as_bytes()).collect(),
            LibcFamily::Musl => vec![arch.musl_interpreter().as_bytes()],
        }
    }

    /// Every needed soname that is neither shipped along nor in the base install.
    fn libraries(&mut self) {
        // The system's own libraries are of no use to a program for the other C library.
        let same_libc = self.subject.libc().is_none_or(|kind| kind == self.system.libc.kind);
        for (soname, needed_by) in self.outside {
            let state = if same_libc { self.system.library(soname) } else { LibraryState::Unknown };
            match state {
                LibraryState::Base { .. } => {}
                LibraryState::Repo { package } => self.install(soname, package, needed_by),
                LibraryState::Unknown => self.unknown.push((*soname).clone()),
                LibraryState::Absent { instead } => self.absent(soname, instead, needed_by),
            }
        }
    }

    fn absent(&mut self, soname: &BString, instead: Option<String>, needed_by: &[&BString]) {
        if let Some(instead) = &instead {
            let note = SystemNote::SameLibraryUnderOtherName { soname: soname.clone(), instead: instead.clone() };
            self.notes.push(note);
        }
        let needed_by = needed_by.iter().map(|name| (*name).clone()).collect();
        self.reasons.push(RuledOutBecause::LibraryAbsent { soname: soname.clone(), instead, needed_by });
    }

    fn install(&mut self, soname: &[u8], package: String, needed_by: &[&BString]) {
        let needed_by = needed_by.iter().map(|name| (*name).clone()).collect();
        self.installs.push(Install { soname: soname.into(), package, needed_by });
    }

    fn glibc_needs(&mut self) {
        let floors = self.floors;
        let mut unknown: BTreeMap<&BString, Vec<&VersionName>> = BTreeMap::new();
        let mut missing = 0;
        for step in floors.versions.iter().flat_map(|floor| &floor.steps) {
            match self.defined(&step.file, &step.version) {
                Defined::No(newest) => {
                    missing += usize::from(!step.optional);
                    if missing <= MOST_NAMED {
                        self.version_missing(step, newest);
                    }
                }
                Defined::Unknown if !step.optional => unknown.entry(&step.file).or_default().push(&step.version),
                Defined::Yes | Defined::Unknown => {}
            }
        }
        for hidden in &floors.hidden {
            match &hidden.kind {
                HiddenKind::Private => {
                    self.lacks.push(UnknownBecause::PrivateSymbols { objects: hidden.objects.clone() })
                }
                HiddenKind::RelrWithoutMarker => {
                    self.reasons.push(RuledOutBecause::RelrUnsupported { objects: hidden.objects.clone() });
                }
                HiddenKind::RelrOnMusl => {}
                HiddenKind::Marker { version, file } => match self.defined(file, version) {
                    Defined::Yes => {}
                    Defined::No(_) => {
                        missing += 1;
                        if missing <= MOST_NAMED {
                            self.marker_missing(version, file, hidden);
                        }
                    }
                    Defined::Unknown => unknown.entry(file).or_default().push(version),
                },
            }
        }
        if missing > MOST_NAMED {
            self.reasons.push(RuledOutBecause::MoreMissing { count: missing - MOST_NAMED });
        }
        // A file about which nothing is known is reported once, not again for each version.
        let wholly: HashSet<&BString> = self.unknown.iter().collect();
        let partly = unknown.into_iter().filter(|(file, _)| !wholly.contains(file));
        self.lacks.extend(partly.map(|(file, versions)| UnknownBecause::Versions {
            file: file.clone(),
            more: versions.len().saturating_sub(MOST_NAMED),
            versions: versions.into_iter().take(MOST_NAMED).cloned().collect(),
        }));
    }

    /// Whether the system's copy of a file defines a version.
    fn defined(&self, file: &BString, version: &VersionName) -> Defined {
        self.system.defines(file, version, self.subject.program.arch)
    }

    fn version_missing(&mut self, step: &FloorStep, newest: Option<VersionName>) {
        if step.optional {
            self.notes.push(SystemNote::OptionalVersionMissing { version: step.version.clone() });
            return;
        }
        self.reasons.push(RuledOutBecause::VersionMissing {
            version: step.version.clone(),
            file: step.file.clone(),
            newest,
            weak_only: step.weak_only,
            demands: step.demands.clone(),
        });
    }

    fn marker_missing(&mut self, version: &VersionName, file: &BString, hidden: &HiddenFloor) {
        let demands = hidden.objects.iter().map(|object| Demand { object: object.clone(), symbols: Vec::new() });
        self.reasons.push(RuledOutBecause::VersionMissing {
            version: version.clone(),
            file: file.clone(),
            newest: None,
            weak_only: false,
            demands: demands.collect(),
        });
    }

    /// musl's loader applies DT_RELR since 1.2.4 and checks no versions, only that every symbol is defined.
    fn musl_needs(&mut self) {
        let relr = self.floors.hidden.iter().find(|hidden| hidden.kind == HiddenKind::RelrOnMusl);
        if let Some(hidden) = relr
            && self.system.libc.version < Number::new(&[1, 2, 4])
        {
            self.reasons.push(RuledOutBecause::RelrUnsupported { objects: hidden.objects.clone() });
        }
        let mut missing: BTreeMap<&BString, (Option<Number>, Vec<BString>)> = BTreeMap::new();
        let mut unknown = false;
        for object in self.subject.objects() {
            for symbol in &object.plain_imports {
                let since = musl::since(symbol);
                let absent = match &since {
                    Some(since) => *since > self.system.libc.version,
                    None => musl::imports_from_musl_only(object),
                };
                unknown |= !absent && since.is_none();
                if absent {
                    missing.entry(symbol).or_insert((since, Vec::new())).1.push(object.name.clone());
                }
            }
        }
        if unknown {
            self.lacks.push(UnknownBecause::MuslSymbols);
        }
        let more = missing.len().saturating_sub(MOST_NAMED);
        self.reasons.extend(missing.into_iter().take(MOST_NAMED).map(|(symbol, (since, objects))| {
            RuledOutBecause::SymbolMissing { symbol: symbol.clone(), since, objects }
        }));
        if more > 0 {
            self.reasons.push(RuledOutBecause::MoreMissing { count: more });
        }
    }
}

fn is_private_path(path: &[u8]) -> bool {
    let standard = [&b"/lib/"[..], b"/lib64/", b"/libx32/", b"/usr/"];
    !standard.iter().any(|prefix| path.starts_with(prefix))
}

fn install_command(system: &System, installs: &[Install]) -> Option<String> {
    let mut packages: Vec<&str> = installs.iter().map(|install| install.package.as_str()).collect();
    packages.sort_unstable();
    packages.dedup();
    (!packages.is_empty()).then(|| format!("{} {}", system.install, packages.join(" ")))
}
