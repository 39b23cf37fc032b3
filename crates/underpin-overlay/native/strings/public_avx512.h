/* The other public functions: those of AVX-512, which begin with a check of the level, so that there is no jump on the
 * newest processors and one on the others. */
#ifdef OVERLAY_DIRECT
/* AVX2's function is jumped to right at the entry, where the arguments and the stack are still the caller's; that the
 * compiler put nothing before is asserted. It saves processors with AVX2 two of three jumps. */
#define LEAVE(name) \
    __asm__ goto("771: .if 771b - " TEXT(NAME(name)) "\n\t.error \"not at the entry\"\n\t.endif\n\t" \
                 "cmpb $2, " LEVEL_OF_COPIED_STRINGS "\n\tje " #name "_avx2\n\tjb %l[below]" : : : "cc", "memory" : below)
#define HIGHER(name) TEXT(NAME(name))
#else
#define HIGHER(name) #name "_avx2"
#define LEAVE(name) \
    __asm__ goto("cmpb $2, " LEVEL_OF_COPIED_STRINGS "\n\tjbe %l[below]" : : : "cc", "memory" : below)
#endif
#define PUBLIC_WIDE(type, name, parameters, ...) \
  BELOW(TEXT(NAME(name)), name, HIGHER(name)); \
  extern type below_##name parameters __asm__("overlay_below_" #name) __attribute__((visibility("hidden"))); \
  extern type NAME(name) parameters; \
  OVERREAD type NAME(name) parameters \
  { \
    LEAVE(name); \
    return name##_avx512(__VA_ARGS__); \
  below: \
    return below_##name(__VA_ARGS__); \
  }
/* Those that begin with saving registers: all levels are jumped to. */
#define PUBLIC_LONG(type, name, parameters, ...) \
  BELOW(TEXT(NAME(name)), name, #name "_avx2"); \
  USED OVERREAD type name##_wide parameters { return name##_avx512(__VA_ARGS__); } \
  __asm__( \
    FUNCTION_BEGINS(TEXT(NAME(name)), 5) \
    "cmpb $2, overlay_level(%rip)\n" \
    "je " #name "_avx2\n" \
    "jb overlay_below_" #name "\n" \
    "jmp " #name "_wide\n" \
    FUNCTION_ENDS(TEXT(NAME(name))))
PUBLIC_LONG(void*, memmem, (const void *s, size_t n, const void *x, size_t l), s, n, x, l);
PUBLIC_LONG(char*, strstr, (const char *s, const char *x), s, x);
PUBLIC_WIDE(char*, strcpy, (char *restrict to, const char *restrict from), to, from)
PUBLIC_WIDE(char*, stpcpy, (char *restrict to, const char *restrict from), to, from)

/* What the functions of public.h go on with. */
#define WIDE(type, name, parameters, ...) USED OVERREAD type name##_wide parameters { return name##_avx512(__VA_ARGS__); }
WIDE(void*, memset, (void *to, int byte, size_t n), to, byte, n)
/* Up to 64 bytes that may be the last ones of a page. */
USED void *memset_few_wide(void *to, int byte, size_t n) { few_alike(to, byte, n); return to; }
WIDE(char*, strncpy, (char *restrict to, const char *restrict from, size_t n), to, from, n)
WIDE(char*, stpncpy, (char *restrict to, const char *restrict from, size_t n), to, from, n)
WIDE(int, memcmp, (const void *a, const void *b, size_t n), a, b, n)
WIDE(void*, memchr, (const void *s, int c, size_t n), s, c, n)
WIDE(void*, memrchr, (const void *s, int c, size_t n), s, c, n)
WIDE(char*, strchr, (const char *s, int c), s, c)
WIDE(char*, strrchr, (const char *s, int c), s, c)
WIDE(char*, strchrnul, (const char *s, int c), s, c)
WIDE(int, strcmp, (const char *a, const char *b), a, b)
WIDE(int, strncmp, (const char *a, const char *b, size_t n), a, b, n)
USED OVERREAD size_t strlen_wide(const char *s, const char *start) { return length_avx512(s, start); }
USED OVERREAD size_t strnlen_wide(const char *s, size_t n, const char *start) { return length_within_avx512(s, n, start); }
