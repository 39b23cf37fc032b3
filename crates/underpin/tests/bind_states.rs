//! `verify`, `unbind` and the exit codes for bound files that were moved, stripped, or could not be written.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod common;

use common::{json, says};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use underpin_test_support::{Fixture, Output, need};

/// `t/bin/app` needs `t/z/lib/libz1.so` and `t/p/lib/libp1.so`, each in a folder of its own; the list is as given.
fn tree(list: &str) -> Fixture {
    let dir = Fixture::new();
    for (folder, name) in [("z", "z1"), ("p", "p1")] {
        dir.mkdir(format!("t/{folder}/lib"));
        dir.write("l.c", format!("int {name}(void){{return 21;}}"));
        let (out, soname) = (format!("t/{folder}/lib/lib{name}.so"), format!("-Wl,-soname,lib{name}.so"));
        dir.cc(["-shared", "-fPIC", "-g", "-Wl,--build-id", &soname, "-o", &out, "l.c", "-Wl,--no-as-needed", "-lm"]);
    }
    dir.mkdir("t/bin");
    dir.write(
        "m.c",
        "#include <stdio.h>\nint z1(void); int p1(void); int main(void){return printf(\"%d\\n\", z1() + p1()) < 0;}",
    );
    let list = format!("-Wl,--disable-new-dtags,-rpath,{}", list.replace('@', dir.text()));
    dir.cc(["-o", "t/bin/app", "m.c", "t/z/lib/libz1.so", "t/p/lib/libp1.so", &list]);
    dir
}

const ABSOLUTE: &str = "@/t/z/lib:@/t/p/lib";

fn at(dir: &Fixture, path: &str) -> String {
    dir.join(path).to_str().unwrap().to_owned()
}

fn runs(program: &Path) {
    let output = Output::of(&mut std::process::Command::new(program));
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), "42\n"), "{}: {}", program.display(), output.stderr);
}

fn state<'v>(document: &'v Value, name: &str) -> &'v Value {
    let files = document["files"].as_array().unwrap();
    let file = files.iter().find(|file| file["path"].as_str().unwrap().ends_with(name));
    &file.unwrap_or_else(|| panic!("{name} in {document}"))["state"]
}

#[test]
fn a_stripped_library_loads_the_same_and_cannot_be_undone() {
    need!("cc", "strip");
    let dir = tree(ABSOLUTE);
    let tree = at(&dir, "t");
    assert_eq!(says(["bind", &tree]).code, Some(0));
    dir.must("strip", [at(&dir, "t/z/lib/libz1.so")]);
    runs(&dir.join("t/bin/app"));
    let verified = json(["verify", "--json", &tree]);
    assert_eq!(state(&verified, "libz1.so"), "loads_the_same_cannot_be_undone", "{verified}");
    assert_eq!(state(&verified, "bin/app"), "loads_the_same", "{verified}");
    let verified = says(["verify", &tree]);
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
    assert!(verified.stdout.contains("loads the same; cannot be undone"), "{}", verified.stdout);
    let foreseen = says(["unbind", "--dry-run", &tree]);
    assert_eq!(foreseen.code, Some(1), "{}", foreseen.stdout);
    let done = says(["unbind", &tree]);
    assert_eq!(done.code, Some(1), "{}", done.stdout);
    for output in [&foreseen.stdout, &done.stdout] {
        assert!(output.contains("2 changed, 1 refused") && output.contains("libz1.so: it was changed"), "{output}");
    }
    runs(&dir.join("t/bin/app"));
}

#[test]
fn a_bound_file_without_a_record_is_known_as_bound() {
    need!("cc", "patchelf");
    let dir = tree(ABSOLUTE);
    let (tree, app) = (at(&dir, "t"), at(&dir, "t/bin/app"));
    assert_eq!(says(["verify", &tree]).code, Some(0), "nothing is bound");
    dir.must("patchelf", ["--replace-needed", "libz1.so", &at(&dir, "t/z/lib/libz1.so"), &app]);
    runs(Path::new(&app));
    let verified = says(["verify", &tree]);
    assert_eq!(verified.code, Some(1), "{}", verified.stdout);
    assert!(verified.stdout.contains("libz1.so by absolute path"), "{}", verified.stdout);
    let verified = json(["verify", "--json", &tree]);
    assert_eq!(state(&verified, "bin/app"), "bound_without_record", "{verified}");
    for arguments in [&["unbind", "--dry-run", &tree][..], &["unbind", &tree]] {
        let output = says(arguments);
        assert_eq!(output.code, Some(1), "{}", output.stdout);
        assert!(output.stdout.contains("app: it names 1 library by absolute path"), "{}", output.stdout);
    }
}

#[test]
fn a_library_without_a_soname_that_the_linker_named_by_its_path_is_not_bound() {
    need!("cc");
    let dir = Fixture::new();
    dir.write("l.c", "int l(void){return 0;}");
    dir.write("m.c", "int l(void); int main(void){return l();}");
    dir.mkdir("t");
    dir.cc(["-shared", "-fPIC", "-o", "t/libl.so", "l.c"]);
    let path = at(&dir, "t/libl.so");
    dir.cc(["-o", "t/m", "m.c", &path]);
    let verified = says(["verify", &at(&dir, "t")]);
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
}

#[test]
fn a_relatively_bound_tree_verifies_wherever_it_stands_until_a_library_is_exchanged() {
    need!("cc", "cp", "tar");
    for list in ["$ORIGIN/../z/lib:$ORIGIN/../p/lib", ABSOLUTE] {
        let dir = tree(list);
        let original = fs::read(dir.join("t/bin/app")).unwrap();
        assert_eq!(says(["bind", "--relative", &at(&dir, "t")]).code, Some(0));
        assert_eq!(says(["verify", &at(&dir, "t")]).code, Some(0));
        dir.must("cp", ["-rL", &at(&dir, "t"), &at(&dir, "copied")]);
        dir.must("tar", ["-C", dir.text(), "-cf", &at(&dir, "t.tar"), "t"]);
        fs::rename(dir.join("t"), dir.join("moved")).unwrap();
        dir.mkdir("unpacked");
        dir.must("tar", ["-C", &at(&dir, "unpacked"), "-xf", &at(&dir, "t.tar")]);
        for place in ["moved", "copied", "unpacked/t"] {
            let tree = at(&dir, place);
            runs(&dir.join(place).join("bin/app"));
            let verified = says(["verify", &tree]);
            assert_eq!(verified.code, Some(0), "{list} {place}: {}", verified.stdout);
        }
        for (place, exchanged) in [("moved", "z/lib/libz1.so"), ("copied", "bin/app.underpin-farm/libz1.so")] {
            dir.write("l.c", "int z1(void){return 20 + 1;} int other(void){return 4;}");
            let library = dir.join(place).join(exchanged);
            let soname = ["-shared", "-fPIC", "-Wl,--build-id", "-Wl,-soname,libz1.so", "-o"];
            dir.cc([&soname[..], &[library.to_str().unwrap(), "l.c"]].concat());
            let verified = says(["verify", &at(&dir, place)]);
            assert_eq!(verified.code, Some(1), "{list} {place}: {}", verified.stdout);
            assert!(verified.stdout.contains("is another build"), "{}", verified.stdout);
        }
        // With an absolute list the original finds nothing in its present place; its bytes are restored all the same.
        let unbound = says(["unbind", &at(&dir, "moved")]);
        let starts = list != ABSOLUTE;
        assert_eq!(unbound.code, Some(if starts { 0 } else { 2 }), "{}{}", unbound.stdout, unbound.stderr);
        assert_eq!(fs::read(dir.join("moved/bin/app")).unwrap(), original);
        assert!(!dir.join("moved/bin/app.underpin-farm").exists());
    }
}

#[test]
fn refused_files_end_with_1_and_the_figures_are_those_of_what_was_done() {
    need!("cc", "chattr", "strace");
    let dir = tree(ABSOLUTE);
    let probe = dir.write("probe", "");
    if Output::of(dir.command("chattr").arg("+i").arg(&probe)).code != Some(0) {
        return underpin_test_support::skip("no right to make a file immutable");
    }
    let _ = Output::of(dir.command("chattr").arg("-i").arg(&probe));
    let files = ["t/z/lib/libz1.so", "t/p/lib/libp1.so", "t/bin/app"].map(|path| at(&dir, path));
    dir.must("chattr", [&["+i"][..], &files.each_ref().map(String::as_str)].concat());
    let (screen, document) = (says(["bind", &at(&dir, "t")]), json(["bind", "--json", &at(&dir, "t")]));
    dir.must("chattr", [&["-i"][..], &files.each_ref().map(String::as_str)].concat());
    assert_eq!(screen.code, Some(1), "{}", screen.stdout);
    assert!(screen.stdout.contains("0 changed, 3 refused"), "{}", screen.stdout);
    let program = &document["programs"][0];
    assert_eq!(program["after"], program["before"], "nothing was done: {document}");
    assert_eq!(document["totals"]["names_bound"], 0, "{document}");
    assert!(!dir.join("t/.underpin").exists(), "a folder of links that nobody uses is gone");
}

#[test]
fn a_folder_of_links_that_cannot_be_made_refuses_its_users_alone() {
    need!("cc");
    let dir = tree(ABSOLUTE);
    // A file where the folder of links would go; the libraries need no such folder.
    dir.write("t/.underpin", "a file");
    let output = says(["bind", &at(&dir, "t")]);
    assert_eq!(output.code, Some(1), "{}{}", output.stdout, output.stderr);
    assert!(output.stdout.contains("2 changed, 1 refused"), "{}", output.stdout);
    assert!(output.stdout.contains("bin/app: its folder of links cannot be made"), "{}", output.stdout);
    runs(&dir.join("t/bin/app"));
    assert_eq!(fs::metadata(dir.join("t/.underpin")).unwrap().permissions().mode() & 0o777, 0o644);
}

#[test]
fn what_is_bound_is_not_advised_to_be_bound() {
    need!("cc");
    let dir = tree(&format!("{}:{ABSOLUTE}", (0..40).map(|n| format!("@/none{n}")).collect::<Vec<_>>().join(":")));
    let app = at(&dir, "t/bin/app");
    let advice = |app: &str| -> Vec<String> {
        let document = json(["survey", "--json", app]);
        document["advice"].as_array().unwrap().iter().map(|item| item["rule"].as_str().unwrap().to_owned()).collect()
    };
    assert!(advice(&app).contains(&"bind".to_owned()), "the search is long");
    assert_eq!(says(["bind", &at(&dir, "t")]).code, Some(0));
    assert!(!advice(&app).contains(&"bind".to_owned()), "{:?}", advice(&app));
}

#[test]
fn the_printed_policy_is_a_policy() {
    need!("cc");
    let dir = tree(ABSOLUTE);
    let printed = says(["bind", "--print-policy"]);
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    let policy = dir.write("policy.toml", &printed.stdout);
    let tree = at(&dir, "t");
    let plain = json(["bind", "--dry-run", "--json", &tree]);
    let same = json(["bind", "--dry-run", "--json", "--policy", policy.to_str().unwrap(), &tree]);
    assert_eq!(plain, same);
    let help = says(["bind", "--help"]).stdout;
    for key in [
        "exclude",
        "only",
        "glibc",
        "narrow_search",
        "shape",
        "strategy",
        "farm_directory",
        "drivers",
        "mpi",
        "stubs",
        "hwcaps",
        "library_path",
    ] {
        assert!(printed.stdout.contains(key) && help.contains(key), "{key}");
    }
}
