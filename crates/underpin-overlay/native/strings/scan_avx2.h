/* What strchr and its relatives go on with behind the first vector, as AVX2 does it: the fewest instructions count, most of all
 * where another thread shares the core. */

/* Of the masks of two vectors that follow each other, not both zero. */
INLINE size_t
LEVEL(first_of_two)(M low, M high)
{
  size_t at;
  __asm__("tzcnt %1, %0" : "=r"(at) : "r"(low | (uint64_t)high << W) : "cc");
  return at;
}

/* The jump is taken if m is not zero; the compiler does not learn that behind it m is zero. */
INLINE int
LEVEL(hit)(M m)
{
  __asm__ goto("test %0, %0\n\tjne %l[hit]" : : "r"(m) : "cc" : hit);
  return 0;
hit:
  return 1;
}

/* The byte or the end, of which one is known to be there, and not within the first W bytes. */
INLINE uintptr_t
LEVEL(scan)(const char *s, V c, enum Wanted wanted, enum Result result, int byte)
{
#define FOUND_AT(at) do { \
    const char *there = (at); \
    if (result == MATCH && *there != (char)byte) RETURN((uintptr_t)0); \
    RETURN((uintptr_t)there); \
  } while (0)
#define LOOK(i) do { \
    m = LEVEL(equal)(FOLD(i), zero); \
    if (UNLIKELY(LEVEL(hit)(m))) FOUND_AT(p + (i) * W + LEVEL(first)(m)); \
  } while (0)
  M m;
  const char *p = DOWN(s, W);
  V zero = LEVEL(all)(0);
  /* In a register, where the compiler would clear one for each comparison. */
  HELD(zero);
  LOOK(1);
  if (result == PLACE) ABOVE_IF_FIRST(m, return (uintptr_t)strchrnul_above(p + 2 * W, byte));
  LOOK(2);
  LOOK(3);
  LOOK(4);
  const char *next = DOWN(p + 5 * W, 4 * W);
  if (result == MATCH) ABOVE_LATE(return (uintptr_t)late_strchr(next, byte));
  else GO_OVER(m, return (uintptr_t)late_strchrnul(next, byte), return (uintptr_t)far_strchrnul(next, byte));
  p = DOWN(p + W, 4 * W);
again:
  LOOP_BEGINS;
  p += 4 * W;
  V f = FOLD(0), lower = LEVEL(least)(f, FOLD(1));
  ORDERED(lower);
  V h = FOLD(2), all = LEVEL(least)(lower, LEVEL(least)(h, FOLD(3)));
  M any = LEVEL(equal)(all, zero);
  if (LIKELY(LEVEL(none)(any))) goto again;
  if ((m = LEVEL(equal)(f, zero))) FOUND_AT(p + LEVEL(first)(m));
  if ((m = LEVEL(equal)(lower, zero))) FOUND_AT(p + W + LEVEL(first)(m));
  /* The first two being ruled out, what all four have is the fourth's, or the third's, too. */
  FOUND_AT(p + 2 * W + LEVEL(first_of_two)(LEVEL(equal)(h, zero), any));
#undef FOUND_AT
#undef LOOK
}

/* The same within n bytes, more than W; null if it is not there. Counted, it is the distance from `start`, and that of the
 * last byte's successor if it is not there. */
INLINE uintptr_t
LEVEL(scan_within)(const char *s, V c, enum Wanted wanted, size_t n, int counted, const char *start)
{
#define HIT(at) (counted ? (uintptr_t)((at) - start) : (uintptr_t)(at))
#define NOWHERE (counted ? n + (size_t)(s - start) : 0)
#define LAST(from, k, size) do { \
    size_t at = (k) * W + LEVEL(before_first)(m); \
    if (at >= (size)) RETURN(NOWHERE); \
    RETURN(HIT((from) + at)); \
  } while (0)
#define LOOK(i) do { \
    m = SAME_AT(p, i); \
    if (UNLIKELY(LEVEL(hit)(m))) RETURN(HIT(p + (i) * W + LEVEL(first)(m))); \
  } while (0)
#define SAME_AT(p, i) LEVEL(equal)(LEVEL(loadu)((p) + (i) * W), c)
  M m;
  HELD(c);
  if (n <= 4 * W && LIKELY(WITHIN_PAGE(s, 4 * W))) {
    m = SAME_AT(s, 1);
    if (n <= 2 * W) LAST(s, 1, n);
    if (UNLIKELY(LEVEL(hit)(m))) RETURN(HIT(s + W + LEVEL(first)(m)));
    m = SAME_AT(s, 2);
    if (n <= 3 * W) LAST(s, 2, n);
    if (UNLIKELY(LEVEL(hit)(m))) RETURN(HIT(s + 2 * W + LEVEL(first)(m)));
    m = SAME_AT(s, 3);
    LAST(s, 3, n);
  }
  /* n may be the greatest of all sizes: only the sum of the three need not wrap around. */
  size_t beyond = (uintptr_t)s & (W - 1), left = n + beyond - W;
  const char *p = s - beyond;
  if (left > 4 * W) {
    LOOK(1);
    LOOK(2);
    LOOK(3);
    LOOK(4);
    p += 5 * W, left -= 4 * W;
    if (left > 4 * W) {
      if (counted) ABOVE(return strnlen_above(p, left, start));
      left += (uintptr_t)p & (4 * W - 1);
      p = DOWN(p, 4 * W);
      size_t whole = (left - 1) & -(size_t)(4 * W);
      /* n may be more than there are addresses. */
      const char *stop = (const char*)((uintptr_t)p + whole);
      left -= whole;
    again:
      LOOP_BEGINS;
      M any;
      V f, lower, h;
      if (wanted == BYTE) {
        f = SAME(0), lower = LEVEL(either)(f, SAME(1));
        ORDERED(lower);
        h = SAME(2), any = LEVEL(marked)(LEVEL(either)(lower, LEVEL(either)(h, SAME(3))));
      }
      else {
        f = FOLD(0), lower = LEVEL(least)(f, FOLD(1));
        ORDERED(lower);
        h = FOLD(2), any = LEVEL(equal)(LEVEL(least)(lower, LEVEL(least)(h, FOLD(3))), c);
      }
      if (UNLIKELY(LEVEL(hit)(any))) {
#define MASK(v) (wanted == BYTE ? LEVEL(marked)(v) : LEVEL(equal)(v, c))
        if ((m = MASK(f))) RETURN(HIT(p + LEVEL(first)(m)));
        if ((m = MASK(lower))) RETURN(HIT(p + W + LEVEL(first)(m)));
        RETURN(HIT(p + 2 * W + LEVEL(first_of_two)(MASK(h), any)));
#undef MASK
      }
      p += 4 * W;
      UNLESS_AT(p, stop, again);
    }
  }
  else p += W;
  /* 1 to 4 W bytes are left. */
  m = SAME_AT(p, 0);
  if (UNLIKELY(left <= W)) LAST(p, 0, left);
  if (UNLIKELY(LEVEL(hit)(m))) RETURN(HIT(p + LEVEL(first)(m)));
  m = SAME_AT(p, 1);
  if (UNLIKELY(left <= 2 * W)) LAST(p, 1, left);
  if (UNLIKELY(LEVEL(hit)(m))) RETURN(HIT(p + W + LEVEL(first)(m)));
  m = SAME_AT(p, 2);
  if (UNLIKELY(left <= 3 * W)) LAST(p, 2, left);
  if (UNLIKELY(LEVEL(hit)(m))) RETURN(HIT(p + 2 * W + LEVEL(first)(m)));
  m = SAME_AT(p, 3);
  LAST(p, 3, left);
#undef HIT
#undef NOWHERE
#undef LAST
#undef LOOK
#undef SAME_AT
}
