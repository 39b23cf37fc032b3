//! Stacks of ended threads in static programs on musl: reused, which a program can notice only by the time. The rules
//! are in stacks.c; musl without the object decides what threads see, strace and /proc show what the kernel is asked
//! for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_overlay::Part;
use underpin_test_support::{Fixture, Output, need, skip_without_target};

fn object(dir: &Fixture, processor: &str) -> String {
    let object = Part::Stacks.object(processor).expect("on board");
    dir.write(format!("stacks-{processor}.o"), object.bytes).to_str().expect("a UTF-8 path").to_owned()
}

/// The program of the rules, for this processor, with the object in front.
fn with(dir: &Fixture, more: &[&str]) -> PathBuf {
    let object = object(dir, std::env::consts::ARCH);
    compile(dir, "with", &[&[object.as_str()], more].concat())
}

fn without(dir: &Fixture) -> PathBuf {
    compile(dir, "without", &["-DWITHOUT"])
}

fn compile(dir: &Fixture, name: &str, more: &[&str]) -> PathBuf {
    dir.write("stacks.c", include_str!("stacks.c"));
    dir.musl_cc([&["-static", "-O1", "-w"], more, &["stacks.c", "-o", name]].concat());
    dir.join(name)
}

/// What a rule says; it must hold.
fn held(command: &mut Command) -> String {
    let output = Output::of(command);
    let said = output.stdout.strip_suffix("held\n");
    said.unwrap_or_else(|| panic!("{:?} {:?} {}", command, output.code, output.stderr)).to_owned()
}

macro_rules! rules {
    ($($test:ident: $rule:literal,)*) => {
        $(#[test]
        fn $test() {
            need!("musl-gcc");
            let dir = Fixture::new();
            held(dir.command(with(&dir, &[])).arg($rule));
            held(dir.command(without(&dir)).arg($rule));
        })*
    };
}

rules! {
    no_stack_is_used_again_while_a_detached_thread_is_on_it: "detached",
    a_write_below_a_stack_that_was_used_before_ends_the_program: "guards",
    a_stack_that_the_program_protected_is_not_used_again: "spoiled",
    thread_local_variables_are_new_in_each_thread: "variables",
    threads_end_by_exit_from_any_depth_and_by_cancellation: "ends",
    children_of_a_process_with_threads_create_threads: "children",
    idle_stacks_give_their_memory_back: "idle",
    idle_stacks_are_no_reason_to_refuse_memory: "limit",
    stacks_have_huge_pages_no_sooner_than_any_mapping_for_a_stack: "huge",
}

/// The bytes that must be zero grow with the program's own variables; from some size on its stacks are not kept.
#[test]
fn many_and_aligned_thread_local_variables_are_new_in_each_thread() {
    need!("musl-gcc");
    for more in [["-DTLS=20000", "-DALIGNMENT=4096"], ["-DTLS=200000", "-DALIGNMENT=16"], ["-DTLS=1", "-DALIGNMENT=1"]]
    {
        let dir = Fixture::new();
        let program = with(&dir, &more);
        held(dir.command(&program).arg("variables"));
        held(dir.command(&program).arg("ends"));
    }
}

#[test]
fn threads_see_the_sizes_that_they_see_on_musl_alone() {
    need!("musl-gcc");
    let dir = Fixture::new();
    let expected = held(dir.command(without(&dir)).arg("sizes"));
    assert!(expected.lines().count() > 100, "{expected}");
    assert_eq!(held(dir.command(with(&dir, &[])).arg("sizes")), expected);
}

/// The calls of mmap, mprotect and munmap, by strace.
fn mappings(dir: &Fixture, program: &Path, rule: &str) -> usize {
    let mut command = dir.command("strace");
    command.args(["-f", "-qq", "-e", "trace=mmap,mprotect,munmap", "-o", "calls"]).arg(program).arg(rule);
    held(&mut command);
    let calls = std::fs::read_to_string(dir.join("calls")).expect("strace's file");
    calls.lines().filter(|line| ["mmap(", "mprotect(", "munmap("].iter().any(|call| line.contains(call))).count()
}

#[test]
fn a_thousand_threads_one_after_the_other_map_a_stack_once() {
    need!("musl-gcc", "strace");
    let dir = Fixture::new();
    let (with, without) = (with(&dir, &[]), without(&dir));
    // Each number is of a thousand pairs of pthread_create and thrd_create, of a thousand detached threads, or of two
    // thousand without guards.
    for (rule, at_least) in [("serial", 6000), ("serial_detached", 2500), ("unguarded", 3900)] {
        let (ours, musls) = (mappings(&dir, &with, rule), mappings(&dir, &without, rule));
        assert!(musls > at_least, "{rule}: {musls} calls by musl alone");
        assert!(ours < 50, "{rule}: {ours} calls");
    }
}

#[test]
fn valgrind_has_no_complaint() {
    need!("musl-gcc", "valgrind");
    let dir = Fixture::new();
    let program = with(&dir, &[]);
    for rule in ["serial", "serial_detached", "variables", "spoiled"] {
        held(dir.command("valgrind").args(["-q", "--error-exitcode=9"]).arg(&program).arg(rule));
    }
}

/// The C libraries that static programs here are linked with: musl-gcc's and those that come with Rust.
fn archives(dir: &Fixture) -> Vec<(&'static str, PathBuf)> {
    let mut found = Vec::new();
    for (processor, target) in [("x86_64", "x86_64-unknown-linux-musl"), ("aarch64", "aarch64-unknown-linux-musl")] {
        let folder = dir.must("rustc", ["--print", "target-libdir", "--target", target]);
        let archive = Path::new(folder.trim()).join("self-contained/libc.a");
        if archive.exists() {
            found.push((processor, archive));
        } else {
            skip_without_target(target);
        }
    }
    let debian = PathBuf::from(format!("/usr/lib/{}-linux-musl/libc.a", std::env::consts::ARCH));
    if debian.exists() {
        found.push((std::env::consts::ARCH, debian));
    }
    found
}

const DEFINED: &str = "__mmap mmap mmap64 __mprotect mprotect __munmap munmap __unmapself \
     __inhibit_ptc __acquire_ptc __release_ptc __wait";

/// If musl's thread creation changes, stacks are no longer kept, and this fails.
#[test]
fn musls_thread_creation_calls_what_is_replaced() {
    need!("nm", "rustc");
    let dir = Fixture::new();
    let defined: BTreeSet<&str> = DEFINED.split_whitespace().collect();
    let archives = archives(&dir);
    assert!(!archives.is_empty());
    for (processor, archive) in archives {
        let names = dir.must("nm", ["--defined-only", "--extern-only", "--format=posix", &object(&dir, processor)]);
        assert_eq!(names.lines().filter_map(|line| line.split(' ').next()).collect::<BTreeSet<_>>(), defined);
        // Weak ones, so that a program's own mmap does not clash.
        assert!(names.lines().all(|line| line.split(' ').nth(1) == Some("W")), "{names}");

        let listed = dir.must("nm", ["-A", "--quiet", "--format=posix", archive.to_str().expect("UTF-8")]);
        let of = |member: &str, kinds: &str| -> BTreeSet<String> {
            let lines = listed.lines().filter(|line| line.contains(&format!("[{member}.lo]")));
            let words = lines.map(|line| line.split(' ').skip(1).collect::<Vec<_>>());
            let kept = words.filter(|words| words.get(1).is_some_and(|kind| kinds.contains(*kind)));
            kept.map(|words| words[0].to_owned()).collect()
        };
        let create = of("pthread_create", "UTW");
        for name in "__mmap __mprotect __munmap __unmapself __acquire_ptc __release_ptc __tl_sync __wait".split(' ') {
            assert!(create.contains(name), "{name} in {}: {create:?}", archive.display());
        }
        assert!(of("pthread_join", "U").contains("__munmap"));
        assert!(of("lock_ptc", "T").contains("__acquire_ptc"), "the lock of thread creation");
        // No other name in these members may be referred to: it would bring them in beside ours.
        for member in ["mmap", "mprotect", "munmap", "__unmapself", "lock_ptc", "__wait"] {
            let others: Vec<String> = of(member, "TWDBV").into_iter().filter(|name| name != "__vm_wait").collect();
            assert!(others.iter().all(|name| defined.contains(name.as_str())), "{member}: {others:?}");
        }
    }
}

/// A program with an mmap of its own, as allocators and tracers have one, is linked and keeps it.
#[test]
fn a_programs_own_mmap_stays() {
    need!("musl-gcc");
    let dir = Fixture::new();
    let object = object(&dir, std::env::consts::ARCH);
    dir.write(
        "own.c",
        "#include <stdio.h>\n#include <sys/mman.h>\n#include <pthread.h>\n\
         void *mmap(void *a, size_t b, int c, int d, int e, off_t f) { return (void *)77; }\n\
         static void *nothing(void *given) { return given; }\n\
         int main(void) { pthread_t thread; if (pthread_create(&thread, 0, nothing, 0) || pthread_join(thread, 0)) return 1;\n\
         return printf(\"%p\\n\", mmap(0, 1, 0, 0, 0, 0)) < 0; }",
    );
    dir.musl_cc(["-static", "-O1", "-w", &object, "own.c", "-o", "own"]);
    assert_eq!(Output::of(&mut dir.command(dir.join("own"))).stdout, "0x4d\n");
}

/// For aarch64 there is Rust's musl (newer than Debian's) with the compiler's own headers, whose types are at least as large.
#[test]
fn the_rules_hold_on_aarch64() {
    need!("aarch64-linux-gnu-gcc", "qemu-aarch64", "rustc");
    const TARGET: &str = "aarch64-unknown-linux-musl";
    let dir = Fixture::new();
    let folder = dir.must("rustc", ["--print", "target-libdir", "--target", TARGET]);
    let folder = Path::new(folder.trim()).join("self-contained");
    if !folder.exists() {
        return skip_without_target(TARGET);
    }
    let part = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    let object = object(&dir, "aarch64");
    dir.write("stacks.c", include_str!("stacks.c"));
    let compile = ["-c", "-O1", "-w", "-U_FORTIFY_SOURCE", "-fno-stack-protector", "-mno-outline-atomics", "stacks.c"];
    dir.must("aarch64-linux-gnu-gcc", compile);
    let (start, first, libc, last) = (part("crt1.o"), part("crti.o"), part("libc.a"), part("crtn.o"));
    let files = [&start, &first, &object, "stacks.o", &libc, "-lgcc", &last];
    dir.must("aarch64-linux-gnu-gcc", [&["-nostdlib", "-static", "-o", "program"][..], &files].concat());
    // Not those about the process's own memory, limits and children with threads: there it is QEMU's.
    for rule in ["serial", "serial_detached", "guards", "sizes", "spoiled", "variables", "ends"] {
        held(dir.command("qemu-aarch64").arg("./program").arg(rule));
    }
}

/// A static PIE as Rust links them, on Rust's musl.
#[test]
fn destructors_of_thread_local_variables_run_in_rust() {
    need!("rustc", "cc");
    const TARGET: &str = "x86_64-unknown-linux-musl";
    if std::env::consts::ARCH != "x86_64" {
        return;
    }
    let dir = Fixture::new();
    let folder = dir.must("rustc", ["--print", "target-libdir", "--target", TARGET]);
    if !Path::new(folder.trim()).exists() {
        return skip_without_target(TARGET);
    }
    let object = object(&dir, "x86_64");
    dir.write("main.rs", RUST);
    let linker = dir.write("linker", format!("#!/bin/sh\nexec cc '{object}' \"$@\"\n"));
    dir.chmod("linker", 0o755);
    let linker = format!("linker={}", linker.display());
    dir.must("rustc", ["--edition", "2024", "-O", "--target", TARGET, "-C", &linker, "-o", "main", "main.rs"]);
    assert_eq!(Output::of(&mut dir.command(dir.join("main"))).stdout, "500 dropped, 1 address\n");
}

const RUST: &str = r#"
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
static DROPPED: AtomicUsize = AtomicUsize::new(0);
struct Counted(Vec<u8>);
impl Drop for Counted {
    fn drop(&mut self) {
        DROPPED.fetch_add(self.0.iter().map(|byte| usize::from(*byte)).sum(), Ordering::Relaxed);
    }
}
thread_local! { static MINE: RefCell<Option<Counted>> = const { RefCell::new(None) }; }
fn main() {
    let mut addresses = BTreeSet::new();
    for _ in 0..500 {
        let thread = std::thread::spawn(|| {
            MINE.with_borrow_mut(|mine| {
                assert!(mine.is_none());
                *mine = Some(Counted(vec![1]));
                std::ptr::from_ref(mine) as usize
            })
        });
        addresses.insert(thread.join().unwrap());
    }
    println!("{} dropped, {} address", DROPPED.load(Ordering::Relaxed), addresses.len());
}
"#;
