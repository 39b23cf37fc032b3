//! Streams of static programs on musl with the header and the object of the overlay: what a program sees of them is what it
//! sees on musl alone, and its sources compile with the options that they compile with there.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use underpin_overlay::Part;
use underpin_test_support::{Fixture, Output, need, skip_without_target};

/// What the program of the rules reads.
const INPUT: &str = "hello\nthere\n";

fn musls_headers() -> String {
    format!("/usr/include/{}-linux-musl", std::env::consts::ARCH)
}

/// A folder with the header, as `underpin build` writes it.
fn header(dir: &Fixture, before: &str) -> String {
    dir.write("include/stdio.h", underpin_overlay::STDIO.replace("@LIBC@", before));
    "-Iinclude".to_owned()
}

fn object(dir: &Fixture, processor: &str) -> String {
    let object = Part::Streams.object(processor).expect("on board");
    dir.write(format!("streams-{processor}.o"), object.bytes).to_str().expect("a UTF-8 path").to_owned()
}

fn answers(dir: &Fixture, mut command: Command) -> String {
    dir.write("input", INPUT);
    command.stdin(Stdio::from(std::fs::File::open(dir.join("input")).expect("written above")));
    let output = Output::of(&mut command);
    assert_eq!(output.code, Some(0), "{command:?} {}", output.stderr);
    output.stdout
}

/// The program of the rules, compiled with more options.
fn compiled(dir: &Fixture, name: &str, more: &[&str]) -> PathBuf {
    dir.write("streams.c", include_str!("streams.c"));
    dir.musl_cc([&["-static", "-O2", "-w", "-o", name], more, &["streams.c"]].concat());
    dir.join(name)
}

#[test]
fn a_program_sees_the_same_streams_as_on_musl_alone() {
    need!("musl-gcc", "nm");
    let dir = Fixture::new();
    let (include, object) = (header(&dir, &musls_headers()), object(&dir, std::env::consts::ARCH));
    let expected = answers(&dir, dir.command(compiled(&dir, "musl", &[])));
    assert!(expected.lines().count() > 50 && expected.ends_with(&format!("{INPUT}end 1\n")), "{expected}");
    for (name, more) in [
        ("header", &[include.as_str()][..]),
        ("object", &[object.as_str()]),
        ("both", &[include.as_str(), object.as_str()]),
        ("line", &[include.as_str(), object.as_str(), "-O3", "-static-pie", "-fPIE"]),
    ] {
        assert_eq!(answers(&dir, dir.command(compiled(&dir, name, more))), expected, "{name}");
    }
}

/// The calls that move data, and their sizes.
fn moved(dir: &Fixture, program: &Path) -> Vec<u64> {
    let mut command = dir.command("strace");
    command.args(["-qq", "-e", "trace=read,readv,write,writev", "-o", "calls"]).arg(program);
    assert_eq!(Output::of(&mut command).code, Some(0));
    let calls = std::fs::read_to_string(dir.join("calls")).expect("strace's file");
    calls.lines().filter_map(|line| line.rsplit(' ').next()?.parse().ok()).collect()
}

const FILES: &str = "#include <stdio.h>\n\
    int main(void) { FILE *file = tmpfile(); for (int i = 0; i < 100000; i++) putc('x', file);\n\
    rewind(file); while (getc(file) == 'x'); return fclose(file); }";

/// 4 KiB, as in glibc; one more where musl writes the character that found no room with the buffer.
#[test]
fn files_are_moved_by_as_much_at_a_time_as_in_glibc() {
    need!("musl-gcc", "gcc", "strace");
    let dir = Fixture::new();
    dir.write("files.c", FILES);
    let object = object(&dir, std::env::consts::ARCH);
    dir.musl_cc(["-static", "-O2", "files.c", "-o", "alone"]);
    dir.musl_cc(["-static", "-O2", &object, "files.c", "-o", "ours"]);
    dir.must("gcc", ["-static", "-O2", "files.c", "-o", "glibcs"]);
    let [alone, ours, glibcs] = ["alone", "ours", "glibcs"].map(|name| moved(&dir, &dir.join(name)));
    assert!(alone.iter().max() <= Some(&1025) && alone.len() > 190, "{alone:?}");
    assert!(ours.iter().max() >= Some(&4096) && ours.iter().max() <= Some(&4097), "{ours:?}");
    assert!(ours.len() <= glibcs.len(), "{} and {}", ours.len(), glibcs.len());
}

#[test]
fn a_character_is_put_and_got_without_a_call() {
    need!("musl-gcc");
    let dir = Fixture::new();
    let include = header(&dir, &musls_headers());
    let source = "#include <stdio.h>\nint once(FILE *f) { return putc_unlocked(getc_unlocked(f), f); }";
    dir.write("once.c", source);
    let jumps = |more: &[&str]| {
        dir.musl_cc([&["-O2", "-S", "once.c", "-o", "once.s"], more].concat());
        let text = std::fs::read_to_string(dir.join("once.s")).expect("written above");
        // Of the inlined functions a store of the character is left, and musl's functions for the rest.
        (text.contains("putc_unlocked"), text.lines().any(|line| line.contains("movb") && line.contains("(%r")))
    };
    if std::env::consts::ARCH == "x86_64" {
        assert_eq!(jumps(&[&include]), (true, true));
        assert_eq!(jumps(&[]), (true, false));
        for off in ["-O0", "-Os", "-fno-inline"] {
            assert_eq!(jumps(&[&include, off]), (true, false), "{off}");
        }
    }
}

const USES: &str = "#include <stdio.h>\n#include <stdio.h>\n\
    int (*pointer)(int, FILE *) = putc_unlocked;\n\
    int both(FILE *file);\n\
    int both(FILE *file) { return putc_unlocked(getc_unlocked(file), file) + putchar_unlocked(getchar_unlocked()); }\n\
    int main(void) { return both(stdin) == EOF || pointer('\\n', stdout) == EOF; }\n";

const WARNINGS: [&str; 16] = [
    "-Werror",
    "-pedantic-errors",
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Wsign-conversion",
    "-Wcast-align",
    "-Wcast-qual",
    "-Wshadow",
    "-Wpadded",
    "-Wredundant-decls",
    "-Wstrict-prototypes",
    "-Wmissing-prototypes",
    "-Wundef",
    "-Wunused",
    "-Winline",
];

/// gcc as musl's wrapper calls it, and clang as `underpin build` does.
fn compilers(dir: &Fixture) -> [(&'static str, Vec<String>); 2] {
    let resources = dir.must("clang", ["-print-resource-dir"]);
    let folders = [format!("{}/include", resources.trim()), musls_headers()];
    let words = folders.into_iter().flat_map(|folder| ["-isystem".to_owned(), folder]);
    [("musl-gcc", Vec::new()), ("clang", ["-nostdinc".to_owned()].into_iter().chain(words).collect())]
}

#[test]
fn no_warning_and_no_standard_is_against_the_header() {
    need!("musl-gcc", "clang");
    let dir = Fixture::new();
    let include = header(&dir, &musls_headers());
    dir.write("uses.c", USES);
    dir.write("none.c", "#include <stdio.h>\nint main(void) { return puts(\"\") == EOF; }\n");
    for (compiler, words) in compilers(&dir) {
        let compile = |source: &str, standard: &str, more: &[&str]| {
            let mut command = dir.command(compiler);
            command.args(&words).args(WARNINGS).args(["-O2", standard, "-c", "-o", "made.o", source]).args(more);
            Output::of(&mut command)
        };
        for (source, standard, more) in [
            ("none.c", "-std=c89", &[][..]),
            ("uses.c", "-std=c89", &["-D_POSIX_C_SOURCE=200809L"]),
            ("uses.c", "-std=c99", &["-D_GNU_SOURCE"]),
            ("uses.c", "-std=gnu11", &[]),
            ("uses.c", "-std=gnu89", &["-fgnu89-inline"]),
            ("none.c", "-std=c99", &["-Wsystem-headers", "-Wno-undef"]),
            ("uses.c", "-std=gnu17", &["-Wsystem-headers", "-Wno-undef"]),
        ] {
            let alone = compile(source, standard, more);
            assert_eq!(alone.code, Some(0), "musl alone: {compiler} {standard} {more:?} {}", alone.stderr);
            let ours = compile(source, standard, &[more, &[&include]].concat());
            assert_eq!((ours.code, ours.stderr.as_str()), (Some(0), ""), "{compiler} {standard} {more:?}");
        }
    }
}

/// Functions and macros of these names, before and after the header, and what configure scripts declare to find a function.
#[test]
fn a_program_may_have_its_own_of_each_name() {
    need!("musl-gcc", "clang");
    let dir = Fixture::new();
    let include = header(&dir, &musls_headers());
    dir.write(
        "function.c",
        "#include <stdio.h>\nint putc_unlocked(int c, FILE *f) { (void)f; return c + 1; }\n\
         int getchar_unlocked(void) { return 5; }\n\
         int main(void) { return putc_unlocked(1, stdout) != 2 || getchar_unlocked() != 5; }\n",
    );
    dir.write(
        "macro.c",
        "#define inline\n#define getc_unlocked(f) getc(f)\n#define c 1 2\n#include <stdio.h>\n\
         #define putc_unlocked(v, f) 8\n#define fputc_unlocked putc\n\
         int main(void) { return getc_unlocked(stdin) != EOF || putc_unlocked(1, stdout) != 8 || fputc_unlocked(65, stdout) != 65; }\n",
    );
    dir.write(
        "macro_first.c",
        "#define putc_unlocked putc\n#include <stdio.h>\nint main(void) { return putc_unlocked(65, stdout) != 65; }\n",
    );
    dir.write(
        "probe.c",
        "#define putc_unlocked innocuous_putc_unlocked\n#include <limits.h>\n#undef putc_unlocked\n\
         char putc_unlocked ();\nint main(void) { return &putc_unlocked == 0; }\n",
    );
    dir.write("again.c", "#include <stdio.h>\nint putc_unlocked(int, FILE *);\nextern int getc_unlocked(FILE *);\nint main(void) { return putc_unlocked(65, stdout) != 65; }\n");
    for (compiler, words) in compilers(&dir) {
        for source in ["function.c", "macro.c", "macro_first.c", "probe.c", "again.c"] {
            let mut compile = dir.command(compiler);
            compile.args(&words).args([include.as_str(), "-O2", "-w", "-c", "-o", "made.o", source]);
            let output = Output::of(&mut compile);
            assert_eq!(output.code, Some(0), "{compiler} {source} {}", output.stderr);
            dir.musl_cc(["-static", "made.o", "-o", "made"]);
            let mut run = dir.command(dir.join("made"));
            run.stdin(Stdio::null());
            assert_eq!(Output::of(&mut run).code, Some(0), "{compiler} {source}");
        }
    }
}

/// In C++ there is musl's header alone.
#[test]
fn c_plus_plus_compiles_as_before() {
    need!("musl-gcc", "g++", "clang++");
    let dir = Fixture::new();
    let include = header(&dir, &musls_headers());
    let own = "#include <stdio.h>\nextern \"C\" int putc_unlocked(int c, FILE *) { return c; }\n\
               using ::getc_unlocked;\nint main() { return putc_unlocked(getc_unlocked(stdin), stdout); }\n";
    dir.write("own.cc", own);
    for compiler in ["g++", "clang++"] {
        let words = ["-nostdinc", "-nostdinc++", "-isystem", &musls_headers(), &include, "-O2", "-Werror", "-Wall"];
        dir.must(compiler, [&words[..], &["-c", "own.cc", "-o", "made.o"]].concat());
    }
}

/// Rust's musl is another release than the distribution's; for aarch64 there is only that one.
#[test]
fn streams_are_the_same_on_the_musl_that_comes_with_rust() {
    need!("musl-gcc", "rustc", "aarch64-linux-gnu-gcc", "qemu-aarch64");
    for (processor, compiler, run) in
        [("x86_64", "gcc", None), ("aarch64", "aarch64-linux-gnu-gcc", Some("qemu-aarch64"))]
    {
        let dir = Fixture::new();
        let target = format!("{processor}-unknown-linux-musl");
        let folder = dir.must("rustc", ["--print", "target-libdir", "--target", &target]);
        let folder = Path::new(folder.trim()).join("self-contained");
        if !folder.exists() || (run.is_none() && std::env::consts::ARCH != processor) {
            skip_without_target(&target);
            continue;
        }
        let part = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
        let (include, object) = (header(&dir, &musls_headers()), object(&dir, processor));
        dir.write("streams.c", include_str!("streams.c"));
        // musl's headers for both processors are the distribution's for this one, which differ in nothing that is used here.
        let musls = musls_headers();
        let words = ["-c", "-O2", "-w", "-U_FORTIFY_SOURCE", "-fno-stack-protector", "-nostdinc", "-isystem", &musls];
        let (start, first, libc, last) = (part("crt1.o"), part("crti.o"), part("libc.a"), part("crtn.o"));
        let answer = |more: &[&str], objects: &[&str]| {
            dir.must(compiler, [&words[..], more, &["streams.c", "-o", "made.o"]].concat());
            let files = [&[start.as_str(), &first][..], objects, &["made.o", &libc, "-lgcc", &last]].concat();
            dir.must(compiler, [&["-nostdlib", "-static", "-o", "program"][..], &files].concat());
            let mut command = run.map_or_else(|| dir.command(dir.join("program")), |run| dir.command(run));
            if run.is_some() {
                command.arg("./program");
            }
            answers(&dir, command)
        };
        let outline: &[&str] = if processor == "aarch64" { &["-mno-outline-atomics"] } else { &[] };
        assert_eq!(answer(&[&[include.as_str()], outline].concat(), &[&object]), answer(outline, &[]), "{processor}");
    }
}

/// What is replaced is in a member of its own in each archive, and the object brings nothing of musl's but the list's lock.
#[test]
fn musls_list_of_streams_is_what_is_replaced() {
    need!("nm", "musl-gcc");
    let dir = Fixture::new();
    let object = object(&dir, std::env::consts::ARCH);
    let names = dir.must("nm", ["--format=posix", &object]);
    let of = |kind: &str| -> Vec<&str> {
        let words = names.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        words.filter(|words| words.get(1) == Some(&kind)).map(|words| words[0]).collect()
    };
    assert_eq!(of("W"), ["__ofl_add"]);
    assert_eq!(of("w"), ["free", "malloc"]);
    assert!(
        of("U").iter().all(|name| ["__ofl_lock", "__ofl_unlock", "_GLOBAL_OFFSET_TABLE_"].contains(name)),
        "{names}"
    );
    dir.write("own.c", "#include <stdio.h>\nint main(void) { return 0; }\n");
    dir.musl_cc(["-static", "own.c", &object, "-o", "own"]);
    let linked = dir.must("nm", ["own"]);
    assert!(!linked.contains(" T malloc") && !linked.contains("fopen"), "{linked}");
}
