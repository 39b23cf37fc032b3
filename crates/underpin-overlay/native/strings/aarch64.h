/* The one level of aarch64. memcpy and memset are left to musl, whose own are ARM's assembly; here they serve the other functions and
 * the tests. */
#include "neon.h"
#include "level.h"

#define GIVE(type, name, parameters, ...) type NAME(name) parameters { return name##_neon(__VA_ARGS__); }
GIVE(void*, memchr, (const void *s, int c, size_t n), s, c, n)
GIVE(void*, memrchr, (const void *s, int c, size_t n), s, c, n)
GIVE(size_t, strlen, (const char *s), s)
GIVE(size_t, strnlen, (const char *s, size_t n), s, n)
GIVE(char*, strchr, (const char *s, int c), s, c)
GIVE(char*, strrchr, (const char *s, int c), s, c)
GIVE(char*, strchrnul, (const char *s, int c), s, c)
GIVE(int, strcmp, (const char *a, const char *b), a, b)
GIVE(int, strncmp, (const char *a, const char *b, size_t n), a, b, n)
GIVE(char*, strstr, (const char *s, const char *x), s, x)
GIVE(void*, memmem, (const void *s, size_t n, const void *x, size_t l), s, n, x, l)
GIVE(char*, strcpy, (char *restrict to, const char *restrict from), to, from)
GIVE(char*, stpcpy, (char *restrict to, const char *restrict from), to, from)
GIVE(char*, strncpy, (char *restrict to, const char *restrict from, size_t n), to, from, n)
GIVE(char*, stpncpy, (char *restrict to, const char *restrict from, size_t n), to, from, n)

#ifdef OVERLAY_REPLACES
#define MUSL(internal, name) extern __typeof__(name) internal __attribute__((alias(#name), visibility("hidden")))
MUSL(__memrchr, memrchr);
MUSL(__strchrnul, strchrnul);
MUSL(__stpcpy, stpcpy);
MUSL(__stpncpy, stpncpy);
#endif

#ifndef OVERLAY_REPLACES
void*
overlay_memcpy(void *restrict to, const void *restrict from, size_t n)
{
  if (n > 64) return memcpy_neon(to, from, n);
  few(to, from, n);
  return to;
}

void*
overlay_memset(void *to, int byte, size_t n)
{
  return memset_neon(to, byte, n);
}
#endif

void*
NAME(memmove)(void *to, const void *from, size_t n)
{
  if (n > 64) return memmove_neon(to, from, n);
  few(to, from, n);
  return to;
}

int
NAME(memcmp)(const void *a, const void *b, size_t n)
{
  return memcmp_neon(a, b, n);
}

extern __typeof__(NAME(memcmp)) NAME(bcmp) __attribute__((alias(TEXT(NAME(memcmp)))));

#ifndef OVERLAY_REPLACES
/* Sets the level, for tests; returns the one in force afterwards. */
int overlay_force(int level);
int
overlay_force(int level)
{
  (void)level;
  return 1;
}
#endif
