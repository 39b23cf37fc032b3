/* floor, ceil, trunc, rint, nearbyint and fma for static programs on musl, which computes them in steps of whole numbers: by the
 * instruction where there is one (SSE4.1, FMA), as glibc's IFUNC does it. Results and exceptions are glibc's in each direction of
 * rounding.
 *
 * The processor is asked at the 64th call (strings/choose.h says why); until then, and on one without the instructions, the functions
 * below do it. On aarch64 all of them are one instruction. */

#ifdef OVERLAY_REPLACES

#include <stdbool.h>
#include <stdint.h>

#define WEAK __attribute__((weak))
#define COLD __attribute__((cold, noinline))
#define LIKELY(x) __builtin_expect(!!(x), 1)

#ifdef __x86_64__

#include "processor.h"

enum Instructions { UNKNOWN, NONE, ROUND, ROUND_AND_FMA };

/* One byte each, so it does not matter if two threads ask at once, or count while a third asks: all find the same. */
static unsigned char instructions;
static signed char until_asked = -64;

/* For what comes next; this call is served without. */
static COLD void
count_calls(void)
{
  if (instructions != UNKNOWN || ++until_asked != 0) return;
  uint32_t a, b, features = 0, d;
  __cpuid(1, a, b, features, d);
  const bool has_fma = (features & bit_FMA) && (features & bit_OSXSAVE) && (saved_registers() & SAVES_AVX) == SAVES_AVX;
  instructions = !(features & bit_SSE4_1) ? NONE : has_fma ? ROUND_AND_FMA : ROUND;
}

#include "rounding/steps.h"
#include "rounding/exact.h"

/* The operand of roundsd: the direction, or 4 for that of the program; with 8, a result that is not exact is no exception. */
#define DOWN "9"
#define UP "10"
#define TO_ZERO "11"
#define AS_SET "4"
#define AS_SET_IN_SILENCE "12"

#define ROUNDS_AS(name, Real, steps, instruction) \
  static COLD Real name##_slowly(Real x) \
  { \
    count_calls(); \
    return steps(x); \
  } \
  WEAK Real name(Real x) \
  { \
    if (!LIKELY(instructions >= ROUND)) return name##_slowly(x); \
    __asm__(instruction ", %0, %0" : "+x"(x)); \
    return x; \
  }
#define ROUNDS(name, operand, steps) \
  ROUNDS_AS(name, double, steps, "roundsd $" operand) \
  ROUNDS_AS(name##f, float, steps##_float, "roundss $" operand)

#define MULTIPLIES_AND_ADDS(name, Real, instruction) \
  static COLD Real name##_slowly(Real a, Real b, Real c) \
  { \
    count_calls(); \
    return (Real)exact(a, b, c); \
  } \
  WEAK Real name(Real a, Real b, Real c) \
  { \
    if (!LIKELY(instructions >= ROUND_AND_FMA)) return name##_slowly(a, b, c); \
    __asm__(instruction " %2, %1, %0" : "+x"(a) : "x"(b), "x"(c)); \
    return a; \
  }

MULTIPLIES_AND_ADDS(fma, double, "vfmadd213sd")
MULTIPLIES_AND_ADDS(fmaf, float, "vfmadd213ss")

#else

#define DOWN "frintm"
#define UP "frintp"
#define TO_ZERO "frintz"
#define AS_SET "frintx"
#define AS_SET_IN_SILENCE "frinti"

#define ROUNDS(name, instruction, steps) \
  WEAK double name(double x) \
  { \
    __asm__(instruction " %d0, %d0" : "+w"(x)); \
    return x; \
  } \
  WEAK float name##f(float x) \
  { \
    __asm__(instruction " %s0, %s0" : "+w"(x)); \
    return x; \
  }

WEAK double
fma(double a, double b, double c)
{
  __asm__("fmadd %d0, %d0, %d1, %d2" : "+w"(a) : "w"(b), "w"(c));
  return a;
}

WEAK float
fmaf(float a, float b, float c)
{
  __asm__("fmadd %s0, %s0, %s1, %s2" : "+w"(a) : "w"(b), "w"(c));
  return a;
}

#endif

ROUNDS(floor, DOWN, down)
ROUNDS(ceil, UP, up)
ROUNDS(trunc, TO_ZERO, to_zero)
ROUNDS(rint, AS_SET, as_set)
ROUNDS(nearbyint, AS_SET_IN_SILENCE, in_silence)

#endif
