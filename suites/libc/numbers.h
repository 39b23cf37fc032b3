/* Numbers: their text, sorting, and functions of libm. */
#ifndef LIBC_NUMBERS_H
#define LIBC_NUMBERS_H

#include <math.h>

#include "base.h"

/* Arguments in no order; a power of two of them, so that the next one costs nothing to find. */
enum { ARGUMENTS = 1024, DIGITS = 32 };
static double *doubles, *exponents;
static int *integers;
static char (*texts)[DIGITS];

/* From 0 up to 1. */
static double random_fraction(uint32_t *state) {
    return random_number(state) / 4294967296.0;
}

static void prepare_doubles(double from, double to) {
    uint32_t state = 1;
    doubles = block(ARGUMENTS * sizeof *doubles);
    exponents = block(ARGUMENTS * sizeof *exponents);
    for (size_t i = 0; i < ARGUMENTS; i++) {
        doubles[i] = from + (to - from) * random_fraction(&state);
        exponents[i] = -5 + 10 * random_fraction(&state);
    }
}

static void prepare_integers(void) {
    uint32_t state = 1;
    integers = block(ARGUMENTS * sizeof *integers);
    /* As many short numbers as long ones. */
    for (size_t i = 0; i < ARGUMENTS; i++) integers[i] = (int)(random_number(&state) >> (i % 31)) * (i % 2 ? -1 : 1);
}

/* Seventeen digits, as a program writes a number that is to come back as it was, over 40 powers of ten. */
static void prepare_double_texts(void) {
    prepare_doubles(0, 1);
    texts = block(ARGUMENTS * sizeof *texts);
    for (size_t i = 0; i < ARGUMENTS; i++) snprintf(texts[i], DIGITS, "%.16ge%d", doubles[i], (int)(i % 40) - 20);
}

static void prepare_integer_texts(void) {
    prepare_integers();
    texts = block(ARGUMENTS * sizeof *texts);
    for (size_t i = 0; i < ARGUMENTS; i++) snprintf(texts[i], DIGITS, "%d", integers[i]);
}

static void prepare_printed_doubles(void) {
    prepare_doubles(-1e6, 1e6);
}

static void print_int(uint64_t n) {
    char text[64];
    for (; n; n--) KEEP(snprintf(text, HIDE(sizeof text), TEXT("%d"), integers[n % ARGUMENTS]));
}

static void print_string(uint64_t n) {
    char text[64];
    for (; n; n--) KEEP(snprintf(text, HIDE(sizeof text), TEXT("%s"), TEXT("a string of 24 characters")));
}

static void print_double(uint64_t n) {
    char text[64];
    for (; n; n--) KEEP(snprintf(text, HIDE(sizeof text), TEXT("%g"), doubles[n % ARGUMENTS]));
}

static void print_exact(uint64_t n) {
    char text[64];
    for (; n; n--) KEEP(snprintf(text, HIDE(sizeof text), TEXT("%.17g"), doubles[n % ARGUMENTS]));
}

static void parse_double(uint64_t n) {
    double sum = 0;
    for (; n; n--) sum += HIDE(&strtod)(texts[n % ARGUMENTS], NULL);
    KEEP(sum);
}

static void parse_long(uint64_t n) {
    long sum = 0;
    for (; n; n--) sum ^= HIDE(&strtol)(texts[n % ARGUMENTS], NULL, HIDE(10));
    KEEP(sum);
}

enum { SORTED = 10000, SORTED_CHARACTERS = 16 };
static int *unsorted_ints, *sorted_ints;
static char **unsorted_strings, **sorted_strings;

static void prepare_sorting(void) {
    uint32_t state = 1;
    unsorted_ints = block(SORTED * sizeof *unsorted_ints);
    sorted_ints = block(SORTED * sizeof *sorted_ints);
    unsorted_strings = block(SORTED * sizeof *unsorted_strings);
    sorted_strings = block(SORTED * sizeof *sorted_strings);
    char *characters = block(SORTED * SORTED_CHARACTERS);
    for (size_t i = 0; i < SORTED; i++, characters += SORTED_CHARACTERS) {
        unsorted_ints[i] = (int)random_number(&state);
        /* Six characters are shared, as in names of files or of symbols. */
        snprintf(characters, SORTED_CHARACTERS, "order-%08" PRIx32, random_number(&state));
        unsorted_strings[i] = characters;
    }
}

static int compare_ints(const void *left, const void *right) {
    const int a = *(const int *)left, b = *(const int *)right;
    return (a > b) - (a < b);
}

static int compare_names(const void *left, const void *right) {
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void sort_ints(uint64_t n) {
    for (; n; n--) {
        memcpy(sorted_ints, unsorted_ints, SORTED * sizeof *sorted_ints);
        HIDE(&qsort)(sorted_ints, SORTED, sizeof *sorted_ints, compare_ints);
        if (sorted_ints[0] > sorted_ints[SORTED - 1]) fail("qsort is wrong");
    }
}

static void sort_strings(uint64_t n) {
    for (; n; n--) {
        memcpy(sorted_strings, unsorted_strings, SORTED * sizeof *sorted_strings);
        HIDE(&qsort)(sorted_strings, SORTED, sizeof *sorted_strings, compare_names);
        if (strcmp(sorted_strings[0], sorted_strings[SORTED - 1]) > 0) fail("qsort is wrong");
    }
}

static void prepare_sin(void) {
    prepare_doubles(-100, 100);
}

static void prepare_exp(void) {
    prepare_doubles(-10, 10);
}

static void prepare_log(void) {
    prepare_doubles(1e-3, 1e6);
}

static void prepare_pow(void) {
    prepare_doubles(0.1, 10);
}

static void apply(uint64_t n, double (*function)(double)) {
    double sum = 0;
    for (; n; n--) sum += function(doubles[n % ARGUMENTS]);
    KEEP(sum);
}
WITH(math_sin, apply, HIDE(&sin))
WITH(math_exp, apply, HIDE(&exp))
WITH(math_log, apply, HIDE(&log))

static void math_pow(uint64_t n) {
    double (*const function)(double, double) = HIDE(&pow);
    double sum = 0;
    for (; n; n--) sum += function(doubles[n % ARGUMENTS], exponents[n % ARGUMENTS]);
    KEEP(sum);
}

#endif
