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
/* Where v is c and w is d, or w ends. */
INLINE M LEVEL(pair_or_end)(V v, V c, V w, V d)
{
  V pair = _mm256_and_si256(_mm256_cmpeq_epi8(v, c), _mm256_cmpeq_epi8(w, d));
  return (M)_mm256_movemask_epi8(_mm256_or_si256(pair, _mm256_cmpeq_epi8(w, _mm256_setzero_si256())));
}
INLINE int LEVEL(nonzero)(V v) { return LEVEL(zeros)(v) != 0xFFFFFFFF; }
/* Zero where a and b differ, or both end. a is read once, where the compiler would read it twice from memory. */
INLINE V LEVEL(alike)(V a, V b) { HELD(a); return _mm256_min_epu8(a, _mm256_cmpeq_epi8(a, b)); }
#include "parting.h"
INLINE size_t LEVEL(first)(M m) { return (size_t)(unsigned)__builtin_ctz(m); }
INLINE size_t LEVEL(last)(M m) { return (size_t)(unsigned)(31 ^ __builtin_clz(m)); }
INLINE size_t LEVEL(before_first)(M m) { return _tzcnt_u32(m); }
INLINE size_t LEVEL(behind_last)(M m) { return _lzcnt_u32(m); }
/* The part of a mask for the first n bytes, at most W. */
INLINE M LEVEL(first_of)(M m, size_t n) { return _bzhi_u32(m, (unsigned)n); }

/* Whether the processor has AVX-512, too: the public functions begin as AVX2 does, and part where a call turns out longer than W. */
INLINE int
LEVEL(above)(void)
{
  __asm__ goto("cmpb $2, overlay_level(%%rip)\n\tja %l[above]" : : : "cc" : above);
  return 0;
above:
  return 1;
}
#define ABOVE(statement) do { if (UNLIKELY(LEVEL(above)())) statement; } while (0)

/* Up to 31 bytes of one value, without the upper halves of registers, which would have to be cleared. The fewer they are, the
 * fewer jumps. */
INLINE void
few_filled(char *to, int byte, size_t n)
{
  char *end = to + n;
  V16 v = all16(byte);
  if (UNLIKELY(n >= 16)) store16(to, v), store16(end - 16, v);
  else if (UNLIKELY(n >= 8)) _mm_storeu_si64(to, v), _mm_storeu_si64(end - 8, v);
  else if (UNLIKELY(n >= 4)) _mm_storeu_si32(to, v), _mm_storeu_si32(end - 4, v);
  else if (n) {
    /* The first, the middle and the last of up to three. */
    to[0] = (char)byte, to[n / 2] = (char)byte, end[-1] = (char)byte;
  }
}
