/* String functions for static programs on musl, whose own look at single bytes or use the string instructions (rep
 * movsb) even for a few: here each takes 16, 32 or 64 bytes at a time, as the processor can. They need no C library and
 * refer to nothing outside this file, so they may be called before anything is set up. Most calls in programs are for
 * small sizes.
 *
 * With OVERLAY_REPLACES the functions have the C library's names, else names with overlay_ for tests and benchmarks. */
#ifdef __x86_64__
/* The intrinsics' header would ask for the C library's malloc. */
#define _MM_MALLOC_H_INCLUDED
#define __MM_MALLOC_H
#include <immintrin.h>
typedef __m128i V16;
#define load16(p) _mm_loadu_si128((const __m128i_u*)(p))
#define store16(p, v) _mm_storeu_si128((__m128i_u*)(p), v)
#define all16(byte) _mm_set1_epi8((char)(byte))
#elif defined __aarch64__
#include <arm_neon.h>
typedef uint8x16_t V16;
#define load16(p) vld1q_u8((const uint8_t*)(p))
#define store16(p, v) vst1q_u8((uint8_t*)(p), v)
#define all16(byte) vdupq_n_u8((uint8_t)(byte))
#else
#error "there is an overlay for x86-64 and aarch64"
#endif

#include "strings/common.h"

#ifdef OVERLAY_REPLACES
#define NAME(name) name
#else
#define NAME(name) overlay_##name
#endif
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

#ifdef __x86_64__
#include "strings/x86_64.h"
#else
#include "strings/aarch64.h"
#endif
#include "kernel.h"
#include "sort.h"
