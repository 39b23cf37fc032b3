/* Allocation: the eight rows of libc-bench, and pairs of malloc and free. */
#ifndef LIBC_HEAP_H
#define LIBC_HEAP_H

#include <pthread.h>

#include "base.h"

/* libc-bench: 10,000 blocks of 4,000 bytes, 10,000 of 16 to 64 bytes, or 2,000 of 16 to 64 KiB; every 150th block
 * survives in `sparse`; the scattered order of `tiny2` and `big2` is every 57th index, around the table, until it comes
 * to index 0. That is reached after 2,807 and 807 blocks, so the others are never freed. */
enum { PAGES = 10000, PAGE_BYTES = 4000, KEPT = 150, STRIDE = 57 };
enum { TINY = 10000, TINY_UNIT = 16, BIG = 2000, BIG_UNIT = 16384 };

static void fill_pages(void **blocks) {
    for (size_t i = 0; i < PAGES; i++) {
        blocks[i] = block(PAGE_BYTES);
        /* Every byte is written: it is the memory behind the blocks that this is about. */
        HIDE(&memset)(blocks[i], 0, PAGE_BYTES);
    }
}

static void malloc_sparse(uint64_t n) {
    void *blocks[PAGES];
    (void)n;
    fill_pages(blocks);
    for (size_t i = 0; i < PAGES; i++) {
        if (i % KEPT) free(blocks[i]);
    }
    KEEP(blocks);
}

static void malloc_bubble(uint64_t n) {
    void *blocks[PAGES];
    (void)n;
    fill_pages(blocks);
    /* The last block stays, and with it whatever lies below the top of a heap that only grows. */
    for (size_t i = 0; i < PAGES - 1; i++) free(blocks[i]);
    KEEP(blocks);
}

/* Blocks of one to four units in turn. Nobody writes into them. */
static inline void fill_units(void **blocks, size_t count, size_t unit) {
    for (size_t i = 0; i < count; i++) blocks[i] = block((i % 4 + 1) * unit);
}

static inline void free_scattered(void **blocks, size_t count) {
    for (size_t i = 1; i != 0; i = (i + STRIDE) % count) free(blocks[i]);
    KEEP(blocks);
}

static void malloc_tiny1(uint64_t n) {
    void *blocks[TINY];
    (void)n;
    fill_units(blocks, TINY, TINY_UNIT);
    for (size_t i = 0; i < TINY; i++) free(blocks[i]);
}

static void malloc_tiny2(uint64_t n) {
    void *blocks[TINY];
    (void)n;
    fill_units(blocks, TINY, TINY_UNIT);
    free_scattered(blocks, TINY);
}

static void malloc_big1(uint64_t n) {
    void *blocks[BIG];
    (void)n;
    fill_units(blocks, BIG, BIG_UNIT);
    for (size_t i = 0; i < BIG; i++) free(blocks[i]);
}

static void malloc_big2(uint64_t n) {
    void *blocks[BIG];
    (void)n;
    fill_units(blocks, BIG, BIG_UNIT);
    free_scattered(blocks, BIG);
}

/* Two threads take blocks out of a table of slots, free them, and fill empty slots (libc-bench: 100,000 rounds each,
 * 300 slots with a lock of their own, blocks below 500 bytes). */
enum { STRESS_ROUNDS = 100000, SLOTS = 300, STRESS_BYTES = 500 };

struct slot {
    pthread_mutex_t lock;
    void *content;
};

struct stressor {
    struct slot *slots;
    uint32_t random;
};

/* The generator in the C standard's example of rand(), all of its 32 bits. Two numbers are drawn in every round, so a
 * slot's index keeps the parity that the seed gives it: half the slots are used, as in libc-bench, whose seed is the
 * address of the thread. */
static uint32_t draw(uint32_t *state) {
    *state = *state * 1103515245u + 12345u;
    return *state;
}

static void *stress(void *argument) {
    struct stressor *const me = argument;
    uint32_t state = me->random;
    for (int round = 0; round < STRESS_ROUNDS; round++) {
        struct slot *const slot = &me->slots[draw(&state) % SLOTS];
        const size_t size = draw(&state) % STRESS_BYTES;
        pthread_mutex_lock(&slot->lock);
        void *mine = slot->content;
        slot->content = NULL;
        pthread_mutex_unlock(&slot->lock);
        const int was_empty = mine == NULL;
        free(mine);
        if (!was_empty) continue;
        mine = block(size);
        pthread_mutex_lock(&slot->lock);
        /* The other thread may have filled it meanwhile. */
        if (!slot->content) {
            slot->content = mine;
            mine = NULL;
        }
        pthread_mutex_unlock(&slot->lock);
        free(mine);
    }
    return NULL;
}

static void run_stress(struct slot *first, struct slot *second) {
    /* Seeds like the addresses of two threads: equal in their low bits. */
    struct stressor one = {first, 0x1a2b36c0u}, other = {second, 0x5d4e26c0u};
    pthread_t threads[2];
    deadline();
    if (pthread_create(&threads[0], NULL, stress, &one) || pthread_create(&threads[1], NULL, stress, &other)) {
        fail("pthread_create failed: a limit on processes or on memory?");
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

static void malloc_thread_stress(uint64_t n) {
    struct slot slots[SLOTS];
    (void)n;
    for (size_t i = 0; i < SLOTS; i++) slots[i] = (struct slot){.lock = PTHREAD_MUTEX_INITIALIZER};
    run_stress(slots, slots);
}

static void malloc_thread_local(uint64_t n) {
    struct slot slots[2][SLOTS];
    (void)n;
    for (size_t i = 0; i < SLOTS; i++) {
        slots[0][i] = slots[1][i] = (struct slot){.lock = PTHREAD_MUTEX_INITIALIZER};
    }
    run_stress(slots[0], slots[1]);
}

/* A block and its end, the first byte written, in a heap with others of its size: an empty heap would show how eagerly
 * pages are given back to the kernel, and malloc-bubble shows that already. */
static void malloc_free(uint64_t n, size_t size) {
    static char *neighbours[32];
    for (size_t i = 0; i < COUNT(neighbours); i++) {
        if (!neighbours[i]) neighbours[i] = block(size);
    }
    for (; n; n--) {
        char *const memory = block(HIDE(size));
        *memory = 1;
        KEEP(memory);
        free(memory);
    }
}
WITH(malloc_free_16, malloc_free, 16)
WITH(malloc_free_256, malloc_free, 256)
WITH(malloc_free_4k, malloc_free, 4096)
WITH(malloc_free_16k, malloc_free, 16384)
WITH(malloc_free_64k, malloc_free, 65536)

#endif
