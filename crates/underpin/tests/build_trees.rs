//! `underpin build` on awkward trees: read-only, with odd names and times, with parts elsewhere, built by libtool, for
//! another processor, or with a user's own compilers in the environment. Results are checked with readelf, in the files
//! and by running the programs.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod common;

use common::underpin;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};
use underpin_test_support::{Fixture, Output, need};

const PROGRAM: &str = "#include <stdio.h>\nint main(void) { puts(\"ran\"); return 0; }\n";

fn build(dir: &Fixture, project: &Path, more: &[&str]) -> Command {
    let mut command = underpin(["build", "--as", "musl+system-overlay"]);
    command.arg(project).args(more).env("XDG_CACHE_HOME", dir.join("cache")).current_dir(dir.path());
    for name in ["RUSTC_WRAPPER", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR", "RUSTC"] {
        command.env_remove(name);
    }
    command
}

fn must(command: &mut Command) -> Output {
    let output = Output::of(command);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    output
}

fn says(program: &Path) -> String {
    let headers = Output::of(Command::new("readelf").arg("-lW").arg(program)).stdout;
    assert!(!headers.contains("INTERP"), "it asks for a loader: {headers}");
    Output::of(&mut Command::new(program)).stdout
}

/// Every name below a folder, with the bytes of files and the targets of links.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let (path, kind) = entry.map(|entry| (entry.path(), entry.file_type().unwrap())).unwrap();
        if kind.is_dir() {
            all.extend(contents(&path));
            all.push((path, Vec::new()));
        } else if kind.is_file() {
            all.push((path.clone(), fs::read(&path).unwrap()));
        } else {
            all.push((path.clone(), fs::read_link(&path).unwrap().into_os_string().into_vec()));
        }
    }
    all.sort();
    all
}

fn set_time(path: &Path, time: SystemTime) {
    fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

fn has_musl_target() -> bool {
    let arguments = ["--print", "target-libdir", "--target", "x86_64-unknown-linux-musl"];
    let there = Path::new(Output::of(Command::new("rustc").args(arguments)).stdout.trim()).is_dir();
    if !there {
        underpin_test_support::skip_without_target("x86_64-unknown-linux-musl");
    }
    there
}

#[test]
fn a_workspace_without_a_lock_file_still_finds_what_lies_around_it() {
    need!("cargo", "readelf");
    if !has_musl_target() {
        return;
    }
    let dir = Fixture::new();
    let package = |name: &str, more: &str| {
        dir.write(
            format!("{name}/Cargo.toml"),
            format!(
                "[package]\nname = \"{}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n{more}",
                name.rsplit('/').next().unwrap()
            ),
        )
    };
    package("repo/ws/app", "[dependencies]\nnear = { path = \"../../near\" }\nlog = \"0.4\"\n");
    dir.write(
        "repo/ws/Cargo.toml",
        "[workspace]\nmembers = [\"app\"]\nresolver = \"2\"\n[patch.crates-io]\nlog = { path = \"../../log\" }\n",
    );
    let main =
        "fn main() { println!(\"{} {} {}\", near::word(), log::word(), include_str!(\"../../../WORD\").trim()) }\n";
    dir.write("repo/ws/app/src/main.rs", main);
    package("repo/near", "[dependencies]\nfar = { path = \"../far\" }\n");
    dir.write("repo/near/src/lib.rs", "pub fn word() -> &'static str { far::word() }\n");
    package("repo/far", "");
    dir.write("repo/far/src/lib.rs", "pub fn word() -> &'static str { \"far\" }\n");
    package("log", "");
    dir.write("log/Cargo.toml", "[package]\nname = \"log\"\nversion = \"0.4.99\"\nedition = \"2021\"\n");
    dir.write("log/src/lib.rs", "pub fn word() -> &'static str { \"patched\" }\n");
    // No manifest names it; it is in the same repository.
    dir.write("repo/WORD", "included\n");
    dir.write("repo/.git", "gitdir: /elsewhere/.git/modules/repo\n");
    let before = [contents(&dir.join("repo")), contents(&dir.join("log"))];
    must(&mut build(&dir, &dir.join("repo/ws"), &["-o", "out/", "--", "--offline"]));
    assert_eq!(says(&dir.join("out/app")), "far patched included\n");
    assert_eq!([contents(&dir.join("repo")), contents(&dir.join("log"))], before);
}

#[test]
fn a_virtual_workspace_delivers_its_programs_and_not_what_its_alias_runs() {
    need!("cargo", "readelf");
    if !has_musl_target() {
        return;
    }
    let dir = Fixture::new();
    dir.write("ws/Cargo.toml", "[workspace]\nmembers = [\"server\", \"client\", \"xtask\"]\nresolver = \"2\"\n");
    dir.write("ws/.cargo/config.toml", "[alias]\nxtask = \"run --package xtask --\"\nserve = \"run -p server\"\n");
    for name in ["server", "client", "xtask"] {
        let manifest = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
        dir.write(format!("ws/{name}/Cargo.toml"), manifest);
        dir.write(format!("ws/{name}/src/main.rs"), "fn main() {}\n");
    }
    let names = |folder: &str| {
        let mut names: Vec<_> = fs::read_dir(dir.join(folder)).unwrap().map(|file| file.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let said = must(&mut build(&dir, &dir.join("ws"), &["-o", "out/", "--", "--offline"]));
    assert_eq!(names("out"), ["client", "server"]);
    assert!(said.stdout.contains("left out: xtask ("), "{}", said.stdout);
    must(&mut build(&dir, &dir.join("ws"), &["-o", "chore/", "--bin", "xtask", "--", "--offline"]));
    assert_eq!(names("chore"), ["xtask"]);
}

#[test]
fn sources_that_the_user_cannot_write_to_are_built_by_every_build_system() {
    need!("make", "cmake", "meson", "ninja", "musl-gcc", "readelf");
    let dir = Fixture::new();
    dir.write("p/prog.c", PROGRAM);
    dir.write("p/Makefile", "prog: prog.c\n\t$(CC) -o prog prog.c\n");
    dir.write(
        "p/CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.10)\nproject(prog C)\nadd_executable(prog prog.c)\n",
    );
    dir.write("p/meson.build", "project('prog', 'c')\nexecutable('prog', 'prog.c')\n");
    for name in ["p/prog.c", "p/Makefile", "p/CMakeLists.txt", "p/meson.build"] {
        dir.chmod(name, 0o444);
    }
    dir.mkdir("cache");
    dir.mkdir("out");
    let (mut open, mut closed) = (vec!["cache", "out"], vec!["p"]);
    open.drain(..).for_each(|name| dir.chmod(name, 0o777));
    closed.drain(..).for_each(|name| dir.chmod(name, 0o555));
    dir.chmod("", 0o755);
    let is_root = Output::of(Command::new("id").arg("-u")).stdout.trim() == "0";
    for system in ["make", "cmake", "meson"] {
        let to = dir.join(format!("out/{system}"));
        let mut command = build(&dir, &dir.join("p"), &["--build-system", system, "-o", to.to_str().unwrap()]);
        if is_root {
            // Root may write everywhere.
            command.uid(65534).gid(65534).env("HOME", dir.join("cache"));
        }
        must(&mut command);
        assert_eq!(says(&to), "ran\n", "{system}");
    }
    dir.chmod("p", 0o755);
}

#[test]
fn folders_and_files_whose_names_are_not_utf8_are_built() {
    need!("make", "cmake", "meson", "ninja", "musl-gcc", "readelf");
    let dir = Fixture::new();
    let odd = dir.join(OsString::from_vec(b"caf\xe9 x".to_vec()));
    fs::create_dir(&odd).unwrap();
    let put = |name: &str, text: &str| fs::write(odd.join(name), text).unwrap();
    put("prog.c", &format!("#include \"word.h\"\n{PROGRAM}"));
    put("word.h", "");
    put("Makefile", "prog: prog.c\n\t$(CC) -o prog prog.c\n");
    put("CMakeLists.txt", "cmake_minimum_required(VERSION 3.10)\nproject(prog C)\nadd_executable(prog prog.c)\n");
    put("meson.build", "project('prog', 'c')\nexecutable('prog', 'prog.c')\n");
    let before = contents(&odd);
    for system in ["make", "cmake", "meson"] {
        must(&mut build(&dir, &odd, &["--build-system", system, "--bin", "prog", "-o", system]));
        assert_eq!(says(&dir.join(system)), "ran\n", "{system}");
    }
    assert_eq!(contents(&odd), before);
    let file = odd.join(OsString::from_vec(b"pr\xf6g.c".to_vec()));
    fs::rename(odd.join("prog.c"), &file).unwrap();
    must(&mut build(&dir, &file, &["-o", "alone"]));
    assert_eq!(says(&dir.join("alone")), "ran\n");
}

#[test]
fn times_to_come_do_not_keep_ninja_or_make_busy() {
    need!("make", "meson", "ninja", "musl-gcc", "readelf");
    let dir = Fixture::new();
    let files = [
        dir.write("p/prog.c", PROGRAM),
        dir.write("p/Makefile", "prog: prog.c\n\t$(CC) -o prog prog.c\n"),
        dir.write("p/meson.build", "project('prog', 'c')\nexecutable('prog', 'prog.c')\n"),
    ];
    for file in &files {
        set_time(file, SystemTime::now() + Duration::from_secs(1_000_000));
    }
    for system in ["make", "meson"] {
        for _ in 0..2 {
            let output = must(&mut build(&dir, &dir.join("p"), &["--build-system", system, "-o", system]));
            assert!(!output.stderr.to_lowercase().contains("clock skew"), "{}", output.stderr);
            assert_eq!(says(&dir.join(system)), "ran\n");
        }
    }
}

#[test]
fn a_toolchain_file_of_the_users_counts_and_the_compilers_are_still_ours() {
    need!("cmake", "make", "musl-gcc", "readelf");
    let dir = Fixture::new();
    let lists = "cmake_minimum_required(VERSION 3.10)\nproject(prog C)\nset(THREADS_PREFER_PTHREAD_FLAG ON)\n\
                 find_package(Threads REQUIRED)\nadd_executable(prog prog.c)\ntarget_link_libraries(prog Threads::Threads)\n";
    dir.write("p/CMakeLists.txt", lists);
    let source = "#include <pthread.h>\n#include <stdio.h>\nstatic void *run(void *text) { puts(text); return 0; }\n\
                  int main(void) { pthread_t one; pthread_create(&one, 0, run, TEXT); return pthread_join(one, 0); }\n";
    dir.write("p/prog.c", source);
    dir.write(
        "mine.cmake",
        "set(CMAKE_C_COMPILER /nowhere/cc)\nset(CMAKE_C_FLAGS_INIT \"-DTEXT=\\\\\\\"mine\\\\\\\"\")\n",
    );
    must(&mut build(&dir, &dir.join("p"), &["-o", "prog", "--", "-DCMAKE_TOOLCHAIN_FILE=mine.cmake"]));
    assert_eq!(says(&dir.join("prog")), "mine\n");
}

#[test]
fn compilers_of_several_words_in_environment_and_makefile_do_no_harm() {
    need!("make", "cmake", "musl-gcc", "readelf");
    let dir = Fixture::new();
    dir.write("p/prog.c", PROGRAM);
    let makefile = "CC = ccache gcc -m64 -DX=1\nLDFLAGS = -Wl,-O1 -L/usr/lib\nLD = $(CC)\nprog: prog.o\n\t$(LD) $(LDFLAGS) -o $@ $<\n";
    dir.write("p/Makefile", makefile);
    dir.write(
        "p/CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.10)\nproject(prog C)\nadd_executable(prog prog.c)\n",
    );
    for system in ["make", "cmake"] {
        let mut command = build(&dir, &dir.join("p"), &["--build-system", system, "-o", system]);
        must(
            command.env("CC", "ccache gcc").env("CXX", "g++ -m64").env("CFLAGS", "-O1 -m64").env("LDFLAGS", "-Wl,-O1"),
        );
        assert_eq!(says(&dir.join(system)), "ran\n", "{system}");
    }
}

/// A libtool library and a program that uses it, with a generated `configure`.
fn of_libtool(dir: &Fixture) {
    let ac = "AC_INIT([prog], [1.0])\nAC_CONFIG_AUX_DIR([aux])\nAM_INIT_AUTOMAKE([foreign])\nAC_PROG_CC\nAM_PROG_AR\n\
              LT_INIT\nAC_CHECK_FUNCS([getline])\nAC_CHECK_SIZEOF([long])\nAC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n";
    let am = "lib_LTLIBRARIES = libword.la\nlibword_la_SOURCES = word.c\nbin_PROGRAMS = prog\nprog_SOURCES = prog.c\n\
              prog_LDADD = libword.la\n";
    dir.write("prog-1.0/configure.ac", ac);
    dir.write("prog-1.0/Makefile.am", am);
    dir.write("prog-1.0/word.c", "const char *word(void) { return \"ran\"; }\n");
    let main = "#include <stdio.h>\nconst char *word(void);\nint main(void) { puts(word()); return 0; }\n";
    dir.write("prog-1.0/prog.c", main);
    must(Command::new("autoreconf").arg("-fi").current_dir(dir.join("prog-1.0")));
}

#[test]
fn a_program_with_a_library_of_libtools_stands_alone() {
    need!("make", "musl-gcc", "readelf", "autoreconf", "libtoolize", "automake");
    let dir = Fixture::new();
    of_libtool(&dir);
    let before = contents(&dir.join("prog-1.0"));
    must(&mut build(&dir, &dir.join("prog-1.0"), &["-o", "out/"]));
    assert_eq!(says(&dir.join("out/prog")), "ran\n");
    assert_eq!(contents(&dir.join("prog-1.0")), before);
    // The C library that it was configured for, and that a configure script of the user's is.
    let logs = contents(&dir.join("cache")).into_iter().filter(|(path, _)| path.ends_with("config.log"));
    let hosts: Vec<bool> =
        logs.map(|(_, log)| String::from_utf8_lossy(&log).contains("host_os='linux-musl'")).collect();
    assert_eq!(hosts, [true]);
    let exported = must(&mut build(&dir, &dir.join("prog-1.0"), &["--print-env"])).stdout;
    let guessed = must(
        Command::new("sh").arg("-ec").arg(format!("{exported}\nsh prog-1.0/aux/config.guess")).current_dir(dir.path()),
    );
    assert!(guessed.stdout.ends_with("-linux-musl\n"), "{}", guessed.stdout);
    // libtool's wrapper script is not the program, nor is a shared program if that is what the user builds.
    must(&mut build(&dir, &dir.join("prog-1.0"), &["-o", "shared/", "--", "--enable-static", "--disable-shared"]));
    assert_eq!(says(&dir.join("shared/prog")), "ran\n");
}

#[test]
fn makefiles_that_lack_a_source_file_are_made_again_in_the_copy() {
    need!("make", "musl-gcc", "readelf", "autoreconf", "libtoolize", "automake");
    let dir = Fixture::new();
    of_libtool(&dir);
    // As a patch of a distribution leaves it: the makefile that automake wrote knows nothing of the file.
    let am = fs::read_to_string(dir.join("prog-1.0/Makefile.am")).unwrap();
    dir.write("prog-1.0/Makefile.am", am.replace("prog_SOURCES = prog.c", "prog_SOURCES = \\\n\tprog.c more.c"));
    dir.write("prog-1.0/more.c", "const char *more(void) { return \"more\"; }\n");
    let main = "#include <stdio.h>\nconst char *word(void), *more(void);\nint main(void) { puts(word()); puts(more()); return 0; }\n";
    dir.write("prog-1.0/prog.c", main);
    let before = contents(&dir.join("prog-1.0"));
    let remark = "Makefile.am names more.c, and the Makefile.in beside it does not";
    let words = |output: &Output| output.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for _ in 0..2 {
        let made = must(&mut build(&dir, &dir.join("prog-1.0"), &["-o", "out/"]));
        assert!(words(&made).contains(remark) && !words(&made).contains("as they were"), "{}", made.stdout);
        assert_eq!(says(&dir.join("out/prog")), "ran\nmore\n");
    }
    assert_eq!(contents(&dir.join("prog-1.0")), before);
    // A macro that this machine does not have: what the file is for may not matter, as in a test of the project's.
    let ac = fs::read_to_string(dir.join("prog-1.0/configure.ac")).unwrap();
    dir.write("prog-1.0/configure.ac", ac.replace("AC_CONFIG_FILES", "AX_NOT_THERE([x])\nAC_CONFIG_FILES"));
    dir.write("prog-1.0/prog.c", main.replace("puts(more()); ", ""));
    let kept = must(&mut build(&dir, &dir.join("prog-1.0"), &["-o", "out/"]));
    assert!(
        words(&kept).contains("autoreconf failed (exit status 2): built with the sources as they were"),
        "{}",
        kept.stdout
    );
    assert_eq!(says(&dir.join("out/prog")), "ran\n");
}

/// As gnulib's `threadlib.m4` does it: whether there are threads is seen by a weak reference, if that can be.
const ASKS_FOR_WEAK: &str = r#"#!/bin/sh
# Generated by GNU Autoconf 2.71 for prog 1.0.
PACKAGE_TARNAME='prog'
: ${gl_cv_have_weak=yes}
printf 'prog: prog.c\n\t$(CC) -DWEAK_%s prog.c -o prog\n' "$gl_cv_have_weak" >Makefile
"#;
const HAS_THREADS: &str = r#"#include <pthread.h>
#include <stdio.h>
#ifdef WEAK_yes
#pragma weak pthread_mutexattr_gettype
#endif
int main(void) { puts(pthread_mutexattr_gettype ? "threads" : "no threads"); return 0; }
"#;

#[test]
fn a_static_program_of_gnulibs_has_its_threads() {
    need!("make", "musl-gcc", "readelf");
    let dir = Fixture::new();
    dir.write("prog-1.0/configure", ASKS_FOR_WEAK);
    dir.write("prog-1.0/prog.c", HAS_THREADS);
    let project = dir.join("prog-1.0");
    must(&mut build(&dir, &project, &["-o", "prog"]));
    assert_eq!(says(&dir.join("prog")), "threads\n");
    // What the user answers counts, and shows that the question matters.
    must(build(&dir, &project, &["-o", "prog", "--force"]).env("gl_cv_have_weak", "yes"));
    assert_eq!(says(&dir.join("prog")), "no threads\n");
    let exported = must(&mut build(&dir, &project, &["--print-env"])).stdout;
    assert!(exported.contains("gl_cv_have_weak=no"), "{exported}");
}

#[test]
fn configure_for_another_processor_starts_nothing_that_it_compiles() {
    need!("make", "readelf", "autoreconf", "libtoolize", "automake", "aarch64-linux-gnu-gcc", "qemu-aarch64");
    let dir = Fixture::new();
    of_libtool(&dir);
    let mut command = underpin(["build", "--as", "glibc:static+system", "--target", "aarch64", "--cc", "gcc"]);
    command.arg(dir.join("prog-1.0")).args(["-o", "prog"]).current_dir(dir.path());
    must(command.env("XDG_CACHE_HOME", dir.join("cache")));
    let header = dir.must("readelf", ["-hW", "prog"]);
    assert!(header.contains("AArch64"), "{header}");
    assert_eq!(dir.must("qemu-aarch64", ["prog"]), "ran\n");
}

#[test]
fn built_from_within_its_folder_the_result_is_named_and_the_sources_stay_as_they_are() {
    need!("make", "musl-gcc", "readelf");
    let dir = Fixture::new();
    dir.write("prog/prog.c", PROGRAM);
    dir.write("prog/Makefile", "prog: prog.c\n\t$(CC) -o prog prog.c\n");
    let before = contents(&dir.join("prog"));
    let mut command = build(&dir, Path::new("."), &["--json"]);
    let output = must(command.current_dir(dir.join("prog")));
    let document: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    let place = document["programs"][0]["path"].as_str().unwrap().to_owned();
    assert_eq!(says(Path::new(&place)), "ran\n");
    assert!(document["remarks"][0].as_str().unwrap().contains("-o"), "{document}");
    assert_eq!(contents(&dir.join("prog")), before);
    let mut command = build(&dir, Path::new("."), &[]);
    let screen = must(command.current_dir(dir.join("prog"))).stdout;
    // In one piece, so that it can be copied.
    assert!(screen.contains(&place) && screen.contains("-o"), "{screen}");
    // Started from another folder, it goes to that folder.
    must(build(&dir, Path::new("../prog"), &[]).current_dir(dir.mkdir("elsewhere")));
    assert_eq!(says(&dir.join("elsewhere/prog")), "ran\n");
}

#[test]
fn a_place_that_cannot_take_the_result_is_refused_before_anything_is_compiled() {
    need!("make", "mkfifo");
    let dir = Fixture::new();
    // A compiler would fail with another message.
    dir.write("p/Makefile", "prog:\n\techo compiled >&2; exit 7\n");
    dir.must("mkfifo", ["pipe"]);
    dir.write("file", "");
    for place in ["pipe", "file/prog", "/proc/prog"] {
        let output = Output::of(&mut build(&dir, &dir.join("p"), &["--force", "-o", place]));
        assert_eq!(output.code, Some(2), "{place}: {}", output.stdout);
        assert!(
            !output.stderr.contains("compiled") && output.stderr.contains(place.rsplit('/').next_back().unwrap()),
            "{}",
            output.stderr
        );
    }
}

#[test]
fn meson_finds_that_clang_compiles_for_another_processor() {
    need!("meson", "ninja", "clang", "ld.lld", "readelf", "aarch64-linux-gnu-gcc", "qemu-aarch64");
    let dir = Fixture::new();
    // meson makes errors of clang's warnings that an option was not used, where it only compiles.
    let text = "project('prog', 'c')\nassert(meson.get_compiler('c').has_header('stdio.h'))\n\
                executable('prog', 'prog.c', install: true)\n";
    dir.write("p/meson.build", text);
    dir.write("p/prog.c", "#include <stdio.h>\nint main(void) { puts(\"ran\"); return 0; }\n");
    let mut command = underpin(["build", "--as", "glibc:static", "--target", "aarch64", "--cc", "clang"]);
    command.arg(dir.join("p")).args(["-o", "prog"]).env("XDG_CACHE_HOME", dir.join("cache")).current_dir(dir.path());
    must(&mut command);
    assert_eq!(Output::of(Command::new("qemu-aarch64").arg(dir.join("prog"))).stdout, "ran\n");
}
