//! The objects to link in: one malloc in every linkage of both C libraries, and nothing else of theirs.

use std::path::PathBuf;
use underpin_malloc::{AllocatorKind, Goal, NotLinkable, Object, glibc_static, linkable, takeover};
use underpin_test_support::{Fixture, Output, need, skip};

const KINDS: [AllocatorKind; 3] = [AllocatorKind::Jemalloc, AllocatorKind::Mimalloc, AllocatorKind::Snmalloc];
const HOST: &str = std::env::consts::ARCH;

/// Every object that is on board for a processor, by its name, written out.
fn objects(dir: &Fixture, processor: &str) -> Vec<(String, PathBuf)> {
    let mut written: Vec<(String, PathBuf)> = Vec::new();
    for kind in KINDS {
        for goal in [Goal::Speed, Goal::Balanced] {
            match linkable(kind, goal, processor) {
                Ok(found) => {
                    let name = format!("{}-{goal}-{processor}.o", kind.name());
                    written.push((name.clone(), dir.write(&name, found.object.bytes)));
                }
                // snmalloc needs a C++20 compiler at build time.
                Err(reason) => assert!(kind == AllocatorKind::Snmalloc || processor != HOST, "{kind:?}: {reason}"),
            }
        }
    }
    written
}

fn written(dir: &Fixture, name: &str, object: Result<&'static Object, &'static str>) -> String {
    dir.write(name, object.expect("on board").bytes).to_str().expect("a UTF-8 path").to_owned()
}

/// Uses the whole family, threads, what libc allocates for itself, and fork.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern void *pvalloc(size_t);
static void *work(void *unused) {
    void *kept[300];
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < 300; i++) { kept[i] = malloc(16 + (i * 37) % 9000); memset(kept[i], i, 16); }
        for (int i = 0; i < 300; i++) free(kept[i]);
    }
    return unused;
}
static void nothing(void) {}
int main(void) {
    for (int i = 0; i < 100; i++) atexit(nothing);
    setlocale(LC_ALL, "C.UTF-8");
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    void *blocks[] = { malloc(33), calloc(3, 11), realloc(0, 33), reallocarray(0, 3, 11), aligned_alloc(64, 128),
                       memalign(256, 33), valloc(33), pvalloc(33), 0, strdup("thirty-three bytes of text, or so.") };
    if (posix_memalign(&blocks[8], 4096, 33)) return 1;
    for (int i = 0; i < 10; i++) if (!blocks[i] || malloc_usable_size(blocks[i]) < 33) return 2 + i;
    if ((uintptr_t)blocks[4] % 64 || (uintptr_t)blocks[5] % 256 || (uintptr_t)blocks[6] % 4096
        || (uintptr_t)blocks[7] % 4096 || (uintptr_t)blocks[8] % 4096) return 20;
    for (int i = 0; i < 10; i++) free(realloc(blocks[i], 5000));
    if (reallocarray(0, SIZE_MAX / 2, 3) || calloc(SIZE_MAX / 2, 3)) return 21;
    char *line = 0;
    size_t size = 0;
    FILE *file = fopen("/proc/self/status", "r");
    if (getline(&line, &size, file) < 0) return 22;
    free(line);
    fclose(file);
#ifndef NO_FORK
    pid_t child = fork();
    if (!child) { work(0); _exit(0); }
    int status;
    waitpid(child, &status, 0);
    if (status) return 23;
#endif
    puts("done");
}
"#;

/// Functions that only the C library's own malloc has, by the names in its archive.
const OF_OTHERS: [&str; 6] = [
    "_int_malloc",
    "ptmalloc_init",
    "__malloc_alloc_meta",
    "__malloc_allzerop",
    "__libc_malloc_impl",
    "__simple_malloc",
];

fn has_one_malloc(dir: &Fixture, program: &str) {
    let listed = dir.must("nm", [program]);
    for name in listed.lines().filter_map(|line| line.split_whitespace().last()) {
        assert!(!OF_OTHERS.iter().any(|other| name.starts_with(other)), "{program} has {name} too");
    }
}

#[test]
fn a_program_of_any_linkage_has_this_one_malloc() {
    need!("cc", "musl-gcc", "nm");
    let dir = Fixture::new();
    dir.write("family.c", PROGRAM);
    let beside = written(&dir, "glibc-static.o", glibc_static(HOST));
    let brought = written(&dir, "takeover.o", takeover(HOST));
    for (name, object) in objects(&dir, HOST) {
        let object = object.to_str().expect("a UTF-8 path");
        let common = ["-O1", "-fno-builtin", "-w", object, &brought, "family.c", "-pthread", "-o", "family"];
        let linkages: [(&str, &[&str]); 5] = [
            ("musl-gcc", &["-static"]),
            ("musl-gcc", &[]),
            ("cc", &[]),
            ("cc", &["-static", &beside]),
            ("cc", &["-static-pie", &beside]),
        ];
        for (compiler, flags) in linkages {
            dir.must(compiler, common.iter().chain(flags));
            has_one_malloc(&dir, "family");
            let output = Output::of(&mut dir.command(dir.join("family")));
            let shown = (output.code, output.stdout.trim());
            assert_eq!(shown, (Some(0), "done"), "{name} {compiler} {flags:?}: {}", output.stderr);
        }
    }
}

#[test]
fn a_program_for_another_processor_runs_on_it() {
    need!("aarch64-linux-gnu-gcc", "qemu-aarch64");
    if HOST == "aarch64" {
        return skip("this is an aarch64 machine");
    }
    let dir = Fixture::new();
    dir.write("family.c", PROGRAM);
    let beside = written(&dir, "glibc-static.o", glibc_static("aarch64"));
    let written = objects(&dir, "aarch64");
    assert!(written.len() >= 4, "{written:?}");
    for (name, object) in written {
        let object = object.to_str().expect("a UTF-8 path");
        // No fork after threads: glib's allocator inside QEMU may be locked by one of QEMU's own (QEMU issue 285), and with
        // snmalloc's addresses QEMU before 8.0 has 1.6 GB to copy. What is called before and after a fork is the same code
        // for every processor, and runs above.
        let flags = ["-static", "-O1", "-fno-builtin", "-w", "-DNO_FORK", object, &beside, "family.c", "-pthread"];
        dir.must("aarch64-linux-gnu-gcc", flags.iter().chain(&["-o", "family"]));
        let output = Output::of(dir.command("qemu-aarch64").arg(dir.join("family")));
        assert_eq!((output.code, output.stdout.trim()), (Some(0), "done"), "{name}: {}", output.stderr);
    }
}

/// Names that an archive or object defines.
fn defined(dir: &Fixture, file: &str) -> Vec<String> {
    let listed = dir.must("nm", ["-g", "--defined-only", file]);
    let names = listed.lines().filter_map(|line| line.split_whitespace().nth(2));
    names.map(|name| name.split('@').next().unwrap_or(name).to_owned()).collect()
}

#[test]
fn what_an_object_asks_for_every_c_library_has_as_an_archive() {
    need!("nm", "cc", "musl-gcc");
    let dir = Fixture::new();
    let archive = |compiler: &str| {
        let path = Output::of(dir.command(compiler).arg("-print-file-name=libc.a")).stdout;
        path.trim().to_owned()
    };
    let mut archives = vec![archive("cc"), "/usr/lib/x86_64-linux-musl/libc.a".to_owned()];
    // The musl that rustup installs is a newer one.
    let sysroot = Output::of(dir.command("rustc").args(["--print", "sysroot"])).stdout;
    archives.push(format!("{}/lib/rustlib/{HOST}-unknown-linux-musl/lib/self-contained/libc.a", sysroot.trim()));
    archives.retain(|path| std::path::Path::new(path).exists());
    assert!(archives.len() >= 2, "{archives:?}");
    let (mut checked, mut wanted) = (0, objects(&dir, HOST));
    wanted.push(("takeover.o".to_owned(), written(&dir, "takeover.o", takeover(HOST)).into()));
    for libc in archives {
        let has = defined(&dir, &libc);
        for (name, object) in &wanted {
            let listed = dir.must("nm", ["-u", object.to_str().expect("a UTF-8 path")]);
            for line in listed.lines().filter(|line| line.trim_start().starts_with("U ")) {
                let symbol = line.split_whitespace().last().expect("a name");
                let by_linker = symbol == "_GLOBAL_OFFSET_TABLE_";
                assert!(
                    by_linker || has.iter().any(|known| known == symbol),
                    "{name} asks for {symbol}, not in {libc}"
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 100, "{checked}");
}

/// glibc 2.17 is that of EL 7, the oldest that anyone builds for.
#[test]
fn what_an_object_asks_for_glibc_2_17_has() {
    need!("nm", "cc");
    let dir = Fixture::new();
    let libc = Output::of(dir.command("cc").arg("-print-file-name=libc.so.6")).stdout;
    let listed = dir.must("nm", ["-D", "--defined-only", libc.trim()]);
    let oldest = |symbol: &str| {
        let versions = listed.lines().filter_map(|line| {
            let (name, version) = line.split_whitespace().last()?.split_once('@')?;
            let (major, minor) = version.trim_start_matches('@').strip_prefix("GLIBC_")?.split_once('.')?;
            (name == symbol)
                .then(|| (major.parse::<u32>().ok(), minor.split('.').next().unwrap_or(minor).parse::<u32>().ok()))
        });
        versions.min()
    };
    for (name, object) in objects(&dir, HOST) {
        let undefined = dir.must("nm", ["-u", object.to_str().expect("a UTF-8 path")]);
        for symbol in undefined.lines().filter_map(|line| line.trim_start().strip_prefix("U ")) {
            // From libc_nonshared.a, or from the linker itself.
            if ["atexit", "pthread_atfork", "_GLOBAL_OFFSET_TABLE_"].contains(&symbol) {
                continue;
            }
            let since = oldest(symbol);
            assert!(since.is_some_and(|since| since <= (Some(2), Some(17))), "{name} asks for {symbol} of {since:?}");
        }
    }
}

#[test]
fn only_the_names_of_malloc_and_of_the_allocators_own_interface_are_global() {
    need!("nm");
    const FAMILY: [&str; 11] = [
        "malloc",
        "calloc",
        "realloc",
        "reallocarray",
        "free",
        "aligned_alloc",
        "posix_memalign",
        "memalign",
        "valloc",
        "pvalloc",
        "malloc_usable_size",
    ];
    let dir = Fixture::new();
    for (name, object) in objects(&dir, HOST).into_iter().chain(objects(&dir, "aarch64")) {
        let global = defined(&dir, object.to_str().expect("a UTF-8 path"));
        for wanted in FAMILY {
            assert!(global.iter().any(|known| known == wanted), "{name} lacks {wanted}");
        }
        for symbol in global {
            let known = ["alloc", "memalign", "free", "mallctl"].iter().any(|part| symbol.contains(part));
            let own = (known || symbol.starts_with("mi_")) && !symbol.starts_with("je_") && !symbol.starts_with("_Z");
            assert!(own, "{name}: {symbol} is global");
        }
    }
}

#[test]
fn a_static_glibc_program_may_ask_for_glibcs_figures_of_its_malloc() {
    need!("cc");
    let dir = Fixture::new();
    dir.write(
        "figures.c",
        r#"
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    free(malloc(10));
    malloc_trim(0);
    printf("%d %d %zu\n", mallopt(M_MMAP_THRESHOLD, 4096), mallinfo().arena, mallinfo2().arena);
}
"#,
    );
    let object = linkable(AllocatorKind::Mimalloc, Goal::Speed, HOST).expect("on board").object;
    let object = dir.write("mimalloc.o", object.bytes).to_str().expect("a UTF-8 path").to_owned();
    let beside = written(&dir, "glibc-static.o", glibc_static(HOST));
    let flags = ["-static", "-w", &object, &beside, "figures.c", "-o", "figures"];
    dir.must("cc", flags);
    has_one_malloc(&dir, "figures");
    assert_eq!(Output::of(&mut dir.command(dir.join("figures"))).stdout.trim(), "0 0 0");
}

#[test]
fn the_goal_memory_has_no_object_and_a_foreign_processor_a_reason() {
    assert_eq!(linkable(AllocatorKind::Mimalloc, Goal::Memory, HOST), Err(NotLinkable::OwnMalloc));
    assert_eq!(Goal::Memory.allocator(), None);
    let NotLinkable::Absent(reason) = linkable(AllocatorKind::Mimalloc, Goal::Speed, "m68k").unwrap_err() else {
        panic!("another reason")
    };
    assert!(reason.contains("x86_64") && takeover("m68k").is_err(), "{reason}");
    assert_eq!("balanced".parse(), Ok(Goal::Balanced));
    assert!("small".parse::<Goal>().unwrap_err().contains("expected speed, memory or balanced"));
}

/// mimalloc's own options are the judge.
#[test]
fn the_balanced_goal_gives_memory_back_and_mimalloc_reserves_little() {
    need!("cc");
    let dir = Fixture::new();
    dir.write(
        "options.c",
        r#"
#include <stdio.h>
extern long mi_option_get(int);
/* Numbers of mimalloc.h: mi_option_purge_delay, mi_option_arena_reserve. */
int main(void) { printf("%ld %ld\n", mi_option_get(15), mi_option_get(23)); }
"#,
    );
    for (goal, expected, reserved) in [(Goal::Speed, "1000 32768", "128 MiB"), (Goal::Balanced, "10 32768", "32 MiB")] {
        let found = linkable(AllocatorKind::Mimalloc, goal, HOST).expect("on board");
        let object = dir.write("mimalloc.o", found.object.bytes);
        dir.must("cc", [object.to_str().expect("a UTF-8 path"), "options.c", "-o", "options"]);
        let told = Output::of(&mut dir.command(dir.join("options"))).stdout;
        assert_eq!(told.trim(), expected);
        assert!(found.settings.contains(reserved), "{}", found.settings);
        let delay = expected.split(' ').next().expect("two figures");
        assert!(found.settings.contains(&format!("purge_delay={delay}")), "{}", found.settings);
    }
}

#[test]
fn jemalloc_is_built_for_the_largest_pages_of_its_processor() {
    need!("nm");
    let dir = Fixture::new();
    // SC_NPSIZES + 1 entries of eight bytes, 4 * (62 - (LG_PAGE + 2)) + 7 + 1 of them: jemalloc's own sc.h.
    for (processor, lg_page) in [("x86_64", 12), ("aarch64", 16)] {
        let Ok(found) = linkable(AllocatorKind::Jemalloc, Goal::Speed, processor) else { continue };
        let object = dir.write("jemalloc.o", found.object.bytes);
        let listed = dir.must("nm", ["-S", object.to_str().expect("a UTF-8 path")]);
        let table = listed.lines().find(|line| line.ends_with("sz_pind2sz_tab")).expect("the table");
        let bytes = u64::from_str_radix(table.split_whitespace().nth(1).expect("a size"), 16).expect("hexadecimal");
        assert_eq!(bytes, 8 * (4 * (62 - (lg_page + 2)) + 8), "{processor}");
    }
}
