//! What glibc's headers have and musl's have not, which `build` brings: what a program does with them it does with glibc's.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod common;

use common::building::{self, must};
use common::underpin;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_test_support::{Fixture, Output, need, zigs};

/// Lists and queues through random changes, with macros of `sys/cdefs.h` around its declarations.
const QUEUE: &str = include_str!("headers/queue.c");

#[test]
fn lists_and_queues_are_those_of_glibc() {
    need!("musl-gcc", "clang", "ld.lld", "readelf");
    let dir = Fixture::new();
    dir.write("queue.c", QUEUE);
    dir.cc(["-O1", "-w", "queue.c", "-o", "on-glibc"]);
    let judge = Output::of(&mut dir.command(dir.join("on-glibc"))).stdout;
    assert!(judge.lines().count() > 2000, "{judge}");
    for compiler in ["gcc", "clang"] {
        let output = dir.join(compiler).display().to_string();
        let words = ["build", "queue.c", "--cc", compiler, "-o", &output, "--", "-Wall", "-Wextra", "-Werror"];
        let built = Output::of(underpin(words).current_dir(dir.path()).env("XDG_CACHE_HOME", dir.join("cache")));
        assert_eq!(built.code, Some(0), "{}{}", built.stdout, built.stderr);
        let said = Output::of(&mut dir.command(dir.join(compiler))).stdout;
        assert!(said == judge, "{compiler}: another answer than glibc's header gives");
    }
}

#[test]
fn a_projects_own_header_of_the_name_is_found_first() {
    need!("musl-gcc", "readelf");
    let dir = Fixture::new();
    dir.write("own/sys/queue.h", "#define OWN 7\n");
    dir.write("program.c", "#include <sys/queue.h>\nint main(void) { return OWN - 7; }\n");
    for word in ["-Iown", "-isystem"] {
        let mut command = underpin(["build", "program.c", "--as", "musl+system", "--force", "--", word]);
        if word == "-isystem" {
            command.arg("own");
        }
        let built = Output::of(command.current_dir(dir.path()).env("XDG_CACHE_HOME", dir.join("cache")));
        assert_eq!(built.code, Some(0), "{word}: {}{}", built.stdout, built.stderr);
    }
}

/// Headers of musl's own that programs include, by name; `None`: musl is not where the distribution puts it.
fn names_of_musl(folder: &Path) -> BTreeSet<String> {
    let below = |part: &str| {
        let entries = std::fs::read_dir(folder.join(part)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let headers = names.filter(|name| Path::new(name).extension().is_some_and(|ending| ending == "h"));
        headers.map(|name| if part.is_empty() { name } else { format!("{part}/{name}") }).collect::<Vec<_>>()
    };
    ["", "arpa", "net", "netinet", "netpacket", "scsi", "sys"].into_iter().flat_map(below).collect()
}

/// The headers of these that each header includes, by the dependencies that a compiler writes for a source of the header alone.
/// One that a compiler does not take by itself is left out.
fn included(dir: &Fixture, compiler: &str, mode: &str, names: &BTreeSet<String>) -> BTreeMap<String, BTreeSet<String>> {
    let sources = names.iter().map(|name| format!("of/{}.c", name.replace('/', "-"))).collect::<Vec<_>>();
    let script = format!("{compiler} {mode} -w -M {}", sources.join(" "));
    let said = Output::of(Command::new("sh").args(["-c", &script]).current_dir(dir.path())).stdout;
    let rules = said.replace("\\\n", " ");
    let of = rules.lines().filter_map(|rule| rule.split_once(": ")).map(|(target, files)| {
        // A part of a header is no header that a program could include, and compilers have some of their own.
        let whole = files.split_whitespace().filter(|file| {
            !["/bits/", "/asm", "/linux/", "/lib/gcc/", "/lib/llvm"].iter().any(|part| file.contains(part))
        });
        let name = |file: &str| {
            names.iter().filter(|name| file.ends_with(&format!("/{name}"))).max_by_key(|name| name.len()).cloned()
        };
        (target.to_owned(), whole.filter_map(name).collect())
    });
    of.collect()
}

/// Headers whose names musl declares elsewhere, or which are nothing but another.
const SAME: [&str; 6] =
    ["features.h", "stdc-predef.h", "sys/ucontext.h", "arpa/nameser_compat.h", "sys/poll.h", "sys/syslog.h"];

/// The judge is glibc, for programs that ask for nothing, for one of three standards and for everything.
#[test]
fn a_header_includes_what_glibcs_includes() {
    need!("gcc", "musl-gcc", "clang");
    let dir = Fixture::new();
    let stdlib = dir.must("sh", ["-c", "echo '#include <stdlib.h>' | musl-gcc -M -x c -"]);
    let folder = stdlib.split_whitespace().find_map(|file| file.strip_suffix("/stdlib.h")).unwrap();
    let names = names_of_musl(Path::new(folder));
    assert!(names.len() > 100, "{names:?}");
    for name in &names {
        dir.write(format!("of/{}.c", name.replace('/', "-")), format!("#include <{name}>\n"));
    }
    let modes = ["", "-std=c99", "-D_POSIX_C_SOURCE=200809L", "-D_XOPEN_SOURCE=700", "-D_GNU_SOURCE"];
    let glibcs: Vec<_> = modes.iter().map(|mode| included(&dir, "gcc", mode, &names)).collect();
    for (compiler, modes) in [("gcc", &modes[..]), ("clang", &modes[4..])] {
        let mut command = underpin(["build", "--as", "musl+system", "--cc", compiler, "--print-env"]);
        let output = Output::of(command.env("XDG_CACHE_HOME", dir.join("cache")).current_dir(dir.path()));
        let ours = format!("{}\n$CC", output.stdout);
        for (mode, glibcs) in modes.iter().zip(&glibcs[glibcs.len() - modes.len()..]) {
            let musls = included(&dir, &ours, mode, &names);
            assert!(glibcs.len() > 90 && musls.len() > 90, "{mode}: {} {}", glibcs.len(), musls.len());
            for (header, glibcs) in glibcs {
                let Some(musls) = musls.get(header) else { continue };
                // Of a standard's names alone there are none in it: glibc takes functions for others' macros from it.
                let inlined = |name: &str| name == "endian.h" && !["", "-D_GNU_SOURCE"].contains(mode);
                let less = glibcs.difference(musls).filter(|name| !SAME.contains(&name.as_str()) && !inlined(name));
                assert_eq!(less.collect::<Vec<_>>(), Vec::<&String>::new(), "{header} {mode} by {compiler}");
            }
        }
    }
}

/// A header, a type of it, and what the program asks for.
const TYPES: [(&str, &str, &str); 8] = [
    ("sys/types.h", "u_int32_t", "-D_POSIX_C_SOURCE=200809L"),
    ("sys/types.h", "u_int64_t", "-std=c99"),
    ("sys/types.h", "int8_t", "-D_XOPEN_SOURCE=700"),
    ("sys/types.h", "loff_t", "-D_GNU_SOURCE"),
    ("sys/socket.h", "u_int8_t", "-D_POSIX_C_SOURCE=200809L"),
    ("stdlib.h", "u_char", "-D_DEFAULT_SOURCE"),
    ("grp.h", "FILE", ""),
    ("malloc.h", "ptrdiff_t", ""),
];

#[test]
fn a_header_has_the_types_of_glibcs() {
    need!("gcc", "musl-gcc");
    let dir = Fixture::new();
    let mut command = underpin(["build", "--as", "musl+system", "--cc", "gcc", "--print-env"]);
    let output = Output::of(command.env("XDG_CACHE_HOME", dir.join("cache")).current_dir(dir.path()));
    for (header, name, mode) in TYPES {
        // Twice, as a header that includes the other one would.
        let text = format!(
            "#include <{header}>\n#include <{header}>\n#include <stdint.h>\n{name} *one;\nint main(void) {{ return 0; }}\n"
        );
        dir.write("type.c", text);
        for script in ["gcc".to_owned(), format!("{}\n$CC", output.stdout)] {
            let script = format!("{script} {mode} -Wall -Wextra -Werror -fsyntax-only type.c");
            let said = Output::of(Command::new("sh").args(["-c", &script]).current_dir(dir.path()));
            assert_eq!(said.code, Some(0), "{header} {mode}: {}", said.stderr);
        }
    }
}

const BASE: &str = include_str!("headers/base.c");

#[test]
fn names_of_another_header_and_the_two_basenames_are_those_of_glibc() {
    need!("gcc", "musl-gcc", "clang");
    let dir = Fixture::new();
    dir.write("base.c", format!("#define _GNU_SOURCE 1\n{BASE}"));
    // C++ always says _GNU_SOURCE.
    dir.write("base.cpp", BASE);
    // One of the program's own, as glibc's header takes it.
    let own = "#define _GNU_SOURCE 1\n#include <stdio.h>\n#include <string.h>\nchar *basename(const char *path) { \
               return (char*)path + 1; }\nint main(void) { return puts(basename(\"a/b\")) < 0; }\n";
    dir.write("own.c", own);
    let zigs = zigs();
    let compilers = [("gcc", None), ("clang", None)].into_iter().chain(zigs.iter().map(|zig| ("zig", Some(zig))));
    for (compiler, zig) in compilers {
        for (file, judge) in [("base.c", "gcc"), ("own.c", "gcc"), ("base.cpp", "g++")] {
            if file == "base.cpp" && zig.is_none() {
                continue;
            }
            dir.must(judge, [file, "-O1", "-o", "on-glibc"]);
            let judge = Output::of(&mut dir.command(dir.join("on-glibc"))).stdout;
            for level in ["-O0", "-O2"] {
                build(
                    &dir,
                    zig,
                    &[file, "--cc", compiler, "-o", "on-musl", "--force", "--", "-Wall", "-Werror", level],
                );
                let said = Output::of(&mut dir.command(dir.join("on-musl"))).stdout;
                assert_eq!(said, judge, "{file} by {compiler} {level}");
            }
        }
    }
}

/// Words that are no options, between those that are, and an option that there is not.
const OPTIONS: &str = "#include <unistd.h>\n#include <stdio.h>\nint main(int count, char **words) {\n  int found;\n  \
                       while ((found = getopt(count, words, \"ab:\")) != -1) printf(\"%c %s\\n\", found, optarg ? optarg : \"\");\n  \
                       for (; optind < count; optind++) printf(\"%s\\n\", words[optind]);\n  return 0;\n}\n";

#[test]
fn options_behind_other_words_are_read_where_glibc_reads_them() {
    need!("gcc", "musl-gcc");
    let dir = Fixture::new();
    dir.write("options.c", OPTIONS);
    std::fs::create_dir_all(dir.join("glibcs")).unwrap();
    std::fs::create_dir_all(dir.join("musls")).unwrap();
    let zigs = zigs();
    let compilers = [("gcc", None)].into_iter().chain(zigs.iter().map(|zig| ("zig", Some(zig))));
    for (compiler, zig) in compilers {
        for mode in ["-D_GNU_SOURCE", "-D_DEFAULT_SOURCE", "-D_XOPEN_SOURCE=700", "-D_POSIX_C_SOURCE=200809L"] {
            dir.must("gcc", [mode, "options.c", "-o", "glibcs/options"]);
            build(&dir, zig, &["options.c", "--cc", compiler, "-o", "musls/options", "--force", "--", mode]);
            let says = |folder: &str| {
                let mut command = Command::new("./options");
                let output =
                    Output::of(command.args(["file", "-a", "other", "-b", "c", "-x"]).current_dir(dir.join(folder)));
                (output.code, output.stdout, output.stderr)
            };
            assert_eq!(says("musls"), says("glibcs"), "{mode} by {compiler}");
        }
    }
}

/// The words come by a function of the C library's, and a date by one that the program calls.
const WORDS: &str = "#include <errno.h>\n#include <stdio.h>\n#include <time.h>\nint main(void) {\n  char text[40];\n  \
                     const time_t none = 0;\n  strftime(text, sizeof text, \"%l %P\", gmtime(&none));\n  puts(text);\n  \
                     errno = EMFILE;\n  perror(0);\n  return 0;\n}\n";

#[test]
fn errors_and_dates_have_glibcs_words_and_a_program_has_only_what_it_calls() {
    need!("gcc", "musl-gcc", "nm", "strip");
    let dir = Fixture::new();
    dir.write("words.c", WORDS);
    dir.must("gcc", ["words.c", "-o", "on-glibc"]);
    let says = |file: &str| {
        let output = Output::of(&mut dir.command(dir.join(file)));
        (output.code, output.stdout, output.stderr)
    };
    let zigs = zigs();
    let compilers = [("gcc", None)].into_iter().chain(zigs.iter().map(|zig| ("zig", Some(zig))));
    for (compiler, zig) in compilers {
        build(&dir, zig, &["words.c", "--cc", compiler, "-o", "on-musl", "--force"]);
        assert_eq!(says("on-musl"), says("on-glibc"), "{compiler}");
        let names = dir.must("nm", ["on-musl"]);
        let has = |name: &str| names.lines().any(|line| line.ends_with(&format!(" {name}")));
        assert!(has("strftime") && !has("getopt"), "{compiler}: {names}");
        // The words of an error are what tells musl from others in a program without symbols.
        dir.must("strip", ["on-musl"]);
        let checked = Output::of(underpin(["check", "--expect", "static,musl", "on-musl"]).current_dir(dir.path()));
        assert_eq!(checked.code, Some(0), "{compiler}: {}{}", checked.stdout, checked.stderr);
    }
}

/// A search in a part of a text, as git asks of every C library.
const PART: &str = "#include <regex.h>\n#include <stdio.h>\nint main(void) {\n#ifdef REG_STARTEND\n  regex_t word;\n  \
                    regmatch_t found = {4, 9};\n  if (regcomp(&word, \"[a-z]+\", REG_EXTENDED)) return 1;\n  \
                    const int none = regexec(&word, \"one two three\", 1, &found, REG_STARTEND);\n  \
                    printf(\"%d %d %d\\n\", none, (int)found.rm_so, (int)found.rm_eo);\n#else\n  puts(\"no part\");\n#endif\n  return 0;\n}\n";

/// musl's own regexec would search the whole text: the flag is there only with the overlay's.
#[test]
fn a_part_of_a_text_is_searched_where_the_overlay_does_it() {
    need!("gcc", "musl-gcc");
    let dir = Fixture::new();
    dir.write("part.c", PART);
    dir.must("gcc", ["part.c", "-o", "on-glibc"]);
    let says = |file: &str| Output::of(&mut dir.command(dir.join(file))).stdout;
    assert_eq!(says("on-glibc"), "0 4 7\n");
    let zigs = zigs();
    let compilers = [("gcc", None)].into_iter().chain(zigs.iter().map(|zig| ("zig", Some(zig))));
    for (compiler, zig) in compilers {
        for (overlay, answer) in [("on", "0 4 7\n"), ("off", "no part\n")] {
            build(&dir, zig, &["part.c", "--cc", compiler, "--overlay", overlay, "-o", "on-musl", "--force"]);
            assert_eq!(says("on-musl"), answer, "{compiler}, overlay {overlay}");
        }
    }
}

/// Builds by `underpin build`, and ends if it does not.
fn build(dir: &Fixture, zig: Option<&PathBuf>, words: &[&str]) {
    must(building::build(dir, zig.map(PathBuf::as_path), &[&["--malloc", "system"], words].concat()));
}
