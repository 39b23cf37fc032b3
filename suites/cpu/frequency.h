/* The frequency of the processor that this thread runs on: the rate of additions each of which needs the one before.
 * They take a cycle each on every x86-64 and aarch64 processor. Both operands are registers: an addition of a
 * constant is computed ahead, and costs nothing, on some. */
#ifndef SUITES_CPU_FREQUENCY_H
#define SUITES_CPU_FREQUENCY_H

#include "../common/row.h"

enum { ADDITIONS = 64, ADDITION_ROUNDS = 256, FREQUENCY_TRIES = 3 };

#define ADD_4(add) add add add add
#define ADD_64(add) ADD_4(ADD_4(ADD_4(add)))

/* In MHz, of the fastest of a few tries; 0 if it cannot be measured. Takes some 15 us. */
static double frequency_now(void) {
#if defined __x86_64__ || defined __aarch64__
    uint64_t least = UINT64_MAX;
    for (int try = 0; try < FREQUENCY_TRIES; try++) {
        uint64_t sum = 0;
        const uint64_t one = HIDE((uint64_t)1), begun = now_ns();
        for (int i = 0; i < ADDITION_ROUNDS; i++) {
#ifdef __x86_64__
            __asm__ volatile(ADD_64("addq %1, %0\n\t") : "+r"(sum) : "r"(one) : "cc");
#else
            __asm__ volatile(ADD_64("add %0, %0, %1\n\t") : "+r"(sum) : "r"(one));
#endif
        }
        const uint64_t took = now_ns() - begun;
        if (sum != ADDITIONS * ADDITION_ROUNDS) return 0;
        if (took < least) least = took;
    }
    const double mhz = least ? ADDITIONS * ADDITION_ROUNDS * 1e3 / (double)least : 0;
    return mhz > 10 && mhz < 20000 ? mhz : 0;
#else
    return 0;
#endif
}

#endif
