//! Does a program start on a system? The rules of the kernel and the loaders, applied to facts.
//!
//! The kernel must find PT_INTERP and know the machine; glibc's loader must find every needed file and in it every
//! version name that is not marked weak (`elf/dl-version.c`); musl's looks at no version. Whether the program then does
//! its work is not asked. Where the table lacks a fact the verdict carries a doubt or is unknown.

use super::floor::{Demand, FloorStep, Floors, HiddenFloor, HiddenKind};
use super::musl;
use super::platform::{Arch, LibcFamily};
use super::subject::Subject;
use super::systems::{LibraryState, System};
use super::verdict::{Doubt, Install, InterpreterCause, Lack, Note, Reason, SystemVerdict, Verdict};
use super::version::{Number, VersionName};
use bstr::BString;
use std::collections::BTreeMap;
use underpin_elf::LibcKind;

/// Collects what one system has to say.
struct Judge<'a> {
    subject: &'a Subject,
    floors: &'a Floors,
    system: &'a System,
    reasons: Vec<Reason>,
    lacks: Vec<Lack>,
    installs: Vec<Install>,
    doubts: Vec<Doubt>,
    notes: Vec<Note>,
}

/// The verdict for one system.
#[must_use]
pub fn judge(subject: &Subject, floors: &Floors, system: &System) -> SystemVerdict {
    let mut judge = Judge {
        subject,
        floors,
        system,
        reasons: Vec::new(),
        lacks: Vec::new(),
        installs: Vec::new(),
        doubts: Vec::new(),
        notes: Vec::new(),
    };
    judge.machine();
    judge.kernel();
    judge.cpu();
    if subject.program.linkage.is_static() {
        judge.static_program();
    } else {
        judge.dynamic_program();
    }
    judge.finish()
}

impl Judge<'_> {
    fn finish(self) -> SystemVerdict {
        let verdict = if !self.reasons.is_empty() {
            Verdict::RefusesToStart { reasons: self.reasons }
        } else if !self.lacks.is_empty() {
            Verdict::Unknown { lacks: self.lacks }
        } else if !self.installs.is_empty() {
            let command = install_command(self.system, &self.installs);
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
                self.notes.push(Note::ThirtyTwoBit);
                self.system.arches.contains(&Arch::X86_64)
            }
            Some(arch) => self.system.arches.contains(&arch),
            None => false,
        };
        if !runs {
            let program = program.arch.map_or_else(|| program.machine.to_string(), |arch| arch.to_string());
            self.notes.clear();
            self.reasons.push(Reason::OtherMachine { program, system: self.system.arches.clone() });
        }
    }

    fn kernel(&mut self) {
        let Some(floor) = &self.floors.kernel else { return };
        match &self.system.kernel {
            Some(has) if *has < floor.floor => {
                self.reasons.push(Reason::KernelTooOld { needs: floor.floor.clone(), has: has.clone() });
            }
            Some(_) => {}
            // No system of the table is older than the oldest kernel that any maintained glibc asks for.
            None if floor.floor <= Number::new(&[4, 0]) => {}
            None => self.doubts.push(Doubt::KernelNotInData),
        }
    }

    fn cpu(&mut self) {
        let is_x86 = self.subject.program.arch == Some(Arch::X86_64);
        if let Some(cpu) = self.floors.cpu.as_ref().filter(|cpu| is_x86 && cpu.level > self.system.x86_level) {
            self.notes.push(Note::CpuAboveBaseline { needs: cpu.level, guaranteed: self.system.x86_level });
        }
    }

    fn static_program(&mut self) {
        let hazards = &self.subject.program.static_hazards;
        if self.subject.program.libc_inside == Some(LibcKind::Glibc) && !hazards.is_empty() {
            self.notes.push(Note::StaticGlibc { hazards: hazards.clone() });
        }
    }

    fn dynamic_program(&mut self) {
        if !self.system.libc_verified {
            self.doubts.push(Doubt::LibcNotVerified);
        }
        self.interpreter();
        let other_libc =
            |reason: &Reason| matches!(reason, Reason::InterpreterMissing { cause: InterpreterCause::OtherLibc, .. });
        if self.reasons.iter().any(other_libc) {
            // Which libraries and versions it has for its own C library says nothing about this program.
            return;
        }
        self.libraries();
        // A program of the other C library does not get as far as its versions.
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
                Some(package) => self.install(b"libc.so.6", Some(package.clone()), program.name.clone()),
                None => self.lacks.push(Lack::ThirtyTwoBit),
            }
        }
    }

    /// The other C library's loader can be had as a package on some systems.
    fn missing_interpreter(&mut self, interpreter: BString, cause: InterpreterCause) {
        let package = std::str::from_utf8(&interpreter).ok().and_then(|path| self.system.repo.get(path)).cloned();
        match package {
            Some(package) => {
                let program = self.subject.program.name.clone();
                self.install(&interpreter, Some(package), program);
            }
            None => self.reasons.push(Reason::InterpreterMissing { interpreter, cause }),
        }
    }

    /// A library of the other libc cannot be loaded by this system's programs.
    fn foreign_library(&mut self) {
        let foreign = |name: &&BString| LibcFamily::of_soname(name).is_some_and(|kind| kind != self.system.libc.kind);
        if let Some(soname) = self.subject.program.needed.iter().find(foreign) {
            self.reasons.push(Reason::LibraryAbsent {
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

    /// Every needed soname that neither travels along nor is in the base install.
    fn libraries(&mut self) {
        let subject = self.subject;
        for object in subject.objects() {
            for soname in &object.needed {
                if !subject.carries(soname) && LibcFamily::of_soname(soname).is_none() {
                    self.library(soname, &object.name);
                }
            }
        }
    }

    fn library(&mut self, soname: &BString, needed_by: &BString) {
        // The system's own libraries are of no use to a program of the other C library.
        let same_libc = self.subject.libc().is_none_or(|kind| kind == self.system.libc.kind);
        let state = if same_libc { self.system.library(soname) } else { LibraryState::Unknown };
        match state {
            LibraryState::Base { .. } => {}
            LibraryState::Repo { package } => self.install(soname, Some(package), needed_by.clone()),
            LibraryState::Unknown => {
                let doubt = Doubt::LibraryNotInData { soname: soname.clone() };
                if !self.doubts.contains(&doubt) {
                    self.doubts.push(doubt);
                }
                self.install(soname, None, needed_by.clone());
            }
            LibraryState::Absent { instead } => self.absent(soname, instead, needed_by),
        }
    }

    fn absent(&mut self, soname: &BString, instead: Option<String>, needed_by: &BString) {
        let known = self.reasons.iter_mut().find_map(|reason| match reason {
            Reason::LibraryAbsent { soname: own, needed_by, .. } if own == soname => Some(needed_by),
            _ => None,
        });
        if let Some(by) = known {
            by.push(needed_by.clone());
            return;
        }
        if let Some(instead) = &instead {
            let note = Note::SameLibraryUnderOtherName { soname: soname.clone(), instead: instead.clone() };
            self.notes.push(note);
        }
        self.reasons.push(Reason::LibraryAbsent {
            soname: soname.clone(),
            instead,
            needed_by: vec![needed_by.clone()],
        });
    }

    fn install(&mut self, soname: &[u8], package: Option<String>, needed_by: BString) {
        match self.installs.iter_mut().find(|install| install.soname == soname) {
            Some(install) if install.needed_by.contains(&needed_by) => {}
            Some(install) => install.needed_by.push(needed_by),
            None => self.installs.push(Install { soname: soname.into(), package, needed_by: vec![needed_by] }),
        }
    }

    fn glibc_needs(&mut self) {
        let floors = self.floors;
        let mut unchecked: BTreeMap<&BString, &VersionName> = BTreeMap::new();
        for step in floors.versions.iter().flat_map(|floor| &floor.steps) {
            match self.newest_defined(step) {
                Defined::Newest(newest) if step.version > newest => self.version_missing(step, Some(newest)),
                Defined::Newest(_) | Defined::FileNotInBase => {}
                Defined::NotInData => {
                    let needs = unchecked.entry(&step.file).or_insert(&step.version);
                    *needs = (*needs).max(&step.version);
                }
            }
        }
        self.doubts.extend(
            unchecked
                .into_iter()
                .map(|(file, needs)| Doubt::VersionsNotInData { file: file.clone(), needs: needs.clone() }),
        );
        for hidden in &floors.hidden {
            self.hidden_need(hidden);
        }
    }

    /// The newest version of a step's family in the system's copy of the file.
    fn newest_defined(&self, step: &FloorStep) -> Defined {
        if !matches!(self.system.library(&step.file), LibraryState::Base { .. }) {
            return Defined::FileNotInBase;
        }
        let family = step.version.family();
        if family == "GLIBC" {
            // Also the historical glibc versions that libraries split off from glibc keep defining.
            return Defined::Newest(VersionName::parse(&format!("GLIBC_{}", self.system.libc.version)));
        }
        self.system.versions.get(family).map_or(Defined::NotInData, |newest| Defined::Newest(newest.clone()))
    }

    fn version_missing(&mut self, step: &FloorStep, newest: Option<VersionName>) {
        if step.optional {
            self.notes.push(Note::OptionalVersionMissing { version: step.version.clone() });
            return;
        }
        self.reasons.push(Reason::VersionMissing {
            version: step.version.clone(),
            file: step.file.clone(),
            newest,
            weak_only: step.weak_only,
            demands: step.demands.clone(),
        });
    }

    fn hidden_need(&mut self, hidden: &HiddenFloor) {
        match &hidden.kind {
            HiddenKind::Private => self.lacks.push(Lack::PrivateSymbols { objects: hidden.objects.clone() }),
            HiddenKind::RelrWithoutMarker => {
                self.reasons.push(Reason::RelrUnsupported { objects: hidden.objects.clone() });
            }
            HiddenKind::RelrOnMusl => {}
            HiddenKind::Marker { version, file } => self.marker(version, file, hidden),
        }
    }

    fn marker(&mut self, version: &VersionName, file: &BString, hidden: &HiddenFloor) {
        let in_base = matches!(self.system.library(file), LibraryState::Base { .. });
        if !in_base || self.system.markers.contains(version.as_str()) {
            return;
        }
        let known_missing = match &hidden.glibc {
            Some(since) => self.system.libc.version < *since || !self.system.markers.is_empty(),
            None => matches!(version.family(), "GLIBC" | "GLIBCXX" | "CXXABI" | "GCC"),
        };
        if known_missing {
            let demands = hidden.objects.iter().map(|object| Demand { object: object.clone(), symbols: Vec::new() });
            self.reasons.push(Reason::VersionMissing {
                version: version.clone(),
                file: file.clone(),
                newest: None,
                weak_only: false,
                demands: demands.collect(),
            });
        } else if hidden.glibc.is_some() {
            self.lacks.push(Lack::Marker { version: version.clone() });
        } else {
            self.doubts.push(Doubt::VersionsNotInData { file: file.clone(), needs: version.clone() });
        }
    }

    /// musl's loader applies DT_RELR since 1.2.4 and looks at no version, only for every symbol.
    fn musl_needs(&mut self) {
        let relr = self.floors.hidden.iter().find(|hidden| hidden.kind == HiddenKind::RelrOnMusl);
        if let Some(hidden) = relr
            && self.system.libc.version < Number::new(&[1, 2, 4])
        {
            self.reasons.push(Reason::RelrUnsupported { objects: hidden.objects.clone() });
        }
        let mut missing: BTreeMap<&BString, (Option<Number>, Vec<BString>)> = BTreeMap::new();
        for object in self.subject.objects() {
            for symbol in &object.plain_imports {
                let since = musl::since(symbol);
                let absent = match &since {
                    Some(since) => *since > self.system.libc.version,
                    None => musl::imports_from_musl_only(object),
                };
                if absent {
                    missing.entry(symbol).or_insert((since, Vec::new())).1.push(object.name.clone());
                } else if since.is_none() && !self.doubts.contains(&Doubt::MuslSymbolsNotChecked) {
                    self.doubts.push(Doubt::MuslSymbolsNotChecked);
                }
            }
        }
        self.reasons.extend(missing.into_iter().map(|(symbol, (since, objects))| Reason::SymbolMissing {
            symbol: symbol.clone(),
            since,
            objects,
        }));
    }
}

/// What the table says about the versions of a file.
enum Defined {
    Newest(VersionName),
    FileNotInBase,
    NotInData,
}

fn is_private_path(path: &[u8]) -> bool {
    let standard = [&b"/lib/"[..], b"/lib64/", b"/libx32/", b"/usr/"];
    !standard.iter().any(|prefix| path.starts_with(prefix))
}

fn install_command(system: &System, installs: &[Install]) -> Option<String> {
    let mut packages: Vec<&str> = installs.iter().filter_map(|install| install.package.as_deref()).collect();
    packages.sort_unstable();
    packages.dedup();
    (!packages.is_empty()).then(|| format!("{} {}", system.install, packages.join(" ")))
}
