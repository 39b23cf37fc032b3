/* mimalloc as one translation unit, with the names of malloc's family as POSIX has them: upstream's own override
 * leaves errno unchanged if there is no memory. Where upstream reports an error, errno is set there, so that the way
 * to a free block pays nothing for it. Where it fails without a report (a product of two sizes that overflows), the
 * check is here. */

#ifdef AT_FIRST_USE
#include <stdint.h>
static uintptr_t underpin_main_thread(void);
static void underpin_process_is_ready(void);
#endif

#include "static.c"
#include <errno.h>

#ifdef AT_FIRST_USE
/* mimalloc starts when the program first asks for a block, by mi_thread_init, which each thread calls before its own first
 * block and which waits while another thread is in mi_process_init_once. Upstream's constructor starts it earlier, and
 * relies on that constructor's thread being the main one: tld_main and theap_main belong to it, and are never given back.
 * Here the first block may be another thread's, so the main thread's identity is kept from the constructor on; a thread
 * that has ended leaves its identity to the next one, which must not be taken for the owner of theap_main. */
static uintptr_t main_thread;

static uintptr_t underpin_main_thread(void) { return main_thread != 0 ? main_thread : _mi_prim_thread_id(); }

/* What upstream's constructor does after the start. Before it has run, it is left to attach. */
static void underpin_process_is_ready(void) {
    if (_mi_preloading()) return;
    mi_process_setup_auto_thread_done();
    _mi_thread_locals_init();
    _mi_options_post_init();
}

__attribute__((constructor(101))) static void attach(void) {
    main_thread = _mi_prim_thread_id();
    if (_mi_process_is_initialized) {
        _mi_auto_process_init(); /* the loader or another constructor has asked for a block */
    } else {
        os_preloading = false;
    }
}

__attribute__((destructor(101))) static void detach(void) { _mi_auto_process_done(); }
#endif

static void report(int error, void *unused) {
    (void)unused;
    mi_error_default(error);
    if (error == ENOMEM || error == EOVERFLOW) errno = ENOMEM;
}

/* Completes the tentative definition in options.c: there from the first allocation on. mi_register_error replaces it. */
static mi_error_fun *volatile mi_error_handler = report;

#define EXPORTED __attribute__((visibility("default")))
#define IS(name) __attribute__((visibility("default"), alias(#name)))

IS(mi_malloc) void *malloc(size_t);
IS(mi_realloc) void *realloc(void *, size_t);
IS(mi_posix_memalign) int posix_memalign(void **, size_t, size_t);
IS(mi_free) void free(void *);
IS(mi_free) void cfree(void *);
IS(mi_usable_size) size_t malloc_usable_size(void *);
IS(mi_good_size) size_t malloc_good_size(size_t);

static void *failed(int error) {
    errno = error;
    return NULL;
}

EXPORTED void *calloc(size_t count, size_t size) {
    size_t total;
    return __builtin_mul_overflow(count, size, &total) ? failed(ENOMEM) : mi_zalloc(total);
}

EXPORTED void *reallocarray(void *block, size_t count, size_t size) {
    size_t total;
    return __builtin_mul_overflow(count, size, &total) ? failed(ENOMEM) : mi_realloc(block, total);
}

/* ISO C and POSIX: EINVAL for an invalid alignment. */
static void *aligned(size_t alignment, size_t size) {
    const int is_power = alignment != 0 && (alignment & (alignment - 1)) == 0;
    return is_power ? mi_malloc_aligned(size, alignment) : failed(EINVAL);
}

EXPORTED void *aligned_alloc(size_t alignment, size_t size) { return aligned(alignment, size); }
EXPORTED void *memalign(size_t alignment, size_t size) { return aligned(alignment, size); }
EXPORTED void *valloc(size_t size) { return mi_malloc_aligned(size, _mi_os_page_size()); }

EXPORTED void *pvalloc(size_t size) {
    const size_t page = _mi_os_page_size();
    return size > PTRDIFF_MAX ? failed(ENOMEM) : mi_malloc_aligned(_mi_align_up(size, page), page);
}

/* C23. */
EXPORTED void free_sized(void *block, size_t size) {
    (void)size;
    mi_free(block);
}
EXPORTED void free_aligned_sized(void *block, size_t alignment, size_t size) {
    (void)alignment, (void)size;
    mi_free(block);
}
