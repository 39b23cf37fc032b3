/* Times every function of the overlay beside the same function of other C libraries, in one process: short blocks of
 * calls, the libraries in turn. Prints one line for each block of calls: function, size, placement, library,
 * nanoseconds per call. A function that compares is measured twice: over what is the same, and, as `memcmp-apart`, over what
 * differs in its first byte; of mixed lengths in the fourth, which about half of them do not reach.
 *
 * glibc's are those that the loader chose for this processor; musl's and LLVM's come with musl_ and llvm_ before
 * their names (weak: a library without a function is left out). Arguments: rounds; the overlay's level (`avx2`), which it
 * must be able to have, or `best`; then what is measured: functions (`memchr`) or single rows (`memchr:100:aligned`);
 * without them all. glibc's level is that of GLIBC_TUNABLES. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum Kind { COPY, FILL, COMPARE, FIND_BYTE, LENGTH, LENGTH_WITHIN, FIND_IN_STRING, COMPARE_STRINGS, COMPARE_STRINGS_WITHIN, FIND_STRING,
            FIND_BYTES, COPY_STRING };

typedef struct {
  const char *name, *symbol;
  enum Kind kind;
  int apart;
  void *of[4];
} Function;

#ifdef __x86_64__
extern int overlay_force(int level);
#endif

/* Whether the overlay has the level of this name now. */
static int
forced(const char *name)
{
  if (!strcmp(name, "best")) return 1;
#ifdef __x86_64__
  static const char *const levels[] = {0, "sse2", "avx2", "avx512", "avx512-late", "avx512-sized"};
  for (int i = 1; i < 6; i++) {
    if (!strcmp(name, levels[i])) return overlay_force(i) == i;
  }
#endif
  return 0;
}

static const char *const libraries[] = {"overlay", "glibc", "musl", "llvm"};

#define LIST(each) \
  each(memcpy, COPY) each(memmove, COPY) each(memset, FILL) each(memcmp, COMPARE) each(bcmp, COMPARE) each(memchr, FIND_BYTE) each(memrchr, FIND_BYTE) \
  each(strlen, LENGTH) each(strnlen, LENGTH_WITHIN) each(strchr, FIND_IN_STRING) each(strrchr, FIND_IN_STRING) \
  each(strchrnul, FIND_IN_STRING) each(strcmp, COMPARE_STRINGS) each(strncmp, COMPARE_STRINGS_WITHIN) each(strstr, FIND_STRING) \
  each(memmem, FIND_BYTES) each(strcpy, COPY_STRING) each(stpcpy, COPY_STRING) each(strncpy, COPY_STRING) each(stpncpy, COPY_STRING)

#define DECLARE(name, kind) extern char overlay_##name[] __attribute__((weak)), musl_##name[] __attribute__((weak)), \
  llvm_##name[] __attribute__((weak));
LIST(DECLARE)
#define ENTRY(name, row, kind, apart) {row, #name, kind, apart, {overlay_##name, 0, musl_##name, llvm_##name}},
#define ENTER(name, kind) ENTRY(name, #name, kind, 0)
#define ENTER_APART(name, kind) ENTRY(name, #name "-apart", kind, 1)
static Function functions[] = {
  LIST(ENTER)
  ENTER_APART(memcmp, COMPARE) ENTER_APART(bcmp, COMPARE) ENTER_APART(strcmp, COMPARE_STRINGS) ENTER_APART(strncmp, COMPARE_STRINGS_WITHIN)
};

#define LARGEST (16 << 20)
static char *one, *two;
static volatile uintptr_t sink;
static unsigned short mixed[1024];

static double
now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* `calls` calls; each result goes into the next one's arguments in a way that changes nothing, unless they overlap freely. */
static double
block(const Function *function, void *address, size_t size, int misaligned, long calls)
{
  char *a = one + (misaligned ? 17 : 0), *b = two + (misaligned ? 37 : 0);
  size_t n = size;
  uintptr_t sum = 0;
  int many = size == 0;
  double start = now();
#define CALLS(type, ...) do { \
    __typeof__(type) *call = address; \
    if (many) for (long i = 0; i < calls; i++) { n = mixed[i & 1023]; sum += (uintptr_t)call(__VA_ARGS__); } \
    else for (long i = 0; i < calls; i++) sum += (uintptr_t)call(__VA_ARGS__); \
  } while (0)
  switch (function->kind) {
    case COPY: CALLS(void *(void*, const void*, size_t), a, b, n); break;
    case FILL: CALLS(void *(void*, int, size_t), a, 7, n); break;
    case COMPARE: CALLS(int (const void*, const void*, size_t), a, b, n); break;
    case FIND_BYTE: CALLS(void *(const void*, int, size_t), a, 1, n); break;
    /* Strings of mixed lengths all end at the same place. */
    case LENGTH: CALLS(size_t (const char*), many ? a + 256 - n : a); break;
    case LENGTH_WITHIN: CALLS(size_t (const char*, size_t), many ? a + 256 - n : a, many ? 300 : n + 10); break;
    case FIND_IN_STRING: CALLS(char *(const char*, int), many ? a + 256 - n : a, 1); break;
    case COMPARE_STRINGS: CALLS(int (const char*, const char*), many ? a + 256 - n : a, many ? b + 256 - n : b); break;
    case COMPARE_STRINGS_WITHIN: CALLS(int (const char*, const char*, size_t), many ? a + 256 - n : a, many ? b + 256 - n : b, many ? 300 : n + 1); break;
    case FIND_STRING: CALLS(char *(const char*, const char*), many ? a + 256 - n : a, "zebra"); break;
    case FIND_BYTES: CALLS(void *(const void*, size_t, const void*, size_t), a, n, "zebra", 5); break;
    case COPY_STRING:
      if (strchr(function->symbol, 'n')) CALLS(char *(char*, const char*, size_t), many ? b + 256 - n : b, many ? a + 256 - n : a, n + 1);
      else CALLS(char *(char*, const char*), many ? b + 256 - n : b, many ? a + 256 - n : a);
      break;
  }
  double took = now() - start;
  sink += sum;
  return took / (double)calls;
}

/* How many calls a block has that takes 15 microseconds. The better of two counts: the first call of all may be interrupted, or
 * wait for pages, and a block as short as that would let one believe would take less than the clock can tell. */
static long
calls_of_block(const Function *function, void *address, size_t size, int misaligned)
{
  long calls = size > 65536 ? 1 : size ? 8 : 1024;
  block(function, address, size, misaligned, calls);
  for (; calls < (1 << 16); calls *= 2) {
    double took = block(function, address, size, misaligned, calls), again = block(function, address, size, misaligned, calls);
    if ((double)calls * (took < again ? took : again) >= 15000) break;
  }
  return calls;
}

/* Calls that do not count, as many as a block has: what the caches, the predictors and the vector units hold is the function's own
 * work, not that of another, which may have taken twenty times as long. What goes beyond a cache of its own takes 3 ms:
 * Intel's processors lower the clock of what lies between cores and memory where little is read, and take as long to raise it. */
static void
warm(const Function *function, void *address, size_t size, int misaligned, long calls)
{
  double start = now(), least = size > 65536 ? 3e6 : 0;
  do block(function, address, size, misaligned, calls); while (now() - start < least);
}

/* What the buffers hold: text without the byte or string that is looked for, and the same in both, or not. */
static void
prepare(const Function *function, size_t size, int misaligned)
{
  const char text[] = "she sells sea shells on the sea shore; ";
  size_t n = size ? size : 256;
  char *a = one + (misaligned ? 17 : 0), *b = two + (misaligned ? 37 : 0);
  for (size_t i = 0; i < n + 300; i++) a[i] = b[i] = text[i % (sizeof text - 1)];
  if (function->kind != COPY && function->kind != FILL) a[n] = b[n] = 0;
  if (!function->apart) return;
  if (size) b[0]++;
  /* Strings of mixed lengths all end at the same place. */
  else if (function->kind == COMPARE) b[3]++;
  else b[n - 4]++;
}

/* Lets the overlay ask for its level, which it does at the 64th call: single rows of few long calls would be SSE2's. */
static void
settle(void)
{
  size_t (*length)(const char*) = (size_t (*)(const char*))overlay_strlen;
  for (int i = 0; i < 64; i++) sink += length("");
}

static const char *
placing(int misaligned)
{
  return misaligned ? "misaligned" : "aligned";
}

/* Whether one of the words asks for this row. */
static int
wanted(const Function *function, size_t size, int misaligned, int count, char **words)
{
  char row[64];
  snprintf(row, sizeof row, "%s:%zu:%s", function->name, size, placing(misaligned));
  for (int i = 0; i < count; i++) {
    if (!strcmp(words[i], function->name) || !strcmp(words[i], row)) return 1;
  }
  return count == 0;
}

int
main(int count, char **words)
{
  static const size_t sizes[] = {0, 1, 3, 8, 15, 16, 24, 32, 48, 64, 100, 128, 200, 256, 500, 1000, 2048, 4096, 8192, 16384, 32768, 65536,
                                 262144, 1048576, LARGEST};
  /* In four rounds each is first, last, and behind each other once (a square of Williams). */
  static const unsigned char turns[4][4] = {{0, 1, 3, 2}, {1, 2, 0, 3}, {2, 3, 1, 0}, {3, 0, 2, 1}};
  int rounds = count > 1 ? atoi(words[1]) : 11;
  void *libc = dlopen("libc.so.6", RTLD_NOW);
  one = mmap(0, LARGEST + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  two = mmap(0, LARGEST + 3 * 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!libc || rounds < 1 || (count > 2 && !forced(words[2])) || one == MAP_FAILED || two == MAP_FAILED) return 2;
  settle();
  /* The two are not at the same place of their pages, nor is any size as long as the distance: stores would look like the loads
   * that follow. */
  two += 8192 + 1344;
  uint32_t state = 1;
  for (int i = 0; i < 1024; i++) {
    state = state * 1664525 + 1013904223;
    /* Mostly short: what programs copy and compare. */
    unsigned bits = 1 + (state >> 28) % 8;
    mixed[i] = (unsigned short)((state >> 8) & ((1u << bits) - 1));
  }
  for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
    Function *function = &functions[f];
    if (!function->of[0]) continue;
    function->of[1] = dlsym(libc, function->symbol);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      for (int misaligned = 0; misaligned < 2; misaligned++) {
        if (function->apart && sizes[s] > 256) continue;
        if (!wanted(function, sizes[s], misaligned, count > 3 ? count - 3 : 0, words + 3)) continue;
        long calls[4];
        prepare(function, sizes[s], misaligned);
        for (int l = 0; l < 4; l++) {
          if (function->of[l]) calls[l] = calls_of_block(function, function->of[l], sizes[s], misaligned);
        }
        for (int r = 0; r < rounds; r++) {
          for (int k = 0; k < 4; k++) {
            int l = turns[r % 4][k];
            if (!function->of[l]) continue;
            warm(function, function->of[l], sizes[s], misaligned, calls[l]);
            printf("%s\t%zu\t%s\t%s\t%.4f\n", function->name, sizes[s], placing(misaligned), libraries[l],
                   block(function, function->of[l], sizes[s], misaligned, calls[l]));
          }
        }
      }
    }
  }
  return 0;
}
