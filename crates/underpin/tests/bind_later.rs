//! What a bound program still searches for: names that it opens while it runs, and names that are left alone. The
//! oracle is the real loader: what it finds (its own link map), and its failing lookups as strace counts them.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod common;

use common::{json, says};
use std::fs;
use underpin_test_support::{Fixture, Output, need};

/// Opens its arguments by bare name and prints the file behind each.
const OPENER: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
int f(void);
int main(int count, char **names) {
  for (int i = f() + 1; i < count; i++) {
    char path[4096] = "none";
    struct link_map *map = 0;
    void *handle = dlopen(names[i], RTLD_NOW);
    if (handle && !dlinfo(handle, RTLD_DI_LINKMAP, &map)) realpath(map->l_name, path);
    printf("%s %s\n", names[i], path);
  }
  return 0;
}
"#;

/// Directories that do not exist.
const DEAD: usize = 40;

/// A tree with a program `bin/m` that needs `f/lib/libf.so.1` and opens its arguments; its search list is `list`, below
/// the tree, after many directories that do not exist.
fn tree(compiler: &str, tag: &str, list: &[&str]) -> Fixture {
    let dir = Fixture::new();
    dir.mkdir("t/bin");
    dir.write("m.c", OPENER);
    library(&dir, compiler, "f/lib", "libf.so.1", "int f(void){return 0;}", &[]);
    let dead = (0..DEAD).map(|number| format!("{}/t/none{number}/lib", dir.text()));
    let live = list.iter().map(|entry| format!("{}/t/{entry}", dir.text()));
    let list: Vec<String> = dead.chain(live).chain([format!("{}/t/f/lib", dir.text())]).collect();
    let list = format!("-Wl,{tag},-rpath,{}", list.join(":"));
    let libf = dir.join("t/f/lib/libf.so.1");
    dir.must(
        compiler,
        [
            "-o",
            dir.join("t/bin/m").to_str().unwrap(),
            dir.join("m.c").to_str().unwrap(),
            libf.to_str().unwrap(),
            &list,
            "-ldl",
        ],
    );
    dir
}

fn library(dir: &Fixture, compiler: &str, folder: &str, name: &str, code: &str, flags: &[&str]) {
    dir.mkdir(format!("t/{folder}"));
    let source = dir.write(format!("{}-{name}.c", folder.replace('/', "-")), code);
    let out = dir.join(format!("t/{folder}/{name}"));
    let soname = format!("-Wl,-soname,{name}");
    let arguments = ["-shared", "-fPIC", &soname, "-o", out.to_str().unwrap(), source.to_str().unwrap()];
    dir.must(compiler, [&arguments[..], flags].concat());
}

fn opened(dir: &Fixture, names: &[&str]) -> String {
    let output = Output::of(dir.command(dir.join("t/bin/m")).args(names));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output.stdout
}

/// Failing lookups of the whole run.
fn failing(dir: &Fixture, program: &str, names: &[&str]) -> usize {
    let log = dir.join("strace.log");
    let mut command = dir.command("strace");
    command.args(["-e", "trace=open,openat,stat,newfstatat", "-o"]).arg(&log).arg(dir.join(program)).args(names);
    assert_eq!(Output::of(&mut command).code, Some(0));
    fs::read_to_string(&log).unwrap().lines().filter(|line| line.contains("= -1 ENOENT")).count()
}

fn bound(dir: &Fixture, options: &[&str]) -> String {
    let tree = dir.join("t").to_str().unwrap().to_owned();
    let output = says([&["bind"][..], options, &[tree.as_str()]].concat());
    assert_eq!(output.code, Some(0), "{options:?}: {}{}", output.stdout, output.stderr);
    let verified = says(["verify", &tree]);
    assert_eq!(verified.code, Some(0), "{options:?}: {}", verified.stdout);
    output.stdout
}

fn unbound(dir: &Fixture, before: &[u8]) {
    let output = says(["unbind", dir.join("t").to_str().unwrap()]);
    assert_eq!(output.code, Some(0), "{}", output.stdout);
    assert_eq!(fs::read(dir.join("t/bin/m")).unwrap(), before);
    assert!(!dir.join("t/.underpin").exists(), "the folders of links go with their last user");
}

#[test]
fn a_name_opened_after_binding_costs_what_a_search_path_of_one_directory_costs() {
    need!("cc", "strace");
    let dir = tree("cc", "--disable-new-dtags", &["x/lib", "y/lib"]);
    let late = ["libz-of-nobody.so.1"];
    let control = format!("-Wl,--disable-new-dtags,-rpath,{}/t/f/lib", dir.text());
    let (libf, source) = (dir.join("t/f/lib/libf.so.1"), dir.join("m.c"));
    dir.cc(["-o", "control", source.to_str().unwrap(), libf.to_str().unwrap(), &control]);
    let (original, allowed) = (fs::read(dir.join("t/bin/m")).unwrap(), failing(&dir, "control", &late));
    for folder in ["x/lib", "y/lib"] {
        library(&dir, "cc", folder, &format!("lib{}.so", &folder[..1]), "int g;", &[]);
    }
    let before = failing(&dir, "t/bin/m", &late);
    assert!(before > allowed + DEAD, "{before} {allowed}");
    for shape in [&[][..], &["--flatten"], &["--farm"], &["--relative"]] {
        let screen = bound(&dir, shape);
        assert!(screen.contains("imports dlopen") && screen.contains("1 directory"), "{screen}");
        let after = failing(&dir, "t/bin/m", &late);
        assert!(after <= allowed, "{shape:?}: {after}, control {allowed}, before {before}");
        unbound(&dir, &original);
    }
}

/// Every name that can be opened is found where it was found before, or still not found.
fn finds_the_same(compiler: &str, tag: &str) {
    let dir = tree(compiler, tag, &["x/lib", "empty/lib", "y/lib", "w/lib", "dev/lib"]);
    dir.mkdir("t/empty/lib");
    for (folder, name) in
        [("x/lib", "libboth.so"), ("y/lib", "libboth.so"), ("y/lib", "liby.so.2"), ("w/lib", "libw.so")]
    {
        library(&dir, compiler, folder, name, "int g;", &[]);
    }
    dir.symlink("libw.so", "t/w/lib/libalias.so");
    dir.symlink("/nowhere", "t/x/lib/libdangling.so");
    library(&dir, compiler, "w/lib", "libdangling.so", "int g;", &[]);
    // A linker script stops the search, and a name without `.so` is a library too.
    dir.write("t/x/lib/libscript.so", "INPUT(libw.so)\n");
    library(&dir, compiler, "y/lib", "libscript.so", "int g;", &[]);
    library(&dir, compiler, "y/lib", "plugin", "int g;", &[]);
    // Its own search list applies from where it is opened.
    dir.mkdir("t/w/sub");
    library(&dir, compiler, "w/sub", "libdeep.so", "int deep;", &[]);
    let deep = dir.join("t/w/sub/libdeep.so");
    let flags = ["-Wl,--no-as-needed,--enable-new-dtags,-rpath,$ORIGIN/../sub", deep.to_str().unwrap()];
    library(&dir, compiler, "w/lib", "liborigin.so", "int g;", &flags);
    let names = [
        "libboth.so",
        "liby.so.2",
        "libalias.so",
        "libdangling.so",
        "libscript.so",
        "plugin",
        "liborigin.so",
        "libnone.so",
        "libf.so.1",
    ];
    let (original, before) = (fs::read(dir.join("t/bin/m")).unwrap(), opened(&dir, &names));
    assert!(before.contains("t/x/lib/libboth.so\n") && before.contains("libscript.so none\n"), "{before}");
    assert!(before.contains("t/w/lib/liborigin.so\n"), "{before}");
    for shape in [&[][..], &["--flatten"], &["--farm"]] {
        if compiler == "musl-gcc" && !shape.is_empty() {
            continue;
        }
        bound(&dir, shape);
        assert_eq!(opened(&dir, &names), before, "{shape:?}");
        for name in names {
            assert_eq!(opened(&dir, &[name]), opened_before(&before, name), "{shape:?}: alone");
        }
        unbound(&dir, &original);
    }
}

fn opened_before(all: &str, name: &str) -> String {
    let line = all.lines().find(|line| line.split(' ').next() == Some(name)).unwrap();
    format!("{line}\n")
}

#[test]
fn names_opened_later_are_found_where_rpath_found_them() {
    need!("cc");
    finds_the_same("cc", "--disable-new-dtags");
}

#[test]
fn names_opened_later_are_found_where_runpath_found_them() {
    need!("cc");
    finds_the_same("cc", "--enable-new-dtags");
}

#[test]
fn names_opened_later_are_found_where_musl_found_them() {
    need!("musl-gcc", "/lib/ld-musl-x86_64.so.1");
    finds_the_same("musl-gcc", "--enable-new-dtags");
}

#[test]
fn a_plugin_without_a_list_of_its_own_still_inherits_that_of_the_program() {
    need!("cc");
    let dir = tree("cc", "--disable-new-dtags", &["x/lib", "y/lib"]);
    library(&dir, "cc", "x/lib", "libx.so", "int g;", &[]);
    library(&dir, "cc", "y/lib", "liby.so", "int y(void){return 0;}", &[]);
    let liby = dir.join("t/y/lib/liby.so");
    let flags = ["-Wl,--no-as-needed", liby.to_str().unwrap()];
    dir.mkdir("t/plugins");
    library(&dir, "cc", "plugins", "p.so", "int p;", &flags);
    let plugin = dir.join("t/plugins/p.so");
    // Outside the bound files: its names stay unchanged.
    let outside = dir.join("p.so");
    fs::rename(&plugin, &outside).unwrap();
    let names = [outside.to_str().unwrap(), "liby.so"];
    let before = opened(&dir, &names);
    assert!(before.ends_with("t/y/lib/liby.so\n"), "{before}");
    bound(&dir, &[]);
    assert_eq!(opened(&dir, &names), before);
}

#[test]
fn a_capability_directory_is_searched_as_before() {
    need!("cc");
    let dir = tree("cc", "--disable-new-dtags", &["x/lib", "y/lib", "z/lib"]);
    // Every machine of this kind has the base level; for the others the real loader decides.
    for level in ["x86-64-v2", "x86-64-v3", "x86-64-v4"] {
        library(&dir, "cc", &format!("y/lib/glibc-hwcaps/{level}"), "libcap.so", "int g;", &[]);
    }
    library(&dir, "cc", "z/lib", "libcap.so", "int g;", &[]);
    library(&dir, "cc", "z/lib", "libz-only.so", "int g;", &[]);
    library(&dir, "cc", "x/lib", "libx.so", "int g;", &[]);
    let names = ["libcap.so", "libz-only.so", "libx.so"];
    let before = opened(&dir, &names);
    bound(&dir, &[]);
    assert_eq!(opened(&dir, &names), before);
}

#[test]
fn a_library_that_comes_into_a_directory_of_the_old_list_is_noticed() {
    need!("cc");
    let dir = tree("cc", "--disable-new-dtags", &["x/lib", "y/lib"]);
    library(&dir, "cc", "x/lib", "libx.so", "int g;", &[]);
    library(&dir, "cc", "y/lib", "liby.so", "int g;", &[]);
    bound(&dir, &[]);
    library(&dir, "cc", "x/lib", "liby.so", "int g;", &[]);
    let verified = json(["verify", "--json", dir.join("t").to_str().unwrap()]);
    let program =
        verified["files"].as_array().unwrap().iter().find(|file| file["path"].as_str().unwrap().ends_with("bin/m"));
    assert_eq!((&verified["holds"], &program.unwrap()["state"]), (&false.into(), &"stale".into()), "{verified}");
    assert!(program.unwrap()["stale"][0].as_str().unwrap().contains("liby.so"), "{verified}");
    bound(&dir, &[]);
    assert!(opened(&dir, &["liby.so"]).ends_with("t/x/lib/liby.so\n"));
    assert_eq!(fs::read_dir(dir.join("t/.underpin")).unwrap().count(), 1, "the old folder is gone");
}

#[test]
fn a_drivers_library_that_stays_by_name_is_searched_in_one_directory() {
    need!("cc", "strace");
    let dir = Fixture::new();
    let code = [
        ("gl/lib", "libGL.so.1", "int gl(void){return 0;}"),
        ("a/lib", "liba.so.1", "int gl(void); int a(void){return gl();}"),
    ];
    let dead: Vec<String> = (0..DEAD).map(|number| format!("{}/t/none{number}/lib", dir.text())).collect();
    let (a, gl) = (format!("{}/t/a/lib", dir.text()), format!("{}/t/gl/lib", dir.text()));
    library(&dir, "cc", code[0].0, code[0].1, code[0].2, &[]);
    let (libgl, liba) = (format!("{gl}/libGL.so.1"), format!("{a}/liba.so.1"));
    library(&dir, "cc", code[1].0, code[1].1, code[1].2, &[&libgl]);
    dir.mkdir("t/bin");
    dir.write("g.c", "int a(void); int main(void){return a();}");
    let links = |list: &str| format!("-Wl,--disable-new-dtags,-rpath,{list},-rpath-link,{gl}");
    dir.cc(["-o", "t/bin/m", "g.c", &liba, &links(&format!("{}:{a}:{gl}", dead.join(":")))]);
    dir.cc(["-o", "control", "g.c", &liba, &links(&a)]);
    // The control finds libGL.so.1 in its one directory.
    fs::copy(&libgl, dir.join("t/a/lib/libGL.so.1")).unwrap();
    let allowed = failing(&dir, "control", &[]);
    fs::remove_file(dir.join("t/a/lib/libGL.so.1")).unwrap();
    let before = failing(&dir, "t/bin/m", &[]);
    for shape in [&[][..], &["--flatten"]] {
        let screen = bound(&dir, shape);
        let after = failing(&dir, "t/bin/m", &[]);
        assert!(after <= allowed && before > after + DEAD, "{shape:?}: {after}, control {allowed}, before {before}");
        assert!(
            screen.contains("drivers = false") && screen.contains(&format!("({after} lookups stay)")),
            "{after}: {screen}"
        );
        assert_eq!(says(["unbind", dir.join("t").to_str().unwrap()]).code, Some(0));
    }
}

#[test]
fn a_policy_leaves_search_paths_as_they_are() {
    need!("cc");
    let dir = tree("cc", "--disable-new-dtags", &[]);
    let policy = dir.write("policy.toml", "narrow_search = false\n");
    let tree = dir.join("t");
    let arguments = ["bind", "--dry-run", "--json", "--policy", policy.to_str().unwrap(), tree.to_str().unwrap()];
    let plan = json(arguments);
    let program =
        plan["files"].as_array().unwrap().iter().find(|file| file["path"].as_str().unwrap().ends_with("bin/m"));
    assert!(program.unwrap().get("search_path").is_none(), "{plan}");
    let late = &plan["programs"][0]["late"];
    assert_eq!((&late["directories_before"], &late["directories_after"]), (&(DEAD + 1).into(), &(DEAD + 1).into()));
}
