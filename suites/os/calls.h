/* Table 1 of the seed: what single system calls and signals cost. Facts of each row from lmbench's description. */
#ifndef SUITES_OS_CALLS_H
#define SUITES_OS_CALLS_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <sys/select.h>
#include <sys/socket.h>

static void null_call(uint64_t operations) {
    for (uint64_t i = 0; i < operations; i++) KEEP(getppid());
}

static int zero_file, null_file;

static void before_null_io(void) {
    zero_file = (int)must(open("/dev/zero", O_RDONLY | O_CLOEXEC), "open /dev/zero");
    null_file = (int)must(open("/dev/null", O_WRONLY | O_CLOEXEC), "open /dev/null");
}

/* The seed's figure is the mean of a read of one byte from /dev/zero and a write of one to /dev/null. */
static void null_io(uint64_t operations) {
    char byte = 0;
    for (uint64_t i = 0; i < operations; i++) {
        const ssize_t done = i & 1 ? read(zero_file, &byte, 1) : write(null_file, &byte, 1);
        if (done != 1) fail("%s: %s", i & 1 ? "read /dev/zero" : "write /dev/null", strerror(errno));
    }
    KEEP(&byte);
}

static char stat_path[PATH_MAX];

static void before_stat(void) {
    make_directory();
    snprintf(stat_path, sizeof stat_path, "%s/file", directory);
    close((int)must(open(stat_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), "open a new file"));
}

static void stat_file(uint64_t operations) {
    struct stat status;
    for (uint64_t i = 0; i < operations; i++) {
        if (stat(stat_path, &status) == -1) fail("stat: %s", strerror(errno));
        KEEP(&status);
    }
}

static void open_and_close(uint64_t operations) {
    for (uint64_t i = 0; i < operations; i++) {
        const int file = open(stat_path, O_RDONLY);
        if (file == -1) fail("open: %s", strerror(errno));
        close(file);
    }
}

/* The descriptors of the select rows: the copies of one that is always ready to be written to. */
enum { SELECTED = 100 };

static fd_set selected;
static int select_below;

static void select_copies_of(int descriptor) {
    allow_descriptors(256);
    FD_ZERO(&selected);
    for (int i = 0; i < SELECTED; i++) {
        const int copy = dup(descriptor);
        if (copy == -1) fail("cannot open %d descriptors: %s", SELECTED, strerror(errno));
        if (copy >= FD_SETSIZE) fail("descriptor %d is too large for select", copy);
        FD_SET(copy, &selected);
        if (copy >= select_below) select_below = copy + 1;
    }
    close(descriptor);
}

/* All 100 are asked for. (lmbench asks for those whose numbers are below 100, which are a few less.) */
static void select_ready(uint64_t operations) {
    for (uint64_t i = 0; i < operations; i++) {
        fd_set asked = selected;
        struct timeval at_once = {0, 0};
        const int ready = select(select_below, NULL, &asked, NULL, &at_once);
        if (ready != SELECTED) fail("select: %d of %d descriptors are ready", ready, SELECTED);
    }
}

static void before_select_file(void) { select_copies_of(unlinked_file(0)); }

/* A socket of this machine's loopback that listens on a port of the kernel's choice; its address goes to `at`. */
static int bound_socket(int type, struct sockaddr_in *at) {
    const int listener = (int)must(socket(AF_INET, type | SOCK_CLOEXEC, 0), "socket");
    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(listener, (struct sockaddr *)at, sizeof *at) == -1) {
        fail("no loopback interface (bind to 127.0.0.1: %s)", strerror(errno));
    }
    socklen_t length = sizeof *at;
    must(getsockname(listener, (struct sockaddr *)at, &length), "getsockname");
    if (type == SOCK_STREAM) must(listen(listener, 100), "listen");
    return listener;
}

static void connect_to(int client, const struct sockaddr_in *at) {
    if (connect(client, (const struct sockaddr *)at, sizeof *at) == -1) {
        fail("no loopback interface (connect to 127.0.0.1: %s)", strerror(errno));
    }
}

static void before_select_tcp(void) {
    struct sockaddr_in at;
    const int listener = bound_socket(SOCK_STREAM, &at);
    const int client = (int)must(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    connect_to(client, &at);
    /* Kept open to the end: the copies have to stay connected. */
    must(accept(listener, NULL, NULL), "accept");
    close(listener);
    select_copies_of(client);
}

static volatile sig_atomic_t signals_caught;

static void catch_signal(int number) {
    (void)number;
    signals_caught = 1;
}

static void install_handler(void) {
    struct sigaction action = {.sa_handler = catch_signal}, old;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGUSR1, &action, &old) == -1) fail("sigaction: %s", strerror(errno));
    KEEP(&old);
}

static void signal_install(uint64_t operations) {
    for (uint64_t i = 0; i < operations; i++) install_handler();
}

/* The time of sending so many signals 0 (a check without a delivery) or SIGUSR1 to this process. */
static uint64_t time_of_kills(uint64_t count, int number) {
    const pid_t self = getpid();
    const uint64_t begun = now_ns();
    for (uint64_t i = 0; i < count; i++) kill(self, number);
    return now_ns() - begun;
}

/* What a handler costs: a signal that is caught, less the call that sends it. */
static double time_of_handlers(uint64_t count) {
    const uint64_t sent_and_caught = time_of_kills(count, SIGUSR1);
    if (!signals_caught) fail("the signal handler was not called");
    return (double)sent_and_caught - (double)time_of_kills(count, 0);
}

static void signal_handle(uint64_t operations) { subtracting(operations, 16, time_of_handlers); }

static sigjmp_buf after_faults;
static volatile uint64_t faults_left;

static void catch_fault(int number) {
    (void)number;
    if (--faults_left == 0) siglongjmp(after_faults, 1);
}

static volatile char *protected_page;

static void before_protection_fault(void) {
    install_handler();
    const int file = unlinked_file(CHUNK_BYTES);
    void *const page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, file, 0);
    if (page == MAP_FAILED) fail("mmap: %s", strerror(errno));
    close(file);
    protected_page = page;
    KEEP(*protected_page);
    struct sigaction action = {.sa_handler = catch_fault};
    sigemptyset(&action.sa_mask);
    must(sigaction(SIGSEGV, &action, NULL), "sigaction");
    must(sigaction(SIGBUS, &action, NULL), "sigaction");
}

/* A store to a page that may only be read is repeated when the handler returns, and faults again. What a handler
 * costs in itself is measured as in the row above and subtracted, as lmbench does it. */
static double time_of_faults(uint64_t count) {
    faults_left = count;
    /* Static: what a jump leaves of a local variable is not defined. */
    static uint64_t time_begun;
    time_begun = now_ns();
    if (sigsetjmp(after_faults, 1) == 0) *protected_page = 1;
    const uint64_t ended = now_ns();
    if (faults_left) fail("a store to a protected page did not fault");
    return (double)(ended - time_begun) - time_of_handlers(count);
}

static void protection_fault(uint64_t operations) { subtracting(operations, 16, time_of_faults); }

#endif
