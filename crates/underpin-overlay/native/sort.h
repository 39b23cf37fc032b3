/* qsort and qsort_r: quicksort whose partition has no jump that depends on what is compared, which for numbers is most of the
 * time of other sorts. Median of three or of nine; runs of equal elements are put aside at once; what is sorted or
 * reversed already costs n comparisons; after too many bad pivots heapsort does the rest, so no input takes more than
 * O(n log n) comparisons. No memory beyond the stack's; a comparison that contradicts itself leaves the elements in some
 * order. */

typedef int (*Compare)(const void*, const void*, void*);
typedef int (*ComparePlain)(const void*, const void*);

typedef struct {
  size_t size;
  Compare compare;
  ComparePlain plain;
  void *extra;
} Order;

/* Sections of up to so many elements are sorted by insertion. */
#define SHORT_SECTION 12
/* From so many elements on, the pivot is the median of nine. */
#define LONG_SECTION 128

/* Sizes that are moved at once; 0 stands for any other. */
#define SWAP_AS(type) do { \
    type x, y; \
    __builtin_memcpy(&x, a, sizeof x), __builtin_memcpy(&y, b, sizeof y); \
    __builtin_memcpy(a, &y, sizeof y), __builtin_memcpy(b, &x, sizeof x); \
  } while (0)

INLINE void
swap(char *a, char *b, size_t size, size_t known)
{
  if (known == 4) SWAP_AS(uint32_t);
  else if (known == 8) SWAP_AS(uint64_t);
  else {
    for (; size >= 8; size -= 8, a += 8, b += 8) SWAP_AS(uint64_t);
    for (; size; size--, a++, b++) SWAP_AS(char);
  }
}

INLINE int
compared(const Order *order, const char *a, const char *b)
{
  return order->plain ? order->plain(a, b) : order->compare(a, b, order->extra);
}

/* Each element goes down to where it belongs among those before it. */
INLINE void
by_insertion(const Order *order, char *low, char *high, size_t known)
{
  size_t size = known ? known : order->size;
  for (char *next = low + size; next < high; next += size) {
    for (char *at = next; at > low && compared(order, at - size, at) > 0; at -= size) swap(at - size, at, size, known);
  }
}

INLINE void
by_heap(const Order *order, char *low, char *high, size_t known)
{
  size_t size = known ? known : order->size, n = (size_t)(high - low) / size;
  for (size_t start = n / 2, end = n; end > 1;) {
    if (start) start--;
    else swap(low, low + --end * size, size, known);
    for (size_t at = start, child; (child = 2 * at + 1) < end; at = child) {
      if (child + 1 < end && compared(order, low + child * size, low + (child + 1) * size) < 0) child++;
      if (compared(order, low + at * size, low + child * size) >= 0) break;
      swap(low + at * size, low + child * size, size, known);
    }
  }
}

INLINE char*
median(const Order *order, char *a, char *b, char *c)
{
  if (compared(order, a, b) < 0) return compared(order, b, c) < 0 ? b : compared(order, a, c) < 0 ? c : a;
  return compared(order, a, c) < 0 ? a : compared(order, b, c) < 0 ? c : b;
}

/* The pivot, put first. */
INLINE void
choose_pivot(const Order *order, char *low, char *high, size_t known)
{
  size_t size = known ? known : order->size, n = (size_t)(high - low) / size;
  char *first = low, *middle = low + n / 2 * size, *last = high - size;
  if (n >= LONG_SECTION) {
    size_t step = n / 8 * size;
    first = median(order, first, first + step, first + 2 * step);
    middle = median(order, middle - step, middle, middle + step);
    last = median(order, last - 2 * step, last - step, last);
  }
  first = median(order, first, middle, last);
  if (first != low) swap(low, first, size, known);
}

/* Puts what is less than the first element (or not greater, if `equal`) before the rest; where the rest begins. */
INLINE char*
partition(const Order *order, char *low, char *high, int equal, size_t known)
{
  size_t size = known ? known : order->size;
  char *rest = low + size;
  for (char *at = rest; at < high; at += size) {
    int before = equal ? compared(order, low, at) >= 0 : compared(order, at, low) < 0;
    if (known) swap(at, rest, size, known);
    else if (before && at != rest) swap(at, rest, size, known);
    rest += size & -(size_t)before;
  }
  return rest;
}

/* Whether all is in order, or was in the opposite one. */
INLINE int
in_order(const Order *order, char *low, char *high, size_t known)
{
  size_t size = known ? known : order->size;
  char *at = low + size;
  if (compared(order, low, at) <= 0) {
    while ((at += size) < high && compared(order, at - size, at) <= 0) {}
    return at >= high;
  }
  while ((at += size) < high && compared(order, at - size, at) > 0) {}
  if (at < high) return 0;
  for (char *end = high - size; low < end; low += size, end -= size) swap(low, end, size, known);
  return 1;
}

INLINE void
sort(const Order *order, char *low, char *high, size_t known)
{
  /* The longer part waits, so there are no more of them than the number has bits. */
  struct { char *low, *high; unsigned left; } waiting[64];
  size_t size = known ? known : order->size, n = (size_t)(high - low) / size;
  unsigned left = 2 * (unsigned)(63 - __builtin_clzll(n)), count = 0;
  char *start = low;
  if (in_order(order, low, high, known)) return;
  for (;;) {
    while ((size_t)(high - low) > SHORT_SECTION * size) {
      if (left-- == 0) {
        by_heap(order, low, high, known);
        low = high;
        break;
      }
      choose_pivot(order, low, high, known);
      /* Nothing is less than what lies before this section: if the pivot is that again, all its equals are done with. */
      if (low > start && compared(order, low - size, low) >= 0) {
        low = partition(order, low, high, 1, known);
        continue;
      }
      char *rest = partition(order, low, high, 0, known), *pivot = rest - size;
      if (pivot != low) swap(low, pivot, size, known);
      int longer = high - rest > pivot - low;
      waiting[count].low = longer ? rest : low, waiting[count].high = longer ? high : pivot, waiting[count++].left = left;
      if (longer) high = pivot;
      else low = rest;
    }
    by_insertion(order, low, high, known);
    if (count == 0) return;
    low = waiting[--count].low, high = waiting[count].high, left = waiting[count].left;
  }
}

static void
sort_sized(const Order *order, char *base, size_t n)
{
  if (n < 2 || order->size == 0) return;
  char *end = base + n * order->size;
  if (order->size == 4) sort(order, base, end, 4);
  else if (order->size == 8) sort(order, base, end, 8);
  else sort(order, base, end, 0);
}

/* Weak, as in musl: qsort_r is not a name of the C standard, and a program may have its own. */
void NAME(qsort)(void*, size_t, size_t, ComparePlain) __attribute__((weak));
void NAME(qsort_r)(void*, size_t, size_t, Compare, void*) __attribute__((weak));

void
NAME(qsort)(void *base, size_t n, size_t size, ComparePlain compare)
{
  Order order = {size, 0, compare, 0};
  sort_sized(&order, base, n);
}

void
NAME(qsort_r)(void *base, size_t n, size_t size, Compare compare, void *extra)
{
  Order order = {size, compare, 0, extra};
  sort_sized(&order, base, n);
}

#ifdef OVERLAY_REPLACES
extern __typeof__(qsort_r) __qsort_r __attribute__((alias("qsort_r"), visibility("hidden")));
#endif
