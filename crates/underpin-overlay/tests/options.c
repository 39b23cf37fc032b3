/* getopt and its relatives over random command lines, and all that a program sees of each call. The numbers on the command line are
 * the first case and how many. By DIFFERENT the program is one that asks for POSIX. */
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef FOR_POSIX
extern int __posix_getopt(int, char *const[], const char *);
#define getopt __posix_getopt
#endif

static const char *const WORDS[] = {
  "-a", "-b", "-c", "-abc", "-ab", "-carg", "-c", "-", "--", "x", "file", "", "--alpha", "--alp", "--al", "--a", "--beta=5", "--beta",
  "--be", "--gamma", "--gamma=q", "--gam", "--delta", "--delta=", "-Walpha", "-W", "-Wbeta=3", "-Wnone", "-?", "-:", "-;", "--alphabet",
  "-alpha", "-beta", "-gamma=1", "-delta", "-d", "--none", "-z", "--=x", "-=", "--same-on", "--sam", "-same", "-\xc3\xa4", "--b", "-bc",
};
static const char *const LETTERS[] = {
  "abc:", "+abc:", "-abc:", ":abc:", "ab::c", "W;abc:", "", "a:b:", "-:ab::", "+:c:", ":W;ab", "abc:d;", "b::c::", "?a", "\xc3""a",
};
static int flag;
static const struct option LONGS[] = {
  {"alpha", no_argument, NULL, 'A'},     {"alphabet", no_argument, NULL, 'B'},     {"beta", required_argument, NULL, 'b'},
  {"gamma", optional_argument, &flag, 7}, {"delta", required_argument, &flag, 8},   {"same-one", no_argument, NULL, 's'},
  {"same-two", no_argument, NULL, 's'},   {"b", no_argument, NULL, 'x'},            {NULL, 0, NULL, 0},
};
enum { COUNT = 7, CALLS = 30 };

static unsigned long now;

static unsigned
any(unsigned below)
{
  now = now * 6364136223846793005UL + 1442695040888963407UL;
  return (unsigned)(now >> 33) % below;
}

static int
call(int kind, int count, char **line, const char *letters, int *index)
{
  switch (kind) {
  case 0: return getopt(count, line, letters);
  case 1: return getopt_long(count, line, letters, LONGS, index);
  case 2: return getopt_long_only(count, line, letters, LONGS, index);
  default: return getopt_long(count, line, letters, NULL, index);
  }
}

static void
one(unsigned long number)
{
  now = number * 7919 + 17;
  for (int step = 0; step < 5; step++) any(2);
  char *line[COUNT + 2] = {"program"};
  int count = 1 + (int)any(COUNT + 1);
  for (int at = 1; at < count; at++) line[at] = (char*)WORDS[any(sizeof WORDS / sizeof *WORDS)];
  line[count] = NULL;
  const char *const letters = LETTERS[any(sizeof LETTERS / sizeof *LETTERS)];
  const int kind = (int)any(4);
  opterr = any(4) != 0;
  if (any(6) == 0) setenv("POSIXLY_CORRECT", "1", 1);
  else unsetenv("POSIXLY_CORRECT");
  optind = 0;
  printf("%lu [%s] %d:", number, letters, kind);
  for (int at = 0; at < count; at++) printf(" [%s]", line[at]);
  printf("\n");
  for (int step = 0; step < CALLS; step++) {
    int index = -5;
    const int found = call(kind, count, line, letters, &index);
    printf("%d [%s] at %d, option %d, long %d, flag %d\n", found, optarg ? optarg : "(none)", optind, optopt, index, flag);
    if (found == -1) break;
    /* Back to the first word, once in a while. */
    if (any(60) == 0) optind = 1;
  }
  for (int at = 0; at < count; at++) printf(" [%s]", line[at]);
  printf("\n");
}

int
main(int count, char **words)
{
  if (count != 3) return 2;
  setvbuf(stdout, NULL, _IONBF, 0);
  dup2(1, 2);
  const unsigned long first = strtoul(words[1], NULL, 10), end = first + strtoul(words[2], NULL, 10);
  for (unsigned long number = first; number < end; number++) one(number);
  return 0;
}
