/* The searching functions, once for each level. A vector that lies within one page can be read whole, whatever it is that
 * ends within it. */

#define WITHIN_PAGE(p, bytes) (((uintptr_t)(p) & (PAGE - 1)) <= PAGE - (bytes))
#define DOWN(p, to) ((const char*)((uintptr_t)(p) & -(uintptr_t)(to)))

/* A byte of the result is 0 where the byte is what is looked for: an end, the byte c, or either. */
INLINE V
LEVEL(fold)(V v, V c, enum Wanted wanted)
{
  if (wanted == END) return v;
  /* Read once, where the compiler would read it twice from memory. */
  ORDERED(v);
  V unlike = LEVEL(unlike)(v, c);
  return wanted == BYTE ? unlike : LEVEL(least)(unlike, v);
}

/* Its lowest bit is that of the first one. */
INLINE M
LEVEL(found)(V v, V c, enum Wanted wanted)
{
#ifdef MASKED
  if (wanted == EITHER) return LEVEL(either_first)(v, c);
#endif
  return wanted == BYTE ? LEVEL(equal)(v, c) : LEVEL(zeros)(LEVEL(fold)(v, c, wanted));
}

#define AT(i) LEVEL(load)(p + (i) * W)
#define FOUND(i) LEVEL(found)(AT(i), c, wanted)
#define FOLD(i) LEVEL(fold)(AT(i), c, wanted)

/* A byte of the result is 0 where one of four vectors holds it. */
INLINE V
LEVEL(fold4)(const char *p, V c, enum Wanted wanted)
{
  V v = LEVEL(least)(FOLD(0), FOLD(1));
  ORDERED(v);
  V w = LEVEL(least)(FOLD(2), FOLD(3));
  return LEVEL(least)(v, w);
}

#define FOLD4 LEVEL(fold4)(p, c, wanted)
#ifdef MASKED
/* What four vectors hold, and `then` with how far the first of it lies behind p. */
#define ANY4 (LEVEL(zeros)(FOLD4) != 0)
#define IF_IN_FOUR(then) do { \
    V f = FOLD(0), g = LEVEL(fold_more)(AT(1), c, f, wanted); \
    V h = FOLD(2), all = LEVEL(fold_more)(AT(3), c, LEVEL(least)(g, h), wanted); \
    M some, any = LEVEL(zeros)(all); \
    if (LIKELY(!any)) break; \
    size_t how_far; \
    if ((some = LEVEL(zeros)(f))) { how_far = LEVEL(first)(some); then; } \
    if ((some = LEVEL(zeros)(g))) { how_far = W + LEVEL(first)(some); then; } \
    if ((some = LEVEL(zeros)(h))) { how_far = 2 * W + LEVEL(first)(some); then; } \
    how_far = 3 * W + LEVEL(first)(any); \
    then; \
  } while (0)

/* Zero where v is folded to zero, or `seen` is. */
INLINE V
LEVEL(fold_more)(V v, V c, V seen, enum Wanted wanted)
{
  return wanted == EITHER ? LEVEL(fold_both)(v, c, seen) : LEVEL(least)(LEVEL(fold)(v, c, wanted), seen);
}
#else
/* A byte alone is found by comparisons, which need no second one with zero. */
#define SAME(i) LEVEL(same_bytes)(AT(i), c)

INLINE V
LEVEL(same4)(const char *p, V c)
{
  V v = LEVEL(either)(SAME(0), SAME(1));
  ORDERED(v);
  V w = LEVEL(either)(SAME(2), SAME(3));
  return LEVEL(either)(v, w);
}

#define ANY4 (wanted == BYTE ? LEVEL(marked)(LEVEL(same4)(p, c)) != 0 : LEVEL(zeros)(FOLD4) != 0)
#define IF_IN_FOUR(then) do { \
    if (LIKELY(!ANY4)) break; \
    size_t how_far = LEVEL(which)(p, c, wanted); \
    then; \
  } while (0)

/* How far the first of four vectors at p that holds it lies behind p: one of them does. They are read anew: kept in
 * registers they would cost the loop that found them more. */
INLINE size_t
LEVEL(which)(const char *p, V c, enum Wanted wanted)
{
  FORGET(p);
#ifdef PAIRS
  uint64_t pair = FOUND(0) | (uint64_t)FOUND(1) << W;
  if (pair) return (size_t)__builtin_ctzll(pair);
  pair = FOUND(2) | (uint64_t)FOUND(3) << W;
  return 2 * W + (size_t)__builtin_ctzll(pair);
#else
  M m;
  if ((m = FOUND(0))) return LEVEL(first)(m);
  if ((m = FOUND(1))) return W + LEVEL(first)(m);
  if ((m = FOUND(2))) return 2 * W + LEVEL(first)(m);
  return 3 * W + LEVEL(first)(FOUND(3));
#endif
}
#endif

/* What is found in the vector at s as far as it lies on the page of s, for the rare case that it lies across two. */
INLINE M
LEVEL(before_page_end)(const char *s, V c, enum Wanted wanted)
{
  const char *p = DOWN(s, W);
  V v = LEVEL(load)(p);
  M m = wanted == BYTE ? LEVEL(equal)(v, c) : LEVEL(zeros)(LEVEL(fold)(v, c, wanted));
  return m >> (size_t)(s - p) * BITS;
}

/* The functions below return from wherever something is found, each time anew: a jump to a common end would cost a short call
 * a tenth of its time. The path on which nothing is found yet goes straight on. */

#ifdef ZERO_COUNTS
#include "scan_avx2.h"
#else
/* The first byte that is looked for, which is known to be there, from p on: a multiple of W, or of 4 W if
 * `by_four` says so, where the instruction that rounds it would cost 3 % of a search of 200 bytes (Intel). A distance is that
 * from `start`. */
INLINE uintptr_t
LEVEL(scan_on)(const char *p, int by_four, V c, enum Wanted wanted, enum Result result, int byte, const char *start)
{
#define FOUND_AT(at) do { \
    const char *there = (at); \
    if (result == DISTANCE) RETURN((uintptr_t)(there - start)); \
    if (result == MATCH && *there != (char)byte) RETURN((uintptr_t)0); \
    RETURN((uintptr_t)there); \
  } while (0)
  M m;
  if (UNLIKELY(m = FOUND(0))) FOUND_AT(p + LEVEL(first)(m));
  if (UNLIKELY(m = FOUND(1))) FOUND_AT(p + W + LEVEL(first)(m));
  if (UNLIKELY(m = FOUND(2))) FOUND_AT(p + 2 * W + LEVEL(first)(m));
  if (UNLIKELY(m = FOUND(3))) FOUND_AT(p + 3 * W + LEVEL(first)(m));
  for (p = by_four ? p + 4 * W : DOWN(p + 4 * W, 4 * W);; p += 4 * W) {
#ifdef PAIRS
    if (wanted != BYTE) {
      /* What was folded is kept: to do it again would take longer. */
      V f = FOLD(0), g = FOLD(1), lower = LEVEL(least)(f, g);
      ORDERED(lower);
      V h = FOLD(2), i = FOLD(3);
      if (LIKELY(!LEVEL(zeros)(LEVEL(least)(lower, LEVEL(least)(h, i))))) continue;
      uint64_t pair = LEVEL(zeros)(f) | (uint64_t)LEVEL(zeros)(g) << W;
      if (pair) FOUND_AT(p + __builtin_ctzll(pair));
      pair = LEVEL(zeros)(h) | (uint64_t)LEVEL(zeros)(i) << W;
      FOUND_AT(p + 2 * W + __builtin_ctzll(pair));
    }
#endif
    IF_IN_FOUR(FOUND_AT(p + how_far));
  }
#undef FOUND_AT
}

/* The same behind the first W bytes at s, within which it is not. */
INLINE uintptr_t
LEVEL(scan)(const char *s, V c, enum Wanted wanted, enum Result result, int byte)
{
  return LEVEL(scan_on)(DOWN(s, W) + W, 0, c, wanted, result, byte, s);
}

/* The same within n bytes, more than W; null if it is not there. Counted, it is the distance from `start`, and that of the
 * last byte's successor if it is not there. */
INLINE uintptr_t
LEVEL(scan_within)(const char *s, V c, enum Wanted wanted, size_t n, int counted, const char *start)
{
#define HIT(at) (counted ? (uintptr_t)((at) - start) : (uintptr_t)(at))
#define NOWHERE (counted ? n + (size_t)(s - start) : 0)
  M m;
  size_t at;
  if (UNLIKELY(n <= 2 * W) && LIKELY(WITHIN_PAGE(s, 2 * W))) {
    m = LEVEL(found)(LEVEL(loadu)(s + W), c, wanted);
    at = m ? W + LEVEL(first)(m) : n;
    RETURN(at < n ? HIT(s + at) : NOWHERE);
  }
#ifdef MASKED
  if (n <= 4 * W && LIKELY(WITHIN_PAGE(s, 4 * W))) {
#define FOUND_BEHIND(i) LEVEL(found)(LEVEL(loadu)(s + (i) * W), c, wanted)
    if (UNLIKELY(m = FOUND_BEHIND(1))) RETURN(HIT(s + W + LEVEL(first)(m)));
    m = FOUND_BEHIND(2), at = 2 * W;
    if (!m) {
      if (n <= 3 * W) RETURN(NOWHERE);
      m = FOUND_BEHIND(3), at = 3 * W;
      if (!m) RETURN(NOWHERE);
    }
    at += LEVEL(first)(m);
    RETURN(at < n ? HIT(s + at) : NOWHERE);
#undef FOUND_BEHIND
  }
#endif
  const char *p = DOWN(s, W) + W;
  size_t left = n - (size_t)(p - s);
  if (left > 4 * W) {
    if (UNLIKELY(m = FOUND(0))) RETURN(HIT(p + LEVEL(first)(m)));
    if (UNLIKELY(m = FOUND(1))) RETURN(HIT(p + W + LEVEL(first)(m)));
    if (UNLIKELY(m = FOUND(2))) RETURN(HIT(p + 2 * W + LEVEL(first)(m)));
    if (UNLIKELY(m = FOUND(3))) RETURN(HIT(p + 3 * W + LEVEL(first)(m)));
    p += 4 * W, left -= 4 * W;
#ifdef NARROWER
    if (wanted == BYTE && UNLIKELY(left >= narrow_from)) return (uintptr_t)late_memchr(p, LEVEL(lowest)(c), left);
#endif
    if (left > 4 * W) {
      left += (uintptr_t)p & (4 * W - 1);
      p = DOWN(p, 4 * W);
      size_t whole = (left - 1) & -(size_t)(4 * W);
      /* n may be more than there are addresses. */
      const char *stop = (const char*)((uintptr_t)p + whole);
      left -= whole;
    again:
      LOOP_BEGINS;
      IF_IN_FOUR(RETURN(HIT(p + how_far)));
      p += 4 * W;
      UNLESS_AT(p, stop, again);
    }
  }
  /* 1 to 4 W bytes are left. */
  if (left > 2 * W) {
    if (UNLIKELY(m = FOUND(0))) RETURN(HIT(p + LEVEL(first)(m)));
    if (UNLIKELY(m = FOUND(1))) RETURN(HIT(p + W + LEVEL(first)(m)));
    p += 2 * W, left -= 2 * W;
  }
  if (UNLIKELY(m = FOUND(0))) {
    at = LEVEL(first)(m);
    RETURN(at < left ? HIT(p + at) : NOWHERE);
  }
  if (left <= W || !(m = FOUND(1))) RETURN(NOWHERE);
  at = W + LEVEL(first)(m);
  RETURN(at < left ? HIT(p + at) : NOWHERE);
#undef HIT
#undef NOWHERE
}
#endif

#ifndef ZERO_COUNTS
/* strlen, which where AVX2 begins is that of ending.h: how far the end is from `start`; from there to s there is none. */
INLINE size_t
LEVEL(length)(const char *s, const char *start)
{
  M m;
  if (BEYOND_PAGE(s)) {
    m = LEVEL(before_page_end)(s, LEVEL(all)(0), END);
    if (m) RETURN((size_t)(s - start) + LEVEL(first)(m));
  }
  /* It lies on one page, or goes on on the next. */
  m = LEVEL(zeros)(LEVEL(loadu)(s));
  if (NONE(m)) return LEVEL(scan_on)(DOWN(s, W) + W, 0, LEVEL(all)(0), END, DISTANCE, 0, start);
  RETURN((size_t)(s - start) + LEVEL(first)(m));
}

LEVELED OVERREAD size_t
LEVEL(strlen)(const char *s)
{
  return LEVEL(length)(s, s);
}
#endif

/* How far the end is from `start`, from where to s there is none, within the n bytes from s on. */
INLINE size_t
LEVEL(length_within)(const char *s, size_t n, const char *start)
{
  M m;
  size_t before = (size_t)(s - start);
  if (UNLIKELY(n == 0)) return before;
  if (BEYOND_PAGE(s)) {
    BELOW_LEVEL(return below_strnlen(s, n));
    size_t there = W - (size_t)(s - DOWN(s, W));
    m = LEVEL(before_page_end)(s, LEVEL(all)(0), END);
    if (m) RETURN(before + (LEVEL(first)(m) < n ? LEVEL(first)(m) : n));
    if (n <= there) RETURN(before + n);
  }
  m = LEVEL(zeros)(LEVEL(loadu)(s));
  if (UNLIKELY(n <= W)) {
#ifdef PAIRS
    /* There is room for a bit behind the last byte that counts. */
    RETURN(before + (size_t)__builtin_ctzll(m | (uint64_t)1 << n));
#else
    m = LEVEL(first_of)(m, n);
    RETURN(before + (m ? LEVEL(first)(m) : n));
#endif
  }
  if (LIKELY(m)) RETURN(before + LEVEL(first)(m));
  ABOVE_IF_BOUND(n, return strnlen_above(s + W, n - W, start));
  return LEVEL(scan_within)(s, LEVEL(all)(0), END, n, 1, start);
}

LEVELED OVERREAD size_t
LEVEL(strnlen)(const char *s, size_t n)
{
  return LEVEL(length_within)(s, n, s);
}

LEVELED OVERREAD void*
LEVEL(memchr)(const void *from, int byte, size_t n)
{
  const char *s = from;
  M m;
  if (UNLIKELY(n == 0)) return 0;
  if (BEYOND_PAGE(s)) {
    BELOW_LEVEL(return below_memchr(from, byte, n));
    size_t there = W - (size_t)(s - DOWN(s, W));
    m = LEVEL(before_page_end)(s, LEVEL(all)(byte), BYTE);
    if (m) RETURN(LEVEL(first)(m) < n ? (void*)(uintptr_t)(s + LEVEL(first)(m)) : 0);
    if (n <= there) RETURN((void*)0);
  }
  V c = LEVEL(all)(byte);
  m = LEVEL(equal)(LEVEL(loadu)(s), c);
  if (LIKELY(n <= W)) {
#ifdef ZERO_COUNTS
    size_t at = LEVEL(before_first)(m);
    RETURN(at < n ? (void*)(uintptr_t)(s + at) : 0);
#endif
    m = LEVEL(first_of)(m, n);
    RETURN(m ? (void*)(uintptr_t)(s + LEVEL(first)(m)) : 0);
  }
  if (m) RETURN((void*)(uintptr_t)(s + LEVEL(first)(m)));
  ABOVE_IF_LONG(n, return memchr_above(s + W, byte, n - W));
  return (void*)LEVEL(scan_within)(s, c, BYTE, n, 0, s);
}

LEVELED OVERREAD char*
LEVEL(strchrnul)(const char *s, int byte)
{
  M m;
  if (BEYOND_PAGE(s)) {
    BELOW_LEVEL(return below_strchrnul(s, byte));
    m = LEVEL(before_page_end)(s, LEVEL(all)(byte), EITHER);
    if (m) RETURN((char*)(uintptr_t)s + LEVEL(first)(m));
  }
  V c = LEVEL(all)(byte);
#ifdef ZERO_COUNTS
  /* Read twice: an instruction less, and the way to a near end lies in one line of the cache. */
  V unlike = LEVEL(unlike)(LEVEL(loadu)(s), c);
  FORGET(s);
  m = LEVEL(zeros)(LEVEL(least)(unlike, LEVEL(loadu)(s)));
#else
  m = LEVEL(found)(LEVEL(loadu)(s), c, EITHER);
#endif
  if (LIKELY(m)) RETURN((char*)(uintptr_t)s + LEVEL(first)(m));
  return (char*)LEVEL(scan)(s, c, EITHER, PLACE, byte);
}

LEVELED OVERREAD char*
LEVEL(strchr)(const char *s, int byte)
{
  M m;
  const char *at;
  if (BEYOND_PAGE(s)) {
    BELOW_LEVEL(return below_strchr(s, byte));
    m = LEVEL(before_page_end)(s, LEVEL(all)(byte), EITHER);
    if (m) {
      at = s + LEVEL(first)(m);
      RETURN(*at == (char)byte ? (char*)(uintptr_t)at : 0);
    }
  }
  V c = LEVEL(all)(byte);
  m = LEVEL(found)(LEVEL(loadu)(s), c, EITHER);
  if (NONE(m)) {
    ABOVE_IF_NONE(m, return strchr_above(s + W, byte));
    return (char*)LEVEL(scan)(s, c, EITHER, MATCH, byte);
  }
  at = s + LEVEL(first)(m);
  RETURN(*at == (char)byte ? (char*)(uintptr_t)at : 0);
}
