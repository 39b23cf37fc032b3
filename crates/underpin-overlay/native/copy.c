/* memcpy, memmove and memcmp for static programs on x86-64: musl's copy bytes one by one up to the next multiple of eight and
 * start the processor's string machine for what is left, however little; its memcmp looks at single bytes. Small sizes are
 * what programs have most, so here each takes a few loads and stores of sixteen bytes that overlap. The glibc build has
 * glibc's; the names with overlay_ are there for the tests. */
#include <stdint.h>
#include <string.h>

#ifdef __x86_64__
#include <emmintrin.h>

/* Else the compiler would find a copy in the loops below and call memcpy for it. */
#ifdef __clang__
#define PLAIN __attribute__((no_builtin("memcpy", "memmove", "memcmp")))
#else
#define PLAIN __attribute__((optimize("no-tree-loop-distribute-patterns")))
#endif

/* From here on, the string machine is faster than sixteen bytes at a time. */
#define STRING_MACHINE 1024

static inline __m128i
load(const char *p)
{
  return _mm_loadu_si128((const __m128i*)p);
}

static inline void
store(char *p, __m128i bytes)
{
  _mm_storeu_si128((__m128i*)p, bytes);
}

#define WORDS(type) do { \
    type first, last; \
    __builtin_memcpy(&first, from, sizeof first); \
    __builtin_memcpy(&last, from + n - sizeof last, sizeof last); \
    __builtin_memcpy(to, &first, sizeof first); \
    __builtin_memcpy(to + n - sizeof last, &last, sizeof last); \
  } while (0)

/* Up to 128 bytes. All is read before anything is written, so the two may overlap. */
static inline PLAIN void
few(char *to, const char *from, size_t n)
{
  if (n <= 16) {
    if (n >= 8) WORDS(uint64_t);
    else if (n >= 4) WORDS(uint32_t);
    else if (n >= 2) WORDS(uint16_t);
    else if (n) *to = *from;
    return;
  }
  __m128i a = load(from), z = load(from + n - 16);
  if (n > 32) {
    __m128i b = load(from + 16), y = load(from + n - 32);
    if (n > 64) {
      __m128i c = load(from + 32), d = load(from + 48), w = load(from + n - 64), x = load(from + n - 48);
      store(to + 32, c), store(to + 48, d), store(to + n - 64, w), store(to + n - 48, x);
    }
    store(to + 16, b), store(to + n - 32, y);
  }
  store(to, a), store(to + n - 16, z);
}

/* More than 64 bytes, from the lowest on; `to` may overlap `from` where it lies below. */
static inline PLAIN void
upwards(char *to, const char *from, size_t n)
{
  __m128i w = load(from + n - 64), x = load(from + n - 48), y = load(from + n - 32), z = load(from + n - 16);
  for (size_t i = 0; i < n - 64; i += 64) {
    __m128i a = load(from + i), b = load(from + i + 16), c = load(from + i + 32), d = load(from + i + 48);
    store(to + i, a), store(to + i + 16, b), store(to + i + 32, c), store(to + i + 48, d);
  }
  store(to + n - 64, w), store(to + n - 48, x), store(to + n - 32, y), store(to + n - 16, z);
}

/* The same from the highest on; `to` may overlap `from` where it lies above. */
static inline PLAIN void
downwards(char *to, const char *from, size_t n)
{
  __m128i w = load(from), x = load(from + 16), y = load(from + 32), z = load(from + 48);
  for (size_t i = n; i > 64; i -= 64) {
    __m128i a = load(from + i - 16), b = load(from + i - 32), c = load(from + i - 48), d = load(from + i - 64);
    store(to + i - 16, a), store(to + i - 32, b), store(to + i - 48, c), store(to + i - 64, d);
  }
  store(to, w), store(to + 16, x), store(to + 32, y), store(to + 48, z);
}

PLAIN void*
overlay_memcpy(void *restrict into, const void *restrict out_of, size_t n)
{
  char *to = into;
  const char *from = out_of;
  if (n <= 128) {
    few(to, from, n);
  }
  else if (n < STRING_MACHINE) {
    upwards(to, from, n);
  }
  else {
    /* It likes a target at a multiple of 64. */
    size_t odd = 64 - ((uintptr_t)to & 63);
    few(to, from, 64);
    few(to + n - 8, from + n - 8, 8);
    char *target = to + odd;
    from += odd;
    size_t words = (n - odd) / 8;
    __asm__ volatile("rep movsq" : "+D"(target), "+S"(from), "+c"(words) : : "memory");
  }
  return into;
}

PLAIN void*
overlay_memmove(void *into, const void *out_of, size_t n)
{
  char *to = into;
  const char *from = out_of;
  if (n <= 128) few(to, from, n);
  else if ((uintptr_t)to - (uintptr_t)from >= n && (uintptr_t)from - (uintptr_t)to >= n) return overlay_memcpy(into, out_of, n);
  else if (to < from) upwards(to, from, n);
  else downwards(to, from, n);
  return into;
}

PLAIN int
overlay_memcmp(const void *one, const void *other, size_t n)
{
  const unsigned char *a = one, *b = other;
  size_t i = 0;
  for (; n - i >= 16; i += 16) {
    unsigned equal = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(load((const char*)a + i), load((const char*)b + i)));
    if (equal != 0xFFFF) {
      i += (unsigned)__builtin_ctz(~equal);
      return a[i] - b[i];
    }
  }
  for (; i < n; i++) {
    if (a[i] != b[i]) return a[i] - b[i];
  }
  return 0;
}

#ifndef __GLIBC__
void *memcpy(void *restrict, const void *restrict, size_t) __attribute__((alias("overlay_memcpy")));
void *memmove(void*, const void*, size_t) __attribute__((alias("overlay_memmove")));
int memcmp(const void*, const void*, size_t) __attribute__((alias("overlay_memcmp")));
#endif
#endif
