//! Rules of the verdict on hand-made facts, and the soundness of the table of systems.

use super::*;
use underpin_elf::{IsaLevel, LibcKind, Linkage};

mod table;
mod unknown;

const GLIBC_LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
const MUSL_LOADER: &str = "/lib/ld-musl-x86_64.so.1";

fn table() -> &'static SystemTable {
    SystemTable::embedded().expect("the embedded table is sound")
}

fn system(id: &str) -> &'static System {
    table().select(id).expect("the system exists")
}

fn program(interpreter: &str, needed: &[&str]) -> ObjectFacts {
    let mut facts = ObjectFacts::new("prog", Arch::X86_64);
    facts.linkage = Linkage::DynamicPie;
    facts.interpreter = Some(interpreter.into());
    facts.needed = needed.iter().map(|name| (*name).into()).collect();
    facts
}

/// `symbols` are names; one that starts with `?` is weak.
fn need(file: &str, version: &str, symbols: &[&str]) -> NeededVersion {
    let symbols = symbols
        .iter()
        .map(|name| NeededSymbol { name: name.trim_start_matches('?').into(), weak: name.starts_with('?') });
    NeededVersion { file: file.into(), version: VersionName::parse(version), weak: false, symbols: symbols.collect() }
}

/// Reduced from a glibc build of fossas/broker.
fn broker() -> ObjectFacts {
    let mut facts = program(GLIBC_LOADER, &["libbz2.so.1.0", "libgcc_s.so.1", "libm.so.6", "libc.so.6"]);
    facts.toolchain = BuiltWith::Rust;
    facts.version_needs = vec![
        need("libm.so.6", "GLIBC_2.29", &["exp", "log", "pow"]),
        need("libc.so.6", "GLIBC_2.2.5", &["malloc"]),
        need("libc.so.6", "GLIBC_2.29", &["posix_spawn_file_actions_addchdir_np"]),
        need("libc.so.6", "GLIBC_2.32", &["pthread_getattr_np"]),
        need("libc.so.6", "GLIBC_2.33", &["stat64", "fstat64"]),
        need("libc.so.6", "GLIBC_2.34", &["__libc_start_main", "pthread_create"]),
        need("libc.so.6", "GLIBC_2.28", &["?statx"]),
        need("libgcc_s.so.1", "GCC_3.0", &["_Unwind_Backtrace"]),
    ];
    facts
}

fn verdict(facts: ObjectFacts, id: &str) -> SystemVerdict {
    let mut compat = check(&Subject::alone(facts), &[system(id)], None);
    compat.systems.remove(0)
}

fn reasons(verdict: &SystemVerdict) -> &[RuledOutBecause] {
    match &verdict.verdict {
        Verdict::RefusesToStart { reasons } => reasons,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

fn missing_versions(verdict: &SystemVerdict) -> Vec<(String, String)> {
    let mut missing: Vec<_> = reasons(verdict)
        .iter()
        .filter_map(|reason| match reason {
            RuledOutBecause::VersionMissing { version, file, .. } => Some((file.to_string(), version.to_string())),
            _ => None,
        })
        .collect();
    missing.sort();
    missing
}

#[test]
fn the_broker_is_refused_on_rhel_8_for_the_versions_its_loader_named() {
    let verdict = verdict(broker(), "rhel8");
    let expected = [
        ("libc.so.6", "GLIBC_2.29"),
        ("libc.so.6", "GLIBC_2.32"),
        ("libc.so.6", "GLIBC_2.33"),
        ("libc.so.6", "GLIBC_2.34"),
        ("libm.so.6", "GLIBC_2.29"),
    ];
    assert_eq!(missing_versions(&verdict), expected.map(|(file, version)| (file.to_owned(), version.to_owned())));
}

#[test]
fn the_broker_lacks_libbz2_under_debians_name_on_rhel_8() {
    let verdict = verdict(broker(), "rhel8");
    let absent = reasons(&verdict).iter().find_map(|reason| match reason {
        RuledOutBecause::LibraryAbsent { soname, instead, .. } => Some((soname.to_string(), instead.as_deref())),
        _ => None,
    });
    assert_eq!(absent, Some(("libbz2.so.1.0".to_owned(), Some("libbz2.so.1"))));
}

#[test]
fn the_broker_runs_where_it_was_built_and_on_later_releases() {
    for id in ["debian12", "debian13", "ubuntu24.04", "arch"] {
        assert_eq!(verdict(broker(), id).verdict, Verdict::Runs, "{id}");
    }
}

#[test]
fn a_static_program_runs_on_every_system_of_its_machine() {
    let mut facts = ObjectFacts::new("prog", Arch::X86_64);
    facts.libc_inside = Some(LibcKind::Musl);
    let systems: Vec<_> = table().systems.iter().collect();
    let compat = check(&Subject::alone(facts), &systems, Some(&Number::new(&[2, 17])));
    for verdict in &compat.systems {
        assert_eq!(verdict.verdict, Verdict::Runs, "{}", verdict.system);
    }
    assert!(compat.passes());
    assert!(compat.advice.lower.is_empty());
}

#[test]
fn a_static_program_of_another_machine_is_refused() {
    let facts = ObjectFacts::new("prog", Arch::Riscv64);
    let verdict = verdict(facts, "rhel8");
    assert!(matches!(reasons(&verdict), [RuledOutBecause::OtherMachine { program, .. }] if program == "riscv64"));
}

#[test]
fn a_library_outside_the_base_install_is_named_with_its_package() {
    let facts = program(GLIBC_LOADER, &["libssl.so.3", "libcrypto.so.3", "libc.so.6"]);
    let verdict = verdict(facts, "debian12");
    let Verdict::RunsIfInstalled { libraries, command } = &verdict.verdict else { panic!("{:?}", verdict.verdict) };
    let found: Vec<_> =
        libraries.iter().map(|library| (library.soname.to_string(), library.package.as_str())).collect();
    let expected = [("libssl.so.3", "libssl3"), ("libcrypto.so.3", "libssl3")];
    assert_eq!(found, expected.map(|(soname, package)| (soname.to_owned(), package)));
    assert_eq!(command.as_deref(), Some("apt-get install libssl3"));
}

#[test]
fn what_travels_along_is_not_asked_of_the_target_but_its_own_needs_are() {
    let mut library = ObjectFacts::new("lib/libfoo.so.7", Arch::X86_64);
    library.linkage = Linkage::SharedLibrary;
    library.soname = Some("libfoo.so.7".into());
    library.needed = vec!["libc.so.6".into()];
    library.version_needs = vec![need("libc.so.6", "GLIBC_2.38", &["strlcpy"])];
    let mut facts = program(GLIBC_LOADER, &["libfoo.so.7", "libc.so.6"]);
    facts.version_needs = vec![need("libfoo.so.7", "FOO_1.0", &["foo"]), need("libc.so.6", "GLIBC_2.14", &["memcpy"])];
    let subject = Subject { companions: vec![library], ..Subject::alone(facts) };
    let compat = check(&subject, &[system("debian12"), system("debian13")], None);
    assert_eq!(missing_versions(&compat.systems[0]), [("libc.so.6".to_owned(), "GLIBC_2.38".to_owned())]);
    assert_eq!(compat.systems[1].verdict, Verdict::Runs);
    let step = &compat.floors.family("GLIBC").expect("a glibc floor").steps[0];
    assert_eq!(step.demands[0].object, "lib/libfoo.so.7");
    assert!(compat.floors.family("FOO").is_none(), "met by what travels along");
}

#[test]
fn a_need_of_weak_symbols_only_still_refuses_because_the_loader_does() {
    let mut facts = program(GLIBC_LOADER, &["libc.so.6"]);
    facts.version_needs =
        vec![need("libc.so.6", "GLIBC_2.17", &["clock_gettime"]), need("libc.so.6", "GLIBC_2.28", &["?statx"])];
    let compat = check(&Subject::alone(facts), &[system("rhel7")], None);
    let glibc = compat.floors.family("GLIBC").expect("a glibc floor");
    assert_eq!((glibc.floor.to_string(), glibc.held_by_weak()), ("2.28".to_owned(), true));
    assert!(matches!(reasons(&compat.systems[0]), [RuledOutBecause::VersionMissing { weak_only: true, .. }]));
    assert_eq!(compat.advice.glibc_without_weak, Some(Number::new(&[2, 17])));
}

#[test]
fn a_need_marked_weak_in_the_file_is_a_note_only() {
    let mut facts = program(GLIBC_LOADER, &["libc.so.6"]);
    let mut optional = need("libc.so.6", "GLIBC_2.28", &["?statx"]);
    optional.weak = true;
    facts.version_needs = vec![optional];
    let verdict = verdict(facts, "rhel7");
    assert_eq!(verdict.verdict, Verdict::Runs);
    assert!(matches!(&verdict.notes[..], [SystemNote::OptionalVersionMissing { .. }]));
}

#[test]
fn a_glibc_program_finds_no_interpreter_on_a_musl_system_and_the_reverse() {
    let refused = verdict(program(GLIBC_LOADER, &["libc.so.6"]), "alpine3.19");
    assert!(matches!(
        reasons(&refused),
        [RuledOutBecause::InterpreterMissing { cause: InterpreterCause::OtherLibc, .. }]
    ));
    let refused = verdict(program(MUSL_LOADER, &["libc.musl-x86_64.so.1"]), "rhel9");
    assert!(matches!(
        reasons(&refused),
        [RuledOutBecause::InterpreterMissing { cause: InterpreterCause::OtherLibc, .. }]
    ));
}

#[test]
fn a_musl_program_runs_on_debian_once_musl_is_installed() {
    let verdict = verdict(program(MUSL_LOADER, &["libc.so"]), "debian12");
    let Verdict::RunsIfInstalled { libraries, .. } = &verdict.verdict else { panic!("{:?}", verdict.verdict) };
    assert_eq!(libraries[0].package, "musl");
    assert_eq!(libraries.len(), 1);
}

#[test]
fn a_musl_program_runs_on_alpine_as_far_as_the_data_goes() {
    let verdict = verdict(program(MUSL_LOADER, &["libz.so.1", "libc.musl-x86_64.so.1"]), "alpine3.21");
    assert_eq!(verdict.verdict, Verdict::Runs);
    assert!(verdict.doubts.is_empty());
}

#[test]
fn a_function_younger_than_the_systems_musl_refuses_and_an_unknown_one_leaves_it_open() {
    let mut facts = program(MUSL_LOADER, &["libc.musl-x86_64.so.1"]);
    facts.plain_imports = vec!["printf".into(), "statx".into()];
    let refused = verdict(facts.clone(), "alpine3.19");
    let expected = RuledOutBecause::SymbolMissing {
        symbol: "statx".into(),
        since: Number::parse("1.2.5"),
        objects: vec!["prog".into()],
    };
    assert_eq!(reasons(&refused), [expected]);
    assert_eq!(verdict(facts.clone(), "alpine3.21").verdict, Verdict::Runs);
    facts.plain_imports = vec!["deflate".into()];
    assert!(matches!(
        reasons(&verdict(facts.clone(), "alpine3.21")),
        [RuledOutBecause::SymbolMissing { since: None, .. }]
    ));
    facts.needed.push("libz.so.1".into());
    let with_zlib = verdict(facts, "alpine3.21").verdict;
    assert!(
        matches!(&with_zlib, Verdict::Unknown { lacks, .. } if *lacks == [UnknownBecause::MuslSymbols]),
        "{with_zlib:?}"
    );
}

#[test]
fn an_interpreter_in_a_private_store_is_missing_everywhere() {
    let facts = program("/nix/store/abc-glibc-2.40/lib/ld-linux-x86-64.so.2", &["libc.so.6"]);
    let compat = check(&Subject::alone(facts), &[system("debian13")], None);
    assert!(matches!(
        reasons(&compat.systems[0]),
        [RuledOutBecause::InterpreterMissing { cause: InterpreterCause::PrivatePath, .. }]
    ));
    let cure = compat.advice.lower.iter().find(|way| way.method == Method::StandardInterpreter);
    assert_eq!(cure.map(|way| way.command.as_str()), Some(&*format!("patchelf --set-interpreter {GLIBC_LOADER} prog")));
}

#[test]
fn relr_without_its_marker_is_refused_and_the_marker_is_a_floor_of_2_36() {
    let mut facts = program(GLIBC_LOADER, &["libc.so.6"]);
    facts.relr = true;
    facts.version_needs = vec![need("libc.so.6", "GLIBC_2.34", &["__libc_start_main"])];
    let unmarked = verdict(facts.clone(), "debian13");
    assert!(matches!(reasons(&unmarked), [RuledOutBecause::RelrUnsupported { .. }]));
    facts.version_needs.push(need("libc.so.6", "GLIBC_ABI_DT_RELR", &[]));
    assert_eq!(verdict(facts.clone(), "debian12").verdict, Verdict::Runs);
    let refused = verdict(facts.clone(), "ubuntu22.04");
    assert_eq!(missing_versions(&refused), [("libc.so.6".to_owned(), "GLIBC_ABI_DT_RELR".to_owned())]);
    let floors = floors(&Subject::alone(facts));
    assert_eq!(floors.glibc(), Some(Number::new(&[2, 36])));
    let glibc = floors.family("GLIBC").expect("a floor of glibc");
    assert_eq!((glibc.floor.to_string(), glibc.held_by_weak()), ("2.36".to_owned(), false), "for who reads that alone");
}

#[test]
fn private_symbols_of_glibc_leave_the_verdict_unknown() {
    let mut facts = program(GLIBC_LOADER, &["libc.so.6"]);
    facts.version_needs = vec![need("libc.so.6", "GLIBC_PRIVATE", &["__libc_fatal"])];
    assert!(matches!(verdict(facts, "debian12").verdict, Verdict::Unknown { lacks, .. } if lacks.len() == 1));
}

#[test]
fn the_libstdcxx_floor_counts_like_that_of_glibc() {
    let mut facts = program(GLIBC_LOADER, &["libstdc++.so.6", "libc.so.6"]);
    facts.version_needs =
        vec![need("libstdc++.so.6", "GLIBCXX_3.4.30", &["_ZSt"]), need("libstdc++.so.6", "CXXABI_1.3.9", &["_Zn"])];
    let refused = verdict(facts.clone(), "rhel9");
    assert_eq!(missing_versions(&refused), [("libstdc++.so.6".to_owned(), "GLIBCXX_3.4.30".to_owned())]);
    assert_eq!(verdict(facts.clone(), "debian12").verdict, Verdict::Runs);
    let unknown = verdict(facts, "sles12sp5");
    assert!(unknown.doubts.contains(&Caveat::LibcNotVerified));
    assert!(
        matches!(&unknown.verdict, Verdict::Unknown { lacks, .. }
        if lacks.iter().any(|lack| matches!(lack, UnknownBecause::Versions { .. }))),
        "{unknown:?}"
    );
}

#[test]
fn a_processor_level_above_the_systems_is_noted() {
    let mut facts = program(GLIBC_LOADER, &["libc.so.6"]);
    facts.x86_level = Some(IsaLevel::V3);
    let verdict_9 = verdict(facts.clone(), "rhel9");
    assert_eq!(verdict_9.verdict, Verdict::Runs);
    assert_eq!(verdict_9.notes, [SystemNote::CpuAboveBaseline { needs: IsaLevel::V3, guaranteed: IsaLevel::V2 }]);
    assert!(verdict(facts, "rhel10").notes.is_empty());
}

#[test]
fn a_kernel_floor_above_the_systems_kernel_refuses() {
    let mut facts = ObjectFacts::new("prog", Arch::X86_64);
    facts.kernel = Number::parse("4.4");
    assert!(matches!(reasons(&verdict(facts.clone(), "rhel7")), [RuledOutBecause::KernelTooOld { .. }]));
    assert_eq!(verdict(facts, "debian12").verdict, Verdict::Runs);
}

#[test]
fn a_limit_on_glibc_names_what_is_above_it() {
    let compat = check(&Subject::alone(broker()), &[], Some(&Number::new(&[2, 32])));
    let gate = compat.max_glibc.as_ref().expect("a gate");
    assert!(!compat.passes());
    let above: Vec<_> = gate.above.iter().map(|step| step.version.to_string()).collect();
    assert_eq!(above, ["GLIBC_2.34", "GLIBC_2.33"]);
    assert!(check(&Subject::alone(broker()), &[], Some(&Number::new(&[2, 34]))).passes());
}

#[test]
fn advice_for_a_limit_aims_at_the_limit_and_not_at_the_oldest_system() {
    let systems = [system("rhel7"), system("rhel8")];
    let (subject, max) = (Subject::alone(broker()), Number::new(&[2, 31]));
    let aims = |compat: &Compat| compat.advice.lower.iter().filter_map(|way| way.glibc.clone()).min();
    assert_eq!(aims(&check_limit(&subject, &systems, &max)), Some(max.clone()));
    assert_eq!(aims(&check(&subject, &systems, Some(&max))), Some(Number::new(&[2, 17])));
    assert!(check_limit(&subject, &systems, &Number::new(&[2, 39])).advice.lower.is_empty());
}

#[test]
fn the_advice_targets_the_oldest_system_asked_for() {
    let compat = check(&Subject::alone(broker()), &[system("rhel9"), system("rhel8"), system("debian11")], None);
    let commands: Vec<_> = compat.advice.lower.iter().map(|way| (way.method, way.command.as_str())).collect();
    assert_eq!(commands[0], (Method::ZigGlibc, "underpin build --libc glibc:2.28"));
    assert_eq!(commands[1], (Method::StaticMusl, "underpin build"));
    assert!(commands[2].1.contains("almalinux:8"));
    let reach = compat.advice.reach.iter().find(|reach| reach.system == "debian11").expect("debian11 is refused");
    let symbols: Vec<_> = reach.symbols.iter().filter_map(|drop| drop.symbol.as_ref()).collect();
    assert_eq!(symbols, ["__libc_start_main", "pthread_create", "fstat64", "stat64", "pthread_getattr_np"]);
    assert!(!reach.other_reasons);
}

#[test]
fn a_32_bit_program_needs_the_32_bit_libc_of_a_64_bit_system() {
    let mut facts = program("/lib/ld-linux.so.2", &["libc.so.6"]);
    facts.arch = Some(Arch::I386);
    let verdict_8 = verdict(facts.clone(), "rhel8");
    assert!(
        matches!(&verdict_8.verdict, Verdict::RunsIfInstalled { command: Some(c), .. } if c == "dnf install glibc.i686")
    );
    assert!(verdict_8.notes.contains(&SystemNote::ThirtyTwoBit));
    assert!(matches!(verdict(facts.clone(), "rhel10").verdict, Verdict::Unknown { .. }));
    assert_eq!(verdict(facts, "debian12").verdict, Verdict::Runs, "Debian 12 has an i386 port");
}

/// jemalloc/jemalloc's INSTALL.md, --with-lg-page: "jemalloc aborts if it detects a larger page size than configured".
#[test]
fn a_jemalloc_for_small_pages_is_noted_on_aarch64_alone() {
    use underpin_elf::{Allocator, AllocatorKind, AllocatorNames};
    let notes = |loader: &str, arch, page_size| {
        let mut facts = program(loader, &["libc.so.6"]);
        facts.arch = Some(arch);
        let (kind, names) = (AllocatorKind::Jemalloc, AllocatorNames::Rust);
        facts.allocators = vec![Allocator { kind, version: None, page_size, names, evidence: Vec::new() }];
        verdict(facts, "rhel9").notes
    };
    let of_aarch64 = |page_size| notes("/lib/ld-linux-aarch64.so.1", Arch::Aarch64, page_size);
    assert_eq!(of_aarch64(Some(4096)), [SystemNote::JemallocPages { built_for: 4096 }]);
    assert_eq!(of_aarch64(Some(65536)), []);
    assert_eq!(of_aarch64(None), []);
    assert_eq!(notes(GLIBC_LOADER, Arch::X86_64, Some(4096)), []);
}
