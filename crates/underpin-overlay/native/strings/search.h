/* The searching functions, once for each level. A vector that lies within one page can be read whole, whatever it is that
 * ends within it. */

#define WITHIN_PAGE(p, bytes) (((uintptr_t)(p) & (PAGE - 1)) <= PAGE - (bytes))
#define DOWN(p, to) ((const char*)((uintptr_t)(p) & -(uintptr_t)(to)))

/* A byte of the result is 0 where the byte is what is looked for: an end, the byte c, or either. */
INLINE V
LEVEL(fold)(V v, V c, enum Wanted wanted)
{
  if (wanted == END) return v;
#ifndef MASKED
  /* Read once, where the compiler would read it twice from memory. */
  ORDERED(v);
#endif
  V unlike = LEVEL(unlike)(v, c);
  return wanted == BYTE ? unlike : LEVEL(least)(unlike, v);
}

INLINE M
LEVEL(found)(V v, V c, enum Wanted wanted)
{
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
#define ANY4 (LEVEL(zeros)(FOLD4) != 0)
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
#endif

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

/* What is found in the vector at s as far as it lies on the page of s, for the rare case that it lies across two. */
INLINE M
LEVEL(before_page_end)(const char *s, V c, enum Wanted wanted)
{
  const char *p = DOWN(s, W);
  return LEVEL(found)(LEVEL(load)(p), c, wanted) >> (size_t)(s - p) * BITS;
}

/* The functions below return from wherever something is found, each time anew: a jump to a common end would cost a short call
 * a tenth of its time. The path on which nothing is found yet goes straight on. */

/* The first byte that is looked for, which is known to be there, and not within the first W bytes. A distance is that from
 * `start`. */
INLINE uintptr_t
LEVEL(scan)(const char *s, V c, enum Wanted wanted, enum Result result, int byte, const char *start)
{
#define FOUND_AT(at) do { \
    const char *there = (at); \
    if (result == DISTANCE) RETURN((uintptr_t)(there - start)); \
    if (result == MATCH && *there != (char)byte) RETURN((uintptr_t)0); \
    RETURN((uintptr_t)there); \
  } while (0)
  M m;
  const char *p = DOWN(s, W) + W;
  if (UNLIKELY(m = FOUND(0))) FOUND_AT(p + LEVEL(first)(m));
  if (UNLIKELY(m = FOUND(1))) FOUND_AT(p + W + LEVEL(first)(m));
  if (UNLIKELY(m = FOUND(2))) FOUND_AT(p + 2 * W + LEVEL(first)(m));
  if (UNLIKELY(m = FOUND(3))) FOUND_AT(p + 3 * W + LEVEL(first)(m));
  for (p = DOWN(p + 4 * W, 4 * W);; p += 4 * W) {
#ifdef PAIRS
    if (wanted != BYTE) {
      /* What was folded is kept: to do it again would take longer. */
      V f = FOLD(0), g = FOLD(1), h = FOLD(2), i = FOLD(3);
      if (LIKELY(!LEVEL(zeros)(LEVEL(least)(LEVEL(least)(f, g), LEVEL(least)(h, i))))) continue;
      uint64_t pair = LEVEL(zeros)(f) | (uint64_t)LEVEL(zeros)(g) << W;
      if (pair) FOUND_AT(p + __builtin_ctzll(pair));
      pair = LEVEL(zeros)(h) | (uint64_t)LEVEL(zeros)(i) << W;
      FOUND_AT(p + 2 * W + __builtin_ctzll(pair));
    }
#endif
    if (UNLIKELY(ANY4)) FOUND_AT(p + LEVEL(which)(p, c, wanted));
  }
#undef FOUND_AT
}

/* The same within n bytes, more than W; null if it is not there. Counted, it is the distance from `start`, and that of the
 * last byte's successor if it is not there. */
INLINE uintptr_t
LEVEL(scan_within)(const char *s, V c, enum Wanted wanted, size_t n, int counted, const char *start)
{
#define HIT(at) (counted ? (uintptr_t)((at) - start) : (uintptr_t)(at))
#define NONE (counted ? n + (size_t)(s - start) : 0)
  M m;
  size_t at;
  if (UNLIKELY(n <= 2 * W) && LIKELY(WITHIN_PAGE(s, 2 * W))) {
    m = LEVEL(found)(LEVEL(loadu)(s + W), c, wanted);
#ifdef ZERO_COUNTS
    at = W + LEVEL(before_first)(m);
#else
    at = m ? W + LEVEL(first)(m) : n;
#endif
    RETURN(at < n ? HIT(s + at) : NONE);
  }
  const char *p = DOWN(s, W) + W;
  size_t left = n - (size_t)(p - s);
  if (left > 4 * W) {
    if (UNLIKELY(m = FOUND(0))) RETURN(HIT(p + LEVEL(first)(m)));
    if (UNLIKELY(m = FOUND(1))) RETURN(HIT(p + W + LEVEL(first)(m)));
    if (UNLIKELY(m = FOUND(2))) RETURN(HIT(p + 2 * W + LEVEL(first)(m)));
    if (UNLIKELY(m = FOUND(3))) RETURN(HIT(p + 3 * W + LEVEL(first)(m)));
    p += 4 * W, left -= 4 * W;
    if (left > 4 * W) {
      left += (uintptr_t)p & (4 * W - 1);
      p = DOWN(p, 4 * W);
      size_t whole = (left - 1) & -(size_t)(4 * W);
      /* n may be more than there are addresses. */
      const char *stop = (const char*)((uintptr_t)p + whole);
      left -= whole;
    again:
      LOOP_BEGINS;
      if (UNLIKELY(ANY4)) RETURN(HIT(p + LEVEL(which)(p, c, wanted)));
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
#ifdef ZERO_COUNTS
  m = FOUND(0);
  if (UNLIKELY(m) || left <= W) {
    at = LEVEL(before_first)(m);
    RETURN(at < left ? HIT(p + at) : NONE);
  }
  at = W + LEVEL(before_first)(FOUND(1));
  RETURN(at < left ? HIT(p + at) : NONE);
#else
  if (UNLIKELY(m = FOUND(0))) {
    at = LEVEL(first)(m);
    RETURN(at < left ? HIT(p + at) : NONE);
  }
  if (left <= W || !(m = FOUND(1))) RETURN(NONE);
  at = W + LEVEL(first)(m);
  RETURN(at < left ? HIT(p + at) : NONE);
#endif
#undef HIT
#undef NONE
}

/* How far the end is from `start`; from there to s there is none. */
INLINE size_t
LEVEL(length)(const char *s, const char *start)
{
  V c = LEVEL(all)(0);
  M m;
  if (UNLIKELY(!WITHIN_PAGE(s, W)) && (m = LEVEL(before_page_end)(s, c, END))) RETURN((size_t)(s - start) + LEVEL(first)(m));
  /* It lies on one page, or goes on on the next. */
  m = LEVEL(zeros)(LEVEL(loadu)(s));
  if (LIKELY(m)) RETURN((size_t)(s - start) + LEVEL(first)(m));
  ABOVE(return strlen_above(s + W, start));
  return LEVEL(scan)(s, c, END, DISTANCE, 0, start);
}

/* The same within the n bytes from s on. */
INLINE size_t
LEVEL(length_within)(const char *s, size_t n, const char *start)
{
  V c = LEVEL(all)(0);
  M m;
  size_t before = (size_t)(s - start);
  if (UNLIKELY(n == 0)) RETURN(before);
  if (UNLIKELY(!WITHIN_PAGE(s, W))) {
    size_t there = W - (size_t)(s - DOWN(s, W));
    m = LEVEL(before_page_end)(s, c, END);
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
  ABOVE(return strnlen_above(s + W, n - W, start));
  return LEVEL(scan_within)(s, c, END, n, 1, start);
}

LEVELED OVERREAD size_t
LEVEL(strlen)(const char *s)
{
  return LEVEL(length)(s, s);
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
  V c = LEVEL(all)(byte);
  M m;
  if (UNLIKELY(n == 0)) RETURN((void*)0);
  if (UNLIKELY(!WITHIN_PAGE(s, W))) {
    size_t there = W - (size_t)(s - DOWN(s, W));
    m = LEVEL(before_page_end)(s, c, BYTE);
    if (m) RETURN(LEVEL(first)(m) < n ? (void*)(uintptr_t)(s + LEVEL(first)(m)) : 0);
    if (n <= there) RETURN((void*)0);
  }
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
  ABOVE(return memchr_above(s + W, byte, n - W));
  return (void*)LEVEL(scan_within)(s, c, BYTE, n, 0, s);
}

LEVELED OVERREAD char*
LEVEL(strchrnul)(const char *s, int byte)
{
  V c = LEVEL(all)(byte);
  M m;
  if (UNLIKELY(!WITHIN_PAGE(s, W)) && (m = LEVEL(before_page_end)(s, c, EITHER))) RETURN((char*)(uintptr_t)s + LEVEL(first)(m));
  m = LEVEL(found)(LEVEL(loadu)(s), c, EITHER);
  if (LIKELY(m)) RETURN((char*)(uintptr_t)s + LEVEL(first)(m));
  ABOVE(return strchrnul_above(s + W, byte));
  return (char*)LEVEL(scan)(s, c, EITHER, PLACE, 0, s);
}

LEVELED OVERREAD char*
LEVEL(strchr)(const char *s, int byte)
{
  V c = LEVEL(all)(byte);
  M m;
  const char *at;
  if (UNLIKELY(!WITHIN_PAGE(s, W)) && (m = LEVEL(before_page_end)(s, c, EITHER))) {
    at = s + LEVEL(first)(m);
    RETURN(*at == (char)byte ? (char*)(uintptr_t)at : 0);
  }
  m = LEVEL(found)(LEVEL(loadu)(s), c, EITHER);
  if (LIKELY(m)) {
    at = s + LEVEL(first)(m);
    RETURN(*at == (char)byte ? (char*)(uintptr_t)at : 0);
  }
  ABOVE(return strchr_above(s + W, byte));
  return (char*)LEVEL(scan)(s, c, EITHER, MATCH, byte, s);
}

LEVELED OVERREAD void*
LEVEL(memrchr)(const void *from, int byte, size_t n)
{
  const enum Wanted wanted = BYTE;
  const char *s = from, *p, *hit;
  V c = LEVEL(all)(byte);
  M m;
  p = s + n - W;
  if (LIKELY(n <= W)) {
    if (UNLIKELY(n == 0)) RETURN((void*)0);
    if (UNLIKELY(!WITHIN_PAGE(p, W))) {
      /* What lies before s need not be there, what lies behind it is on the same page as its end. */
      p = DOWN(s + n - 1, W);
      m = LEVEL(first_of)(LEVEL(equal)(LEVEL(load)(p), c), (size_t)(s + n - p));
      if (!m && p > s) p -= W, m = LEVEL(equal)(LEVEL(load)(p), c);
      if (!m) RETURN((void*)0);
      hit = p + LEVEL(last)(m);
      RETURN(hit >= s ? (void*)(uintptr_t)hit : 0);
    }
    m = LEVEL(equal)(LEVEL(loadu)(p), c);
#ifdef ZERO_COUNTS
    size_t at = LEVEL(behind_last)(m);
    RETURN(at < n ? (void*)(uintptr_t)(p + W - 1 - at) : 0);
#endif
    if (!m) RETURN((void*)0);
    hit = p + LEVEL(last)(m);
    RETURN(hit >= s ? (void*)(uintptr_t)hit : 0);
  }
  m = LEVEL(equal)(LEVEL(loadu)(p), c);
  if (m) RETURN((void*)(uintptr_t)(p + LEVEL(last)(m)));
  ABOVE(return memrchr_above(s, byte, n - W));
  p = DOWN(p - 1, W);
  if (p - s >= 4 * W) {
    if (UNLIKELY(m = FOUND(0))) RETURN((void*)(uintptr_t)(p + LEVEL(last)(m)));
    if (UNLIKELY(m = FOUND(-1))) RETURN((void*)(uintptr_t)(p - W + LEVEL(last)(m)));
    if (UNLIKELY(m = FOUND(-2))) RETURN((void*)(uintptr_t)(p - 2 * W + LEVEL(last)(m)));
    if (UNLIKELY(m = FOUND(-3))) RETURN((void*)(uintptr_t)(p - 3 * W + LEVEL(last)(m)));
    /* Down to where four vectors begin: what lies above was seen. */
    p = DOWN(p - 3 * W + 4 * W - 1, 4 * W);
    for (const char *stop = s + 4 * W; p > stop;) {
      p -= 4 * W;
      if (UNLIKELY(ANY4)) {
        FORGET(p);
        if ((m = FOUND(3))) RETURN((void*)(uintptr_t)(p + 3 * W + LEVEL(last)(m)));
        if ((m = FOUND(2))) RETURN((void*)(uintptr_t)(p + 2 * W + LEVEL(last)(m)));
        if ((m = FOUND(1))) RETURN((void*)(uintptr_t)(p + W + LEVEL(last)(m)));
        RETURN((void*)(uintptr_t)(p + LEVEL(last)(FOUND(0))));
      }
    }
    p -= W;
  }
  /* At most four, which lie behind s, and the one that s is in. */
#define WHOLE do { \
    if (p <= s) goto lowest; \
    if (UNLIKELY(m = FOUND(0))) RETURN((void*)(uintptr_t)(p + LEVEL(last)(m))); \
    p -= W; \
  } while (0)
  WHOLE;
  WHOLE;
  WHOLE;
  WHOLE;
#undef WHOLE
lowest:
  m = FOUND(0);
  if (LIKELY(!m)) RETURN((void*)0);
  hit = p + LEVEL(last)(m);
  RETURN(hit >= s ? (void*)(uintptr_t)hit : 0);
}

#ifdef PAIRS
/* All up to the end, which may itself be the byte. */
#define UP_TO(end) ((end) ^ ((end) - 1))

LEVELED OVERREAD char*
LEVEL(strrchr)(const char *s, int byte)
{
  V c = LEVEL(all)(byte), zero = LEVEL(all)(0), v, w, x;
  const char *p = DOWN(s, W);
  M end, hits;
  if (UNLIKELY(!WITHIN_PAGE(s, W))) {
    v = LEVEL(load)(p);
    end = LEVEL(zeros)(v) >> (size_t)(s - p);
    if (end) {
      hits = LEVEL(equal)(v, c) >> (size_t)(s - p) & UP_TO(end);
      RETURN(hits ? (char*)(uintptr_t)s + LEVEL(last)(hits) : 0);
    }
  }
  v = LEVEL(loadu)(s);
  end = LEVEL(zeros)(v);
  if (LIKELY(end)) {
    hits = LEVEL(equal)(v, c) & UP_TO(end);
    RETURN(hits ? (char*)(uintptr_t)s + LEVEL(last)(hits) : 0);
  }
  ABOVE(return strrchr_above(s, byte));
  p += W;
  w = LEVEL(load)(p);
  if (UNLIKELY(end = LEVEL(zeros)(w))) {
    hits = LEVEL(equal)(w, c) & UP_TO(end);
    if (hits) RETURN((char*)(uintptr_t)p + LEVEL(last)(hits));
    hits = LEVEL(equal)(v, c);
    RETURN(hits ? (char*)(uintptr_t)s + LEVEL(last)(hits) : 0);
  }
  x = LEVEL(load)(p + W);
  if (UNLIKELY(end = LEVEL(zeros)(x))) {
    hits = LEVEL(equal)(x, c) & UP_TO(end);
    if (hits) RETURN((char*)(uintptr_t)p + W + LEVEL(last)(hits));
    hits = LEVEL(equal)(w, c);
    if (hits) RETURN((char*)(uintptr_t)p + LEVEL(last)(hits));
    hits = LEVEL(equal)(v, c);
    RETURN(hits ? (char*)(uintptr_t)s + LEVEL(last)(hits) : 0);
  }
  /* Two at a time. What was seen last is kept as a place and a mask. */
  const char *four = DOWN(p + 2 * W, 2 * W), *at = 0;
  uint64_t seen = 0;
  for (;; four += 2 * W) {
    V a = LEVEL(load)(four), b = LEVEL(load)(four + W);
    V either = LEVEL(either)(LEVEL(same_bytes)(a, c), LEVEL(same_bytes)(b, c));
    V ends = LEVEL(same_bytes)(LEVEL(least)(a, b), zero);
    if (LIKELY(!LEVEL(marked)(LEVEL(either)(either, ends)))) continue;
    if (UNLIKELY(!LEVEL(marked)(ends))) {
      at = four, seen = LEVEL(equal)(a, c) | (uint64_t)LEVEL(equal)(b, c) << W;
      continue;
    }
    uint64_t both;
    if (UNLIKELY(LEVEL(marked)(either))) {
      uint64_t stop = LEVEL(zeros)(a) | (uint64_t)LEVEL(zeros)(b) << W;
      both = (LEVEL(equal)(a, c) | (uint64_t)LEVEL(equal)(b, c) << W) & UP_TO(stop);
      if (both) RETURN((char*)(uintptr_t)four + (63 ^ __builtin_clzll(both)));
    }
    if (UNLIKELY(seen)) RETURN((char*)(uintptr_t)at + (63 ^ __builtin_clzll(seen)));
    both = LEVEL(equal)(w, c) | (uint64_t)LEVEL(equal)(x, c) << W;
    if (UNLIKELY(both)) RETURN((char*)(uintptr_t)p + (63 ^ __builtin_clzll(both)));
    hits = LEVEL(equal)(v, c);
    RETURN(hits ? (char*)(uintptr_t)s + LEVEL(last)(hits) : 0);
  }
}
#undef UP_TO
#else
LEVELED OVERREAD char*
LEVEL(strrchr)(const char *s, int byte)
{
  const enum Wanted wanted = EITHER;
  V c = LEVEL(all)(byte), v;
  const char *p = DOWN(s, W), *at = 0;
  M end, hits, seen = 0;
  if (LIKELY(WITHIN_PAGE(s, W))) {
    v = LEVEL(loadu)(s);
    end = LEVEL(zeros)(v), hits = LEVEL(equal)(v, c);
  }
  else {
    v = LEVEL(load)(p);
    end = LEVEL(zeros)(v) >> (size_t)(s - p) * BITS, hits = LEVEL(equal)(v, c) >> (size_t)(s - p) * BITS;
  }
  if (LIKELY(end)) {
    /* All up to the end, which may itself be the byte. */
    hits &= end ^ (end - 1);
    RETURN(hits ? (char*)(uintptr_t)s + LEVEL(last)(hits) : 0);
  }
  if (hits) at = s, seen = hits;
  p += W;
  for (;;) {
    if (((uintptr_t)p & (4 * W - 1)) == 0) {
      while (!LEVEL(zeros)(FOLD4)) p += 4 * W;
    }
    do {
      /* Most vectors hold neither. */
      if (LEVEL(zeros)(FOLD(0))) {
        v = AT(0);
        end = LEVEL(zeros)(v), hits = LEVEL(equal)(v, c);
        if (end) {
          hits &= end ^ (end - 1);
          if (hits) RETURN((char*)(uintptr_t)p + LEVEL(last)(hits));
          RETURN(at ? (char*)(uintptr_t)at + LEVEL(last)(seen) : 0);
        }
        at = p, seen = hits;
      }
      p += W;
    } while ((uintptr_t)p & (4 * W - 1));
  }
}
#endif
