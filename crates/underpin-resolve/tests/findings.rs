//! Findings, each from a fixture that shows it, compared with the loader if that reports it.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use underpin_resolve::{Closure, Depth, Environment, Finding, FindingKind, HostRoot, Resolver, Severity};
use underpin_test_support::{Fixture, Output, need};

fn resolved(path: &Path) -> Closure {
    let root = HostRoot::new();
    Resolver::new(&root, Environment::empty()).resolve(path.as_os_str().as_bytes().into(), Depth::Findings).unwrap()
}

fn kinds(closure: &Closure) -> Vec<&FindingKind> {
    closure.findings.iter().map(|finding| &finding.kind).collect()
}

fn has(closure: &Closure, wanted: impl Fn(&FindingKind) -> bool) -> bool {
    kinds(closure).into_iter().any(wanted)
}

/// What the loader prints when the program is really started.
fn started(fixture: &Fixture, program: &str) -> Output {
    Output::of(&mut fixture.command(fixture.join(program)))
}

fn sources(fixture: &Fixture) {
    fixture.write("lib.c", "int f(void) { return 0; }\n");
    fixture.write("main.c", "int f(void); int main(void) { return f(); }\n");
    fixture.write("plain.c", "int main(void) { return 0; }\n");
}

#[test]
fn a_program_without_faults_has_no_findings() {
    let fixture = Fixture::new();
    sources(&fixture);
    fixture.cc(["-o", "p", "plain.c"]);
    let closure = resolved(&fixture.join("p"));
    assert_eq!(closure.findings, Vec::<Finding>::new());
}

#[test]
fn a_missing_library_is_an_error() {
    let fixture = Fixture::new();
    sources(&fixture);
    fixture.cc(["-shared", "-fPIC", "-o", "libgone.so", "lib.c", "-Wl,-soname,libgone.so"]);
    fixture.cc(["-o", "p", "main.c", "libgone.so"]);
    std::fs::remove_file(fixture.join("libgone.so")).unwrap();
    let closure = resolved(&fixture.join("p"));
    assert_eq!(closure.findings[0].severity, Severity::Error);
    assert!(has(&closure, |kind| matches!(kind, FindingKind::Missing { name } if name == "libgone.so")));
    assert!(started(&fixture, "p").stderr.contains("libgone.so: cannot open shared object file"));
}

#[test]
fn a_missing_interpreter_is_an_error() {
    let fixture = Fixture::new();
    sources(&fixture);
    fixture.cc(["-o", "p", "plain.c", "-Wl,--dynamic-linker,/nonexistent/ld.so"]);
    let closure = resolved(&fixture.join("p"));
    assert!(has(
        &closure,
        |kind| matches!(kind, FindingKind::MissingInterpreter { path } if path == "/nonexistent/ld.so")
    ));
    assert!(fixture.command(fixture.join("p")).status().is_err(), "the kernel starts it");
}

#[test]
fn a_junk_file_is_an_error_with_its_path() {
    let fixture = Fixture::new();
    sources(&fixture);
    fixture.mkdir("good");
    fixture.cc(["-shared", "-fPIC", "-o", "good/libj.so", "lib.c", "-Wl,-soname,libj.so"]);
    fixture.cc(["-o", "p", "main.c", "good/libj.so", "-Wl,-rpath,$ORIGIN/bad:$ORIGIN/good"]);
    fixture.write("bad/libj.so", "not a library, but long enough to be read as a header by anybody who tries to\n");
    let closure = resolved(&fixture.join("p"));
    assert!(has(
        &closure,
        |kind| matches!(kind, FindingKind::FatalFile { path, .. } if path.ends_with(b"bad/libj.so"))
    ));
    assert!(started(&fixture, "p").stderr.contains("invalid ELF header"));
}

/// `v1/libv.so` defines V1 and V2, `v0/libv.so` only V1; the program needs V2.
fn versioned(fixture: &Fixture) {
    fixture.write("two.map", "V1 { global: f; local: *; }; V2 { global: g; } V1;\n");
    fixture.write("one.map", "V1 { global: f; local: *; };\n");
    fixture.write("v.c", "int f(void) { return 0; } int g(void) { return 0; }\n");
    fixture.write("m.c", "int g(void); int main(void) { return g(); }\n");
    for (folder, map) in [("v1", "two.map"), ("v0", "one.map")] {
        fixture.mkdir(folder);
        let output = format!("{folder}/libv.so");
        let script = format!("-Wl,--version-script={map}");
        fixture.cc(["-shared", "-fPIC", "-o", &output, "v.c", "-Wl,-soname,libv.so", &script]);
    }
}

#[test]
fn a_version_that_the_library_lacks_is_an_error() {
    let fixture = Fixture::new();
    versioned(&fixture);
    fixture.cc(["-o", "p", "m.c", "v1/libv.so", "-Wl,-rpath,$ORIGIN/v0"]);
    let closure = resolved(&fixture.join("p"));
    let missing = |kind: &FindingKind| matches!(kind, FindingKind::MissingVersion { file, version } if file == "libv.so" && version == "V2");
    assert!(has(&closure, missing), "{:?}", closure.findings);
    assert!(started(&fixture, "p").stderr.contains("version `V2' not found"));
    fixture.cc(["-o", "q", "m.c", "v1/libv.so", "-Wl,-rpath,$ORIGIN/v1"]);
    assert!(!has(&resolved(&fixture.join("q")), missing));
}

#[test]
fn a_version_of_a_file_that_nobody_names_makes_the_loader_abort() {
    need!("patchelf");
    let fixture = Fixture::new();
    versioned(&fixture);
    fixture.cc(["-o", "p", "m.c", "v1/libv.so"]);
    // DT_NEEDED becomes a path, DT_VERNEED keeps the short name, and the soname is another: no object is called
    // libv.so.
    let path = fixture.join("v1/libv.so");
    fixture.must("patchelf", ["--set-soname", "other.so", path.to_str().unwrap()]);
    let bytes = std::fs::read(fixture.join("p")).unwrap();
    fixture.must("patchelf", ["--replace-needed", "libv.so", path.to_str().unwrap(), "p"]);
    assert_ne!(bytes, std::fs::read(fixture.join("p")).unwrap());
    let closure = resolved(&fixture.join("p"));
    let output = started(&fixture, "p");
    let unknown = has(&closure, |kind| matches!(kind, FindingKind::VersionFileUnknown { file } if file == "libv.so"));
    // patchelf also renames DT_VERNEED where it can; either way the loader decides.
    assert_eq!(unknown, output.code != Some(0), "{:?}\n{}", closure.findings, output.stderr);
}

#[test]
fn a_copy_further_down_the_path_is_shadowed() {
    let fixture = Fixture::new();
    sources(&fixture);
    for folder in ["a", "b"] {
        fixture.mkdir(folder);
        fixture.cc(["-shared", "-fPIC", "-o", &format!("{folder}/libs.so"), "lib.c", "-Wl,-soname,libs.so"]);
    }
    fixture.cc(["-o", "p", "main.c", "a/libs.so", "-Wl,-rpath,$ORIGIN/a:$ORIGIN/b"]);
    let closure = resolved(&fixture.join("p"));
    assert!(has(&closure, |kind| matches!(kind, FindingKind::Shadowed { taken, shadowed, .. }
        if taken.ends_with(b"/a/libs.so") && shadowed.ends_with(b"/b/libs.so"))));
}

#[test]
fn a_find_by_luck_names_whom_it_is_owed_to() {
    let fixture = Fixture::new();
    sources(&fixture);
    for folder in ["x", "y"] {
        fixture.mkdir(folder);
    }
    fixture.cc(["-shared", "-fPIC", "-o", "x/liblucky.so", "lib.c", "-Wl,-soname,liblucky.so"]);
    let link = ["-shared", "-fPIC", "lib.c", "-Wl,--no-as-needed", "x/liblucky.so"];
    fixture.cc([&link[..], &["-o", "y/libknows.so", "-Wl,-soname,libknows.so", "-Wl,-rpath,$ORIGIN/../x"]].concat());
    fixture.cc([&link[..], &["-o", "y/libhopes.so", "-Wl,-soname,libhopes.so"]].concat());
    let program = ["main.c", "-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN/y", "-Wl,-rpath-link,x"];
    fixture.cc([&program[..], &["-o", "p", "y/libknows.so", "y/libhopes.so"]].concat());
    let closure = resolved(&fixture.join("p"));
    let owed = |kind: &FindingKind| matches!(kind, FindingKind::Accidental { name, .. } if name == "liblucky.so");
    assert!(has(&closure, owed), "{:?}", closure.findings);
    assert_eq!(started(&fixture, "p").code, Some(0));
    // Without the sibling the same request fails.
    fixture.cc([&program[..], &["-o", "q", "y/libhopes.so"]].concat());
    assert!(has(&resolved(&fixture.join("q")), |kind| matches!(kind, FindingKind::Missing { .. })));
    assert!(started(&fixture, "q").stderr.contains("liblucky.so"));
}

#[test]
fn two_objects_of_one_soname_are_told() {
    let fixture = Fixture::new();
    sources(&fixture);
    for folder in ["a", "b"] {
        fixture.mkdir(folder);
        fixture.cc(["-shared", "-fPIC", "-o", &format!("{folder}/libs.so"), "lib.c", "-Wl,-soname,libs.so"]);
    }
    let stub = |name: &str, path: &str| {
        fixture.cc(["-shared", "-fPIC", "-o", name, "lib.c", &format!("-Wl,-soname,{}/{path}", fixture.text())]);
    };
    stub("one.so", "a/libs.so");
    stub("two.so", "b/libs.so");
    fixture.cc(["-o", "p", "main.c", "-Wl,--no-as-needed", "one.so", "two.so"]);
    let closure = resolved(&fixture.join("p"));
    assert!(has(&closure, |kind| matches!(kind, FindingKind::DuplicateSoname { soname, .. } if soname == "libs.so")));
}

#[test]
fn dead_and_relative_directories_are_told() {
    let fixture = Fixture::new();
    sources(&fixture);
    fixture.mkdir("a");
    fixture.cc(["-shared", "-fPIC", "-o", "a/libs.so", "lib.c", "-Wl,-soname,libs.so"]);
    fixture.cc(["-o", "p", "main.c", "a/libs.so", "-Wl,-rpath,/nonexistent/lib:relative:$ORIGIN/a"]);
    let closure = resolved(&fixture.join("p"));
    let dead = |kind: &FindingKind| matches!(kind, FindingKind::DeadDirectory { directory, .. } if directory == "/nonexistent/lib/");
    assert!(has(&closure, dead), "{:?}", closure.findings);
    assert!(has(&closure, |kind| matches!(kind, FindingKind::CurrentDirectory { entry } if entry == "relative/")));
}

#[test]
fn what_may_come_at_run_time_is_told() {
    need!("as");
    let fixture = Fixture::new();
    fixture.write("d.c", "#include <dlfcn.h>\nint main(void) { return dlopen(\"libm.so.6\", RTLD_NOW) == 0; }\n");
    let text = r#"[{"soname":["libnice.so.1","libnice.so.0"],"feature":"nice","priority":"suggested"}]"#;
    let note = format!(
        ".section .note.dlopen,\"a\",@note\n.balign 4\n.4byte 4\n.4byte 2f-1f\n.4byte 0x407c0c0a\n.asciz \"FDO\"\n\
         1: .asciz \"{}\"\n2: .balign 4\n.section .note.GNU-stack,\"\",@progbits\n",
        text.replace('"', "\\\"")
    );
    fixture.write("note.s", note);
    fixture.cc(["-o", "p", "d.c", "note.s"]);
    let closure = resolved(&fixture.join("p"));
    assert!(has(&closure, |kind| *kind == FindingKind::ImportsDlopen));
    let noted = |kind: &FindingKind| {
        matches!(kind, FindingKind::DlopenNote { feature: Some(feature), priority, sonames }
            if feature == "nice" && priority == "suggested" && sonames[..] == ["libnice.so.1", "libnice.so.0"])
    };
    assert!(has(&closure, noted), "{:?}", closure.findings);
}

#[test]
fn a_capability_variant_is_told() {
    let fixture = Fixture::new();
    sources(&fixture);
    fixture.mkdir("l/glibc-hwcaps/x86-64-v2");
    for path in ["l/libs.so", "l/glibc-hwcaps/x86-64-v2/libs.so"] {
        fixture.cc(["-shared", "-fPIC", "-o", path, "lib.c", "-Wl,-soname,libs.so"]);
    }
    fixture.cc(["-o", "p", "main.c", "l/libs.so", "-Wl,-rpath,$ORIGIN/l"]);
    assert!(has(&resolved(&fixture.join("p")), |kind| matches!(kind, FindingKind::HwcapsVariant { .. })));
}

#[test]
fn origin_by_way_of_a_link_is_told() {
    let fixture = Fixture::new();
    sources(&fixture);
    fixture.mkdir("real");
    fixture.mkdir("links");
    fixture.cc(["-shared", "-fPIC", "-o", "real/libs.so", "lib.c", "-Wl,-soname,libs.so", "-Wl,-rpath,$ORIGIN/more"]);
    fixture.symlink("../real/libs.so", "links/libs.so");
    fixture.cc(["-o", "p", "main.c", "real/libs.so", "-Wl,-rpath,$ORIGIN/links"]);
    let told = |closure: &Closure| has(closure, |kind| matches!(kind, FindingKind::OriginThroughSymlink { .. }));
    assert!(told(&resolved(&fixture.join("p"))));
    fixture.cc(["-o", "q", "main.c", "real/libs.so", "-Wl,-rpath,$ORIGIN/real"]);
    assert!(!told(&resolved(&fixture.join("q"))));
}

#[test]
fn a_cache_entry_without_a_file_is_stale() {
    need!("/sbin/ldconfig");
    let fixture = Fixture::new();
    sources(&fixture);
    for folder in ["root/etc", "root/opt/l", "root/bin"] {
        fixture.mkdir(folder);
    }
    fixture.write("root/etc/ld.so.conf", "/opt/l\n");
    fixture.cc(["-shared", "-fPIC", "-o", "root/opt/l/libs.so", "lib.c", "-Wl,-soname,libs.so"]);
    fixture.cc(["-o", "root/bin/p", "main.c", "root/opt/l/libs.so"]);
    let root = fixture.join("root");
    fixture.must("/sbin/ldconfig", ["-r", root.to_str().unwrap()]);
    std::fs::remove_file(fixture.join("root/opt/l/libs.so")).unwrap();
    let sysroot = HostRoot::sysroot(&root);
    let closure = Resolver::new(&sysroot, Environment::empty()).resolve("/bin/p".into(), Depth::Findings).unwrap();
    let stale = |kind: &FindingKind| matches!(kind, FindingKind::StaleCache { path, .. } if path == "/opt/l/libs.so");
    assert!(has(&closure, stale), "{:?}", closure.findings);
}
