//! Shared by the tests of rewritten bytes: a program with a versioned library, edits to absolute paths, the checks.

#![allow(dead_code, reason = "each test file takes what it needs")]

use std::path::PathBuf;
use underpin_rewrite::{Edits, Refusal, Rename, Rewrite, RewriteOptions, Strategy, record, rewrite, undo};
use underpin_test_support::{Fixture, Output, traced_objects};

/// All places for names.
pub const STRATEGIES: [Strategy; 4] =
    [Strategy::DeadStrings, Strategy::PagePadding, Strategy::DataTail, Strategy::NewSegment];
/// All linkers that the tests build with.
pub const LINKERS: [&str; 4] = ["-fuse-ld=bfd", "-fuse-ld=gold", "-fuse-ld=lld", "-fuse-ld=mold"];
/// The exit code of a program of [`program`].
pub const ANSWER: Option<i32> = Some(42);
/// Enough symbols that the string table of [`library`] does not fit into the padding as a whole.
const MANY: usize = 160;

/// Builds `main`, which uses a versioned `libdep.so.1` beside libm and libc, and exits with 42. It has a thread-local
/// variable, zeros of its own, an initialiser and a finaliser, so that a wrong table is noticed.
pub fn program(dir: &Fixture, compiler: &str, flags: &[&str]) -> PathBuf {
    dir.write("dep.c", "int dep(void) { return 30; }\n");
    dir.write("dep.map", "DEP_1 { global: dep; local: *; };\n");
    let shared = ["-shared", "-fPIC", "-o", "libdep.so.1", "-Wl,-soname,libdep.so.1", "-Wl,--version-script=dep.map"];
    let arch: Vec<&str> = flags.iter().copied().filter(|flag| *flag == "-m32").collect();
    dir.must(compiler, [&arch, &shared[..], &["dep.c"]].concat());
    dir.write(
        "main.c",
        "#include <stdio.h>\n\
         int dep(void); double cos(double);\n\
         static __thread int local = 4; static int zeros[300]; static int total;\n\
         __attribute__((constructor)) static void start(void) { total = 7; }\n\
         __attribute__((destructor)) static void stop(void) { puts(\"stopped\"); }\n\
         int main(int n, char **v) {\n\
           for (int i = 0; i < 300; i++) total += zeros[i];\n\
           return dep() + local + total + (int)cos(n - 1.0);\n\
         }\n",
    );
    let library = dir.join("libdep.so.1");
    let fixed = ["-o", "main", "main.c", library.to_str().unwrap(), "-lm", "-fno-builtin"];
    dir.must(compiler, [flags, &fixed].concat());
    dir.join("main")
}

/// A versioned library that needs libm, with enough names to fill its first page.
pub fn library(dir: &Fixture, linker: &str) -> Edits {
    let many: String =
        (0..MANY).map(|at| format!("int a_function_with_a_long_name_{at}(void) {{ return {at}; }}\n")).collect();
    dir.write("lib.c", format!("double cos(double);\nint entry(double x) {{ return 41 + (int)cos(x); }}\n{many}"));
    dir.write("lib.map", "LIB_1 { global: entry; a_*; local: *; };\n");
    let flags = ["-Wl,-soname,libentry.so", "-Wl,--version-script=lib.map", "-fno-builtin"];
    dir.cc([&["-shared", "-fPIC", "-g", linker, "-o", "libentry.so", "lib.c", "-lm"], &flags[..]].concat());
    dir.write("user.c", "int entry(double); int main(int n, char **v) { return entry(n - 1.0); }\n");
    dir.cc(["-o", "user", "user.c", "libentry.so"]);
    let mut edits = absolute(dir, "user");
    // Not libc: a library that calls nothing from it does not need it.
    edits.renames.retain(|rename| rename.from == "libm.so.6");
    assert_eq!(edits.renames.len(), 1);
    edits
}

/// Every name that the loader finds becomes the path at which it was found; the loader's own name stays.
pub fn absolute(dir: &Fixture, name: &str) -> Edits {
    let objects = traced_objects(&dir.join(name), &[("LD_LIBRARY_PATH", dir.text())]).unwrap();
    let renames = objects.into_iter().filter_map(|object| {
        let path = object.path?.to_str()?.to_owned();
        let is_loader = path.contains("/ld-");
        (object.name != path && !is_loader).then(|| Rename { from: object.name.into(), to: path.into() })
    });
    let edits = Edits { renames: renames.collect(), ..Edits::default() };
    assert!(!edits.renames.is_empty(), "{name} loads nothing that could be bound");
    edits
}

pub fn only(strategy: Strategy) -> RewriteOptions {
    RewriteOptions { only: Some(strategy), ..RewriteOptions::default() }
}

/// Rewrites `name` into `bound`, and checks that undo gives the original.
pub fn bind(dir: &Fixture, name: &str, edits: &Edits, options: &RewriteOptions) -> Result<Rewrite, Refusal> {
    let original = std::fs::read(dir.join(name)).unwrap();
    let rewrite = rewrite(&original, edits, options)?;
    let bound = rewrite.apply(&original);
    assert!(record(&bound).unwrap().is_some(), "{name}: no record in the bound file");
    assert!(undo(&bound).unwrap() == original, "{name}: undo does not give the original");
    assert!(rewrite.patches.windows(2).all(|pair| pair[0].end() <= pair[1].offset.0), "{name}: patches overlap");
    dir.write("bound", &bound);
    dir.chmod("bound", 0o755);
    Ok(rewrite)
}

/// The real loader accepts every new name of the program `name`, and the program still does what it did.
pub fn works(dir: &Fixture, name: &str, edits: &Edits) -> Result<(), String> {
    let objects = traced_objects(&dir.join(name), &[])?;
    let loaded: Vec<String> =
        objects.into_iter().filter_map(|object| Some(object.path?.to_str()?.to_owned())).collect();
    for rename in &edits.renames {
        if !loaded.iter().any(|path| rename.to == path.as_str()) {
            return Err(format!("{rename:?} is not among {loaded:?}"));
        }
    }
    let output = Output::of(&mut dir.command(dir.join(name)));
    if output.code != ANSWER || output.stdout != "stopped\n" || !output.stderr.is_empty() {
        return Err(format!("it ends with {output:?}"));
    }
    Ok(())
}

/// Binds with one strategy and asks the loader; returns whether there was room.
pub fn binds(dir: &Fixture, name: &str, edits: &Edits, strategy: Strategy) -> bool {
    match bind(dir, name, edits, &only(strategy)) {
        Ok(rewrite) => {
            assert!(rewrite.placed.iter().all(|placed| placed.strategy == strategy), "{:?}", rewrite.placed);
            works(dir, "bound", edits).unwrap_or_else(|error| panic!("{strategy:?}: {error}"));
            true
        }
        Err(Refusal::NoRoom { .. }) => false,
        Err(refusal) => panic!("{strategy:?}: {refusal}"),
    }
}
