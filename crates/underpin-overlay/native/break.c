/* sbrk and brk for static programs on musl, whose own refuse every change: its malloc has the end of the data segment to itself. A
 * program with an allocator of its own that grows there (bash, tcsh) has no memory at all then.
 *
 * Here the break is that of a reserved range of addresses, which no allocator knows of. Of it only what the program asked for can be
 * used, and only what it touched is memory. As with glibc's, two threads must not call it at the same time. */

#ifdef OVERLAY_REPLACES

#include <stddef.h>
#include <stdint.h>

extern void *mmap(void *at, size_t size, int protection, int flags, int file, long offset);
extern int mprotect(void *at, size_t size, int protection);
extern int madvise(void *at, size_t size, int advice);
extern int getrlimit(int resource, unsigned long limits[2]);
extern unsigned long getauxval(unsigned long key);
extern int *__errno_location(void);

enum { ENOMEM = 12, RLIMIT_AS = 9, AT_PAGESZ = 6, PROT_NONE = 0, PROT_READ_WRITE = 3, MADV_DONTNEED = 4 };
/* MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE */
enum { RESERVED = 0x4022 };

/* The range: as much as there are addresses for, from 64 GiB down. Where those are limited, a quarter. */
#define MOST ((size_t)64 << 30)
#define LEAST ((size_t)1 << 20)

static uintptr_t start, end, now;

static int
reserve(void)
{
  unsigned long limits[2] = {0};
  size_t size = MOST;
  if (!getrlimit(RLIMIT_AS, limits))
    while (size > LEAST && size > limits[0] / 4) size /= 2;
  for (; size >= LEAST; size /= 2) {
    void *const range = mmap(NULL, size, PROT_NONE, RESERVED, -1, 0);
    if (range == (void*)-1) continue;
    start = now = (uintptr_t)range;
    end = start + size;
    return 1;
  }
  return 0;
}

static int
refused(void)
{
  *__errno_location() = ENOMEM;
  return -1;
}

int
brk(void *wanted)
{
  const uintptr_t to = (uintptr_t)wanted, page = getauxval(AT_PAGESZ);
  if ((!start && !reserve()) || to < start || to > end) return refused();
  const uintptr_t had = (now + page - 1) & -page, has = (to + page - 1) & -page;
  if (has > had && mprotect((void*)had, has - had, PROT_READ_WRITE)) return refused();
  if (has < had) {
    madvise((void*)has, had - has, MADV_DONTNEED);
    if (mprotect((void*)has, had - has, PROT_NONE)) return refused();
  }
  now = to;
  return 0;
}

void *
sbrk(intptr_t more)
{
  if (!start && !reserve()) return (void*)(intptr_t)refused();
  const uintptr_t before = now;
  const int is_outside = more < 0 ? (uintptr_t)-more > before - start : (uintptr_t)more > end - before;
  if (is_outside) return (void*)(intptr_t)refused();
  return more && brk((void*)(before + (uintptr_t)more)) ? (void*)-1 : (void*)before;
}

#endif
