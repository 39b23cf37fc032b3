/* The rows that ask the kernel: pipe-throughput, context-switch and syscall; processes are in process.h. */
#ifndef SUITES_SYSTEM_KERNEL_H
#define SUITES_SYSTEM_KERNEL_H

#include <sys/stat.h>
#include <sys/syscall.h>

#include "child.h"

/* pipe-throughput: 512 bytes into a pipe and out of it again, in one process. One operation is both. */

static int pipe_ends[2];

static void pipe_before(void) {
    must(pipe(pipe_ends), "pipe");
}

static void pipe_work(uint64_t times) {
    static char data[512];
    for (uint64_t i = 0; i < times; i++) {
        if (write(pipe_ends[1], data, sizeof data) != sizeof data) fail("pipe-throughput: write: %s", strerror(errno));
        if (read(pipe_ends[0], data, sizeof data) != sizeof data) fail("pipe-throughput: read: %s", strerror(errno));
    }
}

static void pipe_after(void) {
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

/* context-switch: a number goes to a child through a pipe and comes back through another one; both check it. One
 * operation is a whole round, so at least two switches. */

static struct {
    int to_child, from_child;
    pid_t child;
    unsigned long count;
} turns;

static void turns_in_the_child(int from_parent, int to_parent) {
    unsigned long expected = 0, got;
    while (read(from_parent, &got, sizeof got) == sizeof got) {
        if (got != expected) fail("context-switch: the child got %lu, not %lu", got, expected);
        if (write(to_parent, &expected, sizeof expected) != sizeof expected) _exit(1);
        expected++;
    }
    /* The parent has closed its end. */
    _exit(0);
}

static void turns_before(void) {
    int there[2], back[2];
    must(pipe(there), "pipe");
    must(pipe(back), "pipe");
    begin_deadline("context-switch");
    signal(SIGPIPE, SIG_IGN);
    const pid_t me = getpid();
    turns.child = (pid_t)must(fork(), "fork");
    if (turns.child == 0) {
        end_with(me);
        close(there[1]);
        close(back[0]);
        turns_in_the_child(there[0], back[1]);
    }
    close(there[0]);
    close(back[1]);
    turns.to_child = there[1];
    turns.from_child = back[0];
}

static void turns_work(uint64_t rounds) {
    for (uint64_t i = 0; i < rounds; i++) {
        unsigned long got = 0;
        if (i % 4096 == 0) extend_deadline();
        if (write(turns.to_child, &turns.count, sizeof turns.count) != sizeof turns.count) {
            fail("context-switch: write: %s", strerror(errno));
        }
        if (read(turns.from_child, &got, sizeof got) != sizeof got) fail("context-switch: the child has ended");
        if (got != turns.count) fail("context-switch: the parent got %lu, not %lu", got, turns.count);
        turns.count++;
    }
}

static void turns_after(void) {
    close(turns.to_child);
    must_end_with(0, turns.child, "context-switch: the child");
    close(turns.from_child);
    end_deadline();
}

/* syscall: UnixBench's mix of five system calls, one operation. By number, so that no C library answers one itself, as
 * glibc before 2.25 did with getpid. */

static void syscall_before(void) {
    /* There must be something to duplicate. */
    struct stat input;
    if (fstat(0, &input) == -1) {
        FILE *const nothing = fopen("/dev/null", "r");
        if (!nothing || fileno(nothing) != 0) fail("syscall: standard input is closed, and is not /dev/null then");
    }
}

static void syscall_work(uint64_t times) {
    for (uint64_t i = 0; i < times; i++) {
        if (syscall(SYS_close, syscall(SYS_dup, 0)) != 0) fail("syscall: dup and close: %s", strerror(errno));
        syscall(SYS_getpid);
        syscall(SYS_getuid);
        syscall(SYS_umask, 022);
    }
}

#endif
