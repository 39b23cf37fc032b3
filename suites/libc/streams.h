/* Streams and regular expressions: the two rows of putc and getc and the three of regex of libc-bench, and lines. */
#ifndef LIBC_STREAMS_H
#define LIBC_STREAMS_H

#include <regex.h>

#include "base.h"

/* libc-bench: five million characters written, then read. */
enum { STREAM_BYTES = 5000000 };

static void check_stream(FILE *file, uint64_t n, uint64_t sum) {
    if (ferror(file) || sum != n * 'x') fail("the scratch file did not keep what was written: %s", strerror(errno));
    fclose(file);
}

static void rewind_stream(FILE *file) {
    if (fseeko(file, 0, SEEK_SET) != 0) fail("fseeko: %s", strerror(errno));
}

static void put_get(uint64_t n) {
    FILE *const file = scratch_file();
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) putc('x', file);
    rewind_stream(file);
    for (uint64_t i = 0; i < n; i++) sum += (uint64_t)getc(file);
    check_stream(file, n, sum);
}

static void put_get_unlocked(uint64_t n) {
    FILE *const file = scratch_file();
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) putc_unlocked('x', file);
    rewind_stream(file);
    for (uint64_t i = 0; i < n; i++) sum += (uint64_t)getc_unlocked(file);
    check_stream(file, n, sum);
}

static FILE *stream;
static void prepare_null(void) {
    stream = fopen("/dev/null", "w");
    if (!stream) fail("/dev/null: %s", strerror(errno));
}

/* A line of a log: formatted, then written through the buffer of a stream. */
static void put_lines(uint64_t n) {
    char line[128];
    for (; n; n--) {
        snprintf(line, sizeof line, "%s: request %u took %d us\n", TEXT("worker"), (unsigned)n, HIDE(1234));
        if (fputs(line, stream) == EOF) fail("fputs: %s", strerror(errno));
    }
}

/* 10,000 lines of 20 to 99 characters, 60 on average with the line's end. */
enum { LINES = 10000, SHORTEST_LINE = 20, LINE_RANGE = 80, AVERAGE_LINE = 60 };
static void prepare_lines(void) {
    uint32_t state = 1;
    stream = scratch_file();
    for (size_t i = 0; i < LINES; i++) {
        for (uint32_t left = SHORTEST_LINE + random_number(&state) % LINE_RANGE; left; left--) {
            putc('a' + (int)(left % 26), stream);
        }
        putc('\n', stream);
    }
    rewind_stream(stream);
}

static void get_lines(uint64_t n) {
    char line[128];
    while (n) {
        if (fgets(line, sizeof line, stream)) {
            KEEP(line);
            n--;
        } else if (ferror(stream)) {
            fail("fgets: %s", strerror(errno));
        } else {
            rewind_stream(stream);
        }
    }
}

/* libc-bench: 1,000 compilations; a search through 259,998 letters `a` and a `b`, which both patterns match only at its
 * end. The locale is the environment's: in UTF-8 glibc's regex takes another path. */
enum { COMPILATIONS = 1000, REGEX_BYTES = 260000 };

static void compile(regex_t *regex, const char *pattern) {
    const int error = regcomp(regex, HIDE(pattern), REG_EXTENDED);
    if (error) fail("regcomp refuses %s: error %d", pattern, error);
}

static void regex_compile(uint64_t n) {
    regex_t regex;
    setlocale(LC_CTYPE, "");
    for (; n; n--) {
        compile(&regex, "(a|b|c)*d*b");
        KEEP(&regex);
        regfree(&regex);
    }
}

/* One compilation and one search, in which the library is not asked where the match is. */
static void search_pattern(uint64_t n, const char *pattern) {
    char text[REGEX_BYTES];
    regex_t regex;
    (void)n;
    setlocale(LC_CTYPE, "");
    memset(text, 'a', sizeof text - 2);
    memcpy(text + sizeof text - 2, "b", 2);
    compile(&regex, pattern);
    const int error = regexec(&regex, HIDE((const char *)text), 0, NULL, 0);
    if (error) fail("regexec finds no match for %s: error %d", pattern, error);
    regfree(&regex);
}
WITH(regex_search_1, search_pattern, "(a|b|c)*d*b")
WITH(regex_search_2, search_pattern, "a{25}b")

#endif
