//! The objects for the link line: what they define and require, by nm and readelf, and what becomes of
//! programs linked with it, by the linker's own map.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use underpin_overlay::Part;
use underpin_test_support::{Fixture, Output, need, skip_without_target};

/// What <string.h> and <stdlib.h> of musl have that the overlay replaces, and musl's own names for them.
const BOTH: &str = "memmove memcmp bcmp memchr memrchr memmem strlen strnlen strchr strrchr strchrnul strcmp strncmp strstr strcpy \
     stpcpy strncpy stpncpy __memrchr __strchrnul __stpcpy __stpncpy qsort qsort_r __qsort_r";
const NUMBERS: &str = "strtod strtof strtold";
const X86_64: &str = "memcpy memset __memcpy_fwd __memcpy_fwd_alias_1";

fn names(processor: &str) -> BTreeSet<&'static str> {
    let more = if processor == "x86_64" { X86_64 } else { "" };
    BOTH.split_whitespace().chain(more.split_whitespace()).collect()
}

/// The processors of which the objects are on board, each written to the file that [`file`] names; those of this machine always
/// are.
fn on_board(fixture: &Fixture) -> Vec<&'static str> {
    let of_this = Part::Strings.object(std::env::consts::ARCH);
    assert!(of_this.is_ok(), "{of_this:?}");
    let found = ["x86_64", "aarch64"].into_iter().filter(|processor| {
        if let Err(reason) = Part::Strings.object(processor) {
            underpin_test_support::skip(reason);
            return false;
        }
        for part in Part::ALL {
            fixture.write(file(part, processor), part.object(processor).expect("on board").bytes);
        }
        true
    });
    found.collect()
}

fn file(part: Part, processor: &str) -> String {
    format!("{}-{processor}.o", part.name())
}

#[test]
fn a_program_may_have_each_of_their_functions_itself() {
    need!("nm");
    let fixture = Fixture::new();
    for processor in on_board(&fixture) {
        for file in Part::ALL.map(|part| file(part, processor)) {
            let listed = fixture.must("nm", ["--defined-only", "--extern-only", "--format=posix", &file]);
            // A weak function or, as V, a variable.
            let is_weak = |line: &&str| line.contains(" W ") || line.contains(" V ");
            let strong: Vec<&str> = listed.lines().filter(|line| !is_weak(line)).collect();
            assert!(strong.is_empty() && !listed.is_empty(), "{file}: {strong:?}");
        }
    }
}

#[test]
fn that_of_numbers_defines_what_one_member_of_musl_does() {
    need!("nm");
    let fixture = Fixture::new();
    for processor in on_board(&fixture) {
        let listed = fixture.must("nm", ["--extern-only", "--format=posix", &file(Part::Numbers, processor)]);
        let names: BTreeSet<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(names, NUMBERS.split(' ').chain(["__errno_location"]).collect(), "{processor}");
    }
}

#[test]
fn it_wants_nothing_and_defines_nothing_but_what_it_replaces() {
    need!("nm");
    let fixture = Fixture::new();
    for processor in on_board(&fixture) {
        let file = file(Part::Strings, processor);
        assert_eq!(fixture.must("nm", ["--undefined-only", &file]), "", "{processor}");
        let listed = fixture.must("nm", ["--defined-only", "--extern-only", "--format=posix", &file]);
        let defined: BTreeSet<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(defined, names(processor), "{processor}");
    }
}

#[test]
fn its_stack_is_not_executable_and_each_function_has_a_section() {
    need!("readelf");
    let fixture = Fixture::new();
    for processor in on_board(&fixture) {
        let sections = fixture.must("readelf", ["--sections", "--wide", &file(Part::Strings, processor)]);
        let stack = sections.lines().find(|line| line.contains(".note.GNU-stack")).expect("the linker asks for it");
        assert!(!stack.split_whitespace().any(|word| word == "X"), "{stack}");
        assert!(sections.contains(" .text.strlen ") && sections.contains(" .text.memmove "), "{sections}");
        assert!(!sections.contains(".debug_"), "the paths of the build would be in every release: {sections}");
    }
}

/// Large ones would lie among the C library's, which each program touches on both sides of them: a page more.
#[test]
fn no_object_has_large_variables() {
    need!("size");
    let fixture = Fixture::new();
    for processor in on_board(&fixture) {
        for file in Part::ALL.map(|part| file(part, processor)) {
            let lines = fixture.must("size", [&file]);
            let sizes: Vec<u64> = lines
                .lines()
                .nth(1)
                .into_iter()
                .flat_map(str::split_whitespace)
                .filter_map(|word| word.parse().ok())
                .collect();
            let [_, data, bss, ..] = sizes[..] else { panic!("{lines}") };
            assert!(data + bss < 512, "{file}: {lines}");
        }
    }
}

/// The replacing functions begin with AVX-512's code: a processor without it must have left before the first such
/// instruction.
#[test]
fn the_level_is_looked_at_before_any_instruction_that_needs_it() {
    need!("objdump");
    let fixture = Fixture::new();
    if !on_board(&fixture).contains(&"x86_64") {
        return;
    }
    let code = fixture.must("objdump", ["-d", "--no-show-raw-insn", &file(Part::Strings, "x86_64")]);
    let public = names("x86_64");
    let mut looked_at = 0;
    for function in code.split("\n\n") {
        let name = function.split_once('<').and_then(|(_, rest)| rest.split_once('>')).map_or("", |(name, _)| name);
        if !public.contains(name) && name != "bcmp" {
            continue;
        }
        let instructions: Vec<&str> =
            function.lines().filter_map(|line| line.split_once(":\t").map(|(_, text)| text.trim())).collect();
        // The look: a comparison with what lies in memory, and its jump. A function without one may have none at all.
        let look = instructions.windows(2).position(|two| two[0].contains("(%rip)") && two[1].starts_with('j'));
        let before = &instructions[..look.unwrap_or(instructions.len())];
        let newer = |text: &&&str| {
            ["v", "k", "bzhi", "andn", "bls", "shlx", "shrx", "sarx"].iter().any(|head| text.starts_with(head))
        };
        assert_eq!(before.iter().find(newer), None, "{name}");
        looked_at += 1;
    }
    assert!(looked_at >= 19, "{looked_at} functions in {code}");
}

#[test]
fn their_sums_are_those_of_sha256sum() {
    need!("sha256sum");
    let fixture = Fixture::new();
    for processor in on_board(&fixture) {
        let said = fixture.must("sha256sum", Part::ALL.map(|part| file(part, processor)));
        for (line, part) in said.lines().zip(Part::ALL) {
            assert_eq!(line.split(' ').next(), part.object(processor).ok().map(|object| object.sha256));
        }
    }
}

#[test]
fn a_processor_without_sources_has_a_reason() {
    assert_eq!(Part::Strings.object("riscv64").unwrap_err(), "the overlay has functions for x86_64 and aarch64 only");
}

/// Copies before `main` and before the first constructor: musl copies the TLS image of a static program with memcpy.
const EARLY: &str = r#"
#include <stdio.h>
#include <string.h>
static _Thread_local char image[5000] = "from the file's own image";
static char copied[5000];
static volatile size_t n = sizeof copied;
__attribute__((constructor)) static void first(void) { memcpy(copied, image, n); }
int main(int count, char **words) {
  char long_one[300] = "x";
  memset(long_one, 'y', 299 - (size_t)count + 1);
  printf("%s %zu %d %s\n", copied, strlen(long_one), strcmp(words[0], copied) != 0, strstr(copied, "own"));
  return 0;
}
"#;
const EARLY_SAYS: &str = "from the file's own image 299 1 own image\n";

/// The members of the C library that define what the overlay does, if the linker took one.
fn taken(map: &str) -> Vec<String> {
    let members = map.lines().filter_map(|line| line.split_once("libc.a(")?.1.split(')').next());
    let replaced: BTreeSet<String> =
        names("x86_64").into_iter().flat_map(|name| [format!("{name}.lo"), format!("{name}.o")]).collect();
    members.filter(|member| replaced.contains(*member)).map(str::to_owned).collect()
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_static_c_program_has_its_functions_and_not_musls() {
    need!("musl-gcc", "nm");
    let fixture = Fixture::new();
    on_board(&fixture);
    fixture.write("early.c", EARLY);
    let link = ["-static", "-fno-builtin", "-Wl,-Map,map", "-o", "early"];
    fixture.musl_cc([&link[..], &["early.c"]].concat());
    let without = fs::read_to_string(fixture.join("map")).unwrap();
    assert!(taken(&without).contains(&"memcpy.lo".to_owned()), "the map says nothing of members");
    fixture.musl_cc([&link[..], &["overlay-x86_64.o", "early.c"]].concat());
    assert_eq!(taken(&fs::read_to_string(fixture.join("map")).unwrap()), Vec::<String>::new());
    let symbols = fixture.must("nm", ["early"]);
    assert!(symbols.contains(" t memcpy_avx2") && symbols.contains(" t overlay_choose"), "{symbols}");
    assert_eq!(Output::of(&mut fixture.command("./early")).stdout, EARLY_SAYS);
}

/// A member with a name that the overlay replaces and one that it does not would be linked for the latter and clash.
#[test]
fn no_member_of_musl_has_a_replaced_name_beside_others() {
    need!("nm", "rustc");
    let fixture = Fixture::new();
    let mut looked_at = 0;
    for (processor, archive) in archives(&fixture) {
        let replaced: BTreeSet<&str> = names(processor).into_iter().chain(NUMBERS.split(' ')).collect();
        let mut members: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let listed =
            fixture.must("nm", ["-A", "--defined-only", "--extern-only", "--format=posix", "--quiet", &archive]);
        for line in listed.lines() {
            let mut words = line.split(' ');
            if let (Some(member), Some(name)) = (words.next(), words.next()) {
                members.entry(member.to_owned()).or_default().push(name.to_owned());
            }
        }
        let touched = members.iter().filter(|(_, names)| names.iter().any(|name| replaced.contains(name.as_str())));
        for (member, names) in touched {
            let others: Vec<&String> = names.iter().filter(|name| !replaced.contains(name.as_str())).collect();
            assert!(others.is_empty(), "{member} defines {others:?} too");
            looked_at += 1;
        }
    }
    assert!(looked_at >= 18, "{looked_at} members");
}

/// The C libraries that static programs here are linked with: musl-gcc's and those that come with Rust.
fn archives(fixture: &Fixture) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for processor in ["x86_64", "aarch64"] {
        let target = format!("{processor}-unknown-linux-musl");
        let folder = fixture.must("rustc", ["--print", "target-libdir", "--target", &target]);
        let archive = format!("{}/self-contained/libc.a", folder.trim());
        if std::path::Path::new(&archive).exists() {
            found.push((processor, archive));
        } else {
            skip_without_target(if processor == "x86_64" {
                "x86_64-unknown-linux-musl"
            } else {
                "aarch64-unknown-linux-musl"
            });
        }
    }
    let debian = format!("/usr/lib/{}-linux-musl/libc.a", std::env::consts::ARCH);
    if std::path::Path::new(&debian).exists() {
        found.push((std::env::consts::ARCH, debian));
    }
    found
}

/// A position-independent one, as Rust links them: relocations of its own, a constructor, and the global allocator's zeroed memory.
const RUST: &str = r#"
use std::hint::black_box;
static COPIED: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
extern "C" fn first() { let _ = COPIED.set(black_box(&[7_u8; 3000]).to_vec()); }
#[used]
#[unsafe(link_section = ".init_array")]
static FIRST: extern "C" fn() = first;
fn main() {
    let thread = std::thread::spawn(|| COPIED.get().map(|bytes| bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>()));
    println!("{:?} {:?}", thread.join().unwrap(), black_box("static and position-independent").find("and"));
}
"#;

#[test]
#[cfg(target_arch = "x86_64")]
fn a_static_pie_of_rust_has_its_functions_and_not_musls() {
    need!("rustc", "readelf");
    const TARGET: &str = "x86_64-unknown-linux-musl";
    let fixture = Fixture::new();
    on_board(&fixture);
    let folder = fixture.must("rustc", ["--print", "target-libdir", "--target", TARGET]);
    if !std::path::Path::new(folder.trim()).exists() {
        return skip_without_target(TARGET);
    }
    let wrapper = fixture.write("linker", "#!/bin/sh\nexec cc overlay-x86_64.o -Wl,-Map,map \"$@\"\n");
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    fixture.write("main.rs", RUST);
    let linker = format!("linker={}", wrapper.display());
    fixture.must("rustc", ["--edition", "2024", "--target", TARGET, "-C", &linker, "-o", "main", "main.rs"]);
    let header = fixture.must("readelf", ["--file-header", "--program-headers", "main"]);
    assert!(header.contains("DYN (") && !header.contains("INTERP"), "{header}");
    let map = fs::read_to_string(fixture.join("map")).unwrap();
    assert!(map.contains("overlay-x86_64.o"), "{map}");
    assert_eq!(taken(&map), Vec::<String>::new());
    assert_eq!(Output::of(&mut fixture.command("./main")).stdout, "Some(21000) Some(7)\n");
}
