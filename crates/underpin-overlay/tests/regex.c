/* Regular expressions at random, and all that a program sees of them. The numbers on the command line are the first case and how
 * many. */
#include <locale.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parts of expressions that are well-formed more often than not; %1 and %2 stand for others. */
static const char *const EXTENDED[] = {
  "a", "b", "c", "ab", "a", "b", ".", "[ab]", "[^a]", "[b-d]", "[[:alpha:]]", "(%1)", "(%1)", "(%1|%2)", "(%1)*", "(%1)+", "(%1)?", "%1%2",
  "%1%2", "%1|%2", "(%1){2}", "(%1){1,2}", "(%1){,2}", "(%1){2,}", "\\w", "\\W+", "\\s", "a{0}", "()", "\\n", "\\d", "\xc3\xa4",
  "[^\xc3\xa4]", "\xe6\x97\xa5+", "[\xc3\xa4\xc3\xb6]", "\\.", "a+", "b?", "[[:upper:]_]", "[[=a=]b]", "[[.-.]a]", "[]a]", "[a-]", "\\S", "(a*)*",
  "(a|ab)(c|bcd)(d*)", "a{2,3}", "(a|b)*c",
};
static const char *const BASIC[] = {
  "a", "b", "c", "ab", "a", "b", ".", "[ab]", "[^a]", "[b-d]", "[[:digit:]]", "\\(%1\\)", "\\(%1\\)", "\\(%1\\|%2\\)", "\\(%1\\)*",
  "\\(%1\\)\\+", "\\(%1\\)\\?", "%1%2", "%1%2", "%1\\|%2", "%1*", "\\(%1\\)\\{2\\}", "\\(%1\\)\\{1,2\\}", "\\(%1\\)\\{,2\\}", "\\w", "\\W", "*", "a\\{0\\}",
  "+", "?", "{", "|", "\\(*%1\\)", "\xc3\xa4", "\\n", "[^]a]", "[a\\]",
};
/* What stands in no repetition: what a group is that matched a condition alone, or nothing by one of several ways, glibc decides by
 * more than the order of the ways. */
static const char *const EXTENDED_ONCE[] = {
  "^%1", "%1$", "\\<%1", "%1\\>", "\\b%1", "%1\\B", "\\`%1", "%1\\'", "(^|a)%1", "(b|$)", "(|%1)", "(|a|b)%1", "(^%1)", "(%1$)", "^%1$", "^*", "^", "$", "^|a", "a^b|c$",
};
static const char *const BASIC_ONCE[] = {
  "^%1", "%1$", "\\<%1", "%1\\>", "\\b%1", "%1\\B", "\\`%1", "%1\\'", "\\(^%1\\)", "\\(%1$\\)", "^*", "^*%1", "a^b$c", "^%1$", "\\(^*%1\\)", "a\\|^b",
};
/* Of one group, without another in it: glibc does not find each match of `(.)(.)\2\1` and of `((.)b)\2`. */
static const char *const EXTENDED_AGAIN[] = {
  "(a)\\1", "(a|b)\\1", "(.)\\1", "(ab|a)\\1", "(a*)b\\1", "(.*)\\1", "([ab]+)c?\\1", "^(.+)\\1$", "(a|ab)b*\\1",
  "(\\w+)[^a]\\1", "(.)\\1|b", "(\xc3\xa4|.)\\1", "(a+)\\1+", "(.)\\1{2}", "(.).*\\1",
};
static const char *const BASIC_AGAIN[] = {
  "\\(a\\)\\1", "\\(.\\)\\1", "\\(ab\\|a\\)\\1", "\\(a*\\)b\\1", "\\(.*\\)\\1", "\\([ab]*\\)c\\1", "^\\(.*\\)\\1$", "\\(.\\)\\1*",
};
/* Anything at all. */
static const char *const SOUP[] = {
  "a", "b", "(", ")", "\\(", "\\)", "[", "]", "[^", "*", "+", "?", "\\+", "\\?", "{", "}", "\\{", "\\}", "1", "2", ",", "|", "\\|", "^", "$", ".",
  "-", "[:", ":]", "alpha", "[.", ".]", "[=", "=]", "\\1", "\\2", "\\", "\\b", "\\<", "\\'", "lower", "z", "A", "\xc3\xa4", "0", "--", "[a-c]", "\\w",
};
static const char *const TEXTS[] = {
  "a", "b", "c", "ab", "d", "A", "B", "\n", " ", "_", "1", "\xc3\xa4", "\xc3\xb6", "\xe6\x97\xa5", ".", "-", "n", "]", "*", "+", "\\", "abc", "aab", "^", "$",
};
#ifndef REG_STARTEND
#define REG_STARTEND 4
#endif
#define COUNT(of) (sizeof(of) / sizeof *(of))

static unsigned long now;

static unsigned
any(unsigned below)
{
  now = now * 6364136223846793005UL + 1442695040888963407UL;
  return (unsigned)(now >> 33) % below;
}

#define ANY_OF(of) (of)[any((unsigned)COUNT(of))]

static void
grow(char *into, const char *part, int extended, int depth)
{
  for (; *part; part++) {
    if (*part == '%') grow(into, depth > 3 ? "a" : extended ? ANY_OF(EXTENDED) : ANY_OF(BASIC), extended, depth + 1), part++;
    else if (strlen(into) < 60) strncat(into, part, 1);
  }
}

static void
show(const char *text)
{
  for (; *text; text++)
    if (*text == '\n') printf("\\n");
    else putchar(*text);
}

static void
search(const regex_t *compiled, size_t count)
{
  enum { MOST = 12 };
  char text[80] = "";
  for (unsigned left = any(9); left--;) strcat(text, TEXTS[any(COUNT(TEXTS))]);
  regmatch_t found[MOST];
  for (int at = 0; at < MOST; at++) found[at].rm_so = found[at].rm_eo = -7;
  int flags = any(4) ? 0 : (int)any(4);
  /* A part of a text, which may have a zero in it. It ends where a character does: glibc looks for one otherwise. */
  if (count && !any(4)) {
    const int size = (int)strlen(text);
    flags |= REG_STARTEND;
    found[0].rm_so = (int)any((unsigned)size + 1);
    found[0].rm_eo = found[0].rm_so + (int)any((unsigned)(size - found[0].rm_so) + 1);
    while ((text[found[0].rm_so] & 0xc0) == 0x80) found[0].rm_so--;
    while ((text[found[0].rm_eo] & 0xc0) == 0x80) found[0].rm_eo++;
    const unsigned zero = any((unsigned)size + 1);
    if (!any(3) && !(text[zero] & 0x80)) text[zero] = 0;
    printf("  %d-%d", (int)found[0].rm_so, (int)found[0].rm_eo);
  }
  const int code = regexec(compiled, text, count, found, flags);
  printf("  [");
  show(text);
  printf("] %d: %d", flags, code);
  for (size_t at = 0; !code && at < count; at++) printf(" %d-%d", (int)found[at].rm_so, (int)found[at].rm_eo);
  printf("\n");
}

static void
one(unsigned long number)
{
  now = number * 7919 + 17;
  for (int step = 0; step < 5; step++) any(2);
  char pattern[200] = "", message[80];
  int flags = (any(2) ? REG_EXTENDED : 0) | (any(5) ? 0 : REG_ICASE) | (any(4) ? 0 : REG_NEWLINE) | (any(10) ? 0 : REG_NOSUB);
  const unsigned kind = any(5), extended = flags & REG_EXTENDED;
  if (!kind)
    for (unsigned left = 1 + any(8); left--;) strcat(pattern, ANY_OF(SOUP));
  if (kind == 1) grow(pattern, extended ? ANY_OF(EXTENDED_ONCE) : ANY_OF(BASIC_ONCE), (int)extended, 0);
  if (kind == 2) grow(pattern, extended ? ANY_OF(EXTENDED_AGAIN) : ANY_OF(BASIC_AGAIN), (int)extended, 0);
  for (unsigned left = kind < 3 ? 0 : kind; left--;) grow(pattern, extended ? ANY_OF(EXTENDED) : ANY_OF(BASIC), (int)extended, 1);
  /* Without case glibc finds no letter that has a backslash in front. */
  if (strstr(pattern, "\\n") || strstr(pattern, "\\d")) flags &= ~REG_ICASE;
  setlocale(LC_ALL, kind && any(3) ? "C.UTF-8" : "C");
  regex_t compiled;
  const int code = regcomp(&compiled, pattern, flags);
  const size_t room = any(3) ? sizeof message : 5, size = regerror(code, &compiled, message, room);
  printf("%lu [", number);
  show(pattern);
  printf("] %d: %d %s %zu\n", flags, code, message, size);
  if (code) return;
  printf("  %zu\n", compiled.re_nsub);
  const size_t counts[] = {0, 1, 2, 12};
  for (int time = 0; time < 6; time++) search(&compiled, counts[any(4)]);
  regfree(&compiled);
}

int
main(int count, char **words)
{
  if (count != 3) return 2;
  const unsigned long first = strtoul(words[1], NULL, 10), end = first + strtoul(words[2], NULL, 10);
  for (unsigned long number = first; number < end; number++) one(number);
  return 0;
}
