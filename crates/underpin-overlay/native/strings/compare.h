/* Comparing, once for each level. */

/* Up to the first difference or end, at most n bytes. The second string's vectors may lie across two pages: before one is
 * read, what is left of the first page has to hold no end, else the next page need not be there. */
INLINE int
LEVEL(compare)(const char *a, const char *b, size_t n, int bounded)
{
  M m;
  size_t i = 0;
#define PART(at) do { \
    size_t where = (at); \
    if (bounded && where >= n) return 0; \
    return (unsigned char)a[where] - (unsigned char)b[where]; \
  } while (0)
  if (bounded && UNLIKELY(n == 0)) return 0;
#define PARTING(k) LEVEL(parting)(LEVEL(loadu)(a + (k) * W), LEVEL(loadu)(b + (k) * W))
  /* Neither goes beyond its page: if both offsets together do not. */
  if (LIKELY((((uintptr_t)a | (uintptr_t)b) & (PAGE - 1)) <= PAGE - 4 * W)) {
    m = PARTING(0);
    if (LIKELY(m)) PART(LEVEL(first)(m));
    if (bounded && n <= W) return 0;
    if ((m = PARTING(1))) PART(W + LEVEL(first)(m));
    if (bounded && n <= 2 * W) return 0;
    if ((m = PARTING(2))) PART(2 * W + LEVEL(first)(m));
    if (bounded && n <= 3 * W) return 0;
    if ((m = PARTING(3))) PART(3 * W + LEVEL(first)(m));
    i = 3 * W;
  }
  else if (WITHIN_PAGE(a, W) && WITHIN_PAGE(b, W)) {
    m = PARTING(0);
    if (m) PART(LEVEL(first)(m));
  }
#undef PARTING
  else {
#ifdef MASKED
    size_t left = PAGE - ((uintptr_t)a & (PAGE - 1)), other = PAGE - ((uintptr_t)b & (PAGE - 1));
    left = left < other ? left : other;
    m = LEVEL(parting)(LEVEL(few)(a, left), LEVEL(few)(b, left)) & LEVEL(low)(left);
    if (m) PART(LEVEL(first)(m));
    /* These hold no end, so both go on beyond the page that comes first. */
    for (size_t k = left; k < W; k++) {
      if ((bounded && k >= n) || a[k] != b[k] || !a[k]) PART(k);
    }
#else
    for (size_t k = 0; k < W; k++) {
      if ((bounded && k >= n) || a[k] != b[k] || !a[k]) PART(k);
    }
#endif
  }
  /* From here on, a is aligned. */
  i += W - ((uintptr_t)a & (W - 1));
  for (;;) {
    if (bounded && i >= n) return 0;
    /* As many vectors as lie within both pages, and within n. */
    size_t whole = PAGE - ((uintptr_t)(a + i) & (PAGE - 1)), other = PAGE - ((uintptr_t)(b + i) & (PAGE - 1));
    whole = (whole < other ? whole : other) / W;
    if (bounded && whole > (n - i - 1) / W) whole = (n - i - 1) / W + 1;
#define PARTING(k) LEVEL(parting)(LEVEL(load)(a + i + (k) * W), LEVEL(loadu)(b + i + (k) * W))
#define A(k) LEVEL(load)(a + i + (k) * W)
#define B(k) LEVEL(loadu)(b + i + (k) * W)
    for (; whole >= 4; whole -= 4, i += 4 * W) {
      if (UNLIKELY(LEVEL(parting4)(A(0), A(1), A(2), A(3), B(0), B(1), B(2), B(3)))) {
        if ((m = PARTING(0))) PART(i + LEVEL(first)(m));
        if ((m = PARTING(1))) PART(i + W + LEVEL(first)(m));
        if ((m = PARTING(2))) PART(i + 2 * W + LEVEL(first)(m));
        PART(i + 3 * W + LEVEL(first)(PARTING(3)));
      }
    }
    for (; whole; whole--, i += W) {
      if ((m = PARTING(0))) PART(i + LEVEL(first)(m));
    }
    if (bounded && i >= n) return 0;
    /* b's vector lies across two pages, or begins with one. */
    size_t left = PAGE - ((uintptr_t)(b + i) & (PAGE - 1));
    if (left < W) {
      /* The last vector of b's page, most of which is known to be alike. */
      if (i + left > W) {
        const char *back = b + i + left - W, *beside = a + i + left - W;
        m = LEVEL(parting)(LEVEL(loadu)(beside), LEVEL(loadu)(back));
        if (m) PART(i + left - W + LEVEL(first)(m));
      }
      if (bounded && i + left >= n) return 0;
      if ((m = PARTING(0))) PART(i + LEVEL(first)(m));
      i += W;
    }
  }
#undef PART
#undef PARTING
#undef A
#undef B
}

LEVELED OVERREAD int
LEVEL(strcmp)(const char *a, const char *b)
{
  return LEVEL(compare)(a, b, 0, 0);
}

LEVELED OVERREAD int
LEVEL(strncmp)(const char *a, const char *b, size_t n)
{
  return LEVEL(compare)(a, b, n, 1);
}

INLINE int
LEVEL(apart)(const char *a, const char *b, M m)
{
  size_t at = LEVEL(first)(m);
  return (unsigned char)a[at] - (unsigned char)b[at];
}

#define DIFFER(i) LEVEL(differ)(LEVEL(loadu)(a + (i)), LEVEL(loadu)(b + (i)))
#define UNLIKE(i) LEVEL(unlike)(LEVEL(loadu)(a + (i)), LEVEL(loadu)(b + (i)))

/* The difference of which one of four vectors holds the first. */
INLINE int
LEVEL(apart4)(const char *a, const char *b)
{
  M m;
  for (int i = 0; i < 3; i++, a += W, b += W) {
    if ((m = DIFFER(0))) return LEVEL(apart)(a, b, m);
  }
  return LEVEL(apart)(a, b, DIFFER(0));
}

#define UNLIKE4(i, j, k, l) \
  LEVEL(nonzero)(LEVEL(either)(LEVEL(either)(UNLIKE(i), UNLIKE(j)), LEVEL(either)(UNLIKE(k), UNLIKE(l))))

LEVELED OVERREAD int
LEVEL(memcmp)(const void *one, const void *other, size_t n)
{
  const char *a = one, *b = other;
  M m;
#ifdef MASKED
  if (LIKELY(n <= W)) {
    m = LEVEL(differ)(LEVEL(few)(a, n), LEVEL(few)(b, n));
    return UNLIKELY(m) ? LEVEL(apart)(a, b, m) : 0;
  }
#else
#if W > 16
  if (LIKELY(n <= W)) {
    if (UNLIKELY(n == 0)) return 0;
    /* Whole vectors, if neither goes beyond its page. */
    if (LIKELY((((uintptr_t)a | (uintptr_t)b) & (PAGE - 1)) <= PAGE - W)) {
      m = LEVEL(first_of)(DIFFER(0), n);
      return m ? LEVEL(apart)(a, b, m) : 0;
    }
    if (n <= 16) return few_compared(a, b, n);
    uint32_t few = differ_sse2(loadu_sse2(a), loadu_sse2(b));
    if (few) return apart_sse2(a, b, few);
    a += n - 16, b += n - 16;
    few = differ_sse2(loadu_sse2(a), loadu_sse2(b));
    return few ? apart_sse2(a, b, few) : 0;
  }
#else
  if (n <= 16) return few_compared(a, b, n);
#endif
#endif
  if (n <= 2 * W) {
    if (LIKELY(!LEVEL(nonzero)(LEVEL(either)(UNLIKE(0), UNLIKE(n - W))))) return 0;
    if ((m = DIFFER(0))) return LEVEL(apart)(a, b, m);
  }
  else if (n <= 4 * W) {
    if (LIKELY(!UNLIKE4(0, W, n - 2 * W, n - W))) return 0;
    if ((m = DIFFER(0))) return LEVEL(apart)(a, b, m);
    if ((m = DIFFER(W))) return LEVEL(apart)(a + W, b + W, m);
    if ((m = DIFFER(n - 2 * W))) return LEVEL(apart)(a + n - 2 * W, b + n - 2 * W, m);
  }
  else {
    if (UNLIKE4(0, W, 2 * W, 3 * W)) return LEVEL(apart4)(a, b);
    if (n > 8 * W) {
      for (size_t i = 4 * W - ((uintptr_t)a & (W - 1)); i + 4 * W < n; i += 4 * W) {
        if (UNLIKE4(i, i + W, i + 2 * W, i + 3 * W)) return LEVEL(apart4)(a + i, b + i);
      }
    }
    a += n - 4 * W, b += n - 4 * W;
    return UNLIKE4(0, W, 2 * W, 3 * W) ? LEVEL(apart4)(a, b) : 0;
  }
  a += n - W, b += n - W;
  return LEVEL(apart)(a, b, DIFFER(0));
}
