/* strftime and strptime for static programs on musl, as glibc has them in the locale "C", which is the only one that musl has. musl's
 * strftime ends with nothing at %k, %l, %P and the flags ^ and #, and its strptime at %s, %k and others; besides it leaves the day of
 * the week and of the year as they were, where glibc's works them out. The rules are those of strftime(3) and strptime(3) and, where
 * they are silent, what glibc 2.36 does, which the tests compare with.
 *
 * All functions of musl's strftime.o and wcsftime.o are here, or a program that calls the latter would have the former of musl.
 *
 * What a time zone is called is musl's to say. No table has a pointer, for a start would have to adjust it. */

#ifdef OVERLAY_REPLACES

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "text.h"
#include "dates/time.h"
#include "dates/days.h"

extern void tzset(void);
extern char *tzname[2];
extern Time *localtime_r(const long long *restrict seconds, Time *restrict into);
/* Of the member that has tzset (src/time/__tz.c). */
extern const char *__tm_to_tzname(const Time *time) __attribute__((weak, visibility("hidden")));
/* (universal.c) */
extern const char __underpin_zone[] __attribute__((weak));

static const char DAYS[] = "Sunday\0Monday\0Tuesday\0Wednesday\0Thursday\0Friday\0Saturday\0";
static const char MONTHS[] = "January\0February\0March\0April\0May\0June\0July\0August\0September\0October\0November\0December\0";
enum { WEEK = 7, YEAR = 12, SHORT = 3 };

/* The name at a place of a list, or "?". */
static const char *
named(const char *list, int at, int count)
{
  if (at < 0 || at >= count) return "?";
  while (at--) list += length(list) + 1;
  return list;
}

static char
upper(char letter)
{
  return letter >= 'a' && letter <= 'z' ? (char)(letter - 32) : letter;
}

static char
lower(char letter)
{
  return letter >= 'A' && letter <= 'Z' ? (char)(letter + 32) : letter;
}

static bool
is_leap(long long year)
{
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* The days of a year before a month. */
static int
before(int month, bool leap)
{
  static const short days[YEAR + 1] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
  return days[month] + (leap && month > 1);
}

#include "dates/write.h"
#include "dates/read.h"

#endif
