/* a * b + c without rounding in between, for a processor without FMA: in whole numbers of 128 bits, whose last one says if anything was
 * lost below (rounding to odd; Boldo and Melquiond, Emulation of FMA and correctly rounded sums, 2008). The x87's numbers hold that
 * with any exponent, and turning one into a double or a float is the one rounding, with its exceptions. */

typedef unsigned __int128 Wide;

/* digits * 2^exponent */
typedef struct {
  Wide digits;
  int exponent;
} Parts;

enum { HIGHEST = 125, KEPT = 62 };

static int
highest(Wide digits)
{
  const uint64_t high = (uint64_t)(digits >> 64);
  return high ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll((uint64_t)digits);
}

/* With the highest digit where all have it; two bits above are free. What a product or a double has below is zero for 20 digits. */
static Parts
aligned(Wide digits, int exponent)
{
  const int up = HIGHEST - highest(digits);
  return (Parts){digits << up, exponent - up};
}

/* Not zero, and finite. */
static Parts
parts_of(double x)
{
  const uint64_t word = word_of(x), fraction = word & (((uint64_t)1 << 52) - 1);
  const int exponent = exponent_of(x);
  if (exponent == -1023) return (Parts){fraction, -1074};
  return (Parts){fraction | (uint64_t)1 << 52, exponent - 52};
}

static Wide
shifted_down(Wide digits, int by)
{
  if (by > HIGHEST) return 1;
  return digits >> by | ((digits & (((Wide)1 << by) - 1)) != 0);
}

static long double
power_of_two(int exponent)
{
  const struct {
    uint64_t digits;
    uint16_t exponent;
  } parts = {(uint64_t)1 << 63, (uint16_t)(16383 + exponent)};
  long double power = 0;
  __builtin_memcpy(&power, &parts, 10);
  return power;
}

static bool
is_finite(double x)
{
  return exponent_of(x) <= 1023;
}

static bool
is_negative(double x)
{
  return word_of(x) >> 63;
}

/* Where a factor is zero, or anything is no number. Infinity times zero is no exception beside a NaN, as the instruction has it. */
static COLD double
plain(double a, double b, double c)
{
  if (c != c) return c + a + b;
  return is_finite(a) && is_finite(b) && !is_finite(c) ? c : a * b + c;
}

/* A number of at most 62 digits that rounds to what the exact one rounds to. */
static long double
exact(double a, double b, double c)
{
  if (!is_finite(a) || !is_finite(b) || !is_finite(c) || a == 0 || b == 0) return plain(a, b, c);
  const Parts first = parts_of(a), second = parts_of(b);
  Parts sum = aligned(first.digits * second.digits, first.exponent + second.exponent);
  bool is_below_zero = is_negative(a) != is_negative(b);
  if (c != 0) {
    const Parts third = parts_of(c);
    Parts less = aligned(third.digits, third.exponent);
    bool is_less_below_zero = is_negative(c);
    if (less.exponent > sum.exponent || (less.exponent == sum.exponent && less.digits > sum.digits)) {
      const Parts other = sum;
      const bool is_other_below_zero = is_below_zero;
      sum = less, is_below_zero = is_less_below_zero;
      less = other, is_less_below_zero = is_other_below_zero;
    }
    less.digits = shifted_down(less.digits, sum.exponent - less.exponent);
    if (is_below_zero == is_less_below_zero) sum.digits += less.digits;
    else sum.digits -= less.digits;
    /* A zero has the sign that the direction of rounding gives it. */
    if (sum.digits == 0) return (long double)c - c;
  }
  const int down = highest(sum.digits) - KEPT + 1;
  if (down > 0) sum = (Parts){shifted_down(sum.digits, down), sum.exponent + down};
  const long double result = (long double)(int64_t)sum.digits * power_of_two(sum.exponent);
  return is_below_zero ? -result : result;
}
