/* Integers and floats compared exactly: a float holds 53 bits of an Integer's 64. */
#ifndef FG_NUMBER_H
#define FG_NUMBER_H

#include <math.h>
#include <mruby.h>

/* Whether the Integer is less (-1), equal (0) or greater (1). The float is not NaN. */
static inline int
fg_compare(mrb_int integer, mrb_float number)
{
  mrb_int whole;
  mrb_float part;

  if (number >= 9223372036854775808.0) return -1;
  if (number < -9223372036854775808.0) return 1;
  whole = (mrb_int)number;
  if (integer != whole) return integer < whole ? -1 : 1;
  part = number - (mrb_float)whole;
  return part > 0 ? -1 : part < 0 ? 1 : 0;
}

/* An Integer may be too large for the word itself; `mrb_fixnum` would then return part of its address. */
#define FG_INTEGER(v) (mrb_fixnum_p(v) ? mrb_fixnum(v) : mrb_integer(v))
#define FG_NAN_P(v) (mrb_float_p(v) && isnan(mrb_float(v)))

#endif
