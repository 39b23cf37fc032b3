/* strftime and strptime over random times, formats and texts. The numbers on the command line are the first case and how many. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

static const char LETTERS[] = "aAbBcCdDeFgGhHIjklmMnNpPrRsStTuUvVwWxXyYzZ+%EOqQL:";
static const char *const FLAGS[] = {"", "", "", "", "", "-", "_", "0", "^", "#", "_-", "^#", "0^", "E", "O", "5", "12", "_7", "03", "-4", "^9", "#8", "E4", "2O"};
/* What programs read. */
static const char *const FORMATS[] = {
  "%Y-%m-%dT%H:%M:%S%z", "%a, %d %b %Y %T %z", "%a %b %e %H:%M:%S %Y", "%D", "%F %R", "%s", "%I:%M %p", "%l:%M %P", "%k:%M", "%j %Y",
  "%U %w %Y", "%W %a %Y", "%C %y", "%y%m%d", "%d/%m/%y", "%c", "%x %X", "%r", "%G-W%V-%u", "%A %B %d", "%e %h %Y", "%H%M%S", "%Z %z",
  "%n%d%t%m", "%y %Om", "%-d %_m", "%%%d", "%b %Y", "%T", "%g", "%Y %C", "%d %j", "%m %j %Y", "%Od", "%Ec", "%EC%y", "%q", "%", "%5Y",
};

static unsigned long now;

static unsigned
any(unsigned below)
{
  now = now * 6364136223846793005UL + 1442695040888963407UL;
  return (unsigned)(now >> 33) % below;
}

static struct tm
a_time(int *is_whole)
{
  const long long span = any(3) ? 4000000000LL : 250000000000LL;
  const time_t seconds = (time_t)((long long)(((unsigned long)any(1u << 31) << 31 | any(1u << 31)) % (unsigned long)span) - span / 4);
  struct tm time;
  *is_whole = (int)any(2);
  if (*is_whole) localtime_r(&seconds, &time);
  else gmtime_r(&seconds, &time);
  if (any(12) == 0) {
    int *const fields[] = {&time.tm_sec, &time.tm_min, &time.tm_hour, &time.tm_mday, &time.tm_mon, &time.tm_year, &time.tm_wday, &time.tm_yday};
    *fields[any(8)] = (int)any(200) - 50;
    *is_whole = 0;
  }
  return time;
}

static void
show(const char *text)
{
  for (; text && *text; text++) printf(*text >= ' ' && *text < 127 ? "%c" : "\\%03o", (unsigned char)*text);
}

static void
written(unsigned long number)
{
  int is_whole;
  const struct tm time = a_time(&is_whole);
  char format[64] = "", text[200];
  for (unsigned parts = 1 + any(3); parts--;) {
    const char letter = LETTERS[any(sizeof LETTERS - 1)];
    /* A number of seconds is one of local time, and the name of a zone is no program's own. */
    if (!is_whole && (letter == 's' || letter == 'Z')) continue;
    snprintf(format + strlen(format), sizeof format - strlen(format), "%%%s%c%s", FLAGS[any(sizeof FLAGS / sizeof *FLAGS)], letter, any(3) ? "" : " x");
  }
  if (any(20) == 0) strcat(format, any(2) ? "%" : "%5");
  const size_t room = any(5) ? sizeof text : any(40);
  memset(text, '~', sizeof text);
  const size_t size = strftime(text, room, format, &time);
  printf("%lu strftime [%s] room %zu of %d-%d-%d %d:%d:%d w%d y%d: %zu [", number, format, room, time.tm_year, time.tm_mon, time.tm_mday,
         time.tm_hour, time.tm_min, time.tm_sec, time.tm_wday, time.tm_yday, size);
  if (size) show(text);
  printf("]\n");
  /* A day or a month that there is not is "?", and nothing at all in glibc's wide letters. */
  if (time.tm_wday < 0 || time.tm_wday > 6 || time.tm_mon < 0 || time.tm_mon > 11) return;
  wchar_t wide[200], wide_format[64];
  for (size_t at = 0; at < sizeof format / sizeof *format; at++) wide_format[at] = (unsigned char)format[at];
  const size_t wide_size = wcsftime(wide, room, wide_format, &time);
  printf("wide %zu [", wide_size);
  for (size_t at = 0; at < wide_size; at++) printf("%d ", (int)wide[at]);
  printf("]\n");
}

static void
read_back(unsigned long number)
{
  int is_whole;
  const struct tm time = a_time(&is_whole);
  char made[64] = "", text[200] = "";
  const char *format = FORMATS[any(sizeof FORMATS / sizeof *FORMATS)];
  if (any(3) == 0) {
    for (unsigned parts = 1 + any(3); parts--;) {
      snprintf(made + strlen(made), sizeof made - strlen(made), "%%%c%s", LETTERS[any(sizeof LETTERS - 1)], any(2) ? "" : " ");
    }
    format = made;
  }
  /* Not by gmtime's time, of which the zone has another name. */
  if (is_whole) strftime(text, sizeof text - 8, format, &time);
  const size_t size = strlen(text);
  switch (any(6)) {
  case 0: if (size) text[any((unsigned)size)] = "0159 :-+zZaP/,"[any(14)]; break;
  case 1: if (size) text[any((unsigned)size)] = 0; break;
  case 2: strcat(text, any(2) ? " rest" : "7"); break;
  case 3: for (size_t at = 0; at < size; at++) if (any(3) == 0 && text[at] >= 'a' && text[at] <= 'z') text[at] -= 32; break;
  }
  struct tm read = {.tm_year = 99, .tm_mon = 4, .tm_mday = 7, .tm_hour = 3, .tm_wday = 5, .tm_yday = 126, .tm_isdst = 0};
  if (any(3) == 0) memset(&read, 0, sizeof read);
  const char *const end = strptime(text, format, &read);
  printf("%lu strptime [%s] of [", number, format);
  show(text);
  printf("]: %d ", end ? (int)(end - text) : -1);
  if (end) {
    printf("%d %d:%d:%d w%d y%d s%d z%ld", read.tm_year, read.tm_hour, read.tm_min, read.tm_sec, read.tm_wday, read.tm_yday, read.tm_isdst,
           read.tm_gmtoff);
    /* A week may be before the year or behind it; what glibc makes a month of then is not in its table. */
    if (read.tm_yday >= 0 && read.tm_yday < 365) printf(" %d %d", read.tm_mon, read.tm_mday);
  }
  printf("\n");
}

int
main(int count, char **words)
{
  if (count != 3) return 2;
  setenv("TZ", "IST-5:30", 1);
  tzset();
  const unsigned long first = strtoul(words[1], NULL, 10), end = first + strtoul(words[2], NULL, 10);
  for (unsigned long number = first; number < end; number++) {
    now = number * 7919 + 17;
    for (int step = 0; step < 5; step++) any(2);
    written(number);
    read_back(number);
  }
  return 0;
}
