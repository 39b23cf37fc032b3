/* Sixteen bytes at a time on aarch64, where a comparison has no mask of bits: half of each byte is kept, so that a mask has
 * four bits for each. */
#define LEVEL(name) name##_neon
#define W 16
typedef uint8x16_t LEVEL(V);
#define V LEVEL(V)
#define M uint64_t
#define BITS 4

INLINE V LEVEL(loadu)(const char *p) { return vld1q_u8((const uint8_t*)p); }
INLINE V LEVEL(load)(const char *p) { return LEVEL(loadu)(p); }
INLINE void LEVEL(storeu)(char *p, V v) { vst1q_u8((uint8_t*)p, v); }
INLINE void LEVEL(store)(char *p, V v) { LEVEL(storeu)(p, v); }
INLINE V LEVEL(all)(int byte) { return vdupq_n_u8((uint8_t)byte); }
INLINE V LEVEL(least)(V a, V b) { return vminq_u8(a, b); }
INLINE V LEVEL(either)(V a, V b) { return vorrq_u8(a, b); }
INLINE V LEVEL(unlike)(V a, V b) { return veorq_u8(a, b); }
INLINE M LEVEL(mask)(V v) { return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(v), 4)), 0); }
INLINE M LEVEL(zeros)(V v) { return LEVEL(mask)(vceqzq_u8(v)); }
INLINE M LEVEL(equal)(V a, V b) { return LEVEL(mask)(vceqq_u8(a, b)); }
INLINE V LEVEL(same_bytes)(V a, V b) { return vceqq_u8(a, b); }
INLINE M LEVEL(marked)(V v) { return LEVEL(mask)(v); }
INLINE M LEVEL(differ)(V a, V b) { return ~LEVEL(equal)(a, b); }
/* Where v is c and w is d, or w ends. */
INLINE M LEVEL(pair_or_end)(V v, V c, V w, V d)
{
  return LEVEL(mask)(vorrq_u8(vandq_u8(vceqq_u8(v, c), vceqq_u8(w, d)), vceqzq_u8(w)));
}
INLINE int LEVEL(nonzero)(V v) { return vmaxvq_u32(vreinterpretq_u32_u8(v)) != 0; }
/* Zero where a and b differ, or both end. */
INLINE V LEVEL(alike)(V a, V b) { return vandq_u8(a, vceqq_u8(a, b)); }
INLINE M LEVEL(parting)(V a, V b) { return LEVEL(zeros)(LEVEL(alike)(a, b)); }
INLINE M LEVEL(parting4)(const char *a, const char *b)
{
  V v = LEVEL(least)(LEVEL(alike)(LEVEL(load)(a), LEVEL(loadu)(b)), LEVEL(alike)(LEVEL(load)(a + W), LEVEL(loadu)(b + W)));
  ORDERED(v);
  V w = LEVEL(least)(LEVEL(alike)(LEVEL(load)(a + 2 * W), LEVEL(loadu)(b + 2 * W)),
                     LEVEL(alike)(LEVEL(load)(a + 3 * W), LEVEL(loadu)(b + 3 * W)));
  return LEVEL(zeros)(LEVEL(least)(v, w));
}
INLINE size_t LEVEL(first)(M m) { return (size_t)__builtin_ctzll(m) / 4; }
INLINE size_t LEVEL(last)(M m) { return (size_t)(63 - __builtin_clzll(m)) / 4; }
/* The part of a mask for the first n bytes, at most W. */
INLINE M LEVEL(first_of)(M m, size_t n) { return n < 16 ? m & (((M)1 << n * 4) - 1) : m; }
