/* A decimal number's digits, as they stand in the text. */
typedef struct {
  /* The first digit that is not 0. Between it and the last there may be a point. */
  const char *first;
  /* How many digits there are from it on. */
  int64_t digits;
  /* That of the last digit. */
  int64_t exponent;
} Decimal;

/* What fits into a word, and what is read of a number before it is looked at exactly. */
enum { WORD_DIGITS = 19, MOST_DIGITS = 38 };

/* Beyond it the exponent of any text that fits into memory makes no difference. */
#define LARGEST_EXPONENT ((int64_t)1 << 60)

static int
digit(char byte)
{
  return byte - '0';
}

/* The exponent behind e or p, and where it ends: at `at` itself, if no digit follows. */
static int64_t
read_exponent(const char **at)
{
  const char *next = *at + 1;
  const int negative = *next == '-';
  if (negative || *next == '+') next++;
  if (!is_digit(*next)) return 0;
  int64_t exponent = 0;
  for (; is_digit(*next); next++)
    if (exponent < LARGEST_EXPONENT / 16) exponent = exponent * 10 + digit(*next);
  *at = next;
  return negative ? -exponent : exponent;
}

/* Reads the digits at `*at`, and moves it behind the number; returns 0 if there are none. `low` becomes their value if there are
 * at most WORD_DIGITS. */
static int
read_decimal(const char **at, Decimal *number, uint64_t *low)
{
  const char *next = *at;
  while (*next == '0') next++;
  const int any = next != *at;
  uint64_t value = 0;
  number->first = next;
  for (; is_digit(*next); next++) value = value * 10 + (uint64_t)digit(*next);
  number->digits = next - number->first;
  int64_t behind = 0;
  if (*next == '.') {
    const char *point = next++;
    if (number->digits == 0) {
      while (*next == '0') next++;
      number->first = next;
    }
    const char *start = next;
    for (; is_digit(*next); next++) value = value * 10 + (uint64_t)digit(*next);
    number->digits += next - start;
    behind = next - point - 1;
  }
  if (!any && number->digits == 0 && behind == 0) return 0;
  *at = next;
  number->exponent = ((*next | 0x20) == 'e' ? read_exponent(at) : 0) - behind;
  *low = value;
  return 1;
}

/* The next digit at or behind `*at`, which moves behind it. */
static int
next_digit(const char **at)
{
  if (**at == '.') ++*at;
  return digit(*(*at)++);
}

/* The value of the next `count` digits, at most WORD_DIGITS; `factor` becomes ten to the power of `count`. */
static uint64_t
next_digits(const char **at, int count, uint64_t *factor)
{
  uint64_t value = 0;
  *factor = 1;
  for (int done = 0; done < count; done++) {
    value = value * 10 + (uint64_t)next_digit(at);
    *factor *= 10;
  }
  return value;
}

/* The first `count` digits, which are more than WORD_DIGITS. */
static Wide
leading_digits(const Decimal *number, int count)
{
  const char *at = number->first;
  uint64_t factor, unused;
  const uint64_t high = next_digits(&at, WORD_DIGITS, &unused);
  const uint64_t low = next_digits(&at, count - WORD_DIGITS, &factor);
  return (Wide)high * factor + low;
}
