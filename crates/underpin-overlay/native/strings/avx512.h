/* Sixty-four bytes at a time, compared into mask registers. */
#define LEVEL(name) name##_avx512
#define W 64
typedef __m512i LEVEL(V);
#define V LEVEL(V)
#define M uint64_t
#define MM(f) _mm512_##f
#define SI(f) _mm512_##f##_si512
/* There is a level with the same instructions for vectors of half the size. */
#define NARROWER 1
#include "masked.h"

/* One of the bytes of a vector that has only one value. */
INLINE int LEVEL(lowest)(V v) { return _mm_cvtsi128_si32(_mm512_castsi512_si128(v)); }
