/* The levels of x86-64, and the functions that begin with what needs no level. */
#ifndef MACHINE_FROM
#define MACHINE_FROM (1 << 30)
#define PAST_FROM (1 << 30)
#define FILL_FROM (1 << 30)
#endif
#include "choose.h"

INLINE void
by_machine(char *to, const char *from, size_t n)
{
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

INLINE void
by_filling(char *to, int byte, size_t n)
{
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(byte) : "memory");
}

#include "sse2.h"
#include "level.h"

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2")
#endif
#include "avx2.h"
#include "level.h"
#ifdef __clang__
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx2,bmi,bmi2"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx2,bmi,bmi2")
#endif
#include "avx512.h"
#include "level.h"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#define GLOBAL(symbol) ".globl " symbol "\n"
#define PUBLIC(name) ENTRY(TEXT(NAME(name)), GLOBAL(TEXT(NAME(name))), name)
#define LOCAL(name) ENTRY("overlay_on_" #name, "", name)
PUBLIC(memchr);
PUBLIC(memrchr);
PUBLIC(strlen);
PUBLIC(strnlen);
PUBLIC(strchr);
PUBLIC(strrchr);
PUBLIC(strchrnul);
PUBLIC(strcmp);
PUBLIC(strncmp);
PUBLIC(strstr);
PUBLIC(memmem);
PUBLIC(strcpy);
PUBLIC(stpcpy);
PUBLIC(strncpy);
PUBLIC(stpncpy);

#ifdef OVERLAY_REPLACES
#define MUSL(internal, name) __asm__(".globl " #internal "\n.hidden " #internal "\n.set " #internal ", " #name "\n")
MUSL(__memrchr, memrchr);
MUSL(__strchrnul, strchrnul);
MUSL(__stpcpy, stpcpy);
MUSL(__stpncpy, stpncpy);
MUSL(__memcpy_fwd, memcpy);
MUSL(__memcpy_fwd_alias_1, memcpy);
#endif

/* From the few bytes that need no level to the rest. */
#define REST(type, name, parameters, arguments) \
  LOCAL(name); \
  extern type on_##name parameters __asm__("overlay_on_" #name) __attribute__((visibility("hidden")));
REST(void*, memcpy, (void*, const void*, size_t),)
REST(void*, memmove, (void*, const void*, size_t),)
REST(void*, memset, (void*, int, size_t),)
REST(int, memcmp, (const void*, const void*, size_t),)

void*
NAME(memcpy)(void *restrict to, const void *restrict from, size_t n)
{
  if (UNLIKELY(n > 64)) return on_memcpy(to, from, n);
  few(to, from, n);
  return to;
}

void*
NAME(memmove)(void *to, const void *from, size_t n)
{
  if (UNLIKELY(n > 64)) return on_memmove(to, from, n);
  few(to, from, n);
  return to;
}

void*
NAME(memset)(void *to, int byte, size_t n)
{
  if (UNLIKELY(n > 64)) return on_memset(to, byte, n);
  few_alike(to, byte, n);
  return to;
}

int
NAME(memcmp)(const void *a, const void *b, size_t n)
{
  if (UNLIKELY(n > 16)) return on_memcmp(a, b, n);
  return few_compared(a, b, n);
}

#ifndef OVERLAY_REPLACES
/* Sets the level, if the processor has it; the one in force afterwards. For tests. */
int overlay_force(int level);
int
overlay_force(int level)
{
  unsigned char best = best_level();
  overlay_level = level < best ? (unsigned char)level : best;
  return overlay_level;
}
#endif
