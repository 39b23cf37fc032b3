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
__asm__(".text\nholes: .quad 0, 0, answer_dladdr - holes, answer_dlopen - holes, open - holes, 0, 0\n");
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

/* dlopen of the process. Before something is opened, the loader is told each name of a member: it follows the link of
 * that name to this file, which it knows by device and inode, and remembers the name. From then on it answers what is
 * opened, and what that needs, as it would have if the libraries had been loaded under these names. dlmopen in the first
 * namespace is glibc's dlopen by another name: under its own, a look-up would lead back here.
 *
 * Two threads may both come here first: each tells all names before it goes on, and to be told twice changes nothing. The
 * word is written last, and only if no name failed (too many open files). */
void *open(const char *file, int mode) {
    if (file && !__atomic_load_n(KNOWN, __ATOMIC_ACQUIRE)) {
        int all = 1;
        for (const char *name = NAMES; *name; name++) {
            if (!SLOTS->dlmopen(LM_ID_BASE, name, RTLD_LAZY | RTLD_NOLOAD)) all = 0;
            while (*name) name++;
        }
        if (all) __atomic_store_n(KNOWN, 1, __ATOMIC_RELEASE);
    }
    return SLOTS->dlmopen(LM_ID_BASE, file, mode & ~MODES ? 0 : mode);
}
