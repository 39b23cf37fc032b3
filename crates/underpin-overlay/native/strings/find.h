/* Strings within strings, once for each level: two bytes of the needle at their distance rule out nearly every
 * place, and what is left is compared. If that happens too often, `two_way` does the rest, which is linear whatever
 * the two contain. */

/* W bytes of which only the first n need be there; the rest is anything. */
INLINE V
LEVEL(part)(const char *p, size_t n)
{
#ifdef MASKED
  return LEVEL(few)(p, n < W ? n : W);
#else
  if (n >= W || WITHIN_PAGE(p, W)) return LEVEL(loadu)(p);
  union { V v; char bytes[W]; } some;
  some.v = LEVEL(all)(0);
  for (size_t i = 0; i < n; i++) some.bytes[i] = p[i];
  return some.v;
#endif
}

INLINE int
LEVEL(same)(const char *a, const char *b, size_t n)
{
  size_t i = 0;
  for (; i + W <= n; i += W) {
    if (LEVEL(differ)(LEVEL(loadu)(a + i), LEVEL(loadu)(b + i))) return 0;
  }
  for (; i + 8 <= n; i += 8) {
    uint64_t x, y;
    __builtin_memcpy(&x, a + i, 8), __builtin_memcpy(&y, b + i, 8);
    if (x != y) return 0;
  }
  for (; i < n; i++) {
    if (a[i] != b[i]) return 0;
  }
  return 1;
}

/* The first of l bytes, 2 or more, within n, l or more; null if they are not there. */
static OVERREAD const char*
LEVEL(find)(const char *s, size_t n, const char *needle, size_t l)
{
  /* The second byte is the last that is not the first one again. */
  size_t other = l - 1;
  while (other > 1 && needle[other] == needle[0]) other--;
  V one = LEVEL(all)(needle[0]), two = LEVEL(all)(needle[other]);
  size_t places = n - l + 1, in_vain = 0;
  for (size_t i = 0; i < places; i += W) {
    M m;
    size_t left = places - i;
    if (LIKELY(left >= W)) {
      m = LEVEL(equal)(LEVEL(loadu)(s + i), one) & LEVEL(equal)(LEVEL(loadu)(s + i + other), two);
    }
    else {
      m = LEVEL(equal)(LEVEL(part)(s + i, left), one) & LEVEL(equal)(LEVEL(part)(s + i + other, left), two);
      m &= ((M)1 << left * BITS) - 1;
    }
    while (m) {
      size_t at = i + LEVEL(first)(m);
      if (LEVEL(same)(s + at, needle, l)) return s + at;
      in_vain += 1 + l / 64;
      if (in_vain > 64 + i / 8) return two_way(s + at, n - at, needle, l);
#if BITS == 1
      m &= m - 1;
#else
      m &= ~((M)15 << LEVEL(first)(m) * BITS);
#endif
    }
  }
  return 0;
}

JUMPED OVERREAD void*
LEVEL(memmem)(const void *from, size_t n, const void *needle, size_t l)
{
  if (l == 0) RETURN((void*)(uintptr_t)from);
  if (l > n) RETURN((void*)0);
  if (l == 1) RETURN(LEVEL(memchr)(from, *(const unsigned char*)needle, n));
  RETURN((void*)(uintptr_t)LEVEL(find)(from, n, needle, l));
}

/* The rest of a string in pieces, each twice as long as the one before: an early match should not cost a look at the
 * whole. Linear whatever the two contain. */
static OVERREAD const char*
LEVEL(find_in_pieces)(const char *s, const char *needle, size_t l)
{
  for (size_t piece = 4 * W + 4 * l;; piece *= 2) {
    if (piece > 32768 + 4 * l) piece = 32768 + 4 * l;
    size_t n = LEVEL(strnlen)(s, piece);
    if (n < l) return 0;
    const char *at = LEVEL(find)(s, n, needle, l);
    if (at) return at;
    if (n < piece) return 0;
    s += n - l + 1;
  }
}

/* The first of l bytes, 2 or more, in a string that is at least so long. The end is looked for in the vectors of the
 * later byte, which are aligned: those of the first one lie before their ends, so no page is touched that the string has
 * no part of. */
static OVERREAD const char*
LEVEL(find_in_string)(const char *s, const char *needle, size_t l)
{
  size_t other = l - 1;
  while (other > 1 && needle[other] == needle[0]) other--;
  V one = LEVEL(all)(needle[0]), two = LEVEL(all)(needle[other]);
  size_t in_vain = 0;
  const char *later = s + other;
  /* What is left of the page is shorter than a vector. */
  for (; UNLIKELY(!WITHIN_PAGE(later, W)); later++) {
    if (!*later) return 0;
    if (*later == needle[other] && !LEVEL(strncmp)(later - other, needle, l)) return later - other;
  }
  for (;; later = DOWN(later, W) + W) {
    V v = LEVEL(loadu)(later - other), w = LEVEL(loadu)(later);
    while (LIKELY(!LEVEL(pair_or_end)(v, one, w, two))) {
      later = DOWN(later, W) + W;
      v = LEVEL(loadu)(later - other), w = LEVEL(load)(later);
    }
    M end = LEVEL(zeros)(w), m = LEVEL(equal)(v, one) & LEVEL(equal)(w, two);
    /* Below the lowest bit of the end. */
    if (end) m &= (end & -end) - 1;
    while (m) {
      const char *at = later - other + LEVEL(first)(m);
      /* If the later byte is not the last one, the string may end before the needle. */
      if (other == l - 1 ? LEVEL(same)(at, needle, l) : !LEVEL(strncmp)(at, needle, l)) return at;
      in_vain += 1 + l / 64;
      if (in_vain > 64 + (size_t)(at - s) / 8) return LEVEL(find_in_pieces)(at, needle, l);
#if BITS == 1
      m &= m - 1;
#else
      m &= ~((M)15 << LEVEL(first)(m) * BITS);
#endif
    }
    if (end) return 0;
  }
}

JUMPED OVERREAD char*
LEVEL(strstr)(const char *s, const char *needle)
{
  if (!needle[0]) RETURN((char*)(uintptr_t)s);
  if (!needle[1]) RETURN(LEVEL(strchr)(s, needle[0]));
  /* Most places where the first byte does not occur end here, and short needles of a short string. */
#ifdef NARROWER
  s = takeover == LATE ? late_strchr_from(s, needle[0]) : LEVEL(strchr)(s, needle[0]);
#else
  s = LEVEL(strchr)(s, needle[0]);
#endif
  if (!s) RETURN((void*)0);
  size_t l = LENGTH(needle);
  if (LEVEL(strnlen)(s, l) < l) RETURN((void*)0);
  RETURN((char*)(uintptr_t)LEVEL(find_in_string)(s, needle, l));
}
