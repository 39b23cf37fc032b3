/* Local times, and back. The names of zones are the arguments behind the folder that has their files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { YEAR = 31556952, HOUR = 3600 };

static unsigned long now = 7;

static int
any(int most)
{
  now = now * 6364136223846793005UL + 1442695040888963407UL;
  return (int)((now >> 33) % (unsigned)most);
}

static void
say(const char *what, time_t seconds, const struct tm *time)
{
  printf("%s %lld: %d-%d-%d %d:%d:%d w%d y%d %d %ld %s (%s %s %ld %d)\n", what, (long long)seconds, time->tm_year, time->tm_mon, time->tm_mday,
         time->tm_hour, time->tm_min, time->tm_sec, time->tm_wday, time->tm_yday, time->tm_isdst, time->tm_gmtoff, time->tm_zone, tzname[0],
         tzname[1], timezone, daylight != 0);
}

/* A second, and the way back with the season that was told. */
static void
show(time_t seconds)
{
  const struct tm *const local = localtime(&seconds);
  if (!local) {
    printf("%lld: none\n", (long long)seconds);
    return;
  }
  say("is", seconds, local);
  struct tm same = *local, text;
  printf("back %lld, %s", (long long)(mktime(&same) - seconds), ctime(&seconds));
  char name[64];
  strftime(name, sizeof name, "%Z%z", localtime_r(&seconds, &text));
  printf("%s\n", name);
}

/* The hours around each change of the offset. */
static void
changes(time_t from, time_t until)
{
  struct tm time;
  long before = 0;
  for (time_t second = from; second < until; second += HOUR / 2) {
    localtime_r(&second, &time);
    if (time.tm_gmtoff != before && second != from)
      for (int quarter = -16; quarter < 16; quarter++) show(second + quarter * (HOUR / 4) - quarter % 2);
    before = time.tm_gmtoff;
  }
}

/* A local time that need not be one, with a season that need not be that of the day. "Either" only far from changes: there glibc
 * takes what it was asked last into account. */
static void
back(int season)
{
  struct tm time = {.tm_year = any(130) + 5, .tm_mon = any(14) - 1, .tm_mday = any(40) - 3, .tm_hour = any(30) - 3, .tm_min = any(70),
                    .tm_sec = any(70), .tm_isdst = season};
  const time_t seconds = mktime(&time);
  say(season < 0 ? "either" : season ? "summer" : "winter", seconds, &time);
}

static void
zone(const char *name)
{
  setenv("TZ", name, 1);
  tzset();
  printf("TZ=%s\n", name);
  printf("%s %s %ld %d\n", tzname[0], tzname[1], timezone, daylight != 0);
  for (int count = 0; count < 500; count++) show((time_t)(any(130) - 40) * YEAR + any(YEAR));
  for (int years = 1970; years < 2070; years += 20) changes((years - 1970L) * YEAR, (years - 1968L) * YEAR);
  for (int count = 0; count < 300; count++) back(count % 3 - 1);
  show(0);
  show(-1);
  show((time_t)1 << 62);
  show(-((time_t)1 << 62));
}

int
main(int count, char **words)
{
  setenv("TZDIR", words[1], 1);
  for (int word = 2; word < count; word++) zone(words[word]);
  return 0;
}
