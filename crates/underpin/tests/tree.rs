//! `underpin tree` from outside: what it prints, and how it exits.

mod common;

use common::{json, says, underpin};
use underpin_test_support::{Fixture, Output, need, traced_objects};

/// A program that needs `libb.so`, which needs `liba.so`; both found through `$ORIGIN`.
fn chain() -> Fixture {
    let dir = Fixture::new();
    dir.write("a.c", "int a(void){return 1;}");
    dir.write("b.c", "int a(void); int b(void){return a();}");
    dir.write("main.c", "int b(void); int main(void){return b() - 1;}");
    dir.cc(["-shared", "-fPIC", "-o", "liba.so", "a.c"]);
    dir.cc(["-shared", "-fPIC", "-o", "libb.so", "b.c", "-L.", "-la", "-Wl,-rpath,$ORIGIN"]);
    dir.cc(["-o", "prog", "main.c", "-L.", "-lb", "-Wl,-rpath,$ORIGIN", "-Wl,-rpath-link,."]);
    dir
}

#[test]
fn the_list_is_the_loaders_own_in_its_order() {
    need!("cc", "readelf");
    let dir = chain();
    let loader: Vec<_> =
        traced_objects(&dir.join("prog"), &[]).unwrap().into_iter().map(|object| object.path.unwrap()).collect();
    let ours: Vec<_> = says(["tree", "--list", dir.join("prog").to_str().unwrap()])
        .stdout
        .lines()
        .map(Into::into)
        .collect::<Vec<std::path::PathBuf>>();
    assert_eq!(ours, loader);
}

#[test]
fn a_missing_library_is_a_finding_with_every_path_tried() {
    need!("cc");
    let dir = chain();
    std::fs::remove_file(dir.join("liba.so")).unwrap();
    let prog = dir.join("prog");
    let prog = prog.to_str().unwrap();
    let output = says(["tree", prog]);
    assert_eq!(output.code, Some(1));
    assert!(output.stdout.contains("liba.so"), "{}", output.stdout);
    let why = says(["tree", "--why", "liba.so", prog]);
    assert_eq!(why.code, Some(1));
    assert!(why.stdout.contains(dir.join("liba.so").to_str().unwrap()), "{}", why.stdout);
    let unknown = says(["tree", "--why", "libnothing.so", prog]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("libnothing.so"), "{}", unknown.stderr);
}

#[test]
fn a_variable_of_the_option_is_searched_and_ours_is_too() {
    need!("cc");
    let dir = chain();
    std::fs::create_dir(dir.join("other")).unwrap();
    std::fs::rename(dir.join("liba.so"), dir.join("other/liba.so")).unwrap();
    let (prog, other) = (dir.join("prog"), dir.join("other"));
    let variable = format!("LD_LIBRARY_PATH={}", other.display());
    assert_eq!(says(["tree", "--env", &variable, prog.to_str().unwrap()]).code, Some(0));
    let inherited = Output::of(underpin(["tree".as_ref(), prog.as_os_str()]).env("LD_LIBRARY_PATH", &other));
    assert_eq!(inherited.code, Some(0));
    let secure = says(["tree", "--secure", "--env", &variable, prog.to_str().unwrap()]);
    assert_eq!(secure.code, Some(1), "secure-execution mode ignores it");
}

#[test]
fn predicted_calls_equal_measured_ones() {
    need!("/usr/bin/git", "/usr/bin/python3");
    for program in ["/bin/sh", "/usr/bin/git", "/usr/bin/python3"] {
        let document = json(["tree", "--check", "--json", program, "--", "--version"]);
        assert_eq!(document["comparison"]["equal"], true, "{program}: {}", document["comparison"]);
        let calls = document["comparison"]["rows"].as_array().unwrap();
        assert!(
            calls.iter().any(|row| row["name"] == "openat" && row["measured_calls"].as_u64() > Some(0)),
            "{calls:?}"
        );
    }
}

#[test]
fn many_files_give_one_line_each_in_the_order_given() {
    need!("cc");
    let dir = chain();
    dir.write("notes.txt", "no program");
    let (prog, lib) = (dir.join("prog"), dir.join("libb.so"));
    let output = says(["tree", "--json", prog.to_str().unwrap(), lib.to_str().unwrap()]);
    let lines: Vec<serde_json::Value> = output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["program"], prog.to_str().unwrap());
    assert_eq!(lines[1]["program"], lib.to_str().unwrap());

    let folder = says(["tree", dir.text()]);
    assert_eq!(folder.code, Some(0), "{}", folder.stderr);
    let names: Vec<&str> =
        folder.stdout.lines().filter_map(|line| line.split_once(": ")).map(|(path, _)| path).collect();
    assert_eq!(names, ["liba.so", "libb.so", "prog"].map(|name| dir.join(name).to_str().unwrap().to_owned()));
}

#[test]
fn a_named_file_that_is_no_program_is_an_error_but_the_others_are_shown() {
    need!("cc");
    let dir = chain();
    dir.write("notes.txt", "no program");
    let (prog, notes) = (dir.join("prog"), dir.join("notes.txt"));
    let output = says(["tree", "--json", notes.to_str().unwrap(), prog.to_str().unwrap()]);
    assert_eq!(output.code, Some(2));
    assert_eq!(output.stdout.lines().count(), 1);
    assert!(output.stderr.contains("notes.txt"), "{}", output.stderr);
}

#[test]
fn a_whole_folder_of_the_machine_is_read() {
    let output = says(["tree", "--json", "/usr/bin"]);
    assert!(matches!(output.code, Some(0 | 1)), "{}", output.stderr);
    assert_eq!(output.stderr, "");
    let mut programs = 0;
    for line in output.stdout.lines() {
        let document: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(document["schema"], "underpin.tree/1");
        programs += 1;
    }
    assert!(programs > 50, "only {programs} programs in /usr/bin");
}

#[test]
fn another_root_is_resolved_inside_itself() {
    need!("cc");
    let dir = chain();
    for folder in ["sys/lib64", "sys/app"] {
        dir.mkdir(folder);
    }
    for name in ["prog", "liba.so", "libb.so"] {
        dir.copy(dir.join(name), format!("sys/app/{name}"));
    }
    let root = dir.join("sys");
    let root = root.to_str().unwrap();
    let output = says(["tree", "--root", root, "/app/prog"]);
    assert_eq!(output.code, Some(1), "no loader and no libc in there: {}{}", output.stdout, output.stderr);
    let from_here = says(["tree", "--root", root, dir.join("sys/app/prog").to_str().unwrap()]);
    assert_eq!(from_here.stdout, output.stdout, "a path from here means the same file");
}

#[test]
fn paths_are_the_loaders_order_with_the_variables_directories() {
    need!("cc");
    let dir = chain();
    let prog = dir.join("prog");
    let variable = format!("LD_LIBRARY_PATH={}/nowhere", dir.path().display());
    let output = says(["tree", "--paths", "-v", "--env", &variable, prog.to_str().unwrap()]);
    let of_prog = output.stdout.split("\n\n").find(|block| block.contains("/prog\n")).expect("the program's block");
    let rules: Vec<&str> = of_prog.lines().filter_map(|line| line.split(['[', ']']).nth(1)).collect();
    assert_eq!(rules[..3], ["LD_LIBRARY_PATH", "runpath", "ld.so.cache"], "{of_prog}");
    let missing = of_prog.lines().find(|line| line.contains("/nowhere/")).expect("the variable's directory");
    assert!(missing.ends_with("does not exist"), "{missing}");
}

#[test]
fn a_name_that_is_nothing_hides_none_of_the_others() {
    need!("cc");
    let dir = chain();
    let prog = dir.join("prog");
    let prog = prog.to_str().unwrap();
    let output = says(["tree", prog, "/no/such/file", prog]);
    assert_eq!(output.code, Some(2));
    assert_eq!(output.stdout.lines().count(), 2, "{}", output.stdout);
    assert!(output.stderr.contains("/no/such/file: no such file"), "{}", output.stderr);
}

#[test]
fn a_folder_without_programs_says_so() {
    let dir = Fixture::new();
    dir.write("notes.txt", "no program");
    let output = says(["tree", dir.path().to_str().unwrap()]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("no program and no shared library"), "{}", output.stderr);
}

#[test]
fn a_program_that_does_not_start_is_not_compared() {
    need!("cc");
    let dir = chain();
    std::fs::remove_file(dir.join("liba.so")).unwrap();
    let output = says(["tree", "--check", dir.join("prog").to_str().unwrap()]);
    assert_eq!(output.code, Some(1));
    assert!(output.stdout.contains("a real start ends at the first"), "{}", output.stdout);
    assert!(!output.stdout.contains("measured"), "{}", output.stdout);
    assert!(output.stderr.contains("does not start"), "{}", output.stderr);
}

/// A program `m` whose library was replaced by one without the version it needs.
fn without_its_version() -> Fixture {
    let dir = Fixture::new();
    dir.write("v.c", "int f(void){return 0;}");
    dir.write("m.c", "int f(void); int main(void){return f();}");
    dir.write("2.map", "V2 { global: f; local: *; };");
    dir.write("1.map", "V1 { global: f; local: *; };");
    let library = |map: &str| {
        let script = format!("-Wl,--version-script={map}");
        dir.cc(["-shared", "-fPIC", "-Wl,-soname,libv.so.1", &script, "-o", "libv.so.1", "v.c"]);
    };
    library("2.map");
    dir.cc(["-o", "m", "m.c", "./libv.so.1", "-Wl,-rpath,$ORIGIN"]);
    library("1.map");
    dir
}

/// The loader is the reference: it starts the program or does not, and every form must exit accordingly.
#[test]
fn every_form_ends_with_the_code_that_the_loaders_end_asks_for() {
    need!("cc");
    let (missing, version, whole) = (chain(), without_its_version(), chain());
    std::fs::remove_file(missing.join("liba.so")).unwrap();
    let stopped = chain();
    std::fs::remove_file(stopped.join("liba.so")).unwrap();
    std::fs::create_dir(stopped.join("liba.so")).unwrap();
    for program in [missing.join("prog"), version.join("m"), stopped.join("prog"), whole.join("prog")] {
        let starts = Output::of(&mut std::process::Command::new(&program)).code == Some(0);
        let path = program.to_str().unwrap();
        for form in [&["--list"][..], &["--list", "--print0"], &[], &["-v"], &["--json"], &["--paths"]] {
            let output = says([&["tree"], form, &[path]].concat());
            assert_eq!(output.code, Some(i32::from(!starts)), "{form:?} {path}: {} {}", output.stdout, output.stderr);
        }
    }
}

/// ldd(1) names what is missing; a list that a program reads has it on standard error.
#[test]
fn the_list_tells_what_is_not_in_it() {
    need!("cc");
    let dir = chain();
    std::fs::remove_file(dir.join("liba.so")).unwrap();
    let output = says(["tree", "--list", dir.join("prog").to_str().unwrap()]);
    assert!(output.stderr.contains("liba.so") && !output.stdout.contains("liba.so"), "{output:?}");
    let dir = without_its_version();
    let output = says(["tree", "--list", dir.join("m").to_str().unwrap()]);
    assert!(output.stderr.contains("V2"), "{output:?}");
    assert!(output.stdout.contains("libv.so.1"), "{output:?}");
}

#[test]
fn the_list_for_programs_ends_each_path_with_nul() {
    need!("cc");
    let dir = chain();
    let prog = dir.join("prog");
    let lines = says(["tree", "--list", prog.to_str().unwrap()]).stdout;
    let zeros = says(["tree", "--list", "--print0", prog.to_str().unwrap()]).stdout;
    assert_eq!(zeros, lines.replace('\n', "\0"));
}

#[test]
fn a_file_among_others_has_the_document_that_it_has_alone() {
    need!("cc");
    let dir = chain();
    // A path through a link, so that the real path differs.
    std::fs::rename(dir.join("liba.so"), dir.join("real.so")).unwrap();
    dir.symlink("real.so", "liba.so");
    let prog = dir.join("prog");
    let alone = says(["tree", "--json", prog.to_str().unwrap()]).stdout;
    let among = says(["tree", "--json", "/bin/true", prog.to_str().unwrap()]).stdout;
    let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(parse(&alone), parse(among.lines().nth(1).unwrap()));
    assert!(alone.contains(dir.join("real.so").to_str().unwrap()), "{alone}");
}

/// The file at which the loader stops is the reason; what it would have met later is not reported.
#[test]
fn a_file_that_stops_the_loader_is_the_only_error() {
    need!("cc");
    let dir = chain();
    std::fs::remove_file(dir.join("liba.so")).unwrap();
    std::fs::write(dir.join("liba.so"), "no library").unwrap();
    let document = json(["tree", "--json", dir.join("prog").to_str().unwrap()]);
    let errors: Vec<_> =
        document["findings"].as_array().unwrap().iter().filter(|finding| finding["severity"] == "error").collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0]["kind"], "fatal_file");
}

/// Checked with strace: the loader knows the kernel's object and searches for nothing.
#[test]
fn the_kernels_own_object_can_be_preloaded_without_a_search() {
    need!("cc", "strace");
    let dir = chain();
    let prog = dir.join("prog");
    let lookups = |preload: &str| {
        let log = dir.join("log");
        let mut command = std::process::Command::new("strace");
        command
            .args(["-E", &format!("LD_PRELOAD={preload}"), "-e", "trace=openat,newfstatat", "-o"])
            .arg(&log)
            .arg(&prog);
        let _ = Output::of(&mut command);
        std::fs::read_to_string(log).unwrap().matches("vdso").count()
    };
    assert_eq!(lookups("linux-vdso.so.1"), 0);
    let document = json(["tree", "--json", "--env", "LD_PRELOAD=linux-vdso.so.1", prog.to_str().unwrap()]);
    let plain = json(["tree", "--json", "--env", "LD_PRELOAD=", prog.to_str().unwrap()]);
    assert_eq!(document["calls"], plain["calls"]);
    assert_eq!(document["findings"], plain["findings"]);
}
