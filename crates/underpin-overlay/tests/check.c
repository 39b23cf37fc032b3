/* Every function of the overlay against the C library's: all lengths to 512 and some beyond, all offsets in a cache
 * line, up to the first and the last byte before a page that may not be touched.
 *
 * With PLAIN the judge is a loop over bytes in this file, for programs in which the C library's functions are the
 * overlay's own. Without arguments all levels that this processor has are checked, one after the other, and those
 * that it does not have are named; prints "FAILED" and ends with 1 at the first difference. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 65536
#define AREA (3 * PAGE)
#define LONGEST 512
/* All offsets in a cache line, or every STEPth; then there are fewer large sizes, too. */
#ifndef STEP
#define STEP 1
#endif

#ifdef PLAIN
#define OURS(name) name
#define JUDGE(name) plain_##name
#else
#define OURS(name) (next_asks(), overlay_##name)
#define JUDGE(name) name
extern __typeof__(memcpy) overlay_memcpy;
extern __typeof__(memmove) overlay_memmove;
extern __typeof__(memset) overlay_memset;
extern __typeof__(memcmp) overlay_memcmp, overlay_bcmp;
extern void *overlay_memchr(const void*, int, size_t), *overlay_memrchr(const void*, int, size_t);
extern __typeof__(strlen) overlay_strlen;
extern __typeof__(strnlen) overlay_strnlen;
extern char *overlay_strchr(const char*, int), *overlay_strrchr(const char*, int), *overlay_strchrnul(const char*, int);
extern __typeof__(strcmp) overlay_strcmp;
extern __typeof__(strncmp) overlay_strncmp;
extern char *overlay_strstr(const char*, const char*);
extern __typeof__(memmem) overlay_memmem;
extern __typeof__(strcpy) overlay_strcpy, overlay_stpcpy;
extern __typeof__(strncpy) overlay_strncpy, overlay_stpncpy;
extern int overlay_force(int level);

/* Each call is to be the one that asks what the processor can. */
static int each_asks;

static void
next_asks(void)
{
  if (each_asks) overlay_force(0);
}
#endif

#ifdef PLAIN
static void *plain_memchr(const void *s, int c, size_t n) { const unsigned char *p = s; for (; n; n--, p++) if (*p == (unsigned char)c) return (void*)p; return 0; }
static void *plain_memrchr(const void *s, int c, size_t n) { const unsigned char *p = s; while (n--) if (p[n] == (unsigned char)c) return (void*)(p + n); return 0; }
static int plain_memcmp(const void *a, const void *b, size_t n) { const unsigned char *p = a, *q = b; for (; n; n--, p++, q++) if (*p != *q) return *p - *q; return 0; }
static size_t plain_strlen(const char *s) { size_t n = 0; while (s[n]) n++; return n; }
static size_t plain_strnlen(const char *s, size_t most) { size_t n = 0; while (n < most && s[n]) n++; return n; }
static char *plain_strchrnul(const char *s, int c) { while (*s && *s != (char)c) s++; return (char*)s; }
static char *plain_strchr(const char *s, int c) { s = plain_strchrnul(s, c); return *s == (char)c ? (char*)s : 0; }
static char *plain_strrchr(const char *s, int c) { return plain_memrchr(s, c, plain_strlen(s) + 1); }
static int plain_strncmp(const char *a, const char *b, size_t n) { for (; n; n--, a++, b++) if (*a != *b || !*a) return (unsigned char)*a - (unsigned char)*b; return 0; }
static int plain_strcmp(const char *a, const char *b) { return plain_strncmp(a, b, SIZE_MAX); }
static void *plain_memmem(const void *s, size_t n, const void *x, size_t l) { for (size_t i = 0; i + l <= n; i++) if (!plain_memcmp((const char*)s + i, x, l)) return (char*)s + i; return 0; }
static char *plain_strstr(const char *s, const char *x) { return plain_memmem(s, plain_strlen(s), x, plain_strlen(x)); }
#endif

static const char *level = "";
static uint64_t state = 88172645463325252ull;

static uint32_t
chance(uint32_t below)
{
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return (uint32_t)(state >> 33) % below;
}

static void
fail(const char *function, size_t n, size_t at, size_t other)
{
  printf("FAILED %s %s: length %zu, at %zu and %zu\n", function, level, n, at, other);
  exit(1);
}

static char*
area(void)
{
  char *start = mmap(0, AREA + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED || mprotect(start + PAGE, AREA, PROT_READ | PROT_WRITE)) exit(2);
  return start + PAGE;
}

static char *one, *two, *kept;

/* Where n bytes are placed: behind the page in front, before the page at the end, or across two pages in between. */
static char*
place(char *area, size_t n, unsigned which, unsigned shift)
{
  if (which == 0) return area + shift;
  if (which == 1) return area + AREA - n - shift;
  return area + PAGE - n / 2 - shift;
}

static void
noise(char *at, size_t n, unsigned kinds)
{
  for (size_t i = 0; i < n; i++) at[i] = (char)('a' + chance(kinds));
}

/* The lengths in turn, each at all 64 offsets in a line, next to each unmapped page and across two pages. */
#define EACH(n, which, shift) \
  for (size_t n = 0; n <= LONGEST + 40; n += n < LONGEST ? 1 : 13) \
    for (unsigned which = 0; which < 3; which++) \
      for (unsigned shift = 0; shift < 64; shift += STEP)


static void
same_around(const char *function, const char *area, const char *expected, size_t from, size_t to, size_t n, size_t at, size_t other)
{
  for (size_t i = from; i < to; i++) {
    if (area[i] != expected[i]) fail(function, n, at, other);
  }
}

static void
check_copies(size_t n, unsigned which, unsigned shift)
{
  char *from = place(two, n, chance(3), chance(64)), *to = place(one, n, which, shift);
  size_t low = (size_t)(to - one) > 200 ? (size_t)(to - one) - 200 : 0, high = (size_t)(to - one) + n + 200;
  if (high > AREA) high = AREA;
  for (size_t i = 0; i < n; i++) from[i] = (char)chance(256);
  for (size_t i = low; i < high; i++) kept[i] = one[i];
  for (size_t i = 0; i < n; i++) kept[(size_t)(to - one) + i] = from[i];
  if (chance(2) ? OURS(memcpy)(to, from, n) != to : OURS(memmove)(to, from, n) != to) fail("memcpy", n, which, shift);
  same_around("memcpy", one, kept, low, high, n, which, shift);
  int byte = (int)chance(1 << 16);
  for (size_t i = 0; i < n; i++) kept[(size_t)(to - one) + i] = (char)byte;
  if (OURS(memset)(to, byte, n) != to) fail("memset", n, which, shift);
  same_around("memset", one, kept, low, high, n, which, shift);
}

static void
check_moves(size_t n, unsigned which, unsigned shift)
{
  /* Both parts lie within the area; the distance is anything from none to more than n. */
  size_t distance = chance(4) ? chance((uint32_t)n + 100) : chance(20), whole = n + distance;
  char *start = place(one, whole, which, shift), *low = start, *high = start + distance;
  for (size_t i = 0; i < whole; i++) start[i] = kept[i] = (char)chance(256);
  int up = (int)chance(2);
  char *to = up ? high : low, *from = up ? low : high;
  for (size_t i = 0; i < n; i++) kept[(size_t)(to - start) + i] = from[i];
  if (OURS(memmove)(to, from, n) != to) fail("memmove", n, which, distance);
  same_around("memmove", start, kept, 0, whole, n, which, distance);
}

static int
sign(int x)
{
  return (x > 0) - (x < 0);
}

static void
check_comparisons(size_t n, unsigned which, unsigned shift)
{
  char *a = place(one, n, which, shift), *b = place(two, n, chance(3), chance(4) ? chance(64) : 0);
  for (size_t i = 0; i < n; i++) a[i] = b[i] = (char)chance(256);
  if (OURS(memcmp)(a, b, n)) fail("memcmp", n, which, shift);
  for (int tries = 0; n && tries < 3; tries++) {
    size_t at = chance((uint32_t)n);
    b[at] = (char)(b[at] + 1 + (char)chance(200));
    if (at + 1 < n) b[at + 1 + chance((uint32_t)(n - at - 1))] ^= 0x55;
    if (sign(OURS(memcmp)(a, b, n)) != sign(JUDGE(memcmp)(a, b, n))) fail("memcmp", n, which, shift);
    if (!OURS(bcmp)(a, b, n) != !JUDGE(memcmp)(a, b, n)) fail("bcmp", n, which, shift);
  }
}

static void
check_bytes(size_t n, unsigned which, unsigned shift)
{
  char *s = place(one, n, which, shift);
  noise(s, n, 4);
  for (int tries = 0; tries < 3; tries++) {
    /* Absent, present once, or in many places; the same byte is before and behind. */
    int byte = tries ? 'x' : 'a' + (int)chance(4);
    if (s > one) s[-1] = (char)byte;
    if (s + n < one + AREA) s[n] = (char)byte;
    if (tries == 2 && n) s[chance((uint32_t)n)] = 'x';
    if (OURS(memchr)(s, byte | 0x500, n) != JUDGE(memchr)(s, byte, n)) fail("memchr", n, which, shift);
    if (OURS(memrchr)(s, byte | 0x500, n) != JUDGE(memrchr)(s, byte, n)) fail("memrchr", n, which, shift);
  }
  /* More bytes than there are addresses, as long as the byte is found. */
  if (n && OURS(memchr)(s, s[n - 1], SIZE_MAX) != JUDGE(memchr)(s, s[n - 1], n)) fail("memchr without end", n, which, shift);
}

static void
check_strings(size_t n, unsigned which, unsigned shift)
{
  char *s = place(one, n + 1, which, shift);
  noise(s, n, 4);
  s[n] = 0;
  if (s + n + 1 < one + AREA) s[n + 1] = 'x';
  if (s > one) s[-1] = 0;
  if (OURS(strlen)(s) != n) fail("strlen", n, which, shift);
  size_t most = chance(2) ? chance(2 * (uint32_t)n + 10) : n + chance(3);
  if (chance(8) == 0) most = SIZE_MAX - chance(3);
  if (OURS(strnlen)(s, most) != JUDGE(strnlen)(s, most)) fail("strnlen", n, which, shift);
  for (int tries = 0; tries < 4; tries++) {
    int byte = tries == 0 ? 'a' + (int)chance(4) : tries == 3 ? 0 : 'x';
    if (tries == 2 && n) s[chance((uint32_t)n)] = 'x';
    if (OURS(strchr)(s, byte | 0x500) != JUDGE(strchr)(s, byte)) fail("strchr", n, which, shift);
    if (OURS(strrchr)(s, byte | 0x500) != JUDGE(strrchr)(s, byte)) fail("strrchr", n, which, shift);
    if (OURS(strchrnul)(s, byte | 0x500) != JUDGE(strchrnul)(s, byte)) fail("strchrnul", n, which, shift);
  }
}

static void
check_string_comparisons(size_t n, unsigned which, unsigned shift)
{
  char *a = place(one, n + 1, which, shift), *b = place(two, n + 1, chance(3), chance(3) ? chance(64) : 0);
  for (size_t i = 0; i < n; i++) a[i] = b[i] = (char)(1 + chance(255));
  a[n] = b[n] = 0;
  for (int tries = 0; tries < 3; tries++) {
    if (sign(OURS(strcmp)(a, b)) != sign(JUDGE(strcmp)(a, b))) fail("strcmp", n, which, shift);
    size_t most = chance(2) ? chance(2 * (uint32_t)n + 10) : n + chance(3);
    if (chance(8) == 0) most = SIZE_MAX - chance(3);
    if (sign(OURS(strncmp)(a, b, most)) != sign(JUDGE(strncmp)(a, b, most))) fail("strncmp", n, which, shift);
    if (n) (tries ? a : b)[chance((uint32_t)n)] = (char)chance(chance(3) ? 256 : 1);
  }
  /* Not ended by anything but the count. */
  char *c = place(one, n, which, shift), *d = place(two, n, chance(3), chance(64));
  for (size_t i = 0; i < n; i++) c[i] = d[i] = 'a';
  if (OURS(strncmp)(c, d, n)) fail("strncmp without an end", n, which, shift);
}

static void
check_string_copies(size_t n, unsigned which, unsigned shift)
{
  char *from = place(two, n + 1, which, shift), *to = place(one, n + 1, chance(3), chance(64));
  for (size_t i = 0; i < n; i++) from[i] = (char)(1 + chance(255));
  from[n] = 0;
  for (int end = 0; end < 2; end++) {
    for (size_t i = 0; i <= n; i++) to[i] = 'q';
    if (to > one) to[-1] = 'q';
    if (to + n + 1 < one + AREA) to[n + 1] = 'q';
    char *returned = end ? OURS(stpcpy)(to, from) : OURS(strcpy)(to, from);
    if (returned != (end ? to + n : to) || JUDGE(memcmp)(to, from, n + 1)) fail("strcpy", n, which, shift);
    if ((to > one && to[-1] != 'q') || (to + n + 1 < one + AREA && to[n + 1] != 'q')) fail("strcpy beyond its end", n, which, shift);
  }
  size_t most = chance(3) ? chance(2 * (uint32_t)n + 10) : n + chance(3);
  to = place(one, most, chance(3), chance(64));
  for (int end = 0; end < 2; end++) {
    for (size_t i = 0; i < most; i++) to[i] = 'q';
    if (to > one) to[-1] = 'q';
    if (to + most < one + AREA) to[most] = 'q';
    char *returned = end ? OURS(stpncpy)(to, from, most) : OURS(strncpy)(to, from, most);
    if (returned != (end ? to + (most < n ? most : n) : to)) fail("strncpy", n, which, shift);
    for (size_t i = 0; i < most; i++) {
      if (to[i] != (i < n ? from[i] : 0)) fail("strncpy", n, which, shift);
    }
    if ((to > one && to[-1] != 'q') || (to + most < one + AREA && to[most] != 'q')) fail("strncpy beyond its end", n, which, shift);
  }
}

static void
check_searches(size_t n, unsigned which, unsigned shift)
{
  char *s = place(one, n + 1, which, shift);
  size_t l = chance(4) ? chance(6) : chance((uint32_t)n + 4);
  char *x = place(two, l + 1, chance(3), chance(64));
  /* Few different bytes, so that much nearly matches; then a needle that is there. */
  unsigned kinds = 1 + chance(3);
  noise(s, n, kinds), noise(x, l, kinds);
  s[n] = x[l] = 0;
  for (int tries = 0; tries < 3; tries++) {
    if (OURS(strstr)(s, x) != JUDGE(strstr)(s, x)) fail("strstr", n, which, l);
    if (OURS(memmem)(s, n, x, l) != JUDGE(memmem)(s, n, x, l)) fail("memmem", n, which, l);
    if (tries == 0 && l) x[l - 1] = 'z';
    if (tries == 1 && l <= n) {
      size_t at = chance((uint32_t)(n - l) + 1);
      for (size_t i = 0; i < l; i++) s[at + i] = x[i];
    }
  }
}

/* Beyond what fits next to the pages: sizes at which other ways of copying and filling begin. */
static void
check_large(void)
{
  static const size_t sizes[] = {1000, 1024, 2047, 2048, 4095, 4096, 4097, 10000, 16384, 32769, 65536, 70001, 131072, 262144 + 77,
                                 (1 << 20) + 3, (5 << 20) + 1, (40 << 20) + 129};
  size_t room = STEP < 8 ? (42 << 20) + 4096 : 200000, rounds = STEP < 8 ? 12 : 3;
  char *a = malloc(room), *b = malloc(room);
  if (!a || !b) exit(2);
  for (size_t i = 0; i < room; i++) a[i] = (char)(i * 7 + (i >> 9));
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    size_t n = sizes[s];
    if (n + 1000 > room) break;
    for (size_t tries = 0; tries < (n > 1 << 20 ? 2 : rounds); tries++) {
      size_t at = chance(130), to = 1 + chance(130);
      b[to - 1] = b[to + n] = 'q';
      OURS(memcpy)(b + to, a + at, n);
      if (b[to - 1] != 'q' || b[to + n] != 'q' || JUDGE(memcmp)(b + to, a + at, n)) fail("memcpy", n, at, to);
      if (OURS(memcmp)(b + to, a + at, n)) fail("memcmp", n, at, to);
      b[to + n - 1]++;
      if (!OURS(memcmp)(b + to, a + at, n)) fail("memcmp", n, at, to);
      size_t distance = chance(300);
      OURS(memcpy)(b, a, room);
      OURS(memmove)(b + at + distance, b + at, n);
      if (JUDGE(memcmp)(b + at + distance, a + at, n)) fail("memmove up", n, at, distance);
      OURS(memcpy)(b, a, room);
      OURS(memmove)(b + at, b + at + distance, n);
      if (JUDGE(memcmp)(b + at, a + at + distance, n)) fail("memmove down", n, at, distance);
      b[to - 1] = b[to + n] = 'q';
      OURS(memset)(b + to, 'f', n);
      if (b[to - 1] != 'q' || b[to + n] != 'q') fail("memset beyond its end", n, to, 0);
      for (size_t i = 0; i < n; i++) if (b[to + i] != 'f') fail("memset", n, to, i);
      /* One byte anywhere, or none. */
      for (int is_there = 0; is_there < 2; is_there++) {
        size_t place = chance((uint32_t)n);
        char *found = is_there ? b + to + place : 0;
        if (found) *found = 'h';
        if (OURS(memchr)(b + to, 'h', n) != found) fail("memchr", n, to, place);
        if (OURS(memrchr)(b + to, 'h', n) != found) fail("memrchr", n, to, place);
        if (found) *found = 'f';
      }
      /* Where one way of searching ends and another goes on. */
      for (size_t place = 0; place < 700; place++) {
        char *first = b + to + place, *last = b + to + n - 1 - place;
        int is_near = place < 70 && n <= 70001;
        *first = 'h';
        if (OURS(memchr)(b + to, 'h', n) != first) fail("memchr", n, to, place);
        if (is_near && OURS(memrchr)(b + to, 'h', n) != first) fail("memrchr", n, to, place);
        *first = 'f', *last = 'h';
        if (OURS(memrchr)(b + to, 'h', n) != last) fail("memrchr", n, to, n - 1 - place);
        if (is_near && OURS(memchr)(b + to, 'h', n) != last) fail("memchr", n, to, n - 1 - place);
        *last = 'f';
      }
      b[to + n] = 0, b[to - 1] = 'g';
      if (OURS(strlen)(b + to) != n || OURS(strchr)(b + to, 'g')) fail("strlen", n, to, 0);
      if (OURS(strrchr)(b + to, 'f') != b + to + n - 1 || OURS(memrchr)(b + to - 1, 'g', n) != b + to - 1) fail("strrchr", n, to, 0);
      if (OURS(strstr)(b + to, "fg") || OURS(strstr)(b + to, "gf") || OURS(strstr)(b + to - 1, "ff") != b + to) fail("strstr", n, to, 0);
    }
  }
  free(a), free(b);
}

/* Inputs for which simple searches take quadratic time, compared with a search byte by byte. */
static void
check_repeats(void)
{
  size_t n = 20000;
  char *s = malloc(n + 1), *x = malloc(n + 1);
  if (!s || !x) exit(2);
  for (int tries = 0; tries < (STEP < 8 ? 300 : 30); tries++) {
    size_t period = 1 + chance(7), l = 2 + chance(3000);
    for (size_t i = 0; i < n; i++) s[i] = (char)(i % period ? 'a' : 'b');
    for (size_t i = 0; i < l; i++) x[i] = (char)((i + (tries & 1)) % period ? 'a' : 'b');
    s[n] = x[l] = 0;
    for (uint32_t spoiled = chance(4); spoiled; spoiled--) x[chance((uint32_t)l)] = (char)('a' + chance(3));
    for (uint32_t spoiled = chance(40); spoiled; spoiled--) s[chance((uint32_t)n)] = (char)('a' + chance(3));
    if (OURS(strstr)(s, x) != JUDGE(strstr)(s, x)) fail("strstr of repeats", l, period, (size_t)tries);
    if (OURS(memmem)(s, n, x, l) != JUDGE(memmem)(s, n, x, l)) fail("memmem of repeats", l, period, (size_t)tries);
  }
  free(s), free(x);
}

/* Needles whose last bytes are the first one again, in strings that end in the middle of them: right before a page that may
 * not be touched, or right behind one, or across two pages. */
static void
check_cut_short(void)
{
  for (int tries = 0; tries < (STEP < 8 ? 200000 : 20000); tries++) {
    size_t n = chance(tries & 1 ? 300 : 70), l = 1 + chance(tries & 2 ? 70 : 6);
    char *x = two + AREA - l - 1, *s = one + AREA - n - 1;
    if (tries % 3 == 0) s = one;
    else if (tries % 3 == 1) s = one + 2 * PAGE - chance((uint32_t)n + 70);
    uint32_t rare = 2 + chance(40);
    for (size_t i = 0; i < n; i++) s[i] = chance(rare) ? 'a' : 'b';
    for (size_t i = 0; i < l; i++) x[i] = chance(rare) ? 'a' : 'b';
    s[n] = x[l] = 0;
    if (OURS(strstr)(s, x) != JUDGE(strstr)(s, x)) fail("strstr cut short", n, l, (size_t)tries);
    if (OURS(memmem)(s, n, x, l) != JUDGE(memmem)(s, n, x, l)) fail("memmem cut short", n, l, (size_t)tries);
  }
}

static void
check_each(size_t n, unsigned which, unsigned shift)
{
  check_copies(n, which, shift);
  check_moves(n, which, shift);
  check_comparisons(n, which, shift);
  check_bytes(n, which, shift);
  check_strings(n, which, shift);
  check_string_comparisons(n, which, shift);
  check_string_copies(n, which, shift);
  check_searches(n, which, shift);
}

#if defined __x86_64__ && !defined PLAIN
/* To ask takes as long as a thousand short calls (choose.h), so these are some of the places. */
static void
check_asking(void)
{
  each_asks = 1;
  EACH(n, which, shift) if (chance(STEP < 8 ? 40 : 5) == 0) check_each(n, which, shift);
  each_asks = 0;
}
#endif

static void
check_all(void)
{
  EACH(n, which, shift) check_each(n, which, shift);
  check_large();
  check_repeats();
  check_cut_short();
}

int
main(void)
{
  one = area(), two = area(), kept = malloc(AREA);
  if (!kept) return 2;
#ifdef PLAIN
  check_all();
  puts("checked");
#else
#ifdef __x86_64__
  static const char *const names[] = {"sse2", "avx2", "avx512", "avx512 late", "avx512 sized"};
#else
  static const char *const names[] = {"neon"};
#endif
  for (int i = 0; i < (int)(sizeof names / sizeof *names); i++) {
    level = names[i];
    if (overlay_force(i + 1) == i + 1) check_all(), printf("checked %s\n", level);
    else printf("lacking %s\n", level);
  }
#ifdef __x86_64__
  level = "asking";
  check_asking(), printf("checked %s\n", level);
#endif
#endif
  return 0;
}
