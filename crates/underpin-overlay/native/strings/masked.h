/* What the two levels share that compare into mask registers: MM(f) is an intrinsic of their vectors, SI(f) one that takes them
 * whole. Included by these levels; no guard. */
#define BITS 1
#define MASKED 1

/* Every return clears the upper halves on its own: where the compiler does that, all returns become jumps to one. */
#define RETURN(value) do { __typeof__(value) returned = (value); _mm256_zeroupper(); return returned; } while (0)
#define CLEAR _mm256_zeroupper()

INLINE V LEVEL(load)(const char *p) { return SI(load)((const void*)p); }
INLINE V LEVEL(loadu)(const char *p) { return SI(loadu)((const void*)p); }
INLINE void LEVEL(store)(char *p, V v) { SI(store)((void*)p, v); }
INLINE void LEVEL(storeu)(char *p, V v) { SI(storeu)((void*)p, v); }
INLINE void LEVEL(stream)(char *p, V v) { SI(stream)((void*)p, v); }
INLINE V LEVEL(all)(int byte) { return MM(set1_epi8)((char)byte); }
INLINE V LEVEL(least)(V a, V b) { return MM(min_epu8)(a, b); }
INLINE V LEVEL(either)(V a, V b) { return SI(or)(a, b); }
INLINE V LEVEL(unlike)(V a, V b) { return SI(xor)(a, b); }
INLINE M LEVEL(zeros)(V v) { return MM(testn_epi8_mask)(v, v); }
INLINE M LEVEL(equal)(V a, V b) { return MM(cmpeq_epi8_mask)(a, b); }
INLINE M LEVEL(differ)(V a, V b) { return MM(cmpneq_epi8_mask)(a, b); }
/* The same where `so_far` is set. */
INLINE M LEVEL(differ_too)(M so_far, V a, V b) { return MM(mask_cmpneq_epi8_mask)(so_far, a, b); }
/* Where v is c and w is d, or w ends. */
INLINE M LEVEL(pair_or_end)(V v, V c, V w, V d)
{
  return MM(mask_cmpeq_epi8_mask)(MM(cmpeq_epi8_mask)(v, c), w, d) | MM(testn_epi8_mask)(w, w);
}
INLINE int LEVEL(nonzero)(V v) { return MM(test_epi8_mask)(v, v) != 0; }
/* Its lowest bit counts: one more than the bytes that are alike, so that a flag of the addition says whether all are. */
INLINE M LEVEL(parting)(V a, V b) { return MM(mask_cmpeq_epi8_mask)(MM(test_epi8_mask)(a, a), a, b) + 1; }
/* The same of v and of what it is unlike to another. */
INLINE M LEVEL(parting_of)(V v, V unlike) { return MM(mask_testn_epi8_mask)(MM(test_epi8_mask)(v, v), unlike, unlike) + 1; }
/* What x, y or z has, or where a and b are unlike. b comes last, where it may be in memory. */
INLINE V LEVEL(any_of)(V x, V y, V z, V a, V b)
{
  /* The tables of a ^ b | x and of all three. */
  return MM(ternarylogic_epi64)(MM(ternarylogic_epi64)(a, x, b, 0x5A | 0xCC), y, z, 0xFE);
}
/* Its lowest bit is that of the first byte which is c or zero: as for `parting`. */
INLINE M LEVEL(either_first)(V v, V c) { return MM(mask_test_epi8_mask)(MM(cmpneq_epi8_mask)(v, c), v, v) + 1; }
/* Zero where v is c or zero, or `seen` is: fewer instructions than to fold v and to take the least of the two. */
INLINE V LEVEL(fold_both)(V v, V c, V seen) { return MM(maskz_min_epu8)(MM(cmpneq_epi8_mask)(v, c), v, seen); }
INLINE size_t LEVEL(first)(M m) { return (size_t)__builtin_ctzll(m); }
INLINE size_t LEVEL(last)(M m) { return (size_t)(63 - __builtin_clzll(m)); }
/* The first n bytes, at most W; what follows them is not touched, mapped or not. */
INLINE M LEVEL(low)(size_t n) { return (M)_bzhi_u64(~0ull, (unsigned)n); }
INLINE V LEVEL(few)(const char *p, size_t n) { return MM(maskz_loadu_epi8)(LEVEL(low)(n), p); }
/* The part of a mask for the first n bytes, at most W. */
INLINE M LEVEL(first_of)(M m, size_t n) { return (M)_bzhi_u64(m, (unsigned)n); }
