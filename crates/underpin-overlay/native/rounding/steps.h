/* What roundsd does, without it: by the bits of a number (IEEE 754), in double and in float. `DIGITS` are those of its fraction. */

enum { IS_INEXACT = 0x20 };

#define STEPS(Real, Word, suffix, DIGITS, BIAS) \
  enum { EXPONENT##suffix = 8 * sizeof(Word) - 1 - DIGITS }; \
  \
  static Word \
  word_of##suffix(Real x) \
  { \
    Word word; \
    __builtin_memcpy(&word, &x, sizeof word); \
    return word; \
  } \
  \
  static Real \
  of_word##suffix(Word word) \
  { \
    Real x; \
    __builtin_memcpy(&x, &word, sizeof x); \
    return x; \
  } \
  \
  static int \
  exponent_of##suffix(Real x) \
  { \
    return (int)(word_of##suffix(x) >> DIGITS & ((1u << EXPONENT##suffix) - 1)) - BIAS; \
  } \
  \
  /* NaN from NaN, and infinity from infinity. clang would compute it for every number, whose exceptions nobody asked for. */ \
  static Real \
  passed##suffix(Real x) \
  { \
    __asm__ volatile("" : "+x"(x)); \
    return x + x; \
  } \
  \
  /* Without its fraction, or the next whole number away from zero. No exception but that of a signalling NaN. */ \
  static Real \
  cut##suffix(Real x, bool is_away_below_zero, bool is_away_above_zero) \
  { \
    const Word sign = (Word)1 << (8 * sizeof(Word) - 1); \
    Word word = word_of##suffix(x); \
    const int exponent = exponent_of##suffix(x); \
    const bool is_away = word & sign ? is_away_below_zero : is_away_above_zero; \
    if (exponent >= DIGITS) return exponent > BIAS ? passed##suffix(x) : x; \
    if (x == 0) return x; \
    if (exponent < 0) return of_word##suffix((word & sign) | (is_away ? (Word)BIAS << DIGITS : 0)); \
    const Word fraction = (((Word)1 << DIGITS) - 1) >> exponent; \
    /* What is carried out of the digits makes the exponent greater by one, as it should. */ \
    if (is_away) word += fraction; \
    return of_word##suffix(word & ~fraction); \
  } \
  \
  static Real down##suffix(Real x) { return cut##suffix(x, true, false); } \
  static Real up##suffix(Real x) { return cut##suffix(x, false, true); } \
  static Real to_zero##suffix(Real x) { return cut##suffix(x, false, false); } \
  \
  /* Beside a number that has no room for a fraction, one is rounded as the program has set it. */ \
  static Real \
  as_set##suffix(Real x) \
  { \
    const Word sign = (Word)1 << (8 * sizeof(Word) - 1), word = word_of##suffix(x); \
    const Real large = (Real)((Word)1 << DIGITS); \
    const int exponent = exponent_of##suffix(x); \
    if (exponent >= DIGITS) return exponent > BIAS ? passed##suffix(x) : x; \
    const Real whole = word & sign ? x - large + large : x + large - large; \
    return of_word##suffix((word_of##suffix(whole) & ~sign) | (word & sign)); \
  } \
  \
  /* The exception that the result is not exact is taken back, unless it was there before. */ \
  static Real \
  in_silence##suffix(Real x) \
  { \
    uint32_t before, after; \
    __asm__ volatile("stmxcsr %0" : "=m"(before), "+x"(x)); \
    Real whole = as_set##suffix(x); \
    __asm__ volatile("stmxcsr %0" : "=m"(after), "+x"(whole)); \
    if (~before & after & IS_INEXACT) { \
      after &= ~(uint32_t)IS_INEXACT; \
      __asm__ volatile("ldmxcsr %0" : : "m"(after)); \
    } \
    return whole; \
  }

STEPS(double, uint64_t, , 52, 1023)
STEPS(float, uint32_t, _float, 23, 127)
