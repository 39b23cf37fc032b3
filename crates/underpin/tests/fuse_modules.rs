//! `bind --fuse --modules`: libraries that only modules need are inside too, unless one would answer a reference otherwise
//! than before. Held against the unchanged program: what it prints, and where the real loader binds each reference of what
//! it opens.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]
#![cfg(target_arch = "x86_64")]

mod common;

use common::libraries::{at, program};
use common::{json, says};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use underpin_test_support::{Fixture, Output, need};

/// Opens each file that is named and prints what its `run` gives, or why it cannot be opened.
const OPENS: &str = "#include <dlfcn.h>\n#include <stdio.h>\nint f0(void);\n\
    int main(int c, char **v) { for (int i = 1; i < c; i++) { void *h = dlopen(v[i], RTLD_NOW | RTLD_LOCAL);\n\
    int (*run)(void) = h ? dlsym(h, \"run\") : 0; if (run) printf(\"%d \", run()); else puts(dlerror()); }\n\
    return printf(\"%d\\n\", f0()) < 0; }";

/// A program of twelve libraries that opens modules.
fn opening() -> Fixture {
    let dir = program();
    dir.write("app.c", OPENS);
    dir.cc(["-o", "app", "app.c", "lib0.so", &search(&dir), "-ldl"]);
    dir
}

fn search(dir: &Fixture) -> String {
    format!("-Wl,-rpath,{}", dir.text())
}

/// A shared object, of C or C++, that needs others.
fn shared(dir: &Fixture, file: &str, source: &str, needs: &[&str]) {
    let cxx = source.contains("extern \"C\"");
    let text = format!("{file}.{}", if cxx { "cc" } else { "c" });
    dir.write(&text, source);
    let soname = format!("-Wl,-soname,{}", Path::new(file).file_name().unwrap().to_str().unwrap());
    let search = search(dir);
    let mut words = vec!["-shared", "-fPIC", "-O0", "-Wl,--no-as-needed", &soname, "-o", file, &text, &search];
    words.extend(needs);
    if cxx {
        dir.must("c++", words);
    } else {
        dir.cc(words);
    }
}

/// What the program prints with these modules, and where the loader binds each reference of a process: by object and symbol.
fn run(dir: &Fixture, modules: &[&str]) -> (String, BTreeMap<(String, String), String>) {
    let mut command = dir.command(dir.join("app"));
    command.args(modules.iter().map(|name| dir.join(format!("modules/{name}"))));
    let output = Output::of(command.env("LD_DEBUG", "bindings").env("LD_BIND_NOW", "1"));
    assert_eq!(output.code, Some(0), "{}", output.stdout);
    let name = |object: &str| object.rsplit('/').next().unwrap().split(' ').next().unwrap().to_owned();
    let binding = |line: &str| {
        let (from, rest) = line.split_once("binding file ")?.1.split_once(" to ")?;
        let (to, symbol) = rest.split_once(": ")?;
        Some(((name(from), symbol.to_owned()), name(to)))
    };
    (output.stdout, output.stderr.lines().filter_map(binding).collect())
}

/// Fuses the program with the modules of its folder, and holds it against what it was. The document's part of modules.
fn fused(dir: &Fixture, modules: &[&str]) -> Value {
    let original = fs::read(dir.join("app")).unwrap();
    let (said, bindings) = run(dir, modules);
    let document = json(["bind", "--fuse", "--json", "--modules", &at(dir, "modules"), &at(dir, "app")]);
    let fusion = &document["programs"][0];
    assert_eq!(fusion["outcome"], "merged", "{document}");
    let members: Vec<&str> = fusion["members"].as_array().unwrap().iter().map(|path| path.as_str().unwrap()).collect();
    let inside = |file: &str| members.iter().any(|path| path.ends_with(&format!("/{file}")));
    let (says_now, now) = run(dir, modules);
    assert_eq!(says_now, said);
    for ((from, symbol), to) in bindings.into_iter().filter(|((from, _), _)| !inside(from)) {
        // What the merged file passes on (underpin-fuse, `names`), and inline functions, of which any copy serves.
        if symbol.contains("`dlopen'") || symbol.contains("`_Z") {
            continue;
        }
        let expected = if inside(&to) { "app.fused.so".to_owned() } else { to };
        assert_eq!(now.get(&(from.clone(), symbol.clone())), Some(&expected), "{symbol} of {from}");
    }
    let held = json(["verify", "--bindings", "--json", &at(dir, "app")]);
    assert_eq!(held["holds"], true, "{held}");
    assert_eq!(says(["unbind", &at(dir, "app")]).code, Some(0));
    assert!(fs::read(dir.join("app")).unwrap() == original && !dir.join(".underpin").exists(), "every byte is back");
    fusion["modules"].clone()
}

/// The libraries that are left to modules, and why.
fn left(modules: &Value) -> BTreeMap<String, String> {
    let file = |one: &Value| one["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let all = modules["left"].as_array().unwrap().iter();
    all.map(|one| (file(one), one["reason"].as_str().unwrap().to_owned())).collect()
}

#[test]
fn what_modules_bring_is_inside_and_each_reference_leads_where_it_led() {
    need!("cc");
    let dir = opening();
    shared(&dir, "libdeep.so", "int f3(void); int deep(void) { return f3() * 100; }", &["lib3.so"]);
    shared(&dir, "libone.so", "int deep(void); static int n; int one(void) { return deep() + ++n; }", &["libdeep.so"]);
    // What asks the loader who it is stays shared, and comes along because a library inside needs it.
    let asks = "#define _GNU_SOURCE\n#include <dlfcn.h>\nint asks(void) { Dl_info i; void *m; return dladdr1((void *) asks, &i, &m, RTLD_DL_LINKMAP); }";
    shared(&dir, "libasks.so", asks, &["-ldl"]);
    shared(
        &dir,
        "libtwo.so",
        "int asks(void), one(void); int two(void) { return asks() + one(); }",
        &["libasks.so", "libone.so"],
    );
    // And does not if modules alone need it.
    shared(&dir, "libalone.so", &asks.replace("asks", "alone"), &["-ldl"]);
    fs::create_dir(dir.join("modules")).unwrap();
    shared(
        &dir,
        "modules/a.so",
        "int one(void), f11(void); int run(void) { return one() + f11(); }",
        &["libone.so", "lib11.so"],
    );
    shared(&dir, "modules/b.so", "int two(void); int run(void) { return two(); }", &["libtwo.so"]);
    shared(&dir, "modules/c.so", "int alone(void); int run(void) { return alone(); }", &["libalone.so"]);
    dir.write("modules/notes.txt", "no module");
    let found = fused(&dir, &["a.so", "b.so", "c.so", "a.so"]);
    assert_eq!((&found["modules"], &found["libraries"]), (&Value::from(3), &Value::from(4)), "{found}");
    assert_eq!(left(&found), BTreeMap::new());
}

/// A library of a module would answer, at start, what something else answers now, or nothing.
#[test]
fn a_library_that_would_answer_otherwise_stays_with_its_modules() {
    need!("cc", "c++");
    let run = |body: &str| format!("int run(void) {{ return {body}; }}");
    // What the module and its library have both: the name of the case, the library, the module, and whether it stays apart.
    let cases = [
        ("nothing", "int extra(void) { return 1; }", format!("int extra(void); {}", run("extra()")), None),
        (
            "the module's own",
            "int extra(void) { return 1; } int both(void) { return 2; }",
            format!("int extra(void); int both(void) {{ return 30; }} {}", run("extra() + both()")),
            Some("both"),
        ),
        (
            "a weak reference of the program's library",
            "int extra(void) { return 1; } int hook(void) { return 500; }",
            format!("int extra(void); {}", run("extra()")),
            Some("hook"),
        ),
        (
            "an inline function in both",
            "extern \"C\" int extra(); inline int twice(int x) { return 2 * x; } int extra() { return twice(1); }",
            "inline int twice(int x) { return 2 * x; } extern \"C\" int extra(); extern \"C\" int run() { return extra() + twice(2); }"
                .to_owned(),
            None,
        ),
        (
            "a weak definition that is no copy",
            "int extra(void) { return 1; } __attribute__((weak)) int both(void) { return 2; }",
            format!("int extra(void); __attribute__((weak)) int both(void) {{ return 30; }} {}", run("extra() + both()")),
            Some("both"),
        ),
    ];
    for (case, library, module, stays) in cases {
        let dir = opening();
        // Replaces the last library of the program by one with a weak reference.
        let weak = "__attribute__((weak)) int hook(void); int f11(void) { return hook ? hook() : 1; }";
        shared(&dir, "lib11.so", weak, &[]);
        shared(&dir, "libextra.so", library, &[]);
        // It needs the library, and would bring it.
        shared(&dir, "libabove.so", "int extra(void); int above(void) { return extra(); }", &["libextra.so"]);
        fs::create_dir(dir.join("modules")).unwrap();
        shared(&dir, "modules/m.so", &module, &["libextra.so"]);
        shared(&dir, "modules/n.so", "int above(void); int run(void) { return above(); }", &["libabove.so"]);
        let found = fused(&dir, &["m.so", "n.so"]);
        let left = left(&found);
        match stays {
            // The two, and what C++ brings.
            None => assert!(left.is_empty() && found["libraries"].as_u64().unwrap() >= 2, "{case}: {found}"),
            Some(symbol) => {
                assert!(left["libextra.so"].contains(&format!("answer for {symbol},")), "{case}: {left:?}");
                assert_eq!(left["libabove.so"], "needs libextra.so, which stays with its modules", "{case}");
            }
        }
    }
}

#[test]
fn two_libraries_with_one_name_for_two_modules_both_stay_apart() {
    need!("cc");
    let dir = opening();
    fs::create_dir(dir.join("modules")).unwrap();
    for (name, value) in [("red", 1), ("blue", 2)] {
        shared(&dir, &format!("lib{name}.so"), &format!("int colour(void) {{ return {value}; }}"), &[]);
        let module = format!("modules/{name}.so");
        shared(&dir, &module, "int colour(void); int run(void) { return colour(); }", &[&format!("lib{name}.so")]);
    }
    let found = fused(&dir, &["red.so", "blue.so"]);
    let left = left(&found);
    // With the one that would come first apart, the other one changes nothing for its own module, and everything for the
    // module of the first.
    assert_eq!(left.keys().collect::<Vec<_>>(), ["libblue.so", "libred.so"], "{found}");
}

#[test]
fn what_needs_a_module_stays_with_it() {
    need!("cc");
    let dir = opening();
    fs::create_dir(dir.join("modules")).unwrap();
    shared(
        &dir,
        "modules/libbase.so",
        "static int n; int base(void) { return ++n; } int run(void) { return base(); }",
        &[],
    );
    let search = format!("-Wl,-rpath,{}", at(&dir, "modules"));
    shared(&dir, "libone.so", "int base(void); int one(void) { return base(); }", &["modules/libbase.so", &search]);
    shared(&dir, "modules/a.so", "int one(void); int run(void) { return one(); }", &["libone.so"]);
    let found = fused(&dir, &["libbase.so", "a.so", "libbase.so"]);
    assert_eq!(left(&found)["libone.so"], "needs libbase.so, which stays with its modules");
}

#[test]
fn an_update_is_found_and_taken_with_the_same_modules() {
    need!("cc");
    let dir = opening();
    fs::create_dir(dir.join("modules")).unwrap();
    shared(&dir, "libone.so", "int one(void) { return 1; }", &[]);
    shared(&dir, "modules/a.so", "int one(void); int run(void) { return one(); }", &["libone.so"]);
    let app = at(&dir, "app");
    assert_eq!(says(["bind", "--fuse", "--modules", &at(&dir, "modules"), &app]).code, Some(0));
    let again = json(["bind", "--fuse", "--json", "--modules", &at(&dir, "modules"), &app]);
    assert_eq!(again["programs"][0]["outcome"], "unchanged");
    let new = "int one(void) { return 70; } int more(void) { return 0; }";
    shared(&dir, "libone.so", new, &[]);
    let stale = says(["verify", &app]);
    assert!(stale.code == Some(1) && stale.stdout.contains("libone.so"), "{}", stale.stdout);
    assert_eq!(run(&dir, &["a.so"]).0, "1 12\n", "the old one is inside");
    assert_eq!(says(["bind", "--fuse", "--refresh", &app]).code, Some(0));
    assert_eq!(run(&dir, &["a.so"]).0, "70 12\n");
    assert_eq!(says(["verify", &app]).code, Some(0));
}

#[test]
fn modules_that_cannot_be_used_are_named() {
    need!("cc");
    let dir = opening();
    fs::create_dir(dir.join("modules")).unwrap();
    let (app, modules) = (at(&dir, "app"), at(&dir, "modules"));
    let refused = |words: &[&str], why: &str| {
        let said = says([&["bind", "--fuse"], words].concat());
        let all = format!("{}{}", said.stdout, said.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.code == Some(2) && all.contains(why), "{all}");
    };
    refused(&["--modules", &modules, &app], "no module for this processor");
    refused(&["--modules", &at(&dir, "app.c"), &app], "not an ELF file");
    refused(&["--modules", &at(&dir, "none"), &app], "no such file or folder");
    refused(&["--modules", &modules, dir.text()], "takes one program");
    shared(&dir, "libgone.so", "int gone(void) { return 1; }", &[]);
    shared(&dir, "modules/a.so", "int gone(void); int run(void) { return gone(); }", &["libgone.so"]);
    shared(&dir, "modules/b.so", "int run(void) { return 2; }", &[]);
    fs::remove_file(dir.join("libgone.so")).unwrap();
    let found = fused(&dir, &["b.so"]);
    assert!(left(&found)["a.so"].contains("libgone.so is not found"), "{found}");
}
