/* What regular expressions of the overlay do where glibc is no judge: by rules, with failing memory, and from several threads. Each
 * line of the output is one that did not hold. */
#include <locale.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
expect(const char *pattern, int flags, const char *text, int start, int end)
{
  regex_t compiled;
  regmatch_t found = {-1, -1};
  if (regcomp(&compiled, pattern, flags)) printf("%s is refused\n", pattern);
  else if (regexec(&compiled, text, 1, &found, 0), found.rm_so != start || found.rm_eo != end)
    printf("%s in %s: %d to %d\n", pattern, text, (int)found.rm_so, (int)found.rm_eo);
  regfree(&compiled);
}

static void
refused(const char *pattern, int flags, int code)
{
  regex_t compiled;
  const int said = regcomp(&compiled, pattern, flags);
  if (said != code) printf("%.20s: %d\n", pattern, said);
  /* Programs free it in any case. */
  regfree(&compiled);
  regfree(&compiled);
}

static void
rules(void)
{
  expect("(.)(.)\\2\\1", REG_EXTENDED, "xabba", 1, 5);
  expect("\\(\\(.\\)b\\)\\2", 0, "xcbc", 1, 4);
  expect("(a*)*\\1", REG_EXTENDED, "aaaa", 0, 4);
  /* The group matches nothing the second time, which is what comes again. */
  expect("\\(a*\\)*\\(x\\)\\(\\1\\)", 0, "ax", 0, 2);
  expect("[\xc3\xa4-\xc3\xb6]+", REG_EXTENDED, "a\xc3\xa5\xc3\xb6z", 1, 5);
  expect("[\xc3\xa4-\xc3\xb6]", REG_EXTENDED | REG_ICASE, "\xc3\x84", 0, 2);
  expect("\\n", REG_ICASE, "aN", 1, 2);
  expect("[^a]", 0, "a\xff", -1, -1);
  expect("\xff", 0, "a\xff", 1, 2);
  expect("\\b\xc3\xa4\\w\xc3\xa4\\b", 0, "\xc3\xa4\xc3\xa4\xc3\xa4", 0, 6);
  expect(".", 0, "\xed\xa0\x80", -1, -1);
  /* More kinds of characters than there are symbols. */
  expect("(\xc3\xa0|\xc3\xa1|\xc3\xa2|\xc3\xa3|\xc3\xa4|\xc3\xa5|\xc3\xa6|\xc3\xa7|\xc3\xa8|\xc3\xa9|\xc3\xaa|\xc3\xab|\xc3\xac|\xc3\xad|\xc3\xae|\xc3\xaf|"
         "\xc3\xb0|\xc3\xb1|\xc3\xb2|\xc3\xb3|\xc3\xb4|\xc3\xb5|\xc3\xb6|\xc3\xb7|\xc3\xb8|\xc3\xb9|\xc3\xba|\xc3\xbb|\xc3\xbc|\xc3\xbd)+$", REG_EXTENDED,
         "-\xc3\xa0\xc3\xa1\xc3\xa2\xc3\xa3\xc3\xa4\xc3\xa5\xc3\xa6\xc3\xa7\xc3\xa8\xc3\xa9\xc3\xaa\xc3\xab\xc3\xac\xc3\xad\xc3\xae\xc3\xaf\xc3\xb0\xc3\xb1"
         "\xc3\xb2\xc3\xb3\xc3\xb4\xc3\xb5\xc3\xb6\xc3\xb7\xc3\xb8\xc3\xb9\xc3\xba\xc3\xbb\xc3\xbc\xc3\xbd", 1, 61);
  refused("((a{255}){255}){255}", REG_EXTENDED, REG_ESPACE);
  refused("a{40000}", REG_EXTENDED, 15);
  char deep[20001];
  memset(deep, '(', sizeof deep - 1);
  deep[sizeof deep - 1] = 0;
  refused(deep, REG_EXTENDED, REG_ESPACE);
}

/* A text that takes the square of its length would not end in the time of a test. */
static void
long_texts(void)
{
  enum { LONG = 1 << 20 };
  char *text = malloc(LONG + 1);
  if (!text) return;
  memset(text, 'a', LONG);
  text[LONG] = 0;
  expect("(a|b|c)*d*b", REG_EXTENDED, text, -1, -1);
  expect("a*b", 0, text, -1, -1);
  text[LONG - 1] = 'c';
  expect("a*b|c", REG_EXTENDED, text, LONG - 1, LONG);
  expect("(a|a)*c", REG_EXTENDED, text, 0, LONG);
  /* More states than are kept: which of the last fourteen are a. */
  unsigned long now = 1;
  for (int at = 0; at < LONG; at++) {
    now = now * 6364136223846793005UL + 1442695040888963407UL;
    text[at] = now >> 40 & 1 ? 'a' : 'b';
  }
  int last = LONG - 1;
  while (text[last - 14] != 'a') last--;
  text[0] = 'a';
  expect("(a|b)*a(a|b){14}", REG_EXTENDED, text, 0, last + 1);
  free(text);
}

/* ---- memory that fails ---- */

static long calls, fails_at = -1, held;
/* Within musl's own, which call each other. */
static int inside;
extern void *__real_malloc(size_t), *__real_calloc(size_t, size_t), *__real_realloc(void *, size_t);
extern void __real_free(void *);

static int
fails(void)
{
  return fails_at >= 0 && calls++ >= fails_at;
}

void *
__wrap_malloc(size_t size)
{
  if (inside) return __real_malloc(size);
  void *at = fails() ? NULL : __real_malloc(size);
  held += at != NULL;
  return at;
}

void *
__wrap_calloc(size_t count, size_t size)
{
  inside++;
  void *at = fails() ? NULL : __real_calloc(count, size);
  inside--;
  held += at != NULL;
  return at;
}

void *
__wrap_realloc(void *old, size_t size)
{
  inside++;
  void *at = fails() ? NULL : __real_realloc(old, size);
  inside--;
  held += at && !old;
  return at;
}

void
__wrap_free(void *at)
{
  held -= at && !inside;
  __real_free(at);
}

static void
without_memory(const char *pattern, const char *text)
{
  for (long limit = 0;; limit++) {
    regex_t compiled;
    regmatch_t found[4];
    const long before = held;
    calls = 0;
    fails_at = limit;
    int code = regcomp(&compiled, pattern, REG_EXTENDED);
    if (!code) code = regexec(&compiled, text, 4, found, 0);
    regfree(&compiled);
    fails_at = -1;
    if (held != before) printf("%s keeps memory\n", pattern);
    if (code && code != REG_ESPACE) printf("%s without memory: %d\n", pattern, code);
    if (!code) break;
  }
}

/* ---- threads ---- */

static regex_t shared;

static void *
searching(void *number)
{
  char text[40];
  for (int time = 0; time < 3000; time++) {
    const int letters = (time * 7 + (int)(long)number) % 20;
    memset(text, 'x', sizeof text);
    memset(text + 3, 'a' + time % 3, (size_t)letters);
    text[3 + letters] = 'z';
    text[4 + letters] = 0;
    regmatch_t found[2];
    if (regexec(&shared, text, 2, found, 0) || found[0].rm_so != 3 || found[1].rm_eo != 3 + letters) return "a thread finds something else";
  }
  return NULL;
}

static void
several_threads(void)
{
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  if (regcomp(&shared, "([abc]*)z", REG_EXTENDED)) return;
  for (long at = 0; at < THREADS; at++) pthread_create(&threads[at], NULL, searching, (void*)at);
  for (int at = 0; at < THREADS; at++) {
    void *said = NULL;
    pthread_join(threads[at], &said);
    if (said) printf("%s\n", (char*)said);
  }
  regfree(&shared);
}

int
main(void)
{
  setlocale(LC_ALL, "C.UTF-8");
  rules();
  long_texts();
  without_memory("(a|[b-d]+|\xc3\xa4)*x{3}", "bbbaxxx");
  without_memory("(a*)b\\1{2}", "xaabaaaa");
  without_memory("[\xc3\xa4-\xc3\xb6]+(.)", "\xc3\xa5\xc3\xa5z");
  several_threads();
  printf("done\n");
  return 0;
}
