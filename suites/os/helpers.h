/* What the operating-system rows share: children that die with this process, a partner on the other end of a channel,
 * a directory that is removed however this process ends, and a limit on the time of everything. */
#ifndef SUITES_OS_HELPERS_H
#define SUITES_OS_HELPERS_H

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* The size of one read or write of every bandwidth row (lmbench: 64 kB), and what one of their operations moves. */
enum { CHUNK_BYTES = 64 * 1024, MOVED_BYTES = 1024 * 1024 };

/* Files and buffers of one size on every machine, so that records can be compared: beyond most caches, and small
 * enough for a board with 512 MB. (lmbench takes the largest that fits into the memory; the seed does not say which
 * that was.) */
enum { LARGE_BYTES = 64 * 1024 * 1024 };

/* Every read of these words is done, one by one: else -O3 would read with vectors, and a row would compare
 * compilers. */
#define EACH_OF_16(DO) \
    DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)

/* A chain of additions for each block, as in lmbench: left to themselves, gcc makes several where clang makes one for
 * the whole, and is twice as fast. */
#define ADD_IN_ORDER(sum, word) \
    (sum) += (word); \
    __asm__("" : "+r"(sum));

/* `bytes` is a multiple of 128. */
static void sum_words(const void *from, size_t bytes) {
    const volatile uint64_t *word = from;
    uint64_t sum = 0;
    for (size_t i = 0; i < bytes / sizeof *word; i += 16, word += 16) {
        uint64_t block = 0;
#define ADD(n) ADD_IN_ORDER(block, word[n])
        EACH_OF_16(ADD)
#undef ADD
        sum += block;
    }
    KEEP(sum);
}

static int by_value(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* For work with a cost that is subtracted: `difference` measures both for so many operations, in ns. It is called for
 * slices of `least` operations or more, and their median counts: what else the machine does meanwhile hits one of the
 * two measurements, and would else be the whole difference. */
static void subtracting(uint64_t operations, uint64_t least, double (*difference)(uint64_t operations)) {
    enum { SLICES = 15 };
    double each[SLICES];
    const size_t slices = operations >= SLICES * least ? SLICES : 1;
    const uint64_t of_slice = operations / slices;
    for (size_t i = 0; i < slices; i++) each[i] = difference(of_slice) / (double)of_slice;
    qsort(each, slices, sizeof *each, by_value);
    operations_took((int64_t)(each[slices / 2] * (double)operations));
}

static void out_of_time(int number) {
    (void)number;
    static const char reason[] = "the row was stopped: it did not end within its time\n";
    if (write(STDERR_FILENO, reason, sizeof reason - 1) == -1) _exit(1);
    _exit(1);
}

/* One alarm is the deadline of every wait of a row: a timeout on each wait would be in its time. A budget is spent
 * about twice at most (calibration, then five repetitions), and a minute is for what one operation costs under
 * emulation. */
static void limit_time(long milliseconds) {
    struct sigaction action = {.sa_handler = out_of_time};
    must(sigaction(SIGALRM, &action, NULL), "sigaction");
    alarm(60u + (unsigned)(milliseconds > 0 && milliseconds < 3600000 ? milliseconds / 250 : 0));
}

/* In a child: ends with its parent, however that ends. */
static void die_with(pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    /* The parent may have ended before the call. */
    if (getppid() != parent) _exit(1);
}

static void close_both(const int ends[2]) {
    close(ends[0]);
    close(ends[1]);
}

/* Not of zeros: a file system may store those as holes. */
static char *page_aligned(size_t bytes) {
    void *memory = NULL;
    if (posix_memalign(&memory, (size_t)sysconf(_SC_PAGESIZE), bytes)) fail("no memory for %zu bytes", bytes);
    memset(memory, 1, bytes);
    return HIDE((char *)memory);
}

/* The soft limit may be 64 where the hard one allows more. */
static void allow_descriptors(rlim_t count) {
    struct rlimit limit;
    must(getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
    if (limit.rlim_cur >= count) return;
    limit.rlim_cur = limit.rlim_max < count ? limit.rlim_max : count;
    must(setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
}

/* The other process of a channel. */
static pid_t partner;

/* True in the partner. */
static int is_partner(void) {
    const pid_t parent = getpid();
    partner = (pid_t)must(fork(), "fork");
    if (partner) return 0;
    die_with(parent);
    return 1;
}

static void end_partner(void) {
    if (partner <= 0) return;
    kill(partner, SIGKILL);
    while (waitpid(partner, NULL, 0) == -1 && errno == EINTR) {}
    partner = 0;
}

__attribute__((noreturn)) static void lost_partner(const char *channel) {
    fail("%s: the other process did not answer: %s", channel, errno ? strerror(errno) : "it has ended");
}

static const char *temporary_directory(void) {
    const char *named = getenv("TMPDIR");
    return named && *named ? named : "/tmp";
}

/* A file without a name, filled: what ends this process ends the file. */
static int unlinked_file(size_t bytes) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/suite-os-XXXXXX", temporary_directory()) >= (int)sizeof path) {
        fail("TMPDIR is too long");
    }
    const int file = mkstemp(path);
    if (file == -1) fail("cannot create %s: %s", path, strerror(errno));
    unlink(path);
    /* The size of lmbench's writes decides how large the pieces of the page cache are, and so what a fault in a mapping
     * costs: 10 ns in a file written at once, 700 ns in one written so (Linux 6.18, ext4). */
    enum { PIECE_BYTES = 8192 };
    char *const chunk = page_aligned(PIECE_BYTES);
    for (size_t done = 0; done < bytes; done += PIECE_BYTES) {
        errno = 0;
        if (write(file, chunk, PIECE_BYTES) != PIECE_BYTES) {
            const char *const reason = errno ? strerror(errno) : "disk full";
            fail("cannot write %zu MB to %s: %s", bytes >> 20, temporary_directory(), reason);
        }
    }
    free(chunk);
    return file;
}

/* Files with names need a directory, which a killed process cannot remove. So a process that does nothing else waits
 * for the end of a pipe, whose other end is in this process alone. */
static char directory[PATH_MAX - 64];
static int directory_held = -1;
static pid_t directory_owner, remover;

static void remove_files_of(const char *path) {
    DIR *const entries = opendir(path);
    if (!entries) return;
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        char inner[PATH_MAX];
        if (snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) >= (int)sizeof inner) continue;
        if (unlink(inner) == -1) remove_files_of(inner);
    }
    closedir(entries);
    rmdir(path);
}

static void remove_directory(void) {
    if (directory_owner != getpid() || !remover) return;
    close(directory_held);
    while (waitpid(remover, NULL, 0) == -1 && errno == EINTR) {}
    remover = 0;
}

static void make_directory(void) {
    int ends[2];
    must(pipe2(ends, O_CLOEXEC), "pipe2");
    if (snprintf(directory, sizeof directory, "%s/suite-os-XXXXXX", temporary_directory()) >= (int)sizeof directory) {
        fail("TMPDIR is too long");
    }
    if (!mkdtemp(directory)) fail("cannot create a directory in %s: %s", temporary_directory(), strerror(errno));
    remover = (pid_t)must(fork(), "fork");
    if (remover == 0) {
        /* A signal for the group must not take the remover along. Its standard output would keep a reader waiting. */
        setsid();
        close(ends[1]);
        for (int standard = 0; standard <= 2; standard++) close(standard);
        char none;
        while (read(ends[0], &none, 1) == -1 && errno == EINTR) {}
        remove_files_of(directory);
        _exit(0);
    }
    close(ends[0]);
    directory_held = ends[1];
    directory_owner = getpid();
    atexit(remove_directory);
}

#endif
