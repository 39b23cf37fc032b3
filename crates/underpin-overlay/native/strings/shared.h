/* The functions of AVX-512 that the public ones go on with if a call turns out longer than a vector of AVX2. Each has a name of its
 * own here, as it is compiled for other instructions. */
#define ABOVE_AVX2(type, name, parameters) \
  extern type name##_above parameters __asm__(#name "_wide") __attribute__((visibility("hidden")))
#define BELOW_AVX2(type, name, parameters) \
  extern type below_##name parameters __asm__("overlay_below_" #name) __attribute__((visibility("hidden")))
BELOW_AVX2(int, memcmp, (const void *a, const void *b, size_t n));
BELOW_AVX2(void*, memchr, (const void *s, int c, size_t n));
BELOW_AVX2(void*, memrchr, (const void *s, int c, size_t n));
extern size_t NAME(strlen)(const char *s);
BELOW_AVX2(size_t, strnlen, (const char *s, size_t n));
BELOW_AVX2(char*, strchr, (const char *s, int c));
BELOW_AVX2(char*, strrchr, (const char *s, int c));
BELOW_AVX2(char*, strchrnul, (const char *s, int c));
BELOW_AVX2(int, strcmp, (const char *a, const char *b));
BELOW_AVX2(int, strncmp, (const char *a, const char *b, size_t n));
ABOVE_AVX2(int, memcmp, (const void *a, const void *b, size_t n));
ABOVE_AVX2(void*, memchr, (const void *s, int c, size_t n));
ABOVE_AVX2(void*, memrchr, (const void *s, int c, size_t n));
ABOVE_AVX2(char*, strchr, (const char *s, int c));
ABOVE_AVX2(char*, strrchr, (const char *s, int c));
ABOVE_AVX2(char*, strchrnul, (const char *s, int c));
ABOVE_AVX2(int, strcmp, (const char *a, const char *b));
ABOVE_AVX2(int, strncmp, (const char *a, const char *b, size_t n));
/* From s on, of a string that began at `start`. */
ABOVE_AVX2(size_t, strnlen, (const char *s, size_t n, const char *start));
/* Those that go on where AVX-512 takes over late: from an address on that is a multiple of 128. */
#define LATE(type, name, parameters) \
  extern type late_##name parameters __asm__(#name "_late") __attribute__((visibility("hidden")))
LATE(char*, strchr, (const char *p, int byte));
LATE(char*, strchrnul, (const char *p, int byte));
extern char *far_strchrnul(const char *p, int byte) __asm__("strchrnul_far") __attribute__((visibility("hidden")));
/* From anywhere on; strrchr from the string's beginning, which is known not to end before the first multiple of 32. */
LATE(char*, strrchr, (const char *s, int byte));
LATE(int, strcmp, (const char *a, const char *b));
LATE(char*, strchr_from, (const char *s, int byte));
LATE(void*, memchr, (const void *s, int byte, size_t n));
LATE(void*, memrchr, (const void *s, int byte, size_t n));
