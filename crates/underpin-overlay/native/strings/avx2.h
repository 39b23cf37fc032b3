/* Thirty-two bytes at a time. */
#define LEVEL(name) name##_avx2
#define W 32
typedef __m256i LEVEL(V);
#define V LEVEL(V)
#define M uint32_t
#define BITS 1
/* Two masks fit into 64 bits. */
#define PAIRS 1
/* The bits before the first one and behind the last one; W if there is none. */
#define ZERO_COUNTS 1

/* Every return clears the upper halves on its own: where the compiler does that, all returns become jumps to one. */
#define RETURN(value) do { \
    __typeof__(value) returned = (value); \
    _mm256_zeroupper(); \
    __asm__("" : "+a"(returned)); \
    return returned; \
  } while (0)
#define CLEAR _mm256_zeroupper()

INLINE V LEVEL(load)(const char *p) { return _mm256_load_si256((const __m256i*)p); }
INLINE V LEVEL(loadu)(const char *p) { return _mm256_loadu_si256((const __m256i_u*)p); }
INLINE void LEVEL(store)(char *p, V v) { _mm256_store_si256((__m256i*)p, v); }
INLINE void LEVEL(storeu)(char *p, V v) { _mm256_storeu_si256((__m256i_u*)p, v); }
INLINE void LEVEL(stream)(char *p, V v) { _mm256_stream_si256((__m256i*)p, v); }
INLINE V LEVEL(all)(int byte) { return _mm256_set1_epi8((char)byte); }
INLINE V LEVEL(least)(V a, V b) { return _mm256_min_epu8(a, b); }
INLINE V LEVEL(either)(V a, V b) { return _mm256_or_si256(a, b); }
INLINE V LEVEL(both)(V a, V b) { return _mm256_and_si256(a, b); }
INLINE V LEVEL(unlike)(V a, V b) { return _mm256_xor_si256(a, b); }
INLINE M LEVEL(zeros)(V v) { return (M)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_setzero_si256())); }
INLINE M LEVEL(equal)(V a, V b) { return (M)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, b)); }
INLINE V LEVEL(same_bytes)(V a, V b) { return _mm256_cmpeq_epi8(a, b); }
INLINE M LEVEL(marked)(V v) { return (M)_mm256_movemask_epi8(v); }
INLINE M LEVEL(differ)(V a, V b) { return LEVEL(equal)(a, b) ^ 0xFFFFFFFF; }
/* Zero where all are equal; otherwise its lowest bit is that of the first that is not, and the ones above mean nothing. The sum and its
 * jump are one instruction to all processors, `xor` and its jump are not. */
INLINE M LEVEL(first_unequal)(V a, V b) { return LEVEL(equal)(a, b) + 1; }
/* Where v is c and w is d, or w ends. */
INLINE M LEVEL(pair_or_end)(V v, V c, V w, V d)
{
  V pair = _mm256_and_si256(_mm256_cmpeq_epi8(v, c), _mm256_cmpeq_epi8(w, d));
  return (M)_mm256_movemask_epi8(_mm256_or_si256(pair, _mm256_cmpeq_epi8(w, _mm256_setzero_si256())));
}
INLINE int LEVEL(nonzero)(V v) { return LEVEL(zeros)(v) != 0xFFFFFFFF; }
/* Zero where a and b differ, or both end. a is read once, where the compiler would read it twice from memory. */
INLINE V LEVEL(alike)(V a, V b) { HELD(a); return _mm256_and_si256(a, _mm256_cmpeq_epi8(a, b)); }
#include "parting.h"
/* strlen has no function for this level alone (ending.h). */
#define LENGTH(s) NAME(strlen)(s)
/* Written out: the compiler would clear the register before, and extend the result. */
INLINE size_t LEVEL(first)(M m) { size_t at; __asm__("tzcnt %1, %k0" : "=r"(at) : "r"(m) : "cc"); return at; }
INLINE size_t LEVEL(last)(M m) { return (size_t)(unsigned)(31 ^ __builtin_clz(m)); }
INLINE size_t LEVEL(before_first)(M m) { return LEVEL(first)(m); }
INLINE size_t LEVEL(behind_last)(M m) { size_t bits; __asm__("lzcnt %1, %k0" : "=r"(bits) : "r"(m) : "cc"); return bits; }
/* The part of a mask for the first n bytes, at most W. */
INLINE M LEVEL(first_of)(M m, size_t n) { return _bzhi_u32(m, (unsigned)n); }
/* The same, and whether it is zero, which the compiler would ask for anew. */
INLINE int
LEVEL(cut)(M *m, size_t n)
{
  int is_zero;
  __asm__("bzhi %k2, %0, %0" : "+r"(*m), "=@ccz"(is_zero) : "r"(n));
  return is_zero;
}

/* Whether the processor has AVX-512, too: the public functions begin as AVX2 does, and part where a call turns out longer than
 * W, or longer than several W (choose.h). */
#define LOOK_AT(name, limit) \
  INLINE int \
  LEVEL(name)(void) \
  { \
    __asm__ goto("cmpb $0, " limit "\n\tjne %l[above]" : : : "cc" : above); \
    return 0; \
  above: \
    return 1; \
  }
LOOK_AT(above, LIMIT_ABOVE)
LOOK_AT(above_late, LIMIT_ABOVE_LATE)
#undef LOOK_AT
#define ABOVE(statement) do { if (UNLIKELY(LEVEL(above)())) statement; } while (0)
#define ABOVE_LATE(statement) do { if (UNLIKELY(LEVEL(above_late)())) statement; } while (0)

/* The same where a mask is known to be zero, or a size to be longer than W: one instruction with its jump. `above_first` and
 * `beyond_own` are for those that leave less to AVX-512. */
#define LOOK_AT_ZERO(name, limit) \
  INLINE int \
  LEVEL(name)(M none) \
  { \
    __asm__ goto("cmp %0, " limit "\n\tjne %l[above]" : : "r"(none) : "cc" : above); \
    return 0; \
  above: \
    return 1; \
  }
LOOK_AT_ZERO(above_zero, LIMIT_ABOVE)
LOOK_AT_ZERO(above_first, LIMIT_ABOVE_FIRST)
#undef LOOK_AT_ZERO
/* At the late place: 1 if vectors of 32 bytes take over, -1 if those of 64 do. */
INLINE int
LEVEL(taken_over)(M none)
{
  __asm__ goto("cmp %0, " LIMIT_ABOVE_LATE "\n\tjg %l[late]\n\tjl %l[far]" : : "r"(none) : "cc" : late, far);
  return 0;
late:
  return 1;
far:
  return -1;
}

#define LONGER_THAN(name, limit) \
  INLINE int \
  LEVEL(name)(size_t n) \
  { \
    __asm__ goto("cmp " limit ", %0\n\tja %l[longer]" : : "r"(n) : "cc" : longer); \
    return 0; \
  longer: \
    return 1; \
  }
LONGER_THAN(not_own, LIMIT_OWN)
LONGER_THAN(beyond_own, LIMIT_OWN_BOUND)
#undef LONGER_THAN
/* Of one vector's bytes at most, and at least one: whether a masked one is faster. The size is compared with zero or W. */
INLINE int
LEVEL(masked)(size_t n)
{
  __asm__ goto("cmp " LIMIT_MASKED ", %0\n\tja %l[plain]" : : "r"((uint32_t)n) : "cc", "memory" : plain);
  return 1;
plain:
  return 0;
}

/* Where the first n bytes differ, by loads that touch no others. The registers are ones that code for AVX2 does not know, so nothing
 * is said of them, and their upper halves need not be cleared. */
INLINE M
LEVEL(differ_masked)(const char *a, const char *b, size_t n)
{
  M m;
  __asm__("bzhi %k3, %4, %0\n\tkmovd %0, %%k1\n\tvmovdqu8 (%1), %%ymm16%{%%k1%}%{z%}\n\t"
    "vpcmpneqb (%2), %%ymm16, %%k1%{%%k1%}\n\tkmovd %%k1, %0"
    : "=&r"(m) : "r"(a), "r"(b), "r"(n), "r"(-1) : "cc", "memory");
  return m;
}

#define ABOVE_IF_NONE(m, statement) do { if (UNLIKELY(LEVEL(above_zero)(m))) statement; } while (0)
#define ABOVE_IF_FIRST(m, statement) do { if (UNLIKELY(LEVEL(above_first)(m))) statement; } while (0)
#define GO_OVER(m, late, far) do { \
    int taken_over = LEVEL(taken_over)(m); \
    if (UNLIKELY(taken_over > 0)) late; \
    if (UNLIKELY(taken_over < 0)) far; \
  } while (0)
#define ABOVE_IF_LONG(n, statement) do { if (UNLIKELY(LEVEL(not_own)(n))) statement; } while (0)
#define ABOVE_IF_BOUND(n, statement) do { if (UNLIKELY(LEVEL(beyond_own)(n))) statement; } while (0)

/* Whether a vector at p goes beyond the page of p, or the processor has no AVX2: nothing that needs it may come before. */
INLINE int
LEVEL(beyond_page)(const char *p)
{
  uint32_t offset;
  __asm__("imul $0x100000, %1, %0" : "=r"(offset) : "r"((uint32_t)(uintptr_t)p) : "cc");
  __asm__ goto("cmp " LIMIT_WITHIN ", %0\n\tjae %l[beyond]" : : "r"(offset) : "cc", "memory" : beyond);
  return 0;
beyond:
  return 1;
}
#define BEYOND_PAGE(p) UNLIKELY(LEVEL(beyond_page)(p))

/* The same of four, and of the offsets of two strings, whose bits are those of both: then neither does. */
INLINE int
LEVEL(four_within)(uint32_t both)
{
  __asm__ goto("cmp " LIMIT_WITHIN_FOUR ", %0\n\tjae %l[beyond]" : : "r"(both << 20) : "cc", "memory" : beyond);
  return 1;
beyond:
  return 0;
}
#define FOUR_WITHIN(both) LIKELY(LEVEL(four_within)(both))

/* For what goes beyond: which of the two it was. */
INLINE int
LEVEL(below)(void)
{
  __asm__ goto("cmpb $2, overlay_level(%%rip)\n\tjb %l[below]" : : : "cc", "memory" : below);
  return 0;
below:
  return 1;
}
#define BELOW_COMPARED UNLIKELY(LEVEL(below)())
#define BELOW_LEVEL(statement) do { if (UNLIKELY(LEVEL(below)())) statement; } while (0)

/* The compiler does not learn that m is zero where this is true: it would use a zero of its own. */
INLINE int
LEVEL(none)(M m)
{
  __asm__ goto("test %0, %0\n\tje %l[none]" : : "r"(m) : "cc" : none);
  return 0;
none:
  return 1;
}
#define NONE(m) UNLIKELY(LEVEL(none)(m))

/* Up to 31 bytes of one value, without the upper halves of registers, which would have to be cleared. The fewer they are, the
 * fewer jumps. */
USED void*
memset_few_avx2(void *into, int byte, size_t n)
{
  char *to = into;
  V16 v = all16(byte);
  if (UNLIKELY(n >= 16)) store16(to, v), store16(to + n - 16, v);
  else if (UNLIKELY(n >= 8)) _mm_storeu_si64(to, v), _mm_storeu_si64(to + n - 8, v);
  else if (UNLIKELY(n >= 4)) _mm_storeu_si32(to, v), _mm_storeu_si32(to + n - 4, v);
  else if (n) {
    /* The first, the middle and the last of up to three. */
    to[0] = (char)byte, to[n / 2] = (char)byte, to[n - 1] = (char)byte;
  }
  return into;
}
