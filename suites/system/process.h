/* The rows about processes: execl and process-creation.
 *
 * What they measure depends on the size of the program: its libraries are loaded by each execl, its pages are mapped
 * again in each child. The programs of UnixBench have little more than the row. Ours is the whole suite, linked with
 * libm, so execl takes some 12 % longer with glibc, and process-creation 15 %. With $SUITE_SMALL set to the path of a
 * program built from small.c, which is no more than these two rows, that one does the work, as quickly as the original.
 */
#ifndef SUITES_SYSTEM_PROCESS_H
#define SUITES_SYSTEM_PROCESS_H

#include <limits.h>

#include "child.h"

#define EXECL_WORD "--execl-chain"
#define SPAWN_WORD "--spawn"

/* Runs a program with three arguments in the place of this one. $SUITE_EMULATOR is the path of an emulator, for a
 * program that the kernel cannot run. */
__attribute__((noreturn)) static void become(const char *path, const char *first, const char *second,
                                             const char *third) {
    const char *const emulator = getenv("SUITE_EMULATOR");
    if (emulator && *emulator) {
        execl(emulator, emulator, path, first, second, third, (char *)NULL);
        fail("execl: %s: %s", emulator, strerror(errno));
    }
    execl(path, path, first, second, third, (char *)NULL);
    if (errno == ENOEXEC) {
        fail("execl: %s: not for this machine; if it is emulated, set $SUITE_EMULATOR to the emulator's path", path);
    }
    fail("execl: %s: %s", path, strerror(errno));
}

static const char *small_program(void) {
    const char *const path = getenv("SUITE_SMALL");
    return path && *path ? path : NULL;
}

/* execl: a program that replaces itself by execl, again and again; one operation is one execl. UnixBench's program
 * counts in its arguments, and asks for the time in each life; so does this one. */

enum { EXECL_END = 77 }; /* the status of the last one: no other program ends like that */

static char execl_path[PATH_MAX];

__attribute__((noreturn)) static void execl_next(const char *path, uint64_t left, uint64_t done) {
    char left_text[24], done_text[24];
    sprintf(left_text, "%" PRIu64, left);
    sprintf(done_text, "%" PRIu64, done);
    become(path, EXECL_WORD, left_text, done_text);
}

/* One life: PROGRAM EXECL_WORD LEFT DONE. */
static int execl_chain(char **word) {
    const uint64_t left = strtoull(word[2], NULL, 10);
    uint64_t done = 0;
    if (sscanf(word[3], "%" SCNu64, &done) != 1) fail("execl: `%s` is not a number", word[3]);
    const time_t now = time(NULL);
    KEEP(now);
    /* The alarm of an earlier life is still set. */
    if (done % 256 == 0) extend_deadline();
    if (left == 0) return EXECL_END;
    execl_next(word[0], left - 1, done + 1);
}

__attribute__((unused)) static void execl_before(void) {
    /* The chain has a deadline of its own, and this process waits for it; SIGALRM must not be blocked in it. */
    begin_deadline("execl");
    end_deadline();
    if (small_program()) {
        snprintf(execl_path, sizeof execl_path, "%s", small_program());
        return;
    }
    const ssize_t length = readlink("/proc/self/exe", execl_path, sizeof execl_path - 1);
    if (length <= 0) fail("execl: /proc/self/exe: %s", strerror(errno));
    execl_path[length] = '\0';
    /* Run from a file that is gone (memfd, replaced): this name still works. */
    if (access(execl_path, X_OK) != 0) strcpy(execl_path, "/proc/self/exe");
}

__attribute__((unused)) static void execl_work(uint64_t times) {
    const pid_t me = getpid();
    const pid_t child = (pid_t)must(fork(), "fork");
    if (child == 0) {
        end_with(me);
        signal(SIGALRM, SIG_DFL);
        extend_deadline();
        execl_next(execl_path, times - 1, 1);
    }
    must_end_with(EXECL_END, child, "execl: the chain of programs");
}

/* process-creation: a child that ends at once, by exit as in UnixBench, and the wait for it. */

static void spawn_here(uint64_t times) {
    for (uint64_t i = 0; i < times; i++) {
        if (i % 256 == 0) extend_deadline();
        const pid_t child = fork();
        if (child == 0) exit(0);
        if (child == -1) fail("process-creation: fork: %s", strerror(errno));
        int status = 0;
        if (wait(&status) != child || status != 0) fail("process-creation: the child ended with status 0x%x", status);
    }
}

/* In the small program: PROGRAM SPAWN_WORD TIMES DESCRIPTOR. The time it took goes to the descriptor. */
static int spawn_for_another(char **word) {
    const uint64_t times = strtoull(word[2], NULL, 10), begun = now_ns();
    spawn_here(times);
    const uint64_t took = now_ns() - begun;
    return write(atoi(word[3]), &took, sizeof took) != sizeof took;
}

__attribute__((unused)) static void spawn_by_another(uint64_t times) {
    int ends[2];
    must(pipe(ends), "pipe");
    const pid_t me = getpid();
    const pid_t child = (pid_t)must(fork(), "fork");
    if (child == 0) {
        end_with(me);
        close(ends[0]);
        extend_deadline();
        char times_text[24], end_text[16];
        sprintf(times_text, "%" PRIu64, times);
        sprintf(end_text, "%d", ends[1]);
        become(small_program(), SPAWN_WORD, times_text, end_text);
    }
    close(ends[1]);
    end_deadline();
    uint64_t took = 0;
    const ssize_t got = read(ends[0], &took, sizeof took);
    close(ends[0]);
    must_end_with(0, child, "process-creation: $SUITE_SMALL");
    if (got != sizeof took) fail("process-creation: $SUITE_SMALL is not the program of small.c");
    operations_took((int64_t)took);
}

__attribute__((unused)) static void spawn_work(uint64_t times) {
    if (small_program()) spawn_by_another(times);
    else spawn_here(times);
}

__attribute__((unused)) static void spawn_before(void) {
    begin_deadline("process-creation");
}

/* The other lives of a program with these rows; -1 if it is not one. */
static int other_life(int words, char **word) {
    if (words == 4 && strcmp(word[1], EXECL_WORD) == 0) return execl_chain(word);
    if (words == 4 && strcmp(word[1], SPAWN_WORD) == 0) return spawn_for_another(word);
    return -1;
}

#endif
