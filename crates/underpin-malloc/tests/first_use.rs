//! The first block may be anybody's: mimalloc, linked in, starts when it is asked for it, and not before.

use std::path::Path;
use std::time::Duration;
use underpin_malloc::{AllocatorKind, Goal, glibc_static, linkable};
use underpin_sys::{Limits, RunEnd, Spawn, Streams};
use underpin_test_support::{Fixture, Output, need};

const HOST: &str = std::env::consts::ARCH;
const KINDS: [AllocatorKind; 2] = [AllocatorKind::Mimalloc, AllocatorKind::Jemalloc];

/// What happens first, by the program's first word.
const BEGINNINGS: [&str; 9] = [
    "null is freed, measured and grown",
    "zeroed and aligned blocks",
    "racing threads, sixteen of them, twice",
    "leaves a block of a thread that has ended, and fifty threads follow it",
    "fork, and threads in the child alone",
    "main ends before its thread",
    "quiet main: only another thread allocates",
    "some thread frees null all the time while another one starts, in 200 processes",
    "addresses run out at the first block, and are there at the second",
];

const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
static void fill(int seed) {
    enum { BLOCKS = 400 };
    unsigned char *kept[BLOCKS];
    size_t sizes[BLOCKS];
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < BLOCKS; i++) {
            sizes[i] = 1 + (size_t)(i * 97 + seed * 31) % 20000;
            kept[i] = malloc(sizes[i]);
            if (!kept[i]) abort();
            memset(kept[i], i + seed, sizes[i]);
        }
        for (int i = 0; i < BLOCKS; i++) {
            for (size_t at = 0; at < sizes[i]; at += 37) if (kept[i][at] != (unsigned char)(i + seed)) abort();
            free(kept[i]);
        }
    }
}
static pthread_barrier_t together;
static void *racing(void *seed) { pthread_barrier_wait(&together); fill((int)(intptr_t)seed); return 0; }
static void *alone(void *seed) { fill((int)(intptr_t)seed); return 0; }
static void *left;
static void *leaves(void *unused) { left = malloc(5000); memset(left, 7, 5000); return unused; }
static volatile int started;
static void *frees_null(void *unused) {
    pthread_barrier_wait(&together);
    while (!started) { free(0); if (malloc_usable_size(0)) abort(); }
    return unused;
}
static void *starts(void *unused) { pthread_barrier_wait(&together); free(malloc(100)); started = 1; return unused; }
static int start_beside_null(void) {
    pthread_t one, other;
    pthread_barrier_init(&together, 0, 2);
    if (pthread_create(&one, 0, frees_null, 0) || pthread_create(&other, 0, starts, 0)) abort();
    pthread_join(one, 0); pthread_join(other, 0);
    return 0;
}
static void race(int threads) {
    pthread_t all[16];
    pthread_barrier_init(&together, 0, threads);
    for (int i = 0; i < threads; i++) if (pthread_create(&all[i], 0, racing, (void *)(intptr_t)i)) abort();
    for (int i = 0; i < threads; i++) pthread_join(all[i], 0);
}
int main(int count, char **words) {
    pthread_t one;
    switch (words[1][0]) {
    case 'n': free(0); if (malloc_usable_size(0)) return 2; free(realloc(0, 100)); break;
    case 'z': { void *block = aligned_alloc(4096, 4096); free(block); free(calloc(1, 1)); break; }
    case 'r': race(16); fill(1); race(16); break;
    case 'l':
        pthread_create(&one, 0, leaves, 0); pthread_join(one, 0);
        for (int i = 0; i < 50; i++) { pthread_create(&one, 0, alone, (void *)(intptr_t)i); pthread_join(one, 0); }
        for (int i = 0; i < 5000; i++) if (((char *)left)[i] != 7) return 3;
        free(left); fill(2);
        break;
    case 'f': {
        pid_t child = fork();
        if (!child) { race(4); fill(3); _exit(0); }
        int status; waitpid(child, &status, 0); if (status) return 4; fill(4); break; }
    case 'm': pthread_create(&one, 0, alone, (void *)1); pthread_detach(one); pthread_exit(0);
    case 'q': pthread_create(&one, 0, alone, (void *)1); pthread_join(one, 0); break;
    case 's':
        for (int i = 0; i < 200; i++) {
            pid_t child = fork();
            if (!child) _exit(start_beside_null());
            int status; waitpid(child, &status, 0); if (status) return 5;
        }
        break;
    case 'a': {
        struct rlimit usual, none = { 0 };
        getrlimit(RLIMIT_AS, &usual);
        none.rlim_max = usual.rlim_max;
        setrlimit(RLIMIT_AS, &none);
        /* The C library may have had a block before, and left some to give. */
        void *block = malloc(100);
        free(block); free(0); free(malloc(70000));
        setrlimit(RLIMIT_AS, &usual);
        fill(5); race(4);
        break; }
    }
    return 0;
}
"#;

#[test]
fn the_first_block_may_be_of_any_thread_and_any_call() {
    need!("cc", "musl-gcc");
    let dir = Fixture::new();
    dir.write("beginnings.c", PROGRAM);
    let beside = dir.write("glibc-static.o", glibc_static(HOST).expect("on board").bytes);
    let beside = beside.to_str().expect("a UTF-8 path");
    for (kind, goal) in KINDS.into_iter().flat_map(|kind| [(kind, Goal::Speed), (kind, Goal::Balanced)]) {
        let object = dir.write("malloc.o", linkable(kind, goal, HOST).expect("on board").object.bytes);
        let object = object.to_str().expect("a UTF-8 path");
        let common = ["-O1", "-fno-builtin", "-w", object, "beginnings.c", "-pthread", "-o", "beginnings"];
        let linkages: [(&str, &[&str]); 4] =
            [("musl-gcc", &["-static"]), ("musl-gcc", &[]), ("cc", &[]), ("cc", &["-static-pie", beside])];
        for (compiler, flags) in linkages {
            dir.must(compiler, common.iter().chain(flags));
            for beginning in BEGINNINGS {
                let output = Output::of(dir.command(dir.join("beginnings")).arg(beginning));
                assert_eq!(
                    output.code,
                    Some(0),
                    "{kind:?} {goal} {compiler} {flags:?}, {beginning}: {}",
                    output.stderr
                );
            }
        }
    }
}

/// docs/bench/build.md: its start cost an empty program as much as all the rest.
#[test]
fn a_program_that_asks_for_no_block_does_not_pay_for_mimalloc() {
    need!("musl-gcc", "strace");
    let dir = Fixture::new();
    dir.write("empty.c", "int main(void) { return 0; }");
    dir.write("one.c", "#include <stdlib.h>\nint main(void) { return malloc(100) == 0; }");
    dir.write("malloc.o", linkable(AllocatorKind::Mimalloc, Goal::Balanced, HOST).expect("on board").object.bytes);
    let calls = |source: &str| {
        dir.must("musl-gcc", ["-static", "-O1", "-fno-builtin", "malloc.o", source, "-o", "started"]);
        dir.must("strace", ["-o", "calls", "./started"]);
        std::fs::read_to_string(dir.join("calls")).expect("strace's file")
    };
    let (empty, one) = (calls("empty.c"), calls("one.c"));
    assert!(!empty.contains("mmap") && !empty.contains("open"), "{empty}");
    assert!(one.contains("mmap") && one.contains("overcommit_memory"), "the test sees nothing: {one}");
}

/// Each page that is relocated, or stored to, before `main` is a fault of 1 to 2 us, where all of a start takes 120 (as released
/// mimalloc has three empty heaps of 130 pointers each, and zeros between those of the C library): ten more than without it.
#[test]
fn a_program_that_asks_for_no_block_pays_for_few_pages_of_mimalloc() {
    need!("musl-gcc");
    let dir = Fixture::new();
    dir.write("empty.c", "int main(void) { return 0; }");
    dir.write("malloc.o", linkable(AllocatorKind::Mimalloc, Goal::Balanced, HOST).expect("on board").object.bytes);
    // musl-gcc leaves `-static-pie` to its linker, which would make a PIE that asks for a loader.
    let pie = ["-static", "-nostartfiles", "-Wl,-pie,--no-dynamic-linker,-z,text", "-fPIE", "-O1", "-o"];
    let start = format!("/usr/lib/{HOST}-linux-musl/rcrt1.o");
    let faults = |name: &'static str, objects: &[&str]| {
        dir.must("musl-gcc", pie.into_iter().chain([name, start.as_str()]).chain(objects.iter().copied()));
        faults_of(&dir.join(name))
    };
    let (without, with) = (faults("without", &["empty.c"]), faults("with", &["malloc.o", "empty.c"]));
    assert!(without > 0 && (without..=without + 5).contains(&with), "{without} faults without it, {with} with it");
}

/// The median of the page faults of so many runs: where a program lies by chance makes one more or less.
fn faults_of(program: &Path) -> u64 {
    const RUNS: usize = 101;
    let command = Spawn::new(program.to_owned(), &[program.into()], &[], Streams::default()).expect("no NUL in it");
    let faults_of_one = |_| {
        let run = command.run(&[], Limits::time(Duration::from_secs(60))).expect("it starts");
        assert_eq!(run.end, RunEnd::Exited(0));
        run.usage.minor_faults
    };
    let mut faults: Vec<u64> = (0..RUNS).map(faults_of_one).collect();
    faults.sort_unstable();
    faults[RUNS / 2]
}

/// Where addresses are limited (`ulimit -v`) or promised memory is counted, what is reserved is what is used.
#[test]
fn balanced_reserves_less_than_64_mib_for_a_first_block() {
    need!("musl-gcc", "strace");
    let dir = Fixture::new();
    dir.write("one.c", "#include <stdlib.h>\nint main(void) { return malloc(100) == 0; }");
    dir.write("malloc.o", linkable(AllocatorKind::Mimalloc, Goal::Balanced, HOST).expect("on board").object.bytes);
    dir.must("musl-gcc", ["-static", "-O1", "-fno-builtin", "malloc.o", "one.c", "-o", "one"]);
    dir.must("strace", ["-e", "trace=mmap", "-o", "calls", "./one"]);
    let calls = std::fs::read_to_string(dir.join("calls")).expect("strace's file");
    let lengths = calls.lines().filter_map(|call| call.strip_prefix("mmap(")?.split(", ").nth(1)?.parse::<u64>().ok());
    let sum: u64 = lengths.sum();
    assert!(sum > 1 << 20 && sum < 64 << 20, "{calls}");
}
