/* What every suite of `underpin bench --suite` shares: rows, the time they take, the memory they leave, and the line in
 * which a program reports both.
 *
 *   PROGRAM --list           the names of its rows, one to a line
 *   PROGRAM ROW [MS]         runs a row for so many milliseconds (200) and prints one line of JSON:
 *     {"row":"strlen","ns":31.4,"operations":64000,"repetitions":5,"bytes":0,"virtual":163840,"resident":24576,
 *      "dirty":20480}
 * `ns` is nanoseconds for one operation, the median of the repetitions (see ALIKE for guests); `operations` are those of
 * one repetition; `bytes` is what one operation moves, 0 if that means nothing; the memory is that of anonymous mappings
 * without stacks and guard pages, in bytes, summed as libc-bench sums it, and read after the work of the last repetition.
 *
 * Exit status: 0; 1 if the work failed, with the reason on standard error; 2 for an unknown row; 3 if a row took less time
 * than its work can take, so that a compiler must have removed it.
 */
#ifndef SUITES_ROW_H
#define SUITES_ROW_H

#ifndef _GNU_SOURCE
#error "define _GNU_SOURCE before the first header"
#endif
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How a row is repeated. */
enum repeated {
    /* The work is done once in a process of its own, forked from a parent that has done nothing, as libc-bench does it:
     * what the C library allocates at first use is in the time and in the memory. */
    IN_A_CHILD,
    /* The work is a number of equal operations in this process, as many as take the time. */
    IN_A_LOOP,
};

struct row {
    const char *name;
    enum repeated repeated;
    /* IN_A_CHILD: the operations of one repetition, for the figure of one; the work gets this number. */
    uint64_t operations;
    /* The least that one operation can take on a processor of this decade, in ns. */
    double least_ns;
    /* Bytes that one operation moves; 0 if it is not a matter of bytes. */
    uint64_t bytes;
    void (*work)(uint64_t operations);
    /* Before all repetitions, in the parent; not timed. May be null. */
    void (*before)(void);
    /* After all repetitions; not timed. May be null. */
    void (*after)(void);
};

/* The value of a pointer or a number, as far as a compiler can know: anything. */
#define HIDE(value) \
    __extension__({ \
        __typeof__(value) hidden = (value); \
        __asm__ volatile("" : "+r"(hidden) : : "memory"); \
        hidden; \
    })

/* Somebody reads what is there, and this value. */
#define KEEP(value) __asm__ volatile("" : : "g"(value) : "memory")

/* Ends the program: the row could not do its work. The reason is on the last line of standard error. */
__attribute__((noreturn, format(printf, 1, 2), unused)) static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

/* Ends the program if a system call failed. */
__attribute__((unused)) static long must(long result, const char *call) {
    if (result == -1) fail("%s: %s", call, strerror(errno));
    return result;
}

static inline uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Work in a loop that does more than its operations (it cleans up after them, or measures a cost that is subtracted) says
 * here how long they took; else it is the time of the whole call. A row whose median is not above zero fails. */
static struct {
    int is_set;
    int64_t ns;
} own_time;

__attribute__((unused)) static void operations_took(int64_t ns) {
    own_time.is_set = 1;
    own_time.ns = ns;
}

/* Set by work that has measured the frequency of its processors; "mhz" in the line then. 0: not known. */
__attribute__((unused)) static double measured_mhz;

struct repetition {
    uint64_t ns;
    uint64_t size, resident, dirty; /* bytes */
};

/* The sums over the mappings that are of no device, of no named kind but the heap, and not without any permission: what
 * libc-bench counts. It is read through stdio as it is there, whose buffer is then in the sum on every C library. */
static void read_memory(struct repetition *into) {
    FILE *maps = fopen("/proc/self/smaps", "rb");
    if (!maps) return;
    char line[512];
    int counts = 0;
    unsigned long from, to, offset, inode, size;
    unsigned major, minor;
    char permissions[8];
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu", &from, &to, permissions, &offset, &major, &minor, &inode) == 7) {
            const int is_named = strchr(line, '[') && !strstr(line, "[heap]");
            counts = !major && !minor && !is_named && strncmp(permissions, "---p", 4) != 0;
        } else if (counts) {
            if (sscanf(line, "Size: %lu", &size) == 1) into->size += size * 1024;
            else if (sscanf(line, "Rss: %lu", &size) == 1) into->resident += size * 1024;
            else if (sscanf(line, "Private_Dirty: %lu", &size) == 1) into->dirty += size * 1024;
        }
    }
    fclose(maps);
}

static int by_time(const void *left, const void *right) {
    const uint64_t a = ((const struct repetition *)left)->ns, b = ((const struct repetition *)right)->ns;
    return (a > b) - (a < b);
}

/* So many repetitions at least; few if these take LONG times what they may, as in a guest whose clock counts instructions. */
enum { MOST_REPETITIONS = 4096, LEAST_REPETITIONS = 5, FEW_REPETITIONS = 3, LONG = 5 };

static int is_enough(size_t count, uint64_t took, uint64_t budget_ns) {
    if (count < LEAST_REPETITIONS) return count >= FEW_REPETITIONS && took > LONG * budget_ns;
    return took >= budget_ns || count == MOST_REPETITIONS;
}

/* In a guest whose clock counts instructions, equal work has equal figures unless something came between. There
 *   - a row rests before each repetition, so that what the kernel has put off (the memory of a process that ended) is done
 *     by then: seen were rows of 16 and 19 ms that took 3.5 ms longer in each repetition of one boot, and not of others;
 *     an idle guest's clock is moved on, so that resting costs nothing;
 *   - a row whose figures are further apart than ALIKE is repeated more often, up to MOST_UNALIKE times;
 *   - the figure is the mean of the middle half: where processes take turns there are two or three usual figures, and a
 *     median is one of them by chance. */
#define ALIKE 0.02
enum { MOST_UNALIKE = 15, REST_NS = 20000000 };
#define ASKS_FOR_ALIKE "SUITE_ALIKE"

static int is_asked_for_alike(void) {
    const char *asked = getenv(ASKS_FOR_ALIKE);
    return asked && *asked;
}

/* Whether the middle half of the sorted figures lies within ALIKE of their median. */
static int are_alike(const struct repetition *sorted, size_t count) {
    const double low = (double)sorted[count / 4].ns, high = (double)sorted[count - 1 - count / 4].ns;
    return high - low <= ALIKE * (double)sorted[count / 2].ns;
}

static double middle_mean(const struct repetition *sorted, size_t count) {
    const size_t from = count / 4, to = count - count / 4;
    double sum = 0;
    for (size_t i = from; i < to; i++) sum += (double)sorted[i].ns;
    return sum / (double)(to - from);
}

/* The work in a process of its own. Its figures come through a pipe; how it ended is passed on. */
static void in_a_child(const struct row *row, struct repetition *into) {
    int ends[2];
    must(pipe(ends), "pipe");
    const pid_t child = (pid_t)must(fork(), "fork");
    if (child == 0) {
        close(ends[0]);
        struct repetition mine = {0};
        /* libc-bench prints the row's name before its clock starts, and glibc allocates the stream's buffer for that, so
         * that its heap exists already. musl's streams allocate nothing: its first malloc is in the time. Here is the
         * same without output. */
        setvbuf(stdout, NULL, _IOFBF, BUFSIZ);
        const uint64_t begun = now_ns();
        row->work(row->operations);
        mine.ns = now_ns() - begun;
        read_memory(&mine);
        if (write(ends[1], &mine, sizeof mine) != (ssize_t)sizeof mine) _exit(1);
        _exit(0);
    }
    close(ends[1]);
    const ssize_t got = read(ends[0], into, sizeof *into);
    close(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) == -1 && errno == EINTR) {}
    if (WIFSIGNALED(status)) {
        /* Ended by the same signal, so that the caller reads it from this process. */
        raise(WTERMSIG(status));
        fail("the work was ended by signal %d", WTERMSIG(status));
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) exit(1);
    if (got != (ssize_t)sizeof *into) fail("the work reported nothing");
}

/* How long so many operations take: the shorter of two tries, since what comes between (a timer, the end of another
 * program's output, a first call) only adds to it. One that is far from `enough` is not tried again. */
static uint64_t tried(const struct row *row, uint64_t operations, uint64_t enough) {
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 2; i++) {
        const uint64_t begun = now_ns();
        row->work(operations);
        const uint64_t took = now_ns() - begun;
        if (took < least) least = took;
        if (took < enough) break;
    }
    return least;
}

/* The power of two that is nearest to it by its ratio. */
static uint64_t rounded(double operations) {
    uint64_t power = 1;
    while ((double)power * 1.4142135623730951 < operations) power *= 2;
    return power;
}

/* As many operations as take about the time, at least one: a power of two, so that equal machines do equal work, and rows
 * that go through a list of arguments go through all of it. */
static uint64_t calibrated(const struct row *row, uint64_t budget_ns) {
    uint64_t operations = 1;
    for (;;) {
        const uint64_t took = tried(row, operations, budget_ns / 4);
        /* No work is so small that this many fit into it: run_row refuses what has gone. */
        if (operations > (uint64_t)1 << 48) return operations;
        if (took >= budget_ns / 4) return rounded((double)operations * (double)budget_ns / (double)(took ? took : 1));
        /* A first call has costs of its own, so no step multiplies by more than eight. */
        const uint64_t factor = took ? budget_ns / 4 / took + 1 : 8;
        operations *= factor < 4 ? 2 : factor < 8 ? 4 : 8;
    }
}

/* One repetition of so many operations; the memory of the process that did them. */
static struct repetition repeated(const struct row *row, uint64_t operations, int rests) {
    struct repetition one = {0};
    if (rests) nanosleep(&(struct timespec){.tv_nsec = REST_NS}, NULL);
    if (row->repeated == IN_A_CHILD) {
        in_a_child(row, &one);
        return one;
    }
    const uint64_t begun = now_ns();
    row->work(operations);
    one.ns = now_ns() - begun;
    if (own_time.is_set) one.ns = own_time.ns > 0 ? (uint64_t)own_time.ns : 0;
    return one;
}

static int run_row(const struct row *row, uint64_t budget_ns) {
    /* Shared mappings do not count as memory of the work. */
    struct repetition *const repetitions = mmap(NULL, MOST_REPETITIONS * sizeof(struct repetition),
                                                PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (repetitions == MAP_FAILED) fail("mmap: %s", strerror(errno));
    if (row->before) row->before();
    size_t count = 0;
    uint64_t operations = row->operations;
    struct repetition last = {0};
    const int alike = is_asked_for_alike();
    if (row->repeated == IN_A_CHILD) {
        const uint64_t begun = now_ns(), rest = alike ? REST_NS : 0;
        while (!is_enough(count, now_ns() - begun - count * rest, budget_ns)) {
            last = repetitions[count++] = repeated(row, operations, alike);
        }
    } else {
        operations = calibrated(row, budget_ns / LEAST_REPETITIONS);
        while (count < LEAST_REPETITIONS) repetitions[count++] = repeated(row, operations, alike);
    }
    qsort(repetitions, count, sizeof *repetitions, by_time);
    while (alike && count < MOST_UNALIKE && !are_alike(repetitions, count)) {
        last = repetitions[count++] = repeated(row, operations, alike);
        qsort(repetitions, count, sizeof *repetitions, by_time);
    }
    if (row->repeated == IN_A_LOOP) read_memory(&last);
    if (row->after) row->after();
    const double ns = (alike ? middle_mean(repetitions, count) : (double)repetitions[count / 2].ns) / (double)operations;
    if (ns <= 0 && own_time.is_set) fail("%s: the work took no longer than what is subtracted from it", row->name);
    if (ns < row->least_ns || ns <= 0) {
        fprintf(stderr, "%s: %g ns for one operation, and its work takes %g at least: it was optimised away\n", row->name, ns,
                row->least_ns);
        return 3;
    }
    printf("{\"row\":\"%s\",\"ns\":%.17g,\"operations\":%" PRIu64 ",\"repetitions\":%zu,\"bytes\":%" PRIu64
           ",\"virtual\":%" PRIu64 ",\"resident\":%" PRIu64 ",\"dirty\":%" PRIu64,
           row->name, ns, operations, count, row->bytes, last.size, last.resident, last.dirty);
    if (measured_mhz > 0) printf(",\"mhz\":%.1f", measured_mhz);
    puts("}");
    return 0;
}

__attribute__((unused)) static int suite_main(int words, char **word, const struct row *rows, size_t count) {
    if (words == 2 && strcmp(word[1], "--list") == 0) {
        for (size_t i = 0; i < count; i++) puts(rows[i].name);
        return 0;
    }
    const long milliseconds = words > 2 ? strtol(word[2], NULL, 10) : 200;
    for (size_t i = 0; words > 1 && i < count; i++) {
        if (strcmp(rows[i].name, word[1]) == 0) {
            return run_row(&rows[i], (uint64_t)(milliseconds > 0 ? milliseconds : 1) * 1000000u);
        }
    }
    fprintf(stderr, "usage: %s ROW [MS]; its rows: %s --list\n", word[0], word[0]);
    return 2;
}

#endif
