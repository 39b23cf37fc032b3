/* The levels of x86-64, and the functions that begin with what needs no level. */
#include "choose.h"

INLINE void
by_machine(char *to, const char *from, size_t n)
{
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

/* Not inlined: the others keep their arguments where they are. */
USED void*
by_filling(void *into, int byte, size_t n)
{
  void *to = into;
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(byte) : "memory");
  return into;
}

#include "sse2.h"
#include "level.h"

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,lzcnt"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,lzcnt")
#endif
#undef LEVELED
#define LEVELED INLINE
#include "shared.h"
#include "avx2.h"
#include "level.h"
#include "public.h"
#ifdef __clang__
#pragma clang attribute pop
/* Vectors of 512 bits are a feature of their own to these versions, without which assembly takes none of them (ORDERED); others
 * do not know its name, and would ignore the rest. zig 0.14 to 0.16 are such. */
#if __clang_major__ >= 18 && __clang_major__ <= 21
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,evex512,avx2,bmi,bmi2,lzcnt"))), apply_to = function)
#else
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx2,bmi,bmi2,lzcnt"))), apply_to = function)
#endif
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx2,bmi,bmi2,lzcnt")
#endif
#undef JUMPED
#define JUMPED INLINE
#include "avx512.h"
#include "level.h"
#include "public_avx512.h"
#include "evex.h"
#include "level.h"
#include "late.h"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

__asm__(".globl " TEXT(NAME(bcmp)) "\n.set " TEXT(NAME(bcmp)) ", " TEXT(NAME(memcmp)) "\n");
#ifdef OVERLAY_REPLACES
#define MUSL(internal, name) __asm__(".globl " #internal "\n.hidden " #internal "\n.set " #internal ", " #name "\n")
MUSL(__memrchr, memrchr);
MUSL(__strchrnul, strchrnul);
MUSL(__stpcpy, stpcpy);
MUSL(__stpncpy, stpncpy);
MUSL(__memcpy_fwd, memcpy);
MUSL(__memcpy_fwd_alias_1, memcpy);
#endif

#include "ending.h"
BELOW(TEXT(NAME(strlen)), strlen, TEXT(NAME(strlen)));
ENDING(TEXT(NAME(strlen)));
#include "filling.h"
BELOW(TEXT(NAME(memset)), memset, TEXT(NAME(memset)));
FILLING(TEXT(NAME(memset)));
#include "copying.h"
COPYING(TEXT(NAME(memcpy)), memcpy);
COPYING(TEXT(NAME(memmove)), memmove);

#ifndef OVERLAY_REPLACES
/* Sets the level, if the processor has it: one of `choose.h`, the highest one with AVX-512 that takes over early; one more and
 * two more, with AVX-512 that takes over in the other ways. Returns what is in force afterwards. With UNKNOWN the next call that
 * wants to know asks. For tests. */
int overlay_force(int level);
int
overlay_force(int level)
{
  if (level == UNKNOWN) {
    put_level(UNKNOWN);
    overlay_level.until_asked = -1;
    return UNKNOWN;
  }
  unsigned char best = best_level();
  takeover = level > AVX512 ? (enum Takeover)(level - AVX512) : EARLY;
  narrow_from = takeover == LATE ? 4096 : SIZE_MAX;
  put_level(level < best ? (unsigned char)level : best);
  return overlay_level.level + (overlay_level.level == AVX512 ? (int)takeover : 0);
}
#endif
