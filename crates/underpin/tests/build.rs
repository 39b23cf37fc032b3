//! `underpin build` from outside: what it makes of a project, checked with readelf, nm and by running the result.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod common;

use common::{json, underpin};
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_test_support::{Fixture, Output, need};

const HELLO: &str = r#"
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    char *all = malloc(1000 + argc);
    int number = snprintf(all, 1000, "hello %d", argc);
    puts(all);
    free(all);
    return number != 7;
}
"#;

/// The command, with a cache of the test's own.
fn build(dir: &Fixture, arguments: &[&str]) -> Command {
    let mut command = underpin([&["build"], arguments].concat());
    command.current_dir(dir.path()).env("XDG_CACHE_HOME", dir.join("cache"));
    for name in ["RUSTC_WRAPPER", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR", "RUSTC"] {
        command.env_remove(name);
    }
    command
}

fn must(dir: &Fixture, arguments: &[&str]) -> String {
    let output = Output::of(&mut build(dir, arguments));
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    output.stdout
}

/// It names no loader and no library, and the file may be anywhere.
fn is_static_pie(dir: &Fixture, file: &Path) {
    let text = dir.must("readelf", ["-hlWd", file.to_str().unwrap()]);
    assert!(text.contains("DYN (") && !text.contains("INTERP") && !text.contains("(NEEDED)"), "{text}");
}

/// The program's own output.
fn says(file: &Path) -> String {
    let output = Output::of(&mut Command::new(file));
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    output.stdout
}

fn cargo_project(dir: &Fixture, name: &str, main: &str) -> PathBuf {
    dir.write(
        format!("{name}/Cargo.toml"),
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n"),
    );
    let lock = format!("version = 4\n\n[[package]]\nname = \"{name}\"\nversion = \"0.1.0\"\n");
    dir.write(format!("{name}/Cargo.lock"), lock);
    dir.write(format!("{name}/src/main.rs"), main);
    dir.join(name)
}

const RUST_HELLO: &str = "fn main() { println!(\"hello {}\", std::env::args().count()); }\n";

fn has_musl_target() -> bool {
    let output =
        Output::of(Command::new("rustc").args(["--print", "target-libdir", "--target", "x86_64-unknown-linux-musl"]));
    let there = Path::new(output.stdout.trim()).is_dir();
    if !there {
        underpin_test_support::skip_without_target("x86_64-unknown-linux-musl");
    }
    there
}

/// Every file below a folder with its bytes.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else {
            all.push((path.clone(), std::fs::read(&path).unwrap()));
        }
    }
    all.sort();
    all
}

#[test]
fn a_c_file_becomes_a_static_pie_on_the_allocator_asked_for() {
    need!("musl-gcc", "readelf", "nm");
    let dir = Fixture::new();
    dir.write("hello.c", HELLO);
    must(&dir, &["hello.c", "--malloc", "jemalloc"]);
    let file = dir.join("hello");
    is_static_pie(&dir, &file);
    assert_eq!(says(&file), "hello 1\n");
    // There is one malloc, and musl's own is not in the file.
    let symbols = dir.must("nm", [file.to_str().unwrap()]);
    assert_eq!(symbols.lines().filter(|line| line.ends_with(" T malloc")).count(), 1, "{symbols}");
    assert!(!symbols.contains("__malloc_alloc_meta"), "{symbols}");
}

#[test]
fn musls_wrapper_of_gcc_makes_no_static_pie_by_itself_and_does_under_build() {
    need!("musl-gcc", "readelf");
    let dir = Fixture::new();
    dir.write("hello.c", HELLO);
    dir.must("musl-gcc", ["-static-pie", "hello.c", "-o", "alone"]);
    assert!(
        dir.must("readelf", ["-lW", "alone"]).contains("INTERP"),
        "the trap is gone: this test has lost its reason"
    );
    must(&dir, &["hello.c", "--malloc", "system", "--cc", "gcc"]);
    is_static_pie(&dir, &dir.join("hello"));
    assert_eq!(says(&dir.join("hello")), "hello 1\n");
}

#[test]
fn a_stripped_program_too_small_to_show_its_c_library_is_told_by_its_note() {
    need!("musl-gcc", "readelf");
    let dir = Fixture::new();
    dir.write("tiny.c", "int main(void) { return 7; }\n");
    // The overlay has texts of musl's, by which any program with it is known.
    let said = must(&dir, &["tiny.c", "--cc", "gcc", "--overlay", "off", "--json", "--", "-s"]);
    is_static_pie(&dir, &dir.join("tiny"));
    assert!(!dir.must("readelf", ["-SW", "tiny"]).contains(".symtab"), "it is not stripped");
    assert_eq!(Output::of(&mut Command::new(dir.join("tiny"))).code, Some(7));
    let document: serde_json::Value = serde_json::from_str(&said).unwrap();
    let facts = document["programs"][0]["facts"].as_array().unwrap();
    let library = facts.iter().find(|fact| fact["what"] == "C library");
    assert!(library.is_some_and(|fact| fact["found"].to_string().contains("by its note")), "{facts:?}");
}

/// Walks the stack through a frame without debug information, by libgcc's unwinder.
const UNWIND: &str = r#"
#include <stdio.h>
#include <unwind.h>
static _Unwind_Reason_Code count(struct _Unwind_Context *context, void *data) {
    ++*(int *)data;
    return _URC_NO_REASON;
}
__attribute__((noinline)) static int frames(void) {
    int found = 0;
    _Unwind_Backtrace(count, &found);
    return found;
}
int main(void) { printf("%s\n", frames() >= 2 ? "unwound" : "lost"); return 0; }
"#;

#[test]
fn what_sections_without_a_caller_take_with_them_is_not_needed_or_not_known_and_never_missed() {
    need!("musl-gcc", "readelf");
    let dir = Fixture::new();
    dir.write("a.c", "#include <unistd.h>\nint main(void) { return write(1, \"a\\n\", 2) != 2; }\n");
    let begin =
        "void begin(void) { __asm__(\"mov $60, %eax; xor %edi, %edi; syscall\"); }\nint main(void) { return 0; }\n";
    dir.write("b.c", begin);
    let gc = "-Wl,--gc-sections";
    let linked = |file: &str, words: &[&str], code: i32| {
        let (source, output) = (format!("{file}.c"), dir.join(format!("{file}-{code}")).display().to_string());
        let arguments = [&["--json", &source, "--as", "musl+system", "-o", &output, "--", gc], words].concat();
        let output = Output::of(&mut build(&dir, &arguments));
        assert_eq!(output.code, Some(code), "{}{}", output.stdout, output.stderr);
        let document: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
        let facts = document["programs"][0]["facts"].as_array().unwrap().clone();
        let fact = facts.into_iter().find(|fact| fact["what"] == "linked in").unwrap();
        fact["found"].as_str().unwrap().to_owned()
    };
    // musl's own start calls memcpy: of the overlay that function alone is left.
    assert_eq!(linked("a", &[], 0), "overlay linked in");
    assert_eq!(says(&dir.join("a-0")), "a\n");
    let none = linked("b", &["-Wl,-e,begin"], 0);
    assert!(none.starts_with("overlay not needed"), "{none}");
    says(&dir.join("b-0"));
    let stripped = linked("b", &["-Wl,-e,begin", "-s"], 1);
    assert!(stripped.starts_with("not known"), "{stripped}");
}

/// Functions that the overlay has too, with answers of their own.
const OWN: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void *memmem(const void *text, size_t size, const void *part, size_t length) { (void)size, (void)part, (void)length; return (char *)text + 1; }
void qsort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *)) { (void)n, (void)size, (void)compare; *(char *)base = 'q'; }
double strtod(const char *text, char **end) { (void)text, (void)end; return 42; }
long getrandom(void *buffer, size_t size, unsigned flags) { (void)buffer, (void)flags; return 7 + (long)size; }
int main(int count, char **words) {
    char text[] = "abc";
    (void)words;
    qsort(text, 3, 1, 0);
    printf("%s %s %g %ld %zu\n", (char *)memmem("xyz", 3, "z", 1), text, strtod("1", 0), getrandom(text, 1, 0), strlen(text + count));
    return 0;
}
"#;

#[test]
fn a_program_keeps_a_function_of_its_own_that_the_overlay_has_too() {
    need!("clang", "ld.lld", "musl-gcc", "readelf");
    let dir = Fixture::new();
    for compiler in ["gcc", "clang"] {
        let name = format!("own_{compiler}");
        let source = format!("{name}.c");
        dir.write(&source, OWN);
        let said = must(&dir, &[&source, "--cc", compiler, "--", "-fno-builtin"]);
        let words: Vec<&str> = said.split_whitespace().collect();
        assert!(words.join(" ").contains("overlay linked in, but another's memmem, qsort "), "{said}");
        assert_eq!(says(&dir.join(name)), "yz qbc 42 8 2\n");
    }
}

#[test]
fn a_static_program_that_opens_libraries_is_told_that_it_cannot() {
    need!("musl-gcc", "readelf");
    let dir = Fixture::new();
    let opens = "#include <dlfcn.h>\nint main(void) { return dlopen(\"libm.so.6\", RTLD_NOW) != 0; }\n";
    dir.write("opens.c", opens);
    dir.write("plain.c", "int main(void) { return 0; }\n");
    let told = |arguments: &[&str]| must(&dir, arguments).contains("(dlopen)");
    assert!(told(&["opens.c", "--as", "musl+system"]));
    says(&dir.join("opens"));
    assert!(!told(&["plain.c", "--as", "musl+system"]));
    assert!(!told(&["opens.c", "--as", "musl:dynamic", "-o", "dynamic"]));
}

#[test]
fn a_static_program_that_converts_texts_is_told_whose_tables_it_has() {
    need!("musl-gcc");
    let dir = Fixture::new();
    dir.write(
        "converts.c",
        "#include <iconv.h>\nint main(int c, char **v) { return iconv_open(v[1], v[2]) == (iconv_t)-1; }\n",
    );
    dir.write("plain.c", "int main(void) { return 0; }\n");
    let told = |arguments: &[&str]| must(&dir, arguments).contains("(iconv)");
    assert!(told(&["converts.c", "--cc", "gcc"]));
    assert!(!told(&["plain.c", "--cc", "gcc"]));
    assert!(!told(&["converts.c", "--libc", "glibc", "-o", "glibcs"]));
}

#[test]
fn a_libgcc_that_calls_glibcs_dl_find_object_unwinds_on_musl() {
    need!("musl-gcc", "readelf");
    let dir = Fixture::new();
    dir.write("unwind.c", UNWIND);
    let alone = Output::of(dir.command("musl-gcc").args(["-static", "-funwind-tables", "unwind.c", "-o", "alone"]));
    assert!(
        alone.code == Some(0) || alone.stderr.contains("_dl_find_object"),
        "another reason than the one meant: {}",
        alone.stderr
    );
    must(&dir, &["unwind.c", "--malloc", "system", "--cc", "gcc", "--", "-funwind-tables"]);
    assert_eq!(says(&dir.join("unwind")), "unwound\n");
}

#[test]
fn clang_takes_musls_headers_and_start_files_and_not_those_of_this_machine() {
    need!("clang", "ld.lld", "musl-gcc", "readelf");
    let dir = Fixture::new();
    // Without underpin it compiles against glibc: a macro of its headers shows that.
    let source =
        "#include <stdio.h>\n#ifdef __GLIBC__\n#error glibc\n#endif\nint main(void) { puts(\"musl\"); return 0; }\n";
    dir.write("which.c", source);
    let alone = Output::of(dir.command("clang").args(["--target=x86_64-linux-musl", "-c", "which.c"]));
    assert!(alone.code != Some(0) && alone.stderr.contains("glibc"), "the trap is gone: {}", alone.stderr);
    must(&dir, &["which.c", "--malloc", "system", "--cc", "clang"]);
    is_static_pie(&dir, &dir.join("which"));
    assert_eq!(says(&dir.join("which")), "musl\n");
}

#[test]
fn a_cargo_project_is_built_without_a_byte_written_to_it() {
    need!("cargo", "readelf", "nm");
    if !has_musl_target() {
        return;
    }
    let dir = Fixture::new();
    let project = cargo_project(&dir, "greet", RUST_HELLO);
    // Without a lock file cargo writes one, so a copy is built.
    std::fs::remove_file(project.join("Cargo.lock")).unwrap();
    let before = contents(&project);
    must(&dir, &["greet", "--malloc", "mimalloc", "-o", "out/greet"]);
    assert_eq!(contents(&project), before);
    let file = dir.join("out/greet");
    is_static_pie(&dir, &file);
    assert_eq!(says(&file), "hello 1\n");
    let symbols = dir.must("nm", [file.to_str().unwrap()]);
    assert!(!symbols.contains("__malloc_alloc_meta"), "musl's malloc is in it too");
}

#[test]
fn the_users_own_linker_links_and_still_gets_the_objects() {
    need!("cargo", "cc", "readelf");
    if !has_musl_target() {
        return;
    }
    let dir = Fixture::new();
    let project = cargo_project(&dir, "greet", RUST_HELLO);
    let used = dir.join("used");
    let script = format!("#!/bin/sh\necho \"$@\" >> '{}'\nexec cc \"$@\"\n", used.display());
    let linker = dir.write("my-linker", script);
    dir.chmod("my-linker", 0o755);
    let configuration = format!("[target.x86_64-unknown-linux-musl]\nlinker = \"{}\"\n", linker.display());
    std::fs::create_dir(project.join(".cargo")).unwrap();
    std::fs::write(project.join(".cargo/config.toml"), configuration).unwrap();
    must(&dir, &["greet", "--malloc", "mimalloc", "-o", "out/"]);
    assert_eq!(says(&dir.join("out/greet")), "hello 1\n");
    let line = std::fs::read_to_string(used).unwrap();
    let (object, crt) = (line.find("allocator.o").unwrap(), line.find("rcrt1.o").unwrap());
    assert!(object < crt, "{line}");
}

#[test]
fn musls_wrapper_as_the_users_linker_makes_a_static_pie_too() {
    need!("cargo", "musl-gcc", "readelf");
    if !has_musl_target() {
        return;
    }
    let dir = Fixture::new();
    cargo_project(&dir, "greet", RUST_HELLO);
    let mut command = build(&dir, &["greet", "--malloc", "system", "-o", "greeter"]);
    let output = Output::of(command.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER", "musl-gcc"));
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    is_static_pie(&dir, &dir.join("greeter"));
    assert_eq!(says(&dir.join("greeter")), "hello 1\n");
}

#[test]
fn the_note_survives_every_strip_and_check_shows_it() {
    need!("musl-gcc", "readelf", "strip", "eu-strip", "objcopy");
    let dir = Fixture::new();
    dir.write("hello.c", HELLO);
    must(&dir, &["hello.c", "--malloc", "system"]);
    for (name, tool, arguments) in [
        ("a", "strip", &["--strip-all", "-o", "a", "hello"][..]),
        ("b", "eu-strip", &["-o", "b", "hello"]),
        ("c", "objcopy", &["--strip-all", "hello", "c"]),
    ] {
        dir.must(tool, arguments);
        let notes = dir.must("readelf", ["-nW", name]);
        assert!(notes.contains("underpin"), "{tool}: {notes}");
        let check = common::json(["check", "--json", dir.join(name).to_str().unwrap()]);
        let claims = check["file"]["claims"].as_array().unwrap();
        let of = |key: &str| claims.iter().find(|claim| claim["key"] == key).map(|claim| claim["value"].clone());
        assert_eq!(of("build").unwrap(), "musl+system", "{tool}: {claims:?}");
        assert_eq!(says(&dir.join(name)), "hello 1\n");
    }
}

/// A hundred threads one after the other; strace counts the requests to the kernel.
#[test]
fn the_stacks_of_threads_are_used_again_but_without_the_overlay() {
    need!("musl-gcc", "strace");
    const THREADS: &str = "#include <pthread.h>\n#include <stdlib.h>\n\
        static void *run(void *given) { free(malloc(100)); return given; }\n\
        int main(void) { pthread_t thread; for (int i = 0; i < 100; i++)\n\
        if (pthread_create(&thread, 0, run, 0) || pthread_join(thread, 0)) return 1; }\n";
    let dir = Fixture::new();
    dir.write("threads.c", THREADS);
    for (arguments, reused) in [
        (&["--malloc", "system"][..], true),
        (&[], true),
        (&["--linkage", "static"], true),
        (&["--overlay", "off", "--malloc", "system"], false),
    ] {
        must(&dir, &[&["threads.c", "--force"], arguments].concat());
        dir.must("strace", ["-f", "-qq", "-e", "trace=mprotect", "-o", "calls", "./threads"]);
        let calls = std::fs::read_to_string(dir.join("calls")).unwrap().matches("mprotect(").count();
        assert_eq!(calls < 50, reused, "{arguments:?}: {calls} calls of mprotect");
    }
    must(&dir, &["threads.c", "--force"]);
    let check = json(["check", "--json", dir.join("threads").to_str().unwrap()]);
    let claims = check["file"]["claims"].as_array().unwrap();
    assert!(claims.iter().any(|claim| claim["value"].to_string().contains("thread stacks")), "{claims:?}");
}

/// The header inlines, the object enlarges, and neither is there without the overlay; for memory the buffer stays small.
#[test]
fn characters_are_put_and_got_inline_and_files_have_buffers_as_in_glibc() {
    need!("musl-gcc", "clang", "strace", "objdump");
    const FILES: &str = "#include <stdio.h>\nint main(void) { FILE *file = tmpfile();\n\
        for (int i = 0; i < 100000; i++) putc_unlocked('x', file);\n\
        rewind(file); while (getc_unlocked(file) == 'x'); return fclose(file); }\n";
    let dir = Fixture::new();
    dir.write("files.c", FILES);
    for (arguments, inlined, most) in [
        (&[][..], true, 4097),
        (&["--malloc", "system", "--cc", "clang"], true, 4097),
        (&["--linkage", "static"], true, 4097),
        (&["--goal", "memory"], true, 1025),
        (&["--overlay", "off", "--malloc", "system"], false, 1025),
    ] {
        must(&dir, &[&["files.c", "--force"], arguments, &["--", "-O2", "-fno-builtin"]].concat());
        let code = dir.must("objdump", ["-d", "--no-show-raw-insn", "files"]);
        let main = code.split("<main>:").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("main");
        assert_eq!(main.contains("$0x78,(%"), inlined, "{arguments:?}: {main}");
        dir.must("strace", ["-qq", "-e", "trace=read,writev", "-o", "calls", "./files"]);
        let calls = std::fs::read_to_string(dir.join("calls")).unwrap();
        let sizes = calls.lines().filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
        let largest = sizes.max().unwrap();
        assert!(largest == most || largest == most - 1, "{arguments:?}: {largest}");
    }
}

/// What musl reserves and this program does not use lies behind all other zeros: with the goal, and where GNU ld links.
#[test]
fn for_memory_what_few_programs_use_lies_last() {
    need!("musl-gcc", "nm", "readelf");
    let dir = Fixture::new();
    dir.write(
        "keys.c",
        "#include <pthread.h>\n#include <stdio.h>\nint main(void) { pthread_key_t key;\n\
        return pthread_key_create(&key, 0) || pthread_setspecific(key, &key) || fileno(stdin) || puts(\"\") < 0; }\n",
    );
    for (arguments, last) in [
        (&["--goal", "memory"][..], true),
        (&["--goal", "memory", "--linkage", "static"], true),
        (&["--goal", "memory", "--", "-fuse-ld=bfd"], false),
        (&["--goal", "memory", "--overlay", "off"], false),
        (&[], false),
    ] {
        must(&dir, &[&["keys.c", "--force"], arguments].concat());
        assert_eq!(dir.must("readelf", ["-SW", "keys"]).contains(".bss.cold"), last, "{arguments:?}");
        let names = dir.must("nm", ["-n", "keys"]);
        let zeros: Vec<&str> = names.lines().filter(|line| line.contains(" b ") || line.contains(" B ")).collect();
        let behind = zeros.iter().position(|line| line.ends_with(" keys")).expect("musl's table of keys");
        let other = zeros.iter().position(|line| line.ends_with(" __libc")).expect("what every program uses");
        assert!(!last || other < behind, "{names}");
        assert_eq!(says(&dir.join("keys")), "\n", "{arguments:?}");
    }
}

#[test]
fn a_file_that_underpin_did_not_build_is_replaced_by_force_only() {
    need!("musl-gcc");
    let dir = Fixture::new();
    dir.write("hello.c", HELLO);
    dir.write("mine", "precious");
    let arguments = ["hello.c", "--malloc", "system", "-o", "mine"];
    let refused = Output::of(&mut build(&dir, &arguments));
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("--force"), "{}", refused.stderr);
    assert_eq!(std::fs::read(dir.join("mine")).unwrap(), b"precious");
    must(&dir, &[&arguments[..], &["--force"]].concat());
    // It replaces its own result without a warning.
    must(&dir, &arguments);
    assert_eq!(says(&dir.join("mine")), "hello 1\n");
}

#[test]
fn a_program_that_does_not_build_shows_the_compilers_words_and_leaves_nothing() {
    need!("musl-gcc");
    let dir = Fixture::new();
    dir.write("broken.c", "int main(void) { return nothing_of_that_name; }\n");
    let output = Output::of(&mut build(&dir, &["broken.c", "--malloc", "system"]));
    assert_eq!(output.code, Some(2), "{}{}", output.stdout, output.stderr);
    for part in ["nothing_of_that_name", "to repeat it:", "broken.c"] {
        assert!(output.stderr.contains(part), "{part}: {}", output.stderr);
    }
    assert!(!dir.join("broken").exists());
}

#[test]
fn a_folder_without_a_project_says_what_was_looked_for() {
    let dir = Fixture::new();
    let output = Output::of(&mut build(&dir, &["."]));
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("Cargo.toml"), "{}", output.stderr);
    let output = Output::of(&mut build(&dir, &["nowhere"]));
    assert_eq!(output.code, Some(2));
}

#[test]
fn a_missing_compiler_is_named_with_the_command_that_brings_it() {
    let dir = Fixture::new();
    dir.write("hello.c", HELLO);
    dir.mkdir("bin");
    let mut command = build(&dir, &["hello.c", "--malloc", "system"]);
    let output = Output::of(command.env("PATH", dir.join("bin")));
    assert_eq!(output.code, Some(2));
    assert!(
        output.stderr.contains("no C compiler") && output.stderr.contains("pip install ziglang"),
        "{}",
        output.stderr
    );
}

#[test]
fn a_package_that_wants_a_newer_compiler_is_refused_before_anything_is_built() {
    need!("cargo");
    let dir = Fixture::new();
    let project = cargo_project(&dir, "greet", RUST_HELLO);
    let manifest = std::fs::read_to_string(project.join("Cargo.toml")).unwrap();
    let manifest = manifest.replace("edition", "rust-version = \"1.999\"\nedition");
    std::fs::write(project.join("Cargo.toml"), manifest).unwrap();
    let output = Output::of(&mut build(&dir, &["greet", "--malloc", "system", "--dry-run"]));
    assert_eq!(output.code, Some(2), "{}", output.stdout);
    assert!(output.stderr.contains("greet wants rustc 1.999 and this is"), "{}", output.stderr);
}

#[test]
fn a_dry_run_shows_the_commands_and_runs_none() {
    need!("musl-gcc");
    let dir = Fixture::new();
    dir.write("hello.c", HELLO);
    let text = must(&dir, &["hello.c", "--malloc", "system", "--dry-run", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["schema"], "underpin.build/1");
    assert_eq!(document["build"], "musl+system");
    assert!(document["steps"].as_array().is_some_and(|steps| !steps.is_empty()));
    assert!(!dir.join("hello").exists());
}

#[test]
fn toolchains_are_listed_for_every_processor_and_c_library_with_what_brings_the_missing() {
    let document = json(["build", "--toolchains", "--json"]);
    let items = document["items"].as_array().expect("items");
    let names: Vec<&str> = items.iter().filter_map(|item| item["name"].as_str()).collect();
    let expected = ["x86_64 musl", "x86_64 glibc", "aarch64 musl", "aarch64 glibc", "riscv64 musl", "riscv64 glibc"];
    assert_eq!(names, expected);
    for item in items {
        assert!(item["state"] == "good" || item["mend"].is_string(), "{item}");
    }
    // `doctor` lists the same facts.
    let whole = json(["doctor", "--json"]);
    assert!(items.iter().all(|item| whole["items"].as_array().is_some_and(|all| all.contains(item))));
}
