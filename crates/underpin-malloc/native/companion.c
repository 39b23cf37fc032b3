/* Preloaded beside the allocator into the one process that is meant. Three duties:
 *
 * - The variables that brought both here are taken out of the environment again, so that children run as they always
 *   do. What they were before is put back.
 * - They stay with the process: an `exec` by it (a wrapper script, `env` in a `#!` line) carries them on.
 * - At a normal exit the allocator's own statistics go to standard error, where they were asked for.
 *
 * Environment: UNDERPIN_RUN is "PID LETTERS NAMES": the process it is meant for; `o` to clear up (once), and the
 * source of statistics (`j` jemalloc, `m` mimalloc, `g` glibc); the changed variables, separated by commas.
 * UNDERPIN_WAS_NAME is what NAME was before. Nothing here allocates: strings of the first environment live as long
 * as the process. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 64, MANY_ARGUMENTS = 4096 };

static const char run[] = "UNDERPIN_RUN=";
static const char was[] = "UNDERPIN_WAS_";

static char *carried[MOST];   /* entries to pass on in an exec */
static size_t carried_count;
static pid_t meant_for;
static char statistics;       /* j, m, g, or 0 */
static int error_output = 2;

static int named(const char *entry, const char *name, size_t length) {
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

static char **find(const char *name, size_t length) {
    for (char **at = environ; at && *at; at++)
        if (named(*at, name, length)) return at;
    return NULL;
}

static void take_out(char **at) {
    do at[0] = at[1]; while (*at++);
}

static void keep(char *entry) {
    if (carried_count < MOST) carried[carried_count++] = entry;
}

/* Puts one variable back to what it was. */
static void restore(const char *name, size_t length) {
    char **now = find(name, length);
    if (!now) return;
    keep(*now);
    for (char **at = environ; *at; at++) {
        if (strncmp(*at, was, sizeof was - 1) != 0 || !named(*at + sizeof was - 1, name, length)) continue;
        keep(*at);
        *now = *at + sizeof was - 1;
        take_out(at);
        return;
    }
    take_out(now);
}

static void clear_up(const char *names) {
    while (*names) {
        const char *end = strchrnul(names, ',');
        restore(names, (size_t)(end - names));
        names = *end ? end + 1 : end;
    }
}

__attribute__((constructor)) static void begin(void) {
    char **entry = find(run, sizeof run - 2);
    if (!entry) return;
    /* The allocator reads its settings at its first call, which comes before they are taken out. */
    void *volatile first = malloc(1);
    free(first);
    char *text = *entry, *rest;
    pid_t pid = (pid_t)strtol(text + sizeof run - 1, &rest, 10);
    int once = 0;
    for (; *rest == ' '; rest++) {}
    char source = 0;
    for (; *rest && *rest != ' '; rest++) {
        if (*rest == 'o') once = 1;
        else source = *rest;
    }
    if (*rest == ' ') rest++;
    if (pid == getpid()) {
        meant_for = pid;
        statistics = source;
        if (source) {
            int copy = fcntl(2, F_DUPFD_CLOEXEC, 100);
            if (copy >= 0) error_output = copy;
        }
    }
    if (once) {
        keep(text);
        take_out(entry);
        clear_up(rest);
        if (!meant_for) carried_count = 0;
    }
}

/* ---- exec by the process itself ---- */

static size_t entries(char *const *list) {
    size_t count = 0;
    while (list && list[count]) count++;
    return count;
}

static const char *name_end(const char *entry) { return strchrnul(entry, '='); }

static int is_carried(const char *entry) {
    size_t length = (size_t)(name_end(entry) - entry);
    for (size_t at = 0; at < carried_count; at++)
        if (named(carried[at], entry, length)) return 1;
    return 0;
}

/* The environment for an exec: the one given, with the carried entries in place of those of the same name. `room` has
 * place for both and the end. */
static char *const *with_carried(char *const *given, char **room) {
    size_t count = 0;
    for (char *const *at = given; at && *at; at++)
        if (!is_carried(*at)) room[count++] = *at;
    for (size_t at = 0; at < carried_count; at++) room[count++] = carried[at];
    room[count] = NULL;
    return room;
}

/* A child of vfork is another process with this memory: it gets what was given. */
static int ours(void) { return carried_count && getpid() == meant_for; }

#define ENVIRONMENT(given) \
    char *room[ours() ? entries(given) + carried_count + 1 : 1]; \
    char *const *environment = ours() ? with_carried(given, room) : (given)

/* What takes the place of the C library's functions of the same names. */
#pragma GCC visibility push(default)

int execve(const char *path, char *const arguments[], char *const given[]) {
    ENVIRONMENT(given);
    return (int)syscall(SYS_execve, path, arguments, environment);
}

int execveat(int folder, const char *path, char *const arguments[], char *const given[], int flags) {
    ENVIRONMENT(given);
    return (int)syscall(SYS_execveat, folder, path, arguments, environment, flags);
}

int fexecve(int file, char *const arguments[], char *const given[]) {
    return execveat(file, "", arguments, given, AT_EMPTY_PATH);
}

int execv(const char *path, char *const arguments[]) { return execve(path, arguments, environ); }

int execvpe(const char *name, char *const arguments[], char *const given[]) {
    int (*next)(const char *, char *const[], char *const[]) = dlsym(RTLD_NEXT, "execvpe");
    if (!next) { errno = ENOSYS; return -1; }
    ENVIRONMENT(given);
    return next(name, arguments, environment);
}

int execvp(const char *name, char *const arguments[]) { return execvpe(name, arguments, environ); }

/* The arguments of the forms with a list, on this function's stack. */
#define LIST(first) \
    va_list more; \
    size_t count = 1; \
    va_start(more, first); \
    while (va_arg(more, char *)) if (++count > MANY_ARGUMENTS * 256) { errno = E2BIG; va_end(more); return -1; } \
    va_end(more); \
    char *arguments[count + 1]; \
    arguments[0] = (char *)(first); \
    va_start(more, first); \
    for (size_t at = 1; at <= count; at++) arguments[at] = va_arg(more, char *)

int execl(const char *path, const char *first, ...) {
    LIST(first);
    va_end(more);
    return execve(path, arguments, environ);
}

int execlp(const char *name, const char *first, ...) {
    LIST(first);
    va_end(more);
    return execvpe(name, arguments, environ);
}

int execle(const char *path, const char *first, ...) {
    LIST(first);
    char *const *given = va_arg(more, char *const *);
    va_end(more);
    return execve(path, arguments, given);
}

#pragma GCC visibility pop

/* ---- statistics at exit ---- */

static void say(const char *text) {
    size_t left = strlen(text);
    while (left) {
        ssize_t wrote = write(error_output, text, left);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return;
        text += wrote;
        left -= (size_t)wrote;
    }
}

static void say_to(void *unused, const char *text) { (void)unused; say(text); }
static void said_by_mimalloc(const char *text, void *unused) { (void)unused; say(text); }

static void figure(const char *name, size_t value) {
    char line[64];
    size_t at = sizeof line;
    line[--at] = 0;
    line[--at] = '\n';
    do { line[--at] = (char)('0' + value % 10); value /= 10; } while (value);
    say(name);
    say(line + at);
}

/* struct mallinfo2 of glibc 2.33 and later; musl's headers do not have it. */
struct glibc_figures { size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost; };

static void glibc_statistics(void) {
    struct glibc_figures (*mallinfo2)(void) = dlsym(RTLD_DEFAULT, "mallinfo2");
    if (!mallinfo2) { say("underpin: this glibc has no mallinfo2 (it came with 2.33): no statistics\n"); return; }
    struct glibc_figures figures = mallinfo2();
    say("glibc malloc statistics at exit, in bytes, over all arenas\n");
    figure("  in use                 ", figures.uordblks);
    figure("  free, kept             ", figures.fordblks);
    figure("  of that, fast bins     ", figures.fsmblks);
    figure("  got from the system    ", figures.arena);
    figure("  in own mappings        ", figures.hblkhd);
    figure("  own mappings, count    ", figures.hblks);
    figure("  top, could be returned ", figures.keepcost);
}

__attribute__((destructor)) static void end(void) {
    if (!statistics || getpid() != meant_for) return;
    if (statistics == 'j') {
        void (*print)(void (*)(void *, const char *), void *, const char *) = dlsym(RTLD_DEFAULT, "malloc_stats_print");
        /* Totals, without the settings and the tables of arenas, size classes, mutexes and extents. */
        if (print) print(say_to, NULL, "gablxeh");
    } else if (statistics == 'm') {
        void (*print)(void (*)(const char *, void *), void *) = dlsym(RTLD_DEFAULT, "mi_stats_print_out");
        if (print) print(said_by_mimalloc, NULL);
    } else if (statistics == 'g') {
        glibc_statistics();
    }
}
