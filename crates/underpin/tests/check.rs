//! `underpin check` from outside: as a gate in CI, and with a Rust program that RHEL 8 refuses.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod common;

use common::{json, says};
use std::fs;
use std::path::PathBuf;
use underpin_test_support::{Fixture, Output, need};

/// Uses what glibc moved or renewed in 2.29, 2.32, 2.33 and 2.34: math, pthread in libc, stat, `__libc_start_main`.
const RUST_PROGRAM: &str = r#"
fn main() {
    let base: f64 = std::env::args().count() as f64 + 1.5;
    let worker = std::thread::spawn(move || base.powf(2.5).exp().ln());
    let size = std::fs::metadata("/").map(|data| data.len()).unwrap_or(0);
    println!("broker {} {}", worker.join().unwrap_or(0.0), size);
}
"#;

/// Builds it with the machine's Rust; `None` if the target is not installed.
fn rust_program(dir: &Fixture, target: Option<&str>) -> Option<PathBuf> {
    let source = dir.write("broker.rs", RUST_PROGRAM);
    let name = target.unwrap_or("host");
    let mut rustc = dir.command("rustc");
    rustc.arg("--edition=2021").arg("-O").arg("-o").arg(dir.join(name)).arg(source);
    if let Some(target) = target {
        rustc.arg("--target").arg(target).arg("-Ctarget-feature=+crt-static");
    }
    let output = Output::of(&mut rustc);
    (output.code == Some(0)).then(|| dir.join(name))
}

#[test]
fn a_rust_program_built_here_is_refused_for_rhel8_with_the_symbols_named() {
    need!("rustc", "cc");
    let dir = Fixture::new();
    let program = rust_program(&dir, None).expect("rustc builds a program");
    let program = program.to_str().unwrap();
    let output = says(["check", "--on", "rhel8", program]);
    assert_eq!(output.code, Some(1), "{}{}", output.stdout, output.stderr);

    // The reference is what the file itself names, as readelf shows it.
    let versions = dir.must("readelf", ["-VW", program]);
    let symbols = dir.must("readelf", ["--dyn-syms", "-W", program]);
    let mut refused = 0;
    for version in ["GLIBC_2.29", "GLIBC_2.32", "GLIBC_2.33", "GLIBC_2.34"] {
        if !versions.contains(&format!("Name: {version} ")) {
            continue;
        }
        refused += 1;
        assert!(output.stdout.contains(version), "{version} is not named:\n{}", output.stdout);
        let named = symbols
            .split_whitespace()
            .filter_map(|word| word.strip_suffix(&format!("@{version}")))
            .any(|symbol| output.stdout.contains(symbol));
        assert!(named, "no symbol of {version} is named:\n{}", output.stdout);
    }
    assert!(refused >= 2, "this machine's glibc is too old for the story:\n{versions}");
}

#[test]
fn its_static_musl_build_runs_everywhere() {
    need!("musl-gcc");
    let dir = Fixture::new();
    let program = rust_program(&dir, Some("x86_64-unknown-linux-musl")).unwrap_or_else(|| {
        eprintln!("no Rust musl target here: a C program built with `musl-gcc -static` stands in");
        dir.write("main.c", "#include <stdio.h>\nint main(void){puts(\"broker\");return 0;}");
        dir.musl_cc(["-static", "-o", "static", "main.c"]);
        dir.join("static")
    });
    let program = program.to_str().unwrap();
    let all = json(["check", "--json", program]);
    assert_eq!(all["schema"], "underpin.check/1");
    for system in ["rhel8", "debian11", "alpine3.20"] {
        let output = says(["check", "--on", system, program]);
        assert_eq!(output.code, Some(0), "{system}: {}{}", output.stdout, output.stderr);
    }
    assert_eq!(says(["check", "--max-glibc", "2.17", program]).code, Some(0), "it needs no glibc at all");
}

#[test]
fn max_glibc_is_a_gate() {
    need!("cc", "readelf");
    let dir = Fixture::new();
    dir.write("main.c", "#include <stdio.h>\nint main(void){puts(\"\");return 0;}");
    dir.cc(["-o", "prog", "main.c"]);
    let prog = dir.join("prog");
    let prog = prog.to_str().unwrap();
    assert_eq!(says(["check", "--max-glibc", "2.99", prog]).code, Some(0));
    let refused = says(["check", "--max-glibc", "2.1", prog]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stdout.contains("GLIBC_2."), "{}", refused.stdout);
    assert_eq!(says(["check", "--max-glibc", "two", prog]).code, Some(2));
}

#[test]
fn an_unknown_system_is_wrong_use_and_the_known_ones_are_named() {
    let output = says(["check", "--on", "plan9", "/bin/sh"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("plan9") && output.stderr.contains("rhel8"), "{}", output.stderr);
}

#[test]
fn what_travels_along_is_no_demand_on_the_target() {
    need!("cc");
    let dir = Fixture::new();
    dir.write("v.map", "MINE_7 { global: mine; local: *; };");
    dir.write("mine.c", "int mine(void){return 0;}");
    dir.write("main.c", "int mine(void); int main(void){return mine();}");
    dir.mkdir("lib");
    dir.cc([
        "-shared",
        "-fPIC",
        "-Wl,-soname,libmine.so.1",
        "-Wl,--version-script,v.map",
        "-o",
        "lib/libmine.so.1",
        "mine.c",
    ]);
    fs::hard_link(dir.join("lib/libmine.so.1"), dir.join("lib/libmine.so")).unwrap();
    dir.cc(["-o", "prog", "main.c", "-Llib", "-lmine"]);
    let (prog, lib) = (dir.join("prog"), dir.join("lib"));
    let alone = says(["check", prog.to_str().unwrap()]).stdout;
    assert!(alone.contains("libmine.so.1"), "{alone}");
    let along = json(["check", "--json", "--with", lib.to_str().unwrap(), prog.to_str().unwrap()]);
    let floors = along["floors"].to_string();
    assert!(!floors.contains("MINE_7"), "{floors}");
}

#[test]
fn a_broken_with_folder_is_wrong_use() {
    let output = says(["check", "--with", "/no/such/folder", "/bin/sh"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("/no/such/folder"), "{}", output.stderr);
}

#[test]
fn a_folder_without_libraries_travels_with_nothing() {
    need!("cc");
    let dir = Fixture::new();
    dir.write("main.c", "int main(void){return 0;}");
    dir.cc(["-o", "prog", "main.c"]);
    std::fs::create_dir(dir.join("lib")).unwrap();
    let (prog, lib) = (dir.join("prog"), dir.join("lib"));
    let output = says(["check", prog.to_str().unwrap(), "--with", lib.to_str().unwrap()]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("holds no shared library"), "{}", output.stderr);
}

#[test]
fn a_system_named_twice_is_judged_once() {
    need!("cc");
    let dir = Fixture::new();
    dir.write("main.c", "int main(void){return 0;}");
    dir.cc(["-o", "prog", "main.c"]);
    let prog = dir.join("prog");
    let document = json(["check", "--json", "--on", "rhel8", "--on", "RHEL-8", prog.to_str().unwrap()]);
    assert_eq!(document["systems"].as_array().unwrap().len(), 1);
}

/// Builds a program that needs version `version` of a library with the soname `soname`, and nothing else that is
/// unusual.
fn asks(dir: &Fixture, soname: &str, version: &str) -> String {
    dir.write("v.map", format!("{version} {{ global: ask; local: *; }};"));
    dir.write("ask.c", "int ask(void){return 0;}");
    dir.write("main.c", "int ask(void); int main(void){return ask();}");
    let soname = format!("-Wl,-soname,{soname}");
    dir.cc(["-shared", "-fPIC", &soname, "-Wl,--version-script,v.map", "-o", "libask.so", "ask.c"]);
    dir.cc(["-o", "prog", "main.c", "-L.", "-lask"]);
    dir.join("prog").to_str().unwrap().to_owned()
}

#[test]
fn what_the_data_cannot_tell_is_a_third_answer_and_fails_the_gate() {
    need!("cc");
    let dir = Fixture::new();
    let prog = asks(&dir, "liblzma.so.5", "XZ_5.4");
    let gate = says(["check", "--on", "rhel9", &prog]);
    assert_eq!(gate.code, Some(1), "{}{}", gate.stdout, gate.stderr);
    assert!(gate.stdout.contains("Where it runs: 0 of 1 system, 1 not known"), "{}", gate.stdout);
    for fact in ["XZ_5.4", "liblzma.so.5", "underpin tree --root ROOT /prog"] {
        assert!(gate.stdout.contains(fact), "{fact} is not named:\n{}", gate.stdout);
    }
    let document = json(["check", "--json", "--on", "rhel9", &prog]);
    assert_eq!(document["systems"][0]["answer"], "unknown");
    assert_eq!((&document["counts"]["unknown"], &document["passed"]), (&1.into(), &false.into()));
    assert_eq!(says(["check", &prog]).code, Some(0), "without --on there is no gate");
}

#[test]
fn a_version_that_a_read_release_has_or_lacks_is_a_sure_answer() {
    need!("cc");
    let dir = Fixture::new();
    let prog = asks(&dir, "liblzma.so.5", "XZ_5.4");
    for (system, code) in [("debian11", 1), ("ubuntu22.04", 1), ("debian12", 0), ("debian13", 0)] {
        let output = says(["check", "--on", system, "--strict", &prog]);
        assert_eq!(output.code, Some(code), "{system}: {}", output.stdout);
    }
    let refused = says(["check", "--on", "debian11", &prog]).stdout;
    assert!(refused.contains("needs XZ_5.4; has XZ_5.2"), "{refused}");
}

#[test]
fn strict_fails_where_a_library_is_to_be_installed_first() {
    need!("cc");
    let dir = Fixture::new();
    let prog = asks(&dir, "libssl.so.3", "OPENSSL_3.0.0");
    assert_eq!(says(["check", "--on", "debian12", &prog]).code, Some(0));
    let strict = says(["check", "--on", "debian12", "--strict", &prog]);
    assert_eq!(strict.code, Some(1), "{}", strict.stdout);
    assert!(strict.stdout.contains("apt-get install libssl3"), "{}", strict.stdout);
    assert_eq!(says(["check", "--strict", &prog]).code, Some(2), "--strict is about the systems named");
}

#[test]
fn packed_relocations_raise_the_floor_that_the_document_names() {
    need!("cc", "readelf");
    let dir = Fixture::new();
    dir.write("main.c", "int f(void){return 1;} int (*table[64])(void) = {f, f}; int main(void){return table[0]();}");
    dir.cc(["-pie", "-fPIE", "-Wl,-z,pack-relative-relocs", "-o", "prog", "main.c"]);
    let prog = dir.join("prog");
    let prog = prog.to_str().unwrap();
    if !dir.must("readelf", ["-VW", prog]).contains("GLIBC_ABI_DT_RELR") {
        eprintln!("this linker packs no relocations");
        return;
    }
    let document = json(["check", "--json", prog]);
    let glibc = document["floors"].as_array().unwrap().iter().find(|floor| floor["family"] == "GLIBC");
    assert_eq!(glibc.unwrap()["version"], "2.36", "the release that first defines the marker");
}

#[test]
fn ten_thousand_libraries_of_which_nothing_is_known_are_one_line_for_each_system() {
    let dir = Fixture::new();
    let program = crafted(10_000);
    std::fs::write(dir.join("need"), program).unwrap();
    let output = says(["check", "--on", "debian12", dir.join("need").to_str().unwrap()]);
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert!(output.stdout.contains("and 9936 more"), "{}", output.stdout);
    assert!(output.stdout.len() < 10_000, "{} bytes", output.stdout.len());
}

/// An ELF program that needs this many libraries, written by hand: no linker accepts so many.
fn crafted(count: usize) -> Vec<u8> {
    const BASE: u64 = 0x40_0000;
    let interpreter = b"/lib64/ld-linux-x86-64.so.2\0";
    let (mut names, mut offsets) = (vec![0u8], Vec::new());
    for index in 0..count {
        offsets.push(names.len() as u64);
        names.extend(format!("libnope{index}.so\0").bytes());
    }
    let names_at = (232 + interpreter.len() as u64).next_multiple_of(8);
    let dynamic_at = (names_at + names.len() as u64).next_multiple_of(8);
    let table = [(5, BASE + names_at), (10, names.len() as u64), (6, BASE + names_at), (11, 24), (0, 0)];
    let entries = offsets.into_iter().map(|offset| (1u64, offset)).chain(table);
    let dynamic: Vec<u8> = entries.flat_map(|(tag, value)| [tag.to_le_bytes(), value.to_le_bytes()].concat()).collect();
    let end = dynamic_at + dynamic.len() as u64;
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend([2u16, 62].iter().flat_map(|value| value.to_le_bytes()));
    file.extend(1u32.to_le_bytes());
    file.extend([BASE, 64, 0].iter().flat_map(|value| value.to_le_bytes()));
    file.extend(0u32.to_le_bytes());
    file.extend([64u16, 56, 3, 64, 0, 0].iter().flat_map(|value| value.to_le_bytes()));
    let segments =
        [(1u32, 0, end, 4096u64), (3, 232, interpreter.len() as u64, 1), (2, dynamic_at, end - dynamic_at, 8)];
    for (kind, at, size, align) in segments {
        file.extend([kind, 6].iter().flat_map(|value| value.to_le_bytes()));
        file.extend([at, BASE + at, BASE + at, size, size, align].iter().flat_map(|value| value.to_le_bytes()));
    }
    file.extend(interpreter);
    file.resize(names_at as usize, 0);
    file.extend(names);
    file.resize(dynamic_at as usize, 0);
    file.extend(dynamic);
    file
}

const ALLOCATES: &str = "#include <stdlib.h>\nint main(void) { return !malloc(9); }\n";

fn found(document: &serde_json::Value) -> Vec<(&str, &str)> {
    let list = document["expectations"].as_array().expect("a list");
    list.iter().map(|one| (one["text"].as_str().unwrap(), one["outcome"].as_str().unwrap())).collect()
}

#[test]
fn an_expectation_that_is_not_met_fails_the_check_with_a_line() {
    need!("cc", "musl-gcc");
    let dir = Fixture::new();
    dir.write("main.c", ALLOCATES);
    dir.cc(["-fno-builtin", "-o", "prog", "main.c"]);
    dir.musl_cc(["-fno-builtin", "-static", "-o", "fixed", "main.c"]);
    let check = |program: &str, list: &str| says(["check", "--expect", list, dir.join(program).to_str().unwrap()]);
    for (program, list) in [("fixed", "static,musl,malloc=musl,glibc<=2.28"), ("prog", "dynamic,glibc,malloc=glibc")] {
        let output = check(program, list);
        assert_eq!(output.code, Some(0), "{program} {list}: {}{}", output.stdout, output.stderr);
    }
    let output = check("prog", "static,glibc,malloc=mimalloc");
    assert_eq!(output.code, Some(1), "{}", output.stdout);
    let unmet: Vec<&str> = output.stdout.lines().filter(|line| line.starts_with("  no   ")).take(2).collect();
    assert!(unmet[0].contains("static") && unmet[0].contains("dynamic PIE"), "{unmet:?}");
    assert!(unmet[1].contains("malloc=mimalloc") && unmet[1].contains("glibc for C (imports malloc)"), "{unmet:?}");
    let document = json(["check", "--json", "--expect", "static,musl", dir.join("prog").to_str().unwrap()]);
    assert_eq!(found(&document), [("static", "unmet"), ("musl", "unmet")]);
    assert_eq!(document["passed"], false);
}

#[test]
fn what_a_file_does_not_tell_meets_no_expectation() {
    need!("cc", "strip");
    let dir = Fixture::new();
    dir.write("bare.c", "void _start(void) { for (;;) {} }");
    dir.cc(["-static", "-nostdlib", "-o", "bare", "bare.c"]);
    dir.must("strip", ["bare"]);
    let bare = dir.join("bare");
    let document = json(["check", "--json", "--expect", "static,musl,malloc=mimalloc", bare.to_str().unwrap()]);
    assert_eq!(found(&document), [("static", "met"), ("musl", "not_known"), ("malloc=mimalloc", "not_known")]);
    let output = says(["check", "--expect", "musl", bare.to_str().unwrap()]);
    assert_eq!(output.code, Some(1));
    assert!(output.stdout.contains("not known"), "{}", output.stdout);
}

#[test]
fn a_list_of_expectations_that_cannot_be_read_is_wrong_use() {
    for list in ["statc", "malloc=hoard", "glibc<=two", ""] {
        let output = says(["check", "--expect", list, "/bin/sh"]);
        assert_eq!(output.code, Some(2), "{list}: {}", output.stderr);
        assert_eq!(output.stdout, "");
    }
}

/// The loader binds `malloc` to the first definition in its order; LD_DEBUG shows to which.
#[test]
fn malloc_is_that_of_the_first_object_in_load_order() {
    need!("cc");
    let dir = Fixture::new();
    let own = "#include <stddef.h>\nstatic char pool[1 << 16]; static size_t at;\n\
               void *malloc(size_t n) { void *p = pool + at; at += (n + 15) & ~15ul; return p; }\n\
               void free(void *p) { (void)p; }\n\
               void *calloc(size_t a, size_t b) { return malloc(a * b); }\n\
               void *realloc(void *p, size_t n) { (void)p; return malloc(n); }\n";
    dir.write("own.c", own);
    dir.write("mid.c", "int mid(void) { return 1; }\n");
    dir.write("main.c", ALLOCATES);
    let here = dir.path().to_str().unwrap();
    let run_path = format!("-Wl,-rpath,{here}");
    dir.cc(["-shared", "-fPIC", "-fno-builtin", "-Wl,-soname,libplain.so", "own.c", "-o", "libplain.so"]);
    let keep = "-Wl,--no-as-needed";
    dir.cc(["-shared", "-fPIC", "mid.c", keep, "./libplain.so", &run_path, "-Wl,-soname,libmid.so", "-o", "libmid.so"]);
    dir.cc(["-fno-builtin", "main.c", keep, "./libplain.so", &run_path, "-o", "first"]);
    dir.cc(["-fno-builtin", "main.c", keep, "./libmid.so", &run_path, "-o", "behind"]);
    for (program, expected) in [("first", "libplain.so"), ("behind", "libc.so.6")] {
        let path = dir.join(program);
        let said = Output::of(dir.command(&path).env("LD_DEBUG", "bindings")).stderr;
        let binds = |line: &&str| line.contains(&format!("{program} [0] to")) && line.contains("`malloc'");
        let bound = said.lines().find(binds).expect("the loader binds malloc");
        assert!(bound.split(" to ").nth(1).is_some_and(|to| to.contains(expected)), "{bound}");
        let document = json(["check", "--json", path.to_str().unwrap()]);
        let allocator = &document["file"]["allocator"];
        let origin = if expected == "libc.so.6" { "libc" } else { "needed_library" };
        assert_eq!(allocator["origin"], origin, "{program}: {allocator}");
    }
}

#[test]
fn whoever_runs_a_program_of_the_distribution_is_not_told_to_rebuild_it() {
    need!("git");
    let dir = Fixture::new();
    let own = dir.join("git");
    std::fs::copy("/usr/bin/git", &own).unwrap();
    for (path, rebuild) in [("/usr/bin/git", false), (own.to_str().unwrap(), true)] {
        let output = says(["check", "--on", "rhel8", path]);
        assert_eq!(output.code, Some(1), "{}", output.stderr);
        assert_eq!(output.stdout.contains("underpin build"), rebuild, "{}", output.stdout);
        assert_eq!(output.stdout.contains("underpin bundle /usr/bin/git -o git-bundle"), !rebuild, "{}", output.stdout);
    }
}
