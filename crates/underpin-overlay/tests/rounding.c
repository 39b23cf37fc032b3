/* Prints what the functions of rounding and fma answer, with the exceptions they raise, for numbers of all kinds in each direction of
 * rounding. The program is told how many. */
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t chance;

static uint64_t
any(void)
{
  chance ^= chance << 13;
  chance ^= chance >> 7;
  return chance ^= chance << 17;
}

static double
of_bits(uint64_t bits)
{
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static float
of_bits_float(uint32_t bits)
{
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Few digits, many, all, or their highest and lowest alone. */
static uint64_t
digits(int count)
{
  const uint64_t all = ((uint64_t)1 << count) - 1;
  switch (any() % 5) {
  case 0: return 0;
  case 1: return all;
  case 2: return any() & all & ~(all >> (1 + any() % 6));
  case 3: return (any() & 1) | (any() & 1) << (count - 1);
  default: return any() & all;
  }
}

static const double SPECIAL[] = {0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1.0, -1.0, 0x1p-1022, 0x1p-1074, 0x1.fffffffffffffp1023, INFINITY,
  -INFINITY, NAN, 0x1.fffffffffffffp51, 0x1p52, 0x1.0000000000001p52, 0x1.fffffep127, 0x1p-126, 0x1p-149, 0x1.fffffep22, 0x1p23};
enum { SPECIALS = sizeof SPECIAL / sizeof *SPECIAL };

/* A number whose exponent is about `near`. */
static double
number(int near)
{
  const uint64_t sign = any() << 63;
  if (any() % 12 == 0) return SPECIAL[any() % SPECIALS];
  if (any() % 40 == 0) return of_bits(sign | 0x7FF0000000000000 | (any() & 0xFFFF));
  if (any() % 10 == 0) return of_bits(sign | digits(52));
  int exponent = near + 1023 + (int)(any() % 9) - 4;
  if (any() % 4 == 0) exponent += (int)(any() % 260) - 130;
  if (exponent < 0) exponent = 0;
  if (exponent > 2046) exponent = 2046;
  return of_bits(sign | (uint64_t)exponent << 52 | digits(52));
}

static float
number_float(int near)
{
  const uint32_t sign = (uint32_t)any() << 31;
  if (any() % 12 == 0) return (float)SPECIAL[any() % SPECIALS];
  if (any() % 40 == 0) return of_bits_float(sign | 0x7F800000 | (any() & 0xFF));
  if (any() % 10 == 0) return of_bits_float(sign | (uint32_t)digits(23));
  int exponent = near + 127 + (int)(any() % 9) - 4;
  if (any() % 4 == 0) exponent += (int)(any() % 60) - 30;
  if (exponent < 0) exponent = 0;
  if (exponent > 254) exponent = 254;
  return of_bits_float(sign | (uint32_t)exponent << 23 | (uint32_t)digits(23));
}

static unsigned long long
bits_of(double x)
{
  unsigned long long bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* Which NaN it is the processors do not agree on, nor the C libraries on how %a writes the smallest numbers. */
static void
say(const char *name, double x)
{
  const int raised = fetestexcept(FE_INVALID | FE_OVERFLOW | FE_UNDERFLOW | FE_INEXACT | FE_DIVBYZERO);
  if (isnan(x)) printf(" %s nan %x", name, raised);
  else printf(" %s %llx %x", name, bits_of(x), raised);
}

/* So that nothing is left but what rounding lost of the product. */
static double
against(double product)
{
  return isnan(product) ? 1 : -product;
}

typedef double Function(double);
typedef float FunctionFloat(float);
static struct {
  const char *name;
  Function *volatile call;
  FunctionFloat *volatile call_float;
} ROUNDING[] = {{"floor", floor, floorf}, {"ceil", ceil, ceilf}, {"trunc", trunc, truncf}, {"rint", rint, rintf},
  {"nearbyint", nearbyint, nearbyintf}};
static double (*volatile multiply_and_add)(double, double, double) = fma;
static float (*volatile multiply_and_add_float)(float, float, float) = fmaf;

int
main(int count, char **words)
{
  static const int directions[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
  if (count != 2) return 2;
  const long tries = strtol(words[1], NULL, 10);
  for (long try = 0; try < tries; try++) {
    chance = 0x9E3779B97F4A7C15 * (uint64_t)(try + 1);
    for (int mix = 0; mix < 4; mix++) any();
    const double x = number((int)(any() % 60) - 3);
    const float x_float = number_float((int)(any() % 30) - 3);
    /* The product about the summand, above it, below it, or about the smallest and the greatest numbers. */
    const int first = (int)(any() % 1200) - 600, second = (int)(any() % 1200) - 600;
    const int third = any() % 3 ? first + second + (int)(any() % 120) - 60 : any() % 2 ? -1030 : 1020;
    const double a = number(first), b = number(any() % 3 ? second : third - first), c = any() % 6 ? number(third) : against(a * b);
    const int first_float = (int)(any() % 120) - 60, third_float = any() % 3 ? first_float + (int)(any() % 60) - 30 : any() % 2 ? -130 : 125;
    const float a_float = number_float(first_float), b_float = number_float(any() % 2 ? 0 : third_float - first_float);
    const float c_float = any() % 6 ? number_float(third_float) : (float)against(a_float * b_float);
    fesetround(directions[try % 4]);
    printf("%ld: %llx %llx; %llx %llx %llx; %llx %llx %llx\n", try, bits_of(x), bits_of(x_float), bits_of(a), bits_of(b), bits_of(c),
      bits_of(a_float), bits_of(b_float), bits_of(c_float));
    for (int at = 0; at < 5; at++) {
      feclearexcept(FE_ALL_EXCEPT);
      /* An exception that was there before stays. */
      if (try % 16 == 5) feraiseexcept(FE_INEXACT);
      const double answer = ROUNDING[at].call(x);
      say(ROUNDING[at].name, answer);
      feclearexcept(FE_ALL_EXCEPT);
      const float answer_float = ROUNDING[at].call_float(x_float);
      say("float", answer_float);
    }
    feclearexcept(FE_ALL_EXCEPT);
    const double sum = multiply_and_add(a, b, c);
    say("fma", sum);
    feclearexcept(FE_ALL_EXCEPT);
    const float sum_float = multiply_and_add_float(a_float, b_float, c_float);
    say("float", sum_float);
    printf("\n");
    feclearexcept(FE_ALL_EXCEPT);
    fesetround(FE_TONEAREST);
  }
  return 0;
}
