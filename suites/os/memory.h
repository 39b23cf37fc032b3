/* Memory bandwidths, from table 5 of the seed. Except for the copy by the C library, every 4-byte word is read or
 * written by an access of its own, as lmbench does it without vectors. */
#ifndef SUITES_OS_MEMORY_H
#define SUITES_OS_MEMORY_H

/* Copies move half of it: the other half is where they go (lmbench: half the size for copies). */
enum { COPIED_BYTES = LARGE_BYTES / 2 };

static char *memory_from, *memory_to;

static void before_memory(void) { memory_from = page_aligned(LARGE_BYTES); }

static void before_copy(void) {
    memory_from = page_aligned(COPIED_BYTES);
    memory_to = page_aligned(COPIED_BYTES);
}

static void copy_libc(uint64_t operations) {
    for (uint64_t i = 0; i < operations; i++) {
        memmove(HIDE(memory_to), HIDE(memory_from), HIDE((size_t)COPIED_BYTES));
        KEEP(memory_to);
    }
}

static void copy_by_hand(uint64_t operations) {
    for (uint64_t i = 0; i < operations; i++) {
        const volatile uint32_t *from = (const volatile uint32_t *)(uintptr_t)memory_from;
        volatile uint32_t *to = (volatile uint32_t *)(uintptr_t)memory_to;
        for (size_t words = 0; words < COPIED_BYTES / sizeof *to; words += 16, from += 16, to += 16) {
#define COPY(n) to[n] = from[n];
            EACH_OF_16(COPY)
#undef COPY
        }
    }
}

static void memory_read(uint64_t operations) {
    uint32_t sum = 0;
    for (uint64_t i = 0; i < operations; i++) {
        const volatile uint32_t *from = (const volatile uint32_t *)(uintptr_t)memory_from;
        for (size_t words = 0; words < LARGE_BYTES / sizeof *from; words += 16, from += 16) {
            uint32_t block = 0;
#define ADD(n) ADD_IN_ORDER(block, from[n])
            EACH_OF_16(ADD)
#undef ADD
            sum += block;
        }
    }
    KEEP(sum);
}

static void memory_write(uint64_t operations) {
    for (uint64_t i = 0; i < operations; i++) {
        volatile uint32_t *to = (volatile uint32_t *)(uintptr_t)memory_from;
        for (size_t words = 0; words < LARGE_BYTES / sizeof *to; words += 16, to += 16) {
#define STORE(n) to[n] = 1;
            EACH_OF_16(STORE)
#undef STORE
        }
    }
}

#endif
