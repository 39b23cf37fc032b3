/* Searching from the end, and for the last one in a string, once for each level: with what search.h defines. */

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
#ifdef ZERO_COUNTS
  if (UNLIKELY(n <= 2 * W)) {
    m = LEVEL(equal)(LEVEL(loadu)(s), c);
    RETURN(m ? (void*)(uintptr_t)(s + LEVEL(last)(m)) : 0);
  }
#endif
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

/* All up to the end, which may itself be the byte. */
#define UP_TO(end) ((end) ^ ((end) - 1))

#ifdef PAIRS

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
  p += W;
  w = LEVEL(load)(p);
  if (UNLIKELY(end = LEVEL(zeros)(w))) {
    hits = LEVEL(equal)(w, c) & UP_TO(end);
    if (hits) RETURN((char*)(uintptr_t)p + LEVEL(last)(hits));
    hits = LEVEL(equal)(v, c);
    RETURN(hits ? (char*)(uintptr_t)s + LEVEL(last)(hits) : 0);
  }
  ABOVE(return strrchr_above(s, byte));
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
LEVELED OVERREAD char*
LEVEL(strrchr)(const char *s, int byte)
{
  V c = LEVEL(all)(byte), v, w, x, y, z;
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
  v = LEVEL(loadu)(s);
  ENDS(v, s, RETURN((char*)0));
  p += W;
  w = LEVEL(load)(p);
  ENDS(w, p, goto in_first);
  x = LEVEL(load)(p + W);
  ENDS(x, p + W, goto in_second);
  y = LEVEL(load)(p + 2 * W);
  ENDS(y, p + 2 * W, goto in_third);
  z = LEVEL(load)(p + 3 * W);
  ENDS(z, p + 3 * W, goto in_fourth);
  /* Four at a time. What was seen last is kept as a place and a mask. */
  const char *four = DOWN(p + 4 * W, 4 * W), *at = 0;
  M seen = 0;
  for (;; four += 4 * W) {
    V f = LEVEL(fold)(LEVEL(load)(four), c, EITHER), h = LEVEL(fold)(LEVEL(load)(four + 2 * W), c, EITHER);
    V g = LEVEL(fold_both)(LEVEL(load)(four + W), c, f);
    if (LIKELY(!LEVEL(zeros)(LEVEL(fold_both)(LEVEL(load)(four + 3 * W), c, LEVEL(least)(g, h))))) continue;
    /* From the first of the four that holds anything on. */
    const char *q = LEVEL(zeros)(f) ? four : LEVEL(zeros)(g) ? four + W : LEVEL(zeros)(h) ? four + 2 * W : four + 3 * W;
    do {
      V some = LEVEL(load)(q);
      ENDS(some, q, goto before);
      hits = LEVEL(equal)(some, c);
      if (hits) at = q, seen = hits;
      q += W;
    } while (q != four + 4 * W);
  }
before:
  if (UNLIKELY(seen)) RETURN((char*)(uintptr_t)at + LEVEL(last)(seen));
  V all = LEVEL(least)(LEVEL(least)(LEVEL(unlike)(v, c), LEVEL(unlike)(w, c)), LEVEL(least)(LEVEL(unlike)(x, c), LEVEL(unlike)(y, c)));
  if (LIKELY(!LEVEL(zeros)(LEVEL(least)(all, LEVEL(unlike)(z, c))))) RETURN((char*)0);
  HOLDS(z, p + 3 * W);
in_fourth:
  HOLDS(y, p + 2 * W);
in_third:
  HOLDS(x, p + W);
in_second:
  HOLDS(w, p);
in_first:
  HOLDS(v, s);
  RETURN((char*)0);
#undef ENDS
#undef HOLDS
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
