/* Copying and filling of more than 64 bytes, once for each level. */

/* From the lowest on; `to` may overlap `from` if it lies below. n is more than 4 W. */
INLINE void
LEVEL(upwards)(char *to, const char *from, size_t n)
{
  V first = LEVEL(loadu)(from);
  V w = LEVEL(loadu)(from + n - 4 * W), x = LEVEL(loadu)(from + n - 3 * W);
  V y = LEVEL(loadu)(from + n - 2 * W), z = LEVEL(loadu)(from + n - W);
  char *start = to, *end = to + n;
  /* Stores are aligned: of the two, a store across two lines costs more. */
  size_t odd = W - ((uintptr_t)to & (W - 1));
  to += odd, from += odd;
  for (; to < end - 4 * W; to += 4 * W, from += 4 * W) {
    V a = LEVEL(loadu)(from), b = LEVEL(loadu)(from + W), c = LEVEL(loadu)(from + 2 * W), d = LEVEL(loadu)(from + 3 * W);
    LEVEL(store)(to, a), LEVEL(store)(to + W, b), LEVEL(store)(to + 2 * W, c), LEVEL(store)(to + 3 * W, d);
  }
  LEVEL(storeu)(end - 4 * W, w), LEVEL(storeu)(end - 3 * W, x), LEVEL(storeu)(end - 2 * W, y), LEVEL(storeu)(end - W, z);
  LEVEL(storeu)(start, first);
}

/* The same from the highest on; `to` may overlap `from` if it lies above. */
INLINE void
LEVEL(downwards)(char *to, const char *from, size_t n)
{
  V last = LEVEL(loadu)(from + n - W);
  V w = LEVEL(loadu)(from), x = LEVEL(loadu)(from + W), y = LEVEL(loadu)(from + 2 * W), z = LEVEL(loadu)(from + 3 * W);
  char *start = to, *end = to + n;
  size_t odd = (uintptr_t)end & (W - 1);
  to = end - odd, from += n - odd;
  for (; to > start + 4 * W; ) {
    to -= 4 * W, from -= 4 * W;
    V a = LEVEL(loadu)(from + 3 * W), b = LEVEL(loadu)(from + 2 * W), c = LEVEL(loadu)(from + W), d = LEVEL(loadu)(from);
    LEVEL(store)(to + 3 * W, a), LEVEL(store)(to + 2 * W, b), LEVEL(store)(to + W, c), LEVEL(store)(to, d);
  }
  LEVEL(storeu)(start, w), LEVEL(storeu)(start + W, x), LEVEL(storeu)(start + 2 * W, y), LEVEL(storeu)(start + 3 * W, z);
  LEVEL(storeu)(end - W, last);
}

/* Up to 8 W: all is read before anything is written. n is more than W. */
INLINE void
LEVEL(some)(char *to, const char *from, size_t n)
{
  V a = LEVEL(loadu)(from), z = LEVEL(loadu)(from + n - W);
  if (n > 2 * W) {
    V b = LEVEL(loadu)(from + W), y = LEVEL(loadu)(from + n - 2 * W);
    if (n > 4 * W) {
      V c = LEVEL(loadu)(from + 2 * W), d = LEVEL(loadu)(from + 3 * W);
      V w = LEVEL(loadu)(from + n - 4 * W), x = LEVEL(loadu)(from + n - 3 * W);
      LEVEL(storeu)(to + 2 * W, c), LEVEL(storeu)(to + 3 * W, d);
      LEVEL(storeu)(to + n - 4 * W, w), LEVEL(storeu)(to + n - 3 * W, x);
    }
    LEVEL(storeu)(to + W, b), LEVEL(storeu)(to + n - 2 * W, y);
  }
  LEVEL(storeu)(to, a), LEVEL(storeu)(to + n - W, z);
}

/* More than 64 bytes; more than 8 W where copying.h is the beginning, except on the lowest level. */
USED void*
LEVEL(memcpy)(void *restrict into, const void *restrict out_of, size_t n)
{
  if (W == 16 && n <= 8 * W) LEVEL(some)(into, out_of, n);
#ifdef __x86_64__
  else if (UNLIKELY(n >= machine_from)) by_machine(into, out_of, n);
#endif
  else LEVEL(upwards)(into, out_of, n);
  RETURN(into);
}

USED void*
LEVEL(memmove)(void *into, const void *out_of, size_t n)
{
  if (W == 16 && n <= 8 * W) LEVEL(some)(into, out_of, n);
  else if ((uintptr_t)into - (uintptr_t)out_of >= n) {
#ifdef __x86_64__
    if (UNLIKELY(n >= machine_from) && (uintptr_t)out_of - (uintptr_t)into >= n) by_machine(into, out_of, n);
    else
#endif
    LEVEL(upwards)(into, out_of, n);
  }
  else LEVEL(downwards)(into, out_of, n);
  RETURN(into);
}

/* With AVX2 32 bytes or more, with AVX-512 more than 256: filling.h does the rest. */
JUMPED void*
LEVEL(memset)(void *into, int byte, size_t n)
{
  char *to = into;
  V v = LEVEL(all)(byte);
#ifdef ZERO_COUNTS
  if (LIKELY(n <= 64)) {
    /* What ends where is no common subexpression: an instruction before the branch would count for all. */
    FORGET(n);
    LEVEL(storeu)(to, v), LEVEL(storeu)(to + n - W, v);
    RETURN(into);
  }
#endif
  char *end = to + n;
#if !defined MASKED && !defined ZERO_COUNTS
  if (n <= 64) {
    few_alike(to, byte, n);
    RETURN(into);
  }
#endif
  LEVEL(storeu)(to, v), LEVEL(storeu)(to + W, v);
  if (W < 64 && LIKELY(n <= 4 * W)) {
    LEVEL(storeu)(end - 2 * W, v), LEVEL(storeu)(end - W, v);
    RETURN(into);
  }
#if defined __x86_64__ && !defined ZERO_COUNTS
  if (UNLIKELY(n >= fill_from)) { CLEAR; return by_filling(into, byte, n); }
#endif
  LEVEL(storeu)(to + 2 * W, v), LEVEL(storeu)(to + 3 * W, v);
  if (LIKELY(n <= 8 * W)) {
    LEVEL(storeu)(end - 4 * W, v), LEVEL(storeu)(end - 3 * W, v), LEVEL(storeu)(end - 2 * W, v), LEVEL(storeu)(end - W, v);
    RETURN(into);
  }
#ifdef ZERO_COUNTS
  if (UNLIKELY(n >= fill_from)) { CLEAR; return by_filling(into, byte, n); }
#endif
  char *p = (char*)((uintptr_t)(to + 4 * W) & -(uintptr_t)W);
  for (; p < end - 4 * W; p += 4 * W) {
    LEVEL(store)(p, v), LEVEL(store)(p + W, v), LEVEL(store)(p + 2 * W, v), LEVEL(store)(p + 3 * W, v);
  }
  LEVEL(storeu)(end - 4 * W, v), LEVEL(storeu)(end - 3 * W, v), LEVEL(storeu)(end - 2 * W, v), LEVEL(storeu)(end - W, v);
  RETURN(into);
}

/* Copies up to the end, which is at 64 or below: `n` bytes with it. */
INLINE char*
LEVEL(string)(char *to, const char *from, int to_end)
{
  char *start = to;
  V v;
  M m;
  const char *p = DOWN(from, W);
  if (LIKELY(WITHIN_PAGE(from, W))) m = LEVEL(zeros)(LEVEL(loadu)(from));
  else m = LEVEL(zeros)(LEVEL(load)(p)) >> (size_t)(from - p) * BITS;
  if (!m && !WITHIN_PAGE(from, W)) {
    /* It goes on on the next page. */
    m = LEVEL(zeros)(LEVEL(loadu)(from));
  }
  if (m) {
    size_t n = LEVEL(first)(m);
    few(to, from, n + 1);
    RETURN(to_end ? to + n : start);
  }
  LEVEL(storeu)(to, LEVEL(loadu)(from));
  p += W, to += p - from;
#ifdef ZERO_COUNTS
  /* Most end soon: the first ones without a look at where four begin. */
#define WHOLE(k) do { \
    v = LEVEL(load)(p + (k) * W); \
    if (UNLIKELY(m = LEVEL(zeros)(v))) { \
      p += (k) * W, to += (k) * W; \
      goto ends; \
    } \
    LEVEL(storeu)(to + (k) * W, v); \
  } while (0)
  WHOLE(0);
  WHOLE(1);
  WHOLE(2);
  WHOLE(3);
  WHOLE(4);
  WHOLE(5);
  WHOLE(6);
#undef WHOLE
  /* Four at a time from where four begin, which may be where the last ones were copied. */
  const char *four = DOWN(p + 7 * W, 4 * W);
  to += four - p, p = four;
  V a, b, c, d;
again:
  LOOP_BEGINS;
  a = LEVEL(load)(p), b = LEVEL(load)(p + W), c = LEVEL(load)(p + 2 * W), d = LEVEL(load)(p + 3 * W);
  if (LIKELY(!LEVEL(hit)(LEVEL(zeros)(LEVEL(least)(LEVEL(least)(a, b), LEVEL(least)(c, d)))))) {
    LEVEL(storeu)(to, a), LEVEL(storeu)(to + W, b), LEVEL(storeu)(to + 2 * W, c), LEVEL(storeu)(to + 3 * W, d);
    p += 4 * W, to += 4 * W;
    /* Else the compiler makes one of the two of the other in each round, in front of the loop's line. */
    FORGET(p);
    goto again;
  }
#define ENDS(vector) do { \
    if ((m = LEVEL(zeros)(vector))) goto ends; \
    LEVEL(storeu)(to, vector); \
    p += W, to += W; \
  } while (0)
  ENDS(a);
  ENDS(b);
  ENDS(c);
  m = LEVEL(zeros)(d);
#undef ENDS
#else
  for (;;) {
    v = LEVEL(load)(p);
    if ((m = LEVEL(zeros)(v))) break;
    LEVEL(storeu)(to, v);
    p += W, to += W;
    if (((uintptr_t)p & (4 * W - 1)) == 0) {
      for (;; p += 4 * W, to += 4 * W) {
        V a = LEVEL(load)(p), b = LEVEL(load)(p + W), c = LEVEL(load)(p + 2 * W), d = LEVEL(load)(p + 3 * W);
        if (LEVEL(zeros)(LEVEL(least)(LEVEL(least)(a, b), LEVEL(least)(c, d)))) break;
        LEVEL(storeu)(to, a), LEVEL(storeu)(to + W, b), LEVEL(storeu)(to + 2 * W, c), LEVEL(storeu)(to + 3 * W, d);
      }
    }
  }
#endif
#ifdef ZERO_COUNTS
ends:;
#endif
  size_t n = LEVEL(first)(m);
  LEVEL(storeu)(to + n + 1 - W, LEVEL(loadu)(p + n + 1 - W));
  RETURN(to_end ? to + n : start);
}

JUMPED OVERREAD char*
LEVEL(strcpy)(char *restrict to, const char *restrict from)
{
  return LEVEL(string)(to, from, 0);
}

JUMPED OVERREAD char*
LEVEL(stpcpy)(char *restrict to, const char *restrict from)
{
  return LEVEL(string)(to, from, 1);
}

/* Zeros from k to n. */
INLINE void
LEVEL(zeroed)(char *to, size_t k, size_t n)
{
  char *p = to + k, *end = to + n;
  if (LIKELY(n - k <= 64)) {
    few_alike(p, 0, n - k);
    return;
  }
  V zero = LEVEL(all)(0);
  for (; end - p > 4 * W; p += 4 * W) {
    LEVEL(storeu)(p, zero), LEVEL(storeu)(p + W, zero), LEVEL(storeu)(p + 2 * W, zero), LEVEL(storeu)(p + 3 * W, zero);
  }
  for (; end - p > W; p += W) LEVEL(storeu)(p, zero);
  LEVEL(storeu)(end - W, zero);
}

#ifdef ZERO_COUNTS
/* The same as the last thing to do: a function of its own takes no registers from the one that most often has no need of it. */
USED char*
LEVEL(then_zeroed)(char *to, size_t n, char *result)
{
  LEVEL(zeroed)(to, 0, n);
  RETURN(result);
}
#define THEN_ZEROED(k) do { if (UNLIKELY((k) + 1 < n)) return LEVEL(then_zeroed)(to + (k) + 1, n - (k) - 1, RESULT(k)); } while (0)
#else
#define THEN_ZEROED(k) do { if (UNLIKELY((k) + 1 < n)) LEVEL(zeroed)(to, (k) + 1, n); } while (0)
#endif

/* All n bytes are written: after the string's end they are zeros. The end itself is copied as if it were part of the string:
 * nothing is left to do if it is the last of the n. */
INLINE char*
LEVEL(string_within)(char *to, const char *from, size_t n, int to_end)
{
#define RESULT(k) (to_end ? to + (k) : to)
  M m;
  const char *p = DOWN(from, W);
  if (UNLIKELY(n == 0)) return to;
  if (LIKELY(WITHIN_PAGE(from, W))) m = LEVEL(zeros)(LEVEL(loadu)(from));
  else {
    m = LEVEL(zeros)(LEVEL(load)(p)) >> (size_t)(from - p) * BITS;
    /* It goes on on the next page. */
    if (!m && n > (size_t)(p + W - from)) m = LEVEL(zeros)(LEVEL(loadu)(from));
  }
  if (m || n <= W) {
    /* One masked store would do for AVX-512, but takes half as long again where sizes change (Zen 5). */
    size_t k = m ? LEVEL(first)(m) : n;
    if (k >= n) {
      few(to, from, n);
      RETURN(RESULT(n));
    }
    few(to, from, k + 1);
    THEN_ZEROED(k);
    RETURN(RESULT(k));
  }
#ifdef ZERO_COUNTS
  /* Both strings are so far apart. to has n bytes, so `end` is an address. */
  ptrdiff_t apart = to - from;
  const char *end = from + n, *near = end - W;
  /* One comparison, where the compiler would compute what is left each time. */
  FORGET(near);
  LEVEL(storeu)(to, LEVEL(loadu)(from));
  p += W;
  V v, zero = LEVEL(all)(0);
  HELD(zero);
#define WHOLE do { \
    v = LEVEL(load)(p), m = LEVEL(equal)(v, zero); \
    if (UNLIKELY(p >= near)) goto last; \
    if (UNLIKELY(LEVEL(hit)(m))) goto ended; \
    LEVEL(storeu)((char*)(uintptr_t)p + apart, v); \
    p += W; \
  } while (0)
  WHOLE;
  WHOLE;
  WHOLE;
  WHOLE;
  /* From where four begin, which may be where the last ones were copied. */
  for (p = DOWN(p, 4 * W); end - p > 4 * W; p += 4 * W) {
    V a = LEVEL(load)(p), b = LEVEL(load)(p + W), c = LEVEL(load)(p + 2 * W), d = LEVEL(load)(p + 3 * W);
    if (UNLIKELY(LEVEL(equal)(LEVEL(least)(LEVEL(least)(a, b), LEVEL(least)(c, d)), zero))) break;
    char *at = (char*)(uintptr_t)p + apart;
    LEVEL(storeu)(at, a), LEVEL(storeu)(at + W, b), LEVEL(storeu)(at + 2 * W, c), LEVEL(storeu)(at + 3 * W, d);
  }
  WHOLE;
  WHOLE;
  WHOLE;
  /* The fourth holds the end, if those were not the last ones. */
  m = LEVEL(equal)(LEVEL(load)(p), zero);
  if (UNLIKELY(p < near)) goto ended;
last:
  m = LEVEL(first_of)(m, (size_t)(end - p));
  if (LIKELY(m)) {
    /* The last W bytes before an end overlap those that came before. */
ended:
    p += LEVEL(first)(m) + 1;
    LEVEL(storeu)((char*)(uintptr_t)p + apart - W, LEVEL(loadu)(p - W));
    char *result = to_end ? (char*)(uintptr_t)(p - 1) + apart : to;
    if (UNLIKELY(p < end)) return LEVEL(then_zeroed)((char*)(uintptr_t)p + apart, (size_t)(end - p), result);
    RETURN(result);
  }
  LEVEL(storeu)((char*)(uintptr_t)end + apart - W, LEVEL(loadu)(end - W));
  RETURN(to_end ? (char*)(uintptr_t)end + apart : to);
#undef WHOLE
#else
  LEVEL(storeu)(to, LEVEL(loadu)(from));
  p += W;
  size_t i = (size_t)(p - from), left = n - i;
  V v;
  /* The last W bytes before an end overlap those that came before. */
#define ENDED do { \
    size_t k = i + LEVEL(first)(m); \
    LEVEL(storeu)(to + k + 1 - W, LEVEL(loadu)(from + k + 1 - W)); \
    THEN_ZEROED(k); \
    RETURN(RESULT(k)); \
  } while (0)
#define WHOLE do { \
    v = LEVEL(load)(p); \
    if (UNLIKELY(m = LEVEL(zeros)(v))) ENDED; \
    LEVEL(storeu)(to + i, v); \
    p += W, i += W; \
  } while (0)
  if (left > 4 * W) {
    WHOLE;
    WHOLE;
    WHOLE;
    WHOLE;
    size_t back = (uintptr_t)p & (4 * W - 1);
    p -= back, i -= back;
    for (; n - i > 4 * W; p += 4 * W, i += 4 * W) {
      V a = LEVEL(load)(p), b = LEVEL(load)(p + W), c = LEVEL(load)(p + 2 * W), d = LEVEL(load)(p + 3 * W);
      if (UNLIKELY(LEVEL(zeros)(LEVEL(least)(LEVEL(least)(a, b), LEVEL(least)(c, d))))) break;
      char *at = to + i;
      LEVEL(storeu)(at, a), LEVEL(storeu)(at + W, b), LEVEL(storeu)(at + 2 * W, c), LEVEL(storeu)(at + 3 * W, d);
    }
  }
  /* 1 to 4 W bytes are left, or the end is in the next four. */
  for (; n - i > W;) WHOLE;
  m = LEVEL(first_of)(LEVEL(zeros)(LEVEL(load)(p)), n - i);
  if (UNLIKELY(m)) ENDED;
  LEVEL(storeu)(to + n - W, LEVEL(loadu)(from + n - W));
  RETURN(RESULT(n));
#undef ENDED
#undef WHOLE
#endif
#undef RESULT
#undef THEN_ZEROED
}

LEVELED OVERREAD char*
LEVEL(strncpy)(char *restrict to, const char *restrict from, size_t n)
{
  return LEVEL(string_within)(to, from, n, 0);
}

LEVELED OVERREAD char*
LEVEL(stpncpy)(char *restrict to, const char *restrict from, size_t n)
{
  return LEVEL(string_within)(to, from, n, 1);
}
