/* strtod, strtof and strtold of the overlay against the C library's: value, end, errno and flags, in each direction of
 * rounding. Prints "FAILED" and ends with 1 at the first difference. With PLAIN the functions have the C library's own
 * names, and what judges them is its sscanf, which reads numbers with code of its own. */
#define _GNU_SOURCE
#include <errno.h>
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef PLAIN
#define OURS(name) name
#else
#define OURS(name) overlay_##name
extern __typeof__(strtod) overlay_strtod;
extern __typeof__(strtof) overlay_strtof;
extern __typeof__(strtold) overlay_strtold;
#endif

/* Random texts of each kind; fewer in an emulator. */
#ifndef TRIES
#define TRIES 20000
#endif
#ifdef PLAIN
/* In the others musl itself errs: "1e-400" rounded down is -0, "0x1.fffffffffffff8p0" rounded up to a float 2.0000002. */
enum { MODES = 1 };
#else
enum { MODES = 4 };
#endif
enum { ROOM = 40000 };
static const int modes[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };

static uint64_t state = 88172645463325252ull, compared, ranges;

static uint64_t
chance(uint64_t below)
{
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return (state >> 11) % below;
}

typedef struct {
  long double value;
  size_t end;
  int range, flags;
} Read;

#define FLAGS (FE_INEXACT | FE_OVERFLOW | FE_UNDERFLOW)

#define READ(type, function) do { \
    char *end = NULL; \
    errno = 0; \
    feclearexcept(FE_ALL_EXCEPT); \
    volatile type value = function(text, &end); \
    read.flags = fetestexcept(FLAGS); \
    read.range = errno == ERANGE; \
    read.end = (size_t)(end - text); \
    read.value = value; \
  } while (0)

static Read
ours(const char *text, int type)
{
  Read read;
  if (type == 0) READ(float, OURS(strtof));
  else if (type == 1) READ(double, OURS(strtod));
  else READ(long double, OURS(strtold));
  return read;
}

#ifdef PLAIN
static Read
judge(const char *text, int type)
{
  Read read = { 0 };
  int end = 0;
  float single = 0;
  double twice = 0;
  errno = 0;
  const int got = type == 0   ? sscanf(text, "%f%n", &single, &end)
                  : type == 1 ? sscanf(text, "%lf%n", &twice, &end)
                              : sscanf(text, "%Lf%n", &read.value, &end);
  if (type == 0) read.value = single;
  if (type == 1) read.value = twice;
  read.end = got == 1 ? (size_t)end : (size_t)-1;
  return read;
}
#else
static Read
judge(const char *text, int type)
{
  Read read;
  if (type == 0) READ(float, strtof);
  else if (type == 1) READ(double, strtod);
  else READ(long double, strtold);
  return read;
}
#endif

/* Of "0x409bfd0800000.2p-1081" glibc 2.36 forgets the last digit, as of others that are small for their format, and musl rounds
 * some of them the wrong way: the same number is judged in decimal digits. `got` is the answer if it has too many bits, or is
 * too small. */
static Read
judge_decimal(const char *text, int type, Read got)
{
#ifndef PLAIN
  static char digits[2000];
  const int mode = fegetround();
  fesetround(FE_TONEAREST);
  const _Float128 exactly = strtof128(text, NULL);
  strfromf128(digits, sizeof digits, "%.1400e", exactly);
  fesetround(mode);
  if (type == 2 || strlen(text) > 28 || exactly == 0) return got;
  Read want = judge(digits, type);
  want.end = got.end;
  return want;
#else
  (void)text, (void)type;
  return got;
#endif
}

static int
is_same_value(long double one, long double other)
{
  if (isnan(one) || isnan(other)) return isnan(one) && isnan(other);
  return one == other && !signbit(one) == !signbit(other);
}

/* The three formats' smallest numbers with a leading one. Of a text that is rounded up to it, C leaves open whether it was
 * too small. */
static const long double smallest[] = { FLT_MIN, DBL_MIN, LDBL_MIN };

static void
check(const char *text)
{
  for (int type = 0; type < 3; type++) {
    for (int mode = 0; mode < MODES; mode++) {
      fesetround(modes[mode]);
      const Read got = ours(text, type);
      const int is_small_hexadecimal = strpbrk(text, "xX") && fabsl(got.value) < smallest[type];
      const Read want = is_small_hexadecimal ? judge_decimal(text, type, got) : judge(text, type);
      fesetround(FE_TONEAREST);
      const char *what = !is_same_value(got.value, want.value) ? "value" : got.end != want.end ? "end" : NULL;
#ifdef PLAIN
      /* What sscanf does not read, as of "1e+", is no business of this check. */
      if (want.end == (size_t)-1) what = NULL;
#else
      if (!what && fabsl(got.value) != smallest[type]) {
        if (got.range != want.range) what = "errno";
        if (got.flags != want.flags) what = "flags";
      }
#endif
      compared++, ranges += (uint64_t)got.range;
      if (!what) continue;
      printf("FAILED %s: type %d, mode %d, text '%.3000s'\n%La, end %zu, range %d, flags %d; the judge:\n%La, end %zu, range %d, flags %d\n",
             what, type, mode, text, got.value, got.end, got.range, got.flags, want.value, want.end, want.range, want.flags);
      exit(1);
    }
  }
}

static const char *const fixed[] = {
  "", " ", "+", "-", ".", "-.", "+.e1", "e5", "0", "-0", "+0", "00", "-00.00", "0.", ".0", "-.0e5", "0e0", "0e999999999999999999999",
  "0x", "0x.", "0xg", "-0x", "0x.p1", "0x1", "0x1.", "0x.8", "0x.8p", "0x.8p+", "0x.8p-z", "0x1p1", "0X1P-1", "0x1.fffffffffffff8p0",
  "0x1.fffffffffffff7fp0", "0x1.00000000000008p0", "0x1.000000000000080000000000000000000000000000001p0", "0x1.0000000000000800000000000000000000000000000100p0", "0x0.0000000000000000000001p0",
  "0x1p1023", "0x1p1024", "0x1p-1074", "0x1p-1075", "0x1.8p-1075", "0x1p-1076", "0x1p16383", "0x1p16384", "0x1p-16445", "0x1p-16446",
  "0x1p-16447", "0x1p127", "0x1p128", "0x1p-149", "0x1p-150", "0x1.8p-150", "0x1p99999999999999999999", "0x1p-99999999999999999999",
  "0x0p99999999999999999999", "-0x0p-9", "0x123456789abcdef0123456789abcdef0123456789abcdefp-100", "0x1.1.1", "inf", "-inf", "INF", "infi",
  "infinit", "infinity", "-InFiNiTy", "infinityx", "in", "nan", "NaN", "-nan", "nan(", "nan()", "nan(12_aZ)", "nan(1 2)", "nan(12", "nanx",
  "na", "1e", "1e+", "1e-", "1e+z", "1e5", "1E5", "1e05", "1e-05", "1.e1", "1..2", "1.2.3", "  \t\n\v\f\r1", "- 1", "+-1", "1 ", "1,5",
  "1e400", "-1e400", "1e-400", "-1e-400", "1e5000", "1e-5000", "1e4932", "1e4933", "1e-4966", "1e-4950", "1e99999999999999999999",
  "1e-99999999999999999999", "0.1", "0.3", "1e22", "1e23", "1e-22", "1e-23", "9007199254740992", "9007199254740993", "9007199254740994",
  "9007199254740995", "16777217", "16777219", "18446744073709551615", "18446744073709551616", "9999999999999999999", "10000000000000000000",
  "36893488147419103233", "55340232221128654849", "1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308",
  "1.797693134862315807e308", "3.4028234e38", "3.4028235e38", "3.4028236e38", "3.40282356e38", "3.40282357e38", "2.2250738585072014e-308",
  "2.2250738585072011e-308", "2.2250738585072012e-308", "4.9406564584124654e-324", "2.4703282292062327e-324", "2.4703282292062328e-324",
  "1.1754943508222875e-38", "1.401298464324817e-45", "7.006492321624085e-46", "7.006492321624086e-46", "1.18973149535723176502e4932",
  "1.18973149535723176509e4932", "3.6451995318824746025e-4951", "1.8225997659412373012e-4951", "3.3621031431120935063e-4932",
  "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704342711559699508093042880",
};

static char text[ROOM], other[ROOM];

/* A decimal text and its neighbours: the last digit one more or less, and digits behind it. */
static void
check_near(void)
{
  char *exponent = strpbrk(text, "eE");
  const size_t head = exponent ? (size_t)(exponent - text) : strlen(text);
  check(text);
  if (head + 80 > ROOM) return;
  static const char *const behind[] = { "1", "0000000000000000000000000000000000000000000000000000000000000001", "000" };
  for (int which = 0; which < 3; which++) {
    snprintf(other, sizeof other, "%.*s%s%s%s", (int)head, text, memchr(text, '.', head) ? "" : ".", behind[which], exponent ? exponent : "");
    check(other);
  }
  strcpy(other, text);
  for (size_t at = head; at > 0; at--) {
    if (other[at - 1] < '0' || other[at - 1] > '9') continue;
    other[at - 1] += other[at - 1] == '9' ? -1 : 1, check(other);
    if (other[at - 1] > '1') other[at - 1] -= 2, check(other);
    break;
  }
}

static double
any_double(void)
{
  union { uint64_t bits; double value; } any = { (chance(1ull << 53) << 11) ^ chance(1ull << 53) };
  if (chance(8) == 0) any.bits &= 0x801fffffffffffff;
  return any.value;
}

static float
any_float(void)
{
  union { uint32_t bits; float value; } any = { (uint32_t)chance(1ull << 32) };
  if (chance(8) == 0) any.bits &= 0x80ffffff;
  return any.value;
}

/* A number of either format, with as many digits as some program might print. */
static void
check_printed(void)
{
  const double number = chance(2) ? any_double() : any_float();
  static const char *const forms[] = { "%.17g", "%.15g", "%.16e", "%g", "%a", "%.9g", "%.19e", "%.20g", "%.40e", "%f", "%.3f", "%.37e", "%.38e" };
  snprintf(text, sizeof text, forms[chance(sizeof forms / sizeof *forms)], number);
  check(text);
}

static void
check_digits(void)
{
  char *at = text;
  if (chance(4) == 0) *at++ = '-';
  const size_t digits = 1 + chance(chance(8) ? 22 : 90), point = chance(3) ? chance(digits + 1) : digits;
  for (size_t done = 0; done < digits; done++) {
    if (done == point) *at++ = '.';
    *at++ = (char)('0' + (chance(9) ? chance(10) : 0));
  }
  *at = 0;
  if (chance(2)) sprintf(at, "e%d", (int)chance(800) - 400);
  else if (chance(16) == 0) sprintf(at, "e%d", (int)chance(10200) - 5100);
  check(text);
}

/* The middle of two neighbours of one format, exactly, which is a number of the next. */
static void
check_middle(void)
{
  if (chance(2)) {
    const float one = any_float();
    if (!isfinite(one)) return;
    snprintf(text, sizeof text, "%.120e", ((double)one + nextafterf(one, INFINITY)) / 2);
  } else {
    const double one = any_double();
    if (!isfinite(one)) return;
    snprintf(text, sizeof text, "%.780Le", ((long double)one + nextafter(one, INFINITY)) / 2);
  }
  check_near();
}

#if defined __x86_64__ && !defined PLAIN
static void
check_long_middle(void)
{
  /* Small ones have the most digits. */
  union { struct { uint64_t mantissa; uint16_t head; } bits; long double value; } one = { { 0 } };
  one.bits.head = (uint16_t)chance(chance(2) ? 3 : 0x7ffe);
  one.bits.mantissa = (one.bits.head ? 1ull << 63 : 0) | chance(1ull << 53) << 10 | chance(1024);
  const _Float128 middle = ((_Float128)one.value + (_Float128)nextafterl(one.value, INFINITY)) / 2;
  strfromf128(text, sizeof text, "%.11600e", middle);
  check_near();
}
#endif

/* Texts that are nearly numbers. */
static void
check_syntax(void)
{
  static const char letters[] = "0123456789..eE+-xXpP \tinfINFnanNATYty()_ag09";
  const size_t length = chance(14);
  size_t at = 0;
  if (chance(3) == 0) at += (size_t)sprintf(text, "%s", ((const char*[]){ "0x", "inf", "nan(", "-", "1e", "  ", "0.", "-0x1." })[chance(8)]);
  for (size_t done = 0; done < length; done++) text[at++] = letters[chance(sizeof letters - 1)];
  text[at] = 0;
  check(text);
}

static void
check_hexadecimal(void)
{
  size_t at = (size_t)sprintf(text, chance(2) ? "0x" : "-0X");
  const size_t digits = 1 + chance(chance(4) ? 18 : 50), point = chance(digits + 1);
  for (size_t done = 0; done < digits; done++) {
    if (done == point) text[at++] = '.';
    text[at++] = "0123456789abcdefABCDEF00000000000000000008"[chance(42)];
  }
  sprintf(text + at, "p%d", (int)chance(chance(2) ? 60 : 2400) - (int)chance(chance(2) ? 1200 : 17000));
  check(text);
}

/* Each power of ten, or every seventh if there is to be little, with digits that have it multiplied by each part of the table. */
static void
check_powers(void)
{
  for (int power = -5030; power <= 4970; power += TRIES < 5000 ? 7 : 1) {
    for (int digits = 1; digits <= 37; digits += 12) {
      sprintf(text, "%.*se%d", digits, "3141592653589793238462643383279502884197", power);
      check(text);
    }
  }
}

int
main(void)
{
  for (size_t at = 0; at < sizeof fixed / sizeof *fixed; at++) check(fixed[at]);
  char *untouched = text;
  if (OURS(strtod)("12", NULL) != 12 || OURS(strtof)("x", &untouched) != 0 || *untouched != 'x') return 2;
  check_powers();
  for (int tries = 0; tries < TRIES; tries++) {
    check_printed();
    check_digits();
#ifndef PLAIN
    check_syntax(), check_hexadecimal();
#endif
    if (tries % 20 == 0) check_middle();
#if defined __x86_64__ && !defined PLAIN
    if (tries % 1000 == 0) check_long_middle();
#endif
  }
  if (ranges < compared / 1000) return 3;
  puts("read");
  return 0;
}
