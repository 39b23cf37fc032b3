/* qsort and qsort_r of the overlay against the C library's: elements of all sizes, in orders that are hard for sorts of this
 * kind, with a bound on the comparisons. Prints "FAILED" and ends with 1 at the first difference. With PLAIN the functions
 * have the C library's own names. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef PLAIN
#define OURS(name) name
#else
#define OURS(name) overlay_##name
extern __typeof__(qsort) overlay_qsort;
#endif
extern void OURS(qsort_r)(void*, size_t, size_t, int (*)(const void*, const void*, void*), void*);

#define LARGEST 6000
/* Random sizes and orders; fewer in an emulator. */
#ifndef TRIES
#define TRIES 3000
#endif
#define WIDEST 130

static uint64_t state = 88172645463325252ull, comparisons;
static unsigned char input[LARGEST * WIDEST], ours[LARGEST * WIDEST], judged[LARGEST * WIDEST];
static size_t width, key_at, key_bytes;

static uint32_t
chance(uint32_t below)
{
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return (uint32_t)(state >> 33) % below;
}

static void
fail(const char *what, size_t n, int order)
{
  printf("FAILED %s: %zu elements of %zu bytes, order %d\n", what, n, width, order);
  exit(1);
}

static int
by_key(const void *a, const void *b)
{
  comparisons++;
  return memcmp((const char*)a + key_at, (const char*)b + key_at, key_bytes);
}

static int
by_key_reversed(const void *a, const void *b, void *extra)
{
  if (extra != &state) fail("qsort_r passes another argument", 0, 0);
  return by_key(b, a);
}

static int
by_all(const void *a, const void *b)
{
  return memcmp(a, b, width);
}

static int
by_chance(const void *a, const void *b)
{
  (void)a, (void)b;
  return (int)chance(3) - 1;
}

/* The key of element i of n, in one of several orders. */
static uint32_t
key(size_t i, size_t n, int order)
{
  switch (order) {
    case 0: return chance(1u << 30);
    case 1: return (uint32_t)i;
    case 2: return (uint32_t)(n - i);
    case 3: return chance(3);
    case 4: return 7;
    case 5: return (uint32_t)(i < n / 2 ? i : n - i);
    case 6: return (uint32_t)(i % 17);
    case 7: return (uint32_t)(i + (chance(20) == 0 ? chance(1000) : 0));
    default: return (uint32_t)(i & 1 ? i : n - i);
  }
}
#define ORDERS 9

static void
fill(size_t n, int order)
{
  for (size_t i = 0; i < n * width; i++) input[i] = (unsigned char)chance(256);
  for (size_t i = 0; i < n; i++) {
    uint32_t number = key(i, n, order);
    for (size_t k = 0; k < key_bytes; k++) input[i * width + key_at + k] = (unsigned char)(number >> 8 * (key_bytes - 1 - k));
  }
}

static double
bound(size_t n)
{
  double bits = 0;
  for (size_t rest = n; rest > 1; rest /= 2) bits++;
  return 4.0 * (double)n * (bits + 1) + 100;
}

/* Sorted by the key, and the order of those that have the same is what it was: to the byte what glibc's sort makes of it. */
static void
judge(const char *what, size_t n, int order)
{
  if (memcmp(ours, judged, n * width)) fail(what, n, order);
}

/* In the order that the key asks for: by glibc, or by a sort that is too simple to be wrong. */
static void
sort_simply(unsigned char *all, size_t n)
{
#ifdef PLAIN
  unsigned char element[WIDEST];
  for (size_t i = 1; i < n; i++) {
    size_t at = i;
    memcpy(element, all + i * width, width);
    for (; at > 0 && by_key(all + (at - 1) * width, element) > 0; at--) memcpy(all + at * width, all + (at - 1) * width, width);
    memcpy(all + at * width, element, width);
  }
#else
  qsort(all, n, width, by_key);
#endif
}

static void
reverse(unsigned char *all, size_t n)
{
  unsigned char element[WIDEST];
  for (size_t i = 0; i < n / 2; i++) {
    memcpy(element, all + i * width, width);
    memcpy(all + i * width, all + (n - 1 - i) * width, width);
    memcpy(all + (n - 1 - i) * width, element, width);
  }
}

static void
check(size_t n, int order)
{
  fill(n, order);
  memcpy(ours, input, n * width), memcpy(judged, input, n * width);
  sort_simply(judged, n);
  comparisons = 0;
  OURS(qsort)(ours, n, width, by_key);
  if ((double)comparisons > bound(n)) fail("too many comparisons", n, order);
  judge("qsort", n, order);
  memcpy(ours, input, n * width), memcpy(judged, input, n * width);
  sort_simply(judged, n);
  OURS(qsort_r)(ours, n, width, by_key_reversed, &state);
  reverse(ours, n);
  /* Equal ones come in their order here as well, so what is judged is sorted from the end. */
  memcpy(judged, input, n * width);
  reverse(judged, n);
  sort_simply(judged, n);
  judge("qsort_r", n, order);
}

/* McIlroy's adversary ("A killer adversary for quicksort", 1999): the values are decided while they are compared, so that
 * every pivot is as bad as it can be. */
static int values[LARGEST], solid, gas, candidate;

static int
adversary(const void *a, const void *b)
{
  int x = *(const int*)a, y = *(const int*)b;
  comparisons++;
  if (values[x] == gas && values[y] == gas) {
    if (x == candidate) values[x] = solid++;
    else values[y] = solid++;
  }
  if (values[x] == gas) candidate = x;
  else if (values[y] == gas) candidate = y;
  return (values[x] > values[y]) - (values[x] < values[y]);
}

static void
check_adversary(int n)
{
  static int places[LARGEST];
  gas = n - 1, solid = candidate = 0, comparisons = 0;
  for (int i = 0; i < n; i++) places[i] = i, values[i] = gas;
  OURS(qsort)(places, (size_t)n, sizeof *places, adversary);
  if ((double)comparisons > bound((size_t)n)) fail("the adversary won", (size_t)n, -1);
  for (int i = 1; i < n; i++) {
    if (values[places[i - 1]] > values[places[i]]) fail("the adversary's order", (size_t)n, -1);
  }
}

/* A comparison that says anything: the elements stay what they are, and nothing beside them is touched. */
static void
check_nonsense(size_t n)
{
  width = 1 + chance(20), key_at = 0, key_bytes = 1;
  fill(n, 0);
  memcpy(ours, input, sizeof ours);
  OURS(qsort)(ours + width, n, width, by_chance);
  if (memcmp(ours, input, width) || memcmp(ours + (n + 1) * width, input + (n + 1) * width, width)) fail("it wrote beside the elements", n, -2);
#ifndef PLAIN
  memcpy(judged, input, sizeof judged);
  qsort(judged + width, n, width, by_all), qsort(ours + width, n, width, by_all);
  if (memcmp(ours, judged, (n + 2) * width)) fail("an element was lost", n, -2);
#endif
}

int
main(void)
{
  static const size_t widths[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 24, 31, 48, 100, WIDEST};
  static const size_t counts[] = {0, 1, 2, 3, 11, 12, 13, 14, 31, 100, 127, 128, 129, TRIES < 1000 ? 300 : 1000, TRIES < 1000 ? 500 : LARGEST};
  for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
    width = widths[w];
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
      for (int order = 0; order < ORDERS; order++) {
        key_bytes = 1 + chance(width < 4 ? (uint32_t)width : 4), key_at = chance((uint32_t)(width - key_bytes) + 1);
#ifdef PLAIN
        if (counts[c] > 1000) continue;
#endif
        check(counts[c], order);
      }
    }
  }
  for (int tries = 0; tries < TRIES; tries++) {
    width = 1 + chance(tries & 1 ? 9 : WIDEST), key_bytes = 1 + chance(width < 4 ? (uint32_t)width : 4);
    key_at = chance((uint32_t)(width - key_bytes) + 1);
    check(chance(tries & 7 ? 60 : 700), (int)chance(ORDERS));
    check_nonsense(chance(500));
  }
  for (int n = 2; n <= LARGEST; n += 1 + n / 3) check_adversary(n);
  OURS(qsort)(input, 0, 4, by_key);
  puts("sorted");
  return 0;
}
