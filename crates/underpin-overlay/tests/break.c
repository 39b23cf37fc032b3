/* The break goes up and down at random; what is below it stays, and what comes back is zero. */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 3 << 20 };

int
main(void)
{
  static char buffer[1 << 16];
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  char *const first = sbrk(0);
  long size = 0;
  unsigned long chance = 3;
  for (int time = 0; time < 3000; time++) {
    chance = chance * 6364136223846793005UL + 1442695040888963407UL;
    long change = (long)(chance >> 33) % 70000 - 34000;
    if (size + change < 0 || size + change > MOST) change = -size;
    char *const before = time % 3 ? sbrk(change) : brk(first + size + change) ? (char*)-1 : first + size;
    long zeros = 0, kept = 0;
    /* Within a page that stayed, what was there may still be. */
    for (long at = size + 8192; at < size + change; at++) zeros += !first[at];
    for (long at = 0; at < size && at < size + change; at += 997) kept += first[at] == (char)at;
    for (long at = size; at < size + change; at++) first[at] = (char)at;
    size += change;
    printf("%ld: at %ld, %ld zeros, %ld kept, %ld\n", change, (long)(before - first), zeros, kept, (long)((char*)sbrk(0) - first));
  }
  errno = 0;
  printf("up: %d", sbrk((intptr_t)1 << 46) == (void*)-1);
  printf(" %d, then %ld\n", errno == ENOMEM, (long)((char*)sbrk(0) - first));
  return 0;
}
