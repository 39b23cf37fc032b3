//! `underpin image build NAME --layer DIR` and `image layer`: a layer as a newcomer writes it, from layers/README.md.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::underpin;
use serde_json::Value;
use std::fs;
use std::path::Path;
use underpin_test_support::{Fixture, Output, all_required, need, skip};

/// musl and the kernel's headers are fetched once for all tests.
const CACHE: &str = env!("CARGO_TARGET_TMPDIR");
const BUILD: [&str; 9] =
    ["build", "hello", "--libc", "musl", "--target", "oci-x86_64", "-o", "hello.tar", "--toolchain"];

const RECIPE: &str = "version = \"1.0\"\nlicence = \"MIT\"\nbuild = \"make\"\n\n[source]\nfolder = \"hello-src\"\n\n\
                      [take]\n\"usr/bin/hello\" = \"hello\"\n";
const APPEND: &str = "[[change]]\ncause = \"upstream bug\"\nwhy = \"it greets nobody\"\npatches = [\"greet.patch\"]\n\
                      evidence = { file = \"hello.c\", text = \"nobody\" }\n";
const PATCH: &str = "--- a/hello.c\n+++ b/hello.c\n@@ -1,4 +1,4 @@\n #include <stdio.h>\n int main(void) {\n\
                     -    return puts(\"hello, nobody\") < 0;\n+    return puts(\"hello, world\") < 0;\n }\n";
const SOURCE: &str = "#include <stdio.h>\nint main(void) {\n    return puts(\"hello, nobody\") < 0;\n}\n";

fn fixture() -> Fixture {
    let dir = Fixture::new();
    dir.write("my-layer/layer.toml", "order = 100\n");
    dir.write("my-layer/hello.toml", RECIPE);
    dir.write("my-layer/hello_1.*.append.toml", APPEND);
    dir.write("my-layer/greet.patch", PATCH);
    dir.write("my-layer/hello-src/hello.c", SOURCE);
    dir.write(
        "my-layer/hello-src/Makefile",
        "hello: hello.c\n\t$(CROSS_COMPILE)$(CC) $(CPPFLAGS) $(EXTRA_CFLAGS) -O2 -o hello hello.c $(LDLIBS)\n",
    );
    dir
}

fn image(dir: &Fixture, args: &[&str]) -> Output {
    let mut command = underpin(["image"]);
    command.args(args).args(["--layer", "my-layer"]).current_dir(dir.path());
    // None of these may reach a recipe.
    for name in ["CPPFLAGS", "EXTRA_CFLAGS", "LDLIBS", "MAKEFLAGS", "CROSS_COMPILE"] {
        command.env(name, "no-such-option");
    }
    Output::of(command.env("CPATH", "/usr/include").env("XDG_CACHE_HOME", CACHE))
}

/// The built program; `None` if musl cannot be fetched and need not be.
fn built(dir: &Fixture, toolchain: &str) -> Option<std::path::PathBuf> {
    let output = image(dir, &[&BUILD[..], &[toolchain, "--json", "--force"]].concat());
    if output.code != Some(0) {
        assert!(output.stderr.contains("Debian") && !all_required(), "{}", output.stderr);
        skip(&output.stderr);
        return None;
    }
    let document: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(document["packages"][0]["version"], "1.0");
    let key = document["packages"][0]["key"].as_str().unwrap();
    Some(Path::new(CACHE).join("underpin/image/built").join(key).join("root/usr/bin/hello"))
}

#[test]
fn a_layer_of_ones_own_builds_and_says_what_no_longer_applies() {
    need!("cc", "make", "patch");
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    let dir = fixture();
    let build = [&BUILD[..], &["gcc"]].concat();
    // What the image starts was made from the patched sources, and the sources are as they were.
    let Some(program) = built(&dir, "gcc") else { return };
    assert_eq!(dir.must(program.to_str().unwrap(), [] as [&str; 0]).trim(), "hello, world");
    assert_eq!(fs::read_to_string(dir.join("my-layer/hello-src/hello.c")).unwrap(), SOURCE);

    let shown = image(&dir, &["layer", "show", "hello"]).stdout;
    assert!(shown.contains("my-layer/greet.patch (my-layer/hello_1.*.append.toml:4)"), "{shown}");
    let checked = image(&dir, &["layer", "check", "hello"]);
    assert_eq!(checked.code, Some(0), "{}", checked.stdout);

    // Upstream changed the line: the hunk is named, nothing is built, and the old image stays.
    let before = fs::read(dir.join("hello.tar")).unwrap();
    dir.write("my-layer/hello-src/hello.c", SOURCE.replace("nobody", "all"));
    let checked = image(&dir, &["layer", "check", "hello"]);
    assert_eq!(checked.code, Some(1), "{}", checked.stdout);
    assert!(checked.stdout.contains("Hunk #1 FAILED"), "{}", checked.stdout);
    let output = image(&dir, &[&build[..], &["--force"]].concat());
    assert_eq!(output.code, Some(2), "{}", output.stdout);
    assert!(output.stderr.contains("my-layer/greet.patch does not apply"), "{}", output.stderr);
    assert_eq!(fs::read(dir.join("hello.tar")).unwrap(), before);
}

#[test]
fn what_the_linker_or_a_makefile_finds_on_this_machine_is_not_linked_in_and_cxx_for_musl_is_refused() {
    need!("cc", "make", "patch");
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    let dir = fixture();
    if built(&dir, "gcc").is_none() {
        return;
    }
    // glibc's own folder has a libmvec.a, musl has none: gcc's linker looks there by itself.
    for (makefile, reason) in [
        ("$(CC) -o hello hello.c -lmvec", "libmvec.a is of this machine, and no recipe's"),
        ("$(CC) -I/usr/include -o hello hello.c", "`-I/usr/include` looks into this machine's own folders"),
        ("$(CXX) -o hello hello.c", "no C++ compiler for musl: the distribution's libstdc++ is glibc's"),
    ] {
        dir.write("my-layer/hello-src/Makefile", format!("hello: hello.c\n\t{makefile}\n"));
        let output = image(&dir, &[&BUILD[..], &["gcc", "--force"]].concat());
        assert_eq!(output.code, Some(2), "{makefile}: {}", output.stdout);
        assert!(output.stderr.contains(reason), "{makefile}: {}", output.stderr);
    }
}

#[test]
fn an_image_of_a_program_in_rust_has_gccs_library_on_glibc_and_no_other_has() {
    let dir = Fixture::new();
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../layers/own");
    let packages = |name: &str, libc: &str| -> Vec<String> {
        let words = ["image", "build", name, "--layer", own, "--libc", libc, "--target", "qemu-x86_64"];
        let mut command = underpin(words);
        command.args(["-o", "out", "--dry-run", "--json"]).current_dir(dir.path()).env("XDG_CACHE_HOME", CACHE);
        let output = Output::of(&mut command);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        let document: Value = serde_json::from_str(&output.stdout).unwrap();
        let packages = document["packages"].as_array().unwrap().iter();
        packages.map(|package| package["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(packages("foolsgold", "glibc"), ["foolsgold", "glibc", "libgcc"]);
    assert_eq!(packages("foolsgold", "musl"), ["foolsgold"]);
    assert_eq!(packages("dash", "glibc"), ["dash", "glibc"]);
}

#[test]
fn a_program_has_the_compilers_libraries_that_it_turns_out_to_load() {
    need!("c++", "make", "patch", "qemu-system-x86_64");
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    let dir = fixture();
    fs::remove_file(dir.join("my-layer/hello_1.*.append.toml")).unwrap();
    let cxx = "#include <iostream>\n#include <stdexcept>\n#include <string>\nint main() {\n\
               try { std::string().at(1); } catch (const std::out_of_range &) { std::cout << \"caught\" << std::endl; }\n}\n";
    let exits = "#include <pthread.h>\n#include <stdio.h>\nstatic void *end(void *value) { pthread_exit(value); }\n\
                 int main(void) {\npthread_t thread;\npthread_create(&thread, 0, end, 0);\nreturn pthread_join(thread, 0) || puts(\"exited\") < 0;\n}\n";
    let glibc = ["build", "hello", "--libc", "glibc", "--target", "qemu-x86_64", "--toolchain", "gcc"];
    for (compiler, source, said, more) in [
        ("CC", SOURCE, "hello, nobody\n", &[][..]),
        ("CC", exits, "exited\n", &["libgcc"]),
        ("CXX", cxx, "caught\n", &["libgcc", "libstdc++"]),
    ] {
        dir.write("my-layer/hello-src/hello.c", source);
        let language = if compiler == "CXX" { "-x c++ " } else { "" };
        dir.write(
            "my-layer/hello-src/Makefile",
            format!("hello: hello.c\n\t$({compiler}) {language}-o hello hello.c\n"),
        );
        let output = image(&dir, &[&glibc[..], &["-o", "out", "--json"]].concat());
        if output.code != Some(0) {
            assert!(output.stderr.contains("Debian") && !all_required(), "{}", output.stderr);
            return skip(&output.stderr);
        }
        let document: Value = serde_json::from_str(&output.stdout).unwrap();
        let packages = document["packages"].as_array().unwrap().iter();
        let names: Vec<&str> = packages.map(|package| package["name"].as_str().unwrap()).collect();
        assert_eq!(names, [&["hello", "glibc"], more].concat(), "{said}");
        let mut run = underpin(["image", "run", "out", "--kvm", "off"]);
        let ran = Output::of(run.current_dir(dir.path()).env("XDG_CACHE_HOME", CACHE));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), said), "{}", ran.stderr);
    }
}
