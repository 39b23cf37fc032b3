/* Runs rows of suites in a guest of `underpin image compare`, one after the other, and says what came of each.
 *
 *   rows SECONDS STARTS EMPTY ROW...
 *
 * SECONDS is the longest that a row may take; EMPTY is a program that does nothing, started STARTS times. Each ROW is one
 * word: its name, variables of its environment (NAME=VALUE), then the path of its program and the words for it, with a blank
 * between them. On standard output:
 *
 *   @boot {"up_ns":...,"total_kib":...,"available_kib":...}    once, before anything else ran
 *   @start {"ns":...}                                          the median time of a start of EMPTY
 *   @row NAME                                                  then what the program wrote
 *   @end {"status":...,"killed":...,"user_us":...,"system_us":...}
 *                                                              as wait4(2) has it; whether its time was over; its
 *                                                              processor time
 *   @done
 *
 * A row that ends badly is followed by the next one. What a row left running is killed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_STARTS = 1000, MOST_WORDS = 32, WARM_STARTS = 3, MOST_RESTS = 40, REST_TICKS = 50, SENT_MS = 20 };

static uint64_t clock_ns(clockid_t which) {
    struct timespec now;
    clock_gettime(which, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t microseconds(struct timeval time) { return (uint64_t)time.tv_sec * 1000000u + (uint64_t)time.tv_usec; }

static unsigned long of_meminfo(const char *text, const char *name) {
    const char *at = strstr(text, name);
    return at ? strtoul(at + strlen(name), NULL, 10) : 0;
}

static void say_boot(uint64_t up_ns) {
    static char text[8192];
    FILE *file = fopen("/proc/meminfo", "r");
    if (file) {
        text[fread(text, 1, sizeof text - 1, file)] = 0;
        fclose(file);
    }
    printf("@boot {\"up_ns\":%" PRIu64 ",\"total_kib\":%lu,\"available_kib\":%lu}\n", up_ns, of_meminfo(text, "MemTotal:"),
           of_meminfo(text, "MemAvailable:"));
}

/* Time that the processor had nothing to do in, in ticks of 10 ms. */
static long idle_ticks(void) {
    long user = 0, nice = 0, system = 0, idle = 0;
    FILE *file = fopen("/proc/stat", "r");
    if (file) {
        if (fscanf(file, "cpu %ld %ld %ld %ld", &user, &nice, &system, &idle) != 4) idle = 0;
        fclose(file);
    }
    return idle;
}

static void rest_ms(long milliseconds) {
    const struct timespec rest = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&rest, NULL);
}

/* Waits until nothing else runs: after its start a guest has other work, which takes turns with the first rows and was seen in
 * their time as whole ticks of 4 ms (strtol at 599 ns or 997 ns in equal boots). A guest that counts instructions skips the
 * waiting. One that never rests is measured as it is. */
static void settle(void) {
    for (int tries = 0; tries < MOST_RESTS; tries++) {
        const long before = idle_ticks();
        rest_ms(REST_TICKS * 10);
        if (idle_ticks() - before >= REST_TICKS - 1) return;
    }
}

/* Writes a setting of the guest's kernel, if it has that. */
static void set(const char *path, const char *value) {
    FILE *file = fopen(path, "w");
    if (!file) return;
    fputs(value, file);
    fclose(file);
}

/* khugepaged is woken by each new process and makes 2 MiB of a heap one page, though a program touched only every twelfth: a
 * row's repetitions then have it in their time or not, by chance, and once they have, all of a boot have (malloc-big1 at 9.63 us
 * or 11.82 us in equal boots). Programs still get huge pages by touching them. */
static void hold_khugepaged(void) {
    set("/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none", "0");
    set("/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs", "4294967295");
}

static int by_size(const void *left, const void *right) {
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Without a copy of this process's pages: what is measured is the start of the other program. */
static int started(char *program, uint64_t *took) {
    char *words[] = {program, NULL};
    int status = 0;
    const uint64_t begun = clock_ns(CLOCK_MONOTONIC);
    const pid_t child = vfork();
    if (child == 0) {
        execv(program, words);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) return 0;
    *took = clock_ns(CLOCK_MONOTONIC) - begun;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void say_start(char *program, long starts) {
    static uint64_t took[MOST_STARTS];
    if (starts < 1) return;
    if (starts > MOST_STARTS) starts = MOST_STARTS;
    for (long i = -WARM_STARTS; i < starts; i++) {
        if (!started(program, &took[i < 0 ? 0 : i])) return;
    }
    qsort(took, (size_t)starts, sizeof *took, by_size);
    printf("@start {\"ns\":%" PRIu64 "}\n", took[starts / 2]);
}

/* Becomes the row's program: in a group of its own, with one stream for all that it writes. */
static void become(char *row) {
    char *words[MOST_WORDS + 1];
    int count = 0;
    strtok(row, " ");
    for (char *word = strtok(NULL, " "); word && count < MOST_WORDS; word = strtok(NULL, " ")) {
        if (count == 0 && strchr(word, '=')) putenv(word);
        else words[count++] = word;
    }
    words[count] = NULL;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    dup2(STDOUT_FILENO, STDERR_FILENO);
    if (count) execv(words[0], words);
    fprintf(stderr, "%s: %s\n", count ? words[0] : "no program", strerror(errno));
    _exit(127);
}

static void run_row(char *row, long seconds, const sigset_t *ended) {
    printf("@row %.*s\n", (int)strcspn(row, " "), row);
    fflush(stdout);
    /* Until the first process has passed it on. */
    rest_ms(SENT_MS);
    const pid_t child = fork();
    if (child == 0) become(row);
    if (child < 0) {
        printf("fork: %s\n@end {\"status\":256,\"killed\":false}\n", strerror(errno));
        return;
    }
    setpgid(child, child);
    const uint64_t until = clock_ns(CLOCK_MONOTONIC) + (uint64_t)seconds * 1000000000u;
    int status = 0, killed = 0;
    struct rusage used = {0};
    while (wait4(child, &status, WNOHANG, &used) == 0) {
        const uint64_t now = clock_ns(CLOCK_MONOTONIC);
        if (now >= until) {
            killed = 1;
            kill(-child, SIGKILL);
            wait4(child, &status, 0, &used);
            break;
        }
        const struct timespec left = {(time_t)((until - now) / 1000000000u), (long)((until - now) % 1000000000u)};
        sigtimedwait(ended, NULL, &left);
    }
    kill(-child, SIGKILL);
    printf("\n@end {\"status\":%d,\"killed\":%s,\"user_us\":%" PRIu64 ",\"system_us\":%" PRIu64 "}\n", status,
           killed ? "true" : "false", microseconds(used.ru_utime), microseconds(used.ru_stime));
    fflush(stdout);
}

int main(int words, char **word) {
    const uint64_t up_ns = clock_ns(CLOCK_BOOTTIME);
    if (words < 4) {
        fprintf(stderr, "usage: %s SECONDS STARTS EMPTY ROW...\n", word[0]);
        return 2;
    }
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ended, NULL);
    say_boot(up_ns);
    fflush(stdout);
    settle();
    /* suites/common/row.h rests and repeats then until its figures are alike. Who runs the rows without a guest, where the clock
     * does not stand still for a rest and the kernel is everybody's, sets it to nothing. */
    if (!getenv("SUITE_ALIKE")) {
        setenv("SUITE_ALIKE", "1", 1);
        hold_khugepaged();
    }
    say_start(word[3], strtol(word[2], NULL, 10));
    fflush(stdout);
    for (int i = 4; i < words; i++) run_row(word[i], strtol(word[1], NULL, 10), &ended);
    puts("@done");
    return 0;
}
