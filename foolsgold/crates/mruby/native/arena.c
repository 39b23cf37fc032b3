/* The allocator of one interpreter: blocks in size classes (four to each doubling), cut from the top of one region and
 * reused from a free list for each class. Its state is at the start of the region. Each block is preceded by eight
 * bytes that hold its class, and is aligned to sixteen.
 *
 * It is not thread-safe, and blocks never change their class; the block at the top grows and shrinks in place. */
#include "fg.h"
#include <string.h>
#include <sys/mman.h>

#define HEADER 8
#define SMALL_CLASSES 7                      /* 32, 48, ..., 128 */
#define LARGEST ((size_t)1 << 36)
#define GIVE_BACK ((size_t)1 << 20)          /* larger blocks give their pages back when freed */
#define LOOK_FURTHER 12                      /* larger classes to try before memory is refused */

static inline unsigned
class_of(size_t total)
{
  if (total <= 128) return total <= 32 ? 0 : (unsigned)((total + 15) / 16 - 2);
  unsigned power = 63 - (unsigned)__builtin_clzll(total - 1);
  return SMALL_CLASSES + (power - 7) * 4 + (unsigned)((total - 1 - ((size_t)1 << power)) >> (power - 2));
}

static inline size_t
size_of(unsigned class)
{
  if (class < SMALL_CLASSES) return 32 + 16 * (size_t)class;
  unsigned power = 7 + (class - SMALL_CLASSES) / 4;
  return ((size_t)1 << power) + ((class - SMALL_CLASSES) % 4 + 1) * ((size_t)1 << (power - 2));
}

static inline uint64_t*
header_of(void *p)
{
  return (uint64_t*)((char*)p - HEADER);
}

void
fg_arena_init(struct fg_arena *arena, size_t size, size_t limit)
{
  memset(arena, 0, sizeof *arena);
  /* Blocks begin eight bytes before a multiple of sixteen. */
  uintptr_t first = ((uintptr_t)(arena + 1) + HEADER + 15) & ~(uintptr_t)15;
  arena->top = arena->peak = (char*)first - HEADER;
  arena->end = (char*)arena + size;
  arena->soft = arena->limit = (char*)arena + limit;
  arena->keep = arena->top;
}

/* For tests: the first attempt of each allocation fails, so that mruby collects and tries again. */
static inline int
stressed(struct fg_arena *arena)
{
  if (__builtin_expect(!arena->stress, 1)) return 0;
  arena->stress ^= 2;
  return arena->stress & 2;
}

#ifndef FG_SANITIZE

static void*
used(struct fg_arena *arena, char *block, unsigned class)
{
  *(uint64_t*)block = class;
  arena->used += size_of(class);
  if (arena->used > arena->used_peak) arena->used_peak = arena->used;
  return block + HEADER;
}

/* Past the soft limit the collector is switched on again; past the limit there is no memory at the top (-1). */
static __attribute__((noinline)) int
beyond(struct fg_arena *arena, char *top)
{
  if (top <= arena->limit && arena->soft < arena->limit) {
    arena->soft = arena->limit;
    if (arena->mrb) arena->mrb->gc.disabled = 0;
    return 0;
  }
  /* mruby collects and tries again. */
  if (arena->mrb) arena->mrb->gc.disabled = 0;
  return -1;
}

static void*
pop(struct fg_arena *arena, unsigned class)
{
  void *p = arena->free[class];
  arena->free[class] = *(void**)p;
  return used(arena, (char*)p - HEADER, class);
}

static void*
take(struct fg_arena *arena, size_t size)
{
  if (__builtin_expect(size > LARGEST, 0)) return NULL;
  unsigned class = class_of(size + HEADER);
  if (arena->free[class]) return pop(arena, class);
  char *block = arena->top, *top = block + size_of(class);
  if (__builtin_expect(top > arena->soft, 0) && beyond(arena, top)) {
    for (unsigned larger = class + 1; larger < class + LOOK_FURTHER && larger < FG_CLASSES; larger++) {
      if (arena->free[larger]) return pop(arena, larger);
    }
    return NULL;
  }
  arena->top = top;
  if (top > arena->peak) arena->peak = top;
  return used(arena, block, class);
}

static void
give(struct fg_arena *arena, void *p)
{
  char *block = (char*)header_of(p);
  unsigned class = (unsigned)*header_of(p);
  size_t size = size_of(class);
  arena->used -= size;
  if (block + size == arena->top) {
    arena->top = block;
    return;
  }
  if (size >= GIVE_BACK && block >= arena->keep) {
    uintptr_t from = ((uintptr_t)p + sizeof(void*) + 4095) & ~(uintptr_t)4095;
    uintptr_t to = (uintptr_t)(block + size) & ~(uintptr_t)4095;
    if (to > from) madvise((void*)from, to - from, MADV_DONTNEED);
  }
  *(void**)p = arena->free[class];
  arena->free[class] = p;
}

static void*
resize(struct fg_arena *arena, void *p, size_t size)
{
  if (size > LARGEST) return NULL;
  char *block = (char*)header_of(p);
  unsigned old = (unsigned)*header_of(p), new = class_of(size + HEADER);
  if (new == old) return p;
  size_t old_size = size_of(old), new_size = size_of(new);
  /* Not in place if a free block of the new size is available: otherwise what always grows at the top and is freed
   * below it would never be used again, and the top would rise for ever. */
  if (block + old_size == arena->top && !(new > old && arena->free[new])) {
    char *top = block + new_size;
    if (top > arena->soft && beyond(arena, top)) return NULL;
    arena->top = top;
    if (top > arena->peak) arena->peak = top;
    arena->used -= old_size;
    return used(arena, block, new);
  }
  if (new < old && old - new < 4) return p;
  void *fresh = take(arena, size);
  /* A smaller size always fits in place. */
  if (!fresh) return new < old ? p : NULL;
  memcpy(fresh, p, (old_size < new_size ? old_size : new_size) - HEADER);
  give(arena, p);
  return fresh;
}

void*
fg_alloc(mrb_state *mrb, void *p, size_t size, void *arena)
{
  (void)mrb;
  if (size == 0) {
    if (p) give(arena, p);
    return NULL;
  }
  if (stressed(arena)) return NULL;
  return p ? resize(arena, p, size) : take(arena, size);
}

#else /* FG_SANITIZE */

/* Each block is an allocation of its own, so that AddressSanitizer sees its bounds and lifetime. They are linked, so
 * that those of an interrupted interpreter can be freed without its help. */
#include <stdlib.h>

struct block {
  struct block *next, **link;
  size_t size;
  size_t padding;
};

static void
unlink_block(struct block *block)
{
  *block->link = block->next;
  if (block->next) block->next->link = block->link;
}

static void*
change(void *p, size_t size, struct fg_arena *arena)
{
  struct block *old = p ? (struct block*)p - 1 : NULL;
  size_t before = old ? old->size : 0;
  if (size == 0) {
    arena->used -= before;
    if (old) unlink_block(old);
    free(old);
    return NULL;
  }
  if (stressed(arena)) return NULL;
  if (size > LARGEST || arena->used - before + size > (size_t)(arena->limit - (char*)arena)) {
    if (arena->mrb) arena->mrb->gc.disabled = 0;
    return NULL;
  }
  /* Never in place, so that a pointer kept across a change of size is detected. */
  struct block *fresh = malloc(size + sizeof *fresh), **first = (struct block**)&arena->free[0];
  if (!fresh) return NULL;
  *fresh = (struct block){ *first, first, size, 0 };
  if (*first) (*first)->link = &fresh->next;
  *first = fresh;
  if (old) {
    memcpy(fresh + 1, p, before < size ? before : size);
    unlink_block(old);
    free(old);
  }
  arena->used += size - before;
  if (arena->used > arena->used_peak) arena->used_peak = arena->used;
  return fresh + 1;
}

/* The C library's allocator has locks and lists, which a stop must not leave midway. */
void*
fg_alloc(mrb_state *mrb, void *p, size_t size, void *arena)
{
  (void)mrb;
  struct fg *was = fg_step_out();
  void *changed = change(p, size, arena);
  fg_step_in(was);
  return changed;
}

/* Proves that the sanitizer works: reads past the end of a block. */
int
fg_misuse(mrb_state *mrb)
{
  volatile char *p = mrb_malloc(mrb, 16);
  p[3] = 1;
  mrb_free(mrb, (void*)p);
  return p[3];
}

void
fg_free_all(struct fg_arena *arena)
{
  while (arena->free[0]) fg_alloc(NULL, (struct block*)arena->free[0] + 1, 0, arena);
}

#endif
