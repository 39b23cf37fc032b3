/* The suite `libc`: what a C library does for a program.
 *
 * The first 29 rows do what those of libc-bench do (Rich Felker, 2011): the same operations, sizes, rounds and order,
 * in a process of their own, with the memory that they leave. Its weak points are not taken over: work that a compiler
 * may remove, sums that begin with whatever lay on the stack, seeds that are addresses. After them come rows for what
 * libc-bench leaves out. */
#define _GNU_SOURCE
#include "../common/row.h"

#include "base.h"
#include "bytes.h"
#include "characters.h"
#include "heap.h"
#include "numbers.h"
#include "process.h"
#include "streams.h"
#include "threads.h"

/* name, operations, least ns of one, bytes of one, work */
#define CHILD(name, operations, least_ns, bytes, work) {name, IN_A_CHILD, operations, least_ns, bytes, work, NULL, NULL}
/* name, least ns of one, bytes of one, work, what is prepared */
#define LOOP(name, least_ns, bytes, work, before) {name, IN_A_LOOP, 0, least_ns, bytes, work, before, NULL}

/* The least times follow from the fastest that a core of this decade could do: 5 GHz, four instructions and 64 to 128
 * bytes in a cycle, a call and a return in half a nanosecond, a system call in 50 ns. */
static const struct row rows[] = {
    /* A block: allocated, and freed unless it is to stay. */
    CHILD("malloc-sparse", PAGES, 10, 0, malloc_sparse),
    CHILD("malloc-bubble", PAGES, 10, 0, malloc_bubble),
    CHILD("malloc-tiny1", TINY, 1, 0, malloc_tiny1),
    CHILD("malloc-tiny2", TINY, 0.5, 0, malloc_tiny2),
    CHILD("malloc-big1", BIG, 1, 0, malloc_big1),
    CHILD("malloc-big2", BIG, 0.5, 0, malloc_big2),
    /* A round of either of the two threads. */
    CHILD("malloc-thread-stress", 2 * STRESS_ROUNDS, 1, 0, malloc_thread_stress),
    CHILD("malloc-thread-local", 2 * STRESS_ROUNDS, 1, 0, malloc_thread_local),
    /* A search through 260 kB (the last: 330 kB): for the alphabet; the alphabet from both ends; 14 a and 12 c; 25 a
     * and a c; 32 a and a c. A search may skip, so less than every byte is read. */
    CHILD("strstr-1", SEARCHES, 500, 260000, strstr_1),
    CHILD("strstr-2", SEARCHES, 500, 260000, strstr_2),
    CHILD("strstr-3", SEARCHES, 500, 260000, strstr_3),
    CHILD("strstr-4", SEARCHES, 500, 260000, strstr_4),
    CHILD("strstr-5", SEARCHES, 500, 330000, strstr_5),
    CHILD("memset", LONG_ROUNDS, 700, LONG_BYTES, long_memset),
    CHILD("strchr", LONG_ROUNDS, 700, LONG_BYTES, long_strchr),
    CHILD("strlen", LONG_ROUNDS, 700, LONG_BYTES, long_strlen),
    /* A thread from its start to its end; a lock taken and given back. */
    CHILD("thread-join-serial1", THREADS, 300, 0, join_serial1),
    CHILD("thread-join-serial2", THREADS, 300, 0, join_serial2),
    CHILD("thread-create-serial1", THREADS, 300, 0, create_serial1),
    CHILD("thread-uselesslock", LOCKS, 0.5, 0, useless_lock),
    CHILD("thread-join-minimal1", THREADS, 300, 0, join_minimal1),
    CHILD("thread-join-minimal2", THREADS, 300, 0, join_minimal2),
    /* The whole text at once; a character. */
    CHILD("utf8-bigbuf", TEXT_ROUNDS, 300, CHARACTER_BYTES, utf8_bigbuf),
    CHILD("utf8-onebyone", (uint64_t)CHARACTERS * TEXT_ROUNDS, 0.5, 0, utf8_onebyone),
    /* A character written and read. */
    CHILD("putcgetc", STREAM_BYTES, 0.4, 1, put_get),
    CHILD("putcgetc-unlocked", STREAM_BYTES, 0.3, 1, put_get_unlocked),
    /* A compilation; a compilation and a search through 260 kB. */
    CHILD("regex-compile", COMPILATIONS, 50, 0, regex_compile),
    CHILD("regex-search-1", 1, 800, REGEX_BYTES, regex_search_1),
    CHILD("regex-search-2", 1, 800, REGEX_BYTES, regex_search_2),

    /* The threads once more with 8 MiB of stack on every C library: what glibc uses without being asked. */
    CHILD("thread-join-serial1-8m", THREADS, 300, 0, join_serial1_8m),
    CHILD("thread-join-serial2-8m", THREADS, 300, 0, join_serial2_8m),
    CHILD("thread-create-serial1-8m", THREADS, 300, 0, create_serial1_8m),
    CHILD("thread-join-minimal1-8m", THREADS, 300, 0, join_minimal1_8m),
    CHILD("thread-join-minimal2-8m", THREADS, 300, 0, join_minimal2_8m),
    LOOP("mutex", 0.5, 0, mutex_alone, NULL),
    LOOP("pthread-once", 0.4, 0, once, NULL),
    LOOP("pthread-getspecific", 0.4, 0, specific, prepare_specific),

    /* A block allocated, its first byte written, and freed. */
    LOOP("malloc-free-16", 1, 0, malloc_free_16, NULL),
    LOOP("malloc-free-256", 1, 0, malloc_free_256, NULL),
    LOOP("malloc-free-4k", 1, 0, malloc_free_4k, NULL),
    LOOP("malloc-free-16k", 1, 0, malloc_free_16k, NULL),
    LOOP("malloc-free-64k", 1, 0, malloc_free_64k, NULL),

    /* A call; "mixed" is 0 to 127 bytes in no order, 63 on average. */
    LOOP("memcpy-16", 0.4, 16, memcpy_16, prepare_bytes),
    LOOP("memcpy-256", 0.8, 256, memcpy_256, prepare_bytes),
    LOOP("memcpy-4k", 12, 4096, memcpy_4k, prepare_bytes),
    LOOP("memcpy-64k", 200, 65536, memcpy_64k, prepare_bytes),
    LOOP("memcpy-mixed", 0.4, 0, memcpy_mixed, prepare_bytes),
    LOOP("memmove-16", 0.4, 16, memmove_16, prepare_bytes),
    LOOP("memmove-256", 0.8, 256, memmove_256, prepare_bytes),
    LOOP("memmove-4k", 12, 4096, memmove_4k, prepare_bytes),
    LOOP("memmove-64k", 200, 65536, memmove_64k, prepare_bytes),
    LOOP("memcmp-16", 0.4, 16, memcmp_16, prepare_bytes),
    LOOP("memcmp-256", 0.8, 256, memcmp_256, prepare_bytes),
    LOOP("memcmp-4k", 12, 4096, memcmp_4k, prepare_bytes),
    LOOP("memcmp-64k", 200, 65536, memcmp_64k, prepare_bytes),
    LOOP("strcmp-16", 0.4, 16, strcmp_16, prepare_bytes),
    LOOP("strcmp-256", 0.8, 256, strcmp_256, prepare_bytes),
    LOOP("strcmp-4k", 12, 4096, strcmp_4k, prepare_bytes),
    LOOP("strcmp-mixed", 0.4, 0, strcmp_mixed, prepare_bytes),
    LOOP("strlen-mixed", 0.4, 0, strlen_mixed, prepare_bytes),

    /* A call with one conversion; seventeen digits are "exact". */
    LOOP("snprintf-int", 2, 0, print_int, prepare_integers),
    LOOP("snprintf-string", 2, 0, print_string, NULL),
    LOOP("snprintf-double", 3, 0, print_double, prepare_printed_doubles),
    LOOP("snprintf-exact", 3, 0, print_exact, prepare_printed_doubles),
    LOOP("strtod", 2, 0, parse_double, prepare_double_texts),
    LOOP("strtol", 0.8, 0, parse_long, prepare_integer_texts),
    /* 10,000 elements: 118,458 comparisons at least. */
    LOOP("qsort-int", 20000, 0, sort_ints, prepare_sorting),
    LOOP("qsort-string", 20000, 0, sort_strings, prepare_sorting),
    LOOP("math-sin", 0.5, 0, math_sin, prepare_sin),
    LOOP("math-exp", 0.5, 0, math_exp, prepare_exp),
    LOOP("math-log", 0.5, 0, math_log, prepare_log),
    LOOP("math-pow", 0.5, 0, math_pow, prepare_pow),

    /* 4,000 characters there and back; a conversion opened and closed. */
    LOOP("iconv-utf16", 50, ICONV_BYTES, convert_both_ways, prepare_utf16),
    LOOP("iconv-latin1", 50, ICONV_BYTES, convert_both_ways, prepare_latin1),
    LOOP("iconv-open", 2, 0, open_and_close, NULL),
    /* Both changes; a character read and changed to upper case. */
    LOOP("setlocale", 2, 0, set_locale, prepare_setlocale),
    LOOP("towupper", 0.8, 0, to_upper, prepare_text),

    /* A line formatted and written to /dev/null; a line read. */
    LOOP("fputs-null", 5, 0, put_lines, prepare_null),
    LOOP("fgets", 2, AVERAGE_LINE, get_lines, prepare_lines),

    LOOP("getaddrinfo-localhost", 100, 0, resolve_localhost, prepare_hosts),
    LOOP("getaddrinfo-numeric", 10, 0, resolve_numeric, NULL),
    LOOP("fork-wait", 2000, 0, fork_wait, NULL),
    LOOP("spawn-wait", 5000, 0, spawn_wait, prepare_spawn),
    {"dlopen", IN_A_CHILD, LIBRARIES, 500, 0, load_libraries, prepare_libraries, NULL},
    LOOP("clock-gettime", 1, 0, read_clock, NULL),
    LOOP("getenv", 1, 0, get_environment, prepare_environment),
};

int main(int words, char **word) {
    if (words == 2 && strcmp(word[1], NOTHING_WORD) == 0) return 0;
    return suite_main(words, word, rows, COUNT(rows));
}
