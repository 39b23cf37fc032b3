/* The three formats, and rounding to them as the processor is told to round (fesetround). */

/* `precision` bits with the leading one; `lowest` is the exponent of the smallest number, `highest` that of the leading
 * bit of the largest (IEEE 754-2019, table 3.5). `digits`: no number that lies between two of the format's has more. */
typedef struct {
  int precision, lowest, highest, digits;
} Format;

static const Format FLOAT = { 24, -149, 127, 113 }, DOUBLE = { 53, -1074, 1023, 768 };
#ifdef __x86_64__
static const Format LONG_DOUBLE = { 64, -16445, 16383, 11515 };
#else
static const Format LONG_DOUBLE = { 113, -16494, 16383, 11564 };
#endif

/* `halves`, in units of half the last bit, times two to the power of `exponent`; with `more` something between that and
 * the next. */
typedef struct {
  Wide halves;
  int exponent, more;
} Cut;

/* mantissa * 2^exponent, whose `precision` bits it is rounded to. */
typedef struct {
  Wide mantissa;
  int exponent, infinite;
} Rounded;

#ifdef __x86_64__
#define OPAQUE(value) __asm__ volatile ("" : "+x"(value))
#else
#define OPAQUE(value) __asm__ volatile ("" : "+w"(value))
#endif

enum { NEAREST, DOWN, UP, TO_ZERO };

static int
rounding(void)
{
#ifdef __x86_64__
  /* MXCSR, which fesetround changes together with the x87's control word. */
  return __builtin_ia32_stmxcsr() >> 13 & 3;
#else
  uint64_t control;
  __asm__ volatile ("mrs %0, fpcr" : "=r"(control));
  static const unsigned char modes[] = { NEAREST, UP, DOWN, TO_ZERO };
  return modes[control >> 22 & 3];
#endif
}

/* The flags of <fenv.h>, by operations that raise them. */
static void
raise_flags(double one, double other)
{
  OPAQUE(one);
  one *= other;
  OPAQUE(one);
}

/* The exponent that a cut of a number of 128 bits has in this format. */
static int
cut_at(const Format *format, int exponent)
{
  const int at = exponent + 127 - format->precision;
  return at < format->lowest ? format->lowest - 1 : at;
}

static Rounded
rounded(const Format *format, Cut cut, int negative)
{
  /* One that was counted up may have a bit too many, and then its last is 0. */
  if (cut.halves >> (format->precision + 1)) cut.halves >>= 1, cut.exponent++;
  Rounded result = { cut.halves >> 1, cut.exponent + 1, 0 };
  const int half = (int)(cut.halves & 1), inexact = half | cut.more, mode = inexact ? rounding() : NEAREST;
  const int up = mode == NEAREST ? half & (cut.more | (int)(result.mantissa & 1)) : mode == (negative ? DOWN : UP);
  if (inexact && up && ++result.mantissa >> format->precision) result.mantissa >>= 1, result.exponent++;
  const Wide leading = (Wide)1 << (format->precision - 1);
  if (result.exponent + format->precision - 1 > format->highest) {
    *__errno_location() = ERANGE;
    raise_flags(0x1p1023, 0x1p1023);
    const int limit = rounding();
    result.infinite = limit == NEAREST || limit == (negative ? DOWN : UP);
    result.mantissa = leading * 2 - 1;
    result.exponent = format->highest - format->precision + 1;
  } else if (inexact && result.mantissa < leading) {
    *__errno_location() = ERANGE;
    raise_flags(0x1p-1022, 0x1.8p-1022);
  } else if (inexact) {
    raise_flags(0x1.8000001p0, 0x1.8000001p0);
  }
  return result;
}

/* The exponent's field. A number without a leading one is below the smallest that has one. */
static unsigned
field(const Format *format, Rounded number)
{
  if (number.infinite) return 2 * (unsigned)format->highest + 1;
  if (!(number.mantissa >> (format->precision - 1))) return 0;
  return (unsigned)(number.exponent + format->precision - 1 + format->highest);
}

static uint64_t
fraction(const Format *format, Rounded number)
{
  return number.infinite ? 0 : (uint64_t)number.mantissa & (((uint64_t)1 << (format->precision - 1)) - 1);
}

static float
to_float(Rounded number, int negative)
{
  const uint32_t bits = (uint32_t)negative << 31 | field(&FLOAT, number) << 23 | (uint32_t)fraction(&FLOAT, number);
  return ((union { uint32_t bits; float number; }){ bits }).number;
}

static double
to_double(Rounded number, int negative)
{
  const uint64_t bits = (uint64_t)negative << 63 | (uint64_t)field(&DOUBLE, number) << 52 | fraction(&DOUBLE, number);
  return ((union { uint64_t bits; double number; }){ bits }).number;
}

/* The x87's format has its leading one in memory. */
static long double
to_long_double(Rounded number, int negative)
{
  const unsigned head = (unsigned)negative << 15 | field(&LONG_DOUBLE, number);
#ifdef __x86_64__
  const uint64_t mantissa = number.infinite ? (uint64_t)1 << 63 : (uint64_t)number.mantissa;
  const Wide bits = (Wide)head << 64 | mantissa;
#else
  const Wide below = number.infinite ? 0 : number.mantissa & (((Wide)1 << 112) - 1);
  const Wide bits = (Wide)head << 112 | below;
#endif
  return ((union { Wide bits; long double number; }){ bits }).number;
}
