/* What a C library answers, one line for each question: a name, a colon and the answer. */
#define _GNU_SOURCE
#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <iconv.h>
#include <libgen.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

static void
matches(const char *name, const char *pattern, int flags, const char *text)
{
  regex_t compiled;
  regmatch_t found = {-1, -1};
  printf("%s: ", name);
  if (regcomp(&compiled, pattern, flags)) {
    printf("refused\n");
    return;
  }
  const int none = regexec(&compiled, text, 1, &found, 0);
  if (none) printf("no match\n");
  else printf("%d to %d\n", (int)found.rm_so, (int)found.rm_eo);
  regfree(&compiled);
}

static void
dates(void)
{
  const time_t seconds = 1700000000;
  const struct tm *time = gmtime(&seconds);
  const char *const formats[] = {"%k", "%l %P", "%^a", "%-d", "%_H", "%5Y", "%q", "%c", "%G-%V", "%s"};
  char text[90];
  for (size_t at = 0; at < sizeof formats / sizeof *formats; at++) {
    text[0] = 0;
    strftime(text, sizeof text, formats[at], time);
    printf("strftime %s: %s\n", formats[at], text);
  }
  printf("the zone of gmtime: %s\n", time->tm_zone);
  strftime(text, sizeof text, "%Z %z", time);
  printf("the zone written: %s\n", text);
  wchar_t wide[40] = L"";
  wcsftime(wide, 40, L"%l %P", time);
  printf("wcsftime: %ls\n", wide);
  const char *const read[][2] = {{"%e", " 5"}, {"%F %R", "2020-02-03 04:05"}, {"%s", "1700000000"}, {"%z", "+0130"}};
  for (size_t at = 0; at < sizeof read / sizeof *read; at++) {
    struct tm into = {0};
    const char *const end = strptime(read[at][1], read[at][0], &into);
    printf("strptime %s: %d %d-%d-%d %d:%d w%d y%d\n", read[at][0], end != NULL, into.tm_year, into.tm_mon, into.tm_mday, into.tm_hour,
           into.tm_min, into.tm_wday, into.tm_yday);
  }
}

static void
patterns(void)
{
  matches("a word's end", "\\<foo\\>", 0, "a foo b");
  matches("one of two", "a\\|b", 0, "xb");
  matches("a letter of a word", "\\w+", REG_EXTENDED, "  ab1_ c");
  matches("a group again", "\\(a\\)\\1", 0, "xaa");
  matches("a group again, extended", "(a)\\1", REG_EXTENDED, "xaa");
  matches("at most some", "a{,2}b", REG_EXTENDED, "aab");
  matches("the text's start", "\\`a", 0, "a");
  matches("the text's end", "a\\'", 0, "ba");
  matches("a digit by a letter", "\\d", REG_EXTENDED, "5");
  matches("a star first", "*a", REG_EXTENDED, "*a");
  matches("a newline by a letter", "\\n", 0, "\n");
  matches("a class", "[[:alpha:]]+", REG_EXTENDED, "12ab3");
  matches("without case", "ABC", REG_ICASE, "xabc");
  printf("fnmatch: %d %d %d\n", fnmatch("a*[!b]", "abc", 0), fnmatch("*/b", "a/b", FNM_PATHNAME), fnmatch("*.C", "x.c", FNM_CASEFOLD));
}

static void
words(void)
{
  printf("strerror: %s, %s, %s\n", strerror(EMFILE), strerror(0), strerror(1234));
  printf("strsignal: %s, %s\n", strsignal(SIGCHLD), strsignal(40));
  printf("gai_strerror: %s\n", gai_strerror(EAI_NONAME));
  char copy[] = "/usr/lib/";
  printf("basename of string.h: %s\n", (basename)("/usr/lib"));
  printf("basename of libgen.h: %s\n", __xpg_basename(copy));
  printf("%%p of nothing: %p\n", NULL);
  printf("%%a: %a, %a\n", 1.0, 0.1);
  printf("%%La: %La\n", 1.0L);
  printf("a number in groups: %'d\n", 1234567);
  errno = ENOENT;
  printf("%%m: %m\n");
}

static int
by_key(const void *one, const void *other)
{
  return *(const int*)one % 4 - *(const int*)other % 4;
}

static void
order(void)
{
  int list[60];
  for (int at = 0; at < 60; at++) list[at] = at;
  qsort(list, 60, sizeof *list, by_key);
  printf("the order of equals:");
  for (int at = 0; at < 60; at++) printf(" %d", list[at]);
  printf("\n");
}

static void
numbers(void)
{
  char *end;
  srand(5);
  srandom(5);
  printf("rand: %d\n", rand());
  printf("random: %ld\n", random());
  srand48(5);
  printf("lrand48: %ld\n", lrand48());
  printf("strtod: %.17g %.17g %.17g\n", strtod("0x1.8p3", &end), strtod("1e400", &end), strtod("2.2250738585072011e-308", &end));
  errno = 0;
  printf("strtol: %ld", strtol("99999999999999999999", &end, 10));
  printf(" %d\n", errno == ERANGE);
  int value = 0;
  printf("sscanf: %d", sscanf("12abc", "%d%*c%n", &value, &value));
  printf(" %d\n", value);
  printf("printf: [%5s] [%-5d] [%#o] [%+.3e] [%g] [%.0f] [%hhd] [%zu]\n", "x", 3, 8, 1.5, 1e100, 2.5, (signed char)44, sizeof(long));
  printf("realloc to nothing: %d\n", realloc(malloc(5), 0) != NULL);
  printf("the break moves: %d\n", sbrk(4096) != (void*)-1);
  printf("math: %.17g %.17g %.17g\n", exp(1.5), pow(1.1, 9.9), log(10));
}

static void *
deep(void *none)
{
  char text[1 << 20];
  memset(text, *(volatile char*)text, sizeof text);
  return text[500] == 7 ? text : none;
}

static void
process(char **line)
{
  pthread_t thread;
  printf("a thread's stack: %d\n", pthread_create(&thread, NULL, deep, NULL) || pthread_join(thread, NULL));
  int count = 0, found;
  while (line[count]) count++;
  printf("getopt:");
  while ((found = getopt(count, line, "ab")) != -1) printf(" %c", found);
  printf(", then %s\n", line[optind]);
  printf("the locale: %s\n", setlocale(LC_ALL, "C") ? setlocale(LC_ALL, NULL) : "none");
  printf("an account: %s\n", getpwuid(0) ? getpwuid(0)->pw_name : "none");
  printf("a wide letter: %d %d\n", iswalpha(L'a') != 0, wcwidth(L'a'));
}

/* The bytes that a text becomes, and what iconv says to it. */
static void
converted(const char *name, const char *to, const char *from, const char *text)
{
  char in[16], out[64], *read = in, *written = out;
  strcpy(in, text);
  size_t left = strlen(in), room = sizeof out;
  printf("%s:", name);
  const iconv_t by = iconv_open(to, from);
  if (by == (iconv_t)-1) {
    printf(" unknown\n");
    return;
  }
  const size_t said = iconv(by, &read, &left, &written, &room);
  for (const char *at = out; at < written; at++) printf(" %02x", (unsigned char)*at);
  printf(", %d\n", (int)said);
  iconv_close(by);
}

static void
charsets(void)
{
  converted("iconv", "UTF-8", "ISO-8859-1", "\xe4");
  converted("iconv back", "ISO-8859-1", "UTF-8", "\xc3\xa4");
  converted("iconv of a wrong byte", "ISO-8859-1", "UTF-8", "a\xff");
  converted("iconv of half a letter", "ISO-8859-1", "UTF-8", "a\xc3");
  converted("iconv to KOI8-R", "KOI8-R", "UTF-8", "\xd0\xb6");
  converted("iconv to UTF-16LE", "UTF-16LE", "UTF-8", "\xe2\x82\xac");
  converted("iconv of what the charset lacks", "ISO-8859-1", "UTF-8", "a\xe2\x82\xac");
  converted("iconv to UTF-16", "UTF-16", "UTF-8", "\xe2\x82\xac");
  converted("iconv to ASCII//TRANSLIT", "ASCII//TRANSLIT", "UTF-8", "\xe2\x82\xac");
  converted("iconv to CP437", "CP437", "UTF-8", "\xc3\xa4");
  converted("iconv to GB18030", "GB18030", "UTF-8", "\xc3\xa4");
}

/* In November 2023. */
static void
zone(const char *name)
{
  time_t when = 1700000000;
  struct tm time;
  setenv("TZ", name, 1);
  tzset();
  localtime_r(&when, &time);
  printf("time by TZ=%s: %02d.%02d %d %ld %s\n", name, time.tm_hour, time.tm_min, time.tm_isdst, timezone, tzname[0]);
}

static void
zones(void)
{
  zone("EST5EDT,M3.2.0,M11.1.0");
  zone("AEST-10AEDT,M10.1.0,M4.1.0/3");
  zone("<+0330>-3.30");
  zone("JST-9");
  zone("PST8PDT");
  zone("GB-Eire");
  zone("Nowhere/City");
  struct tm noon = {.tm_year = 123, .tm_mon = 6, .tm_mday = 1, .tm_hour = 12, .tm_isdst = 1};
  printf("summer time of UTC: %lld\n", (long long)mktime(&noon));
}

int
main(void)
{
  char *line[] = {"program", "file", "-a", "other", "-b", NULL};
  setenv("TZ", "UTC", 1);
  dates();
  patterns();
  words();
  numbers();
  order();
  process(line);
  charsets();
  zones();
  return 0;
}
