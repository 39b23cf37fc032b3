/* The process and what is around it: fork, spawn, libraries, names of hosts, the clock, the environment. */
#ifndef LIBC_PROCESS_H
#define LIBC_PROCESS_H

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <netdb.h>
#include <netinet/in.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#ifdef __GLIBC__
#include <nss.h>
#endif

#include "base.h"

static void reap(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) == -1) {
        if (errno != EINTR) fail("waitpid: %s", strerror(errno));
    }
    if (WIFSIGNALED(status)) fail("the child was ended by signal %d", WTERMSIG(status));
    /* 127 is also what posix_spawn leaves if it cannot report an error of exec, as under qemu without binfmt_misc. */
    if (WEXITSTATUS(status) != 0) fail("the child exited with status %d", WEXITSTATUS(status));
}

static void fork_wait(uint64_t n) {
    deadline();
    for (; n; n--) {
        const pid_t child = fork();
        if (child == 0) _exit(0);
        if (child == -1) fail("fork: %s", strerror(errno));
        reap(child);
    }
}

/* The program started is this one, so that how it is linked decides what its start costs: main sees this word and
 * returns. */
#define NOTHING_WORD "--nothing"
static char *own_path;

static void prepare_spawn(void) {
    own_path = block(PATH_MAX + 1);
    const ssize_t length = readlink("/proc/self/exe", own_path, PATH_MAX);
    if (length <= 0) fail("/proc/self/exe: %s", strerror(errno));
    own_path[length] = '\0';
}

static void spawn_wait(uint64_t n) {
    char word[] = NOTHING_WORD;
    char *const words[] = {own_path, word, NULL};
    deadline();
    for (; n; n--) {
        pid_t child = 0;
        const int error = posix_spawn(&child, own_path, NULL, NULL, words, environ);
        if (error) fail("posix_spawn of %s: %s", own_path, strerror(error));
        reap(child);
    }
}

/* Weak, because libdl is not always linked: before glibc 2.34 dlopen is in it. A static program on musl then has none,
 * and could only be told that it does not work. */
#pragma weak dlopen
#pragma weak dlsym
#pragma weak dlerror

/* As many libraries as are loaded in one process, each another file: musl never unloads one, so that loading one again
 * and again would compare nothing. */
enum { LIBRARIES = 100 };
static int libraries[LIBRARIES];

/* The smallest library with a symbol: no code, no relocations and no dependencies, so that it is the same on every
 * processor and C library, and what is left is to find, map and enter it. */
struct library {
    ElfW(Ehdr) header;
    ElfW(Phdr) segments[3];
    ElfW(Dyn) dynamic[6];
    ElfW(Sym) symbols[2];
    uint32_t hash[6];
    char strings[32];
    uint32_t value;
};
#define LIBRARY_SYMBOL "underpin_value"
#define LIBRARY_VALUE 0x600d1u

/* The kind of file, the processor and its flags are those of this program. */
static void read_own_header(ElfW(Ehdr) *header) {
    const int self = (int)must(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), "open of /proc/self/exe");
    if (read(self, header, sizeof *header) != (ssize_t)sizeof *header) fail("/proc/self/exe has no ELF header");
    close(self);
    header->e_type = ET_DYN;
    header->e_entry = 0;
    header->e_phoff = offsetof(struct library, segments);
    header->e_phnum = 3;
    header->e_shoff = 0;
    header->e_shnum = header->e_shstrndx = 0;
}

static void make_library(struct library *library) {
    *library = (struct library){
        .segments =
            {
                {.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_align = 65536},
                {.p_type = PT_DYNAMIC, .p_flags = PF_R | PF_W, .p_align = 8},
                /* Without it the stack would have to become executable. */
                {.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W, .p_align = 16},
            },
        .dynamic =
            {
                {.d_tag = DT_HASH, .d_un.d_ptr = offsetof(struct library, hash)},
                {.d_tag = DT_SYMTAB, .d_un.d_ptr = offsetof(struct library, symbols)},
                {.d_tag = DT_STRTAB, .d_un.d_ptr = offsetof(struct library, strings)},
                {.d_tag = DT_STRSZ, .d_un.d_val = sizeof library->strings},
                {.d_tag = DT_SYMENT, .d_un.d_val = sizeof(ElfW(Sym))},
            },
        /* One bucket, two symbols, the bucket's first, and the chain. */
        .hash = {1, 2, 1, 0, 0},
        .strings = "\0" LIBRARY_SYMBOL,
        .value = LIBRARY_VALUE,
    };
    read_own_header(&library->header);
    library->segments[0].p_filesz = library->segments[0].p_memsz = sizeof *library;
    library->segments[1].p_offset = library->segments[1].p_vaddr = offsetof(struct library, dynamic);
    library->segments[1].p_filesz = library->segments[1].p_memsz = sizeof library->dynamic;
    library->symbols[1].st_name = 1;
    library->symbols[1].st_info = STB_GLOBAL << 4 | STT_OBJECT;
    library->symbols[1].st_shndx = 1;
    library->symbols[1].st_value = offsetof(struct library, value);
    library->symbols[1].st_size = sizeof library->value;
}

static void prepare_libraries(void) {
    struct library library;
    if (!dlopen || !dlsym || !dlerror) fail("not supported: a static program, or linked without libdl, has no dlopen");
    make_library(&library);
    for (size_t i = 0; i < LIBRARIES; i++) {
        libraries[i] = (int)syscall(SYS_memfd_create, "library", 0);
        if (libraries[i] == -1) libraries[i] = fileno(scratch_file());
        const ssize_t written = write(libraries[i], &library, sizeof library);
        if (written != (ssize_t)sizeof library) fail("write of a library: %s", strerror(errno));
    }
}

static void load_libraries(uint64_t n) {
    for (size_t i = 0; i < n; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", libraries[i]);
        void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library) fail("not supported: %s", dlerror());
        const uint32_t *const value = dlsym(library, LIBRARY_SYMBOL);
        if (!value || *value != LIBRARY_VALUE) fail("dlsym found the wrong place");
    }
}

/* A line of /etc/hosts names localhost, so that no server is asked. */
static void prepare_hosts(void) {
    FILE *const hosts = fopen("/etc/hosts", "r");
    char line[1024];
    int is_there = 0;
    if (!hosts) fail("not supported: /etc/hosts: %s", strerror(errno));
    while (!is_there && fgets(line, sizeof line, hosts)) {
        is_there = strncmp(line, "127.", 4) == 0 && strstr(line, "localhost") != NULL;
    }
    fclose(hosts);
    if (!is_there) fail("not supported: /etc/hosts does not give localhost the address 127.0.0.1");
#ifdef __GLIBC__
    /* Not the services in front of it in /etc/nsswitch.conf either. */
    __nss_configure_lookup("hosts", "files");
#endif
}

static void resolve(uint64_t n, const char *name, int flags) {
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = flags};
    deadline();
    for (; n; n--) {
        struct addrinfo *found = NULL;
        const int error = getaddrinfo(HIDE(name), TEXT("80"), &hints, &found);
        if (error) fail("getaddrinfo of %s: %s", name, gai_strerror(error));
        const struct sockaddr_in *const address = (const struct sockaddr_in *)found->ai_addr;
        if (address->sin_port != htons(80)) fail("getaddrinfo of %s gives port %d", name, ntohs(address->sin_port));
        freeaddrinfo(found);
    }
}
WITH(resolve_localhost, resolve, "localhost", AI_NUMERICSERV)
WITH(resolve_numeric, resolve, "127.0.0.1", AI_NUMERICHOST | AI_NUMERICSERV)

static void read_clock(uint64_t n) {
    struct timespec now;
    for (; n; n--) {
        HIDE(&clock_gettime)(CLOCK_MONOTONIC, &now);
        KEEP(&now);
    }
}

/* An environment of its own, as large on every machine; the name asked for is its last. */
enum { VARIABLES = 32 };
static void prepare_environment(void) {
    clearenv();
    for (int i = 1; i <= VARIABLES; i++) {
        char name[32];
        snprintf(name, sizeof name, "UNDERPIN_NAME_%02d", i);
        if (setenv(name, "value", 1) != 0) fail("setenv: %s", strerror(errno));
    }
}

static void get_environment(uint64_t n) {
    for (; n; n--) {
        if (!HIDE(&getenv)(TEXT("UNDERPIN_NAME_32"))) fail("getenv is wrong");
    }
}

#endif
