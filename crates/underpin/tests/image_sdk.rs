//! `underpin image sdk`: a folder that is moved to a path with a space still builds with every build system, and what it builds
//! runs on its target.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::underpin;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_test_support::{Fixture, Output, need, skip, zigs};

const C: &str = "#include <stdio.h>\n#include <stdlib.h>\nint main(void) {\n    char *text = malloc(32);\n    \
    snprintf(text, 32, \"sum %d\", 6 * 7);\n    puts(text);\n    free(text);\n    return 0;\n}\n";
const CMAKE: &str = "cmake_minimum_required(VERSION 3.10)\nproject(tried C)\ninclude(CheckCSourceRuns)\n\
    check_c_source_runs(\"int main(void) { return 0; }\" RUNS)\nif(NOT RUNS)\n  message(FATAL_ERROR \"no probe\")\nendif()\n\
    add_library(part part.c)\nadd_executable(made c.c)\ntarget_link_libraries(made part)\n";
/// The value is computed by the probe: without an emulator that starts it, meson ends here.
const MESON: &str = "project('tried', 'c')\n\
    probe = meson.get_compiler('c').run('#include <stdio.h>\\nint main(void) { printf(\"%zu\", sizeof(void *)); }')\n\
    assert(probe.returncode() == 0 and probe.stdout() == '8')\nexecutable('made', 'c.c')\n";

/// An SDK in a folder that is moved once it is made.
struct Sdk {
    dir: Fixture,
    folder: PathBuf,
    prefix: String,
    document: Value,
}

impl Sdk {
    /// `None` if its packages cannot be fetched and need not be.
    fn new(arguments: &[&str], zig: Option<&Path>) -> Option<Sdk> {
        let dir = Fixture::new();
        let mut command = underpin(["image", "sdk", "-o", "made", "--json"]);
        command.args(arguments).current_dir(dir.path());
        let output = Output::of(in_cache(&mut command, zig));
        if output.code != Some(0) {
            assert!(output.stderr.contains("Debian") && !underpin_test_support::all_required(), "{}", output.stderr);
            skip(&output.stderr);
            return None;
        }
        let document: Value = serde_json::from_str(&output.stdout).unwrap();
        let folder = dir.join("moved to/a place");
        dir.mkdir("moved to");
        std::fs::rename(dir.join("made"), &folder).unwrap();
        let prefix = document["prefix"].as_str().unwrap().to_owned();
        Some(Sdk { dir, folder, prefix, document })
    }

    /// A script of a shell that has sourced the environment.
    fn shell(&self, script: &str) -> Output {
        let folder = self.folder.display();
        let mut command = Command::new("bash");
        command.args(["-ec", &format!(". '{folder}/environment.sh'\n{script}")]).current_dir(self.dir.path());
        for name in ["CC", "CXX", "AR", "CMAKE_TOOLCHAIN_FILE", "CARGO_TARGET_DIR", "RUSTC_WRAPPER"] {
            command.env_remove(name);
        }
        Output::of(in_cache(&mut command, None))
    }

    fn must(&self, script: &str) -> String {
        let output = self.shell(script);
        assert_eq!(output.code, Some(0), "{script}: {}{}", output.stdout, output.stderr);
        output.stdout
    }

    /// A program here, by the SDK's own name for what starts it.
    fn run(&self, program: &str) -> String {
        self.must(&format!("{}-run ./{program}", self.prefix))
    }
}

/// With what is compiled and fetched once for all tests.
fn in_cache<'a>(command: &'a mut Command, zig: Option<&Path>) -> &'a mut Command {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR"));
    command.env("XDG_CACHE_HOME", cache).env("ZIG_GLOBAL_CACHE_DIR", cache.join("zig/underpin/zig"));
    if let Some(folder) = zig.and_then(Path::parent) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let all = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(all).unwrap());
    }
    command
}

/// Names of other folders in the text files: the SDK may be moved.
fn names_of_itself(sdk: &Sdk) -> Vec<String> {
    let made = sdk.dir.path().display().to_string();
    let names = ["environment.sh", "toolchain.cmake", "meson.cross", "cargo/config.toml", "sdk.json", "README.md"];
    let names = names.into_iter().chain(["tools/underpin-tools.json"]);
    let has = |name: &&str| std::fs::read_to_string(sdk.folder.join(name)).is_ok_and(|text| text.contains(&made));
    names.filter(has).map(str::to_owned).collect()
}

#[test]
fn a_moved_sdk_of_gcc_for_musl_builds_with_every_build_system_and_refuses_cxx() {
    need!("aarch64-linux-gnu-gcc", "qemu-aarch64", "cmake", "meson", "ninja", "bash");
    let arguments = ["--target", "qemu-aarch64", "--libc", "musl", "--toolchain", "gcc"];
    let Some(sdk) = Sdk::new(&arguments, None) else { return };
    assert_eq!(names_of_itself(&sdk), Vec::<String>::new());
    for folder in ["cm", "me"] {
        sdk.dir.write(format!("{folder}/c.c"), C);
    }
    sdk.dir.write("c.c", C);
    sdk.must("$CC -O2 c.c -o one");
    assert_eq!(sdk.run("one"), "sum 42\n");
    // What glibc's headers have and musl's have not.
    sdk.dir.write("glibcs.c", "#define _GNU_SOURCE 1\n#include <sys/queue.h>\n#include <unistd.h>\n\
                               LIST_HEAD(list, one);\nint main(void) { return lseek64(9, 0, SEEK_SET) == (off64_t)0; }\n");
    sdk.must("$CC -Wall -Werror glibcs.c -o glibcs");
    let headers = Output::of(Command::new("readelf").args(["-lW", "one"]).current_dir(sdk.dir.path())).stdout;
    assert!(headers.contains("AArch64") || !headers.contains("INTERP"), "{headers}");

    // Without the environment: CMake finds all by its own file, and its probe runs.
    sdk.dir.write("cm/CMakeLists.txt", CMAKE);
    sdk.dir.write("cm/part.c", "int part(void) { return 1; }");
    let file = sdk.folder.join("toolchain.cmake").display().to_string();
    let mut cmake = Command::new("cmake");
    cmake.args(["-S", "cm", "-B", "cm-made", &format!("-DCMAKE_TOOLCHAIN_FILE={file}")]).current_dir(sdk.dir.path());
    let configured = Output::of(&mut cmake);
    assert_eq!(configured.code, Some(0), "{}{}", configured.stdout, configured.stderr);
    sdk.must("cmake --build cm-made");
    assert_eq!(sdk.run("cm-made/made"), "sum 42\n");

    sdk.dir.write("me/meson.build", MESON);
    sdk.must("meson setup --cross-file \"$UNDERPIN_SDK/meson.cross\" me-made me && ninja -C me-made");
    assert_eq!(sdk.run("me-made/made"), "sum 42\n");

    sdk.dir.write("a.cc", "int main() { return 0; }");
    let refused = sdk.shell("$CXX a.cc -o refused");
    assert_ne!(refused.code, Some(0));
    assert!(refused.stderr.contains("the distribution's libstdc++ is glibc's"), "{}", refused.stderr);
    assert!(sdk.document["remarks"].to_string().contains("libstdc++ is glibc's"), "{}", sdk.document);
}

#[test]
fn cargo_builds_with_a_moved_sdk_by_its_configuration_alone() {
    need!("cargo", "cc");
    let triple = "x86_64-unknown-linux-musl";
    let targets = Output::of(Command::new("rustc").args(["--print", "target-libdir", "--target", triple])).stdout;
    if !cfg!(target_arch = "x86_64") || !Path::new(targets.trim()).is_dir() {
        return underpin_test_support::skip_without_target(triple);
    }
    let Some(zig) = zigs().into_iter().next() else { return };
    // zig has its own musl, and static programs need no loader: nothing is fetched.
    let arguments = ["--target", "qemu-x86_64", "--libc", "musl", "--toolchain", "zig", "--offline"];
    let Some(sdk) = Sdk::new(&arguments, Some(&zig)) else { return };
    assert_eq!(sdk.document["packages"], Value::from(Vec::<Value>::new()));
    sdk.dir.write(
        "tried/Cargo.toml",
        "[package]\nname = \"tried\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
    );
    sdk.dir.write("tried/src/main.rs", "fn main() { println!(\"sum {}\", 6 * 7); }\n");
    let mut cargo = Command::new("cargo");
    let file = sdk.folder.join("cargo/config.toml");
    cargo.args(["run", "--quiet", "--offline", "--config"]).arg(&file).current_dir(sdk.dir.join("tried"));
    for name in ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET", "RUSTFLAGS", "RUSTC_WRAPPER"] {
        cargo.env_remove(name);
    }
    let output = Output::of(in_cache(&mut cargo, None));
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), "sum 42\n"), "{}", output.stderr);
    let made = sdk.dir.join("tried/target").join(triple).join("debug/tried");
    let notes = Output::of(underpin(["check", "--json"]).arg(made)).stdout;
    assert!(notes.contains("mimalloc"), "its allocator is linked in: {notes}");
}

#[test]
fn what_is_not_an_sdk_is_not_replaced() {
    let dir = Fixture::new();
    dir.write("mine/file", "mine");
    let mut command = underpin(["image", "sdk", "--offline", "-o", "mine"]);
    let output = Output::of(command.current_dir(dir.path()));
    assert_eq!(output.code, Some(2), "{}", output.stderr);
    assert!(output.stderr.contains("holds no SDK"), "{}", output.stderr);
    assert!(dir.join("mine/file").exists() && !dir.join("mine.underpin-new").exists());
}
