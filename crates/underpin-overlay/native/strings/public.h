/* The public functions that begin as AVX2's do, and go on with AVX-512 (shared.h) where a call turns out longer than one
 * vector, or than several: most are not, and neither kind of processor has to jump for those. Their own comparison is the look
 * at the level (BEYOND_PAGE). No instruction of AVX may come before it: tests/object.rs reads the code. */
#define PUBLIC_LIMITED(type, name, parameters, ...) \
  BELOW(TEXT(NAME(name)), name, TEXT(NAME(name))); \
  extern type NAME(name) parameters; \
  OVERREAD type NAME(name) parameters { return name##_avx2(__VA_ARGS__); }
PUBLIC_LIMITED(int, memcmp, (const void *a, const void *b, size_t n), a, b, n)
PUBLIC_LIMITED(void*, memchr, (const void *s, int c, size_t n), s, c, n)
PUBLIC_LIMITED(void*, memrchr, (const void *s, int c, size_t n), s, c, n)
PUBLIC_LIMITED(size_t, strnlen, (const char *s, size_t n), s, n)
PUBLIC_LIMITED(char*, strchr, (const char *s, int c), s, c)
PUBLIC_LIMITED(char*, strrchr, (const char *s, int c), s, c)
PUBLIC_LIMITED(char*, strchrnul, (const char *s, int c), s, c)
PUBLIC_LIMITED(int, strcmp, (const char *a, const char *b), a, b)
PUBLIC_LIMITED(int, strncmp, (const char *a, const char *b, size_t n), a, b, n)
/* Those that part at once: where AVX-512 begins with saving registers, or begins otherwise. */
#define PUBLIC_PARTED(type, name, parameters, ...) \
  BELOW(TEXT(NAME(name)), name, TEXT(NAME(name))); \
  extern type below_##name parameters __asm__("overlay_below_" #name) __attribute__((visibility("hidden"))); \
  ABOVE_AVX2(type, name, parameters); \
  extern type NAME(name) parameters; \
  OVERREAD type NAME(name) parameters \
  { \
    __asm__ goto("cmpb $2, " LEVEL_OF_COPIED_STRINGS "\n\tjb %l[below]\n\tja %l[above]" : : : "cc", "memory" : below, above); \
    return name##_avx2(__VA_ARGS__); \
  below: \
    return below_##name(__VA_ARGS__); \
  above: \
    return name##_above(__VA_ARGS__); \
  }
PUBLIC_PARTED(char*, strncpy, (char *restrict to, const char *restrict from, size_t n), to, from, n)
PUBLIC_PARTED(char*, stpncpy, (char *restrict to, const char *restrict from, size_t n), to, from, n)
