/* Processes: fork, exec, shells (table 1 of the seed) and context switches (table 2). */
#ifndef SUITES_OS_PROCESSES_H
#define SUITES_OS_PROCESSES_H

/* The first word at which this program ends at once. */
#define END_AT_ONCE "--end-at-once"

static char own_path[PATH_MAX];

/* The program itself is what the exec and the shell rows start, so that how it is linked decides them. */
static void find_own_path(void) {
    const ssize_t length = readlink("/proc/self/exe", own_path, sizeof own_path - 1);
    if (length > 0) own_path[length] = 0;
    if (length <= 0 || access(own_path, X_OK) == -1) snprintf(own_path, sizeof own_path, "/proc/self/exe");
}

static void wait_for(pid_t child, const char *what) {
    int status = 0;
    while (waitpid(child, &status, 0) == -1) {
        if (errno != EINTR) fail("waitpid: %s", strerror(errno));
    }
    if (WIFSIGNALED(status)) fail("%s was ended by signal %d", what, WTERMSIG(status));
    if (WEXITSTATUS(status) == 127) fail("cannot execute %s", what);
    if (WEXITSTATUS(status)) fail("%s exited with status %d", what, WEXITSTATUS(status));
}

/* Both processes write to it after a fork, and so each copies a page, as programs that keep the number do. */
static volatile pid_t forked;

/* A program that forks has a heap, as lmbench's harness has: its page tables are copied too, and an allocator that reserves
 * much has more of them (musl's time over glibc's with mimalloc 0.75, and 0.59 without a block). */
static void before_fork(void) {
    static char *block;
    block = malloc(1000);
    if (!block) fail("no memory for a block");
    block[0] = 1;
    block = HIDE(block);
}

static void fork_and_exit(uint64_t operations) {
    for (uint64_t i = 0; i < operations; i++) {
        forked = fork();
        if (forked == -1) fail("fork: %s", strerror(errno));
        if (forked == 0) exit(0);
        wait_for(forked, "a forked process");
    }
}

/* fork, exec of `path`, wait. */
static void run_once(const char *path, char *const *words, pid_t parent) {
    forked = fork();
    if (forked == -1) fail("fork: %s", strerror(errno));
    if (forked == 0) {
        die_with(parent);
        execve(path, words, environ);
        dprintf(STDERR_FILENO, "execve %s: %s\n", path, strerror(errno));
        _exit(127);
    }
    wait_for(forked, path);
}

static void fork_and_exec(uint64_t operations) {
    char *const words[] = {own_path, (char *)END_AT_ONCE, NULL};
    const pid_t parent = getpid();
    for (uint64_t i = 0; i < operations; i++) run_once(own_path, words, parent);
}

static const char *shell = "/bin/sh";

static void before_sh_named(void) {
    shell = getenv("SUITE_SHELL");
    if (!shell || !*shell) fail("SUITE_SHELL does not name a shell of this build");
    find_own_path();
}

/* The path is a word of the script's, so that it needs no quoting. Which C library the shell has is in the time: the
 * system's is the same in every build, the named one is the build's own. */
static void fork_and_shell(uint64_t operations) {
    char *const words[] = {(char *)"sh", (char *)"-c", (char *)"\"$0\" " END_AT_ONCE, own_path, NULL};
    const pid_t parent = getpid();
    for (uint64_t i = 0; i < operations; i++) run_once(shell, words, parent);
}

/* Processes in a ring that hand on a word through pipes; each sums an array of its own when it gets it. */
enum { MOST_IN_RING = 16 };

static struct {
    int processes;
    size_t bytes;
    char *data;
    int pipes[MOST_IN_RING][2]; /* process i writes to pipe i, and process i + 1 reads from it */
    int own[MOST_IN_RING][2];   /* for the cost of the pipes alone */
} ring;

static pid_t ring_members[MOST_IN_RING];

static void pass(int to, int from) {
    uint32_t word = 1;
    errno = 0;
    if (write(to, &word, sizeof word) != (ssize_t)sizeof word) lost_partner("pipe");
    if (read(from, &word, sizeof word) != (ssize_t)sizeof word) lost_partner("pipe");
}

__attribute__((noreturn)) static void ring_member(int number) {
    const int from = ring.pipes[number - 1][0], to = ring.pipes[number][1];
    for (int i = 0; i < ring.processes; i++) {
        if (ring.pipes[i][0] != from) close(ring.pipes[i][0]);
        if (ring.pipes[i][1] != to) close(ring.pipes[i][1]);
        close_both(ring.own[i]);
    }
    /* An array of its own: a forked one would be shared until it is written to. */
    if (ring.bytes) memset(ring.data, number, ring.bytes);
    uint32_t word;
    while (read(from, &word, sizeof word) == (ssize_t)sizeof word) {
        sum_words(ring.data, ring.bytes);
        if (write(to, &word, sizeof word) != (ssize_t)sizeof word) break;
    }
    _exit(0);
}

static void open_ring(int processes, size_t kilobytes) {
    allow_descriptors(256);
    signal(SIGPIPE, SIG_IGN);
    ring.processes = processes;
    ring.bytes = kilobytes * 1024;
    ring.data = ring.bytes ? page_aligned(ring.bytes) : NULL;
    for (int i = 0; i < processes; i++) {
        must(pipe2(ring.pipes[i], O_CLOEXEC), "pipe2");
        must(pipe2(ring.own[i], O_CLOEXEC), "pipe2");
    }
    const pid_t parent = getpid();
    for (int i = 1; i < processes; i++) {
        ring_members[i] = (pid_t)must(fork(), "fork");
        if (ring_members[i] == 0) {
            die_with(parent);
            ring_member(i);
        }
    }
    /* Once around, so that every process has begun; and what only the others use is closed, so that a lost one is
     * noticed. */
    pass(ring.pipes[0][1], ring.pipes[processes - 1][0]);
    for (int i = 0; i < processes; i++) {
        if (i != processes - 1) close(ring.pipes[i][0]);
        if (i != 0) close(ring.pipes[i][1]);
    }
}

static void close_ring(void) {
    for (int i = 1; i < ring.processes; i++) {
        kill(ring_members[i], SIGKILL);
        while (waitpid(ring_members[i], NULL, 0) == -1 && errno == EINTR) {}
    }
}

/* One operation is one switch, and so a round is as many as there are processes. From a switch's share of the time of
 * a round is subtracted what it holds besides: a write to and a read from a pipe, and the sum, which one process does
 * here as often without any other to switch to. Nothing is bound to a processor, as nothing was in the seed: with
 * several, a switch is often the waking of another one. */
static double time_of_switches(uint64_t operations) {
    const uint64_t rounds = (operations + (uint64_t)ring.processes - 1) / (uint64_t)ring.processes;
    const uint64_t begun = now_ns();
    for (uint64_t i = 0; i < rounds; i++) {
        pass(ring.pipes[0][1], ring.pipes[ring.processes - 1][0]);
        sum_words(ring.data, ring.bytes);
    }
    const uint64_t ring_ended = now_ns();
    for (uint64_t i = 0; i < operations; i++) {
        const int *const own = ring.own[i % (uint64_t)ring.processes];
        pass(own[1], own[0]);
        sum_words(ring.data, ring.bytes);
    }
    const double subtracted = (double)(now_ns() - ring_ended);
    const double switches = (double)rounds * (double)ring.processes;
    const double took = (double)(ring_ended - begun) * (double)operations / switches;
    return took - subtracted;
}

static void context_switch(uint64_t operations) {
    subtracting(operations, 4 * (uint64_t)ring.processes, time_of_switches);
}

static void before_context_2p_0k(void) { open_ring(2, 0); }
static void before_context_2p_16k(void) { open_ring(2, 16); }
static void before_context_2p_64k(void) { open_ring(2, 64); }
static void before_context_8p_16k(void) { open_ring(8, 16); }
static void before_context_8p_64k(void) { open_ring(8, 64); }
static void before_context_16p_16k(void) { open_ring(16, 16); }
static void before_context_16p_64k(void) { open_ring(16, 64); }

#endif
