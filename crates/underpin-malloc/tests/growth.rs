//! How mimalloc, linked in, grows a large block: it keeps what is in it, and is not copied each time. Told by what the program
//! finds in its blocks and by the kernel's count of page faults.

use underpin_malloc::{AllocatorKind, Goal, linkable};
use underpin_test_support::{Fixture, Output, need};

const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
enum { EVERY = 61, SOME = 64 * EVERY, MOST_BLOCKS = 64 };
typedef struct { unsigned char *bytes; size_t size; unsigned number; } Block;
static unsigned char expected(size_t at, unsigned number) { return (at >> 12) * 31 + at / EVERY + number; }
static void check(const Block *block, size_t every) {
    for (size_t at = 0; at < block->size; at += every) if (block->bytes[at] != expected(at, block->number)) abort();
}
static void resize(Block *block, size_t size) {
    unsigned char *bytes = realloc(block->bytes, size);
    if (!bytes || (size >= 16 && (uintptr_t)bytes % 16)) abort();
    size_t at = (block->size + EVERY - 1) / EVERY * EVERY;
    block->bytes = bytes;
    block->size = block->size < size ? block->size : size;
    check(block, SOME);
    for (; at < size; at += EVERY) bytes[at] = expected(at, block->number);
    block->size = size;
}
static void end(Block *block) {
    check(block, EVERY);
    free(block->bytes);
    block->bytes = NULL;
    block->size = 0;
}
static void side_by_side(Block *blocks, unsigned count, size_t most, size_t step, size_t percent) {
    for (int more = 1; more;) {
        more = 0;
        for (unsigned i = 0; i < count; i++) {
            const size_t size = blocks[i].size + step + blocks[i].size * percent / 100;
            if (blocks[i].size == most) continue;
            resize(&blocks[i], size < most ? size : most);
            more = 1;
        }
    }
    for (unsigned i = 0; i < count; i++) end(&blocks[i]);
}
static long faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Block shared[16];
/* A block grows in one thread and in another, and shrinks, and ends. */
static void *exchanging(void *seed) {
    uint64_t random = 88172645463325252u + (uintptr_t)seed;
    for (int round = 0; round < 400; round++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        Block *const place = &shared[random % 16];
        pthread_mutex_lock(&lock);
        Block block = *place;
        *place = (Block){ .number = (unsigned)round };
        pthread_mutex_unlock(&lock);
        const unsigned what = random >> 32 & 7;
        if (block.size > 24 << 20 || what == 0) end(&block);
        else if (what == 1) resize(&block, block.size / 3 + 1);
        else resize(&block, block.size + (random >> 40 & 7 ? block.size / 4 : block.size) + 50000);
        pthread_mutex_lock(&lock);
        const Block other = *place;
        *place = block;
        pthread_mutex_unlock(&lock);
        block = other;
        end(&block);
    }
    return NULL;
}
/* About as large as some pages are together: a few bytes more need one more, or none. */
static void at_edges(void) {
    for (size_t pages = 1; pages < 300; pages += pages < 64 ? 1 : 32) {
        for (int behind = -5000; behind < 5000; behind += 500) {
            Block block = { .number = (unsigned)pages };
            for (int more = 0; more < 3000; more += 60) resize(&block, (pages << 16) + behind + more);
            end(&block);
        }
    }
}
static void refuse_mremap(void) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = { 4, steps };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) abort();
}
int main(int count, char **words) {
    static Block blocks[MOST_BLOCKS];
    unsigned many, rounds;
    size_t most, step, percent;
    for (unsigned i = 0; i < MOST_BLOCKS; i++) blocks[i].number = i;
    if (sscanf(words[1], "%u to %zu by %zu and %zu percent, %u times", &many, &most, &step, &percent, &rounds) == 5) {
        const long before = faults();
        for (unsigned round = 0; round < rounds; round++) side_by_side(blocks, many, most, step, percent);
        printf("%ld\n", (faults() - before) * 409600 / (long)(most * many * rounds));
        return 0;
    }
    if (!strcmp(words[1], "threads")) {
        pthread_t threads[8];
        for (uintptr_t i = 0; i < 8; i++) if (pthread_create(&threads[i], 0, exchanging, (void *)i)) abort();
        for (int i = 0; i < 8; i++) pthread_join(threads[i], 0);
        return 0;
    }
    if (!strcmp(words[1], "peak")) {
        struct rusage usage;
        side_by_side(blocks, 1, 64 << 20, 65536, 0);
        getrusage(RUSAGE_SELF, &usage);
        printf("%ld\n", usage.ru_maxrss * 100 / (64 << 10));
        return 0;
    }
    if (!strcmp(words[1], "edges")) {
        at_edges();
        return 0;
    }
    if (!strcmp(words[1], "refused")) refuse_mremap();
    /* Beyond any arena, and side by side, so that each has to move. */
    const long before = faults();
    for (size_t size = 40 << 20; size < 200 << 20; size += 30 << 20) {
        for (int i = 0; i < 2; i++) {
            resize(&blocks[i], size);
            unsigned char *const middle = blocks[i].bytes + size / 2;
            /* Each mapping can be left out of a core file or not: it is two then, or three. */
            if (!strcmp(words[1], "split") && madvise(middle - (uintptr_t)middle % 4096, 4096, MADV_DONTDUMP)) abort();
        }
    }
    printf("%ld\n", (faults() - before) * 409600 / (long)(2 * blocks[0].size));
    for (int i = 0; i < 2; i++) end(&blocks[i]);
    return 0;
}
"#;

fn build(dir: &Fixture, goal: Goal) {
    dir.write("growth.c", PROGRAM);
    dir.write(
        "malloc.o",
        linkable(AllocatorKind::Mimalloc, goal, std::env::consts::ARCH).expect("on board").object.bytes,
    );
    dir.must(
        "musl-gcc",
        [
            "-static",
            "-O1",
            "-fno-builtin",
            "-w",
            "-idirafter",
            "/usr/include",
            "-idirafter",
            &format!("/usr/include/{}-linux-gnu", std::env::consts::ARCH),
            "malloc.o",
            "growth.c",
            "-pthread",
            "-o",
            "growth",
        ],
    );
}

fn run(dir: &Fixture, what: &str) -> String {
    let output = Output::of(dir.command(dir.join("growth")).arg(what));
    assert_eq!(output.code, Some(0), "{what}: {}", output.stderr);
    output.stdout
}

/// What the program prints, in percent of the pages that are stored to: page faults, or the pages that are there at most.
fn percent(dir: &Fixture, what: &str) -> u64 {
    run(dir, what).trim().parse().expect("a figure")
}

/// By doubling, by eighths, by half, and in steps.
const GROWTHS: [&str; 4] =
    ["4096 and 100 percent", "4096 and 12 percent", "4096 and 50 percent", "65536 and 0 percent"];

#[test]
fn a_block_that_grows_keeps_its_bytes_and_most_of_its_pages() {
    need!("musl-gcc");
    let dir = Fixture::new();
    for goal in [Goal::Speed, Goal::Balanced] {
        build(&dir, goal);
        for growth in GROWTHS {
            for (blocks, most, limit) in [(1, 64 << 20, 160), (1, 3 << 20, 160), (2, 40 << 20, 170), (16, 6 << 20, 220)]
            {
                let what = format!("{blocks} to {most} by {growth}, 1 times");
                let faults = percent(&dir, &what);
                assert!(faults < limit, "{goal}: {what}: {faults} percent");
            }
        }
    }
}

#[test]
fn a_block_that_grows_and_is_freed_again_and_again_keeps_its_pages() {
    need!("musl-gcc");
    let dir = Fixture::new();
    for goal in [Goal::Speed, Goal::Balanced] {
        build(&dir, goal);
        for growth in GROWTHS {
            for most in [300_000, 1_500_000, 3_000_000, 12_000_000, 24_000_000] {
                let what = format!("1 to {most} by {growth}, 40 times");
                let faults = percent(&dir, &what);
                assert!(faults < 20, "{goal}: {what}: {faults} percent");
            }
        }
    }
}

#[test]
fn balanced_has_no_large_block_twice_when_it_grows() {
    need!("musl-gcc");
    let dir = Fixture::new();
    build(&dir, Goal::Balanced);
    let peak = percent(&dir, "peak");
    assert!(peak < 110, "{peak} percent");
}

#[test]
fn a_block_grows_by_a_little_across_the_end_of_what_it_has() {
    need!("musl-gcc");
    let dir = Fixture::new();
    for goal in [Goal::Speed, Goal::Balanced] {
        build(&dir, goal);
        run(&dir, "edges");
    }
}

#[test]
fn a_block_grows_in_one_thread_and_in_another() {
    need!("musl-gcc");
    let dir = Fixture::new();
    for goal in [Goal::Speed, Goal::Balanced] {
        build(&dir, goal);
        run(&dir, "threads");
    }
}

/// A sandbox may refuse mremap, and the kernel moves one mapping at a time.
#[test]
fn what_the_kernel_does_not_move_is_copied() {
    need!("musl-gcc");
    let dir = Fixture::new();
    for goal in [Goal::Speed, Goal::Balanced] {
        build(&dir, goal);
        let moved = percent(&dir, "whole");
        assert!(moved < 130, "{goal}: {moved} percent");
        run(&dir, "split");
        run(&dir, "refused");
    }
}
