/* What members of a fused file call as dladdr(3) and dlopen(3), and what the whole process calls as dlopen(3). The bytes
 * beside this file are its code:
 *
 *     gcc -Os -fPIC -ffreestanding -fno-toplevel-reorder -fno-stack-protector -fno-asynchronous-unwind-tables \
 *         -fno-jump-tables -fcf-protection=branch -c answers.c && objcopy -O binary -j .text answers.o answers.x86_64
 *     aarch64-linux-gnu-gcc -Os -fPIC -ffreestanding -fno-toplevel-reorder -fno-stack-protector \
 *         -fno-asynchronous-unwind-tables -mcmodel=tiny -mbranch-protection=bti -c answers.c && \
 *         aarch64-linux-gnu-objcopy -O binary -j .text answers.o answers.aarch64
 *
 * It has no relocations and no data of its own: the writer of the file fills in the words that are 0 here. All functions
 * end with a jump, because glibc takes the caller of dlopen from the return address (its DT_RUNPATH is searched). */

typedef unsigned long u64;
typedef long i64;
typedef unsigned u32;

struct info { const char *file; const void *base; const char *name; const void *address; };
struct symbol { u32 name; unsigned char info, other; unsigned short section; u64 value, size; };
/* Distances from the table: the memory of a member, its address 0, its symbols and their names; which of the symbols
 * can be found, the strings of its path, its path without links and the name that it is opened by (0: none), and the
 * size of the names. */
struct member { i64 low, high, base, symbols, strings; u32 first, end, path, real, name, size; };
/* glibc's own, dlopen but for what the process has in its place. */
struct slots {
    int (*dladdr)(const void *, struct info *);
    void *(*dlopen)(const char *, int);
    void *(*dlmopen)(long, const char *, int);
};

/* Distances from here: the table, the slots, the functions, the names, the word that says that the loader knows them. */
__asm__(".text\nholes: .quad 0, 0, answer_dladdr - holes, answer_dlopen - holes, open - holes, 0, 0\n"
        /* What is glibc's or always shared, and needs nothing else. */
        "own: .asciz \"libc.so.6\", \"libm.so.6\", \"libpthread.so.0\", \"libdl.so.2\", \"librt.so.1\", \"libgcc_s.so.1\", \"\"\n"
        ".balign 16\n");
extern const char own[] __attribute__((visibility("hidden")));
extern const i64 holes[7] __attribute__((visibility("hidden")));
#define TABLE ((const char *)holes + holes[0])
#define SLOTS ((const struct slots *)((const char *)holes + holes[1]))
#define NAMES ((const char *)holes + holes[5])
#define KNOWN ((int *)((const char *)holes + holes[6]))

/* <dlfcn.h> of glibc. */
#define LM_ID_BASE 0
#define RTLD_LAZY 1
#define RTLD_NOLOAD 4
/* The bits that glibc's dlopen takes (`dlopen_doit`); dlmopen takes others for its own. */
#define MODES 0x4000110f

/* `determine_info` of glibc's elf/dl-addr.c over the member's own tables: of the symbols that contain the address the
 * first one of those that begin last. */
int answer_dladdr(const void *address, struct info *info) {
    const char *table = TABLE;
    u64 count = *(const u64 *)table;
    i64 at = (const char *)address - table;
    for (const struct member *m = (const void *)(table + 8); count--; m++) {
        if (at < m->low || at >= m->high) continue;
        info->file = table + m->path;
        info->base = table + m->low;
        info->name = 0;
        info->address = 0;
        u64 value = at - m->base, best = 0;
        const struct symbol *s = (const struct symbol *)(table + m->symbols) + m->first;
        for (u32 n = m->first; n < m->end; n++, s++) {
            /* Absolute, undefined, thread-local, local. */
            if (s->section == 0xfff1 || !(s->section | s->value) || (s->info & 15) == 6 || !(s->info >> 4)) continue;
            if (value < s->value || s->name >= m->size) continue;
            if ((value != s->value || (s->section && s->size)) && value - s->value >= s->size) continue;
            if (info->name && s->value <= best) continue;
            best = s->value;
            info->name = table + m->strings + s->name;
            info->address = table + m->base + s->value;
        }
        return 1;
    }
    return SLOTS->dladdr(address, info);
}

static int same(const char *a, const char *b) {
    while (*a == *b) {
        if (!*a) return 1;
        a++;
        b++;
    }
    return 0;
}

/* The path of a member becomes its name, by which the loader knows the fused file. */
void *answer_dlopen(const char *file, int mode) {
    const char *table = TABLE;
    u64 count = *(const u64 *)table;
    if (file && *file == '/') {
        for (const struct member *m = (const void *)(table + 8); count--; m++) {
            if (m->name && (same(file, table + m->path) || same(file, table + m->real))) {
                file = table + m->name;
                break;
            }
        }
    }
    return SLOTS->dlopen(file, mode);
}

#ifdef __x86_64__
enum { OPENAT = 257, PREAD = 17, CLOSE = 3 };
static long call(long number, long a, long b, long c, long d) {
    register long r10 __asm__("r10") = d;
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return result;
}
#else
enum { OPENAT = 56, PREAD = 67, CLOSE = 57 };
static long call(long number, long a, long b, long c, long d) {
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
}
#endif

struct head {
    u32 magic; unsigned char class, rest[27]; u64 segments;
    unsigned char more[14]; unsigned short size, count;
};
struct segment { u32 kind, flags; u64 offset, address, physical, file, memory, align; };
struct entry { u64 tag, value; };
enum { HEAD = 832, ENTRIES = 64, NEEDED = 8 };

/* Whether what an open file needs may have an old name of a member, or need what has: all but a list of libraries that are
 * never members and need none. What is not understood may. */
static int asks(long file) {
    union { struct head head; char bytes[HEAD]; } h;
    struct entry dynamic[ENTRIES];
    u64 needed[NEEDED], strings = 0;
    u32 count = 0;
    long read = call(PREAD, file, (long)&h, sizeof h, 0);
    if (read < (long)sizeof h.head || h.head.magic != 0x464c457f || h.head.class != 2) return 1;
    const struct segment *first = (const void *)(h.bytes + h.head.segments), *s;
    if (h.head.size != sizeof *s || h.head.segments > HEAD
        || h.head.segments + h.head.count * sizeof *s > (u64)read) return 1;
    const struct segment *end = first + h.head.count;
    for (s = first; s < end && s->kind != 2; s++) {}
    if (s == end || s->file > sizeof dynamic) return 1;
    read = call(PREAD, file, (long)dynamic, s->file, s->offset);
    if (read != (long)s->file) return 1;
    for (const struct entry *e = dynamic; e < dynamic + s->file / sizeof *e && e->tag; e++) {
        if (e->tag == 5) strings = e->value;
        /* DT_AUXILIARY, DT_FILTER. */
        if (e->tag == 0x7ffffffd || e->tag == 0x7fffffff) return 1;
        if (e->tag != 1) continue;
        if (count == NEEDED) return 1;
        needed[count++] = e->value;
    }
    for (s = first; s < end && (s->kind != 1 || strings - s->address >= s->file); s++) {}
    if (s == end) return 1;
    strings += s->offset - s->address;
    while (count--) {
        char name[16];
        if (call(PREAD, file, (long)name, sizeof name, strings + needed[count]) < 1) return 1;
        name[sizeof name - 1] = 0;
        const char *o = own;
        while (*o && !same(o, name)) while (*o++) {}
        if (!*o) return 1;
    }
    return 0;
}

/* The same of a file that is about to be opened. Only a path leads to one that can be looked at: other names are searched
 * for, and `$` begins a token. */
static int may_ask(const char *path) {
    int is_path = 0;
    for (const char *c = path; *c; c++) {
        if (*c == '$') return 1;
        if (*c == '/') is_path = 1;
    }
    if (!is_path) return 1;
    /* AT_FDCWD, O_CLOEXEC. */
    long file = call(OPENAT, -100, (long)path, 02000000, 0);
    /* ENOENT: nothing will be opened. */
    if (file < 0) return file != -2;
    int result = asks(file);
    call(CLOSE, file, 0, 0, 0);
    return result;
}

/* dlopen of the process. Before something is opened that may ask for a member, the loader is told each name of one: it
 * follows the link of that name to this file, which it knows by device and inode, and remembers the name. From then on it
 * answers what is opened, and what that needs, as it would have if the libraries had been loaded under these names.
 * Modules that need libc alone, of which Emacs opens 85 at each start, are not worth that. dlmopen in the first namespace
 * is glibc's dlopen by another name: under its own, a look-up would lead back here.
 *
 * Two threads may both come here first: each tells all names before it goes on, and to be told twice changes nothing. The
 * word is written last, and only if no name failed (too many open files). */
void *open(const char *file, int mode) {
    if (file && !__atomic_load_n(KNOWN, __ATOMIC_ACQUIRE) && may_ask(file)) {
        int all = 1;
        for (const char *name = NAMES; *name; name++) {
            if (!SLOTS->dlmopen(LM_ID_BASE, name, RTLD_LAZY | RTLD_NOLOAD)) all = 0;
            while (*name) name++;
        }
        if (all) __atomic_store_n(KNOWN, 1, __ATOMIC_RELEASE);
    }
    return SLOTS->dlmopen(LM_ID_BASE, file, mode & ~MODES ? 0 : mode);
}
