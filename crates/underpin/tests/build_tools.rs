//! `underpin build` with unusual compilers, C libraries and settings. Results are checked with readelf and by running
//! the programs.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod common;

use common::building::{build, must};
use common::underpin;
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_test_support::{Fixture, Output, need, skip, skip_without_target, zigs};

const MUSL: &str = "x86_64-unknown-linux-musl";
const LOADER: &str = "/lib/ld-musl-x86_64.so.1";

/// Threads, the mathematical library and memory.
const C: &str = r#"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *run(void *data) {
    double *number = data;
    *number = exp(pow(*number, 0.5));
    return NULL;
}
int main(int argc, char **argv) {
    double number = 1 + argc;
    pthread_t thread;
    pthread_create(&thread, NULL, run, &number);
    pthread_join(thread, NULL);
    char *text = malloc(100);
    snprintf(text, 100, "%.4f", number);
    puts(text);
    free(text);
    return 0;
}
"#;

/// The same in C++, with an exception that is caught.
const CXX: &str = r#"
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <thread>
int main(int argc, char **) {
    double number = 1 + argc;
    std::thread thread([&] {
        try { throw std::runtime_error("thrown"); }
        catch (const std::exception &) { number = std::exp(std::pow(number, 0.5)); }
    });
    thread.join();
    std::printf("%.4f\n", number);
}
"#;

const RUST: &str = r#"
fn main() {
    let number = 1.0 + std::env::args().count() as f64;
    let caught = std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new(1)));
    let thread = std::thread::spawn(move || number.powf(0.5).exp());
    assert!(caught.is_err());
    println!("{:.4}", thread.join().unwrap());
}
"#;

/// e to the square root of two.
const SAID: &str = "4.1133\n";

fn says(command: &mut Command) -> String {
    let output = Output::of(command);
    assert_eq!(output.code, Some(0), "{command:?}: {}{}", output.stdout, output.stderr);
    output.stdout
}

fn project(dir: &Fixture, main: &str) -> PathBuf {
    let manifest = "[package]\nname = \"tried\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    dir.write("tried/Cargo.toml", manifest);
    dir.write("tried/Cargo.lock", "version = 4\n\n[[package]]\nname = \"tried\"\nversion = \"0.1.0\"\n");
    dir.write("tried/src/main.rs", main);
    dir.join("tried")
}

fn has_target(triple: &str) -> bool {
    let output = Output::of(Command::new("rustc").args(["--print", "target-libdir", "--target", triple]));
    let there = Path::new(output.stdout.trim()).is_dir();
    if !there {
        skip_without_target(triple);
    }
    there
}

/// It names musl's loader, and no library but musl.
fn is_dynamic_on_musl(dir: &Fixture, file: &str) {
    let text = dir.must("readelf", ["-hlWd", file]);
    let needed: Vec<&str> = text.lines().filter(|line| line.contains("(NEEDED)")).collect();
    assert!(text.contains("DYN (") && text.contains(LOADER), "{text}");
    assert!(needed.len() == 1 && needed[0].contains("[libc.so]"), "{needed:?}");
    let check = Output::of(&mut underpin(["check", "--expect", "musl,dynamic", dir.join(file).to_str().unwrap()]));
    assert_eq!(check.code, Some(0), "{}", check.stdout);
    assert_eq!(says(&mut Command::new(dir.join(file))), SAID);
}

#[test]
fn musls_wrapper_links_dynamic_programs_of_c_and_rust() {
    need!("cargo", "musl-gcc", "readelf", "/lib/ld-musl-x86_64.so.1");
    if !has_target(MUSL) {
        return;
    }
    let dir = Fixture::new();
    dir.write("c.c", C);
    project(&dir, RUST);
    let of = ["--libc", "musl", "--linkage", "dynamic", "--cc", "gcc"];
    must(build(&dir, None, &[&["c.c"], &of[..]].concat()));
    is_dynamic_on_musl(&dir, "c");
    must(build(&dir, None, &[&["tried", "-o", "rust"], &of[..]].concat()));
    is_dynamic_on_musl(&dir, "rust");
}

#[test]
fn zig_links_dynamic_programs_for_musl_of_c_and_rust() {
    need!("cargo", "readelf", "/lib/ld-musl-x86_64.so.1");
    if !has_target(MUSL) {
        return;
    }
    for zig in zigs() {
        let dir = Fixture::new();
        dir.write("c.c", C);
        project(&dir, RUST);
        let of = ["--libc", "musl", "--linkage", "dynamic", "--cc", "zig"];
        must(build(&dir, Some(&zig), &[&["c.c"], &of[..]].concat()));
        is_dynamic_on_musl(&dir, "c");
        must(build(&dir, Some(&zig), &[&["tried", "-o", "rust"], &of[..]].concat()));
        is_dynamic_on_musl(&dir, "rust");
    }
}

/// Linker options that makefiles have and that make no other program.
const OF_MAKEFILES: &[&str] = &[
    "-Wl,-rpath-link,/nowhere",
    "-Wl,-rpath-link -Wl,/nowhere",
    "-Xlinker -rpath-link=/nowhere",
    "-Wl,-Map,map.txt",
    "-Wl,-Map=map.txt",
    "-Wl,-R,/nowhere",
    "-Wl,-h,name",
    "-Wl,-Bsymbolic-functions",
    "-Wl,-z,combreloc,-z,text,-z,separate-code",
    "-Wl,-znoseparate-code",
    "-Wl,--no-copy-dt-needed-entries",
    "-Wl,--no-export-dynamic",
    "-Wl,--undefined=main",
    "-Wl,--require-defined=main",
    "-Wl,-O1 -Wl,--hash-style=gnu",
    "-Wl,--no-keep-memory,--reduce-memory-overheads,--stats",
    "-Wl,--no-relax",
    "-Wl,--warn-common,--warn-once,--no-warn-mismatch,--no-warn-rwx-segments,--no-warn-execstack",
    "-Wl,--fatal-warnings -Wl,--no-fatal-warnings",
    "-Wl,--demangle",
    "-Wl,--trace",
    "-Wl,-t",
    "-Wl,-M",
    "-Wl,-y,main",
    "-Wl,--cref",
    "-Wl,-X",
    "-Wl,--spare-dynamic-tags=5",
    "-Wl,--no-ld-generated-unwind-info",
    "-Wl,--no-omagic",
    "-Wl,--orphan-handling=place",
    "-Wl,--dependency-file=dependencies",
    "-Wl,--push-state,--whole-archive -Wl,--pop-state",
    "-Wl,--push-state,--as-needed,-Bdynamic -Wl,--pop-state -lc",
    "-Wl,--error-unresolved-symbols",
    "-Wl,--no-print-gc-sections",
    "-Wl,-dynamic-list,list -Wl,--export-dynamic-symbol=main",
    "-Wl,--exclude-libs,ALL",
];

#[test]
fn linker_options_that_make_no_other_program_stop_no_build_by_zig() {
    need!("cc");
    for zig in zigs() {
        let dir = Fixture::new();
        dir.write("c.c", "int main(void) { return 7; }\n");
        dir.write("list", "{ main; };\n");
        // All at once: each linker names the first that it refuses.
        let words: Vec<&str> = OF_MAKEFILES.iter().flat_map(|words| words.split(' ')).collect();
        dir.must("cc", ["c.c", "-o", "by-cc"].iter().chain(&words));
        let of = ["c.c", "--cc", "zig", "--malloc", "system", "--"];
        must(build(&dir, Some(&zig), &[&of[..], &words[..]].concat()));
        assert_eq!(Output::of(&mut Command::new(dir.join("c"))).code, Some(7));
    }
}

#[test]
fn assembly_is_built_where_warnings_are_errors() {
    need!("musl-gcc", "clang", "ld.lld", "make");
    let dir = Fixture::new();
    dir.write("p/f.s", ".globl f\n.type f, @function\nf: ret\n.section .note.GNU-stack, \"\", @progbits\n");
    dir.write("p/c.c", "void f(void);\nint main(void) { f(); return 0; }\n");
    let compiled = |file: &str| format!("\t$(CC) -Werror -c {file}\n");
    let makefile = format!("c: c.c f.s\n{}{}\t$(CC) -Werror c.o f.o -o c\n", compiled("f.s"), compiled("c.c"));
    dir.write("p/Makefile", makefile);
    let built = |zig: Option<&Path>, cc: &str, linkage: &str| {
        let of = ["p", "--malloc", "system", "-o", "out/", "--force", "--linkage", linkage, "--cc", cc];
        must(build(&dir, zig, &of));
    };
    built(None, "clang", "static-pie");
    built(None, "clang", "static");
    for zig in zigs() {
        built(Some(&zig), "zig", "static-pie");
    }
}

/// A thread that uses a part of what glibc gives it. musl alone gives 128 KiB.
const DEEP: &str = "#include <pthread.h>\n#include <string.h>\nstatic void *deep(void *none) {\n  char text[6 << 20];\n  \
                    memset(text, *(volatile char*)text, sizeof text);\n  return text[sizeof text / 2] == 7 ? text : none;\n}\n\
                    int main(void) {\n  pthread_t thread;\n  return pthread_create(&thread, 0, deep, 0) || pthread_join(thread, 0);\n}\n";

#[test]
fn a_thread_has_the_stack_that_it_has_on_glibc() {
    need!("gcc", "musl-gcc", "clang", "ld.lld", "readelf");
    let dir = Fixture::new();
    dir.write("deep.c", DEEP);
    dir.must("gcc", ["-pthread", "-w", "deep.c", "-o", "on-glibc"]);
    assert_eq!(Output::of(&mut Command::new(dir.join("on-glibc"))).code, Some(0));
    let zigs = zigs();
    let compilers =
        [("gcc", None), ("clang", None)].into_iter().chain(zigs.iter().map(|zig| ("zig", Some(zig.as_path()))));
    for (compiler, zig) in compilers {
        for linkage in ["static-pie", "static", "dynamic"] {
            let of = [
                "deep.c",
                "--cc",
                compiler,
                "--linkage",
                linkage,
                "--malloc",
                "system",
                "-o",
                "out",
                "--force",
                "--",
                "-w",
            ];
            must(build(&dir, zig, &of));
            if linkage != "dynamic" || Path::new(LOADER).exists() {
                let ran = Output::of(&mut Command::new(dir.join("out")));
                assert_eq!(ran.code, Some(0), "{linkage} by {compiler}: {}", ran.stderr);
            }
        }
    }
    // A project may say otherwise.
    let own = ["deep.c", "--cc", "gcc", "-o", "out", "--force", "--", "-w", "-Wl,-z,stack-size=1048576"];
    must(build(&dir, None, &own));
    let header = dir.must("readelf", ["-lW", "out"]);
    assert!(header.lines().any(|line| line.contains("GNU_STACK") && line.contains("0x100000 ")), "{header}");
}

/// zig since 0.16 has a malloc of its own in place of musl's, which takes more memory than glibc's.
#[test]
fn the_malloc_of_zigs_musl_is_named_and_little_memory_means_musls() {
    let dir = Fixture::new();
    dir.write(
        "c.c",
        "#include <stdlib.h>\nchar *volatile copy;\nint main(int count, char **words) {\n  copy = malloc(count * 9);\n  \
                      copy[0] = words[0][0];\n  char is = copy[0];\n  free(copy);\n  return is == 0;\n}\n",
    );
    for zig in zigs() {
        let version = Output::of(Command::new(&zig).arg("version")).stdout;
        let is_musls = version.starts_with("0.15.");
        let of = |words: &[&str]| {
            build(&dir, Some(&zig), &[&["c.c", "--cc", "zig", "-o", "out", "--force"], words].concat())
        };
        must(of(&["--malloc", "system"]));
        let checked = Output::of(&mut underpin(["check", "--json", dir.join("out").to_str().unwrap()]));
        let name = if is_musls { "musl's mallocng" } else { "the malloc of zig's C library" };
        assert!(checked.stdout.contains(name), "zig {version}: {}", checked.stdout);
        let little = Output::of(&mut of(&["--goal", "memory"]));
        assert_eq!(
            little.code,
            Some(if is_musls { 0 } else { 2 }),
            "zig {version}: {}{}",
            little.stdout,
            little.stderr
        );
        assert_eq!(little.stderr.contains("ziglang==0.15.2"), !is_musls, "zig {version}: {}", little.stderr);
    }
}

/// As btop and many others: glibc declares these for _GNU_SOURCE, which C++ always says.
const LARGE_FILES: &str = "#define _GNU_SOURCE 1\n#include <fcntl.h>\n#include <stdio.h>\n#include <sys/statvfs.h>\n\
#include <unistd.h>\nint main(void) {\n  struct statvfs64 system;\n  int file = open64(\"/\", O_RDONLY);\n  \
off64_t at = lseek64(file, 0, SEEK_SET);\n  return file < 0 || at != 0 || statvfs64(\"/\", &system) != 0;\n}\n";

#[test]
fn names_for_large_files_are_declared_on_musl_as_on_glibc() {
    need!("gcc", "musl-gcc", "clang");
    let dir = Fixture::new();
    dir.write("c.c", LARGE_FILES);
    dir.write("p/cpp.txt", LARGE_FILES.replacen("#define _GNU_SOURCE 1\n", "#include <cstdio>\n", 1));
    let strict = ["--", "-Wall", "-Wextra", "-Werror", "-pedantic-errors"];
    let built = |zig: Option<&Path>, file: &str, cc: &str| {
        let of = [file, "--cc", cc, "--malloc", "system", "-o", "out", "--force"];
        must(build(&dir, zig, &[&of[..], &strict[..]].concat()));
        assert_eq!(Output::of(&mut Command::new(dir.join("out"))).code, Some(0), "{file} by {cc}");
    };
    dir.must("gcc", ["c.c", "-o", "on-glibc"].iter().chain(&strict[1..]));
    for cc in ["gcc", "clang"] {
        built(None, "c.c", cc);
    }
    // Not by the name of C++, for which zig would compile its library first (minutes).
    dir.write("p/Makefile", "c: cpp.txt\n\t$(CXX) $(STRICT) -x c++ -c cpp.txt\n\t$(CC) cpp.o -o c\n");
    let [_, words @ ..] = strict;
    let words = format!("STRICT={}", words.join(" "));
    for zig in zigs() {
        built(Some(&zig), "c.c", "zig");
        let of = ["p", "--cc", "zig", "--malloc", "system", "-o", "out", "--force", "--", &words];
        must(build(&dir, Some(&zig), &of));
        assert_eq!(Output::of(&mut Command::new(dir.join("out"))).code, Some(0), "C++ by {}", zig.display());
    }
}

/// Has a function for AVX-512 by its own attribute, and a loop that a compiler writes in what vectors it may.
const VECTORS: &str = r#"
#include <immintrin.h>
#include <stdio.h>
__attribute__((target("avx512f,avx512bw,avx512vl"))) int wide(const void *from) {
    return _mm512_reduce_add_epi32(_mm512_loadu_si512(from));
}
void add(float *to, const float *from, int count) { for (int at = 0; at < count; at++) to[at] += from[at] * 2; }
int main(int count, char **words) { puts(count > 100 && wide(words) ? "wide" : "narrow"); return 0; }
"#;

#[test]
fn zig_takes_functions_for_other_processors_and_uses_their_instructions_nowhere_else() {
    need!("objdump");
    if std::env::consts::ARCH != "x86_64" {
        return skip("the vectors are those of x86-64");
    }
    for (at, zig) in zigs().iter().enumerate() {
        let dir = Fixture::new();
        dir.write("p/c.c", VECTORS);
        // At the link zig compiles its C library anew for each -march and -mtune.
        dir.write("p/Makefile", "c: c.c\n\t$(CC) $(WORDS) -c c.c\n\t$(CC) c.o -o c\n");
        let of = ["--cc", "zig", "--malloc", "system", "--overlay", "off", "-o", "c", "--force", "--"];
        let adds_by_ymm = |words: &[&str]| {
            must(build(&dir, Some(zig), words));
            let code = dir.must("objdump", ["-d", "--no-show-raw-insn", "--disassemble=add", "c"]);
            assert!(code.contains("<add>:"), "{words:?}: {code}");
            code.contains("%ymm")
        };
        // Vectors of 256 bits in `add` where -march asks for them, and not where -mtune does.
        for (words, is_wider) in [
            ("-O3 -mtune=znver3", false),
            ("-O3 -ftree-loop-vectorize -fno-tree-pre -fira-region=all", false),
            ("-O3 -mtune=native", false),
            ("-O3 -march=x86-64-v3", true),
        ] {
            let words = format!("WORDS={words}");
            assert_eq!(adds_by_ymm(&[&["p"], &of[..], &[words.as_str()]].concat()), is_wider, "{words}");
        }
        if at == 0 {
            assert!(adds_by_ymm(&[&["p/c.c"], &of[..], &["-O3", "-march=x86-64-v3"]].concat()));
        }
    }
}

/// The newest version of glibc that a file needs, as readelf shows it.
fn floor(dir: &Fixture, file: &str) -> u32 {
    let text = dir.must("readelf", ["-VW", file]);
    let versions = text.split("Name: GLIBC_2.").skip(1);
    let minor = |rest: &str| rest.split(|char: char| !char.is_ascii_digit()).next().unwrap().parse().unwrap();
    versions.map(minor).max().expect("glibc asks for versions")
}

/// Runs a file in a root whose glibc is 2.17, if the machine has one: what starts there needs no newer one.
fn starts_on_2_17(file: &Path) {
    let Some(root) = std::env::var_os("UNDERPIN_ROOT_2_17") else { return };
    let place = Path::new(&root).join("tried-by-underpin");
    std::fs::copy(file, &place).unwrap();
    assert_eq!(says(Command::new("chroot").arg(&root).arg("/tried-by-underpin")), SAID);
    std::fs::remove_file(place).unwrap();
}

#[test]
fn no_program_asks_for_a_newer_glibc_than_its_floor() {
    need!("cargo", "readelf");
    let dir = Fixture::new();
    let Some(zig) = zigs().into_iter().next() else { return };
    dir.write("c.c", C);
    dir.write("cxx.cc", CXX);
    project(&dir, RUST);
    // One floor is enough for C++: zig compiles its library for each, which takes minutes.
    for (source, minor) in [("c.c", 17), ("cxx.cc", 17), ("tried", 17), ("c.c", 28), ("tried", 28)] {
        let file = format!("{}-{minor}", source.trim_end_matches(".c"));
        must(build(&dir, Some(&zig), &[source, "--libc", &format!("glibc:2.{minor}"), "-o", &file]));
        assert!(floor(&dir, &file) <= minor, "{file}: {}", floor(&dir, &file));
        assert_eq!(says(&mut Command::new(dir.join(&file))), SAID, "{file}");
        if minor == 17 {
            starts_on_2_17(&dir.join(&file));
        }
    }
}

#[test]
fn a_build_for_riscv_runs_and_says_that_musls_own_malloc_serves_it() {
    need!("qemu-riscv64", "readelf");
    let Some(zig) = zigs().into_iter().next() else { return };
    let dir = Fixture::new();
    dir.write("c.c", C);
    let said = must(build(&dir, Some(&zig), &["c.c", "--target", "riscv64"]));
    assert!(said.contains("riscv64") && said.contains("musl's own malloc"), "{said}");
    assert!(dir.must("readelf", ["-hW", "c"]).contains("RISC-V"));
    assert_eq!(says(Command::new("qemu-riscv64").arg(dir.join("c"))), SAID);
    for asked in [["--malloc", "mimalloc"], ["--overlay", "on"]] {
        let words = [&["c.c", "--target", "riscv64", "-o", "other"], &asked[..]].concat();
        let refused = Output::of(&mut build(&dir, Some(&zig), &words));
        assert_eq!(refused.code, Some(2), "{asked:?}");
        assert!(refused.stderr.contains("cannot be linked in for riscv64"), "{}", refused.stderr);
    }
}

#[test]
fn libraries_that_meson_does_not_install_are_linked_by_zig() {
    need!("meson", "ninja", "readelf");
    for zig in zigs() {
        let dir = Fixture::new();
        // meson makes a thin archive of such a library, where the archiver knows of them.
        let text = "project('prog', 'c')\ninner = static_library('inner', 'inner.c')\n\
                    outer = static_library('outer', 'outer.c', link_with: inner)\n\
                    executable('prog', 'prog.c', link_with: outer, install: true)\n";
        dir.write("p/meson.build", text);
        dir.write("p/inner.c", "int inner(void) { return 40; }\n");
        dir.write("p/outer.c", "int inner(void);\nint outer(void) { return inner() + 2; }\n");
        dir.write("p/prog.c", "int outer(void);\nint main(void) { return outer(); }\n");
        must(build(&dir, Some(&zig), &["p", "--cc", "zig", "--malloc", "system", "-o", "made"]));
        assert_eq!(Output::of(&mut Command::new(dir.join("made"))).code, Some(42));
    }
}

#[test]
fn one_call_of_zig_compiles_several_sources_into_an_object_each_and_reads_them_with_musls_headers() {
    let dir = Fixture::new();
    dir.write("several/one.c", "int one(void) { return 1; }\n");
    dir.write("several/two.c", "int two(void) { return 2; }\n");
    let main = "#include <stdio.h>\nint one(void), two(void);\nint main(void) { printf(\"%d\\n\", one() + two()); }\n";
    dir.write("several/main.c", main);
    let rules = [
        "$(CC) -fsyntax-only main.c one.c",
        "$(CC) -fsyntax-only two.c",
        "$(CC) -M main.c one.c two.c > lists",
        "grep -q two.o: lists && grep -q /stdio.h lists && ! grep -q ' /usr/include' lists",
        "test \"$$($(CC) -E main.c one.c | grep -c 'int main\\|int one(void) {')\" = 2",
        "$(CC) -c one.c two.c",
        "$(AR) rcs libboth.a one.o two.o",
        "$(CC) main.c libboth.a -o main",
    ];
    dir.write("several/Makefile", format!("main: main.c\n\t{}\n", rules.join("\n\t")));
    for zig in zigs() {
        must(build(&dir, Some(&zig), &["several", "--cc", "zig", "-o", "made", "--force"]));
        assert_eq!(says(&mut Command::new(dir.join("made"))), "3\n");
    }
}

/// C++ that throws, catches and writes, called from Rust that panics and catches.
const CXX_CALLED: &str = r#"
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>
extern "C" int count(int number) {
    std::vector<std::string> all;
    for (int at = 0; at < number; at++) all.push_back("number " + std::to_string(at));
    try { all.at(number + 1); } catch (const std::out_of_range &) { std::cout << "caught " << all.back() << std::endl; }
    return (int)all.size();
}
"#;

/// What the crate `cc` does, in a few lines.
const CXX_SCRIPT: &str = r#"
use std::process::Command;
fn main() {
    let tool = |name: &str| std::env::var(format!("{name}_x86_64_unknown_linux_musl")).unwrap();
    let out = std::env::var("OUT_DIR").unwrap();
    let run = |command: &mut Command| assert!(command.status().unwrap().success(), "{command:?}");
    run(Command::new(tool("CXX")).args(["-O1", "-c", "a.cpp", "-o", &format!("{out}/a.o")]));
    run(Command::new(tool("AR")).args(["rcs", &format!("{out}/liba.a"), &format!("{out}/a.o")]));
    println!("cargo:rustc-link-search={out}\ncargo:rustc-link-lib=static=a\ncargo:rustc-link-lib=stdc++");
}
"#;

fn cxx_project(dir: &Fixture) {
    let main = "extern \"C\" { fn count(number: i32) -> i32; }\nfn main() {\n    \
                let caught = std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new(1)));\n    \
                println!(\"{} {}\", unsafe { count(7) }, caught.is_err());\n}\n";
    project(dir, main);
    dir.write("tried/a.cpp", CXX_CALLED);
    dir.write("tried/build.rs", CXX_SCRIPT);
}

#[test]
fn c_plus_plus_in_a_crate_is_linked_with_the_library_of_its_compiler() {
    need!("cargo", "readelf");
    let Some(zig) = zigs().into_iter().next().filter(|_| has_target(MUSL)) else { return };
    let dir = Fixture::new();
    cxx_project(&dir);
    must(build(&dir, Some(&zig), &["tried", "-o", "made"]));
    assert!(!dir.must("readelf", ["-lWd", "made"]).contains("(NEEDED)"));
    assert_eq!(says(&mut Command::new(dir.join("made"))), "caught number 6\n7 true\n");
}

#[test]
fn a_crate_with_c_plus_plus_says_that_no_compiler_for_it_is_there() {
    need!("cargo", "musl-gcc");
    if !has_target(MUSL) {
        return;
    }
    let dir = Fixture::new();
    cxx_project(&dir);
    let output = Output::of(&mut build(&dir, None, &["tried", "-o", "made", "--cc", "gcc"]));
    assert_eq!(output.code, Some(2), "{}", output.stdout);
    assert!(output.stderr.contains("this build has no C++ compiler for musl"), "{}", output.stderr);
    assert!(output.stderr.contains("underpin build --toolchains"), "{}", output.stderr);
}

/// A program that writes its arguments to a file and becomes the given command.
fn logs(dir: &Fixture, name: &str, command: &str) -> String {
    let log = dir.join(format!("{name}.log"));
    let script = format!("#!/bin/sh\necho \"$@\" >> '{}'\nexec {command} \"$@\"\n", log.display());
    let path = dir.write(name, script);
    dir.chmod(name, 0o755);
    path.to_str().unwrap().to_owned()
}

#[test]
fn what_cargos_configuration_says_holds_in_a_build() {
    need!("cargo", "cc", "readelf");
    if !has_target(MUSL) {
        return;
    }
    let dir = Fixture::new();
    let main = "fn main() { println!(\"{}{}\", cfg!(of_target) as u8, cfg!(of_cfg) as u8); }\n";
    let project = project(&dir, main);
    let names = ["wrapper", "workspace", "linker"];
    let [wrapper, workspace, linker] = names.map(|name| logs(&dir, name, if name == "linker" { "cc" } else { "" }));
    let configuration = format!(
        "build.rustc-wrapper = \"{wrapper}\"\nbuild.rustc-workspace-wrapper = \"{workspace}\"\n\
         [target.{MUSL}]\nlinker = \"{linker}\"\nrustflags = [\"--cfg\", \"of_target\"]\n\
         [target.'cfg(target_env = \"musl\")']\nrustflags = [\"--cfg\", \"of_cfg\"]\n"
    );
    // Above the project, where cargo looks too.
    dir.write(".cargo/config.toml", configuration);
    must(build(&dir, None, &["tried", "--malloc", "mimalloc", "-o", "out"]));
    assert_eq!(says(&mut Command::new(dir.join("out"))), "11\n");
    let log = |name: &str| std::fs::read_to_string(dir.join(format!("{name}.log"))).unwrap_or_default();
    assert!(log("wrapper").contains(&format!("{workspace} ")), "{}", log("wrapper"));
    assert!(log("workspace").contains("--crate-name tried"), "{}", log("workspace"));
    assert!(log("linker").contains("allocator.o"), "{}", log("linker"));
    // Variables take precedence, and flags in the environment replace those of every file (cargo's rule).
    let mut command = build(&dir, None, &["tried", "--malloc", "mimalloc", "-o", "out"]);
    let other = logs(&dir, "other", "");
    command.env("CARGO_ENCODED_RUSTFLAGS", "--cfg\x1fof_cfg").env("RUSTC_WRAPPER", other);
    command.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER", logs(&dir, "second", "cc"));
    must(command);
    assert_eq!(says(&mut Command::new(dir.join("out"))), "01\n");
    assert!(log("other").contains("--crate-name tried") && log("second").contains("allocator.o"));
    assert!(!project.join("target").exists());
}

#[test]
fn words_in_a_response_file_are_those_of_the_command_line() {
    need!("make", "musl-gcc", "readelf", "ar");
    let dir = Fixture::new();
    dir.write("made/prog.c", "#include <stdio.h>\nint main(void) { puts(TEXT); return 0; }\n");
    // More than fit on a command line, and one that contradicts the kind of program that is wanted.
    dir.must("ar", ["rc", "an-archive-whose-name-is-long.a"]);
    let archive = format!("{}\n", dir.join("an-archive-whose-name-is-long.a").display());
    dir.write("made/prog.words", format!("-pie\n{}", archive.repeat(40_000)));
    dir.write("made/text.words", "'-DTEXT=\"two words\"' -c");
    let rules = ["prog: prog.o\n\t$(CC) prog.o @prog.words -o prog\n", "prog.o: prog.c\n\t$(CC) @text.words prog.c\n"];
    dir.write("made/Makefile", rules.concat());
    must(build(&dir, None, &["made", "--libc", "musl", "--linkage", "static", "--malloc", "system", "-o", "out"]));
    assert!(dir.must("readelf", ["-hW", "out"]).contains("EXEC ("), "another kind of program");
    assert_eq!(says(&mut Command::new(dir.join("out"))), "two words\n");
}

/// A crate for each allocator that programs bring; the program prints whether its memory is mimalloc's.
const BRINGS: &str = r#"
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
#[cfg(feature = "snmalloc")]
#[global_allocator]
static ALLOCATOR: snmalloc_rs::SnMalloc = snmalloc_rs::SnMalloc;

unsafe extern "C" {
    #[link_name = "mi_is_in_heap_region"]
    fn is_mimallocs(block: *const u8) -> bool;
    fn malloc(bytes: usize) -> *mut u8;
    fn strdup(text: *const std::ffi::c_char) -> *mut u8;
}

fn main() {
    let (boxed, list) = (Box::new([7_u8; 100]), vec![1_u8; 50]);
    let blocks = unsafe { [boxed.as_ptr(), list.as_ptr(), malloc(100), strdup(c"text".as_ptr())] };
    println!("{:?}", blocks.map(|block| unsafe { is_mimallocs(block) }));
}
"#;

const BRINGS_MANIFEST: &str = r#"
[package]
name = "brings"
version = "0.1.0"
edition = "2024"
[workspace]
[features]
jemalloc = ["dep:tikv-jemallocator"]
mimalloc = ["dep:mimalloc"]
snmalloc = ["dep:snmalloc-rs"]
[dependencies]
tikv-jemallocator = { version = "0.7", optional = true }
mimalloc = { version = "0.1.52", optional = true, default-features = false, features = ["extended"] }
snmalloc-rs = { version = "0.7", optional = true, default-features = false, features = ["build_cc"] }
"#;

#[test]
fn a_crate_that_brings_an_allocator_is_served_by_the_one_asked_for() {
    need!("cargo", "cc", "ar", "musl-gcc");
    if !has_target(MUSL) {
        return;
    }
    for brought in ["jemalloc", "mimalloc", "snmalloc"] {
        let dir = Fixture::new();
        dir.write("brings/Cargo.toml", BRINGS_MANIFEST);
        dir.write("brings/src/main.rs", BRINGS);
        // The crates' own allocators are compiled to nothing: a name that is not redirected could not be linked.
        let script = "#!/bin/bash\nfor word; do [ \"$word\" = -c ] && empty=1; [ \"$last\" = -o ] && out=$word; last=$word; done\n\
                      [ \"$empty\" ] && [ \"$out\" ] && exec cc -c -x c /dev/null -o \"$out\"\nexec cc \"$@\"\n";
        let compiler = dir.write("compiler", script);
        dir.chmod("compiler", 0o755);
        dir.must("ar", ["rc", "libjemalloc.a"]);
        let words = ["brings", "--malloc", "mimalloc", "-o", "out", "--", "--features", brought];
        let mut command = build(&dir, None, &words);
        command.env("JEMALLOC_OVERRIDE", dir.join("libjemalloc.a"));
        for name in ["CC", "CXX"] {
            command.env(format!("{name}_{}", MUSL.replace('-', "_")), &compiler);
        }
        must(command);
        assert_eq!(says(&mut Command::new(dir.join("out"))), "[true, true, true, true]\n", "{brought}");
    }
}
