/* qsort and qsort_r, which leave elements that compare equal in their order, as glibc's do (all releases sort by merging): quicksort
 * whose partition has no jump that depends on what is compared, which for numbers is most of the time of other sorts. What is less
 * than the pivot stays in the array, the rest goes through a second one, and both keep their order. Median of three or of nine; what is
 * sorted or reversed already costs n comparisons; after too many bad pivots merging does the rest, so no input takes more than
 * O(n log n) comparisons. A comparison that contradicts itself leaves the elements in some order.
 *
 * The second array is on the stack if it is small, else mapped for the call; without memory for it, heapsort, which keeps no order
 * (glibc's quicksort then does not either). */

typedef int (*Compare)(const void*, const void*, void*);
typedef int (*ComparePlain)(const void*, const void*);

typedef struct {
  size_t size;
  Compare compare;
  ComparePlain plain;
  void *extra;
  /* As large as the array, and room for one element. */
  char *scratch, *pivot;
} Order;

extern void *NAME(memmove)(void *to, const void *from, size_t size);

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

INLINE void
move(char *to, const char *from, size_t size, size_t known)
{
  if (known == 4) __builtin_memcpy(to, from, 4);
  else if (known == 8) __builtin_memcpy(to, from, 8);
  else {
    for (; size >= 8; size -= 8, to += 8, from += 8) __builtin_memcpy(to, from, 8);
    for (; size; size--) *to++ = *from++;
  }
}

INLINE int
compared(const Order *order, const char *a, const char *b)
{
  return order->plain ? order->plain(a, b) : order->compare(a, b, order->extra);
}

/* Each element goes down to where it belongs among those before it. One that is there already is not moved. */
INLINE void
by_insertion(const Order *order, char *low, char *high, size_t known)
{
  size_t size = known ? known : order->size;
  for (char *next = low + size; next < high; next += size) {
    char *at = next;
    if (compared(order, at - size, at) <= 0) continue;
    move(order->pivot, at, size, known);
    do move(at, at - size, size, known), at -= size;
    while (at > low && compared(order, at - size, order->pivot) > 0);
    move(at, order->pivot, size, known);
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

/* A copy of the pivot. */
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
  move(order->pivot, median(order, first, middle, last), size, known);
}

/* Puts what is less than the pivot (or not greater, if `equal`) before the rest, each in its order; where the rest begins. */
INLINE char*
partition(const Order *order, char *low, char *high, int equal, size_t known)
{
  size_t size = known ? known : order->size;
  char *kept = low, *rest = order->scratch;
  for (char *at = low; at < high; at += size) {
    int before = equal ? compared(order, order->pivot, at) >= 0 : compared(order, at, order->pivot) < 0;
    if (known) {
      move(rest, at, size, known);
      move(kept, at, size, known);
    } else {
      move(before ? kept : rest, at, size, known);
    }
    kept += size & -(size_t)before;
    rest += size & -(size_t)!before;
  }
  NAME(memmove)(kept, order->scratch, (size_t)(rest - order->scratch));
  return kept;
}

/* Two sections that are sorted become one. */
INLINE void
merge(const Order *order, char *low, char *middle, char *high, size_t known)
{
  size_t size = known ? known : order->size;
  char *left = order->scratch, *const end = left + (middle - low);
  NAME(memmove)(left, low, (size_t)(middle - low));
  while (left < end && middle < high) {
    int is_left = compared(order, left, middle) <= 0;
    move(low, is_left ? left : middle, size, known);
    left += size & -(size_t)is_left;
    middle += size & -(size_t)!is_left;
    low += size;
  }
  NAME(memmove)(low, left, (size_t)(end - left));
}

INLINE void
by_merging(const Order *order, char *low, char *high, size_t known)
{
  size_t size = known ? known : order->size;
  for (char *at = low; at < high; at += SHORT_SECTION * size)
    by_insertion(order, at, (size_t)(high - at) < SHORT_SECTION * size ? high : at + SHORT_SECTION * size, known);
  for (size_t run = SHORT_SECTION * size; run < (size_t)(high - low); run *= 2)
    for (char *at = low; (size_t)(high - at) > run; at += (size_t)(high - at) < 2 * run ? (size_t)(high - at) : 2 * run)
      if (compared(order, at + run - size, at + run) > 0) merge(order, at, at + run, (size_t)(high - at) < 2 * run ? high : at + 2 * run, known);
}

/* The end of what is in order at the beginning, or was in the opposite one, if that is half of all or more; else the beginning. */
INLINE char*
first_run(const Order *order, char *low, char *high, size_t known)
{
  size_t size = known ? known : order->size;
  char *at = low + size;
  int is_reversed = compared(order, low, at) > 0;
  if (is_reversed) while ((at += size) < high && compared(order, at - size, at) > 0) {}
  else while ((at += size) < high && compared(order, at - size, at) <= 0) {}
  if (at > high) at = high;
  if (at - low < high - at) return low;
  for (char *one = low, *other = at - size; is_reversed && one < other; one += size, other -= size) swap(one, other, size, known);
  return at;
}

INLINE void
sort(const Order *order, char *low, char *high, size_t known)
{
  /* The longer part waits, so there are no more of them than the number has bits. */
  struct { char *low, *high; unsigned left; } waiting[64];
  size_t size = known ? known : order->size, n = (size_t)(high - low) / size;
  unsigned left = 2 * (unsigned)(63 - __builtin_clzll(n)), count = 0;
  for (;;) {
    while ((size_t)(high - low) > SHORT_SECTION * size) {
      if (left-- == 0) {
        by_merging(order, low, high, known);
        low = high;
        break;
      }
      choose_pivot(order, low, high, known);
      char *rest = partition(order, low, high, 0, known);
      if (rest == low) {
        /* Nothing is less: its equals are done with. */
        low = partition(order, low, high, 1, known);
        continue;
      }
      int longer = high - rest > rest - low;
      waiting[count].low = longer ? rest : low, waiting[count].high = longer ? high : rest, waiting[count++].left = left;
      if (longer) high = rest;
      else low = rest;
    }
    by_insertion(order, low, high, known);
    if (count == 0) return;
    low = waiting[--count].low, high = waiting[count].high, left = waiting[count].left;
  }
}

INLINE void
sort_known(Order *order, char *low, char *high, size_t known)
{
  char *const middle = first_run(order, low, high, known);
  if (middle == high) return;
  /* Elements are compared where they were copied to, so that is aligned for any of them: with vectors of 64 bytes, too. */
  enum { NEAR = 4096 };
  _Alignas(64) char near[NEAR];
  size_t bytes = (size_t)(high - low) + order->size;
  char *scratch = near;
  if (bytes > NEAR) {
    const long mapped = call(SYS_MMAP, 0, (long)bytes, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0);
    if (mapped < 0) {
      by_heap(order, low, high, known);
      return;
    }
    scratch = (char*)mapped;
  }
  order->scratch = scratch;
  order->pivot = scratch + (high - low);
  /* The second half may be a run too. */
  if (middle == low || (size_t)(high - middle) == order->size || first_run(order, middle, high, known) != high)
    sort(order, middle, high, known);
  if (middle != low) merge(order, low, middle, high, known);
  if (scratch != near) call(SYS_MUNMAP, (long)scratch, (long)bytes, 0, 0, 0, 0);
}

static void
sort_sized(Order *order, char *base, size_t n)
{
  if (n < 2 || order->size == 0) return;
  char *end = base + n * order->size;
  if (order->size == 4) sort_known(order, base, end, 4);
  else if (order->size == 8) sort_known(order, base, end, 8);
  else sort_known(order, base, end, 0);
}

/* Weak, as in musl: qsort_r is not a name of the C standard, and a program may have its own. */
void NAME(qsort)(void*, size_t, size_t, ComparePlain) __attribute__((weak));
void NAME(qsort_r)(void*, size_t, size_t, Compare, void*) __attribute__((weak));

void
NAME(qsort)(void *base, size_t n, size_t size, ComparePlain compare)
{
  Order order = {size, 0, compare, 0, 0, 0};
  sort_sized(&order, base, n);
}

void
NAME(qsort_r)(void *base, size_t n, size_t size, Compare compare, void *extra)
{
  Order order = {size, compare, 0, extra, 0, 0};
  sort_sized(&order, base, n);
}

#ifdef OVERLAY_REPLACES
extern __typeof__(qsort_r) __qsort_r __attribute__((alias("qsort_r"), visibility("hidden")));
#endif
