/* Searching from the end, and for the last one in a string, once for each level: with what search.h defines. */

LEVELED OVERREAD void*
LEVEL(memrchr)(const void *from, int byte, size_t n)
{
  const enum Wanted wanted = BYTE;
  const char *s = from, *p, *hit;
  M m;
  if (LIKELY(n <= W)) {
    if (UNLIKELY(n == 0)) return 0;
#ifdef ZERO_COUNTS
    if (BEYOND_PAGE(s)) {
      BELOW_LEVEL(return below_memrchr(s, byte, n));
      /* What comes before lies on the page of s, then. */
      p = s + n - W;
      size_t at = LEVEL(behind_last)(LEVEL(equal)(LEVEL(loadu)(p), LEVEL(all)(byte)));
      RETURN(at < n ? (void*)(uintptr_t)(p + W - 1 - at) : 0);
    }
    m = LEVEL(first_of)(LEVEL(equal)(LEVEL(loadu)(s), LEVEL(all)(byte)), n);
    if (!m) RETURN((void*)0);
    RETURN((void*)(uintptr_t)(s + (W - 1) - LEVEL(behind_last)(m)));
#else
    V c = LEVEL(all)(byte);
    p = s + n - W;
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
    if (!m) RETURN((void*)0);
    hit = p + LEVEL(last)(m);
    RETURN(hit >= s ? (void*)(uintptr_t)hit : 0);
#endif
  }
  BELOW_LEVEL(return below_memrchr(s, byte, n));
  V c = LEVEL(all)(byte);
  p = s + n - W;
  m = LEVEL(equal)(LEVEL(loadu)(p), c);
  if (m) RETURN((void*)(uintptr_t)(p + LEVEL(last)(m)));
#ifdef ZERO_COUNTS
  if (UNLIKELY(n <= 2 * W)) {
    m = LEVEL(equal)(LEVEL(loadu)(s), c);
    RETURN(m ? (void*)(uintptr_t)(s + LEVEL(last)(m)) : 0);
  }
#endif
  ABOVE_IF_LONG(n, return memrchr_above(s, byte, n - W));
#ifdef ZERO_COUNTS
  if (LIKELY(n <= 8 * W)) {
    /* From the end and from the beginning: where the two overlap, nothing is left to be found. */
#define LOOK(at) do { \
    const char *there = (at); \
    m = LEVEL(equal)(LEVEL(loadu)(there), c); \
    if (UNLIKELY(m)) RETURN((void*)(uintptr_t)(there + LEVEL(last)(m))); \
  } while (0)
    LOOK(p - W);
    if (n > 4 * W) {
      LOOK(p - 2 * W);
      LOOK(p - 3 * W);
      V v = LEVEL(same_bytes)(LEVEL(loadu)(s), c), w = LEVEL(same_bytes)(LEVEL(loadu)(s + W), c);
      V x = LEVEL(same_bytes)(LEVEL(loadu)(s + 2 * W), c), y = LEVEL(same_bytes)(LEVEL(loadu)(s + 3 * W), c);
      if (LIKELY(!LEVEL(marked)(LEVEL(either)(LEVEL(either)(v, w), LEVEL(either)(x, y))))) RETURN((void*)0);
      LOOK(s + 3 * W);
      LOOK(s + 2 * W);
    }
    LOOK(s + W);
    LOOK(s);
    RETURN((void*)0);
#undef LOOK
  }
#endif
  p = DOWN(p - 1, W);
  if (p - s >= 4 * W) {
    if (UNLIKELY(m = FOUND(0))) RETURN((void*)(uintptr_t)(p + LEVEL(last)(m)));
    if (UNLIKELY(m = FOUND(-1))) RETURN((void*)(uintptr_t)(p - W + LEVEL(last)(m)));
    if (UNLIKELY(m = FOUND(-2))) RETURN((void*)(uintptr_t)(p - 2 * W + LEVEL(last)(m)));
    if (UNLIKELY(m = FOUND(-3))) RETURN((void*)(uintptr_t)(p - 3 * W + LEVEL(last)(m)));
#ifdef NARROWER
    if (UNLIKELY((size_t)(p - s) >= narrow_from)) return late_memrchr(s, byte, (size_t)(p - 3 * W - s));
#endif
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

/* All up to the end, which may itself be the byte. */
#define UP_TO(end) ((end) ^ ((end) - 1))

#ifdef PAIRS

LEVELED OVERREAD char*
LEVEL(strrchr)(const char *s, int byte)
{
  V c, zero, v, w, x;
  const char *p;
  M end, hits;
  if (BEYOND_PAGE(s)) {
    BELOW_LEVEL(return below_strrchr(s, byte));
    p = DOWN(s, W);
    v = LEVEL(load)(p);
    end = LEVEL(zeros)(v) >> (size_t)(s - p);
    if (end) {
      hits = LEVEL(equal)(v, LEVEL(all)(byte)) >> (size_t)(s - p) & UP_TO(end);
      RETURN(hits ? (char*)(uintptr_t)s + LEVEL(last)(hits) : 0);
    }
  }
  c = LEVEL(all)(byte), zero = LEVEL(all)(0);
  v = LEVEL(loadu)(s);
  end = LEVEL(zeros)(v);
  if (LIKELY(end)) {
    hits = LEVEL(equal)(v, c) & UP_TO(end);
    RETURN(hits ? (char*)(uintptr_t)s + LEVEL(last)(hits) : 0);
  }
  p = DOWN(s, W) + W;
  w = LEVEL(load)(p);
  if (UNLIKELY(end = LEVEL(zeros)(w))) {
    hits = LEVEL(equal)(w, c) & UP_TO(end);
    if (hits) RETURN((char*)(uintptr_t)p + LEVEL(last)(hits));
    hits = LEVEL(equal)(v, c);
    RETURN(hits ? (char*)(uintptr_t)s + LEVEL(last)(hits) : 0);
  }
  ABOVE(return strrchr_above(s, byte));
  ABOVE_LATE(return late_strrchr(s, byte));
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
#elif defined MASKED
/* One more of the vectors that do not hold the byte: where all bits are still set, none of them does. */
#define NOT_IN(vector, so_far) LEVEL(differ_too)(so_far, vector, c)
#define NOWHERE(so_far) LIKELY((so_far) == ~(M)0)

/* Of a string that is known not to end before the first multiple of W behind s. */
LEVELED OVERREAD char*
LEVEL(strrchr)(const char *s, int byte)
{
  V c = LEVEL(all)(byte), w, x, y, z, z2, z3, z4, z5;
  const char *p = DOWN(s, W) + W;
  M end, hits;
  /* In the vector at `at` the string ends; what lies before is looked at from `before` on if the byte is not in it. */
#define ENDS(vector, at, before) do { \
    if (UNLIKELY(end = LEVEL(zeros)(vector))) { \
      hits = LEVEL(equal)(vector, c) & UP_TO(end); \
      if (hits) RETURN((char*)(uintptr_t)(at) + LEVEL(last)(hits)); \
      before; \
    } \
  } while (0)
#define HOLDS(vector, at) do { \
    hits = LEVEL(equal)(vector, c); \
    if (UNLIKELY(hits)) RETURN((char*)(uintptr_t)(at) + LEVEL(last)(hits)); \
  } while (0)
  w = LEVEL(load)(p);
  ENDS(w, p, goto in_first);
  x = LEVEL(load)(p + W);
  ENDS(x, p + W, goto in_second);
  y = LEVEL(load)(p + 2 * W);
  ENDS(y, p + 2 * W, goto in_third);
  z = LEVEL(load)(p + 3 * W);
  ENDS(z, p + 3 * W, goto in_fourth);
  z2 = LEVEL(load)(p + 4 * W);
  ENDS(z2, p + 4 * W, goto in_fifth);
  z3 = LEVEL(load)(p + 5 * W);
  ENDS(z3, p + 5 * W, goto in_sixth);
  z4 = LEVEL(load)(p + 6 * W);
  ENDS(z4, p + 6 * W, goto in_seventh);
  z5 = LEVEL(load)(p + 7 * W);
  ENDS(z5, p + 7 * W, goto in_eighth);
  /* Four at a time. Of those that hold the byte the last ones are kept. */
  const char *four = DOWN(p + 8 * W, 4 * W), *at = 0;
  for (;; four += 4 * W) {
    V f = LEVEL(load)(four), g = LEVEL(load)(four + W), h = LEVEL(load)(four + 2 * W), i = LEVEL(load)(four + 3 * W);
#ifdef MASK_PAIRS
    /* Intel's processors have one port for comparisons into masks, and three to fold: half of each (Emerald Rapids, 32 kB: 0.36 us
     * instead of 0.46). Where neither the byte nor the end is in one of the four, which is most often, that is all. */
    V either = LEVEL(fold_both)(g, c, LEVEL(least)(f, LEVEL(unlike)(f, c)));
    V other = LEVEL(fold_both)(i, c, LEVEL(least)(h, LEVEL(unlike)(h, c)));
    if (LIKELY(!LEVEL(zeros)(LEVEL(least)(either, other)))) continue;
    if (NOWHERE(NOT_IN(g, LEVEL(differ)(f, c)) & NOT_IN(i, LEVEL(differ)(h, c)))) break;
    end = LEVEL(zeros)(LEVEL(least)(LEVEL(least)(f, g), LEVEL(least)(h, i)));
#else
    M nowhere = NOT_IN(g, LEVEL(differ)(f, c)) & NOT_IN(i, LEVEL(differ)(h, c));
    end = LEVEL(zeros)(LEVEL(least)(LEVEL(least)(f, g), LEVEL(least)(h, i)));
    if (NOWHERE(nowhere)) {
      if (UNLIKELY(end)) break;
      continue;
    }
#endif
    if (!end) {
      at = four;
      continue;
    }
    /* From the vector of the end on down. */
    const char *q = four + 3 * W;
    if ((end = LEVEL(zeros)(f))) q = four;
    else if ((end = LEVEL(zeros)(g))) q = four + W;
    else if ((end = LEVEL(zeros)(h))) q = four + 2 * W;
    else end = LEVEL(zeros)(i);
    hits = LEVEL(equal)(LEVEL(load)(q), c) & UP_TO(end);
    if (hits) RETURN((char*)(uintptr_t)q + LEVEL(last)(hits));
    for (; q != four;) {
      q -= W;
      HOLDS(LEVEL(load)(q), q);
    }
    break;
  }
  if (UNLIKELY(at)) {
    HOLDS(LEVEL(load)(at + 3 * W), at + 3 * W);
    HOLDS(LEVEL(load)(at + 2 * W), at + 2 * W);
    HOLDS(LEVEL(load)(at + W), at + W);
    HOLDS(LEVEL(load)(at), at);
  }
#define LOOK(none, vector, k) do { \
    if (NOWHERE(none)) RETURN((char*)0); \
    HOLDS(vector, p + (k) * W); \
  } while (0)
#ifdef MASK_PAIRS
  /* The same by folding, of nine at once (Emerald Rapids, 500 bytes: 1.06 of glibc's time instead of 1.30). */
#define APART(v) LEVEL(unlike)(v, c)
  {
    V e1 = LEVEL(least)(APART(LEVEL(loadu)(s)), APART(w)), e2 = LEVEL(least)(APART(x), APART(y));
    V e3 = LEVEL(least)(APART(z), APART(z2)), e4 = LEVEL(least)(APART(z3), APART(z4));
    V all = LEVEL(least)(LEVEL(least)(LEVEL(least)(e1, e2), LEVEL(least)(e3, e4)), APART(z5));
    if (LIKELY(!LEVEL(zeros)(all))) RETURN((char*)0);
    HOLDS(z5, p + 7 * W);
  }
#undef APART
#else
  LOOK(NOT_IN(x, NOT_IN(w, LEVEL(differ)(LEVEL(loadu)(s), c))) & NOT_IN(z2, NOT_IN(z, LEVEL(differ)(y, c))) & NOT_IN(z5, NOT_IN(z4, LEVEL(differ)(z3, c))), z5, 7);
#endif
in_eighth:
  LOOK(NOT_IN(x, NOT_IN(w, LEVEL(differ)(LEVEL(loadu)(s), c))) & NOT_IN(z2, NOT_IN(z, LEVEL(differ)(y, c))) & NOT_IN(z4, LEVEL(differ)(z3, c)), z4, 6);
in_seventh:
  LOOK(NOT_IN(x, NOT_IN(w, LEVEL(differ)(LEVEL(loadu)(s), c))) & NOT_IN(z2, NOT_IN(z, LEVEL(differ)(y, c))) & LEVEL(differ)(z3, c), z3, 5);
in_sixth:
  LOOK(NOT_IN(x, NOT_IN(w, LEVEL(differ)(LEVEL(loadu)(s), c))) & NOT_IN(z2, NOT_IN(z, LEVEL(differ)(y, c))), z2, 4);
in_fifth:
  LOOK(NOT_IN(w, LEVEL(differ)(LEVEL(loadu)(s), c)) & NOT_IN(z, NOT_IN(y, LEVEL(differ)(x, c))), z, 3);
in_fourth:
  LOOK(NOT_IN(w, LEVEL(differ)(LEVEL(loadu)(s), c)) & NOT_IN(y, LEVEL(differ)(x, c)), y, 2);
in_third:
  LOOK(NOT_IN(x, NOT_IN(w, LEVEL(differ)(LEVEL(loadu)(s), c))), x, 1);
in_second:
  LOOK(NOT_IN(w, LEVEL(differ)(LEVEL(loadu)(s), c)), w, 0);
in_first:
  /* What lies behind p is the second vector's, in which the string may have ended. */
  hits = LEVEL(first_of)(LEVEL(equal)(LEVEL(loadu)(s), c), (size_t)(p - s));
  RETURN(hits ? (char*)(uintptr_t)s + LEVEL(last)(hits) : 0);
#undef ENDS
#undef HOLDS
#undef LOOK
#undef NOT_IN
#undef NOWHERE
}
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
    hits &= UP_TO(end);
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
          hits &= UP_TO(end);
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
#undef UP_TO
