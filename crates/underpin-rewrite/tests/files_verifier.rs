//! Asking the real loader: its answer is the same as in a real start, and nothing ever runs.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "in a test a panic is the failing assertion")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use underpin_resolve::Environment;
use underpin_rewrite::files::{Baseline, BoundName, Disagreement, Listing, NotAsked, Opinion, Verified, Verifier};
use underpin_rewrite::files::{FileIdentity, Keep, ReplaceError, replace, verify_rewritten};
use underpin_test_support::{Fixture, need, skip, traced_objects};

fn verifier() -> Verifier {
    Verifier::new(Environment::empty())
}

fn heard(path: &Path) -> Listing {
    match verifier().ask(path) {
        Opinion::Heard(listing) => listing,
        Opinion::NotAsked(because) => panic!("{}: {because}", path.display()),
    }
}

fn not_asked(path: &Path) -> NotAsked {
    match verifier().ask(path) {
        Opinion::NotAsked(because) => because,
        Opinion::Heard(listing) => panic!("{} was asked: {listing:?}", path.display()),
    }
}

/// Source of a program that leaves a file behind if any of it runs.
fn telltale(marker: &Path) -> String {
    format!(
        "#include <fcntl.h>\nstatic void tell(void){{open(\"{}\",O_CREAT|O_WRONLY,0600);}}\n\
         __attribute__((constructor)) static void start(void){{tell();}}\nint main(void){{tell();return 0;}}\n",
        marker.display()
    )
}

/// Directories v1 and v2 with a libx.so and a liby.so each (without a soname, so that a path given to the linker
/// becomes the DT_NEEDED), and stubs with sonames to link the unbound program against.
fn libraries() -> Fixture {
    let dir = Fixture::new();
    for version in ["v1", "v2"] {
        dir.mkdir(version);
        for name in ["x", "y"] {
            dir.write(format!("{name}.c"), format!("int {name}(void){{return 1;}}"));
            dir.cc(["-shared", "-fPIC", "-o", &format!("{version}/lib{name}.so"), &format!("{name}.c")]);
        }
    }
    dir.mkdir("stubs");
    for name in ["x", "y"] {
        let soname = format!("-Wl,-soname,lib{name}.so");
        dir.cc(["-shared", "-fPIC", "-o", &format!("stubs/lib{name}.so"), &soname, &format!("{name}.c")]);
    }
    dir.write("main.c", "int x(void); int y(void); int main(void){return x()+y()-2;}");
    let rpath = format!("-Wl,-rpath,{}/v1", dir.text());
    dir.cc(["-o", "prog", "main.c", "-Lstubs", "-lx", "-ly", &rpath]);
    dir
}

/// The program bound to libraries by path, in this order.
fn bound(dir: &Fixture, name: &str, libraries: &[&str]) -> PathBuf {
    let paths: Vec<String> = libraries.iter().map(|library| format!("{}/{library}", dir.text())).collect();
    let rpath = format!("-Wl,-rpath,{}/v1", dir.text());
    let fixed = ["-o", name, "-Wl,--no-as-needed", "main.c", &rpath, "-Lstubs"];
    dir.cc(fixed.into_iter().chain(paths.iter().map(String::as_str)));
    dir.join(name)
}

fn verify(dir: &Fixture, copy: &Path, bound: &[(&str, &str)]) -> Result<Verified, Disagreement> {
    let original = dir.join("prog");
    let name =
        |(name, object): &(&str, &str)| BoundName { name: format!("{}/{name}", dir.text()), object: dir.join(object) };
    let baseline = Baseline::of(&verifier(), &original, bound.iter().map(name).collect());
    verify_rewritten(&verifier(), copy, &original, &baseline)
}

#[test]
fn the_list_is_the_loaders() {
    need!("cc", "readelf");
    let dir = libraries();
    for program in [dir.join("prog"), std::fs::canonicalize("/bin/sh").unwrap()] {
        let mine: Vec<PathBuf> = heard(&program).objects.into_iter().map(|object| object.path).collect();
        let theirs = traced_objects(&program, &[]).unwrap();
        assert_eq!(mine, theirs.into_iter().filter_map(|traced| traced.path).collect::<Vec<_>>());
    }
}

#[test]
fn a_library_is_asked_by_its_loader() {
    need!("cc");
    let dir = libraries();
    let by_path = format!("{}/v1/liby.so", dir.text());
    dir.cc(["-shared", "-fPIC", "-o", "libz.so", "x.c", "-Wl,--no-as-needed", &by_path, "stubs/libx.so"]);
    let listing = heard(&dir.join("libz.so"));
    assert_eq!(listing.missing, ["libx.so"], "{listing:?}");
    assert!(listing.objects.iter().any(|object| object.path.ends_with("libc.so.6")));
}

#[test]
fn missing_and_damaged_libraries_are_told_apart() {
    need!("cc");
    let dir = libraries();
    std::fs::remove_file(dir.join("v1/libx.so")).unwrap();
    let listing = heard(&dir.join("prog"));
    assert_eq!((listing.missing.as_slice(), listing.stopped), (&["libx.so".to_owned()][..], false));
    dir.write("v1/libx.so", "no ELF file at all, and long enough to have a header, which is what the loader reads");
    let listing = heard(&dir.join("prog"));
    assert!(listing.stopped && listing.complaints[0].contains("invalid ELF header"), "{listing:?}");
}

#[test]
fn nothing_that_is_asked_about_runs() {
    need!("cc");
    let dir = Fixture::new();
    let marker = dir.join("it-ran");
    dir.write("t.c", telltale(&marker));
    dir.cc(["-o", "pie", "t.c"]);
    dir.cc(["-no-pie", "-o", "fixed", "t.c"]);
    dir.cc(["-static", "-o", "static", "t.c"]);
    dir.cc(["-static-pie", "-o", "static-pie", "t.c"]);
    dir.cc(["-shared", "-fPIC", "-o", "libt.so", "t.c"]);
    for name in ["pie", "fixed", "libt.so"] {
        assert!(!heard(&dir.join(name)).objects.is_empty(), "{name}");
        assert!(!verifier().bindings(&dir.join(name)).unwrap().is_empty(), "{name}");
    }
    for name in ["static", "static-pie"] {
        assert_eq!(not_asked(&dir.join(name)), NotAsked::Static, "{name}");
    }
    assert!(!marker.exists());
    // And the telltale would have shown it.
    assert!(Command::new(dir.join("static")).status().unwrap().success());
    assert!(marker.exists());
}

#[test]
fn musl_is_asked_without_running_anything() {
    need!("musl-gcc", "readelf");
    let dir = Fixture::new();
    let marker = dir.join("it-ran");
    dir.write("t.c", telltale(&marker));
    dir.musl_cc(["-o", "prog", "t.c"]);
    let listing = heard(&dir.join("prog"));
    assert!(listing.missing.is_empty() && listing.complaints.is_empty(), "{listing:?}");
    assert_eq!(listing.objects.len(), 1, "libc, which is the loader: {listing:?}");
    assert!(verifier().bindings(&dir.join("prog")).is_err());
    assert!(!marker.exists());
}

/// Source of an interpreter that needs nothing and consists only of these statements.
#[cfg(target_arch = "x86_64")]
fn interpreter(statements: &str) -> String {
    format!(
        "static long call(long n, long a, long b, long c){{long r; __asm__ volatile(\"syscall\" : \"=a\"(r) : \"a\"(n), \
         \"D\"(a), \"S\"(b), \"d\"(c) : \"rcx\", \"r11\", \"memory\"); return r;}}\nvoid _start(void){{{statements} for(;;);}}\n"
    )
}

#[cfg(target_arch = "x86_64")]
#[test]
fn an_interpreter_that_is_no_known_loader_is_never_started() {
    need!("cc");
    let dir = Fixture::new();
    let marker = dir.join("it-ran");
    dir.write("t.c", interpreter(&format!("call(2, (long)\"{}\", 0101, 0600); call(60, 0, 0, 0);", marker.display())));
    dir.write("m.c", "int main(void){return 0;}");
    dir.cc(["-static", "-nostdlib", "-ffreestanding", "-o", "ld-linux-x86-64.so.2", "t.c"]);
    dir.cc(["-o", "prog", "m.c", &format!("-Wl,--dynamic-linker={}/ld-linux-x86-64.so.2", dir.text())]);
    dir.cc(["-o", "none", "m.c", "-Wl,--dynamic-linker=/no/such/ld-linux-x86-64.so.2"]);
    assert!(matches!(not_asked(&dir.join("prog")), NotAsked::UnknownLoader { .. }));
    assert!(matches!(not_asked(&dir.join("none")), NotAsked::NoLoader { .. }));
    assert!(!marker.exists());
    assert!(Command::new(dir.join("prog")).status().unwrap().success());
    assert!(marker.exists(), "executing the program would have run it");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_loader_that_never_answers_is_given_up() {
    need!("cc");
    let dir = Fixture::new();
    // Has the marks of a loader, and then waits for ever (pause).
    let marks = r#"const char marks[] = "\0TRACE_LOADED_OBJECTS\0GLIBC_PRIVATE\0GLIBC_2.36\0";"#;
    dir.write("slow.c", format!("{marks}\n{}", interpreter("for(;;) call(34, 0, 0, 0);")));
    dir.write("m.c", "int main(void){return 0;}");
    dir.cc(["-static", "-nostdlib", "-ffreestanding", "-o", "slow", "slow.c"]);
    dir.cc(["-o", "prog", "m.c", &format!("-Wl,--dynamic-linker={}/slow", dir.text())]);
    let opinion = verifier().with_time_limit(Duration::from_millis(50)).ask(&dir.join("prog"));
    assert!(
        matches!(&opinion, Opinion::NotAsked(NotAsked::NoAnswer { reason }) if reason.contains("longer")),
        "{opinion:?}"
    );
}

#[test]
fn set_id_programs_and_those_with_capabilities_are_not_asked() {
    need!("cc", "setcap");
    let dir = Fixture::new();
    dir.write("m.c", "int main(void){return 0;}");
    for mode in [0o4755, 0o2755] {
        dir.cc(["-o", "prog", "m.c"]);
        dir.chmod("prog", mode);
        assert_eq!(not_asked(&dir.join("prog")), NotAsked::SetId, "{mode:o}");
        std::fs::remove_file(dir.join("prog")).unwrap();
    }
    dir.cc(["-o", "prog", "m.c"]);
    if !dir.command("setcap").args(["cap_net_raw=ep", "prog"]).output().unwrap().status.success() {
        return skip("setting capabilities takes root");
    }
    assert_eq!(not_asked(&dir.join("prog")), NotAsked::SetId);
}

#[test]
fn another_machines_file_is_not_asked() {
    need!("aarch64-linux-gnu-gcc");
    let dir = Fixture::new();
    dir.write("m.c", "int main(void){return 0;}");
    dir.must("aarch64-linux-gnu-gcc", ["-o", "prog", "m.c"]);
    assert_eq!(not_asked(&dir.join("prog")), NotAsked::ForeignMachine { machine: "aarch64".into() });
}

#[test]
fn what_is_no_program_is_not_asked() {
    let dir = Fixture::new();
    let text = dir.write("text", "hello");
    let script = dir.write("script", "#!/bin/sh\ntrue\n");
    for path in [text, script, dir.path().to_path_buf(), dir.join("nothing")] {
        assert!(matches!(not_asked(&path), NotAsked::NotLoadable { .. }), "{}", path.display());
    }
}

#[test]
fn bound_as_planned_is_verified() {
    need!("cc");
    let dir = libraries();
    let copy = bound(&dir, "copy", &["v1/libx.so", "v1/liby.so"]);
    let verified = verify(&dir, &copy, &[("v1/libx.so", "v1/libx.so"), ("v1/liby.so", "v1/liby.so")]);
    assert_eq!(verified, Ok(Verified::Loader { objects: 4 }));
}

#[test]
fn another_copy_of_a_library_is_a_disagreement() {
    need!("cc");
    let dir = libraries();
    let copy = bound(&dir, "copy", &["v2/libx.so", "v1/liby.so"]);
    let elsewhere = verify(&dir, &copy, &[("v2/libx.so", "v1/libx.so")]).unwrap_err();
    assert!(matches!(elsewhere, Disagreement::BoundElsewhere { .. }), "{elsewhere}");
    let lost = verify(&dir, &copy, &[]).unwrap_err();
    assert!(matches!(&lost, Disagreement::Lost { name } if name == "libx.so"), "{lost}");
}

#[test]
fn a_library_that_is_a_link_to_the_planned_one_is_the_same() {
    need!("cc");
    let dir = libraries();
    std::fs::remove_file(dir.join("v2/libx.so")).unwrap();
    std::fs::hard_link(dir.join("v1/libx.so"), dir.join("v2/libx.so")).unwrap();
    std::fs::remove_file(dir.join("v2/liby.so")).unwrap();
    dir.symlink("../v1/liby.so", "v2/liby.so");
    let copy = bound(&dir, "copy", &["v2/libx.so", "v2/liby.so"]);
    let verified = verify(&dir, &copy, &[("v2/libx.so", "v1/libx.so"), ("v2/liby.so", "v1/liby.so")]);
    assert_eq!(verified, Ok(Verified::Loader { objects: 4 }));
}

#[test]
fn another_order_or_number_is_a_disagreement() {
    need!("cc");
    let dir = libraries();
    let swapped = bound(&dir, "swapped", &["v1/liby.so", "v1/libx.so"]);
    let error = verify(&dir, &swapped, &[]).unwrap_err();
    assert!(matches!(error, Disagreement::Order { position: 1, .. }), "{error}");
    let twice = bound(&dir, "twice", &["v1/libx.so", "v1/liby.so", "v2/liby.so"]);
    let error = verify(&dir, &twice, &[]).unwrap_err();
    assert!(matches!(error, Disagreement::Order { position: 3, .. }), "{error}");
}

#[test]
fn a_bound_path_without_a_file_is_a_disagreement() {
    need!("cc");
    let dir = libraries();
    dir.mkdir("v3");
    std::fs::copy(dir.join("v1/libx.so"), dir.join("v3/libx.so")).unwrap();
    let copy = bound(&dir, "copy", &["v3/libx.so", "v1/liby.so"]);
    std::fs::remove_file(dir.join("v3/libx.so")).unwrap();
    let error = verify(&dir, &copy, &[]).unwrap_err();
    assert!(matches!(&error, Disagreement::Lost { name } if name.ends_with("v3/libx.so")), "{error}");
}

#[test]
fn a_version_that_the_library_lacks_is_a_disagreement() {
    need!("cc");
    let dir = libraries();
    dir.write("x.map", "V_1 { x; };");
    dir.write("w.map", "V_0 { x; };");
    for (name, map) in [("stubs/libx.so", "x.map"), ("v1/libx.so", "x.map"), ("v2/libx.so", "w.map")] {
        let script = format!("-Wl,--version-script,{map}");
        dir.cc(["-shared", "-fPIC", "-o", name, "x.c", &script, "-Wl,-soname,libx.so"]);
    }
    let with_rpath = |output: &str, version: &str| {
        let rpath = format!("-Wl,-rpath,{}/{version}", dir.text());
        dir.cc(["-o", output, "main.c", "-Lstubs", "-lx", "-ly", &rpath]);
    };
    with_rpath("prog", "v1");
    with_rpath("copy", "v2");
    let before = Baseline::of(&verifier(), &dir.join("prog"), Vec::new());
    let Opinion::Heard(now) = verifier().ask(&dir.join("copy")) else { panic!("asked") };
    assert!(now.complaints.iter().any(|text| text.contains("version `V_1' not found")), "{now:?}");
    assert!(verify_rewritten(&verifier(), &dir.join("copy"), &dir.join("prog"), &before).is_err());
}

#[test]
fn no_file_at_all_is_a_disagreement() {
    need!("cc");
    let dir = libraries();
    let broken = dir.write("broken", &std::fs::read(dir.join("prog")).unwrap()[..100]);
    let error = verify(&dir, &broken, &[]).unwrap_err();
    assert!(matches!(error, Disagreement::Unresolved { .. }), "{error}");
}

#[test]
fn what_the_loader_rejects_never_stands_there() {
    need!("cc");
    let dir = libraries();
    let prog = dir.join("prog");
    let swapped = std::fs::read(bound(&dir, "swapped", &["v1/liby.so", "v1/libx.so"])).unwrap();
    let good = std::fs::read(bound(&dir, "good", &["v1/libx.so", "v1/liby.so"])).unwrap();
    let baseline = Baseline::of(&verifier(), &prog, Vec::new());
    let before = (FileIdentity::at(&prog).unwrap(), std::fs::read(&prog).unwrap());
    let write = |bytes: &[u8]| {
        let check = |copy: &Path| verify_rewritten(&verifier(), copy, &prog, &baseline).map(|_| ());
        replace(&prog, &before.0, bytes, &Keep::default(), check)
    };
    assert!(matches!(write(&swapped), Err(ReplaceError::Rejected { .. })));
    assert_eq!((FileIdentity::at(&prog).unwrap(), std::fs::read(&prog).unwrap()), before);
    write(&good).unwrap();
    assert_eq!(std::fs::read(&prog).unwrap(), good);
    assert!(Command::new(&prog).status().unwrap().success());
}

#[test]
fn a_bound_library_may_find_what_it_missed_alone_and_nothing_else() {
    need!("cc");
    let dir = libraries();
    let library = |name: &str, needs: &str| {
        dir.cc(["-shared", "-fPIC", "-o", name, "x.c", "-Wl,--no-as-needed", needs]);
        dir.join(name)
    };
    let (alone, good) =
        (library("libz.so", "stubs/liby.so"), library("good.so", &format!("{}/v1/liby.so", dir.text())));
    let name =
        |object: &str| BoundName { name: dir.join("v1/liby.so").to_str().unwrap().into(), object: dir.join(object) };
    let verify = |object: &str| {
        let baseline = Baseline::of(&verifier(), &alone, vec![name(object)]);
        verify_rewritten(&verifier(), &good, &alone, &baseline)
    };
    assert!(
        matches!(&Baseline::of(&verifier(), &alone, Vec::new()).before, Opinion::Heard(before) if before.missing == ["liby.so"])
    );
    assert!(matches!(verify("v1/liby.so"), Ok(Verified::Loader { .. })), "{:?}", verify("v1/liby.so"));
    assert!(matches!(verify("v2/liby.so"), Err(Disagreement::BoundElsewhere { .. })));
}

#[test]
fn a_foreign_file_is_verified_by_the_model_alone_and_said_so() {
    need!("aarch64-linux-gnu-gcc");
    let dir = Fixture::new();
    dir.write("m.c", "int main(void){return 0;}");
    dir.must("aarch64-linux-gnu-gcc", ["-o", "prog", "m.c"]);
    let prog = dir.join("prog");
    let baseline = Baseline::of(&verifier(), &prog, Vec::new());
    let verified = verify_rewritten(&verifier(), &prog, &prog, &baseline).unwrap();
    assert!(matches!(verified, Verified::ModelOnly { because: NotAsked::ForeignMachine { .. }, .. }), "{verified:?}");
}

#[test]
fn symbol_bindings_are_those_of_a_real_start() {
    need!("cc");
    let dir = libraries();
    let copy = bound(&dir, "copy", &["v1/libx.so", "v1/liby.so"]);
    let before = verifier().bindings(&dir.join("prog")).unwrap();
    let now = verifier().bindings(&copy).unwrap().renamed(&copy, &dir.join("prog"));
    now.same_as(&before).unwrap();
    // The oracle: a real start with LD_DEBUG=bindings names the same object for x.
    let real = Command::new(dir.join("prog")).env("LD_DEBUG", "bindings").env("LD_BIND_NOW", "1").output().unwrap();
    let text = String::from_utf8_lossy(&real.stderr).into_owned();
    assert!(text.contains(&format!("to {}/v1/libx.so [0]: normal symbol `x'", dir.text())), "{text}");
    assert!(before.len() > 2);
}

#[test]
fn a_symbol_from_elsewhere_is_a_disagreement() {
    need!("cc");
    let dir = libraries();
    // liby also defines x: the first wins.
    dir.write("both.c", "int x(void){return 1;} int y(void){return 1;}");
    dir.cc(["-shared", "-fPIC", "-o", "v1/liby.so", "both.c"]);
    let swapped = bound(&dir, "swapped", &["v1/liby.so", "v1/libx.so"]);
    let before = verifier().bindings(&dir.join("prog")).unwrap();
    let now = verifier().bindings(&swapped).unwrap().renamed(&swapped, &dir.join("prog"));
    let error = now.same_as(&before).unwrap_err();
    assert!(
        matches!(&error, Disagreement::Symbol { symbol, now, .. } if symbol == "x" && now.ends_with("v1/liby.so")),
        "{error}"
    );
}

#[test]
fn indirect_functions_are_not_resolved_while_bindings_are_read() {
    need!("cc");
    let dir = Fixture::new();
    let source = "static int f(void){return 0;}\nstatic void *pick(void){__builtin_trap(); return f;}\n\
        int x(void) __attribute__((ifunc(\"pick\")));";
    dir.write("x.c", source);
    dir.write("m.c", "int x(void); int main(void){return x();}");
    dir.cc(["-shared", "-fPIC", "-o", "libx.so", "x.c"]);
    dir.cc(["-o", "prog", "m.c", &format!("{}/libx.so", dir.text())]);
    let bindings = verifier().bindings(&dir.join("prog")).unwrap();
    assert!(bindings.len() > 2);
    assert_eq!(Command::new(dir.join("prog")).status().unwrap().code(), None, "a real start calls it, and dies");
}

const FROM_FOLDER: &str = "UNDERPIN_TEST_ASKS_FROM_A_FOLDER";

#[test]
fn a_name_without_a_slash_is_a_file_here_and_nothing_in_path() {
    if std::env::var_os(FROM_FOLDER).is_some() {
        assert!(heard(Path::new("prog")).objects.iter().any(|object| object.path.ends_with("libc.so.6")));
        assert!(!verifier().bindings(Path::new("prog")).unwrap().is_empty());
        println!("asked from the folder");
        return;
    }
    need!("cc");
    let dir = Fixture::new();
    let marker = dir.join("it-ran");
    dir.write("t.c", telltale(&marker));
    dir.write("m.c", "int main(void){return 0;}");
    dir.mkdir("path");
    dir.cc(["-static", "-o", "path/prog", "t.c"]);
    dir.cc(["-o", "prog", "m.c"]);
    let output = dir
        .command(std::env::current_exe().unwrap())
        .args(["a_name_without_a_slash_is_a_file_here_and_nothing_in_path", "--exact", "--nocapture"])
        .env(FROM_FOLDER, "1")
        .env("PATH", dir.join("path"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("asked from the folder"), "{text}");
    assert!(!marker.exists());
}

#[test]
fn a_missing_name_that_counts_from_the_program_is_the_same_to_loader_and_model() {
    need!("cc", "readelf");
    let dir = Fixture::new();
    dir.write("a.c", "int a(void){return 1;}");
    dir.cc(["-shared", "-fPIC", "-o", "liba.so", "-Wl,-soname,$ORIGIN/gone/liba.so", "a.c"]);
    dir.write("main.c", "int a(void); int main(void){return a();}");
    dir.cc(["-o", "prog", "main.c", "-L.", "-la", "-Wl,--allow-shlib-undefined"]);
    let program = dir.join("prog");
    let expected = [format!("{}/gone/liba.so", dir.text())];
    assert_eq!(heard(&program).missing, expected);
    assert_eq!(Listing::of_model(&verifier().model(&program).unwrap()).missing, expected);
}
