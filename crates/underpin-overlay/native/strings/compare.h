/* Comparing, once for each level. */

INLINE int
LEVEL(apart)(const char *a, const char *b, M m)
{
  size_t at = LEVEL(first)(m);
  return (unsigned char)a[at] - (unsigned char)b[at];
}

/* Up to the first difference or end, at most n bytes. The second string's vectors may lie across two pages: before one is
 * read, what is left of the first page has to hold no end, else the next page need not be there. */
INLINE int
LEVEL(compare)(const char *a, const char *b, size_t n, int bounded)
{
  M m;
  size_t i = 0;
#define PART(at) do { \
    size_t where = (at); \
    if (bounded && where >= n) RETURN(0); \
    RETURN((unsigned char)a[where] - (unsigned char)b[where]); \
  } while (0)
  if (bounded && UNLIKELY(n == 0)) return 0;
/* What goes on is the path without a jump. */
#ifdef MASKED
#define PARTS(m) (m)
#else
#define PARTS(m) UNLIKELY(m)
#endif
#ifdef ZERO_COUNTS
  /* Kept in a register: the compiler would clear one for each vector. Set where the level is known. */
  V zero;
#define PARTING_OF(v, w) LEVEL(equal)(LEVEL(alike)(v, w), zero)
#define ZERO do { zero = LEVEL(all)(0); HELD(zero); } while (0)
#else
#define PARTING_OF(v, w) LEVEL(parting)(v, w)
#define ZERO (void)0
#endif
#define PARTING(k) PARTING_OF(LEVEL(loadu)(a + (k) * W), LEVEL(loadu)(b + (k) * W))
  /* Neither goes beyond its page: if both offsets together do not. */
  if (FOUR_WITHIN((uint32_t)(uintptr_t)a | (uint32_t)(uintptr_t)b)) {
    ZERO;
    m = PARTING(0);
#ifdef ZERO_COUNTS
    /* What parts behind n is left out here, and need not be asked for where more is compared. */
    if (bounded && UNLIKELY(n <= W)) {
      if (LEVEL(cut)(&m, n)) RETURN(0);
      RETURN(LEVEL(apart)(a, b, m));
    }
    if (!NONE(m)) RETURN(LEVEL(apart)(a, b, m));
#else
    if (!NONE(m)) PART(LEVEL(first)(m));
    if (bounded && n <= W) RETURN(0);
#endif
    if (!bounded) ABOVE_IF_NONE(m, return strcmp_above(a + W, b + W));
    if (PARTS(m = PARTING(1))) PART(W + LEVEL(first)(m));
    if (bounded && n <= 2 * W) RETURN(0);
    if (bounded) ABOVE_IF_LONG(n, return strncmp_above(a + 2 * W, b + 2 * W, n - 2 * W));
    if (PARTS(m = PARTING(2))) PART(2 * W + LEVEL(first)(m));
    if (bounded && n <= 3 * W) RETURN(0);
    if (PARTS(m = PARTING(3))) PART(3 * W + LEVEL(first)(m));
    i = 3 * W;
    if (bounded && n <= 4 * W) RETURN(0);
    if ((!bounded || n <= 8 * W) && LIKELY((((uintptr_t)a | (uintptr_t)b) & (PAGE - 1)) <= PAGE - 8 * W)) {
      if (PARTS(m = PARTING(4))) PART(4 * W + LEVEL(first)(m));
      if (bounded && n <= 5 * W) RETURN(0);
      if (PARTS(m = PARTING(5))) PART(5 * W + LEVEL(first)(m));
      if (bounded && n <= 6 * W) RETURN(0);
      if (PARTS(m = PARTING(6))) PART(6 * W + LEVEL(first)(m));
      if (bounded && n <= 7 * W) RETURN(0);
      if (PARTS(m = PARTING(7))) PART(7 * W + LEVEL(first)(m));
      i = 7 * W;
    }
  }
#ifdef BELOW_COMPARED
  else if (BELOW_COMPARED) return bounded ? below_strncmp(a, b, n) : below_strcmp(a, b);
#endif
  else if (WITHIN_PAGE(a, W) && WITHIN_PAGE(b, W)) {
    ZERO;
    m = PARTING(0);
    if (m) PART(LEVEL(first)(m));
  }
#undef PARTING
  else {
    ZERO;
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
  if (!bounded) ABOVE_LATE(return late_strcmp(a + i + W, b + i + W));
  /* From here on, a is aligned, and each has an address of its own: with an index, Intel's processors split what reads one string and
   * compares. */
  const char *from = a;
  i += W - ((uintptr_t)a & (W - 1));
  if (bounded && i >= n) RETURN(0);
  /* No string is longer, and what is left is compared with zero. */
  if (bounded && n > PTRDIFF_MAX) n = PTRDIFF_MAX;
  a += i, b += i, n -= i;
  /* Anew, so that what comes before need not keep it. */
  ZERO;
#define PARTING(k) PARTING_OF(LEVEL(load)(a + (k) * W), LEVEL(loadu)(b + (k) * W))
  for (;;) {
    /* As many vectors as lie within both pages, and within n. */
    size_t whole = (uintptr_t)a & (PAGE - 1), other = (uintptr_t)b & (PAGE - 1);
    whole = (PAGE - (whole > other ? whole : other)) / W;
    if (bounded && whole * W > n) whole = (n + W - 1) / W;
    if (whole >= 4) {
      const char *stop = a + whole / 4 * 4 * W;
    again:
      LOOP_BEGINS;
      FORGET(b);
#ifdef MASKED
      V v = LEVEL(load)(a), w = LEVEL(load)(a + W), x = LEVEL(load)(a + 2 * W), y = LEVEL(load)(a + 3 * W);
      /* Each is read once, where the compiler would read it twice from memory. */
      HELD(v); HELD(w); HELD(x); HELD(y);
      V e = LEVEL(unlike)(v, LEVEL(loadu)(b)), f = LEVEL(unlike)(w, LEVEL(loadu)(b + W));
      V g = LEVEL(unlike)(x, LEVEL(loadu)(b + 2 * W));
      V least = LEVEL(least)(LEVEL(least)(v, w), LEVEL(least)(x, y));
      V any = LEVEL(any_of)(e, f, g, y, LEVEL(loadu)(b + 3 * W));
      M last = LEVEL(parting_of)(least, any);
      if (UNLIKELY(last)) {
        if ((m = LEVEL(parting_of)(v, e))) PART(LEVEL(first)(m));
        if ((m = LEVEL(parting_of)(w, f))) PART(W + LEVEL(first)(m));
        if ((m = LEVEL(parting_of)(x, g))) PART(2 * W + LEVEL(first)(m));
        PART(3 * W + LEVEL(first)(last));
      }
#else
      if (UNLIKELY(LEVEL(parting4)(a, b))) {
        if (PARTS(m = PARTING(0))) PART(LEVEL(first)(m));
        if (PARTS(m = PARTING(1))) PART(W + LEVEL(first)(m));
        if (PARTS(m = PARTING(2))) PART(2 * W + LEVEL(first)(m));
        PART(3 * W + LEVEL(first)(PARTING(3)));
      }
#endif
      a += 4 * W, b += 4 * W, n -= 4 * W;
      UNLESS_AT(a, stop, again);
    }
    for (whole %= 4; whole; whole--, a += W, b += W, n -= W) {
      if (PARTS(m = PARTING(0))) PART(LEVEL(first)(m));
    }
    if (bounded && (ptrdiff_t)n <= 0) RETURN(0);
    /* b's vector lies across two pages, or begins with one. */
    size_t left = PAGE - ((uintptr_t)b & (PAGE - 1));
    if (left < W) {
      /* The last vector of b's page, most of which is known to be alike. */
      if ((size_t)(a - from) + left > W) {
        m = LEVEL(parting)(LEVEL(loadu)(a + left - W), LEVEL(loadu)(b + left - W));
        if (m) PART(left - W + LEVEL(first)(m));
      }
      if (bounded && left >= n) RETURN(0);
      if (PARTS(m = PARTING(0))) PART(LEVEL(first)(m));
      a += W, b += W, n -= W;
      if (bounded && (ptrdiff_t)n <= 0) RETURN(0);
    }
  }
#undef PART
#undef PARTS
#undef PARTING_OF
#undef ZERO
#undef PARTING
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

#ifdef PAIRS
#define SAME_BYTES(i) LEVEL(same_bytes)(LEVEL(loadu)(a + (i) * W), LEVEL(loadu)(b + (i) * W))
INLINE int LEVEL(all_marked)(V v) { return LEVEL(marked)(v) == (M)(((uint64_t)1 << W) - 1); }

/* Whether four vectors are. */
INLINE int
LEVEL(alike4)(const char *a, const char *b)
{
  V v = LEVEL(both)(SAME_BYTES(0), SAME_BYTES(1));
  ORDERED(v);
  V w = LEVEL(both)(SAME_BYTES(2), SAME_BYTES(3));
  return LEVEL(all_marked)(LEVEL(both)(v, w));
}
#endif

LEVELED OVERREAD int
LEVEL(memcmp)(const void *one, const void *other, size_t n)
{
  const char *a = one, *b = other;
  M m;
#ifdef ZERO_COUNTS
  if (LIKELY(n <= W)) {
    if (UNLIKELY(n == 0)) return 0;
    /* Most words that are looked for differ at once from what is there: then no vector is needed. The second byte is read again
     * there, which leaves one instruction to those that go on, and those are the ones without a jump, as their way is longer.
     * (tokei, 11 million calls, most of 1 to 3 bytes: 12 % of all its time on Granite Rapids.) */
    unsigned first = *(const unsigned char*)a;
    if (UNLIKELY((unsigned char)first != *(const unsigned char*)b)) {
      FORGET(b);
      return (int)(first - *(const unsigned char*)b);
    }
    /* 18 instructions beside 24. (Emerald Rapids, beside a busy thread: 1.20 of glibc's time instead of 1.27.) */
    if (LEVEL(masked)(n)) {
      m = LEVEL(differ_masked)(a, b, n);
      if (UNLIKELY(m)) return LEVEL(apart)(a, b, m);
      /* It is zero, which the compiler would make anew. */
      FORGET(m);
      return (int)m;
    }
    if (BEYOND_PAGE((const char*)((uintptr_t)a | (uintptr_t)b))) {
      BELOW_LEVEL(return below_memcmp(a, b, n));
      if (n <= 16) return few_compared(a, b, n);
      uint32_t few = differ_sse2(loadu_sse2(a), loadu_sse2(b));
      if (few) RETURN(apart_sse2(a, b, few));
      a += n - 16, b += n - 16;
      few = differ_sse2(loadu_sse2(a), loadu_sse2(b));
      RETURN(few ? apart_sse2(a, b, few) : 0);
    }
    /* Whole vectors: neither goes beyond its page. */
    m = LEVEL(first_unequal)(LEVEL(loadu)(a), LEVEL(loadu)(b));
    if (UNLIKELY(!LEVEL(cut)(&m, n))) RETURN(LEVEL(apart)(a, b, m));
    RETURN(0);
  }
  ABOVE_IF_LONG(n, {
    BELOW_LEVEL(return below_memcmp(a, b, n));
    return memcmp_above(a, b, n);
  });
#elif defined MASKED
  if (LIKELY(n <= W)) {
    m = LEVEL(differ)(LEVEL(few)(a, n), LEVEL(few)(b, n));
    RETURN(UNLIKELY(m) ? LEVEL(apart)(a, b, m) : 0);
  }
#else
  if (n <= 16) RETURN(few_compared(a, b, n));
#endif
#ifdef PAIRS
#define UNEQUAL(i) LEVEL(first_unequal)(LEVEL(loadu)(a + (i)), LEVEL(loadu)(b + (i)))
  if (UNLIKELY(m = UNEQUAL(0))) RETURN(LEVEL(apart)(a, b, m));
  if (LIKELY(n > 2 * W)) {
    if (UNLIKELY(m = UNEQUAL(W))) RETURN(LEVEL(apart)(a + W, b + W, m));
    if (LIKELY(n > 4 * W)) {
      if (UNLIKELY(m = UNEQUAL(2 * W))) RETURN(LEVEL(apart)(a + 2 * W, b + 2 * W, m));
      if (UNLIKELY(m = UNEQUAL(3 * W))) RETURN(LEVEL(apart)(a + 3 * W, b + 3 * W, m));
      const char *end = a + n - 4 * W;
      ptrdiff_t apart = b - a;
      b += n - 4 * W;
      if (UNLIKELY(n > 8 * W)) {
        a = DOWN(a, W) + 4 * W;
      again:
        LOOP_BEGINS;
        if (UNLIKELY(!LEVEL(alike4)(a, a + apart))) RETURN(LEVEL(apart4)(a, a + apart));
        a += 4 * W;
        IF_BELOW(a, end, again);
      }
      if (LIKELY(LEVEL(alike4)(end, b))) RETURN(0);
      RETURN(LEVEL(apart4)(end, b));
    }
    /* Both with one jump: each that is taken costs 0.6 ns beside a busy thread of the same core (family 25). */
    a += n - 2 * W, b += n - 2 * W;
    V v = SAME_BYTES(0), w = SAME_BYTES(1);
    if (LIKELY(LEVEL(all_marked)(LEVEL(both)(v, w)))) RETURN(0);
    if ((m = UNEQUAL(0))) RETURN(LEVEL(apart)(a, b, m));
    RETURN(LEVEL(apart)(a + W, b + W, UNEQUAL(W)));
  }
  m = UNEQUAL(n - W);
  if (LIKELY(!m)) RETURN(0);
  RETURN(LEVEL(apart)(a + n - W, b + n - W, m));
#undef UNEQUAL
#undef SAME_BYTES
#else
  if (n <= 2 * W) {
    if (LIKELY(!LEVEL(nonzero)(LEVEL(either)(UNLIKE(0), UNLIKE(n - W))))) RETURN(0);
    if ((m = DIFFER(0))) RETURN(LEVEL(apart)(a, b, m));
  }
  else if (n <= 4 * W) {
    if (LIKELY(!UNLIKE4(0, W, n - 2 * W, n - W))) RETURN(0);
    if ((m = DIFFER(0))) RETURN(LEVEL(apart)(a, b, m));
    if ((m = DIFFER(W))) RETURN(LEVEL(apart)(a + W, b + W, m));
    if ((m = DIFFER(n - 2 * W))) RETURN(LEVEL(apart)(a + n - 2 * W, b + n - 2 * W, m));
  }
  else {
    if (UNLIKE4(0, W, 2 * W, 3 * W)) RETURN(LEVEL(apart4)(a, b));
    if (n > 8 * W) {
      for (size_t i = 4 * W - ((uintptr_t)a & (W - 1)); i + 4 * W < n; i += 4 * W) {
        if (UNLIKE4(i, i + W, i + 2 * W, i + 3 * W)) RETURN(LEVEL(apart4)(a + i, b + i));
      }
    }
    a += n - 4 * W, b += n - 4 * W;
    RETURN(UNLIKE4(0, W, 2 * W, 3 * W) ? LEVEL(apart4)(a, b) : 0);
  }
  a += n - W, b += n - W;
  RETURN(LEVEL(apart)(a, b, DIFFER(0)));
#endif
}
