/* Creates and joins threads that do nothing: COUNT at a time, in blocks of a few. Prints the median of the blocks,
 * in nanoseconds for one thread. A block is shorter than a time slice, so that most are not disturbed by other work. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BLOCKS = 600, MOST = 16 };

static void *
nothing(void *given)
{
  return given;
}

static int
order(const void *one, const void *other)
{
  const double a = *(const double*)one, b = *(const double*)other;
  return (a > b) - (a < b);
}

static double
now(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int
main(int argc, char **argv)
{
  static double times[BLOCKS];
  const int count = argc == 2 ? atoi(argv[1]) : 0;
  pthread_t threads[MOST];
  if (count < 1 || count > MOST) return 2;
  const int turns = count < 4 ? 4 / count : 1;
  for (int block = -20; block < BLOCKS; block++) {
    const double begin = now();
    for (int turn = 0; turn < turns; turn++) {
      for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, nothing, NULL)) return 1;
      for (int i = 0; i < count; i++)
        if (pthread_join(threads[i], NULL)) return 1;
    }
    if (block >= 0) times[block] = (now() - begin) / (turns * count);
  }
  qsort(times, BLOCKS, sizeof *times, order);
  printf("%.1f\n", times[BLOCKS / 2]);
  return 0;
}
