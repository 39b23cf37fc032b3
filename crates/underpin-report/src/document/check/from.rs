//! From the floors and verdicts of the resolver to the check document: records, and reasons as clauses.

use super::file_from::file_record;
use super::*;
use crate::bytes::{Raw, visible};
use crate::document::SchemaTag;
use crate::units::count;
use bstr::{BStr, BString, ByteSlice};
use underpin_resolve::compat::{
    self, Advice, Caveat, Compat, Demand, FloorStep, GlibcGate, HiddenFloor, HiddenKind, Install, InterpreterCause,
    Library, LowerFloor, Method, NeededSymbol, ReachSystem, RuledOutBecause, StaticHazard, SystemNote, SystemVerdict,
    UnknownBecause, Verdict, VersionFloor,
};

/// A system is named as within reach if at most this many symbols are in the way.
const NEAR_SYMBOLS: usize = 8;

impl CheckDocument {
    /// The document of a check. If no systems were chosen, the limit and the expectations decide whether it passed.
    #[must_use]
    pub fn new(input: &CheckInput<'_>) -> CheckDocument {
        let compat = input.compat;
        let limit = compat.max_glibc.as_ref().map(LimitRecord::from);
        let kept = limit.as_ref().is_none_or(|limit| limit.kept);
        let systems: Vec<SystemRecord> = compat.systems.iter().map(SystemRecord::from).collect();
        let passed = match (input.systems_chosen, input.strict) {
            (false, _) => kept && compat.meets_expectations(),
            (true, false) => compat.passes(),
            (true, true) => compat.passes_strictly(),
        };
        let mut advice = match input.of_distribution {
            true => of_distribution(&compat.advice, input.program),
            false => advice(&compat.advice, compat),
        };
        advice.extend(missing_facts(compat, input.program).filter(|_| input.systems_chosen));
        CheckDocument {
            schema: SchemaTag::new(),
            program: Raw::from(input.program),
            file: file_record(input, &compat.allocators),
            companions: input.companions.iter().map(Raw::from).collect(),
            floors: compat.floors.versions.iter().map(FloorRecord::from).collect(),
            hidden: compat.floors.hidden.iter().map(HiddenRecord::from).collect(),
            kernel: compat.floors.kernel.as_ref().map(|kernel| bound(kernel.floor.to_string(), &kernel.objects)),
            cpu: compat.floors.cpu.as_ref().map(|cpu| bound(cpu.level.to_string(), &cpu.objects)),
            systems_date: input.systems_date.to_owned(),
            systems_chosen: input.systems_chosen,
            counts: CountsRecord::of(&systems),
            systems,
            limit,
            expectations: compat.expectations.iter().map(ExpectationRecord::from).collect(),
            advice,
            strict: input.strict,
            passed,
        }
    }
}

fn bound(floor: String, objects: &[BString]) -> BoundRecord {
    BoundRecord { floor, objects: raws(objects) }
}

fn raws(names: &[BString]) -> Vec<Raw> {
    names.iter().map(Raw::from).collect()
}

fn shown(bytes: &BString) -> String {
    visible(bytes.as_bstr()).into_owned()
}

fn listed(names: &[BString]) -> String {
    names.iter().map(|name| Raw::from(Raw::from(name).file_name()).to_string()).collect::<Vec<_>>().join(", ")
}

impl From<&VersionFloor> for FloorRecord {
    fn from(floor: &VersionFloor) -> FloorRecord {
        FloorRecord {
            library: match floor.library {
                Library::Glibc => "glibc".to_owned(),
                Library::Libstdcxx => format!("libstdc++ ({})", floor.family),
                Library::Libgcc => "libgcc".to_owned(),
                Library::Openssl => "OpenSSL".to_owned(),
                Library::Other => floor.family.clone(),
            },
            family: floor.family.clone(),
            version: floor.floor.to_string(),
            strong_version: floor.strong_floor.as_ref().map(ToString::to_string),
            steps: floor.steps.iter().map(StepRecord::from).collect(),
        }
    }
}

impl From<&FloorStep> for StepRecord {
    fn from(step: &FloorStep) -> StepRecord {
        StepRecord {
            version: step.version.to_string(),
            file: Raw::from(&step.file),
            weak_only: step.weak_only,
            optional: step.optional,
            demands: step.demands.iter().map(DemandRecord::from).collect(),
        }
    }
}

impl From<&Demand> for DemandRecord {
    fn from(demand: &Demand) -> DemandRecord {
        DemandRecord {
            object: Raw::from(&demand.object),
            symbols: demand.symbols.iter().map(SymbolRecord::from).collect(),
        }
    }
}

impl From<&NeededSymbol> for SymbolRecord {
    fn from(symbol: &NeededSymbol) -> SymbolRecord {
        SymbolRecord { name: Raw::from(&symbol.name), demangled: demangled(&symbol.name), weak: symbol.weak }
    }
}

/// The name as written in C++ or Rust source; `None` if it is a plain name.
fn demangled(name: &BString) -> Option<String> {
    let text = name.to_str().ok().filter(|text| text.starts_with("_Z") || text.starts_with("_R"))?;
    if let Ok(rust) = rustc_demangle::try_demangle(text) {
        return Some(format!("{rust:#}"));
    }
    cpp_demangle::Symbol::new(text.as_bytes()).ok()?.demangle().ok()
}

impl From<&HiddenFloor> for HiddenRecord {
    fn from(hidden: &HiddenFloor) -> HiddenRecord {
        let since = hidden.glibc.as_ref().map_or_else(String::new, |glibc| format!(", first defined by glibc {glibc}"));
        let (version, message) = match &hidden.kind {
            HiddenKind::Marker { version, file } => {
                (Some(version.to_string()), format!("{version} is demanded of {}{since}", shown(file)))
            }
            HiddenKind::RelrWithoutMarker => (
                None,
                "packed relocations (DT_RELR) without GLIBC_ABI_DT_RELR: glibc from 2.36 on refuses them, an older one \
                 leaves them undone and the program crashes"
                    .to_owned(),
            ),
            HiddenKind::RelrOnMusl => {
                (None, "packed relocations (DT_RELR), which musl applies from 1.2.4 on".to_owned())
            }
            HiddenKind::Private => {
                (None, "symbols of GLIBC_PRIVATE, tied to the very glibc it was linked against".to_owned())
            }
        };
        HiddenRecord {
            version,
            message,
            objects: raws(&hidden.objects),
            glibc: hidden.glibc.as_ref().map(ToString::to_string),
        }
    }
}

impl From<&GlibcGate> for LimitRecord {
    fn from(gate: &GlibcGate) -> LimitRecord {
        LimitRecord {
            family: "GLIBC".to_owned(),
            allowed: gate.max.to_string(),
            floor: gate.floor.as_ref().map(ToString::to_string),
            kept: gate.passes,
            above: gate.above.iter().map(StepRecord::from).collect(),
            hidden: gate.hidden.iter().map(HiddenRecord::from).collect(),
        }
    }
}

impl From<&compat::ExpectationResult> for ExpectationRecord {
    fn from(judged: &compat::ExpectationResult) -> ExpectationRecord {
        let outcome = match judged.outcome {
            compat::ExpectationOutcome::Met => ExpectationOutcome::Met,
            compat::ExpectationOutcome::Unmet => ExpectationOutcome::Unmet,
            compat::ExpectationOutcome::NotKnown => ExpectationOutcome::NotKnown,
        };
        ExpectationRecord { text: judged.text.clone(), outcome, found: judged.found.clone() }
    }
}

impl From<&SystemVerdict> for SystemRecord {
    fn from(verdict: &SystemVerdict) -> SystemRecord {
        let mut record = SystemRecord {
            id: verdict.system.clone(),
            name: verdict.name.clone(),
            end_of_life: verdict.end_of_life.clone(),
            answer: Answer::Runs,
            reasons: Vec::new(),
            install: Vec::new(),
            command: None,
            lacks: Vec::new(),
            doubts: verdict.doubts.iter().map(doubt_words).collect(),
            notes: verdict.notes.iter().map(note_words).collect(),
        };
        match &verdict.verdict {
            Verdict::Runs => {}
            Verdict::RunsIfInstalled { libraries, command } => {
                record.answer = Answer::RunsIfInstalled;
                record.install = libraries.iter().map(InstallRecord::from).collect();
                record.command = command.clone();
            }
            Verdict::RefusesToStart { reasons } => {
                record.answer = Answer::Refuses;
                record.reasons = reasons.iter().map(ReasonRecord::from).collect();
            }
            Verdict::Unknown { lacks, libraries, command } => {
                record.answer = Answer::Unknown;
                record.install = libraries.iter().map(InstallRecord::from).collect();
                record.command = command.clone();
                record.lacks = lacks.iter().map(lack_words).collect();
            }
        }
        record
    }
}

impl From<&Install> for InstallRecord {
    fn from(install: &Install) -> InstallRecord {
        InstallRecord {
            soname: Raw::from(&install.soname),
            package: Some(install.package.clone()),
            needed_by: raws(&install.needed_by),
        }
    }
}

impl From<&RuledOutBecause> for ReasonRecord {
    fn from(reason: &RuledOutBecause) -> ReasonRecord {
        let (kind, message) = reason_words(reason);
        let mut record =
            ReasonRecord { kind, message, version: None, newest: None, weak_only: None, demands: Vec::new() };
        if let RuledOutBecause::VersionMissing { version, newest, weak_only, demands, .. } = reason {
            record.version = Some(version.to_string());
            record.newest = newest.as_ref().map(ToString::to_string);
            record.weak_only = Some(*weak_only);
            record.demands = demands.iter().map(DemandRecord::from).collect();
        }
        record
    }
}

fn reason_words(reason: &RuledOutBecause) -> (ReasonKind, String) {
    match reason {
        RuledOutBecause::VersionMissing { version, file, newest, weak_only, .. } => {
            let newest = newest.as_ref().map_or_else(String::new, |newest| format!("; the newest there is {newest}"));
            let weak = if *weak_only { " (only weak symbols ask, and the loader refuses all the same)" } else { "" };
            (ReasonKind::VersionMissing, format!("{} does not define {version}{newest}{weak}", shown(file)))
        }
        RuledOutBecause::InterpreterMissing { interpreter, cause } => {
            let cause = match cause {
                InterpreterCause::OtherLibc => "another C library there",
                InterpreterCause::PrivatePath => "a path of the machine that built it",
                InterpreterCause::NotStandard => "not the path that the platform fixes",
            };
            (ReasonKind::InterpreterMissing, format!("{cause}: no {}", shown(interpreter)))
        }
        RuledOutBecause::OtherMachine { program, system } => {
            let system = system.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            (ReasonKind::OtherMachine, format!("made for {program}; the system is for {system}"))
        }
        RuledOutBecause::LibraryAbsent { soname, instead, needed_by } => {
            let instead = instead.as_ref().map_or_else(String::new, |name| format!(" (it has {name})"));
            let message = format!("no {}{instead}, needed by {}", shown(soname), listed(needed_by));
            (ReasonKind::LibraryAbsent, message)
        }
        RuledOutBecause::KernelTooOld { needs, has } => {
            (ReasonKind::KernelTooOld, format!("needs kernel {needs}; has {has}"))
        }
        RuledOutBecause::SymbolMissing { symbol, since, objects } => {
            let since = since.as_ref().map_or_else(String::new, |since| format!(", first in musl {since}"));
            let message = format!("its musl has no {}{since}, needed by {}", shown(symbol), listed(objects));
            (ReasonKind::SymbolMissing, message)
        }
        RuledOutBecause::RelrUnsupported { objects } => {
            let message = format!("packed relocations (DT_RELR) of {} are refused or not applied", listed(objects));
            (ReasonKind::RelrUnsupported, message)
        }
        RuledOutBecause::MoreMissing { count: further } => {
            (ReasonKind::Other, format!("{} missing besides", count(*further, "further version", "further versions")))
        }
    }
}

fn lack_words(lack: &UnknownBecause) -> String {
    match lack {
        UnknownBecause::PrivateSymbols { objects } => {
            format!("{} use symbols of GLIBC_PRIVATE: whether this glibc has them is in no table", listed(objects))
        }
        UnknownBecause::ThirtyTwoBit => "whether it has a 32-bit C library is not in the data".to_owned(),
        UnknownBecause::Libraries { sonames, more } => {
            format!("not in the data: which package brings {}", some(sonames.iter().map(shown), *more))
        }
        UnknownBecause::Versions { file, versions, more } => {
            let versions = some(versions.iter().map(|version| visible(version.as_str().into()).into_owned()), *more);
            format!("not in the data: whether its {} defines {versions}", shown(file))
        }
        UnknownBecause::Kernel { needs } => format!("not in the data: whether its kernel is at least {needs}"),
        UnknownBecause::MuslSymbols => {
            "not in the data: whether its other libraries have every function (musl has no symbol versions)".to_owned()
        }
    }
}

/// Names with commas between them, and how many more there are.
fn some(names: impl Iterator<Item = String>, more: usize) -> String {
    let names = names.collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{names} and {more} more") } else { names }
}

fn doubt_words(doubt: &Caveat) -> String {
    match doubt {
        Caveat::LibcNotVerified => "the version of its C library is general knowledge, not re-checked".to_owned(),
    }
}

/// How to supply the facts without which some answers are unknown.
fn missing_facts(compat: &Compat, program: &BStr) -> Option<AdviceRecord> {
    let unknown: Vec<&SystemVerdict> =
        compat.systems.iter().filter(|system| matches!(system.verdict, Verdict::Unknown { .. })).collect();
    let first = unknown.first()?;
    let libraries = unknown.iter().any(|system| {
        matches!(&system.verdict, Verdict::Unknown { lacks, .. }
            if lacks.iter().any(|lack| matches!(lack, UnknownBecause::Libraries { .. })))
    });
    let where_ = match unknown.len() {
        1 => first.system.clone(),
        all => format!("{} and {}", first.system, count(all - 1, "further system", "further systems")),
    };
    let ship = if libraries { " Libraries that you ship with it count if `--with DIR` names them." } else { "" };
    let message = format!(
        "The data cannot tell for {where_}, but the system's own files can.{ship} Copy the program into its root folder (an \
         unpacked image, a container's root) and ask there:"
    );
    let name = crate::bytes::quoted(&Raw::from(Raw::from(program).file_name()));
    let command = name.map(|name| format!("underpin tree --root ROOT /{name}"));
    Some(AdviceRecord { rule: "missing_facts".to_owned(), message, command })
}

fn note_words(note: &SystemNote) -> String {
    match note {
        SystemNote::CpuAboveBaseline { needs, guaranteed } => {
            format!("needs a processor of level {needs}; the system guarantees {guaranteed}")
        }
        SystemNote::OptionalVersionMissing { version } => {
            format!("{version} is missing there, which the loader accepts: the need is marked weak")
        }
        SystemNote::ThirtyTwoBit => "32-bit on a 64-bit system".to_owned(),
        SystemNote::StaticGlibc { hazards } => {
            let what = hazards.iter().map(|hazard| match hazard {
                StaticHazard::NameService => "name services",
                StaticHazard::Iconv => "iconv",
            });
            let what = what.collect::<Vec<_>>().join(", ");
            format!("static glibc, but {what} need files of exactly the same glibc")
        }
        SystemNote::JemallocPages { built_for } => format!(
            "its jemalloc aborts on kernels with pages above {} kB (build it with LG_PAGE=16)",
            built_for / 1024
        ),
        SystemNote::SameLibraryUnderOtherName { soname, instead } => {
            format!("it has {instead} in place of {}; a symbolic link may do, at your own risk", shown(soname))
        }
    }
}

/// For users of a program that the distribution built: another system has its own build, or they ship this one.
fn of_distribution(advice: &Advice, program: &BStr) -> Vec<AdviceRecord> {
    if advice.lower.is_empty() {
        return Vec::new();
    }
    let message = "It is the distribution's own build: where it does not run, install that system's package of it, or \
                   ship this one with its libraries and loader:";
    let folder = Raw::from(Raw::from(program).file_name()).to_string() + "-bundle";
    let words = crate::bytes::quoted(&Raw::from(program)).zip(crate::bytes::quoted(&folder.as_str().into()));
    let command = words.map(|(program, folder)| format!("underpin bundle {program} -o {folder}"));
    vec![AdviceRecord { rule: "distribution".to_owned(), message: message.to_owned(), command }]
}

/// The ways to lower the floor, then the nearest system, then what weak symbols cost.
fn advice(advice: &Advice, compat: &Compat) -> Vec<AdviceRecord> {
    let now = compat.floors.glibc().map(|floor| floor.to_string());
    let mut records: Vec<AdviceRecord> = advice.lower.iter().map(|way| way_record(way, now.as_deref())).collect();
    records.extend(nearest(&advice.reach));
    if let Some(glibc) = &advice.glibc_without_weak {
        let message =
            format!("Only weak symbols hold the floor above glibc {glibc}: without them it would start there.");
        records.push(AdviceRecord { rule: "drop_weak".to_owned(), message, command: None });
    }
    records
}

fn way_record(way: &LowerFloor, now: Option<&str>) -> AdviceRecord {
    let from = now.map_or_else(String::new, |now| format!(" in place of {now}"));
    let to = way.glibc.as_ref().map_or_else(String::new, |glibc| format!(" {glibc}"));
    let (rule, message) = match way.method {
        Method::ZigGlibc => ("zig_glibc", format!("Link against the symbols of glibc{to}{from}, which zig carries:")),
        Method::StaticMusl => {
            ("static_musl", "Link everything in with musl: it then asks nothing of the system's C library:".to_owned())
        }
        Method::GoWithoutCgo => {
            ("go_without_cgo", "Leave the C library out: pure Go calls the kernel itself:".to_owned())
        }
        Method::OlderSystem => {
            ("older_system", format!("Or build on a system whose glibc is no newer than{to}{from}:"))
        }
        Method::StandardInterpreter => {
            ("standard_interpreter", "Point it at the loader where every system has it:".to_owned())
        }
    };
    AdviceRecord { rule: rule.to_owned(), message, command: Some(way.command.clone()) }
}

/// The system with the fewest symbols in the way, if only symbols are.
fn nearest(reach: &[ReachSystem]) -> Option<AdviceRecord> {
    let near = reach.iter().filter(|system| !system.other_reasons && system.symbols.len() <= NEAR_SYMBOLS);
    let system = near.min_by_key(|system| system.symbols.len())?;
    let symbols: Vec<String> = system
        .symbols
        .iter()
        .map(|drop| {
            drop.symbol
                .as_ref()
                .map_or_else(|| drop.version.to_string(), |symbol| format!("{} ({})", shown(symbol), drop.version))
        })
        .collect();
    let message = format!(
        "Only {} between it and {} (glibc {}): {}.",
        count(symbols.len(), "symbol stands", "symbols stand"),
        system.system,
        system.glibc,
        symbols.join(", ")
    );
    Some(AdviceRecord { rule: "nearest_system".to_owned(), message, command: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_cpp_and_rust_are_read_back_and_c_is_left_alone() {
        let name = |text: &str| demangled(&BString::from(text));
        assert_eq!(
            name("_ZNSt6vectorIiSaIiEE9push_backERKi").unwrap(),
            "std::vector<int, std::allocator<int> >::push_back(int const&)"
        );
        assert_eq!(name("_ZN4core3fmt5Write9write_str17h0123456789abcdefE").unwrap(), "core::fmt::Write::write_str");
        assert_eq!(name("pthread_create"), None);
        assert_eq!(name("_Zgarbage"), None);
    }
}
