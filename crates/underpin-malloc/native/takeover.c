/* Maps the names by which programs call an allocator that they bring (`_rjem_*`: Rust's tikv-jemallocator; `mi_*`:
 * mimalloc; `sn_*`: snmalloc-rs) to malloc and its relatives, so that Box, Vec and C's malloc are of one allocator.
 * Placed before the libraries, it answers for every name of theirs, and the linker has no reason to take their code.
 *
 * All of it is weak. If the allocator that is linked in has such a name itself (mimalloc's `mi_*`), its own counts;
 * and if a program calls a name that is not here, the linker takes the whole of the other allocator with all its
 * names, never half of it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEAK __attribute__((weak))

extern void *malloc(size_t), *calloc(size_t, size_t), *realloc(void *, size_t), *memalign(size_t, size_t);
extern void free(void *);
extern int posix_memalign(void **, size_t, size_t);
extern size_t malloc_usable_size(void *);
extern void *memset(void *, int, size_t), *memcpy(void *, const void *, size_t);
extern size_t strlen(const char *), strnlen(const char *, size_t);
extern char *realpath(const char *, char *);
extern int *__errno_location(void);
enum { NO_ENTRY = 2, OUT_OF_MEMORY = 12, INVALID = 22 };

static void *failed(int error) {
    *__errno_location() = error;
    return NULL;
}

/* Every block that malloc returns is aligned so. */
enum { ANY = _Alignof(max_align_t) };

static bool is_power(size_t alignment) { return alignment && !(alignment & (alignment - 1)); }

static void *allocate(size_t size, size_t alignment) { return alignment <= ANY ? malloc(size) : memalign(alignment, size); }

static void *allocate_zeroed(size_t size, size_t alignment) {
    if (alignment <= ANY) return calloc(1, size);
    void *block = memalign(alignment, size);
    return block ? memset(block, 0, size) : NULL;
}

static void *reallocate(void *block, size_t size, size_t alignment) {
    if (alignment <= ANY) return realloc(block, size);
    if (!block) return memalign(alignment, size);
    const size_t had = malloc_usable_size(block);
    /* In place if it fits and wastes little. */
    if ((uintptr_t)block % alignment == 0 && size <= had && size >= had / 2) return block;
    void *moved = memalign(alignment, size);
    if (!moved) return NULL;
    memcpy(moved, block, had < size ? had : size);
    free(block);
    return moved;
}

/* From here to the end of the block: what a later growth finds in it must be zeroes too. */
static void *zero_from(void *block, size_t from) {
    const size_t size = block ? malloc_usable_size(block) : 0;
    if (size > from) memset((char *)block + from, 0, size - from);
    return block;
}

/* ---- jemalloc: as documented in its manual, section "Non-standard API" ---- */

static size_t alignment_of(int flags) { return (size_t)1 << (flags & 63); }
enum { MALLOCX_ZERO = 0x40 };

WEAK void *mallocx(size_t size, int flags) {
    if (!(flags & MALLOCX_ZERO)) return allocate(size, alignment_of(flags));
    return zero_from(allocate_zeroed(size, alignment_of(flags)), size);
}

WEAK void *rallocx(void *block, size_t size, int flags) {
    const size_t had = flags & MALLOCX_ZERO ? malloc_usable_size(block) : 0;
    void *moved = reallocate(block, size, alignment_of(flags));
    return flags & MALLOCX_ZERO ? zero_from(moved, had) : moved;
}

/* "Resizes in place": never done, so the size stays what it is. */
WEAK size_t xallocx(void *block, size_t size, size_t extra, int flags) {
    (void)size, (void)extra, (void)flags;
    return malloc_usable_size(block);
}

WEAK size_t sallocx(const void *block, int flags) { return (void)flags, malloc_usable_size((void *)block); }
WEAK void dallocx(void *block, int flags) { (void)flags, free(block); }
WEAK void sdallocx(void *block, size_t size, int flags) { (void)size, (void)flags, free(block); }

/* The least that an allocation of this size has; 0 if there can be none. */
WEAK size_t nallocx(size_t size, int flags) {
    const size_t alignment = alignment_of(flags), rounded = (size + alignment - 1) & -alignment;
    return rounded < size || rounded > PTRDIFF_MAX ? 0 : rounded;
}

/* Nothing to control and nothing to tell: the answer is that of an unknown name. */
WEAK int mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size) {
    (void)name, (void)old, (void)old_size, (void)new, (void)new_size;
    return NO_ENTRY;
}
WEAK int mallctlnametomib(const char *name, size_t *mib, size_t *size) {
    return (void)name, (void)mib, (void)size, NO_ENTRY;
}
WEAK int mallctlbymib(const size_t *mib, size_t count, void *old, size_t *old_size, void *new, size_t new_size) {
    (void)mib, (void)count, (void)old, (void)old_size, (void)new, (void)new_size;
    return NO_ENTRY;
}
WEAK void malloc_stats_print(void (*write)(void *, const char *), void *opaque, const char *options) {
    (void)options;
    if (write) write(opaque, "This program was linked with another allocator in jemalloc's place.\n");
}

WEAK void free_sized(void *block, size_t size) { (void)size, free(block); }
WEAK void free_aligned_sized(void *block, size_t alignment, size_t size) { (void)alignment, (void)size, free(block); }

WEAK const char *_rjem_malloc_conf;
WEAK void (*_rjem_malloc_message)(void *, const char *);

WEAK void *_rjem_malloc(size_t size) { return malloc(size); }
WEAK void *_rjem_calloc(size_t count, size_t size) { return calloc(count, size); }
WEAK void *_rjem_realloc(void *block, size_t size) { return realloc(block, size); }
WEAK void _rjem_free(void *block) { free(block); }
WEAK void _rjem_free_sized(void *block, size_t size) { (void)size, free(block); }
WEAK void _rjem_free_aligned_sized(void *block, size_t alignment, size_t size) { (void)alignment, (void)size, free(block); }
WEAK int _rjem_posix_memalign(void **block, size_t alignment, size_t size) { return posix_memalign(block, alignment, size); }
WEAK void *_rjem_memalign(size_t alignment, size_t size) { return memalign(alignment, size); }
WEAK void *_rjem_aligned_alloc(size_t alignment, size_t size) {
    return is_power(alignment) ? memalign(alignment, size) : failed(INVALID);
}
WEAK void *_rjem_valloc(size_t size) { return memalign(4096, size); }
WEAK size_t _rjem_malloc_usable_size(void *block) { return malloc_usable_size(block); }
/* Through the names without prefix, so that jemalloc answers if it is the one that is linked in. */
WEAK void *_rjem_mallocx(size_t size, int flags) { return mallocx(size, flags); }
WEAK void *_rjem_rallocx(void *block, size_t size, int flags) { return rallocx(block, size, flags); }
WEAK size_t _rjem_xallocx(void *block, size_t size, size_t extra, int flags) { return xallocx(block, size, extra, flags); }
WEAK size_t _rjem_sallocx(const void *block, int flags) { return sallocx(block, flags); }
WEAK void _rjem_dallocx(void *block, int flags) { dallocx(block, flags); }
WEAK void _rjem_sdallocx(void *block, size_t size, int flags) { sdallocx(block, size, flags); }
WEAK size_t _rjem_nallocx(size_t size, int flags) { return nallocx(size, flags); }
WEAK int _rjem_mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size) {
    return mallctl(name, old, old_size, new, new_size);
}
WEAK int _rjem_mallctlnametomib(const char *name, size_t *mib, size_t *size) { return mallctlnametomib(name, mib, size); }
WEAK int _rjem_mallctlbymib(const size_t *mib, size_t count, void *old, size_t *old_size, void *new, size_t new_size) {
    return mallctlbymib(mib, count, old, old_size, new, new_size);
}
WEAK void _rjem_malloc_stats_print(void (*write)(void *, const char *), void *opaque, const char *options) {
    malloc_stats_print(write, opaque, options);
}

/* ---- snmalloc: src/lib.rs of snmalloc-sys ---- */

WEAK void *sn_rust_alloc(size_t alignment, size_t size) { return allocate(size, alignment); }
WEAK void *sn_rust_alloc_zeroed(size_t alignment, size_t size) { return allocate_zeroed(size, alignment); }
WEAK void sn_rust_dealloc(void *block, size_t alignment, size_t size) { (void)alignment, (void)size, free(block); }
WEAK void *sn_rust_realloc(void *block, size_t alignment, size_t old_size, size_t size) {
    return (void)old_size, reallocate(block, size, alignment);
}
WEAK size_t sn_rust_usable_size(const void *block) { return malloc_usable_size((void *)block); }
/* Not known. */
WEAK void sn_rust_statistics(size_t *current, size_t *peak) { *current = *peak = 0; }
WEAK void *sn_malloc(size_t size) { return malloc(size); }
WEAK void *sn_calloc(size_t count, size_t size) { return calloc(count, size); }
WEAK void *sn_realloc(void *block, size_t size) { return realloc(block, size); }
WEAK void sn_free(void *block) { free(block); }
WEAK size_t sn_malloc_usable_size(const void *block) { return malloc_usable_size((void *)block); }

/* ---- mimalloc: mimalloc.h; what libmimalloc-sys declares, for versions 2 and 3 ---- */

static bool product(size_t count, size_t size, size_t *total) { return !__builtin_mul_overflow(count, size, total); }

/* A block whose byte `offset` is aligned: possible here where the offset is itself a multiple. */
static bool aligns(size_t alignment, size_t offset) { return is_power(alignment) && offset % alignment == 0; }

static void *regrow_zeroed(void *block, size_t size, size_t alignment) {
    const size_t had = block ? malloc_usable_size(block) : 0;
    return zero_from(reallocate(block, size, alignment), had);
}

#define ALIGNED(call, offset) (aligns(alignment, offset) ? (call) : failed(INVALID))
#define PRODUCT(call) (product(count, size, &total) ? (call) : failed(OUT_OF_MEMORY))

/* Each function once plain and once with the heap that it is for, of which there is only one. */
#define PLAIN(type, name, parameters, code) WEAK type mi_##name parameters { code }
#define HEAP(type, name, parameters, code) WEAK type mi_heap_##name parameters { (void)heap; code }

#define PAIR(name, heap_parameters, parameters, code) \
    PLAIN(void *, name, parameters, code) \
    HEAP(void *, name, heap_parameters, code)
#define WITH(...) (void *heap, __VA_ARGS__)
#define OPEN(...) (__VA_ARGS__)

PAIR(malloc, WITH(size_t size), OPEN(size_t size), return malloc(size);)
PAIR(malloc_small, WITH(size_t size), OPEN(size_t size), return malloc(size);)
PAIR(zalloc, WITH(size_t size), OPEN(size_t size), return zero_from(calloc(1, size), size);)
PAIR(zalloc_small, WITH(size_t size), OPEN(size_t size), return zero_from(calloc(1, size), size);)
PAIR(calloc, WITH(size_t count, size_t size), OPEN(size_t count, size_t size),
     size_t total; return PRODUCT(zero_from(calloc(1, total), total));)
PAIR(mallocn, WITH(size_t count, size_t size), OPEN(size_t count, size_t size),
     size_t total; return PRODUCT(malloc(total));)
PAIR(realloc, WITH(void *block, size_t size), OPEN(void *block, size_t size), return realloc(block, size ? size : 1);)
PAIR(reallocn, WITH(void *block, size_t count, size_t size), OPEN(void *block, size_t count, size_t size),
     size_t total; return PRODUCT(realloc(block, total ? total : 1));)
PAIR(reallocf, WITH(void *block, size_t size), OPEN(void *block, size_t size),
     void *moved = realloc(block, size ? size : 1); if (!moved) free(block); return moved;)
PAIR(rezalloc, WITH(void *block, size_t size), OPEN(void *block, size_t size), return regrow_zeroed(block, size, 1);)
PAIR(recalloc, WITH(void *block, size_t count, size_t size), OPEN(void *block, size_t count, size_t size),
     size_t total; return PRODUCT(regrow_zeroed(block, total, 1));)
PAIR(malloc_aligned, WITH(size_t size, size_t alignment), OPEN(size_t size, size_t alignment),
     return ALIGNED(allocate(size, alignment), 0);)
PAIR(malloc_aligned_at, WITH(size_t size, size_t alignment, size_t offset), OPEN(size_t size, size_t alignment, size_t offset),
     return ALIGNED(allocate(size, alignment), offset);)
PAIR(zalloc_aligned, WITH(size_t size, size_t alignment), OPEN(size_t size, size_t alignment),
     return ALIGNED(zero_from(allocate_zeroed(size, alignment), size), 0);)
PAIR(zalloc_aligned_at, WITH(size_t size, size_t alignment, size_t offset), OPEN(size_t size, size_t alignment, size_t offset),
     return ALIGNED(zero_from(allocate_zeroed(size, alignment), size), offset);)
PAIR(calloc_aligned, WITH(size_t count, size_t size, size_t alignment), OPEN(size_t count, size_t size, size_t alignment),
     size_t total; return ALIGNED(PRODUCT(zero_from(allocate_zeroed(total, alignment), total)), 0);)
PAIR(calloc_aligned_at, WITH(size_t count, size_t size, size_t alignment, size_t offset),
     OPEN(size_t count, size_t size, size_t alignment, size_t offset),
     size_t total; return ALIGNED(PRODUCT(zero_from(allocate_zeroed(total, alignment), total)), offset);)
PAIR(realloc_aligned, WITH(void *block, size_t size, size_t alignment), OPEN(void *block, size_t size, size_t alignment),
     return ALIGNED(reallocate(block, size ? size : 1, alignment), 0);)
PAIR(realloc_aligned_at, WITH(void *block, size_t size, size_t alignment, size_t offset),
     OPEN(void *block, size_t size, size_t alignment, size_t offset),
     return ALIGNED(reallocate(block, size ? size : 1, alignment), offset);)
PAIR(rezalloc_aligned, WITH(void *block, size_t size, size_t alignment), OPEN(void *block, size_t size, size_t alignment),
     return ALIGNED(regrow_zeroed(block, size, alignment), 0);)
PAIR(rezalloc_aligned_at, WITH(void *block, size_t size, size_t alignment, size_t offset),
     OPEN(void *block, size_t size, size_t alignment, size_t offset),
     return ALIGNED(regrow_zeroed(block, size, alignment), offset);)
PAIR(recalloc_aligned, WITH(void *block, size_t count, size_t size, size_t alignment),
     OPEN(void *block, size_t count, size_t size, size_t alignment),
     size_t total; return ALIGNED(PRODUCT(regrow_zeroed(block, total, alignment)), 0);)
PAIR(recalloc_aligned_at, WITH(void *block, size_t count, size_t size, size_t alignment, size_t offset),
     OPEN(void *block, size_t count, size_t size, size_t alignment, size_t offset),
     size_t total; return ALIGNED(PRODUCT(regrow_zeroed(block, total, alignment)), offset);)

static char *copied(const char *text, size_t length) {
    char *copy = malloc(length + 1);
    if (!copy) return NULL;
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}
PAIR(strdup, WITH(const char *text), OPEN(const char *text), return text ? copied(text, strlen(text)) : NULL;)
PAIR(strndup, WITH(const char *text, size_t most), OPEN(const char *text, size_t most),
     return text ? copied(text, strnlen(text, most)) : NULL;)
PAIR(realpath, WITH(const char *path, char *resolved), OPEN(const char *path, char *resolved), return realpath(path, resolved);)

WEAK void *mi_expand(void *block, size_t size) { return block && size <= malloc_usable_size(block) ? block : NULL; }
WEAK int mi_posix_memalign(void **block, size_t alignment, size_t size) { return posix_memalign(block, alignment, size); }
WEAK void *mi_memalign(size_t alignment, size_t size) { return ALIGNED(memalign(alignment, size), 0); }
WEAK void *mi_aligned_alloc(size_t alignment, size_t size) { return ALIGNED(memalign(alignment, size), 0); }
WEAK void mi_free(void *block) { free(block); }
WEAK void mi_cfree(void *block) { free(block); }
WEAK void mi_free_small(void *block) { free(block); }
WEAK void mi_free_size(void *block, size_t size) { (void)size, free(block); }
WEAK void mi_free_aligned(void *block, size_t alignment) { (void)alignment, free(block); }
WEAK void mi_free_size_aligned(void *block, size_t size, size_t alignment) { (void)size, (void)alignment, free(block); }
WEAK size_t mi_usable_size(const void *block) { return malloc_usable_size((void *)block); }
WEAK size_t mi_malloc_size(const void *block) { return malloc_usable_size((void *)block); }
WEAK size_t mi_malloc_usable_size(const void *block) { return malloc_usable_size((void *)block); }
WEAK size_t mi_good_size(size_t size) { return size; }

/* Heaps: one stands for all. What was allocated in a heap that is destroyed stays until it is freed. */
static char the_heap;
WEAK void *mi_heap_new(void) { return &the_heap; }
WEAK void mi_heap_delete(void *heap) { (void)heap; }
WEAK void mi_heap_destroy(void *heap) { (void)heap; }
WEAK void *mi_heap_set_default(void *heap) { return (void)heap, &the_heap; }
WEAK void *mi_heap_get_default(void) { return &the_heap; }
WEAK void *mi_heap_get_backing(void) { return &the_heap; }
WEAK void mi_heap_collect(void *heap, bool force) { (void)heap, (void)force; }
WEAK bool mi_heap_contains_block(void *heap, const void *block) { return (void)heap, block != NULL; }
WEAK bool mi_heap_check_owned(void *heap, const void *block) { return (void)heap, block != NULL; }
WEAK bool mi_check_owned(const void *block) { return block != NULL; }
WEAK bool mi_is_in_heap_region(const void *block) { return block != NULL; }
WEAK bool mi_heap_visit_blocks(const void *heap, bool blocks, void *visit, void *argument) {
    return (void)heap, (void)blocks, (void)visit, (void)argument, false;
}

/* Statistics, options and callbacks: nothing to tell, nothing to set. */
WEAK int mi_version(void) { return 0; }
WEAK void mi_collect(bool force) { (void)force; }
WEAK void mi_process_init(void) {}
WEAK void mi_thread_init(void) {}
WEAK void mi_thread_done(void) {}
WEAK void mi_stats_print(void *out) { (void)out; }
WEAK void mi_stats_print_out(void *out, void *argument) { (void)out, (void)argument; }
WEAK void mi_thread_stats_print_out(void *out, void *argument) { (void)out, (void)argument; }
WEAK void mi_stats_reset(void) {}
WEAK void mi_stats_merge(void) {}
WEAK char *mi_stats_get_json(size_t size, char *buffer) { return (void)size, (void)buffer, NULL; }
WEAK void mi_process_info(size_t *elapsed, size_t *user, size_t *system, size_t *rss, size_t *peak_rss, size_t *commit,
                          size_t *peak_commit, size_t *faults) {
    size_t *const figures[] = { elapsed, user, system, rss, peak_rss, commit, peak_commit, faults };
    for (size_t at = 0; at < sizeof figures / sizeof *figures; at++)
        if (figures[at]) *figures[at] = 0;
}
WEAK void mi_register_output(void *out, void *argument) { (void)out, (void)argument; }
WEAK void mi_register_deferred_free(void *function, void *argument) { (void)function, (void)argument; }
WEAK void mi_register_error(void *function, void *argument) { (void)function, (void)argument; }
WEAK bool mi_option_is_enabled(int option) { return (void)option, false; }
WEAK void mi_option_set_enabled(int option, bool value) { (void)option, (void)value; }
WEAK void mi_option_set_enabled_default(int option, bool value) { (void)option, (void)value; }
WEAK void mi_option_enable(int option) { (void)option; }
WEAK void mi_option_disable(int option) { (void)option; }
WEAK long mi_option_get(int option) { return (void)option, 0; }
WEAK void mi_option_set(int option, long value) { (void)option, (void)value; }
WEAK void mi_option_set_default(int option, long value) { (void)option, (void)value; }
