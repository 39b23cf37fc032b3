/* rand(3) and random(3) in every kind of state. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
numbers(const char *name, int count)
{
  printf("%s:", name);
  for (int left = count; left--;) printf(" %ld", random());
  printf("\n");
}

int
main(void)
{
  numbers("unasked", 70);
  const unsigned seeds[] = {0, 1, 2, 42, 0x7fffffff, 0x80000000, 0xffffffff, 2147483646};
  for (size_t at = 0; at < sizeof seeds / sizeof *seeds; at++) {
    srandom(seeds[at]);
    numbers("srandom", 100);
    srand(seeds[at]);
    printf("rand: %d %d\n", rand(), rand());
    unsigned state = seeds[at];
    for (int time = 0; time < 20; time++) printf("rand_r: %d %u\n", rand_r(&state), state);
  }
  static int states[9][64];
  const size_t sizes[] = {8, 9, 31, 32, 64, 127, 128, 255, 256};
  char *const first = initstate(5, (char*)states[0], 8);
  printf("the first: %d\n", first == (char*)states[0]);
  for (int at = 0; at < 9; at++) {
    char *const before = initstate(7 + (unsigned)at, (char*)states[at], sizes[at]);
    printf("before: %d\n", at && before == (char*)states[at - 1]);
    numbers("initstate", 80 + at);
  }
  for (int time = 0; time < 100; time++) {
    const int to = time * 5 % 9;
    setstate((char*)states[to]);
    numbers("setstate", 1 + time % 7);
    if (time % 10 == 0) srandom((unsigned)time);
  }
  errno = 0;
  printf("too short: %d", initstate(1, (char*)states[0], 7) == NULL);
  printf(" %d\n", errno == EINVAL);
  setstate(first);
  numbers("the first again", 9);
  return 0;
}
