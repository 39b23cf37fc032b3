/* What all levels share. No C library: only the compiler's own headers, and nothing that the linker would have to find. */
#include <stddef.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline, unused))
#define USED static __attribute__((used, noinline))
/* The functions of a level: by default on their own; inlined for the level that the public functions begin with. */
#define LEVELED USED
/* Those that the public functions jump to, however they begin. */
#define JUMPED USED
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#ifdef __clang__
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 4")
#endif
/* For functions that read the whole vector in which something ends. */
#define OVERREAD __attribute__((no_sanitize_address))
/* A value that the compiler has to have in a register, and one of which it has to forget what it knows. */
#define HELD(v) __asm__("" : "+x"(v))
#define FORGET(p) __asm__("" : "+r"(p))
/* What is written before stays before what is written behind: of vectors of 32 bytes AMD's processors read two in a cycle if
 * they follow each other, but not the first halves of two lines. */
#ifdef __aarch64__
#define ORDERED(v) __asm__ volatile("" : "+w"(v))
#else
#define ORDERED(v) __asm__ volatile("" : "+x"(v))
#endif
/* Where a loop begins and ends that has another way out: left to the compiler, it would begin with its end, and lie across one
 * more line. */
#ifdef __x86_64__
#define LOOP_BEGINS __asm__ volatile(".p2align 6")
#define LOOP_ENDS(p, condition, stop, again) \
  __asm__ goto("cmp %1, %0\n\tj" #condition " %l[" #again "]" : : "r"(p), "r"(stop) : "cc" : again)
#define UNLESS_AT(p, stop, again) LOOP_ENDS(p, ne, stop, again)
#define IF_BELOW(p, stop, again) LOOP_ENDS(p, b, stop, again)
#else
#define LOOP_BEGINS (void)0
#define UNLESS_AT(p, stop, again) do { if ((p) != (stop)) goto again; } while (0)
#define IF_BELOW(p, stop, again) do { if ((p) < (stop)) goto again; } while (0)
#endif
/* The smallest page of any kernel. */
#define PAGE 4096

enum Wanted { END, BYTE, EITHER };
/* What becomes of a place: how far away it is, itself, or itself if it holds the byte. */
enum Result { DISTANCE, PLACE, MATCH };

#define WORDS(type) do { \
    type first, last; \
    __builtin_memcpy(&first, from, sizeof first); \
    __builtin_memcpy(&last, from + n - sizeof last, sizeof last); \
    __builtin_memcpy(to, &first, sizeof first); \
    __builtin_memcpy(to + n - sizeof last, &last, sizeof last); \
  } while (0)

typedef struct { uint64_t low, high; } Pair;

/* Up to 64 bytes. All is read before anything is written, so the two may overlap. */
INLINE void
few(char *to, const char *from, size_t n)
{
  if (n >= 16) {
    V16 a = load16(from), z = load16(from + n - 16);
    if (n > 32) {
      V16 b = load16(from + 16), y = load16(from + n - 32);
      store16(to + 16, b), store16(to + n - 32, y);
    }
    store16(to, a), store16(to + n - 16, z);
  }
  else if (n >= 8) WORDS(uint64_t);
  else if (n >= 4) WORDS(uint32_t);
  else if (n > 1) WORDS(uint16_t);
  else if (n) *to = *from;
}

/* Up to 64 bytes of one value. */
INLINE void
few_alike(char *to, int byte, size_t n)
{
  if (n >= 16) {
    V16 v = all16(byte);
    store16(to, v);
    if (n > 32) store16(to + 16, v), store16(to + n - 32, v);
    store16(to + n - 16, v);
    return;
  }
  uint64_t eight = (unsigned char)byte * 0x0101010101010101ull;
  if (n >= 8) __builtin_memcpy(to, &eight, 8), __builtin_memcpy(to + n - 8, &eight, 8);
  else if (n >= 4) __builtin_memcpy(to, &eight, 4), __builtin_memcpy(to + n - 4, &eight, 4);
  else if (n > 1) __builtin_memcpy(to, &eight, 2), __builtin_memcpy(to + n - 2, &eight, 2);
  else if (n) *to = (char)byte;
}

/* Up to 16 bytes: below 0, 0 or above. */
INLINE int
few_compared(const char *a, const char *b, size_t n)
{
  uint64_t x, y;
  if (n >= 8) {
    __builtin_memcpy(&x, a, 8), __builtin_memcpy(&y, b, 8);
    if (x == y) __builtin_memcpy(&x, a + n - 8, 8), __builtin_memcpy(&y, b + n - 8, 8);
    x = __builtin_bswap64(x), y = __builtin_bswap64(y);
  }
  else if (n >= 4) {
    uint32_t first, last;
    __builtin_memcpy(&first, a, 4), __builtin_memcpy(&last, a + n - 4, 4);
    x = (uint64_t)__builtin_bswap32(first) << 32 | __builtin_bswap32(last);
    __builtin_memcpy(&first, b, 4), __builtin_memcpy(&last, b + n - 4, 4);
    y = (uint64_t)__builtin_bswap32(first) << 32 | __builtin_bswap32(last);
  }
  else {
    if (n == 0) return 0;
    const unsigned char *p = (const unsigned char*)a, *q = (const unsigned char*)b;
    x = (uint64_t)p[0] << 16 | (uint64_t)p[n / 2] << 8 | p[n - 1];
    y = (uint64_t)q[0] << 16 | (uint64_t)q[n / 2] << 8 | q[n - 1];
  }
  return (x > y) - (x < y);
}

/* Where the greatest of all suffixes begins, less or greater as `order` is 1 or 0, and its period. */
static size_t
greatest_suffix(const unsigned char *x, size_t l, size_t *period, int order)
{
  size_t start = 0, i = 1, k = 0, p = 1;
  while (i + k < l) {
    unsigned char next = x[i + k], kept = x[start + k];
    if (next == kept) {
      if (++k == p) i += p, k = 0;
    }
    else if ((next < kept) == order) i += k + 1, k = 0, p = i - start;
    else start = i++, k = 0, p = 1;
  }
  *period = p;
  return start;
}

/* Crochemore and Perrin's search ("Two-way string-matching", 1991): linear, without memory of its own. */
static const char*
two_way(const char *text, size_t n, const char *needle, size_t l)
{
  const unsigned char *s = (const unsigned char*)text, *x = (const unsigned char*)needle;
  size_t period, other_period, known = 0;
  size_t cut = greatest_suffix(x, l, &period, 1), other = greatest_suffix(x, l, &other_period, 0);
  if (other > cut) cut = other, period = other_period;
  /* Whether the left part occurs again one period later: then what matched can be kept after a step. */
  int repeats = 1;
  for (size_t i = 0; i < cut; i++) {
    if (i + period >= l || x[i] != x[i + period]) {
      repeats = 0;
      break;
    }
  }
  if (!repeats) period = (cut > l - cut ? cut : l - cut) + 1;
  for (size_t at = 0; at + l <= n;) {
    size_t i = cut > known ? cut : known;
    while (i < l && x[i] == s[at + i]) i++;
    if (i < l) {
      at += i - cut + 1, known = 0;
      continue;
    }
    i = cut;
    while (i > known && x[i - 1] == s[at + i - 1]) i--;
    if (i <= known) return text + at;
    at += period;
    known = repeats ? l - period : 0;
  }
  return 0;
}
