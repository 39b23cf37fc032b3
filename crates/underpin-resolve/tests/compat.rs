//! `check` compared with objdump and readelf for what a file requires, and with real loaders for what they refuse.

mod compat {
    pub mod programs;
}
#[path = "common/release.rs"]
mod release;

use compat::programs::{facts, facts_of, missing_by_loader, rust_program};
use release::Release;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_resolve::compat::{
    Floors, Method, Number, RuledOutBecause, StaticHazard, Subject, SystemNote, SystemTable, SystemVerdict,
    UnknownBecause, Verdict, check, floors,
};
use underpin_test_support::{Fixture, Output, need};

fn table() -> &'static SystemTable {
    SystemTable::embedded().expect("the embedded table is sound")
}

fn check_on(program: &Path, id: &str) -> SystemVerdict {
    let system = table().select(id).expect("a known system");
    check(&Subject::alone(facts(program)), &[system], None).systems.remove(0)
}

fn missing_by_us(verdict: &SystemVerdict) -> BTreeSet<(String, String)> {
    let Verdict::RefusesToStart { reasons } = &verdict.verdict else { return BTreeSet::new() };
    let missing = reasons.iter().filter_map(|reason| match reason {
        RuledOutBecause::VersionMissing { version, file, .. } => Some((file.to_string(), version.to_string())),
        _ => None,
    });
    missing.collect()
}

/// (file, version, symbol) of every need in the floors.
fn needs(floors: &Floors) -> BTreeSet<(String, String, String)> {
    let steps = floors.versions.iter().flat_map(|floor| &floor.steps);
    let symbols = steps.flat_map(|step| {
        let names = step.demands.iter().flat_map(|demand| &demand.symbols);
        names.map(move |symbol| (step.file.to_string(), step.version.to_string(), symbol.name.to_string()))
    });
    symbols.collect()
}

/// The ELF programs and libraries of a folder, every `step`-th of them.
fn sample(folder: &str, step: usize) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
        .unwrap_or_default();
    files.retain(|path: &PathBuf| path.is_file() && !path.is_symlink());
    files.sort();
    files.into_iter().step_by(step).filter(|path| facts_of(path).is_some()).collect()
}

#[test]
fn symbols_and_their_versions_are_those_that_objdump_prints() {
    need!("objdump");
    let files: Vec<_> = ["/usr/bin", "/usr/lib/x86_64-linux-gnu"].iter().flat_map(|dir| sample(dir, 23)).collect();
    assert!(files.len() > 10, "only {} files to compare", files.len());
    let mut compared = 0;
    for file in &files {
        let ours: BTreeSet<_> = needs(&floors(&Subject::alone(facts(file))))
            .into_iter()
            .map(|(_, version, symbol)| (version, symbol))
            .collect();
        let theirs = objdump_needs(file);
        compared += theirs.len();
        let difference: Vec<_> = ours.symmetric_difference(&theirs).collect();
        assert!(difference.is_empty(), "{}: {difference:?}", file.display());
    }
    assert!(compared > 500, "only {compared} symbols compared");
}

/// Undefined symbols with a numbered version, as `objdump -T` prints them.
fn objdump_needs(file: &Path) -> BTreeSet<(String, String)> {
    let text = Output::of(Command::new("objdump").arg("-T").arg(file).env("LC_ALL", "C")).stdout;
    // `ALSA_0.9.0rc4` is a name: no number is before or after it.
    let is_number =
        |text: &str| text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains(|c: char| c.is_alphabetic());
    let numbered = |version: &str| version.rsplit('_').next().is_some_and(is_number);
    let needs = text.lines().filter_map(|line| {
        // ADDRESS FLAGS *UND*<tab>SIZE (VERSION) NAME; a version in parentheses is one that is not defined here.
        let words: Vec<_> = line.split_whitespace().collect();
        let version = words.iter().rev().nth(1)?.strip_prefix('(')?.strip_suffix(')')?;
        // Data copied out of a library is in a program's own sections under the library's version.
        let asked = line.contains("*UND*") || file.starts_with("/usr/bin");
        (asked && numbered(version)).then(|| (version.to_owned(), words[words.len() - 1].to_owned()))
    });
    needs.collect()
}

#[test]
fn a_rust_program_built_here_is_refused_on_rhel_8_with_the_symbols_that_forbid_it() {
    need!("rustc", "cc");
    let dir = Fixture::new();
    let program = rust_program(&dir, None);
    let verdict = check_on(&program, "rhel8");
    let Verdict::RefusesToStart { reasons } = &verdict.verdict else { panic!("{:?}", verdict.verdict) };
    let symbols: BTreeSet<_> = reasons
        .iter()
        .filter_map(|reason| match reason {
            RuledOutBecause::VersionMissing { version, demands, .. } => Some((version, demands)),
            _ => None,
        })
        .flat_map(|(version, demands)| {
            let names = demands.iter().flat_map(|demand| &demand.symbols);
            names.map(move |symbol| format!("{}@{version}", symbol.name))
        })
        .collect();
    for expected in
        ["pow@GLIBC_2.29", "pthread_getattr_np@GLIBC_2.32", "stat64@GLIBC_2.33", "__libc_start_main@GLIBC_2.34"]
    {
        assert!(symbols.contains(expected), "{expected} is not in {symbols:?}");
    }
    let compat = check(&Subject::alone(facts(&program)), &[table().select("rhel8").expect("rhel8")], None);
    let zig = compat.advice.lower.iter().find(|way| way.method == Method::ZigGlibc).expect("a way with zig");
    assert_eq!(zig.command, "underpin build --libc glibc:2.28");
}

#[test]
fn its_static_musl_build_runs_everywhere() {
    need!("rustc");
    let dir = Fixture::new();
    let target = "x86_64-unknown-linux-musl";
    let libraries = dir.must("rustc", ["--print", "target-libdir", "--target", target]);
    need!(libraries.trim());
    let program = rust_program(&dir, Some(target));
    let systems: Vec<_> = table().systems.iter().collect();
    let compat = check(&Subject::alone(facts(&program)), &systems, Some(&Number::new(&[2, 17])));
    for verdict in &compat.systems {
        assert_eq!(verdict.verdict, Verdict::Runs, "{}", verdict.system);
    }
    assert!(compat.passes());
}

#[test]
fn the_loader_of_an_older_release_refuses_exactly_the_versions_that_we_say() {
    need!("rustc", "cc", "apt-get", "dpkg-deb");
    let Some(old) = Release::get("bullseye") else { return };
    let dir = Fixture::new();
    let program = rust_program(&dir, None);
    let theirs = missing_by_loader(&old.run(&dir, &program).stderr);
    assert!(!theirs.is_empty());
    assert_eq!(missing_by_us(&check_on(&program, "debian11")), theirs);
}

#[test]
fn the_older_loader_starts_what_we_say_it_starts() {
    need!("cc", "apt-get", "dpkg-deb");
    let Some(old) = Release::get("bullseye") else { return };
    let dir = Fixture::new();
    // No start-up file of this machine's glibc: only what is written here is required of the libraries.
    dir.write("a.c", "#include <unistd.h>\nvoid _start(void){write(1,\"up\\n\",3);_exit(0);}");
    dir.cc(["-nostartfiles", "-o", "prog", "a.c"]);
    let program = dir.join("prog");
    assert_eq!(check_on(&program, "debian11").verdict, Verdict::Runs);
    assert_eq!(old.run(&dir, &program).stdout, "up\n");
}

/// The experiment behind `weak_only`: GNU ld does not mark the need of a weak symbol, so the loader refuses; with
/// VER_FLG_WEAK set by hand the same loader starts the same program.
#[test]
fn a_version_of_weak_symbols_only_refuses_unless_the_need_itself_is_marked_weak() {
    need!("cc", "objcopy", "apt-get", "dpkg-deb");
    let Some(old) = Release::get("bullseye") else { return };
    let dir = Fixture::new();
    dir.write(
        "a.c",
        "#include <unistd.h>\nextern int _dl_find_object(void*,void*) __attribute__((weak));\n\
         void _start(void){write(1,_dl_find_object?\"with\\n\":\"less\\n\",5);_exit(0);}",
    );
    dir.cc(["-nostartfiles", "-o", "prog", "a.c"]);
    let refused = old.run(&dir, &dir.join("prog"));
    let expected = BTreeSet::from([("libc.so.6".to_owned(), "GLIBC_2.35".to_owned())]);
    assert_eq!(missing_by_loader(&refused.stderr), expected, "{}", refused.stderr);
    let verdict = check_on(&dir.join("prog"), "debian11");
    assert_eq!(missing_by_us(&verdict), expected);
    assert!(matches!(&verdict.verdict, Verdict::RefusesToStart { reasons }
        if matches!(&reasons[..], [RuledOutBecause::VersionMissing { weak_only: true, .. }])));

    compat::programs::mark_needs_weak(&dir, "prog", "GLIBC_2.35");
    assert_eq!(old.run(&dir, &dir.join("prog")).stdout, "less\n");
    assert_eq!(check_on(&dir.join("prog"), "debian11").verdict, Verdict::Runs);
}

#[test]
fn relr_without_its_marker_is_refused_by_this_machines_loader_too() {
    need!("clang", "ld.lld");
    let dir = Fixture::new();
    dir.write("a.c", "static int x;int *p=&x;int main(void){return !p;}");
    dir.must("clang", ["-fuse-ld=lld", "-Wl,--pack-dyn-relocs=relr", "-pie", "-fPIC", "-o", "prog", "a.c"]);
    let program = dir.join("prog");
    let facts = facts(&program);
    let marked = facts.version_needs.iter().any(|need| need.version.as_str() == "GLIBC_ABI_DT_RELR");
    assert!(facts.relr);
    let run = Output::of(&mut dir.command(&program));
    let refused_here = run.stderr.contains("DT_RELR without GLIBC_ABI_DT_RELR");
    assert_eq!(refused_here, !marked, "{}", run.stderr);
    let verdict = check_on(&program, "debian12");
    let refused = matches!(&verdict.verdict, Verdict::RefusesToStart { reasons }
        if reasons.iter().any(|reason| matches!(reason, RuledOutBecause::RelrUnsupported { .. })));
    assert_eq!(refused, refused_here, "{:?}", verdict.verdict);
}

#[test]
fn a_musl_program_is_refused_by_glibc_systems_and_runs_on_alpine() {
    need!("musl-gcc", "/lib/ld-musl-x86_64.so.1");
    let dir = Fixture::new();
    dir.write("a.c", "#include <stdio.h>\nint main(void){return puts(\"up\")<0;}");
    dir.musl_cc(["-o", "prog", "a.c"]);
    let program = dir.join("prog");
    let refused = check_on(&program, "rhel9");
    assert!(matches!(&refused.verdict, Verdict::RefusesToStart { reasons }
        if matches!(&reasons[..], [RuledOutBecause::InterpreterMissing { .. }])));
    let alpine = check_on(&program, "alpine3.21");
    assert_eq!((alpine.verdict, alpine.doubts), (Verdict::Runs, vec![]));
}

#[test]
fn a_function_that_this_machines_musl_lacks_is_refused_by_its_loader_and_by_us() {
    need!("musl-gcc", "/lib/ld-musl-x86_64.so.1");
    let dir = Fixture::new();
    dir.write("a.c", "int posix_getdents(void);int main(void){return posix_getdents();}");
    // A stand-in for a newer musl to link against: musl serves every name that begins with libc itself.
    dir.write("stub.c", "int posix_getdents(void){return 0;}");
    dir.musl_cc(["-shared", "-fPIC", "-nostdlib", "-Wl,-soname,libc.so.newer", "-o", "stub.so", "stub.c"]);
    dir.musl_cc(["-o", "prog", "a.c", "stub.so"]);
    let run = Output::of(&mut dir.command(dir.join("prog")));
    let version = Output::of(&mut dir.command("/lib/ld-musl-x86_64.so.1")).stderr;
    if !version.contains("Version 1.2.3") && !version.contains("Version 1.2.5") {
        return underpin_test_support::skip("this machine's musl is not one that lacks posix_getdents");
    }
    assert!(run.stderr.contains("posix_getdents: symbol not found"), "{}", run.stderr);
    let verdict = check_on(&dir.join("prog"), "alpine3.21");
    assert!(matches!(&verdict.verdict, Verdict::RefusesToStart { reasons }
        if matches!(&reasons[..], [RuledOutBecause::SymbolMissing { symbol, .. }] if symbol == "posix_getdents")));
    assert_eq!(check_on(&dir.join("prog"), "alpine3.24").verdict, Verdict::Runs);
}

#[test]
fn a_static_glibc_program_runs_and_says_what_reaches_outside_it() {
    need!("cc", "/usr/lib/x86_64-linux-gnu/libc.a");
    let dir = Fixture::new();
    for (source, hazards) in [
        ("int main(void){return 0;}", vec![]),
        (
            "#include <netdb.h>\nint main(void){struct addrinfo*a;return getaddrinfo(\"h\",0,0,&a);}",
            vec![StaticHazard::NameService],
        ),
        ("#include <iconv.h>\nint main(int c,char**v){return iconv_open(v[0],v[0])!=0;}", vec![StaticHazard::Iconv]),
    ] {
        dir.write("a.c", source);
        dir.cc(["-static", "-w", "-o", "prog", "a.c"]);
        let verdict = check_on(&dir.join("prog"), "alpine3.21");
        assert_eq!(verdict.verdict, Verdict::Runs);
        let expected = (!hazards.is_empty()).then_some(SystemNote::StaticGlibc { hazards });
        assert_eq!(verdict.notes, Vec::from_iter(expected), "{source}");
    }
}

#[test]
fn programs_of_this_release_run_on_this_release() {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    if !release.contains("VERSION_ID=\"12\"") || !release.contains("ID=debian") {
        return underpin_test_support::skip("this machine does not run Debian 12");
    }
    let files = sample("/usr/bin", 7);
    assert!(files.len() > 20);
    for file in &files {
        let verdict = check_on(file, "debian12");
        let refused = matches!(verdict.verdict, Verdict::RefusesToStart { .. });
        assert!(!refused, "{}: {:?}", file.display(), verdict.verdict);
    }
}

/// Installed programs run on this system, so none of them may be refused for it.
#[test]
fn no_program_of_a_debian_12_machine_is_refused_for_debian_12() {
    let release = std::fs::read_to_string("/etc/debian_version").unwrap_or_default();
    if !release.starts_with("12.") {
        eprintln!("this is no Debian 12: {release:?}");
        return;
    }
    let (mut runs, mut open) = (0, Vec::new());
    for path in sample("/usr/bin", 1) {
        let verdict = check_on(&path, "debian12");
        match verdict.verdict {
            Verdict::Runs | Verdict::RunsIfInstalled { .. } => runs += 1,
            Verdict::RefusesToStart { reasons } => panic!("{}: {reasons:?}", path.display()),
            // A private library, one of another archive, or a symbol of `GLIBC_PRIVATE`: the reason names it.
            Verdict::Unknown { lacks, .. } => {
                let named = |lack: &UnknownBecause| {
                    matches!(lack, UnknownBecause::Libraries { .. } | UnknownBecause::PrivateSymbols { .. })
                };
                assert!(lacks.iter().all(named), "{}: {lacks:?}", path.display());
                open.push((path, lacks));
            }
        }
    }
    println!("{runs} run, {} open: {open:?}", open.len());
    // Their packages are essential: every Debian has them.
    for name in ["bash", "cat", "grep", "gzip", "sed", "tar", "perl", "xz", "find", "login"] {
        let path = Path::new("/usr/bin").join(name);
        if path.exists() {
            assert_eq!(check_on(&path, "debian12").verdict, Verdict::Runs, "{name}");
        }
    }
}

/// readelf reads the libraries of this machine, and the data must agree where both know one.
#[test]
fn the_definitions_of_debian_12_are_those_that_readelf_finds_on_one() {
    need!("readelf");
    let release = std::fs::read_to_string("/etc/debian_version").unwrap_or_default();
    if !release.starts_with("12.") {
        eprintln!("this is no Debian 12: {release:?}");
        return;
    }
    let system = table().select("debian12").expect("a known system");
    let mut compared = 0;
    for soname in system.definitions.sonames() {
        let Some(path) = ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"]
            .iter()
            .map(|folder| Path::new(folder).join(soname))
            .find(|path| path.exists())
        else {
            continue;
        };
        let text = Output::of(Command::new("readelf").arg("-VW").arg(&path).env("LC_ALL", "C")).stdout;
        let section = text.split("\n\n").find(|part| part.trim_start().starts_with("Version definition section"));
        let theirs: Option<BTreeSet<&str>> = section.map(|section| {
            let entries = section.lines().filter(|line| line.contains("Rev: "));
            entries
                .filter_map(|line| Some(line.split_once("Name: ")?.1.trim()))
                .filter(|name| *name != soname)
                .collect()
        });
        let library = system.definitions.library(soname).expect("the one just listed");
        let ours = library.versions.as_ref().map(|all| all.iter().map(|version| version.as_str()).collect());
        assert_eq!(ours, theirs, "{soname}");
        compared += 1;
    }
    assert!(compared > 5, "only {compared} libraries of the data are installed here");
}
