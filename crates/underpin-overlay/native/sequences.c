/* rand, random and their relatives for static programs on musl, with glibc's sequences: a program that is given a seed, for a test or to
 * repeat a simulation, has the same numbers as its build on glibc. (glibc 2.36, stdlib/random_r.c and rand_r.c; the method is Knuth's
 * additive one, TAOCP vol. 2, 3.2.2, with the polynomials of BSD's random(3).)
 *
 * A state that a program gives (initstate) is an array of 32-bit words; the first says which polynomial it is for, and where in the array
 * it was left. Numbers are asked for by several threads, so there is a lock; it is held for some nanoseconds, and no thread sleeps. */

#ifdef OVERLAY_REPLACES

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

extern int *__errno_location(void);

enum { EINVAL = 22, KINDS = 5, USUAL = 3 };

/* For each kind of state: the words of numbers, the distance of the two that are added, and the bytes of the array. */
static const struct {
  int words, distance, bytes;
} KIND[KINDS] = {{0, 0, 8}, {7, 3, 32}, {15, 1, 64}, {31, 3, 128}, {63, 1, 256}};

static struct {
  /* The first word is not a number. */
  int32_t *words;
  int kind, front, back;
} now;

static int32_t usual[32];
static atomic_flag locked = ATOMIC_FLAG_INIT;

static void
lock(void)
{
  while (atomic_flag_test_and_set_explicit(&locked, memory_order_acquire)) {}
}

static void
unlock(void)
{
  atomic_flag_clear_explicit(&locked, memory_order_release);
}

static int32_t
next(void)
{
  uint32_t *numbers = (uint32_t*)now.words + 1;
  if (!now.kind) return (int32_t)(numbers[0] = (numbers[0] * 1103515245U + 12345U) & 0x7fffffff);
  numbers[now.front] += numbers[now.back];
  const uint32_t number = numbers[now.front] >> 1;
  now.front = (now.front + 1) % KIND[now.kind].words;
  now.back = (now.back + 1) % KIND[now.kind].words;
  return (int32_t)number;
}

static void
seed(unsigned from)
{
  int32_t *numbers = now.words + 1;
  const int words = KIND[now.kind].words;
  numbers[0] = from ? (int32_t)from : 1;
  for (int at = 1; at < words; at++) {
    /* 16807 times the one before, modulo 2^31 - 1, without a product of more than 31 bits (Schrage). */
    const int32_t before = numbers[at - 1], number = 16807 * (before % 127773) - 2836 * (before / 127773);
    numbers[at] = number < 0 ? number + 0x7fffffff : number;
  }
  now.front = KIND[now.kind].distance;
  now.back = 0;
  for (int left = 10 * words; left > 0; left--) next();
}

/* The state of a program that has not asked for one. */
static void
begin(void)
{
  if (now.words) return;
  now.words = usual;
  now.kind = USUAL;
  seed(1);
}

/* Writes into the state what it is and where it was left. */
static void
leave(void)
{
  now.words[0] = now.kind ? KINDS * now.back + now.kind : 0;
}

long
random(void)
{
  lock();
  begin();
  const int32_t number = next();
  unlock();
  return number;
}

void
srandom(unsigned from)
{
  lock();
  begin();
  seed(from);
  unlock();
}

static char *
refused(void)
{
  unlock();
  *__errno_location() = EINVAL;
  return NULL;
}

char *
initstate(unsigned from, char *state, size_t bytes)
{
  lock();
  begin();
  if (!state || bytes < (size_t)KIND[0].bytes) return refused();
  int kind = KINDS - 1;
  while (bytes < (size_t)KIND[kind].bytes) kind--;
  char *const before = (char*)now.words;
  leave();
  now.words = (int32_t*)(void*)state;
  now.kind = kind;
  seed(from);
  leave();
  unlock();
  return before;
}

char *
setstate(char *state)
{
  lock();
  begin();
  if (!state) return refused();
  char *const before = (char*)now.words;
  leave();
  int32_t *const words = (int32_t*)(void*)state;
  const int kind = words[0] % KINDS, back = words[0] / KINDS;
  if (words[0] < 0 || (kind && back >= KIND[kind].words)) return refused();
  now.words = words;
  now.kind = kind;
  now.back = kind ? back : 0;
  now.front = kind ? (back + KIND[kind].distance) % KIND[kind].words : 0;
  unlock();
  return before;
}

int
rand(void)
{
  return (int)random();
}

void
srand(unsigned from)
{
  srandom(from);
}

int
rand_r(unsigned *state)
{
  unsigned from = *state, number = 0;
  for (int part = 0; part < 3; part++) {
    const unsigned bits = part ? 10 : 11;
    from = from * 1103515245 + 12345;
    number = number << (part ? bits : 0) ^ (from / 65536) % (1u << bits);
  }
  *state = from;
  return (int)number;
}

#endif
