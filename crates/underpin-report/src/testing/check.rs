//! Check and doctor documents built by hand.

use crate::bytes::Raw;
use crate::document::SchemaTag;
use crate::document::check::*;
use crate::document::doctor::{DoctorDocument, DoctorItem, State, Topic};

fn symbols(names: &[&str]) -> Vec<SymbolRecord> {
    names.iter().map(|&name| SymbolRecord { name: name.into(), demangled: None, weak: false }).collect()
}

fn step(version: &str, names: &[&str]) -> StepRecord {
    StepRecord {
        version: version.to_owned(),
        file: "libc.so.6".into(),
        weak_only: false,
        optional: false,
        demands: vec![DemandRecord { object: "/opt/app/bin/app".into(), symbols: symbols(names) }],
    }
}

fn hardening(name: &str, state: HardeningState, text: &str) -> HardeningRecord {
    HardeningRecord { name: name.to_owned(), state, text: text.to_owned() }
}

fn file() -> FileRecord {
    FileRecord {
        machine: "x86-64".to_owned(),
        class_bits: 64,
        byte_order: "little".to_owned(),
        linkage: "dynamic PIE".to_owned(),
        bytes: 4_404_019,
        interpreter: Some("/lib64/ld-linux-x86-64.so.2".into()),
        libc: Some(LibcRecord {
            name: "glibc".to_owned(),
            version: None,
            inside: false,
            evidence: vec!["interpreter /lib64/ld-linux-x86-64.so.2".to_owned()],
        }),
        allocator: AllocatorRecord {
            name: Some("jemalloc".to_owned()),
            origin: AllocatorOrigin::InFile,
            ..AllocatorRecord::default()
        },
        served_by: Vec::new(),
        allocator_hints: Vec::new(),
        claims: Vec::new(),
        allocators: vec![PartRecord {
            name: "jemalloc".to_owned(),
            version: Some("5.99.0".into()),
            evidence: vec!["defines je_malloc_conf".to_owned()],
        }],
        languages: vec![PartRecord { name: "Rust".to_owned(), version: Some("1.99.0".into()), evidence: vec![] }],
        stripped: true,
        build_id: Some("00ff".to_owned()),
        hardening: vec![
            hardening("pie", HardeningState::Good, "random address"),
            hardening("relro", HardeningState::Weak, "partial RELRO"),
            hardening("stack", HardeningState::Bad, "executable stack"),
            hardening("canary", HardeningState::Unknown, "stack canary not known"),
        ],
    }
}

fn system(id: &str, name: &str, answer: Answer) -> SystemRecord {
    SystemRecord {
        id: id.to_owned(),
        name: name.to_owned(),
        end_of_life: Some("2099-05-31".to_owned()),
        answer,
        reasons: Vec::new(),
        install: Vec::new(),
        command: None,
        lacks: Vec::new(),
        doubts: Vec::new(),
        notes: Vec::new(),
    }
}

fn version_missing(version: &str, names: &[&str]) -> ReasonRecord {
    ReasonRecord {
        kind: ReasonKind::VersionMissing,
        message: format!("libc.so.6 does not define {version}; the newest there is GLIBC_2.28"),
        version: Some(version.to_owned()),
        newest: Some("GLIBC_2.28".to_owned()),
        weak_only: Some(false),
        demands: step(version, names).demands,
    }
}

fn systems() -> Vec<SystemRecord> {
    let mut refuses = system("rhel8", "RHEL 8", Answer::Refuses);
    refuses.reasons = vec![
        version_missing("GLIBC_2.34", &["__libc_start_main", "pthread_create", "dlsym", "stat", "fstat"]),
        version_missing("GLIBC_2.32", &["pthread_sigmask"]),
        version_missing("GLIBC_2.29", &["pow"]),
    ];
    let mut installs = system("debian12", "Debian 12", Answer::RunsIfInstalled);
    installs.install =
        vec![InstallRecord { soname: "libfoo.so.1".into(), package: Some("libfoo1".to_owned()), needed_by: vec![] }];
    installs.command = Some("apt-get install libfoo1".to_owned());
    let mut other = system("alpine3.99", "Alpine 3.99", Answer::Refuses);
    other.reasons = vec![ReasonRecord {
        kind: ReasonKind::InterpreterMissing,
        message: "no /lib64/ld-linux-x86-64.so.2: this system's C library is musl".to_owned(),
        version: None,
        newest: None,
        weak_only: None,
        demands: Vec::new(),
    }];
    let mut unknown = system("odd1", "A System With a Rather Long Name Indeed 1", Answer::Unknown);
    unknown.lacks = vec!["not in the data: whether its liblzma.so.5 defines XZ_5.4".to_owned()];
    let mut runs = system("debian13", "Debian 13", Answer::Runs);
    runs.doubts = vec!["the version of its C library is general knowledge, not re-checked".to_owned()];
    vec![refuses, installs, runs, other, unknown]
}

/// A program that some systems refuse.
pub(crate) fn sample_check() -> CheckDocument {
    CheckDocument {
        schema: SchemaTag::new(),
        program: "/opt/app/bin/app".into(),
        file: file(),
        companions: Vec::new(),
        floors: vec![
            FloorRecord {
                family: "GLIBC".to_owned(),
                library: "glibc".to_owned(),
                version: "2.34".to_owned(),
                strong_version: Some("2.32".to_owned()),
                steps: vec![
                    step("GLIBC_2.34", &["__libc_start_main", "pthread_create", "dlsym", "stat", "fstat"]),
                    step("GLIBC_2.32", &["pthread_sigmask"]),
                    step("GLIBC_2.29", &["pow"]),
                    step("GLIBC_2.14", &["memcpy"]),
                    step("GLIBC_2.2.5", &["malloc", "free"]),
                ],
            },
            FloorRecord {
                family: "GLIBCXX".to_owned(),
                library: "libstdc++".to_owned(),
                version: "3.4.29".to_owned(),
                strong_version: Some("3.4.29".to_owned()),
                steps: vec![StepRecord {
                    demands: vec![DemandRecord {
                        object: "/opt/app/bin/app".into(),
                        symbols: vec![SymbolRecord {
                            name: "_ZSt28__throw_bad_array_new_lengthv".into(),
                            demangled: Some("std::__throw_bad_array_new_length()".to_owned()),
                            weak: true,
                        }],
                    }],
                    ..step("GLIBCXX_3.4.29", &[])
                }],
            },
        ],
        hidden: vec![HiddenRecord {
            version: Some("GLIBC_ABI_DT_RELR".to_owned()),
            message: "GLIBC_ABI_DT_RELR: packed relocations, accepted from glibc 2.36 on".to_owned(),
            objects: vec!["/opt/app/bin/app".into()],
            glibc: Some("2.36".to_owned()),
        }],
        kernel: Some(BoundRecord { floor: "3.2.0".to_owned(), objects: vec!["/opt/app/bin/app".into()] }),
        cpu: None,
        systems_date: "2099-01-01".to_owned(),
        systems_chosen: false,
        counts: CountsRecord::of(&systems()),
        strict: false,
        systems: systems(),
        limit: None,
        expectations: Vec::new(),
        advice: vec![AdviceRecord {
            rule: "zig_cc".to_owned(),
            message: "Link against an older glibc: GLIBC_2.34 is forced by 5 symbols, which 2.28 has under older \
                      versions"
                .to_owned(),
            command: Some("underpin build --libc glibc:2.28".to_owned()),
        }],
        passed: false,
    }
}

/// The same for a chosen system, a limit, and a library shipped with the program.
pub(crate) fn chosen_check() -> CheckDocument {
    let mut document = sample_check();
    document.companions = vec!["/opt/app/lib/libcore.so.1".into()];
    document.floors[0].steps[0]
        .demands
        .push(DemandRecord { object: "/opt/app/lib/libcore.so.1".into(), symbols: symbols(&["dlopen", "dlerror"]) });
    document.systems.truncate(2);
    document.counts = CountsRecord::of(&document.systems);
    document.systems_chosen = true;
    document.limit = Some(LimitRecord {
        family: "GLIBC".to_owned(),
        allowed: "2.31".to_owned(),
        floor: Some("2.36".to_owned()),
        kept: false,
        hidden: document.hidden.clone(),
        above: document.floors[0].steps[..2].to_vec(),
    });
    document
}

/// Names that would control the terminal or the page.
pub(crate) fn hostile_check() -> CheckDocument {
    let mut document = sample_check();
    let nasty: Raw = "\u{1b}[2J</script><script>alert(1)</script>\u{202e}".into();
    document.program = nasty.clone();
    document.file.interpreter = Some(nasty.clone());
    document.file.languages[0].version = Some(nasty.clone());
    document.floors[0].steps[0].version = nasty.0.to_string();
    document.floors[0].steps[0].demands[0].symbols[0].name = nasty.clone();
    document.floors[1].steps[0].demands[0].symbols[0].demangled = Some("a\n\u{7}<b>".to_owned());
    document.hidden[0].message = nasty.0.to_string();
    document.systems[0].name = "\u{1b}c".to_owned();
    document
}

/// A machine on which something of each kind is missing.
pub(crate) fn sample_doctor() -> DoctorDocument {
    let item = |topic, name: &str, state, value: &str, effect: Option<&str>, fix: Option<&str>| DoctorItem {
        topic,
        name: name.to_owned(),
        state,
        value: value.to_owned(),
        effect: effect.map(str::to_owned),
        fix: fix.map(str::to_owned),
    };
    let items = vec![
        item(Topic::Machine, "CPUs", State::Good, "2", None, None),
        item(
            Topic::Tracing,
            "ptrace scope",
            State::Broken,
            "3: no process may be traced",
            Some("trace and tree --check cannot work until the next boot"),
            Some("sysctl kernel.yama.ptrace_scope=1"),
        ),
        item(
            Topic::Measuring,
            "CPU governor",
            State::Limited,
            "powersave",
            Some("times vary more than they need to"),
            Some("cpupower frequency-set -g performance"),
        ),
        item(Topic::Loaders, "glibc", State::Good, "2.99 at /lib64/ld-linux-x86-64.so.2", None, None),
    ];
    DoctorDocument::new("0.0.0", items)
}
