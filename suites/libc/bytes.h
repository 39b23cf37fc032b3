/* Strings and memory: the eight rows of libc-bench over long strings, and the sizes that programs use. Every function
 * is called through a hidden pointer, so that it is the library's and not the compiler's own expansion of it. */
#ifndef LIBC_BYTES_H
#define LIBC_BYTES_H

#include "base.h"

/* libc-bench: 10,000 copies of what is searched, all but the last with a wrong last character; 50 searches. */
enum { COPIES = 10000, SEARCHES = 50 };

static void search(uint64_t n, const char *wanted) {
    const size_t length = strlen(wanted), all = length * COPIES;
    char *const text = block(all + 1);
    for (size_t at = 0; at < all; at += length) {
        memcpy(text + at, wanted, length);
        text[at + length - 1] ^= 1;
    }
    text[all - 1] ^= 1;
    text[all] = '\0';
    for (; n; n--) {
        /* No search may take the answer of the one before. */
        text[0] ^= 1;
        const char *const found = HIDE(&strstr)(text, HIDE(wanted));
        if (found != text + all - length) fail("strstr found the wrong place");
    }
    free(text);
}
WITH(strstr_1, search, "abcdefghijklmnopqrstuvwxyz")
WITH(strstr_2, search, "azbycxdwevfugthsirjqkplomn")
WITH(strstr_3, search, "aaaaaaaaaaaaaacccccccccccc")
WITH(strstr_4, search, "aaaaaaaaaaaaaaaaaaaaaaaaac")
WITH(strstr_5, search, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac")

/* libc-bench: 100 rounds over 500,000 bytes. */
enum { LONG_BYTES = 500000, LONG_ROUNDS = 100 };

/* Shorter by a byte in every round, so that the start has every alignment. */
static void long_memset(uint64_t n) {
    char *const memory = block(LONG_BYTES);
    for (uint64_t i = 0; i < n; i++) {
        HIDE(&memset)(memory + i, (int)i, LONG_BYTES - i);
        KEEP(memory);
    }
    free(memory);
}

/* 499,999 letters, one of which changes in every round. */
static char *long_text(void) {
    char *const text = block(LONG_BYTES);
    memset(text, 'a', LONG_BYTES - 1);
    text[LONG_BYTES - 1] = '\0';
    return text;
}

static void long_strchr(uint64_t n) {
    char *const text = long_text();
    text[LONG_BYTES - 2] = 'b';
    for (uint64_t i = 0; i < n; i++) {
        text[i] = (char)('0' + i % 8);
        if (HIDE(&strchr)(text, HIDE('b')) != text + LONG_BYTES - 2) fail("strchr found the wrong place");
    }
    free(text);
}

static void long_strlen(uint64_t n) {
    char *const text = long_text();
    for (uint64_t i = 0; i < n; i++) {
        text[i] = (char)('0' + i % 8);
        if (HIDE(&strlen)(text) != LONG_BYTES - 1) fail("strlen is wrong");
    }
    free(text);
}

/* Two equal blocks, apart by an odd number of cache lines, and lengths below 128 in no order. */
enum { LARGEST = 65536, APART = LARGEST + 5 * 64, LENGTHS = 1024, LONGEST = 128 };
static char *here, *there;
static unsigned char *lengths;

static void prepare_bytes(void) {
    here = block(2 * APART);
    there = here + APART;
    memset(here, 'x', 2 * APART);
    lengths = block(LENGTHS);
    uint32_t state = 1;
    for (size_t i = 0; i < LENGTHS; i++) lengths[i] = random_number(&state) % LONGEST;
}

/* Both blocks become strings of so many characters. */
static void end_strings(size_t length) {
    here[length] = there[length] = '\0';
}

static void copy(uint64_t n, size_t size) {
    for (; n; n--) KEEP(HIDE(&memcpy)(there, here, HIDE(size)));
}
WITH(memcpy_16, copy, 16)
WITH(memcpy_256, copy, 256)
WITH(memcpy_4k, copy, 4096)
WITH(memcpy_64k, copy, 65536)

static void memcpy_mixed(uint64_t n) {
    for (; n; n--) KEEP(HIDE(&memcpy)(there, here, lengths[n % LENGTHS]));
}

/* By eight bytes up and down in turn: both directions of an overlap. */
static void move(uint64_t n, size_t size) {
    for (; n; n--) KEEP(HIDE(&memmove)(here + n % 2 * 8, here + (n + 1) % 2 * 8, HIDE(size)));
}
WITH(memmove_16, move, 16)
WITH(memmove_256, move, 256)
WITH(memmove_4k, move, 4096)
WITH(memmove_64k, move, 65536)

static void compare_memory(uint64_t n, size_t size) {
    for (; n; n--) {
        if (HIDE(&memcmp)(here, there, HIDE(size)) != 0) fail("memcmp is wrong");
    }
}
WITH(memcmp_16, compare_memory, 16)
WITH(memcmp_256, compare_memory, 256)
WITH(memcmp_4k, compare_memory, 4096)
WITH(memcmp_64k, compare_memory, 65536)

static void compare_strings(uint64_t n, size_t length) {
    end_strings(length);
    for (; n; n--) {
        if (HIDE(&strcmp)(here, there) != 0) fail("strcmp is wrong");
    }
}
WITH(strcmp_16, compare_strings, 16)
WITH(strcmp_256, compare_strings, 256)
WITH(strcmp_4k, compare_strings, 4096)

static void strcmp_mixed(uint64_t n) {
    end_strings(LONGEST);
    for (; n; n--) {
        const size_t start = LONGEST - lengths[n % LENGTHS];
        if (HIDE(&strcmp)(here + start, there + start) != 0) fail("strcmp is wrong");
    }
}

static void strlen_mixed(uint64_t n) {
    end_strings(LONGEST);
    size_t total = 0;
    for (; n; n--) total += HIDE(&strlen)(here + LONGEST - lengths[n % LENGTHS]);
    KEEP(total);
}

#endif
