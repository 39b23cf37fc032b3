/* Numbers of any size, for the few texts whose first digits leave open how they are rounded. */

#define FIVE_TO_27 7450580596923828125u

/* The least significant word first, none of the last ones 0. There is room for what the format's numbers need. */
typedef struct {
  uint64_t *words;
  int count;
} Large;

/* number * factor + more */
static void
multiply(Large *number, uint64_t factor, uint64_t more)
{
  for (int at = 0; at < number->count; at++) {
    const Wide product = (Wide)number->words[at] * factor + more;
    number->words[at] = (uint64_t)product;
    more = (uint64_t)(product >> 64);
  }
  if (more) number->words[number->count++] = more;
}

static void
multiply_by_fives(Large *number, int power)
{
  for (; power >= OF_27; power -= OF_27) multiply(number, FIVE_TO_27, 0);
  uint64_t rest = 1;
  for (; power > 0; power--) rest *= 5;
  multiply(number, rest, 0);
}

static void
shift_up(Large *number, int bits)
{
  const int words = bits / 64;
  multiply(number, (uint64_t)1 << bits % 64, 0);
  for (int at = number->count - 1; at >= 0; at--) number->words[at + words] = number->words[at];
  for (int at = 0; at < words; at++) number->words[at] = 0;
  number->count += words;
}

static int
compare_large(const Large *one, const Large *other)
{
  if (one->count != other->count) return one->count < other->count ? -1 : 1;
  for (int at = one->count - 1; at >= 0; at--)
    if (one->words[at] != other->words[at]) return one->words[at] < other->words[at] ? -1 : 1;
  return 0;
}

/* The number's first digits, as many as the format can need; whether one of the others is not 0. */
static int
read_digits(const Decimal *number, Large *value, int kept)
{
  const char *at = number->first;
  for (int left = kept; left > 0; left -= WORD_DIGITS) {
    uint64_t factor;
    const uint64_t digits = next_digits(&at, left < WORD_DIGITS ? left : WORD_DIGITS, &factor);
    multiply(value, factor, digits);
  }
  for (int64_t done = kept; done < number->digits; done++)
    if (next_digit(&at) != 0) return 1;
  return 0;
}

/* Compares the number with a cut of about its size: below 0, 0 or above. `words` has room for two numbers of `room` words. */
static int
compare_exactly(const Format *format, const Decimal *number, Cut cut, uint64_t *words, int room)
{
  const int kept = number->digits < format->digits ? (int)number->digits : format->digits;
  const int power = (int)(number->exponent + number->digits - kept);
  Large value = { words, 0 }, limit = { words + room, 0 };
  const int more = read_digits(number, &value, kept);
  limit.words[limit.count++] = (uint64_t)cut.halves;
  if (cut.halves >> 64) limit.words[limit.count++] = (uint64_t)(cut.halves >> 64);
  multiply_by_fives(&value, power);
  multiply_by_fives(&limit, -power);
  if (power > cut.exponent) shift_up(&value, power - cut.exponent);
  else shift_up(&limit, cut.exponent - power);
  const int order = compare_large(&value, &limit);
  return order ? order : more;
}

/* A number of 11,564 digits, or 115 bits times 5^16529, has 602 words; one of 768 digits, or 55 bits times 5^1092, has 41. */
enum { ROOM = 48, LONG_ROOM = 608 };

__attribute__((noinline)) static int
compare_short(const Format *format, const Decimal *number, Cut cut)
{
  uint64_t words[2 * ROOM];
  return compare_exactly(format, number, cut, words, ROOM);
}

__attribute__((noinline)) static int
compare_long(const Format *format, const Decimal *number, Cut cut)
{
  uint64_t words[2 * LONG_ROOM];
  return compare_exactly(format, number, cut, words, LONG_ROOM);
}
