/* Local time for static programs on musl, as glibc has it: localtime, mktime, tzset and what goes with them. musl takes names that have a
 * "-" or a digit for rules (TZ=GB-Eire and TZ=W-SU are universal time there), has summer time all the year where TZ has no rule (EST5EDT,
 * PST8PDT), and knows no more than the last rule of a zone whose clocks were changed once.
 *
 * TZ is read whenever it differs from what it was, by localtime_r, too, as in musl; glibc waits for tzset. A file is looked for first, as
 * in glibc, which has the folder from TZDIR.
 *
 * All functions of musl's localtime.o, localtime_r.o, mktime.o, ctime.o, ctime_r.o and __tz.o are here that programs call. */

#ifdef OVERLAY_REPLACES

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

extern int *__errno_location(void);
extern char **__environ;
extern char *getenv(const char *name);
extern int issetugid(void);

#include "dates/time.h"
#include "dates/days.h"
#include "kernel.h"
#include "text.h"

extern Time *gmtime_r(const long long *restrict seconds, Time *restrict into);
extern char *asctime(const Time *time);
extern char *asctime_r(const Time *restrict time, char *restrict into);
/* musl's own: a lock that costs nothing in a program of one thread, and the reading of a file that no thread is cancelled in. */
extern void __lock(volatile int *lock) __attribute__((visibility("hidden")));
extern void __unlock(volatile int *lock) __attribute__((visibility("hidden")));
extern const unsigned char *__map_file(const char *path, size_t *size) __attribute__((visibility("hidden")));
/* (universal.c) */
extern const char __underpin_zone[] __attribute__((weak));

enum { EOVERFLOW = 75 };

#include "zones/names.h"
#include "zones/rules.h"
#include "zones/file.h"

long __timezone;
int __daylight;
char *__tzname[2];
extern long timezone __attribute__((weak, alias("__timezone")));
extern int daylight __attribute__((weak, alias("__daylight")));
extern char *tzname[2] __attribute__((weak, alias("__tzname")));

static volatile int lock[1];
/* fork of musl 1.2.2 and newer takes it, so that no child is left with the lock of a thread that it does not have. */
volatile int *const __timezone_lockptr __attribute__((visibility("hidden"))) = lock;

enum { LONGEST_PATH = 512, LONGEST_TZ = 256 };

typedef struct {
  bool is_read, has_file;
  /* What TZ was; a longer one is read anew each time. */
  char text[LONGEST_TZ];
  File file;
  Rule rule;
} Zone;

/* NULL before the first use, and where there is no memory: universal time then. */
static Zone *zone;
_Static_assert(sizeof(Zone) <= PAGE, "it has a page");

#include "zones/read.h"
#include "zones/find.h"

void
tzset(void)
{
  __lock(lock);
  refresh();
  name_latest();
  __unlock(lock);
}

Time *
localtime_r(const long long *restrict seconds, Time *restrict into)
{
  __lock(lock);
  refresh();
  const Kind kind = kind_at(*seconds, true);
  __unlock(lock);
  return in_kind(*seconds, &kind, into);
}

Time *
__localtime_r(const long long *restrict seconds, Time *restrict into)
{
  return localtime_r(seconds, into);
}

Time *
localtime(const long long *seconds)
{
  static Time last;
  return localtime_r(seconds, &last);
}

/* The other way. What is out of its range is put right. */
long long
mktime(Time *time)
{
  const long long local = seconds_since_1970(time);
  __lock(lock);
  refresh();
  const long long seconds = from_local(local, time->summer);
  const Kind kind = kind_at(seconds, true);
  __unlock(lock);
  return in_kind(seconds, &kind, time) ? seconds : -1;
}

char *
ctime(const long long *seconds)
{
  const Time *const local = localtime(seconds);
  return local ? asctime(local) : NULL;
}

char *
ctime_r(const long long *seconds, char *into)
{
  Time local;
  return localtime_r(seconds, &local) ? asctime_r(&local, into) : NULL;
}

extern const char *__tm_to_tzname(const Time *time) __attribute__((visibility("hidden")));
/* What strftime may write for a time: the name of a zone, and not what a program that filled it in itself left there. */
const char *
__tm_to_tzname(const Time *time)
{
  __lock(lock);
  const bool is_name = (__underpin_zone && time->zone == __underpin_zone) || is_kept(time->zone);
  __unlock(lock);
  return is_name ? time->zone : "";
}

#endif
