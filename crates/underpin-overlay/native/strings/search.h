/* The searching functions, once for each level. A vector that lies within one page can be read whole, whatever it is that
 * ends within it. */

#define WITHIN_PAGE(p, bytes) (((uintptr_t)(p) & (PAGE - 1)) <= PAGE - (bytes))
#define DOWN(p, to) ((const char*)((uintptr_t)(p) & -(uintptr_t)(to)))

/* A byte of the result is 0 where the byte is what is looked for: an end, the byte c, or either. */
INLINE V
LEVEL(fold)(V v, V c, enum Wanted wanted)
{
  if (wanted == END) return v;
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
#define FOLD4 LEVEL(least)(LEVEL(least)(FOLD(0), FOLD(1)), LEVEL(least)(FOLD(2), FOLD(3)))
#ifdef MASKED
#define ANY4 (LEVEL(zeros)(FOLD4) != 0)
#else
/* A byte alone is found by comparisons, which need no second one with zero. */
#define SAME(i) LEVEL(same_bytes)(AT(i), c)
#define SAME4 LEVEL(either)(LEVEL(either)(SAME(0), SAME(1)), LEVEL(either)(SAME(2), SAME(3)))
#define ANY4 (wanted == BYTE ? LEVEL(marked)(SAME4) != 0 : LEVEL(zeros)(FOLD4) != 0)
#endif

/* The first of four vectors at p that holds it: one of them does. They are read anew: kept in registers they would cost the
 * loop that found them more. */
INLINE const char*
LEVEL(which)(const char *p, V c, enum Wanted wanted)
{
  M m;
  FORGET(p);
  if ((m = FOUND(0))) return p + LEVEL(first)(m);
  if ((m = FOUND(1))) return p + W + LEVEL(first)(m);
  if ((m = FOUND(2))) return p + 2 * W + LEVEL(first)(m);
  return p + 3 * W + LEVEL(first)(FOUND(3));
}

/* The first byte that is looked for, which is known to be there. */
INLINE const char*
LEVEL(scan)(const char *s, V c, enum Wanted wanted)
{
  M m;
  const char *p = DOWN(s, W);
  if (LIKELY(WITHIN_PAGE(s, W))) {
    m = LEVEL(found)(LEVEL(loadu)(s), c, wanted);
    if (LIKELY(m)) return s + LEVEL(first)(m);
  }
  else {
    m = LEVEL(found)(LEVEL(load)(p), c, wanted) >> (size_t)(s - p) * BITS;
    if (m) return s + LEVEL(first)(m);
  }
  p += W;
  UNROLLED
  for (int i = 0; i < 4; i++, p += W) {
    if ((m = FOUND(0))) return p + LEVEL(first)(m);
  }
  for (p = DOWN(p, 4 * W);; p += 4 * W) {
    if (UNLIKELY(ANY4)) return LEVEL(which)(p, c, wanted);
  }
}

/* The same within n bytes; null if it is not there. */
INLINE const char*
LEVEL(scan_within)(const char *s, V c, enum Wanted wanted, size_t n)
{
  M m;
  const char *p = DOWN(s, W), *hit;
  if (UNLIKELY(n == 0)) return 0;
  if (LIKELY(WITHIN_PAGE(s, W))) {
    m = LEVEL(found)(LEVEL(loadu)(s), c, wanted);
    if (LIKELY(n <= W)) {
      m = LEVEL(first_of)(m, n);
      return m ? s + LEVEL(first)(m) : 0;
    }
    if (m) return s + LEVEL(first)(m);
  }
  else {
    m = LEVEL(found)(LEVEL(load)(p), c, wanted) >> (size_t)(s - p) * BITS;
    if (m) return LEVEL(first)(m) < n ? s + LEVEL(first)(m) : 0;
  }
  /* No memory is that large, and sums and differences stay positive. */
  const char *end = s + (n < SIZE_MAX / 4 ? n : SIZE_MAX / 4);
  p += W;
  UNROLLED
  for (int i = 0; i < 4; i++, p += W) {
    if (p >= end) return 0;
    if ((m = FOUND(0))) {
      hit = p + LEVEL(first)(m);
      return hit < end ? hit : 0;
    }
  }
  const char *four = DOWN(p, 4 * W);
  if (four < end - 3 * W) {
    for (; four < end - 3 * W; four += 4 * W) {
      p = four;
      if (UNLIKELY(ANY4)) {
        hit = LEVEL(which)(p, c, wanted);
        return hit < end ? hit : 0;
      }
    }
    p = four;
  }
  for (; p < end; p += W) {
    if ((m = FOUND(0))) {
      hit = p + LEVEL(first)(m);
      return hit < end ? hit : 0;
    }
  }
  return 0;
}

LEVELED OVERREAD size_t
LEVEL(strlen)(const char *s)
{
  return (size_t)(LEVEL(scan)(s, LEVEL(all)(0), END) - s);
}

LEVELED OVERREAD size_t
LEVEL(strnlen)(const char *s, size_t n)
{
#if !defined MASKED && BITS == 1
  /* The mask has room for a bit behind the last byte that counts. */
  if (LIKELY(n - 1 < W && WITHIN_PAGE(s, W))) {
    return (size_t)__builtin_ctzll((uint64_t)LEVEL(zeros)(LEVEL(loadu)(s)) | (uint64_t)1 << n);
  }
#endif
  const char *end = LEVEL(scan_within)(s, LEVEL(all)(0), END, n);
  return end ? (size_t)(end - s) : n;
}

LEVELED OVERREAD void*
LEVEL(memchr)(const void *s, int c, size_t n)
{
  return (void*)(uintptr_t)LEVEL(scan_within)(s, LEVEL(all)(c), BYTE, n);
}

LEVELED OVERREAD char*
LEVEL(strchrnul)(const char *s, int c)
{
  return (char*)(uintptr_t)LEVEL(scan)(s, LEVEL(all)(c), EITHER);
}

LEVELED OVERREAD char*
LEVEL(strchr)(const char *s, int c)
{
  const char *at = LEVEL(scan)(s, LEVEL(all)(c), EITHER);
  return *at == (char)c ? (char*)(uintptr_t)at : 0;
}

LEVELED OVERREAD void*
LEVEL(memrchr)(const void *from, int byte, size_t n)
{
  const enum Wanted wanted = BYTE;
  const char *s = from;
  V c = LEVEL(all)(byte);
  M m;
  if (UNLIKELY(n == 0)) return 0;
  const char *end = s + n, *p = DOWN(end - 1, W);
  /* The vector that the last byte is in, without what follows it. */
  m = FOUND(0) << (W - 1 - (size_t)(end - 1 - p)) * BITS;
  if (BITS * W < (int)sizeof(M) * 8) m &= ((M)1 << BITS * W % (sizeof(M) * 8)) - 1;
  if (m) {
    const char *hit = end - W + LEVEL(last)(m);
    return hit >= s ? (void*)(uintptr_t)hit : 0;
  }
  UNROLLED
  for (int i = 0; i < 4; i++) {
    if (p <= s) return 0;
    p -= W;
    if ((m = FOUND(0))) {
      const char *hit = p + LEVEL(last)(m);
      return hit >= s ? (void*)(uintptr_t)hit : 0;
    }
  }
  for (p -= 4 * W; p - s > 0; p -= 4 * W) {
    if (UNLIKELY(ANY4)) {
      FORGET(p);
      break;
    }
  }
  p += 4 * W;
  while (p > s) {
    p -= W;
    if ((m = FOUND(0))) {
      const char *hit = p + LEVEL(last)(m);
      return hit >= s ? (void*)(uintptr_t)hit : 0;
    }
  }
  return 0;
}

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
    return hits ? (char*)(uintptr_t)s + LEVEL(last)(hits) : 0;
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
          if (hits) return (char*)(uintptr_t)p + LEVEL(last)(hits);
          return at ? (char*)(uintptr_t)at + LEVEL(last)(seen) : 0;
        }
        at = p, seen = hits;
      }
      p += W;
    } while ((uintptr_t)p & (4 * W - 1));
  }
}
