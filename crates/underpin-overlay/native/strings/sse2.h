/* Sixteen bytes at a time: what every x86-64 has. */
#define LEVEL(name) name##_sse2
#define W 16
typedef __m128i LEVEL(V);
#define V LEVEL(V)
#define M uint32_t
#define BITS 1
/* Two masks fit into 64 bits. */
#define PAIRS 1

INLINE V LEVEL(load)(const char *p) { return _mm_load_si128((const __m128i*)p); }
INLINE V LEVEL(loadu)(const char *p) { return _mm_loadu_si128((const __m128i_u*)p); }
INLINE void LEVEL(store)(char *p, V v) { _mm_store_si128((__m128i*)p, v); }
INLINE void LEVEL(storeu)(char *p, V v) { _mm_storeu_si128((__m128i_u*)p, v); }
INLINE void LEVEL(stream)(char *p, V v) { _mm_stream_si128((__m128i*)p, v); }
INLINE V LEVEL(all)(int byte) { return _mm_set1_epi8((char)byte); }
INLINE V LEVEL(least)(V a, V b) { return _mm_min_epu8(a, b); }
INLINE V LEVEL(either)(V a, V b) { return _mm_or_si128(a, b); }
INLINE V LEVEL(both)(V a, V b) { return _mm_and_si128(a, b); }
INLINE V LEVEL(unlike)(V a, V b) { return _mm_xor_si128(a, b); }
INLINE M LEVEL(zeros)(V v) { return (M)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_setzero_si128())); }
INLINE M LEVEL(equal)(V a, V b) { return (M)_mm_movemask_epi8(_mm_cmpeq_epi8(a, b)); }
INLINE V LEVEL(same_bytes)(V a, V b) { return _mm_cmpeq_epi8(a, b); }
INLINE M LEVEL(marked)(V v) { return (M)_mm_movemask_epi8(v); }
INLINE M LEVEL(differ)(V a, V b) { return LEVEL(equal)(a, b) ^ 0xFFFF; }
INLINE M LEVEL(first_unequal)(V a, V b) { return LEVEL(differ)(a, b); }
/* Where v is c and w is d, or w ends. */
INLINE M LEVEL(pair_or_end)(V v, V c, V w, V d)
{
  V pair = _mm_and_si128(_mm_cmpeq_epi8(v, c), _mm_cmpeq_epi8(w, d));
  return (M)_mm_movemask_epi8(_mm_or_si128(pair, _mm_cmpeq_epi8(w, _mm_setzero_si128())));
}
INLINE int LEVEL(nonzero)(V v) { return LEVEL(zeros)(v) != 0xFFFF; }
/* Zero where a and b differ, or both end. a is read once, where the compiler would read it twice from memory. */
INLINE V LEVEL(alike)(V a, V b) { HELD(a); return _mm_and_si128(a, _mm_cmpeq_epi8(a, b)); }
#include "parting.h"
INLINE size_t LEVEL(first)(M m) { return (size_t)(unsigned)__builtin_ctz(m); }
INLINE size_t LEVEL(last)(M m) { return (size_t)(unsigned)(31 ^ __builtin_clz(m)); }
/* The part of a mask for the first n bytes, at most W. */
INLINE M LEVEL(first_of)(M m, size_t n) { return m & (M)((1ull << n) - 1); }
