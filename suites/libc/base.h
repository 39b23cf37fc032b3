/* What the rows of several files need: a deadline, a random number, a scratch file, a UTF-8 locale. */
#ifndef LIBC_BASE_H
#define LIBC_BASE_H

#include <langinfo.h>
#include <locale.h>
#include <signal.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* A string of which a compiler does not know what is in it. */
#define TEXT(literal) HIDE((const char *)(literal))

/* A row whose work depends on one number more. */
#define WITH(name, work, ...) \
    static void name(uint64_t n) { \
        work(n, __VA_ARGS__); \
    }

enum { DEADLINE_SECONDS = 120 };

static void out_of_time(int signal_number) {
    static const char reason[] = "the work did not end within 120 s\n";
    (void)signal_number;
    (void)!write(STDERR_FILENO, reason, sizeof reason - 1);
    _exit(1);
}

/* From here the work has this long. A forked child inherits the handler but not the alarm, so it is the work that calls
 * this, not what comes before it. */
static void deadline(void) {
    signal(SIGALRM, out_of_time);
    alarm(DEADLINE_SECONDS);
}

/* The same numbers in every process and on every C library. */
static uint32_t random_number(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* Memory of which a compiler does not know what is in it. */
static void *block(size_t size) {
    void *memory = malloc(size);
    if (!memory) fail("malloc of %zu bytes: %s", size, strerror(errno));
    return HIDE(memory);
}

/* A file without a name, to read and write. */
static FILE *scratch_file(void) {
    const char *const folder = getenv("TMPDIR");
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/underpin-XXXXXX", folder && *folder ? folder : "/tmp");
    if (length < 0 || (size_t)length >= sizeof path) fail("TMPDIR is too long");
    const int file = mkstemp(path);
    if (file == -1) fail("a scratch file like %s: %s", path, strerror(errno));
    unlink(path);
    FILE *const stream = fdopen(file, "w+b");
    if (!stream) fail("fdopen: %s", strerror(errno));
    return stream;
}

/* Sets a UTF-8 locale for the category and returns its name. glibc has C.UTF-8 built in from 2.35; before that it is
 * there if the distribution ships it. */
static const char *utf8_locale(int category) {
    static const char *const names[] = {"C.UTF-8", "en_US.UTF-8", "en_GB.UTF-8", "de_DE.UTF-8", ""};
    for (size_t i = 0; i < COUNT(names); i++) {
        if (setlocale(category, names[i]) && strcmp(nl_langinfo(CODESET), "UTF-8") == 0) return names[i];
    }
    fail("not supported: no UTF-8 locale is installed (tried C.UTF-8, en_US, en_GB, de_DE and the environment's)");
}

#endif
