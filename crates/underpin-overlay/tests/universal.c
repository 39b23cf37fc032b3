/* Dates of universal time: each day of 900 years, and seconds at random. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void
show(time_t seconds)
{
  struct tm time;
  errno = 0;
  if (!gmtime_r(&seconds, &time)) {
    printf("%lld: none, %d\n", (long long)seconds, errno == EOVERFLOW);
    return;
  }
  const struct tm *const same = gmtime(&seconds);
  printf("%lld: %d-%d-%d %d:%d:%d w%d y%d %d %ld %s %d\n", (long long)seconds, time.tm_year, time.tm_mon, time.tm_mday, time.tm_hour,
         time.tm_min, time.tm_sec, time.tm_wday, time.tm_yday, time.tm_isdst, time.tm_gmtoff, time.tm_zone,
         same->tm_year == time.tm_year && same->tm_yday == time.tm_yday);
}

/* A number of about as many digits as chance will have it. */
static int
any(unsigned long *now)
{
  *now = *now * 6364136223846793005UL + 1442695040888963407UL;
  return (int)(*now >> 32) >> (*now >> 25 & 31);
}

static void
back(unsigned long *now)
{
  struct tm time = {.tm_year = any(now), .tm_mon = any(now), .tm_mday = any(now), .tm_hour = any(now), .tm_min = any(now), .tm_sec = any(now)};
  errno = 0;
  const time_t seconds = timegm(&time);
  printf("timegm %lld: %d-%d-%d %d:%d:%d w%d y%d %s %d\n", (long long)seconds, time.tm_year, time.tm_mon, time.tm_mday, time.tm_hour,
         time.tm_min, time.tm_sec, time.tm_wday, time.tm_yday, time.tm_zone ? time.tm_zone : "none", errno == EOVERFLOW);
}

int
main(void)
{
  for (long long day = -150000; day < 180000; day++) show(day * 86400 + day % 86400);
  unsigned long now = 5;
  for (int count = 0; count < 50000; count++) {
    now = now * 6364136223846793005UL + 1442695040888963407UL;
    show((time_t)(now >> count % 60));
    show(-(time_t)(now >> count % 60));
  }
  for (int count = 0; count < 50000; count++) back(&now);
  char text[40];
  const time_t none = 0;
  strftime(text, sizeof text, "%a, %d %b %Y %T %Z %z", gmtime(&none));
  printf("%s\n", text);
  /* The last and the first year that there is a number for. */
  const long long last = 67768036191676799, first = -67768040609740800;
  for (int more = -2; more <= 2; more++) {
    show(last + more);
    show(first + more);
  }
  return 0;
}
