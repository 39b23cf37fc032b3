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
