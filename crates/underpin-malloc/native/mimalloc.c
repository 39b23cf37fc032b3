/* mimalloc as one translation unit, with the names of malloc's family as POSIX has them: upstream's own override
 * leaves errno unchanged if there is no memory. Where upstream reports an error, errno is set there, so that the way
 * to a free block pays nothing for it. Where it fails without a report (a product of two sizes that overflows), the
 * check is here. */

#define _GNU_SOURCE /* mremap */
#include <stddef.h>
#include <stdint.h>
#ifdef AT_FIRST_USE
static uintptr_t underpin_main_thread(void);
static void underpin_process_is_ready(void);
struct mi_theap_s;
struct mi_tld_s;
struct mi_heap_s;
static struct mi_theap_s *underpin_make_main(struct mi_theap_s *, struct mi_tld_s *, struct mi_heap_s *);
static struct mi_theap_s *underpin_no_heap(void);
static int underpin_is_no_heap(const struct mi_theap_s *);
/* Relocated constants have pages of their own, to be made read-only; this one's are then relocated beside other data. */
#define UNDERPIN_RELOCATED __attribute__((section(".data.underpin")))
/* Linkers put the zeros of this section behind all others: large data's, of which x86-64 alone has a name. */
#ifdef __x86_64__
#define UNDERPIN_BEHIND __attribute__((section(".lbss.underpin")))
#else
#define UNDERPIN_BEHIND
#endif
#define UNDERPIN_PAGE __attribute__((aligned(4096)))
#endif
#ifdef MUCH_GOES_BACK_AT_ONCE
struct mi_subproc_s;
struct mi_arena_s;
static void underpin_taken(struct mi_arena_s *, size_t first, size_t count);
static void underpin_freed(struct mi_subproc_s *, size_t slices, size_t bytes, size_t block);
static int underpin_may_wait(int64_t overdue);
static size_t underpin_part(struct mi_arena_s *, size_t first, size_t count);
static int underpin_goes_on(size_t bytes);
static int underpin_withdraws(void *start, size_t bytes);
static void underpin_offers(size_t bytes);
#endif

static void underpin_huge_pages(void *start, size_t bytes);

/* Of a block, in bytes, whose page does not begin where its slices do. */
enum { UNDERPIN_LARGE = 16 << 10 };
static size_t underpin_start(size_t start, size_t block, size_t bytes, const void *slices);

struct mi_theap_s;
struct mi_page_s;
static void *underpin_grown(struct mi_theap_s *, struct mi_page_s *, void *block, size_t size, size_t wanted);
static size_t underpin_room(size_t size, size_t wanted);
static int underpin_alone(void);
struct mi_arena_s;
static int underpin_claimed(struct mi_arena_s *, size_t *first, size_t count, size_t place);

#include "static.c"
#include <errno.h>

/* Of this thread's next block: whether it is to have a mapping of its own, and if not 1, how far behind its page's record it
 * begins. Not more than a slice; that and the number of a slice take 32 bits each, since musl has room for few thread-local
 * variables without a mapping of their own (crates/underpin/tests/build_start.rs). */
static _Thread_local uint32_t alone_at;

static int underpin_alone(void) { return alone_at != 0; }

/* Not 0: the only slice at which this thread's next range of an arena may begin. */
static _Thread_local uint32_t extends_at;

/* A map of slices lets go of so many bits of one chunk at once. */
static int underpin_claimed(mi_arena_t *arena, size_t *first, size_t count, size_t place) {
    if (extends_at == 0) return mi_bbitmap_try_find_and_clearN(arena->slices_free, place, count, first);
    size_t at = *first = extends_at;
    const size_t end = at + count;
    while (at < end) {
        const size_t chunk = (at / MI_BCHUNK_BITS + 1) * MI_BCHUNK_BITS, part = (chunk < end ? chunk : end) - at;
        if (!mi_bbitmap_try_clearNC(arena->slices_free, at, part)) break;
        at += part;
    }
    if (at < end && at > *first) mi_bbitmap_setN(arena->slices_free, *first, at - *first);
    return at == end;
}

/* Where the first block of a page begins: as upstream has it, or up to 64 lines of a cache behind that if there is room, so many
 * for one slice of addresses and so many for another. It costs at most one block of a page, in addresses. */
static size_t underpin_start(size_t start, size_t block, size_t bytes, const void *slices) {
    enum { LINE = 64, PLACE_BITS = 6 };
    if (block < UNDERPIN_LARGE) return start;
    if (alone_at > 1 && alone_at >= start && alone_at - start <= bytes - start - block) return alone_at;
    /* Fibonacci hashing (Knuth, The Art of Computer Programming 6.4): neighbours, and each eighth too, are far apart. */
    const uint64_t hash = (uint64_t)((uintptr_t)slices / MI_ARENA_SLICE_SIZE) * 0x9E3779B97F4A7C15u;
    const size_t behind = (size_t)(hash >> (64 - PLACE_BITS)) * LINE, room = bytes - start - block;
    return start + (behind <= room ? behind : room / LINE * LINE);
}

/* What the kernel refuses, such as huge pages that it does not have, is no error of an allocation. */
static void underpin_advise(char *start, size_t bytes, int advice) {
    const int before = errno;
    if (bytes != 0) madvise(start, bytes, advice);
    errno = before;
}

/* mimalloc copies a block that grows, each time. One that grows by less than a half gets half as much again as it had, in addresses:
 * what nothing was stored to is no memory. */
enum { GROWS_AHEAD = 128 << 10 };

static size_t underpin_room(size_t size, size_t wanted) {
    const size_t ahead = size + size / 2;
    return size < GROWS_AHEAD || wanted >= ahead ? wanted : ahead;
}

/* A block that has a mapping of its own grows where it is, or the kernel moves its pages, as it does for glibc and musl. Of a page
 * that has moved away as much is left as mimalloc still takes for a block without neighbours; so much is copied. In arenas what was
 * freed is taken again without page faults, and all the more where they are huge pages: there a block leaves them late. */
#ifdef MUCH_GOES_BACK_AT_ONCE
enum { GROWS_ALONE = 4 << 20, LEAVES_NOTHING = 16 << 20 };
#else
enum { GROWS_ALONE = 16 << 20, LEAVES_NOTHING = 0 };
#endif
enum { COPIED = MI_LARGE_MAX_OBJ_SIZE + 2 * MI_ARENA_SLICE_SIZE };

static int has_own_mapping(const mi_page_t *page) {
    return page->memid.memkind == MI_MEM_OS && !page->memid.is_pinned && page->memid.mem.os.base == (void *)page
           && page->reserved == 1 && page->memid.mem.os.size > 2 * COPIED;
}

/* While the pages move there are no addresses here that another thread could not be given: until then nothing may say that they
 * belong to `from` or `to`. If it fails, `to` has lost what was mapped there. */
static void *moved(mi_page_t *from, mi_page_t *to, size_t behind) {
    const size_t left = from->memid.mem.os.size - COPIED, made = to->memid.mem.os.size - COPIED;
    char *const before = (char *)from + COPIED, *const after = (char *)to + COPIED;
    memcpy((char *)to + behind, (char *)from + behind, COPIED - behind);
    _mi_page_map_unregister(from);
    _mi_page_map_unregister(to);
    const int is_moved = mremap(before, left, made, MREMAP_MAYMOVE | MREMAP_FIXED, after) != MAP_FAILED;
    mi_page_t *const rest = is_moved ? from : to;
    rest->block_size = COPIED - behind;
    rest->memid.mem.os.size = COPIED;
    /* Their parts of the map are there. */
    (void)!_mi_page_map_register(from), (void)!_mi_page_map_register(to);
    mi_free((char *)rest + behind);
    return is_moved ? (char *)to + behind : NULL;
}

static void *alone(mi_theap_t *theap, size_t size, uint32_t begins) {
    alone_at = begins;
    void *const block = mi_theap_malloc(theap, size);
    alone_at = 0;
    return block;
}

/* What is as large and grows will not be as small again soon: what has been copied goes back, so that it is never there twice. */
static void copy(char *to, char *from, size_t size) {
    enum { PART = 1 << 20 };
    const int leaves_nothing = LEAVES_NOTHING != 0 && size >= LEAVES_NOTHING;
    const size_t first = (size_t)(_mi_align_up((uintptr_t)from, MI_ARENA_SLICE_SIZE) - (uintptr_t)from);
    memcpy(to, from, first);
    for (size_t at = first; at < size; at += PART) {
        const size_t part = size - at < PART ? size - at : PART;
        memcpy(to + at, from + at, part);
        if (leaves_nothing && part == PART) underpin_advise(from + at, PART, MADV_DONTNEED);
    }
}

static void *copied(mi_theap_t *theap, void *block, size_t size, size_t room) {
    void *const other = alone(theap, room, 1);
    if (other == NULL) return NULL;
    copy(other, block, size);
    mi_free(block);
    return other;
}

/* Whether the map of pages has room for a block of another size. */
static int resized(mi_page_t *page, size_t bytes) {
    const size_t before = page->block_size;
    page->block_size = bytes;
    if (_mi_page_map_register(page)) return 1;
    page->block_size = before;
    (void)!_mi_page_map_register(page);
    return 0;
}

/* What lies behind the block in its arena is taken, if nobody has it. */
static int extended(mi_page_t *page, size_t behind, size_t bytes) {
    size_t first, count;
    mi_arena_t *const arena = mi_arena_from_memid(page->memid, &first, &count);
    const size_t has = mi_size_of_slices(count);
    if (bytes <= has) return resized(page, has - behind);
    const size_t more = mi_slice_count_of_size(bytes - has);
    if (first + count + more > arena->slice_count) return 0;
    mi_memid_t memid;
    extends_at = (uint32_t)(first + count);
    void *const start = mi_arena_try_alloc_at(arena, more, true, 0, &memid);
    extends_at = 0;
    if (start == NULL) return 0;
    if (resized(page, bytes - behind)) {
        page->memid.mem.arena.slice_count += more;
        return 1;
    }
    _mi_arenas_free(start, mi_size_of_slices(more), memid);
    return 0;
}

enum growth { GREW, CAN_MOVE, IS_COPIED };

/* What the program has made several mappings of, the kernel does not move as one. Of a block that was moved here, what was copied is a
 * mapping of its own. */
static enum growth grow_mapping(mi_page_t *page, size_t behind, size_t bytes) {
    const size_t before = page->memid.mem.os.size;
    char *const last = (char *)page + COPIED;
    const int error = errno;
    if (mremap(last, before - COPIED, bytes - COPIED, 0) == MAP_FAILED) {
        const int has_no_room = errno == ENOMEM;
        errno = error;
        return has_no_room ? CAN_MOVE : IS_COPIED;
    }
    if (resized(page, bytes - behind)) {
        page->memid.mem.os.size = bytes;
        return GREW;
    }
    mremap(last, bytes - COPIED, before - COPIED, 0);
    return IS_COPIED;
}

/* The block where it is or elsewhere, or NULL: it is as it was. Nobody but its user reads the record of a page that is full and whose
 * thread has left it, as mimalloc leaves those of this size. */
static void *underpin_grown(mi_theap_t *theap, mi_page_t *page, void *block, size_t size, size_t wanted) {
    if (size <= MI_LARGE_MAX_OBJ_SIZE || wanted > PTRDIFF_MAX / 2 || page->reserved != 1) return NULL;
    const size_t behind = (size_t)((uint8_t *)block - mi_page_slice_start(page));
    const mi_threadid_t owner = mi_page_thread_id(page);
    if (block != mi_page_start(page) || behind >= MI_ARENA_SLICE_SIZE) return NULL;
    if ((owner != 0 && owner != _mi_thread_id()) || mi_page_heap(page) != _mi_theap_heap(theap)) return NULL;
    const size_t bytes = _mi_align_up(behind + wanted, MI_ARENA_SLICE_SIZE), room = underpin_room(size, wanted);
    if (page->memid.memkind == MI_MEM_ARENA && extended(page, behind, bytes)) return block;
    if (wanted < GROWS_ALONE) return NULL;
    const enum growth growth = has_own_mapping(page) ? grow_mapping(page, behind, bytes) : IS_COPIED;
    if (growth == GREW) return block;
    if (growth == IS_COPIED) return copied(theap, block, size, room);
    char *const other = alone(theap, room, (uint32_t)behind);
    if (other == NULL) return NULL;
    mi_page_t *const to = _mi_ptr_page(other);
    if (has_own_mapping(to) && other == (char *)to + behind) return moved(page, to, behind);
    mi_free(other);
    return NULL;
}

/* The first USUAL_PAGES bytes of a heap keep the usual pages: a small program's first block would take 2 MiB. What is mapped at
 * once and smaller than LARGE is no heap: a thread's list, a map of pages. An arena begins with lists that stay when all of its
 * blocks are free, and would keep a huge page. */
static void underpin_huge_pages(void *start, size_t bytes) {
    enum { LARGE = 16 << 20, LISTS = 2 << 20 };
    static _Atomic(size_t) heap;
    size_t usual = bytes;
    if (bytes >= LARGE) {
        const size_t before = atomic_fetch_add_explicit(&heap, bytes, memory_order_relaxed);
        const size_t left = before < USUAL_PAGES ? USUAL_PAGES - before : 0;
        if (left < bytes) usual = alone_at != 0 ? 0 : left > LISTS ? left : LISTS;
    }
#ifdef NONE_UNASKED
    underpin_advise(start, usual, MADV_NOHUGEPAGE);
#endif
    underpin_advise((char *)start + usual, bytes - usual, MADV_HUGEPAGE);
}

#ifdef AT_FIRST_USE
/* mimalloc starts when the program first asks for a block, by mi_thread_init, which each thread calls before its own first
 * block and which waits while another thread is in mi_process_init_once. Upstream's constructor starts it earlier, and
 * relies on that constructor's thread being the main one: tld_main and theap_main belong to it, and are never given back.
 * Here the first block may be another thread's, so the main thread's identity is kept from the constructor on; a thread
 * that has ended leaves its identity to the next one, which must not be taken for the owner of theap_main. It is stored to at
 * each start, so it is on a page that has been relocated, not one of zeros. */
static uintptr_t main_thread __attribute__((section(".data")));

static uintptr_t underpin_main_thread(void) { return main_thread != 0 ? main_thread : _mi_prim_thread_id(); }

/* What upstream's constructor does after the start. Before it has run, it is left to attach. */
static void underpin_process_is_ready(void) {
    if (_mi_preloading()) return;
    mi_process_setup_auto_thread_done();
    _mi_thread_locals_init();
    _mi_options_post_init();
}

/* The empty heap, without the zeros behind it: they would be pages of the program's own. What is made is zeros before. */
static void copy_empty(mi_theap_t *made) {
    _mi_memcpy(made, &_mi_theap_empty, offsetof(mi_theap_t, stats));
    mi_stats_header_init(&made->stats);
}

/* The main thread's heap as upstream writes it out, of the empty one, but for its options, which are read next
 * (MAIN_THREAD_HAS_OPTIONS). Upstream's mi_heap_main_init calls it once. */
static mi_theap_t *underpin_make_main(mi_theap_t *made, mi_tld_t *thread, mi_heap_t *heap) {
    copy_empty(made);
    made->tld = thread;
    mi_atomic_store_ptr_relaxed(mi_heap_t, &made->heap, heap);
    made->random.input[0] = 0x846ca68b;
    return made;
}

UNDERPIN_BEHIND static mi_theap_t no_heap;

static mi_theap_t *underpin_no_heap(void) {
    mi_atomic_do_once { copy_empty(&no_heap); }
    return &no_heap;
}

static int underpin_is_no_heap(const mi_theap_t *heap) { return heap == &no_heap; }

__attribute__((constructor(101))) static void attach(void) {
    main_thread = _mi_prim_thread_id();
    if (_mi_process_is_initialized) {
        _mi_auto_process_init(); /* the loader or another constructor has asked for a block */
    } else {
        os_preloading = false;
    }
}

/* What has not started has nothing to end, and its code and options need not be read in. */
__attribute__((destructor(101))) static void detach(void) {
    if (_mi_process_is_initialized) _mi_auto_process_done();
}
#endif

#ifdef MUCH_GOES_BACK_AT_ONCE
/* Upstream gives back what has been free for a while, and looks for it when something is freed: a program that frees much
 * and then waits keeps it all. Here much that is free goes back at once, as glibc unmaps large blocks and trims its heap:
 * a constant, or twice the largest page that was freed, so that a program that takes and frees large blocks in turn keeps them.
 * Every page of a small block has been written to, which makes it dear to give back and to take again: of those more is kept,
 * and at most ten times a second a part goes back at once. (A part: all of it was 5 % of the time of a program that fills and
 * frees 39 MiB once.) */
enum { SMALL_BLOCK = 8 << 10, MOST_FREE = 2 << 20, MOST_FREE_SMALL = 12 << 20, PART_SMALL = 4 << 20, LARGEST_KEPT = 32 << 20 };

/* Where large blocks of many sizes come and go, as much as fits into the gaps between them is always free, and is written to
 * again at once. A quarter of what large blocks have in use is such a gap: it may stay for a second, as upstream has it, and
 * beyond that only what is too much goes back. (32 blocks of 1 to 4 MB in turn took 390 us each for page faults, glibc 52.) */
enum { GAPS = 4, FEW_IN_USE = 8 << 20, ONE_LARGE = 1 << 20, GAPS_STAY_MS = 1000 };

/* Bytes freed in the arenas, and neither taken again nor given back since: about, since of a slice a part may have been in use. */
static _Atomic(size_t) free_bytes;
/* Bytes of slices that are in use, for what is larger than a page of small blocks. */
static _Atomic(size_t) large_in_use;
static _Atomic(size_t) largest_page;
static _Atomic(mi_msecs_t) small_kept_until;

static void decrease(_Atomic(size_t) *sum, size_t by) {
    size_t now = atomic_load_explicit(sum, memory_order_relaxed);
    while (now != 0 && !atomic_compare_exchange_weak_explicit(sum, &now, now > by ? now - by : 0, memory_order_relaxed,
                                                              memory_order_relaxed)) {}
}

/* Upstream leaves what is taken marked as to be given back, finds out slice by slice that it cannot be claimed, and gives back what
 * lies between in as small pieces. Another thread may mark a slice again that it has just failed to claim: it will fail again. */
static void underpin_taken(mi_arena_t *arena, size_t first, size_t count) {
    if (count > 1 || extends_at != 0) atomic_fetch_add_explicit(&large_in_use, mi_size_of_slices(count), memory_order_relaxed);
    const size_t waiting = mi_bitmap_popcountN(arena->slices_purge, first, count);
    if (waiting == 0) return;
    mi_bitmap_clearN(arena->slices_purge, first, count);
    decrease(&free_bytes, mi_size_of_slices(waiting));
}

/* How much may be free. */
static size_t gaps(void) {
    const size_t in_use = atomic_load_explicit(&large_in_use, memory_order_relaxed);
    return in_use < FEW_IN_USE ? 0 : in_use / GAPS;
}

/* Whether what has waited so many milliseconds longer than the delay may wait on: gaps, or what one large block was that comes and
 * goes, with what it has grown out of. (Growth to 20 MB in steps of 64 kB, again and again: 3.3 ms, and 0.4 so.) */
static int underpin_may_wait(mi_msecs_t overdue) {
    const size_t largest = atomic_load_explicit(&largest_page, memory_order_relaxed);
    const size_t one = largest < ONE_LARGE ? 0 : largest + largest / 4, stays = gaps();
    return overdue < GAPS_STAY_MS && atomic_load_explicit(&free_bytes, memory_order_relaxed) < (one > stays ? one : stays);
}

/* Memory that goes back in one piece of this size or above becomes inaccessible too, until mimalloc asks for it again slice by
 * slice: what is kept is a range of addresses, not a promise of memory. Each slice may become a mapping of its own, of which
 * the kernel allows 65,530, so that at most so many bytes are inaccessible at a time; beyond, it is as upstream has it. */
enum { WITHDRAWN_PIECE = 1 << 20, MOST_WITHDRAWN = 512 << 20 };
static _Atomic(size_t) withdrawn_bytes;

static void underpin_offers(size_t bytes) { decrease(&withdrawn_bytes, bytes); }

static int underpin_withdraws(void *start, size_t bytes) {
    if (bytes < WITHDRAWN_PIECE || bytes > MOST_WITHDRAWN) return 0;
    if (atomic_fetch_add_explicit(&withdrawn_bytes, bytes, memory_order_relaxed) <= MOST_WITHDRAWN - bytes
        && unix_madvise(start, bytes, MADV_DONTNEED) == 0) {
        /* A mapping in its place would not be joined with its neighbours again, if the kernel keeps their names. */
        if (mprotect(start, bytes, PROT_NONE) == 0) return 1;
    }
    underpin_offers(bytes);
    return 0;
}

static int is_too_early(void) {
    const mi_msecs_t now = _mi_clock_now();
    if (now < atomic_load_explicit(&small_kept_until, memory_order_relaxed)) return 1;
    atomic_store_explicit(&small_kept_until, now + 10 * mi_arena_purge_delay(), memory_order_relaxed);
    return 0;
}

/* Of this thread's looking for memory to give back: how much is enough. 0: all. */
static _Thread_local size_t enough;

/* Of a free range as much as is enough; the rest is left for later. */
static size_t underpin_part(mi_arena_t *arena, size_t first, size_t count) {
    const size_t most = mi_slice_count_of_size(enough);
    if (enough == 0 || count <= most) return count;
    mi_bitmap_setN(arena->slices_purge, first + most, count - most, NULL);
    return most;
}

static int underpin_goes_on(size_t bytes) {
    if (enough == 0) {
        decrease(&free_bytes, bytes);
        return 1;
    }
    const int goes_on = bytes < enough;
    enough = goes_on ? enough - bytes : 1;
    return goes_on;
}

static void underpin_freed(mi_subproc_t *process, size_t slices, size_t bytes, size_t block) {
    const int is_small = block <= SMALL_BLOCK;
    if (slices > MI_ARENA_SLICE_SIZE) decrease(&large_in_use, slices);
    size_t largest = atomic_load_explicit(&largest_page, memory_order_relaxed);
    if (bytes > largest && bytes <= LARGEST_KEPT) atomic_store_explicit(&largest_page, largest = bytes, memory_order_relaxed);
    const size_t now = atomic_fetch_add_explicit(&free_bytes, bytes, memory_order_relaxed) + bytes, stays = gaps();
    if (now < (is_small ? MOST_FREE_SMALL : MOST_FREE) || now < 2 * largest || now < stays) return;
    if (is_small && is_too_early()) return;
    /* Half of the gaps stays, so that the next time does not come too soon. */
    enough = is_small ? PART_SMALL : stays != 0 ? now - stays / 2 : 0;
    atomic_store_explicit(&free_bytes, enough != 0 ? now - enough : 0, memory_order_relaxed);
    mi_arenas_try_purge(true, true, process, 0);
    enough = 0;
}
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
