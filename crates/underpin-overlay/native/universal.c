/* gmtime, gmtime_r and timegm for static programs on musl. Universal time has the name GMT in glibc and UTC in musl, and a program that writes
 * "%Z" into a date of HTTP or of mail (RFC 9110 5.6.7, RFC 5322 3.3) relies on the former. */

#ifdef OVERLAY_REPLACES

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

extern int *__errno_location(void);

#include "dates/time.h"
#include "dates/days.h"

enum { EOVERFLOW = 75 };

/* Writes the date and the hour of universal time into a time; false if there is no number for the year. */
static bool
from_seconds(long long seconds, Time *into)
{
  const long long rest = (seconds % DAY + DAY) % DAY, days = (seconds - rest) / DAY + BEFORE_1970;
  const int of_cycle = (int)((days % CYCLE + CYCLE) % CYCLE);
  /* The last day of 400 years is a leap day, and so is that of four years. */
  const int centuries = of_cycle / CENTURY - of_cycle / (CYCLE - 1), of_century = of_cycle - centuries * CENTURY;
  const int fours = of_century / FOUR, of_four = of_century - fours * FOUR;
  const int years = of_four / 365 - of_four / (FOUR - 1), yearday = of_four - years * 365;
  const int month = (5 * yearday + 2) / 153, is_next_year = yearday >= MARCH_TO_DECEMBER;
  const long long year_of_march = (days - of_cycle) / CYCLE * 400 + centuries * 100 + fours * 4 + years;
  const long long year = year_of_march + is_next_year - BASE;
  if (year > INT_MAX || year < INT_MIN) return false;
  /* January is in the year that the February before March is in. */
  const int is_leap = !is_next_year && years == 0 && (fours != 0 || centuries == 0);
  into->second = (int)(rest % 60);
  into->minute = (int)(rest / 60 % 60);
  into->hour = (int)(rest / 3600);
  into->day = yearday - (153 * month + 2) / 5 + 1;
  into->month = (month + 2) % 12;
  into->year = (int)year;
  into->weekday = (int)(((days + 3) % 7 + 7) % 7);
  into->yearday = is_next_year ? yearday - MARCH_TO_DECEMBER : yearday + 31 + 28 + is_leap;
  return true;
}

/* The overlay's strftime knows it by its address, as musl's knows its own names of zones. */
const char __underpin_zone[] = "GMT";

Time *
gmtime_r(const long long *restrict seconds, Time *restrict into)
{
  if (!from_seconds(*seconds, into)) {
    *__errno_location() = EOVERFLOW;
    return NULL;
  }
  into->summer = 0;
  into->offset = 0;
  into->zone = __underpin_zone;
  return into;
}

/* The other way. What is out of its range is put right. */
long long
timegm(Time *time)
{
  const long long seconds = seconds_since_1970(time);
  return gmtime_r(&seconds, time) ? seconds : -1;
}

Time *
__gmtime_r(const long long *restrict seconds, Time *restrict into)
{
  return gmtime_r(seconds, into);
}

Time *
gmtime(const long long *seconds)
{
  static Time last;
  return gmtime_r(seconds, &last);
}

#endif
