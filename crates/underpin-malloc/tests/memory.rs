//! What mimalloc, linked in, keeps of freed memory and what it gives back. Told by the kernel's calls and figures; the
//! delay after which memory goes back is set so that time decides nothing.

use std::path::Path;
use underpin_malloc::{AllocatorKind, Goal, linkable};
use underpin_test_support::{Fixture, Output, need};

const HOST: &str = std::env::consts::ARCH;

const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *filled(size_t size, int with) {
    void *block = malloc(size);
    if (!block) abort();
    return memset(block, with, size);
}
/* The figure is read into a buffer of the stack, by calls that allocate nothing. */
static long dirty_kib(void) {
    static char text[4096];
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    long kib = -1;
    while (fgets(text, sizeof text, file)) if (sscanf(text, "Private_Dirty: %ld", &kib) == 1) break;
    fclose(file);
    return kib;
}
/* Of the mappings without a file. */
static long accessible_kib(void) {
    static char line[4096];
    FILE *file = fopen("/proc/self/maps", "r");
    unsigned long sum = 0, from, to, inode;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "%lx-%lx rw-p %*s %*s %lu", &from, &to, &inode) == 3 && !inode) sum += to - from;
    fclose(file);
    return sum >> 10;
}
static void many_large(void **blocks) {
    for (int i = 0; i < 2000; i++) blocks[i] = filled((i % 4 + 1) * 16384, i);
    for (int i = 0; i < 2000; i++) {
        const unsigned char *block = blocks[i];
        for (int at = 0; at < (i % 4 + 1) * 16384; at += 97) if (block[at] != (unsigned char)i) abort();
        free(blocks[i]);
    }
}
static void beside_full_pages(size_t size) {
    static char *neighbours[32];
    for (int i = 0; i < 32; i++) neighbours[i] = filled(size, i);
    for (int i = 0; i < 1000; i++) free(filled(size, i));
    for (int i = 0; i < 32; i++) if (neighbours[i][size - 1] != i) abort();
}
static void *any_sizes(void *number) {
    enum { BLOCKS = 600 };
    unsigned char *kept[BLOCKS] = { 0 };
    size_t sizes[BLOCKS];
    uint32_t random = 7 + (uint32_t)(uintptr_t)number;
    for (int round = 0; round < 60000; round++) {
        random = random * 1103515245u + 12345u;
        const unsigned at = (random >> 8) % BLOCKS;
        if (kept[at]) {
            for (size_t i = 0; i < sizes[at]; i += 97) if (kept[at][i] != (unsigned char)at) abort();
            free(kept[at]);
            kept[at] = NULL;
        } else {
            sizes[at] = 1 + (random >> 4) % (at % 20 ? 9000 : 400000);
            kept[at] = filled(sizes[at], (unsigned char)at);
        }
        /* All at once, so that much is free. */
        if (round % 5000 == 4999) for (int i = 0; i < BLOCKS; i++) { free(kept[i]); kept[i] = NULL; }
    }
    for (int i = 0; i < BLOCKS; i++) free(kept[i]);
    return NULL;
}
/* At how many different lines of their pages 64 blocks of a size begin. */
static int places(size_t size) {
    enum { BLOCKS = 64 };
    unsigned char *blocks[BLOCKS];
    uint64_t lines = 0;
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = filled(size, i);
        lines |= (uint64_t)1 << (uintptr_t)blocks[i] / 64 % 64;
    }
    for (int i = 0; i < BLOCKS; i++) {
        for (size_t at = 0; at < size; at += 97) if (blocks[i][at] != i) abort();
        free(blocks[i]);
    }
    return __builtin_popcountll(lines);
}
static void aligned_as_asked(size_t size) {
    enum { BLOCKS = 20 };
    for (size_t alignment = 16; alignment <= 1 << 20; alignment *= 2) {
        unsigned char *blocks[BLOCKS];
        for (int i = 0; i < BLOCKS; i++) {
            if (posix_memalign((void **)&blocks[i], alignment, size) || (uintptr_t)blocks[i] % alignment) abort();
            memset(blocks[i], i, size);
        }
        for (int i = 0; i < BLOCKS; i++) {
            unsigned char *larger = realloc(blocks[i], size + size / 2);
            if (!larger || larger[0] != i || larger[size - 1] != i) abort();
            free(larger);
        }
    }
}
/* So many blocks of these sizes, each replaced in turn or at random; what is dirty at the end, in percent of what is in use. */
static long replaced(size_t least, size_t most, unsigned count, int at_random, void **blocks) {
    static size_t sizes[256];
    uint64_t random = 88172645463325252u;
    size_t in_use = 0;
    for (unsigned i = 0; i < 4000; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        const unsigned at = i < count ? i : at_random ? random >> 40 & 255 : i;
        const unsigned which = at % count;
        free(blocks[which]);
        in_use -= sizes[which];
        sizes[which] = least + random % (most - least + 1);
        in_use += sizes[which];
        unsigned char *block = blocks[which] = malloc(sizes[which]);
        for (size_t byte = 0; byte < sizes[which]; byte += 4096) block[byte] = 1;
    }
    return dirty_kib() * 102400 / (long)in_use;
}
int main(int count, char **words) {
    static void *blocks[10000];
    size_t least, most;
    unsigned many;
    char order;
    if (sscanf(words[1], "%c %zu %zu %u", &order, &least, &most, &many) == 4) {
        printf("%ld\n", replaced(least, most, many, order == 'r', blocks));
        return 0;
    }
    switch (words[1][0]) {
    case 'p': for (size_t size = 16384; size <= 4 << 20; size *= 2) {
                  for (int less = 0; less < 2; less++) {
                      aligned_as_asked(size - 100 * less);
                      printf("%d\n", places(size - 100 * less));
                  }
              }
              return 0;
    case 'o': beside_full_pages(4096); beside_full_pages(16384); break;
    case 'l': for (int i = 0; i < 2000; i++) blocks[i] = filled((i % 4 + 1) * 16384, i);
              for (int i = 0; i < 2000; i++) free(blocks[i]);
              break;
    case 'a': for (int i = 0; i < 3; i++) many_large(blocks);
              printf("%ld\n", accessible_kib());
              return 0;
    case 's': for (int i = 0; i < 10000; i++) blocks[i] = filled(4000, i);
              for (int i = 0; i < 9999; i++) free(blocks[i]);
              if (words[1][1] != 'o') break;
              /* Longer than the delay; then some work. */
              usleep(50000);
              for (int i = 0; i < 9999; i++) blocks[i] = filled(100, i);
              for (int i = 0; i < 9999; i++) free(blocks[i]);
              break;
    case 'i': for (int i = 0; i < 200; i++) free(filled(4 << 20, i)); break;
    case 't': {
        pthread_t threads[8];
        for (uintptr_t i = 0; i < 8; i++) if (pthread_create(&threads[i], 0, any_sizes, (void *)i)) abort();
        for (int i = 0; i < 8; i++) pthread_join(threads[i], 0);
        break; }
    }
    printf("%ld\n", dirty_kib());
}
"#;

fn build(dir: &Fixture, goal: Goal) {
    dir.write("memory.c", PROGRAM);
    dir.write("malloc.o", linkable(AllocatorKind::Mimalloc, goal, HOST).expect("on board").object.bytes);
    dir.must("musl-gcc", ["-static", "-O1", "-fno-builtin", "-w", "malloc.o", "memory.c", "-pthread", "-o", "memory"]);
}

/// KiB that the program has written to and not given back, at its end; or what else it prints.
fn dirty(dir: &Fixture, what: &str, delay: &str) -> u64 {
    let output = Output::of(dir.command(dir.join("memory")).arg(what).env("MIMALLOC_PURGE_DELAY", delay));
    assert_eq!(output.code, Some(0), "{what}: {}", output.stderr);
    output.stdout.trim().parse().expect("a figure")
}

/// What the program asks the kernel about its memory, a call on a line.
fn calls(dir: &Fixture, what: &str, delay: &str) -> String {
    let mut command = dir.command("strace");
    command.args(["-f", "-e", "trace=mmap,madvise,munmap", "-o", "calls"]).arg(dir.join("memory")).arg(what);
    let output = Output::of(command.env("MIMALLOC_PURGE_DELAY", delay));
    assert_eq!(output.code, Some(0), "{what}: {}", output.stderr);
    std::fs::read_to_string(Path::new(&dir.join("calls"))).expect("strace's file")
}

/// How often memory was given back.
fn gifts(dir: &Fixture, what: &str, delay: &str) -> usize {
    let calls = calls(dir, what, delay);
    calls.lines().filter(|line| line.contains("MADV_DONTNEED") || line.contains("munmap(")).count()
}

/// A delay of 0 makes every page that is freed visible as a call.
#[test]
fn a_block_that_comes_and_goes_beside_full_pages_frees_no_page_each_time() {
    need!("musl-gcc", "strace");
    let dir = Fixture::new();
    for goal in [Goal::Speed, Goal::Balanced] {
        build(&dir, goal);
        let calls = gifts(&dir, "one block, a thousand times", "0");
        assert!(calls < 100, "{goal}: {calls}");
    }
}

/// A delay that never ends: what goes back goes back at once.
const NEVER: &str = "1000000";

#[test]
fn balanced_gives_much_freed_memory_back_at_once() {
    need!("musl-gcc");
    let dir = Fixture::new();
    build(&dir, Goal::Balanced);
    let large = dirty(&dir, "large blocks, 80 MB of them", NEVER);
    assert!(large < 4 << 10, "{large}");
    let small = dirty(&dir, "small blocks, 40 MB of them", NEVER);
    assert!(small < 37 << 10, "of small blocks a part: {small}");
    let later = dirty(&dir, "so many, and then work on few", "10");
    assert!(later < 4 << 10, "and the rest as the program goes on: {later}");
    let none = dirty(&dir, "large blocks, 80 MB of them", "-1");
    assert!(none > 60 << 10, "a user who wants none of it gets none of it: {none}");
}

/// Blocks that all begin at one place would share a few sets of the processor's cache. Those of one of mimalloc's pages do: of
/// some sizes 31 fit into one, so that 64 blocks are in three.
#[test]
fn large_blocks_begin_at_different_places_and_are_aligned_as_asked() {
    need!("musl-gcc");
    let dir = Fixture::new();
    for goal in [Goal::Speed, Goal::Balanced] {
        build(&dir, goal);
        let output = Output::of(dir.command(dir.join("memory")).arg("places"));
        assert_eq!(output.code, Some(0), "{goal}: {}", output.stderr);
        let places: Vec<u32> = output.stdout.lines().map(|line| line.parse().expect("a number")).collect();
        assert_eq!(places.len(), 18, "{goal}");
        assert!(places.iter().all(|&places| places >= 3), "{goal}: {places:?}");
    }
}

/// The first block of a small program would be a huge page.
#[test]
fn speed_asks_for_huge_pages_beyond_16_mib_of_heap_and_balanced_for_none() {
    need!("musl-gcc", "strace");
    let dir = Fixture::new();
    build(&dir, Goal::Balanced);
    let balanced = calls(&dir, "large blocks, 80 MB of them", NEVER);
    assert!(balanced.contains("MADV_NOHUGEPAGE") && !balanced.contains("MADV_HUGEPAGE"), "{balanced}");
    build(&dir, Goal::Speed);
    let speed = calls(&dir, "large blocks, 80 MB of them", NEVER);
    let address = |digits: &str| u64::from_str_radix(digits.trim().trim_start_matches("0x"), 16).unwrap();
    let arena = speed.lines().find(|line| line.contains("mmap(") && line.contains(" 134217728,")).expect(&speed);
    let start = address(arena.rsplit(" = ").next().unwrap());
    let asked = speed.lines().find(|line| line.contains("MADV_HUGEPAGE")).expect(&speed);
    let mut words = asked.split_once("madvise(").unwrap().1.split(", ");
    assert_eq!(words.next().map(address), Some(start + (16 << 20)), "{arena}{asked}");
    assert_eq!(words.next(), Some("117440512"), "{asked}");
}

/// 80 MB lie in three times 32 MiB of addresses.
#[test]
fn balanced_keeps_few_addresses_accessible_when_much_is_free() {
    need!("musl-gcc");
    let dir = Fixture::new();
    build(&dir, Goal::Balanced);
    let accessible = dirty(&dir, "accessible after large blocks, three times", NEVER);
    assert!(accessible < 48 << 10, "{accessible}");
    build(&dir, Goal::Speed);
    let accessible = dirty(&dir, "accessible after large blocks, three times", NEVER);
    assert!(accessible > 80 << 10, "with the goal of speed all stays as it is: {accessible}");
}

#[test]
fn balanced_keeps_a_large_block_that_is_taken_and_freed_in_turn() {
    need!("musl-gcc", "strace");
    let dir = Fixture::new();
    build(&dir, Goal::Balanced);
    let calls = gifts(&dir, "in turn", NEVER);
    assert!(calls < 10, "{calls}");
}

/// As many large blocks as a program has in use are replaced one by one, by others of other sizes. Most of its time would be page
/// faults if what is between them went back.
#[test]
fn balanced_keeps_the_gaps_between_large_blocks_and_little_more() {
    need!("musl-gcc", "strace");
    let dir = Fixture::new();
    build(&dir, Goal::Balanced);
    let sizes =
        ["64000 250000", "250000 1000000", "900000 900000", "1048576 1048576", "1000000 4000000", "16000 4000000"];
    for order in ["t", "r"] {
        for sizes in sizes {
            for count in [8, 32, 64] {
                let what = format!("{order} {sizes} {count}");
                // 4000 blocks, and each gift is one of many pages.
                let gifts = gifts(&dir, &what, NEVER);
                assert!(gifts < 800, "{what}: {gifts}");
                let percent = dirty(&dir, &what, NEVER);
                assert!(count == 8 || percent < 300, "{what}: {percent}");
            }
        }
    }
}

#[test]
fn memory_in_use_is_never_given_back() {
    need!("musl-gcc");
    let dir = Fixture::new();
    build(&dir, Goal::Balanced);
    for delay in ["0", "1", "10", NEVER] {
        for _ in 0..5 {
            dirty(&dir, "threads with blocks of all sizes", delay);
        }
    }
}
