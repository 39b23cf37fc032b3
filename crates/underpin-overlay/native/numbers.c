/* strtod, strtof and strtold for static programs on musl, whose own read each byte through a stream and then calculate with
 * all digits. Here most texts, those of few digits, are one multiplication or division of two exact numbers (Clinger, "How
 * to read floating point numbers accurately", 1990). Of the others the first 38 digits are multiplied with 128 bits of a
 * power of ten, which leaves open only how a text is rounded that is nearer to the middle of two numbers than 2^-60 of their
 * distance; those are compared with it exactly.
 *
 * Every text gives the number that is nearest to it in the direction of rounding that is set, its end, ERANGE and the flags of
 * <fenv.h>, as glibc's do. As with musl's, a text without a number gives EINVAL too, and NaN has no sign. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef OVERLAY_REPLACES
#define NAME(name) name
#else
#define NAME(name) overlay_##name
#endif

#if !defined __x86_64__ && !defined __aarch64__
#error "there is an overlay for x86-64 and aarch64"
#endif

extern int *__errno_location(void);
enum { EINVAL = 22, ERANGE = 34 };

#include "text.h"
#include "numbers/wide.h"
#include "numbers/format.h"
#include "numbers/decimal.h"
#include "numbers/exact.h"

/* ---- where a number is cut ---- */

/* bits * 2^exponent and perhaps `more`; the highest bit is set. */
static Cut
cut_bits(const Format *format, Wide bits, int exponent, int more)
{
  const int at = cut_at(format, exponent), drop = at - exponent;
  if (drop > 127) return (Cut){ 0, at, 1 };
  return (Cut){ bits >> drop, at, more | ((bits << (128 - drop)) != 0) };
}

/* Larger or smaller than all numbers of the formats are those whose first digit is this far from the point. */
enum { FAR = 5000 };

static Cut
cut_decimal(const Format *format, const Decimal *number, uint64_t low)
{
  const int64_t leading = number->exponent + number->digits - 1;
  if (number->digits == 0) return (Cut){ 0, format->lowest, 0 };
  if (leading > FAR) return (Cut){ (Wide)1 << format->precision, 2 * format->highest, 1 };
  if (leading < -FAR) return (Cut){ 0, format->lowest - 1, 1 };
  const int taken = number->digits < MOST_DIGITS ? (int)number->digits : MOST_DIGITS;
  const Wide digits = taken <= WORD_DIGITS ? low : leading_digits(number, taken);
  const Near near = scaled(digits, (int)(leading + 1 - taken));
  const int at = cut_at(format, near.exponent), drop = at - near.exponent;
  if (drop > 128) return (Cut){ 0, at, 1 };
  const Wide below = drop == 128 ? near.bits : near.bits & (((Wide)1 << drop) - 1);
  const Wide most = ~(Wide)0 >> (128 - drop);
  Cut cut = { drop == 128 ? 0 : near.bits >> drop, at, 1 };
  const int is_near_next = below > most - SLACK;
  if (below != 0 && !is_near_next) return cut;
  cut.halves += (unsigned)is_near_next;
  const int order = (format->digits > DOUBLE.digits ? compare_long : compare_short)(format, number, cut);
  if (order < 0) cut.halves--;
  else cut.more = order > 0;
  return cut;
}

/* ---- reading a text ---- */

typedef enum { NO_NUMBER, DECIMAL, HEXADECIMAL, INFINITE, NOT_A_NUMBER } Kind;

typedef struct {
  int negative;
  Decimal decimal;
  /* The value of its digits, if they fit. */
  uint64_t low;
  /* bits * 2^exponent and perhaps more, of a hexadecimal number. */
  Wide bits;
  int64_t exponent;
  int more;
} Text;

static int
hex_digit(char byte)
{
  const unsigned letter = (unsigned)((byte | 0x20) - 'a');
  return is_digit(byte) ? digit(byte) : letter < 6 ? (int)letter + 10 : -1;
}

/* Behind "0x". */
static int
read_hexadecimal(const char **at, Text *text)
{
  const char *next = *at;
  int any = 0, point = 0;
  text->bits = 0, text->exponent = 0, text->more = 0;
  for (;; next++) {
    if (*next == '.' && !point) {
      point = 1;
      continue;
    }
    const int value = hex_digit(*next);
    if (value < 0) break;
    any = 1;
    const int is_full = text->bits >> 124 != 0;
    if (is_full) text->more |= value != 0;
    else text->bits = text->bits << 4 | (unsigned)value;
    text->exponent += 4 * (is_full - point);
  }
  if (!any) return 0;
  if ((*next | 0x20) == 'p') text->exponent += read_exponent(&next);
  *at = next;
  return 1;
}

/* How many bytes at `at` are those of the word, in either case. */
static int
matches(const char *at, const char *word)
{
  int count = 0;
  while (word[count] && (at[count] | 0x20) == word[count]) count++;
  return count;
}

static int
is_word(char byte)
{
  return is_digit(byte) || (unsigned)((byte | 0x20) - 'a') < 26 || byte == '_';
}

/* The Kind of what is neither decimal nor hexadecimal, which `*at` moves behind. */
static Kind
read_word(const char **at)
{
  const int infinity = matches(*at, "infinity");
  if (infinity >= 3) {
    *at += infinity == 8 ? 8 : 3;
    return INFINITE;
  }
  if (matches(*at, "nan") < 3) return NO_NUMBER;
  *at += 3;
  if (**at != '(') return NOT_A_NUMBER;
  const char *close = *at + 1;
  while (is_word(*close)) close++;
  if (*close == ')') *at = close + 1;
  return NOT_A_NUMBER;
}

static inline Kind
read_text(const char *start, char **end, Text *text)
{
  const char *at = start;
  while (*at == ' ' || (unsigned)(*at - '\t') < 5) at++;
  text->negative = *at == '-';
  if (text->negative || *at == '+') at++;
  Kind kind = DECIMAL;
  const char *behind = at + 2;
  if (*at == '0' && (at[1] | 0x20) == 'x' && read_hexadecimal(&behind, text)) at = behind, kind = HEXADECIMAL;
  else if (!read_decimal(&at, &text->decimal, &text->low)) kind = read_word(&at);
  if (kind == NO_NUMBER) {
    at = start, text->negative = 0;
    *__errno_location() = EINVAL;
  }
  if (end) *end = (char*)at;
  return kind;
}

/* What a text of any Kind but NOT_A_NUMBER stands for in a format. */
__attribute__((noinline)) static Rounded
judged(const Format *format, Kind kind, const Text *text)
{
  Cut cut = { 0, format->lowest - 1, 0 };
  if (kind == INFINITE) return (Rounded){ 0, 0, 1 };
  if (kind == DECIMAL) cut = cut_decimal(format, &text->decimal, text->low);
  if (kind == HEXADECIMAL && text->bits) {
    const int far = 4 * format->highest;
    const int64_t exponent = text->exponent;
    const Near near = normal(text->bits, exponent > far ? far : exponent < -far ? -far : (int)exponent);
    cut = cut_bits(format, near.bits, near.exponent, text->more);
  }
  return rounded(format, cut, text->negative);
}

/* ---- the functions ---- */

/* The powers of ten that are numbers of the format. */
static const double powers[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
static const float float_powers[] = { 1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f, 1e9f, 1e10f };

/* Whether the digits are a number of `bits` bits, and the power of ten is one of the first. */
static inline int
is_short(const Text *text, int bits, int powers)
{
  const Decimal *number = &text->decimal;
  return number->digits <= WORD_DIGITS && text->low <= (uint64_t)1 << bits && number->exponent < powers &&
         number->exponent > -powers;
}

/* The sign comes first: it decides the direction of rounding. */
#define SHORT(type, text, powers) do { \
    type number = (type)(int64_t)(text).low; \
    if ((text).negative) number = -number; \
    OPAQUE(number); \
    const int64_t exponent = (text).decimal.exponent; \
    return exponent < 0 ? number / powers[-exponent] : number * powers[exponent]; \
  } while (0)

double
NAME(strtod)(const char *start, char **end)
{
  Text text;
  const Kind kind = read_text(start, end, &text);
  if (kind == DECIMAL && is_short(&text, 53, 23)) SHORT(double, text, powers);
  if (kind == NOT_A_NUMBER) return __builtin_nan("");
  return to_double(judged(&DOUBLE, kind, &text), text.negative);
}

float
NAME(strtof)(const char *start, char **end)
{
  Text text;
  const Kind kind = read_text(start, end, &text);
  if (kind == DECIMAL && is_short(&text, 24, 11)) SHORT(float, text, float_powers);
  if (kind == NOT_A_NUMBER) return __builtin_nanf("");
  return to_float(judged(&FLOAT, kind, &text), text.negative);
}

long double
NAME(strtold)(const char *start, char **end)
{
  Text text;
  const Kind kind = read_text(start, end, &text);
  if (kind == NOT_A_NUMBER) return __builtin_nanl("");
  return to_long_double(judged(&LONG_DOUBLE, kind, &text), text.negative);
}
