/* whetstone: the eight modules of the Whetstone benchmark in double precision, with the weights and the constants of
 * the version that UnixBench runs (Longbottom's of 1996: t = 0.49999975, t1 = 0.50000025, and t is 1 - t in every
 * second outer pass, so that no number becomes too small).
 *
 * One operation is one million Whetstone instructions, so that MWIPS are 1e9 / ns: an outer pass of the original
 * has ten million. Its first module runs ten times there, with a tenth of the time counted; here it runs once.
 *
 * All eight modules run: gcc -O2 finds in the original that module 4 computes the same three numbers for ever, and
 * removes it; here they are hidden, as are the other things that some compiler finds. That costs 5 %.
 */
#ifndef SUITES_SYSTEM_WHETSTONE_H
#define SUITES_SYSTEM_WHETSTONE_H

#include <math.h>

#include "../common/row.h"

/* For one million instructions: ten times the weight. */
enum {
    ARRAY = 120,
    ARRAY_PASSED = 140,
    BRANCHES = 3450,
    INTEGERS = 2100,
    TRIGONOMETRY = 320,
    CALLS = 8990,
    MOVES = 6160,
    FUNCTIONS = 930,
};

#define WHET_T 0.49999975
#define WHET_T1 0.50000025
#define WHET_T2 2.0

/* The value of a number, as far as a compiler can know: anything. Unlike HIDE this says nothing about memory. */
#define WHET_HIDE_INTEGER(number) __asm__("" : "+r"(number))

static double whet_array(uint64_t passes, double e[4]) {
    double t = WHET_T;
    double a = 1, b = -1, c = -1, d = -1;
    for (uint64_t pass = 0; pass < passes; pass++, t = 1 - t) {
        for (long i = 0; i < ARRAY; i++) {
            a = (a + b + c - d) * t;
            b = (a + b - c + d) * t;
            c = (a - b + c + d) * t;
            d = (-a + b + c + d) * t;
        }
    }
    e[0] = a, e[1] = b, e[2] = c, e[3] = d;
    return d;
}

void whet_passed(double e[4], double t, double t2);

/* Weak, so that the array is in memory and the division is one: gcc -O2 keeps this call in the original. */
__attribute__((noinline, weak)) void whet_passed(double e[4], double t, double t2) {
    for (long i = 0; i < 6; i++) {
        e[0] = (e[0] + e[1] + e[2] - e[3]) * t;
        e[1] = (e[0] + e[1] - e[2] + e[3]) * t;
        e[2] = (e[0] - e[1] + e[2] + e[3]) * t;
        e[3] = (-e[0] + e[1] + e[2] + e[3]) / t2;
    }
}

static double whet_array_passed(uint64_t passes, double e[4]) {
    double t = WHET_T;
    for (uint64_t pass = 0; pass < passes; pass++, t = 1 - t) {
        for (long i = 0; i < ARRAY_PASSED; i++) whet_passed(e, t, WHET_T2);
    }
    return e[3];
}

static long whet_branches(uint64_t passes) {
    long j = 1;
    for (uint64_t pass = 0; pass < passes; pass++) {
        for (long i = 0; i < BRANCHES; i++) {
            j = j == 1 ? 2 : 3;
            j = j > 2 ? 0 : 1;
            j = j < 1 ? 1 : 0;
            WHET_HIDE_INTEGER(j);
        }
    }
    return j;
}

static double whet_integers(uint64_t passes, double e[4]) {
    long j = 1, k = 2, l = 3;
    for (uint64_t pass = 0; pass < passes; pass++) {
        for (long i = 0; i < INTEGERS; i++) {
            j = j * (k - j) * (l - k);
            k = l * k - (l - j) * k;
            l = (l - k) * (k + j);
            e[l - 2] = (double)(j + k + l);
            e[k - 2] = (double)(j * k * l);
            WHET_HIDE_INTEGER(j);
        }
    }
    return e[0] + e[1];
}

static double whet_trigonometry(uint64_t passes) {
    double t = WHET_T, x = 0.5, y = 0.5;
    for (uint64_t pass = 0; pass < passes; pass++, t = 1 - t) {
        for (long i = 0; i < TRIGONOMETRY; i++) {
            x = t * atan(WHET_T2 * sin(x) * cos(x) / (cos(x + y) + cos(x - y) - 1));
            y = t * atan(WHET_T2 * sin(y) * cos(y) / (cos(x + y) + cos(x - y) - 1));
        }
    }
    return y;
}

static double whet_calls(uint64_t passes) {
    double x = 1, y = 1, z = 1;
    for (uint64_t pass = 0; pass < passes; pass++) {
        for (long i = 0; i < CALLS; i++) {
            x = WHET_T * (y + z);
            y = WHET_T1 * (x + z);
            z = (x + y) / WHET_T2;
            KEEP(0);
        }
    }
    return z;
}

/* Hidden as a whole number of the same bits. The original takes some 4 cycles for the three moves with gcc -O2,
 * which uses two kinds of registers there and one here: 4 % of the whole. */
static double whet_moves(uint64_t passes) {
    double e[] = {1, 2, 3};
    long j = 0, k = 1, l = 2;
    for (uint64_t pass = 0; pass < passes; pass++) {
        for (long i = 0; i < MOVES; i++) {
            e[j] = e[k];
            e[k] = e[l];
            uint64_t bits;
            memcpy(&bits, &e[j], sizeof bits);
            WHET_HIDE_INTEGER(bits);
            memcpy(&e[l], &bits, sizeof bits);
        }
    }
    return e[2];
}

static double whet_functions(uint64_t passes) {
    double x = 0.75;
    for (uint64_t pass = 0; pass < passes; pass++) {
        for (long i = 0; i < FUNCTIONS; i++) x = sqrt(exp(log(x) / WHET_T1));
    }
    return x;
}

/* The limits are wide: some of the numbers go on changing with the passes, and -ffast-math changes the last digits. */
static void whet_expect(const char *module, double got, double least, double most) {
    if (!(got >= least && got <= most)) fail("whetstone: %s: %.17g, expected %g to %g", module, got, least, most);
}

static void whetstone(uint64_t passes) {
    double e[4];
    whet_expect("array elements", whet_array(passes, e), -1.2, -1);
    whet_expect("array as parameter", whet_array_passed(passes, e), -1.2, -1);
    /* The branches give 1 and 0 in turn, and there is an even number of them. */
    whet_expect("branches", (double)whet_branches(passes), 1, 1);
    whet_expect("integers", whet_integers(passes, e), 12, 12);
    whet_expect("trigonometry", whet_trigonometry(passes), 0.1, 1);
    whet_expect("calls", whet_calls(passes), 0.9, 1.1);
    whet_expect("moves", whet_moves(passes), 3, 3);
    whet_expect("functions", whet_functions(passes), 0.75, 1);
}

#endif
