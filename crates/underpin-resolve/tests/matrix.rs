//! The corner cases of loading, one fixture each, built from one-line sources and judged by the real loader.
//!
//! Each test states the rule in its name; the numbers are those of the table of corner cases that the project keeps.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "in a test a panic is the failing assertion")]

mod common;

use common::{Listing, judged, listing, modelled};
use underpin_resolve::{Closure, Environment, Found, Outcome};
use underpin_test_support::{Fixture, Output, need};

/// A fixture with libraries and programs of one line each.
struct Case {
    fixture: Fixture,
    variables: Vec<(&'static str, String)>,
}

/// The result on which both sides agree.
struct Agreed {
    closure: Closure,
    listing: Listing,
    base: String,
}

impl Case {
    fn new() -> Case {
        Case { fixture: Fixture::new(), variables: Vec::new() }
    }

    /// `DIR/libNAME.so` with that soname, needing other libraries of the fixture.
    fn library(&self, path: &str, needs: &[&str], flags: &[&str]) -> &Case {
        self.build(path, needs, &[&["-shared", "-fPIC"], flags].concat(), true)
    }

    fn program(&self, path: &str, needs: &[&str], flags: &[&str]) -> &Case {
        self.build(path, needs, flags, false)
    }

    fn build(&self, path: &str, needs: &[&str], flags: &[&str], library: bool) -> &Case {
        if let Some((folder, _)) = path.rsplit_once('/') {
            self.fixture.mkdir(folder);
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        let identifier: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let body = if library { format!("int f_{identifier} = 1;\n") } else { "int main(void) { return 0; }\n".into() };
        let source = format!("{}.c", path.replace('/', "_"));
        self.fixture.write(&source, body);
        let soname = format!("-Wl,-soname,{name}");
        let mut arguments = vec!["-o", path, source.as_str(), "-Wl,--no-as-needed", "-Wl,--allow-shlib-undefined"];
        arguments.push("-Wl,--unresolved-symbols=ignore-in-shared-libs");
        if library && !flags.iter().any(|flag| flag.contains("-soname")) {
            arguments.push(&soname);
        }
        arguments.extend(flags);
        arguments.extend(needs);
        self.fixture.cc(arguments);
        self
    }

    fn variable(&mut self, name: &'static str, value: impl Into<String>) -> &mut Case {
        self.variables.push((name, value.into()));
        self
    }

    /// Asks both sides, in the fixture's folder.
    fn agree(&self, program: &str) -> Agreed {
        let path = self.fixture.join(program);
        let mut environment = Environment::empty();
        for (name, value) in &self.variables {
            environment.set(name.as_bytes(), value.as_str().into());
        }
        let closure = modelled(&path, environment).unwrap();
        let variables: Vec<(&str, &str)> = self.variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let (model, judge) = (listing(&closure), judged(&path, &closure, &variables));
        if model.stopped || judge.stopped {
            assert_eq!(model.stopped, judge.stopped, "model {model:?}\njudge {judge:?}");
        } else {
            assert_eq!(model, judge, "the model (left) and the loader (right)");
        }
        Agreed { closure, listing: model, base: format!("{}/", self.fixture.text()) }
    }
}

impl Agreed {
    /// Objects of the fixture, relative to it; the C library and the loader left out.
    fn own(&self) -> Vec<String> {
        let paths = self.listing.objects.iter().map(|path| path.to_string_lossy().into_owned());
        paths
            .filter(|path| !path.contains("/libc.so.6") && !path.contains("ld-linux"))
            .map(|path| path.replacen(&self.base, "", 1))
            .collect()
    }

    fn found(&self, name: &str) -> Found {
        let edge = self.closure.edges.iter().find(|edge| edge.name == name).unwrap();
        match &edge.outcome {
            Outcome::Loaded { found, .. } => found.clone(),
            other => panic!("{name}: {other:?}"),
        }
    }
}

const RPATH: &str = "-Wl,--disable-new-dtags";
const RUNPATH: &str = "-Wl,--enable-new-dtags";

#[test]
fn case_01_an_object_with_runpath_does_not_inherit_the_programs_rpath() {
    let case = Case::new();
    case.library("a/libdep.so", &[], &[])
        .library("m/libmid.so", &["a/libdep.so"], &[RUNPATH, "-Wl,-rpath,/nonexistent"])
        .program("p", &["m/libmid.so"], &[RPATH, "-Wl,-rpath,$ORIGIN/a:$ORIGIN/m"]);
    let agreed = case.agree("p");
    assert_eq!(agreed.listing.missing, ["libdep.so"]);
}

#[test]
fn case_02_a_runpath_does_not_stop_the_climb_to_the_programs_rpath() {
    let case = Case::new();
    case.library("a/libdep.so", &[], &[])
        .library("a/libplain.so", &["a/libdep.so"], &[])
        .library("m/libmid.so", &["a/libplain.so"], &[RUNPATH, "-Wl,-rpath,$ORIGIN/../a"])
        .program("p", &["m/libmid.so"], &[RPATH, "-Wl,-rpath,$ORIGIN/a:$ORIGIN/m"]);
    let agreed = case.agree("p");
    assert_eq!(agreed.own(), ["m/libmid.so", "m/../a/libplain.so", "a/libdep.so"]);
    assert!(matches!(agreed.found("libdep.so"), Found::Rpath { .. }));
}

#[test]
fn case_03_runpath_annuls_the_rpath_of_the_same_object() {
    need!("patchelf");
    let case = Case::new();
    case.library("a/libdep.so", &[], &[]).program("p", &["a/libdep.so"], &[RUNPATH, "-Wl,-rpath,/nonexistent"]);
    // Linkers write one or the other; both are in a file whose DT_DEBUG was turned into DT_RPATH.
    let path = case.fixture.join("p");
    let mut bytes = std::fs::read(&path).unwrap();
    let runpath =
        bytes.windows(16).position(|entry| entry[..8] == 29u64.to_le_bytes() && entry[8..12] != [0; 4]).unwrap();
    let value: [u8; 8] = bytes[runpath + 8..runpath + 16].try_into().unwrap();
    let debug = (runpath..bytes.len() - 16).step_by(16).find(|&at| bytes[at..at + 8] == 21u64.to_le_bytes()).unwrap();
    bytes[debug..debug + 8].copy_from_slice(&15u64.to_le_bytes());
    bytes[debug + 8..debug + 16].copy_from_slice(&value);
    std::fs::write(&path, bytes).unwrap();
    let agreed = case.agree("p");
    assert_eq!(agreed.listing.missing, ["libdep.so"]);
    assert!(agreed.closure.objects[0].rpath.is_some() && agreed.closure.objects[0].runpath.is_some());
}

#[test]
fn case_04_an_absolute_path_answers_to_its_soname() {
    let case = Case::new();
    let v1 = format!("{}/v1/libs4.so", case.fixture.text());
    case.library("v1/libs4.so", &[], &[])
        .library("v2/libs4.so", &[], &[])
        .library("o/libother.so", &["v2/libs4.so"], &[RUNPATH, "-Wl,-rpath,$ORIGIN/../v2"])
        // Without a soname the linker writes the path as it was given.
        .library("t/libs4.so", &[], &["-Wl,-soname,"]);
    case.fixture.write("stub.c", "int stub;\n");
    case.fixture.cc(["-shared", "-fPIC", "-o", "stub.so", "stub.c", &format!("-Wl,-soname,{v1}")]);
    case.program("p", &["stub.so", "o/libother.so"], &[RUNPATH, "-Wl,-rpath,$ORIGIN/o"]);
    let agreed = case.agree("p");
    assert_eq!(agreed.own(), ["v1/libs4.so", "o/libother.so"]);
}

#[test]
fn case_05_of_two_siblings_the_first_in_breadth_first_order_decides() {
    let case = Case::new();
    case.library("v1/libx5.so", &[], &[])
        .library("v2/libx5.so", &[], &[])
        .library("b/libb5.so", &["v1/libx5.so"], &[RUNPATH, "-Wl,-rpath,$ORIGIN/../v1"])
        .library("c/libc5.so", &["v2/libx5.so"], &[RUNPATH, "-Wl,-rpath,$ORIGIN/../v2"])
        .program("p", &["b/libb5.so", "c/libc5.so"], &[RUNPATH, "-Wl,-rpath,$ORIGIN/b:$ORIGIN/c"]);
    assert_eq!(case.agree("p").own(), ["b/libb5.so", "c/libc5.so", "b/../v1/libx5.so"]);
}

#[test]
fn case_06_a_capability_directory_comes_before_the_plain_one() {
    let case = Case::new();
    case.library("l/libh.so", &[], &[]).library("l/glibc-hwcaps/x86-64-v2/libh.so", &[], &[]).program(
        "p",
        &["l/libh.so"],
        &["-Wl,-rpath,$ORIGIN/l"],
    );
    assert_eq!(case.agree("p").own(), ["l/glibc-hwcaps/x86-64-v2/libh.so"]);
}

#[test]
fn case_07_lib_is_what_the_loader_was_compiled_with() {
    let case = Case::new();
    let lib = modelled(std::path::Path::new("/bin/sh"), Environment::empty()).unwrap().loader.lib_token.to_string();
    let path = format!("{lib}/libtoken.so");
    case.library(&path, &[], &[]).program("p", &[&path], &["-Wl,-rpath,$ORIGIN/$LIB"]);
    assert_eq!(case.agree("p").own(), [path]);
}

#[test]
fn case_08_platform_is_the_loaders() {
    let case = Case::new();
    let closure = modelled(std::path::Path::new("/bin/sh"), Environment::empty()).unwrap();
    let path = format!("{}/libplatform.so", closure.loader.platform.unwrap());
    case.library(&path, &[], &[]).program("p", &[&path], &["-Wl,-rpath,$ORIGIN/${PLATFORM}"]);
    assert_eq!(case.agree("p").own(), [path]);
}

#[test]
fn case_09_origin_of_a_program_is_that_of_the_real_file() {
    let case = Case::new();
    case.library("real/libo.so", &[], &[]).program("real/p", &["real/libo.so"], &["-Wl,-rpath,$ORIGIN"]);
    case.fixture.mkdir("bin");
    case.fixture.symlink("../real/p", "bin/p");
    assert_eq!(case.agree("bin/p").own(), ["real/libo.so"]);
}

#[test]
fn case_10_origin_of_a_library_is_the_directory_of_the_link() {
    let case = Case::new();
    case.library("real/libdep.so", &[], &[]).library(
        "real/libtop.so",
        &["real/libdep.so"],
        &[RUNPATH, "-Wl,-rpath,$ORIGIN"],
    );
    case.fixture.mkdir("links");
    case.fixture.symlink("../real/libtop.so", "links/libtop.so");
    case.program("p", &["real/libtop.so"], &[RUNPATH, "-Wl,-rpath,$ORIGIN/links"]);
    assert_eq!(case.agree("p").listing.missing, ["libdep.so"]);
}

#[test]
fn case_11_origin_in_needed_is_expanded() {
    let case = Case::new();
    case.library("l/libn.so", &[], &["-Wl,-soname,$ORIGIN/l/libn.so"]).program("p", &["l/libn.so"], &[]);
    assert_eq!(case.agree("p").own(), ["l/libn.so"]);
}

#[test]
fn case_12_a_relative_name_with_a_slash_counts_from_the_current_directory() {
    // The tests of a crate run in the crate's folder, and so do both sides.
    let case = Case::new();
    case.library("l/libr.so", &[], &["-Wl,-soname,no/such/folder/libr.so"]).program("p", &["l/libr.so"], &[]);
    let agreed = case.agree("p");
    assert_eq!(agreed.listing.missing, ["no/such/folder/libr.so"]);
    let up = "../".repeat(std::env::current_dir().unwrap().components().count() - 1);
    let relative = format!("-Wl,-soname,{}{}/l/libq.so", up, case.fixture.text().trim_start_matches('/'));
    case.library("l/libq.so", &[], &[&relative]).program("q", &["l/libq.so"], &[]);
    assert!(case.agree("q").listing.missing.is_empty());
}

#[test]
fn case_13_a_text_file_of_the_right_name_stops_the_loader() {
    let case = Case::new();
    case.library("good/libt.so", &[], &[]).program("p", &["good/libt.so"], &["-Wl,-rpath,$ORIGIN/bad:$ORIGIN/good"]);
    case.fixture.write("bad/libt.so", "INPUT(libreal.so) and some more text so that it is longer than a header\n");
    assert!(case.agree("p").listing.stopped);
    case.fixture.write("bad/libt.so", "short");
    assert!(case.agree("p").listing.stopped);
    case.fixture.write("bad/libt.so", "");
    assert!(case.agree("p").listing.stopped);
}

#[test]
fn case_14_a_directory_of_the_right_name_stops_the_loader() {
    let case = Case::new();
    case.library("good/libt.so", &[], &[]).program("p", &["good/libt.so"], &["-Wl,-rpath,$ORIGIN/bad:$ORIGIN/good"]);
    case.fixture.mkdir("bad/libt.so");
    assert!(case.agree("p").listing.stopped);
}

#[test]
fn case_15_another_machines_library_is_passed_over() {
    need!("clang", "ld.lld");
    let case = Case::new();
    case.library("good/libt.so", &[], &[]).program(
        "p",
        &["good/libt.so"],
        &["-Wl,-rpath,$ORIGIN/arm:$ORIGIN/small:$ORIGIN/good"],
    );
    case.fixture.write("t.c", "int t;\n");
    for (folder, target) in [("arm", "aarch64-linux-gnu"), ("small", "i386-linux-gnu")] {
        case.fixture.mkdir(folder);
        let (target, output) = (format!("--target={target}"), format!("{folder}/libt.so"));
        case.fixture.must("clang", [&target, "-shared", "-nostdlib", "-fuse-ld=lld", "-fPIC", "-o", &output, "t.c"]);
    }
    assert_eq!(case.agree("p").own(), ["good/libt.so"]);
}

#[test]
fn case_16_a_preload_serves_by_its_soname() {
    let mut case = Case::new();
    case.library("a/libs.so", &[], &[]).library("b/replacement.so", &[], &["-Wl,-soname,libs.so"]).program(
        "p",
        &["a/libs.so"],
        &["-Wl,-rpath,$ORIGIN/a"],
    );
    let preload = format!("{}/b/replacement.so", case.fixture.text());
    case.variable("LD_PRELOAD", preload);
    assert_eq!(case.agree("p").own(), ["b/replacement.so"]);
}

#[test]
fn case_17_two_names_of_one_inode_are_one_object() {
    let case = Case::new();
    case.library("l/libone.so", &[], &[]).library("s/libtwo.so", &[], &[]);
    case.program("p", &["l/libone.so", "s/libtwo.so"], &["-Wl,-rpath,$ORIGIN/l"]);
    std::fs::hard_link(case.fixture.join("l/libone.so"), case.fixture.join("l/libtwo.so")).unwrap();
    assert_eq!(case.agree("p").own(), ["l/libone.so"]);
}

#[test]
fn case_18_secure_execution_ignores_the_library_path() {
    need!("gcc");
    if Output::of(std::process::Command::new("id").arg("-u")).stdout.trim() != "0" {
        underpin_test_support::skip("only root can make a program set-user-ID to somebody else");
        return;
    }
    let mut case = Case::new();
    case.fixture.write("one.c", "int f(void) { return 1; }\n");
    case.fixture.write("two.c", "int f(void) { return 2; }\n");
    case.fixture.write("p.c", "int f(void); int main(void) { return f(); }\n");
    for (folder, source) in [("one", "one.c"), ("two", "two.c")] {
        case.fixture.mkdir(folder);
        case.fixture.cc(["-shared", "-fPIC", "-o", &format!("{folder}/libs.so"), source, "-Wl,-soname,libs.so"]);
    }
    let rpath = format!("-Wl,-rpath,{}/one", case.fixture.text());
    case.fixture.cc(["-o", "p", "p.c", "one/libs.so", RUNPATH, &rpath]);
    case.fixture.must("chown", ["nobody", "p"]);
    case.fixture.must("chmod", ["u+s", "p"]);
    std::fs::set_permissions(case.fixture.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let two = format!("{}/two", case.fixture.text());
    case.variable("LD_LIBRARY_PATH", &two);
    // The loader cannot list its objects in this mode: the program itself reports which copy it got.
    let status = case.fixture.command(case.fixture.join("p")).env("LD_LIBRARY_PATH", &two).status().unwrap();
    assert_eq!(status.code(), Some(1), "the kernel did not start it in secure-execution mode");
    let mut environment = Environment::empty();
    environment.set(b"LD_LIBRARY_PATH", two.into());
    let closure = modelled(&case.fixture.join("p"), environment).unwrap();
    assert!(closure.objects[1].path.ends_with(b"/one/libs.so"), "{}", closure.objects[1].path);
}

#[test]
fn case_19_nodeflib_rejects_system_directories() {
    let case = Case::new();
    case.program("p", &["-lm"], &["-Wl,-z,nodefaultlib"]);
    let agreed = case.agree("p");
    assert!(agreed.listing.missing.contains(&"libm.so.6".to_owned()));
}

#[test]
fn case_20_an_empty_runpath_element_is_the_current_directory() {
    let case = Case::new();
    case.library("l/libe.so", &[], &[]).program("p", &["l/libe.so"], &[RUNPATH, "-Wl,-rpath,/nonexistent:"]);
    let agreed = case.agree("p");
    let edge = agreed.closure.edges.iter().find(|edge| edge.name == "libe.so").unwrap();
    assert!(edge.tries.iter().any(|one| one.path == "libe.so"), "the current directory was not tried");
}

#[test]
fn case_21_a_semicolon_separates_the_library_path() {
    let mut case = Case::new();
    case.library("b/libs.so", &[], &[]).program("p", &["b/libs.so"], &[]);
    let path = format!("{0}/a;{0}/b", case.fixture.text());
    case.variable("LD_LIBRARY_PATH", path);
    assert_eq!(case.agree("p").own(), ["b/libs.so"]);
}

#[test]
fn case_22_a_filtee_is_loaded_and_stands_before_its_filter() {
    let case = Case::new();
    case.library("l/libfiltee.so", &[], &[])
        .library("l/libfilter.so", &[], &["-Wl,--filter=libfiltee.so", RUNPATH, "-Wl,-rpath,$ORIGIN"])
        .library("l/libother.so", &[], &[])
        .program("p", &["l/libfilter.so", "l/libother.so"], &["-Wl,-rpath,$ORIGIN/l"]);
    assert_eq!(case.agree("p").own(), ["l/libfiltee.so", "l/libfilter.so", "l/libother.so"]);
}

#[test]
fn case_22b_auxiliary_filtees_move_forward_and_may_be_missing() {
    let case = Case::new();
    case.library("l/libaux.so", &[], &[])
        .library("l/libfilter.so", &[], &["-Wl,-f,libgone.so", "-Wl,-f,libaux.so", RUNPATH, "-Wl,-rpath,$ORIGIN"])
        .program("p", &["l/libfilter.so", "l/libaux.so"], &["-Wl,-rpath,$ORIGIN/l"]);
    assert_eq!(case.agree("p").own(), ["l/libaux.so", "l/libfilter.so"]);
}

#[test]
fn case_23_a_musl_program_has_its_loader_for_a_libc() {
    need!("musl-gcc");
    let case = Case::new();
    case.fixture.write("m.c", "int main(void) { return 0; }\n");
    case.fixture.musl_cc(["-o", "m", "m.c"]);
    let agreed = case.agree("m");
    assert_eq!(agreed.listing.objects.len(), 1);
    assert_eq!(agreed.found("libc.so"), Found::Reserved);
}

#[test]
fn musl_inherits_runpaths_and_merges_by_inode() {
    need!("musl-gcc");
    let case = Case::new();
    for folder in ["a", "b"] {
        case.fixture.mkdir(folder);
    }
    case.fixture.write("l.c", "int l;\n");
    case.fixture.write("m.c", "int main(void) { return 0; }\n");
    let shared = ["-shared", "-fPIC", "-nostdlib", "-Wl,--no-as-needed", "l.c"];
    case.fixture.musl_cc([&shared[..], &["-o", "b/libdeep.so"]].concat());
    case.fixture.musl_cc([&shared[..], &["-o", "a/libmid.so", "-Wl,-soname,libmid.so", "-Lb", "-ldeep"]].concat());
    std::fs::hard_link(case.fixture.join("a/libmid.so"), case.fixture.join("a/libtwin.so")).unwrap();
    // The twin's soname is libmid.so; the second name comes in through a stub.
    case.fixture.musl_cc([&shared[..], &["-o", "stub.so", "-Wl,-soname,libtwin.so"]].concat());
    case.fixture.musl_cc([
        "-o",
        "m",
        "m.c",
        "-Wl,--no-as-needed",
        "-La",
        "-lmid",
        "stub.so",
        RUNPATH,
        "-Wl,-rpath-link,b",
        "-Wl,-rpath,$ORIGIN/a:$ORIGIN/b",
    ]);
    let agreed = case.agree("m");
    assert_eq!(agreed.listing.missing, Vec::<String>::new());
    assert_eq!(agreed.listing.objects.len(), 3);
}

#[test]
fn musl_gives_a_path_up_at_an_unknown_token() {
    need!("musl-gcc");
    let case = Case::new();
    case.fixture.mkdir("a");
    case.fixture.write("l.c", "int l;\n");
    case.fixture.write("m.c", "int main(void) { return 0; }\n");
    case.fixture.musl_cc(["-shared", "-fPIC", "-nostdlib", "-o", "a/libl.so", "l.c", "-Wl,-soname,libl.so"]);
    case.fixture.musl_cc(["-o", "m", "m.c", "-Wl,--no-as-needed", "a/libl.so", "-Wl,-rpath,$ORIGIN/a:$LIB"]);
    assert_eq!(case.agree("m").listing.missing, ["libl.so"]);
}
