/* Thirty-two bytes at a time, compared into mask registers: AVX-512's instructions for AVX2's vectors, which go on where AVX-512
 * takes over late. */
#define LEVEL(name) name##_evex
#define W 32
typedef __m256i LEVEL(V);
#define V LEVEL(V)
#define M uint32_t
#define MM(f) _mm256_##f
#define SI(f) _mm256_##f##_si256
#define MASK_PAIRS 1
#include "masked.h"

/* Of the masks of two vectors that follow each other: whether both are zero, and, if not, the first one set. */
INLINE int LEVEL(neither)(M low, M high) { return _kortestz_mask32_u8(low, high); }
INLINE size_t LEVEL(first_of_two)(M low, M high) { return (size_t)__builtin_ctzll(_mm512_kunpackd(high, low)); }
