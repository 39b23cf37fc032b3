/* Days of the Gregorian calendar, for all years (proleptic). Years begin with March here, so that the leap day is the last of them, and
 * repeat after 400; months from March on have 31, 30, 31, 30, 31 days, and again. */

enum { DAY = 24 * 60 * 60, CYCLE = 400 * 365 + 97, CENTURY = 100 * 365 + 24, FOUR = 4 * 365 + 1 };
/* Days from the first of March in the year 0 to 1970, and of March to December. */
enum { BEFORE_1970 = 719468, MARCH_TO_DECEMBER = 306 };

/* The seconds of universal time from 1970 to a time, whose month and all below it may be out of their ranges. */
static long long
seconds_since_1970(const Time *time)
{
  const long long months = (time->year + (long long)BASE) * 12 + time->month - 2;
  const long long month = (months % 12 + 12) % 12, year = (months - month) / 12, of_cycle = (year % 400 + 400) % 400;
  const long long days = (year - of_cycle) / 400 * CYCLE + of_cycle * 365 + of_cycle / 4 - of_cycle / 100 + (153 * month + 2) / 5 + time->day - 1;
  return (days - BEFORE_1970) * DAY + time->hour * 3600LL + time->minute * 60LL + time->second;
}
